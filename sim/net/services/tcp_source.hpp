// Sends the stream of bytes i & 0xFF as fast as the network takes it: an `iperf -c`, or a server that sends. Either it
// connects to the board or it waits for the board to connect. The send buffer is always full; after the last byte the
// source closes.
//
//   TcpSource source{pc, {.bytes = 10 << 20}};
//   source.connect(board_ip, 5001);
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "sim/net/tcp_connection.hpp"

namespace wizloop::net {

class TcpSource final : private TcpConnection::User {
 public:
  static constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

  struct Config {
    std::uint64_t bytes = endless;
  };
  struct Counters {
    std::uint64_t connections = 0;
    std::uint64_t bytes_queued = 0;        // handed to the stack
    std::uint64_t bytes_acknowledged = 0;  // by the peer
    Instant connected = Instant::max();
    Instant last_acknowledged = Instant::min();  // when the host had the last ACK of new data
    bool peer_closed = false;
    std::string failure;  // why the connection was lost; empty: it was not
  };

  TcpSource(LwipHost& host, const Config& config);

  // Connects, now. Refusal shows in counters().failure.
  void connect(wire::Ipv4Address address, std::uint16_t port);
  // Waits for one connection; any other is reset.
  void listen(std::uint16_t port);
  // Sends what is queued, and then closes.
  void stop();

  const Counters& counters() const { return counters_; }
  // Everything was sent and acknowledged.
  bool finished() const { return stopped_ && counters_.bytes_acknowledged == counters_.bytes_queued; }

 private:
  void on_connected() override;
  std::size_t on_data(Bytes data) override { return data.size(); }
  void on_acknowledged(std::size_t bytes) override;
  void on_peer_closed() override;
  void on_lost(std::string_view why) override { counters_.failure = why; }
  void fill();

  LwipHost& host_;
  Config config_;
  Counters counters_;
  bool stopped_ = false;  // nothing more is queued, and the connection is shut down
  TcpConnection connection_;
  std::optional<TcpListener> listener_;
};

}  // namespace wizloop::net
