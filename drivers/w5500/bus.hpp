// The narrow waist of the driver: bytes at an offset of a block. Everything above knows registers and buffers only;
// everything below knows how bytes travel (byte_bus.hpp, burst_bus.hpp, dma_bus.hpp). Each call is one SPI frame in
// variable data length mode (datasheet 2.3): SCSn low, two address bytes, a control byte, data, SCSn high.
#ifndef WIZLOOP_W5500_BUS_HPP
#define WIZLOOP_W5500_BUS_HPP

#include <stdint.h>

namespace w5500 {

class Bus {
 public:
  // `block` is the 5-bit block select (BSB) of datasheet 2.2.2. False if the transfer failed: a DMA that did not
  // complete.
  virtual bool read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) = 0;
  virtual bool write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) = 0;

 protected:
  ~Bus() = default;
};

}  // namespace w5500

#endif
