// The stream that TCP measurements carry: byte i is i & 0xFF, so that a receiver can check each byte by its position.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/core/bytes.hpp"

namespace wizloop::net {

inline constexpr std::size_t pattern_period = 256;
inline constexpr std::size_t pattern_run = 64 * 1024;  // the longest stretch handed out at once

// `bytes` bytes of the stream from `position` on.
inline Bytes pattern(std::uint64_t position, std::size_t bytes) {
  static const auto stretch = [] {
    std::array<std::uint8_t, pattern_run + pattern_period> filled;
    for (std::size_t i = 0; i < filled.size(); ++i) filled[i] = static_cast<std::uint8_t>(i);
    return filled;
  }();
  return Bytes{stretch}.subspan(position % pattern_period, std::min(bytes, pattern_run));
}

// How many of these bytes differ from the stream at `position`.
inline std::uint64_t pattern_mismatches(std::uint64_t position, Bytes data) {
  std::uint64_t mismatches = 0;
  while (!data.empty()) {
    const Bytes expected = pattern(position, data.size());
    if (std::memcmp(data.data(), expected.data(), expected.size()) != 0) {
      for (std::size_t i = 0; i < expected.size(); ++i) mismatches += data[i] != expected[i] ? 1 : 0;
    }
    position += expected.size();
    data = data.subspan(expected.size());
  }
  return mismatches;
}

}  // namespace wizloop::net
