// Microseconds since the clock was made, across the wrap of Port::now_us() every 71 minutes: it must be read more often
// than that.
#ifndef WIZLOOP_AGENT_CLOCK_HPP
#define WIZLOOP_AGENT_CLOCK_HPP

#include <stdint.h>

#include "drivers/w5500/port.hpp"

namespace agent {

class Clock {
 public:
  explicit Clock(w5500::Port& port) : port_(port), last_(port.now_us()) {}

  uint64_t now_us() {
    const uint32_t now = port_.now_us();
    total_ += now - last_;
    last_ = now;
    return total_;
  }

 private:
  w5500::Port& port_;
  uint32_t last_;
  uint64_t total_ = 0;
};

}  // namespace agent

#endif
