// Sends each datagram back to where it came from (RFC 862).
//
//   UdpEcho echo{pc, 7};
#pragma once

#include <cstdint>

#include "sim/net/udp_port.hpp"

namespace wizloop::net {

class UdpEcho {
 public:
  struct Counters {
    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;  // of payload
  };

  UdpEcho(LwipHost& host, std::uint16_t port);

  const Counters& counters() const { return counters_; }

 private:
  Counters counters_;
  UdpPort port_;
};

}  // namespace wizloop::net
