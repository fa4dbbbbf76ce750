// Counts datagrams. Those of at least four bytes start with a big-endian sequence number, whose gaps show what was
// lost.
//
//   UdpSink sink{pc, 5001};
#pragma once

#include <cstdint>

#include "sim/core/time.hpp"
#include "sim/net/udp_port.hpp"

namespace wizloop::net {

class UdpSink {
 public:
  struct Counters {
    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;         // of payload
    std::uint64_t missing = 0;       // numbers skipped; the count starts with the first datagram that came
    std::uint64_t late = 0;          // numbers below the one expected: out of order or twice
    Instant first = Instant::max();  // when the host had it
    Instant last = Instant::min();
  };

  UdpSink(LwipHost& host, std::uint16_t port);

  const Counters& counters() const { return counters_; }

 private:
  void on_datagram(Bytes payload);

  LwipHost& host_;
  Counters counters_;
  std::uint32_t expected_ = 0;
  bool numbered_ = false;  // a sequence number has been seen
  UdpPort port_;
};

}  // namespace wizloop::net
