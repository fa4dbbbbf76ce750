// Big-endian values in byte arrays, as the chip's registers hold them, and the little that the standard library would
// supply elsewhere.
#ifndef WIZLOOP_W5500_BYTES_HPP
#define WIZLOOP_W5500_BYTES_HPP

#include <stdint.h>

namespace w5500 {

inline uint16_t load16(const uint8_t* bytes) { return static_cast<uint16_t>((bytes[0] << 8) | bytes[1]); }

inline void store16(uint8_t* bytes, uint16_t value) {
  bytes[0] = static_cast<uint8_t>(value >> 8);
  bytes[1] = static_cast<uint8_t>(value & 0xFF);
}

inline uint32_t load32(const uint8_t* bytes) { return (uint32_t{load16(bytes)} << 16) | load16(bytes + 2); }

inline void store32(uint8_t* bytes, uint32_t value) {
  store16(bytes, static_cast<uint16_t>(value >> 16));
  store16(bytes + 2, static_cast<uint16_t>(value & 0xFFFF));
}

inline void copy_bytes(uint8_t* to, const uint8_t* from, uint8_t count) {
  for (uint8_t i = 0; i < count; ++i) to[i] = from[i];
}

template <typename T>
constexpr T smaller(T a, T b) {
  return a < b ? a : b;
}

}  // namespace w5500

#endif
