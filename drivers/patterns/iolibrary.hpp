// The access pattern of WIZnet's ioLibrary (Wiznet/ioLibrary_Driver: socket.c, w5500.c, wizchip_conf.c), called by an
// application in blocking mode. README.md has its frame counts.
//
// With burst callbacks its buffer functions send the header as one burst and the data as another; its single-register
// functions take three header bytes by burst and the data byte alone. So they may go to different buses.
//
// Kept as they are, because figures depend on them: each 16-bit register costs two frames; send() does not wait for
// SENDOK, the next send() does, and returns 0 if it is not there; recv() waits until something is there.
//
//   BurstBus bus(port);
//   patterns::IoLibrary library(bus, bus, port);
//   library.begin(config);
#ifndef WIZLOOP_PATTERNS_IOLIBRARY_HPP
#define WIZLOOP_PATTERNS_IOLIBRARY_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/socket_library.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class IoLibrary final : public SocketLibrary {
 public:
  IoLibrary(w5500::Bus& registers, w5500::Bus& data, w5500::Port& port) : chip_(registers, data), port_(port) {}

  // wizchip_init (a reset that carries the addresses over, then buffer sizes), getVERSIONR, wizchip_setnetinfo. Socket
  // 0 gets config.buffer_kib, the next ones 2 KiB each until 16 KiB are used up.
  bool begin(const NetConfig& config) override;

  // socket() and connect(). The application numbers its sockets: 0, or 1 while the other protocol has 0.
  bool tcp_connect(const Endpoint& peer, uint16_t local_port) override;
  bool tcp_listen(uint16_t local_port) override;
  // getSn_SR: ESTABLISHED, or CLOSE_WAIT with bytes still to be read.
  bool tcp_connected() override;
  // send(). 0 also while the previous one has no SENDOK yet: the application calls again.
  uint16_t tcp_write(const uint8_t* data, uint16_t count) override;
  // getSn_RX_RSR.
  uint16_t tcp_available() override;
  // recv(), which waits for the first byte: 0 only when the connection is over.
  uint16_t tcp_read(uint8_t* data, uint16_t count) override;
  // disconnect().
  void tcp_stop() override;

  bool udp_open(uint16_t local_port) override;
  // sendto().
  bool udp_send(const Endpoint& to, const uint8_t* data, uint16_t count) override;
  // getSn_RX_RSR and, if there is something, the first half of recvfrom(), up to the datagram's header.
  uint16_t udp_parse() override;
  // The second half of that recvfrom(), or a further one for the rest of the datagram.
  uint16_t udp_read(uint8_t* data, uint16_t count) override;

 private:
  uint8_t mode(uint8_t socket) { return static_cast<uint8_t>(chip_.read_socket(socket, SocketRegister::Sn_MR) & 0x0F); }
  Sn_SR status(uint8_t socket) { return chip_.status(socket); }
  void soft_reset();
  bool write_addresses(const uint8_t* mac, const uint8_t* gateway, const uint8_t* subnet, const uint8_t* ip);
  bool open(uint8_t socket, uint8_t protocol, uint16_t local_port);
  bool close(uint8_t socket);
  bool connect(const Endpoint& peer);
  bool copy_to_tx(uint8_t socket, const uint8_t* data, uint16_t count);
  bool copy_from_rx(uint8_t socket, uint8_t* data, uint16_t count);

  ChipAccess chip_;
  w5500::Port& port_;
  uint16_t any_port_ = 0xC000;  // the next port for a socket that asks for port 0
  uint8_t tcp_ = no_socket;
  bool sending_ = false;  // SENDOK of the last send() was not seen yet
  uint8_t udp_ = no_socket;
  uint16_t udp_remaining_ = 0;    // bytes of the received datagram that were not read yet
  bool inside_recvfrom_ = false;  // udp_parse() has read a header and the payload half is still to come
};

}  // namespace patterns

#endif
