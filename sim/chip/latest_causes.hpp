// The causes of an interrupt register (IR, Sn_IR) that were set in this very instant. Setting beats clearing: a host
// that clears a cause it saw before must not take one that it cannot have seen.
//
//   causes.set(sn_ir::RECV, now);
//   interrupts &= ~(written & ~causes.unseen(now, frame_began));
#pragma once

#include <cstdint>

#include "sim/core/time.hpp"

namespace wizloop::chip {

class LatestCauses {
 public:
  void set(std::uint8_t causes, Instant now) {
    causes_ = at_ == now ? static_cast<std::uint8_t>(causes_ | causes) : causes;
    at_ = now;
  }
  // Of a host whose SPI frame began at that instant.
  std::uint8_t unseen(Instant now, Instant frame_began) const {
    return at_ == now && frame_began < now ? causes_ : std::uint8_t{0};
  }

 private:
  Instant at_ = Instant::min();
  std::uint8_t causes_ = 0;
};

}  // namespace wizloop::chip
