// CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xFFFF, no reflection; "123456789" gives 0x29B1.
//
//   uint16_t crc = crc16_start;
//   for (...) crc = crc16(crc, byte);
#ifndef WIZLOOP_AGENT_CRC16_HPP
#define WIZLOOP_AGENT_CRC16_HPP

#include <stdint.h>

namespace agent {

constexpr uint16_t crc16_start = 0xFFFF;

inline uint16_t crc16(uint16_t crc, uint8_t byte) {
  // Without a table, which would cost an AVR 512 bytes: the polynomial's four terms, shifted into place.
  uint8_t x = static_cast<uint8_t>((crc >> 8) ^ byte);
  x = static_cast<uint8_t>(x ^ (x >> 4));
  return static_cast<uint16_t>((crc << 8) ^ (static_cast<uint16_t>(x) << 12) ^ (static_cast<uint16_t>(x) << 5) ^ x);
}

}  // namespace agent

#endif
