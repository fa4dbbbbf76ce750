// The simple modes of tcp-server: sink, source, echo.
#ifndef WIZLOOP_AGENT_STREAM_SERVICES_HPP
#define WIZLOOP_AGENT_STREAM_SERVICES_HPP

#include "server.hpp"

namespace agent {

// Checks the pattern of what comes, until the peer closes.
class SinkService final : public Service {
 public:
  void on_open(Server&, Connection&) override {}
  Turn serve(Server& server, Connection& connection) override;
  void on_closed(Server&, Connection&) override {}
};

// Sends the pattern, so many bytes or (0) until the peer closes.
class SourceService final : public Service {
 public:
  explicit SourceService(uint64_t bytes) : bytes_(bytes) {}
  void on_open(Server& server, Connection& connection) override;
  Turn serve(Server& server, Connection& connection) override;
  void on_closed(Server&, Connection&) override {}

 private:
  uint64_t bytes_;
};

class EchoService final : public Service {
 public:
  void on_open(Server&, Connection&) override {}
  Turn serve(Server& server, Connection& connection) override;
  void on_closed(Server&, Connection&) override {}
};

}  // namespace agent

#endif
