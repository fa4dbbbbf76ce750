// The 16 KiB of TX and the 16 KiB of RX memory, each cut into one ring per socket in socket order (datasheet 3.3).
// The host sees a flat 16-bit offset per ring; the chip folds it: base + (offset mod size). What sizes do that are
// illegal, or add up to more than 16 KiB, Quirks decide.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sim/chip/quirks.hpp"
#include "sim/chip/register_map.hpp"
#include "sim/core/random.hpp"

namespace wizloop::chip {

inline constexpr std::size_t memory_bytes = 16 * 1024;

// One socket's share of one memory; cheap to copy, valid until the sizes change.
class Ring {
 public:
  Ring() = default;
  // `folds_at` is where offsets start over, a power of two: the size, or 0 where there is no storage at all.
  Ring(std::uint8_t* memory, std::size_t base, std::size_t size, std::size_t folds_at, bool wraps)
      : memory_{memory},
        in_one_piece_{folds_at != 0 && base + folds_at <= memory_bytes ? memory + base : nullptr},
        base_{base},
        size_{size},
        folds_at_{folds_at},
        wraps_{wraps} {}

  // Bytes that the socket's pointers may span; 0, or a power of two from 1024 to 16384.
  std::size_t size() const { return size_; }

  std::uint8_t read(std::uint16_t offset) const {
    const std::uint8_t* at = place(offset);
    return at != nullptr ? *at : std::uint8_t{0};
  }
  void write(std::uint16_t offset, std::uint8_t value) {
    if (std::uint8_t* at = place(offset)) *at = value;
  }

  // Any number of bytes from an offset on, folded as often as needed. Where there is no storage, zeros are read and
  // writes are lost.
  void read(std::uint16_t offset, std::uint8_t* out, std::size_t count) const {
    in_pieces(offset, count, [&](const std::uint8_t* at, std::size_t done, std::size_t piece) {
      if (at != nullptr) {
        std::memcpy(out + done, at, piece);
      } else {
        std::memset(out + done, 0, piece);
      }
    });
  }
  void write(std::uint16_t offset, const std::uint8_t* in, std::size_t count) {
    in_pieces(offset, count, [&](std::uint8_t* at, std::size_t done, std::size_t piece) {
      if (at != nullptr) std::memcpy(at, in + done, piece);
    });
  }

 private:
  // Null where there is no storage.
  std::uint8_t* place(std::uint16_t offset) const {
    if (in_one_piece_ != nullptr) [[likely]]
      return in_one_piece_ + (offset & (folds_at_ - 1));
    const std::size_t at = base_ + (offset & (folds_at_ - 1));
    if (folds_at_ == 0 || (at >= memory_bytes && !wraps_)) return nullptr;
    return memory_ + (at & (memory_bytes - 1));
  }

  template <typename Piece>
  void in_pieces(std::uint16_t offset, std::size_t count, Piece piece) const {
    if (folds_at_ == 0) return piece(nullptr, 0, count);
    std::size_t done = 0;
    while (done < count) {
      const std::size_t within = (offset + done) & (folds_at_ - 1);
      const std::size_t place = base_ + within;
      const bool beyond = place >= memory_bytes;
      const std::size_t at = place & (memory_bytes - 1);
      const std::size_t length = std::min({count - done, folds_at_ - within, memory_bytes - at});
      piece(beyond && !wraps_ ? nullptr : memory_ + at, done, length);
      done += length;
    }
  }

  std::uint8_t* memory_ = nullptr;
  std::uint8_t* in_one_piece_ = nullptr;  // where it begins; null if it does not lie within the memory whole
  std::size_t base_ = 0;
  std::size_t size_ = 0;
  std::size_t folds_at_ = 0;
  bool wraps_ = true;  // beyond the end of the memory its beginning follows
};

class BufferMemory {
 public:
  // Nobody says what the memory holds at power-up: seeded noise.
  explicit BufferMemory(RandomStream noise) {
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(noise.next() >> 56);
  }

  // `sizes_kib` is Sn_TXBUF_SIZE or Sn_RXBUF_SIZE of the sockets 0 to 7, as written.
  using Sizes = std::array<std::uint8_t, socket_count>;
  void carve(const Sizes& sizes_kib, Quirks& quirks) {
    std::size_t base = 0;
    for (std::size_t n = 0; n < sizes_kib.size(); ++n) {
      const std::size_t size = size_in_bytes(sizes_kib[n], quirks);
      const bool wraps = base + size <= memory_bytes ||
                         quirks.choice<OvercommittedMemory>(Quirk::overcommitted_memory) == OvercommittedMemory::wraps;
      const bool is_alias = size == 0 && quirks.peek<ZeroBuffer>(Quirk::zero_buffer) == ZeroBuffer::whole_memory;
      rings_[n] = Ring{bytes_.data(), base, size, is_alias ? memory_bytes : size, wraps || is_alias};
      base += size;
    }
  }
  void clear() { bytes_.fill(0); }

  Ring& ring(int socket) { return rings_[static_cast<std::size_t>(socket)]; }

 private:
  // Legal are 0, 1, 2, 4, 8 and 16 KiB; nobody says what anything else does.
  static std::size_t size_in_bytes(std::uint8_t kib, Quirks& quirks) {
    std::size_t size = 0;
    for (std::size_t legal = 1; legal <= 16 && legal <= kib; legal *= 2) size = legal * 1024;
    const bool is_legal = size == kib * std::size_t{1024};
    if (is_legal || quirks.choice<IllegalBufferSize>(Quirk::illegal_buffer_size) == IllegalBufferSize::rounds_down) {
      return size;
    }
    return 0;
  }

  // On a cache line: what lies across two of them is copied a tenth slower, whatever else the chip holds before it.
  alignas(64) std::array<std::uint8_t, memory_bytes> bytes_;
  std::array<Ring, socket_count> rings_;
};

}  // namespace wizloop::chip
