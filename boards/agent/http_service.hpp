// A small web server: "/" is a page about the board, "/stats" the same numbers as text. GET and HEAD, one request a
// connection (RFC 9112 with "Connection: close").
#ifndef WIZLOOP_AGENT_HTTP_SERVICE_HPP
#define WIZLOOP_AGENT_HTTP_SERVICE_HPP

#include "server.hpp"

namespace agent {

class HttpService final : public Service {
 public:
  void on_open(Server& server, Connection& connection) override;
  Turn serve(Server& server, Connection& connection) override;
  void on_closed(Server&, Connection&) override {}

 private:
  Turn answer(Server& server, Connection& connection);
};

}  // namespace agent

#endif
