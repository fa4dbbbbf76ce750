// The pins of an SPI target whose front takes single edges, as RTL does: for whoever breaks a byte into bits. Selecting
// stays with SpiTarget.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/core/time.hpp"

namespace wizloop::chip {

// What a host has to keep at the pins, by the names of datasheet 5.5.4: SCSn high, its set-up and its hold; SCLK high
// and low; MOSI before and after the rising edge.
enum class PinLimit : std::uint8_t { TCS, TCSS, TCSH, TWH, TWL, TDS, TDH };
inline constexpr std::array<std::string_view, 7> pin_limit_names = {"TCS", "TCSS", "TCSH", "TWH", "TWL", "TDS", "TDH"};

// Some of them, a bit for each.
class PinLimits {
 public:
  constexpr PinLimits() = default;
  constexpr explicit PinLimits(std::uint8_t bits) : bits_{bits} {}

  constexpr bool has(PinLimit limit) const { return (bits_ >> static_cast<unsigned>(limit) & 1) != 0; }
  std::vector<std::string_view> names() const {
    std::vector<std::string_view> all;
    for (std::size_t i = 0; i < pin_limit_names.size(); ++i) {
      if (has(static_cast<PinLimit>(i))) all.push_back(pin_limit_names[i]);
    }
    return all;
  }
  bool operator==(const PinLimits&) const = default;

 private:
  std::uint8_t bits_ = 0;
};

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

  // What has been broken at these pins so far.
  virtual PinLimits broken_limits() const = 0;

 protected:
  ~SpiPins() = default;
};

}  // namespace wizloop::chip
