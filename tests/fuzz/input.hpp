// Bytes of a fuzzer as numbers: read from the front, zeros once they have run out, so that every input means something.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/core/bytes.hpp"

namespace wizloop::fuzz {

class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : left_{data, size} {}

  bool empty() const { return left_.empty(); }

  std::uint8_t u8() {
    const Bytes byte = take(1);
    return byte.empty() ? std::uint8_t{0} : byte[0];
  }
  std::uint16_t u16() {
    const std::uint8_t high = u8();
    return static_cast<std::uint16_t>(high << 8 | u8());
  }
  // At most `count` bytes.
  Bytes take(std::size_t count) {
    const Bytes taken = left_.first(std::min(count, left_.size()));
    left_ = left_.subspan(taken.size());
    return taken;
  }

 private:
  Bytes left_;
};

}  // namespace wizloop::fuzz
