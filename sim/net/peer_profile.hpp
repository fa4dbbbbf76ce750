// How the remote host of a measurement behaves, as plain data: part of a board file, because a published figure holds
// only for the host that it was measured against.
#pragma once

#include <cstdint>
#include <string>

#include "sim/core/time.hpp"

namespace wizloop::net {

enum class AckPolicy : std::uint8_t {
  immediate,     // every segment at once
  every_second,  // every second segment at once, a single one after the delay (RFC 9293 3.8.6.3)
  delayed,       // only after the delay
};

// How the remote host cuts a stream when the peer's window is small (sender silly window avoidance, RFC
// 9293 3.8.6.2.1).
enum class SegmentRule : std::uint8_t {
  half_window,  // never larger than half the largest window seen, so that two are in flight
  full_mss,     // a full segment or nothing while more data waits
};

struct PeerProfile {
  std::string system{};  // as the source names it
  AckPolicy ack_policy = AckPolicy::every_second;
  SegmentRule segment_rule = SegmentRule::half_window;
  Duration delayed_ack{};  // how long a lone segment waits for its ACK
  Duration turnaround{};   // from a frame's last bit to the first bit of the answer
  Duration timer_tick{};   // a paced sender wakes only at multiples of this; 0: exactly on time
};

}  // namespace wizloop::net
