// Sends back what it receives (RFC 862), and closes when the peer does. When the send buffer is full it stops taking
// data, so the peer's window closes.
//
//   TcpEcho echo{pc, 7};
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/net/tcp_connection.hpp"

namespace wizloop::net {

class TcpEcho {
 public:
  struct Counters {
    std::uint64_t connections = 0;
    std::uint64_t peer_closed = 0;
    std::uint64_t lost = 0;
    std::uint64_t bytes = 0;  // sent back
  };

  TcpEcho(LwipHost& host, std::uint16_t port);

  const Counters& counters() const { return counters_; }

 private:
  struct Stream final : TcpConnection::User {
    explicit Stream(TcpEcho& of) : echo{of}, connection{of.host_, *this} {}
    std::size_t on_data(Bytes data) override;
    void on_acknowledged(std::size_t bytes) override;
    void on_peer_closed() override;
    void on_lost(std::string_view /*why*/) override { ++echo.counters_.lost; }
    std::size_t send(Bytes data);

    TcpEcho& echo;
    std::vector<std::uint8_t> held;  // received, but not yet taken by the send buffer; at most a receive window
    bool closing = false;
    TcpConnection connection;
  };

  bool accept(tcp_pcb* pcb);

  LwipHost& host_;
  Counters counters_;
  std::vector<std::unique_ptr<Stream>> streams_;
  TcpListener listener_;
};

}  // namespace wizloop::net
