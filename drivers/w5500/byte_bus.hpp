// Each byte of a frame, header and data, by the platform's byte-wise call. For platforms without a buffer call, and as
// the path that the others are measured against.
//
//   ByteBus bus(port);
//   Chip chip(bus, port);
#ifndef WIZLOOP_W5500_BYTE_BUS_HPP
#define WIZLOOP_W5500_BYTE_BUS_HPP

#include "bus.hpp"
#include "port.hpp"

namespace w5500 {

class ByteBus final : public Bus {
 public:
  explicit ByteBus(Port& port) : port_(port) {}

  bool read(uint8_t block, uint16_t offset, uint8_t* data, uint16_t count) override;
  bool write(uint8_t block, uint16_t offset, const uint8_t* data, uint16_t count) override;

 private:
  Port& port_;
};

}  // namespace w5500

#endif
