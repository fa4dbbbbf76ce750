// A SEND of UDP or IPRAW in progress: the data between Sn_TX_RD and Sn_TX_WR, cut into datagrams of at most Sn_MSSR
// bytes, each with headers of its own; the chip makes no IP fragments (WIZnet UDP page).
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/core/time.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::chip {

class DatagramSend {
 public:
  // `length` is (TX_WR - TX_RD) mod 65536, whatever the ring holds. Sn_DIPR and Sn_DPORT count as of SEND: the host may
  // write them for the next datagram while ARP still looks for this one's.
  void start(std::uint16_t from, std::uint16_t length, wire::Ipv4Address address, std::uint16_t port) {
    next_ = from;
    left_ = length;
    address_ = address;
    port_ = port;
    active_ = true;
    ready_ = Instant::max();
  }
  void set_ready(Instant at) { ready_ = at; }
  void stop() { *this = DatagramSend{}; }

  std::uint16_t left() const { return left_; }
  wire::Ipv4Address address() const { return address_; }
  std::uint16_t port() const { return port_; }
  bool active() const { return active_; }
  Instant next_output() const { return active_ ? ready_ : Instant::max(); }

  struct Datagram {
    std::uint16_t offset;
    std::uint16_t length;
  };
  Datagram take(std::uint16_t largest) {
    const Datagram datagram{next_, std::min(left_, largest)};
    next_ = static_cast<std::uint16_t>(next_ + datagram.length);
    left_ = static_cast<std::uint16_t>(left_ - datagram.length);
    active_ = left_ > 0;
    return datagram;
  }

 private:
  std::uint16_t next_ = 0;
  std::uint16_t left_ = 0;
  bool active_ = false;
  wire::Ipv4Address address_ = 0;
  std::uint16_t port_ = 0;
  Instant ready_ = Instant::max();
};

}  // namespace wizloop::chip
