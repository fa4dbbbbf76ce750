// A TCP server on several sockets: listens on all of them, takes who comes, and gives each connection its turn. What is
// said on a connection is the matter of a Service; there is one a mode of the verb tcp-server.
//
//   Server server(device, watch, service, {port, sockets});
//   const w5500::Error error = server.run(limits);
#ifndef WIZLOOP_AGENT_SERVER_HPP
#define WIZLOOP_AGENT_SERVER_HPP

#include "drivers/w5500/socket.hpp"
#include "watch.hpp"

namespace agent {

struct Connection {
  enum State : uint8_t { closed, listening, open, closing };

  Connection(w5500::Chip& chip, uint8_t number) : socket(chip, number) {}

  w5500::TcpSocket socket;
  State state = closed;
  w5500::Endpoint peer = {};
  uint64_t in = 0;  // bytes
  uint64_t out = 0;
  uint32_t bad = 0;
  uint64_t opened_us = 0;
  uint64_t moved_us = 0;    // when bytes last came or went
  uint64_t closing_us = 0;  // since when

  // The service's own.
  uint8_t step = 0;
  uint8_t role = 0;
  uint16_t filled = 0;
  uint64_t budget = 0;
  uint8_t head[48];
};

enum class Turn : uint8_t { idle, moved, finished };

class Server;

class Service {
 public:
  virtual void on_open(Server& server, Connection& connection) = 0;
  // What can be done without waiting long; `finished`: the connection is to be closed.
  virtual Turn serve(Server& server, Connection& connection) = 0;
  // From here on it gets no more turns; the chip may still be parting from the peer.
  virtual void on_closed(Server& server, Connection& connection) = 0;

 protected:
  ~Service() = default;
};

class Server {
 public:
  static constexpr uint8_t max_connections = 4;

  Server(Device& device_, Watch& watch_, Service& service, uint16_t port_number, uint8_t sockets);

  // Until the watch is over, so many microseconds have passed (0: no matter) or so many connections have ended (0: no
  // matter).
  w5500::Error run(uint64_t longest_us, uint32_t most_ended);
  // Every socket, politely where there is a connection.
  void close_all();

  // What the data buffer is for: what comes in, the pattern that goes out, or half of it each.
  enum class Layout : uint8_t { in, out, both };
  void use_buffer(Layout layout);
  uint8_t* in_data() { return device.buffers.data + (layout_ == Layout::both ? device.buffers.data_bytes / 2 : 0); }
  uint16_t in_bytes() const {
    return layout_ == Layout::both ? static_cast<uint16_t>(device.buffers.data_bytes / 2) : device.buffers.data_bytes;
  }

  // For services.
  // Up to `count` bytes that have come, none if there are none; *finished if the peer has closed or is lost.
  uint16_t read(Connection& connection, uint8_t* data, uint16_t count, bool* finished);
  // As much of the pattern as can go now, up to `most` bytes: true if any went. Wants a buffer for it.
  bool send_pattern(Connection& connection, uint64_t most, bool* finished);
  // All of it, in no more than some seconds: for what is short. False if it could not be.
  bool send(Connection& connection, const uint8_t* data, uint16_t count);
  // A connection of the board's own, in place of a socket that listens; null if there is none, or nobody answers.
  Connection* connect(const w5500::Endpoint& peer);
  void drop(Connection& connection);
  Connection& at(uint8_t index) { return connections_[index]; }
  uint8_t size() const { return sockets_; }
  uint64_t now_us() { return device.clock.now_us(); }

  Device& device;
  Watch& watch;
  // Sums over all connections.
  const uint64_t& bytes() const { return bytes_; }
  uint64_t in() const { return in_; }
  uint64_t out() const { return out_; }
  uint64_t bad() const { return bad_; }
  uint32_t opened() const { return opened_; }
  uint32_t ended() const { return ended_; }
  uint64_t active_us() const { return last_us_ - first_us_; }

 private:
  // Those that come and those that go.
  w5500::Error look_for_peers();
  void look_for_peer(Connection& connection);
  void took(Connection& connection, uint16_t count, bool in);
  void adopt(Connection& connection, const w5500::Endpoint& peer);
  void close(Connection& connection);
  // One look; another one is needed as long as it is closing.
  void go_on_closing(Connection& connection);
  void finish_closing(Connection& connection);
  // Null if all are connected.
  Connection* free_socket();
  void tell(Connection& connection, w5500::Error closed);
  uint8_t open_count() const;

  Service& service_;
  Layout layout_ = Layout::in;
  uint16_t port_;
  uint8_t sockets_;
  Connection connections_[max_connections];
  uint64_t bytes_ = 0;
  uint64_t in_ = 0;
  uint64_t out_ = 0;
  uint64_t bad_ = 0;
  uint32_t opened_ = 0;
  uint32_t ended_ = 0;
  uint64_t first_us_ = 0;  // of the first byte and the last one
  uint64_t last_us_ = 0;
};

}  // namespace agent

#endif
