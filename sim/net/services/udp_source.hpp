// Sends numbered datagrams at a constant interval: an `iperf -u -c`. Where the sending system sleeps by a coarse timer
// (PeerProfile::timer_tick), it wakes only at multiples of the tick and then sends at once all that has become due.
//
//   UdpSource source{pc, {.to = {board_ip, 5001}, .payload_bytes = 1470, .interval = 1176us, .count = 1000}};
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "sim/core/timer.hpp"
#include "sim/net/udp_port.hpp"

namespace wizloop::net {

class UdpSource {
 public:
  static constexpr std::uint64_t endless = std::numeric_limits<std::uint64_t>::max();

  struct Config {
    UdpPort::Address to{};
    std::size_t payload_bytes = 1470;  // the sequence number in the first four, if there are as many
    Duration interval{};               // more than 0
    std::uint64_t count = endless;
    Instant start{};  // when the first datagram becomes due
  };
  struct Counters {
    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;   // of payload
    std::uint64_t failed = 0;  // refused by the stack
  };

  UdpSource(LwipHost& host, const Config& config);

  void stop() { timer_.stop(); }
  const Counters& counters() const { return counters_; }

 private:
  Instant due() const { return config_.start + static_cast<std::int64_t>(next_) * config_.interval; }
  void sleep();
  void send_due();

  LwipHost& host_;
  Config config_;
  Counters counters_;
  std::uint64_t next_ = 0;  // number of the next datagram
  std::vector<std::uint8_t> payload_;
  UdpPort port_;
  Timer timer_;
};

}  // namespace wizloop::net
