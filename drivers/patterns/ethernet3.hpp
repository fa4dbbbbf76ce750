// The access pattern of the Arduino library Ethernet3 (sstaub/Ethernet3 1.5.6) and of its copy for the W55RP20
// (WIZnet-ioNIC/W55RP20-Ethernet3 1.0.0), which differs in its SPI calls only. README.md has the frame counts.
//
//   ByteBus bus(port);
//   patterns::Ethernet3 library(bus, bus, port);
//   library.begin(config);
#ifndef WIZLOOP_PATTERNS_ETHERNET3_HPP
#define WIZLOOP_PATTERNS_ETHERNET3_HPP

#include "drivers/patterns/ethernet2_family.hpp"

namespace patterns {

class Ethernet3 final : public Ethernet2Family {
 public:
  Ethernet3(w5500::Bus& registers, w5500::Bus& data, w5500::Port& port)
      : Ethernet2Family(registers, data, port, 49152) {}

  // Ethernet.init(16 / buffer_kib), then Ethernet.begin(): so many sockets share the memory evenly, the others get
  // none. One second of delay and no reset: what the chip held before lives on. It never identifies the chip; false
  // only if the bus failed.
  bool begin(const NetConfig& config) override;

 private:
  void wait_for_closed(uint8_t socket) override;
};

}  // namespace patterns

#endif
