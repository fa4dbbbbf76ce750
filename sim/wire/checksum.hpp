// The Internet checksum (RFC 1071) and the Ethernet FCS (CRC-32, IEEE 802.3 clause 3.2.9).
#pragma once

#include <cstdint>
#include <cstring>

#include "sim/core/bytes.hpp"

namespace wizloop::wire {

// Ones' complement sum over 16-bit big-endian words, as a running value: parts of even length may be chained.
class ChecksumSum {
 public:
  ChecksumSum& add(Bytes bytes) {
    // Sums native words; the byte order is put right once at the end (RFC 1071 section 2(B)).
    const std::uint8_t* at = bytes.data();
    std::size_t left = bytes.size();
    while (left >= 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, at, 8);
      sum_ += word;
      if (sum_ < word) ++sum_;  // end-around carry
      at += 8;
      left -= 8;
    }
    std::uint64_t tail = 0;
    if (left > 0) std::memcpy(&tail, at, left);
    sum_ += tail;
    if (sum_ < tail) ++sum_;
    return *this;
  }
  ChecksumSum& add16(std::uint16_t value) {
    const std::uint8_t bytes[2] = {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
    return add(bytes);
  }

  // The checksum field that makes the whole sum to zero; for verification: 0 when the sum was right.
  std::uint16_t finish() const {
    std::uint64_t sum = (sum_ & 0xFFFFFFFF) + (sum_ >> 32);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    const auto native = static_cast<std::uint16_t>(~sum);
    std::uint8_t bytes[2];
    std::memcpy(bytes, &native, 2);
    return load16(bytes);
  }

 private:
  std::uint64_t sum_ = 0;
};

inline std::uint16_t internet_checksum(Bytes bytes) { return ChecksumSum{}.add(bytes).finish(); }

// CRC-32 with the reflected polynomial 0xEDB88320, initial value and final complement of all ones.
std::uint32_t crc32(Bytes bytes);

}  // namespace wizloop::wire
