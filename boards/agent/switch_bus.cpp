#include "switch_bus.hpp"

namespace agent {

bool SwitchBus::read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) {
  return counted(current().read(block, offset, data, count), count);
}

bool SwitchBus::write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) {
  return counted(current().write(block, offset, data, count), count);
}

w5500::Bus& SwitchBus::current() {
  switch (path_) {
    case Path::byte:
      return byte_;
    case Path::burst:
      return burst_;
    default:
      return dma_;
  }
}

bool SwitchBus::counted(bool transferred, uint16_t count) {
  ++counters.frames;
  counters.bytes += 3u + count;
  if (!transferred) ++counters.errors;
  return transferred;
}

}  // namespace agent
