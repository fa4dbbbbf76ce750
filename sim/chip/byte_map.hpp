// Which bytes of a ring have been written and not yet sent: one bit per byte. Offsets are taken as the chip takes them,
// folded into the ring. A ring of size 0 has no bytes to keep account of.
//
//   ByteMap written;
//   written.resize(2048);
//   const bool again = written.mark(offset, count);
//   if (!written.take(offset, count)) ...          // some were not written
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "sim/chip/buffer_memory.hpp"

namespace wizloop::chip {

class ByteMap {
 public:
  // A power of two; forgets all marks.
  void resize(std::size_t ring_bytes) {
    size_ = ring_bytes;
    clear();
  }
  void clear() { bits_.fill(0); }

  // True if one of them had been marked already.
  bool mark(std::uint16_t offset, std::size_t count) {
    if (size_ == 0) return false;
    bool again = count > size_;
    for_each_word(offset, count, [&again](std::uint64_t& word, std::uint64_t bits) {
      again = again || (word & bits) != 0;
      word |= bits;
    });
    return again;
  }

  // Forgets these marks; true if all of them were there.
  bool take(std::uint16_t offset, std::size_t count) {
    if (size_ == 0) return true;
    bool all = count <= size_;
    for_each_word(offset, count, [&all](std::uint64_t& word, std::uint64_t bits) {
      all = all && (word & bits) == bits;
      word &= ~bits;
    });
    return all;
  }

 private:
  static constexpr std::size_t word_bits = 64;

  template <typename Visit>
  void for_each_word(std::uint16_t offset, std::size_t count, Visit visit) {
    count = std::min(count, size_);
    std::size_t at = offset & (size_ - 1);
    while (count > 0) {
      const std::size_t within = at % word_bits;
      const std::size_t here = std::min(count, word_bits - within);
      const std::uint64_t ones = here == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
      visit(bits_[at / word_bits], ones << within);
      count -= here;
      at = (at + here) & (size_ - 1);
    }
  }

  std::size_t size_ = 0;
  std::array<std::uint64_t, memory_bytes / word_bits> bits_{};
};

}  // namespace wizloop::chip
