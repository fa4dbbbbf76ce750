// Headers and short transfers by buffer call, longer data by DMA in the same frame. Below the threshold the set-up of a
// DMA costs more than it saves; where start_dma() says no (no channel, memory that DMA cannot reach) the buffer call
// does the work. A DMA that does not end is aborted, the frame is closed and the call returns false.
//
//   DmaBus bus(port);        // DMA from 32 bytes on
//   Chip chip(bus, port);
#ifndef WIZLOOP_W5500_DMA_BUS_HPP
#define WIZLOOP_W5500_DMA_BUS_HPP

#include "bus.hpp"
#include "port.hpp"

namespace w5500 {

class DmaBus final : public Bus {
 public:
  explicit DmaBus(Port& port, uint16_t threshold_bytes = 32) : port_(port), threshold_bytes_(threshold_bytes) {}

  bool read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) override;
  bool write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) override;

  // How long a DMA may take: 1 ms for set-up and interrupt latency, and 100 us a byte, which SCLK of 80 kHz would need.
  static constexpr uint32_t timeout_us(uint16_t count) { return 1000u + 100u * static_cast<uint32_t>(count); }

 private:
  bool transfer(const uint8_t* mosi, uint8_t* miso, uint16_t count);

  Port& port_;
  uint16_t threshold_bytes_;
};

}  // namespace w5500

#endif
