// The header by one buffer call and the data by another, in one frame: for platforms whose buffer call keeps SCLK
// running from byte to byte. Two calls rather than one, since header and data would otherwise have to be copied
// together.
//
//   BurstBus bus(port);
//   Chip chip(bus, port);
#ifndef WIZLOOP_W5500_BURST_BUS_HPP
#define WIZLOOP_W5500_BURST_BUS_HPP

#include "bus.hpp"
#include "port.hpp"

namespace w5500 {

class BurstBus final : public Bus {
 public:
  explicit BurstBus(Port& port) : port_(port) {}

  bool read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) override;
  bool write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) override;

 private:
  Port& port_;
};

}  // namespace w5500

#endif
