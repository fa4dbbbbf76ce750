// The server of iperf 2 over TCP: takes what comes; with -r it sends afterwards, with -d at the same time, both on a
// connection of its own to the client; with -R it sends on the client's connection. The stream begins with a header
// that says so.
#ifndef WIZLOOP_AGENT_IPERF_SERVICE_HPP
#define WIZLOOP_AGENT_IPERF_SERVICE_HPP

#include "server.hpp"

namespace agent {

class IperfService final : public Service {
 public:
  void on_open(Server& server, Connection& connection) override;
  Turn serve(Server& server, Connection& connection) override;
  void on_closed(Server& server, Connection& connection) override;

 private:
  Turn receive(Server& server, Connection& connection);
  Turn send(Server& server, Connection& connection);
  void take_header(Server& server, Connection& connection);
  void answer_back(Server& server, const w5500::Endpoint& peer, uint32_t amount);
  void choose_buffer(Server& server);

  bool connecting_ = false;  // the connection that opens now is the board's own
};

}  // namespace agent

#endif
