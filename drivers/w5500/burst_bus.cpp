#include "burst_bus.hpp"

#include "frame_header.hpp"

namespace w5500 {

bool BurstBus::read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) {
  const FrameHeader header(block, offset, FrameHeader::read);
  port_.select();
  port_.exchange(header.bytes, nullptr, sizeof header.bytes);
  port_.exchange(nullptr, data, count);
  port_.deselect();
  return true;
}

bool BurstBus::write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) {
  const FrameHeader header(block, offset, FrameHeader::write);
  port_.select();
  port_.exchange(header.bytes, nullptr, sizeof header.bytes);
  port_.exchange(data, nullptr, count);
  port_.deselect();
  return true;
}

}  // namespace w5500
