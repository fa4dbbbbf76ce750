// Which bytes of a ring have been written and not yet sent: one bit per byte. Offsets are taken as the chip takes them,
// folded into the ring. A ring of size 0 has no bytes to keep account of.
//
// Firmware that is in order marks byte behind byte and takes them from the front. As long as it does, one run of bytes
// says it all; from the first time that it does not, until the marks are forgotten, each byte has its bit.
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
  void clear() {
    run_bytes_ = 0;
    if (!scattered_) return;
    bits_.fill(0);
    scattered_ = false;
  }

  // True if one of them had been marked already.
  bool mark(std::uint16_t offset, std::size_t count) {
    if (size_ == 0 || count == 0) return false;
    if (!scattered_ && count <= size_ - run_bytes_ && (run_bytes_ == 0 || fold(offset) == fold(run_at_ + run_bytes_))) {
      if (run_bytes_ == 0) run_at_ = offset;
      run_bytes_ += count;
      return false;
    }
    scatter();
    bool again = count > size_;
    for_each_word(offset, count, [&again](std::uint64_t& word, std::uint64_t bits) {
      again = again || (word & bits) != 0;
      word |= bits;
    });
    return again;
  }

  // Forgets these marks; true if all of them were there.
  bool take(std::uint16_t offset, std::size_t count) {
    if (size_ == 0 || count == 0) return true;
    if (!scattered_ && count <= run_bytes_ && fold(offset) == fold(run_at_)) {
      run_at_ = static_cast<std::uint16_t>(run_at_ + count);
      run_bytes_ -= count;
      return true;
    }
    scatter();
    bool all = count <= size_;
    for_each_word(offset, count, [&all](std::uint64_t& word, std::uint64_t bits) {
      all = all && (word & bits) == bits;
      word &= ~bits;
    });
    return all;
  }

 private:
  static constexpr std::size_t word_bits = 64;

  std::size_t fold(std::size_t offset) const { return offset & (size_ - 1); }

  // From the run to bits.
  void scatter() {
    if (scattered_) return;
    scattered_ = true;
    for_each_word(run_at_, run_bytes_, [](std::uint64_t& word, std::uint64_t bits) { word |= bits; });
  }

  template <typename Visit>
  void for_each_word(std::uint16_t offset, std::size_t count, Visit visit) {
    count = std::min(count, size_);
    std::size_t at = fold(offset);
    while (count > 0) {
      const std::size_t within = at % word_bits;
      const std::size_t here = std::min(count, word_bits - within);
      const std::uint64_t ones = here == word_bits ? ~std::uint64_t{0} : (std::uint64_t{1} << here) - 1;
      visit(bits_[at / word_bits], ones << within);
      count -= here;
      at = fold(at + here);
    }
  }

  std::size_t size_ = 0;
  std::uint16_t run_at_ = 0;  // where the run begins, unless scattered
  std::size_t run_bytes_ = 0;
  bool scattered_ = false;
  std::array<std::uint64_t, memory_bytes / word_bits> bits_{};
};

}  // namespace wizloop::chip
