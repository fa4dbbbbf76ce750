// An ordinary socket of the host that never waits, for the other side of a board's connection.
#pragma once

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "sim/core/assert.hpp"
#include "sim/core/bytes.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::test {

class HostSocket {
 public:
  static constexpr wire::Ipv4Address loopback = wire::ipv4(127, 0, 0, 1);

  static HostSocket tcp() { return HostSocket{SOCK_STREAM}; }
  static HostSocket udp() { return HostSocket{SOCK_DGRAM}; }
  explicit HostSocket(int type) : HostSocket{} {
    descriptor_ = socket(AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    WIZ_ASSERT(descriptor_ >= 0);
  }
  HostSocket(HostSocket&& other) noexcept : descriptor_{std::exchange(other.descriptor_, -1)} {}
  HostSocket& operator=(HostSocket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  ~HostSocket() { close(); }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }

  int descriptor() const { return descriptor_; }

  // 0: any free port, which comes back.
  std::uint16_t bind(std::uint16_t port = 0) {
    sockaddr_in address = sockaddr_of(loopback, port);
    WIZ_ASSERT(::bind(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    socklen_t size = sizeof address;
    getsockname(descriptor_, reinterpret_cast<sockaddr*>(&address), &size);
    return ntohs(address.sin_port);
  }
  void listen() { WIZ_ASSERT(::listen(descriptor_, 4) == 0); }
  // Whether somebody has connected.
  bool accept(HostSocket& connection) {
    HostSocket accepted;
    accepted.descriptor_ = accept4(descriptor_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (accepted.descriptor_ < 0) return false;
    connection = std::move(accepted);
    return true;
  }
  void connect(std::uint16_t port, wire::Ipv4Address to = loopback) {
    const sockaddr_in address = sockaddr_of(to, port);
    ::connect(descriptor_, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  }

  // How much was taken.
  std::size_t send(Bytes data) {
    const ssize_t sent = ::send(descriptor_, data.data(), data.size(), MSG_NOSIGNAL);
    return sent < 0 ? 0 : static_cast<std::size_t>(sent);
  }
  std::vector<std::uint8_t> receive() {
    std::vector<std::uint8_t> data(65536);
    const ssize_t count = recv(descriptor_, data.data(), data.size(), 0);
    data.resize(count < 0 ? 0 : static_cast<std::size_t>(count));
    return data;
  }
  // The peer has closed, and all it sent has been received.
  bool at_end() {
    std::uint8_t byte;
    return recv(descriptor_, &byte, 1, MSG_PEEK) == 0;
  }
  // Closes with RST.
  void abort() {
    const linger at_once{1, 0};
    setsockopt(descriptor_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    close();
  }

  // A port that was free a moment ago.
  static std::uint16_t free_port(int type = SOCK_STREAM) { return HostSocket{type}.bind(); }

 private:
  HostSocket() = default;
  static sockaddr_in sockaddr_of(wire::Ipv4Address address, std::uint16_t port) {
    sockaddr_in result{};
    result.sin_family = AF_INET;
    result.sin_addr.s_addr = htonl(address);
    result.sin_port = htons(port);
    return result;
  }

  int descriptor_ = -1;
};

}  // namespace wizloop::test
