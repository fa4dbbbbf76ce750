// A point in time after which a wait gives up. It counts from its construction and keeps right across the wrap of
// Port::now_us() at 2^32 us. Where Port::set_patience() was called, the end of that patience is the end of every wait.
//
//   const Deadline deadline(port, 2000);
//   while (!ready()) {
//     if (deadline.passed()) return Error::state_timeout;
//   }
#ifndef WIZLOOP_W5500_DEADLINE_HPP
#define WIZLOOP_W5500_DEADLINE_HPP

#include <stdint.h>

#include "port.hpp"

namespace w5500 {

class Deadline {
 public:
  Deadline(Port& port, uint32_t timeout_us) : port_(port), start_us_(port.now_us()), timeout_us_(timeout_us) {}

  uint32_t elapsed_us() const { return port_.now_us() - start_us_; }
  bool passed() const { return port_.out_of_patience() || elapsed_us() >= timeout_us_; }
  uint32_t left_us() const {
    const uint32_t elapsed = elapsed_us();
    return elapsed < timeout_us_ ? timeout_us_ - elapsed : 0;
  }

 private:
  Port& port_;
  uint32_t start_us_;
  uint32_t timeout_us_;
};

}  // namespace w5500

#endif
