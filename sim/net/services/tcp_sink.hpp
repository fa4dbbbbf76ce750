// Listens, checks that byte i of each stream is i & 0xFF, counts, and closes when the peer does: an `iperf -s` that
// looks at what it gets.
//
//   TcpSink sink{pc, 5001};
//   ... run ...
//   sink.counters().bytes
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/net/tcp_connection.hpp"

namespace wizloop::net {

class TcpSink {
 public:
  struct Counters {
    std::uint64_t connections = 0;
    std::uint64_t peer_closed = 0;  // connections that the peer has closed in order
    std::uint64_t lost = 0;         // connections that ended otherwise
    std::uint64_t bytes = 0;
    std::uint64_t mismatches = 0;
    Instant first_byte = Instant::max();  // when the host had it
    Instant last_byte = Instant::min();
  };

  TcpSink(LwipHost& host, std::uint16_t port);

  const Counters& counters() const { return counters_; }

 private:
  struct Stream final : TcpConnection::User {
    explicit Stream(TcpSink& of) : sink{of}, connection{of.host_, *this} {}
    std::size_t on_data(Bytes data) override;
    void on_peer_closed() override;
    void on_lost(std::string_view /*why*/) override { ++sink.counters_.lost; }

    TcpSink& sink;
    std::uint64_t position = 0;
    TcpConnection connection;
  };

  bool accept(tcp_pcb* pcb);

  LwipHost& host_;
  Counters counters_;
  std::vector<std::unique_ptr<Stream>> streams_;
  TcpListener listener_;
};

}  // namespace wizloop::net
