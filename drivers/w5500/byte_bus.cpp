#include "byte_bus.hpp"

#include "frame_header.hpp"

namespace w5500 {

bool ByteBus::read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) {
  const FrameHeader header(block, offset, FrameHeader::read);
  port_.select();
  for (uint8_t byte : header.bytes) port_.exchange(byte);
  for (uint16_t i = 0; i < count; ++i) data[i] = port_.exchange(0x00);
  port_.deselect();
  return true;
}

bool ByteBus::write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) {
  const FrameHeader header(block, offset, FrameHeader::write);
  port_.select();
  for (uint8_t byte : header.bytes) port_.exchange(byte);
  for (uint16_t i = 0; i < count; ++i) port_.exchange(data[i]);
  port_.deselect();
  return true;
}

}  // namespace w5500
