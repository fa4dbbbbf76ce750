// EthernetUDP as the Arduino libraries Ethernet2, Ethernet3 and PJRC Ethernet have it in common: a datagram is
// addressed, written in pieces and sent, and a received one is read in pieces. How a library moves a 16-bit register, a
// piece or received bytes is its own: ethernet2_family.hpp, pjrc_ethernet.hpp.
#ifndef WIZLOOP_PATTERNS_ARDUINO_UDP_HPP
#define WIZLOOP_PATTERNS_ARDUINO_UDP_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/socket_library.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class ArduinoUdp : public SocketLibrary {
 public:
  // udp_begin_packet, one udp_write, udp_end_packet.
  bool udp_send(const Endpoint& to, const uint8_t* data, uint16_t count) override;
  uint16_t udp_read(uint8_t* data, uint16_t count) override;

  // A datagram in pieces; each udp_write() returns how many bytes it took. They rely on Sn_TX_WR reading back its value
  // at the last SEND.
  bool udp_begin_packet(const Endpoint& to);
  uint16_t udp_write(const uint8_t* data, uint16_t count);
  bool udp_end_packet();

 protected:
  ArduinoUdp(w5500::Bus& registers, w5500::Bus& data, w5500::Port& port) : chip_(registers, data), port_(port) {}
  ~ArduinoUdp() = default;

  virtual void write_destination_port(uint16_t port) = 0;
  // How many of so many bytes fit.
  virtual uint16_t fitting(uint16_t count) = 0;
  // Copies to the TX buffer `offset` bytes behind Sn_TX_WR and moves Sn_TX_WR behind the copy.
  virtual bool append_to_tx(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count) = 0;
  // The library's recv: bytes taken, 0 at the end of the stream, -1 if nothing is there yet.
  virtual int32_t receive(uint8_t socket, uint8_t* data, uint16_t count) = 0;

  ChipAccess chip_;
  w5500::Port& port_;
  uint8_t udp_ = no_socket;
  uint16_t udp_remaining_ = 0;  // bytes of the received datagram that were not read yet

 private:
  uint16_t udp_filled_ = 0;  // bytes written into the datagram under construction
};

}  // namespace patterns

#endif
