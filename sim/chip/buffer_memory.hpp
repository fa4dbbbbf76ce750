// The 16 KiB of TX and the 16 KiB of RX memory, each cut into one ring per socket in socket order (datasheet 3.3).
// The host sees a flat 16-bit offset per ring; the chip folds it: base + (offset mod size). When sizes add up to more
// than 16 KiB the bases wrap and rings overlap, as the natural hardware would.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "sim/chip/register_map.hpp"
#include "sim/core/random.hpp"

namespace wizloop::chip {

inline constexpr std::size_t memory_bytes = 16 * 1024;

// One socket's share of one memory; cheap to copy, valid until the sizes change.
class Ring {
 public:
  Ring() = default;
  Ring(std::uint8_t* memory, std::size_t base, std::size_t size) : memory_{memory}, base_{base}, size_{size} {}

  // Bytes; 0, or a power of two from 1024 to 16384.
  std::size_t size() const { return size_; }

  std::uint8_t read(std::uint16_t offset) const { return size_ == 0 ? std::uint8_t{0} : memory_[place(offset)]; }
  void write(std::uint16_t offset, std::uint8_t value) {
    if (size_ != 0) memory_[place(offset)] = value;
  }

  // Any number of bytes from an offset on, folded as often as needed. A ring of size 0 reads zeros and drops writes.
  void read(std::uint16_t offset, std::uint8_t* out, std::size_t count) const {
    if (size_ == 0) {
      std::memset(out, 0, count);
      return;
    }
    in_pieces(offset, count, [&](std::size_t at, std::size_t done, std::size_t piece) {
      std::memcpy(out + done, memory_ + at, piece);
    });
  }
  void write(std::uint16_t offset, const std::uint8_t* in, std::size_t count) {
    if (size_ == 0) return;
    in_pieces(offset, count, [&](std::size_t at, std::size_t done, std::size_t piece) {
      std::memcpy(memory_ + at, in + done, piece);
    });
  }

 private:
  std::size_t place(std::uint16_t offset) const { return (base_ + (offset & (size_ - 1))) & (memory_bytes - 1); }

  template <typename Piece>
  void in_pieces(std::uint16_t offset, std::size_t count, Piece piece) const {
    std::size_t done = 0;
    while (done < count) {
      const std::size_t within = (offset + done) & (size_ - 1);
      const std::size_t at = (base_ + within) & (memory_bytes - 1);
      const std::size_t length = std::min({count - done, size_ - within, memory_bytes - at});
      piece(at, done, length);
      done += length;
    }
  }

  std::uint8_t* memory_ = nullptr;
  std::size_t base_ = 0;
  std::size_t size_ = 0;
};

class BufferMemory {
 public:
  // Nobody says what the memory holds at power-up: seeded noise.
  explicit BufferMemory(RandomStream noise) {
    for (std::uint8_t& byte : bytes_) byte = static_cast<std::uint8_t>(noise.next() >> 56);
  }

  // `sizes_kib` is Sn_TXBUF_SIZE or Sn_RXBUF_SIZE of the sockets 0 to 7, as written.
  using Sizes = std::array<std::uint8_t, socket_count>;
  void carve(const Sizes& sizes_kib) {
    std::size_t base = 0;
    for (std::size_t n = 0; n < sizes_kib.size(); ++n) {
      const std::size_t size = size_in_bytes(sizes_kib[n]);
      rings_[n] = Ring{bytes_.data(), base & (memory_bytes - 1), size};
      base += size;
    }
  }

  Ring& ring(int socket) { return rings_[static_cast<std::size_t>(socket)]; }

  // Legal are 0, 1, 2, 4, 8 and 16 KiB; anything else acts as the next lower power of two.
  static std::size_t size_in_bytes(std::uint8_t kib) {
    std::size_t size = 0;
    for (std::size_t legal = 1; legal <= 16 && legal <= kib; legal *= 2) size = legal * 1024;
    return size;
  }

 private:
  std::array<std::uint8_t, memory_bytes> bytes_;
  std::array<Ring, socket_count> rings_;
};

}  // namespace wizloop::chip
