// The server of iperf3 over TCP, in both directions (-R) and with several streams (-P): one test at a time. A client
// opens a control connection, says what it wants in JSON, and opens its streams, each with the same cookie; one byte on
// the control connection says where the test stands.
#ifndef WIZLOOP_AGENT_IPERF3_SERVICE_HPP
#define WIZLOOP_AGENT_IPERF3_SERVICE_HPP

#include "server.hpp"

namespace agent {

// Finds a few numbers in JSON that comes byte by byte; what else there is does not matter.
class Iperf3Parameters {
 public:
  void take(char c);

  uint32_t parallel = 1;
  bool reverse = false;
  bool udp = false;
  bool bidirectional = false;

 private:
  void assign();

  char word_[16];
  uint8_t length_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  bool in_value_ = false;
  uint32_t number_ = 0;
};

class Iperf3Service final : public Service {
 public:
  static constexpr uint8_t cookie_bytes = 37;

  void on_open(Server& server, Connection& connection) override;
  Turn serve(Server& server, Connection& connection) override;
  void on_closed(Server& server, Connection& connection) override;

 private:
  enum Phase : uint8_t { no_test, parameters, streams, running, results, display };

  Turn greet(Server& server, Connection& connection);
  Turn control(Server& server, Connection& connection);
  Turn take_json(Server& server, Connection& connection);
  Turn begin_streams(Server& server, Connection& connection);
  Turn send_results(Server& server, Connection& connection);
  Turn refuse(Server& server, Connection& connection, uint32_t error);
  Turn move_data(Server& server, Connection& connection);
  Turn drain(Server& server, Connection& connection);
  bool say(Server& server, Connection& connection, uint8_t state);
  bool is_patient(Server& server, const Connection& connection) const;

  Phase phase_ = no_test;
  Connection* control_ = nullptr;
  uint8_t cookie_[cookie_bytes];
  Iperf3Parameters wanted_;
  uint8_t begun_ = 0;  // streams
  uint32_t json_left_ = 0;
  uint64_t start_us_ = 0;
  uint64_t end_us_ = 0;
  uint64_t moved_us_ = 0;
  uint64_t bytes_[Server::max_connections];
};

}  // namespace agent

#endif
