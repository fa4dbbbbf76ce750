// The access pattern of the Arduino library Ethernet2 (adafruit/Ethernet2 1.0.4). README.md has its frame counts.
//
//   ByteBus bus(port);
//   patterns::Ethernet2 library(bus, bus, port);
//   library.begin(config);
#ifndef WIZLOOP_PATTERNS_ETHERNET2_HPP
#define WIZLOOP_PATTERNS_ETHERNET2_HPP

#include "drivers/patterns/ethernet2_family.hpp"

namespace patterns {

class Ethernet2 final : public Ethernet2Family {
 public:
  Ethernet2(w5500::Bus& registers, w5500::Bus& data, w5500::Port& port)
      : Ethernet2Family(registers, data, port, 1024) {}

  // One second of delay, a reset without any wait after it, 2 KiB for each of the eight sockets: the library knows no
  // other layout, so config.buffer_kib is not used. It never identifies the chip; false only if the bus failed.
  bool begin(const NetConfig& config) override;

 private:
  void wait_for_closed(uint8_t socket) override;
};

}  // namespace patterns

#endif
