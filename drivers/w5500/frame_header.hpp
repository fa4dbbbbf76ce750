// The three bytes that open each SPI frame: offset address high and low, then block select, read or write, and 00 for
// variable data length (datasheet 2.2).
#ifndef WIZLOOP_W5500_FRAME_HEADER_HPP
#define WIZLOOP_W5500_FRAME_HEADER_HPP

#include <stdint.h>

namespace w5500 {

struct FrameHeader {
  enum Direction : uint8_t { read = 0x00, write = 0x04 };

  FrameHeader(uint8_t block, uint16_t offset, Direction direction)
      : bytes{static_cast<uint8_t>(offset >> 8), static_cast<uint8_t>(offset & 0xFF),
              static_cast<uint8_t>((block << 3) | direction)} {}

  uint8_t bytes[3];
};

}  // namespace w5500

#endif
