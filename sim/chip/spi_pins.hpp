// The pins of an SPI target whose front takes single edges, as RTL does: for whoever breaks a byte into bits. Selecting
// stays with SpiTarget.
#pragma once

#include "sim/core/time.hpp"

namespace wizloop::chip {

// When a host moves its pins: SCLK, the SPI mode, and what it takes to select and to let go.
struct PinTiming {
  Frequency sclk{1};
  int mode = 0;
  Duration select{};
  Duration deselect{};
};

class SpiPins {
 public:
  // From the next edge on.
  virtual void set_timing(const PinTiming& timing) = 0;

  // The eight periods of SCLK begin that end now. Whatever is done to the pins until end_byte() falls among them, in
  // the order in which it is done.
  virtual void begin_byte() = 0;
  // The period of this bit, 7 being the first: MOSI moves, SCLK makes its two edges. What the host samples on MISO.
  virtual bool clock_bit(int bit, bool mosi) = 0;
  // Behind the rising edge of that period, SCLK shows one more.
  virtual void repeat_edge() = 0;
  // SCLK falls, or stays low, and the rising edge of that period never reaches the chip.
  virtual bool miss_bit(int bit) = 0;
  virtual void end_byte() = 0;

 protected:
  ~SpiPins() = default;
};

}  // namespace wizloop::chip
