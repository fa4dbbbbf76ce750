// What the two ends of a cable are able to do, and what negotiation makes of them (IEEE 802.3 clause 28): the better of
// two that negotiate, and half duplex where an end that negotiates meets one that does not, since parallel detection
// tells the speed of the other end but not its duplex.
//
//   const LinkAbilities partner = link_abilities_of("100-full-forced").value();
//   const auto modes = negotiate(LinkAbilities{}, partner);  // own: 100 half, partner: 100 full, a duplex mismatch
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/result.hpp"
#include "sim/core/time.hpp"

namespace wizloop::wire {

struct LinkMode {
  bool fast = true;  // 100 Mbit/s, else 10
  bool full_duplex = true;

  Frequency bit_rate() const { return Frequency{fast ? 100'000'000 : 10'000'000}; }
  friend bool operator==(const LinkMode&, const LinkMode&) = default;
};

struct LinkAbilities {
  static constexpr std::uint8_t ten_half = 1, ten_full = 2, fast_half = 4, fast_full = 8;
  static constexpr std::uint8_t all = ten_half | ten_full | fast_half | fast_full;

  bool negotiates = true;
  std::uint8_t modes = all;  // offered where it negotiates; the one it is forced to where it does not; 0: none of these

  friend bool operator==(const LinkAbilities&, const LinkAbilities&) = default;
};

// How each end uses a cable. Their speeds are equal; their duplex need not be.
struct LinkModes {
  LinkMode own;
  LinkMode partner;

  bool mismatched() const { return own.full_duplex != partner.full_duplex; }
  friend bool operator==(const LinkModes&, const LinkModes&) = default;
};

// Nothing: no link.
std::optional<LinkModes> negotiate(const LinkAbilities& own, const LinkAbilities& partner);

// From SPEED-DUPLEX-forced, SPEED-DUPLEX-negotiating (it offers that mode and every lesser one) with 10 or 100, half or
// full; or "1000-only", which shares no mode with a 10/100 chip. The error says what was expected.
Result<LinkAbilities> link_abilities_of(std::string_view text);

}  // namespace wizloop::wire
