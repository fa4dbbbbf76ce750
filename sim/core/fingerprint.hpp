// One 64-bit number for all that happened in a run: equal runs have equal fingerprints, and unequal ones differ with
// near certainty. Not cryptographic.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "sim/core/bytes.hpp"
#include "sim/core/time.hpp"

namespace wizloop {

class Fingerprint {
 public:
  void add(std::uint64_t word) {
    const uint128 product = static_cast<uint128>(state_ ^ word) * 0x9E3779B97F4A7C15;
    state_ = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^ 0xA0761D6478BD642F;
  }
  void add(Instant at) { add(static_cast<std::uint64_t>(at.time_since_epoch().count())); }
  void add(Bytes bytes) {
    std::size_t i = 0;
    for (; i + 8 <= bytes.size(); i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, bytes.data() + i, 8);
      add(word);
    }
    std::uint64_t tail = 0;
    if (i < bytes.size()) std::memcpy(&tail, bytes.data() + i, bytes.size() - i);
    add(tail);
    add(static_cast<std::uint64_t>(bytes.size()));
  }
  void add(std::string_view text) { add(Bytes{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}); }

  std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xE7037ED1A0B428DB;
};

}  // namespace wizloop
