// What a UART's interrupt has received and the agent has not read yet. One side writes, the other takes; no lock is
// needed as long as the processor loads and stores an Index whole, which on an AVR only uint8_t is.
//
//   ReceiveRing<uint16_t, 1024> ring;
//   ring.put(byte);                       // in the interrupt; lose() where the UART itself has lost one
//   size_t got = ring.take(data, count);
#ifndef WIZLOOP_AGENT_RECEIVE_RING_HPP
#define WIZLOOP_AGENT_RECEIVE_RING_HPP

#include <stddef.h>
#include <stdint.h>

namespace agent {

template <typename Index, uint16_t ring_bytes>
class ReceiveRing {
 public:
  void put(uint8_t byte) {
    if (static_cast<Index>(written_ - taken_) == ring_bytes) return lose();
    bytes_[written_ % ring_bytes] = byte;
    written_ = static_cast<Index>(written_ + 1);
  }
  void lose() { overrun_ = true; }

  bool empty() const { return taken_ == written_; }
  size_t take(uint8_t* data, size_t count) {
    size_t got = 0;
    while (got < count && !empty()) {
      data[got++] = bytes_[taken_ % ring_bytes];
      taken_ = static_cast<Index>(taken_ + 1);
    }
    return got;
  }
  // Whether anything was lost since the last call; what is lost in between is told with this one.
  bool take_overrun() {
    if (!overrun_) return false;
    overrun_ = false;
    return true;
  }

 private:
  static_assert((ring_bytes & (ring_bytes - 1)) == 0, "both indices count on and wrap by themselves");
  static_assert(ring_bytes <= static_cast<Index>(-1), "a full ring would look empty");

  volatile uint8_t bytes_[ring_bytes] = {};
  volatile Index written_ = 0;
  volatile Index taken_ = 0;
  volatile bool overrun_ = false;
};

}  // namespace agent

#endif
