#include "dma_bus.hpp"

#include "frame_header.hpp"

namespace w5500 {

bool DmaBus::read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) {
  const FrameHeader header(block, offset, FrameHeader::read);
  port_.select();
  port_.exchange(header.bytes, nullptr, sizeof header.bytes);
  const bool complete = transfer(nullptr, data, count);
  port_.deselect();
  return complete;
}

bool DmaBus::write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) {
  const FrameHeader header(block, offset, FrameHeader::write);
  port_.select();
  port_.exchange(header.bytes, nullptr, sizeof header.bytes);
  const bool complete = transfer(data, nullptr, count);
  port_.deselect();
  return complete;
}

bool DmaBus::transfer(const uint8_t* mosi, uint8_t* miso, uint16_t count) {
  if (count < threshold_bytes_ || !port_.start_dma(mosi, miso, count)) {
    port_.exchange(mosi, miso, count);
    return true;
  }
  if (port_.wait_dma(timeout_us(count))) return true;
  port_.abort_dma();
  return false;
}

}  // namespace w5500
