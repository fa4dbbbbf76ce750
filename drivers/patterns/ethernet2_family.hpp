// The socket calls that Ethernet2 and its descendant Ethernet3 make alike: EthernetClient, EthernetServer and
// EthernetUDP over byte-wise register frames. ethernet2.hpp and ethernet3.hpp add how each of them starts and closes.
//
// Kept as they are, because figures depend on them: each 16-bit register costs two frames; a write waits for SENDOK
// before it returns; it sends at most 2048 bytes and still claims all of them; a datagram that was not read to its end
// is discarded one byte at a time.
#ifndef WIZLOOP_PATTERNS_ETHERNET2_FAMILY_HPP
#define WIZLOOP_PATTERNS_ETHERNET2_FAMILY_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/socket_library.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class Ethernet2Family : public SocketLibrary {
 public:
  // EthernetClient::connect. It picks the source port itself: local_port is not used.
  bool tcp_connect(const Endpoint& peer, uint16_t local_port) override;
  // EthernetServer::begin.
  bool tcp_listen(uint16_t local_port) override;
  // EthernetClient::connected. A listener: EthernetServer::available, which hands over a client only once it sent data
  // and, when it does, opens the next socket to listen.
  bool tcp_connected() override;
  uint16_t tcp_write(const uint8_t* data, uint16_t count) override;
  uint16_t tcp_available() override;
  uint16_t tcp_read(uint8_t* data, uint16_t count) override;
  void tcp_stop() override;

  bool udp_open(uint16_t local_port) override;
  // udp_begin_packet, one udp_write, udp_end_packet.
  bool udp_send(const Endpoint& to, const uint8_t* data, uint16_t count) override;
  uint16_t udp_parse() override;
  uint16_t udp_read(uint8_t* data, uint16_t count) override;

  // A datagram in pieces; each udp_write() returns how many bytes it took. They rely on Sn_TX_WR reading back its value
  // at the last SEND.
  bool udp_begin_packet(const Endpoint& to);
  uint16_t udp_write(const uint8_t* data, uint16_t count);
  bool udp_end_packet();

 protected:
  Ethernet2Family(w5500::Bus& registers, w5500::Bus& data, w5500::Port& port, uint16_t source_port)
      : chip_(registers, data), port_(port), first_source_port_(source_port), source_port_(source_port) {}
  ~Ethernet2Family() = default;

  // Waits up to a second for the connection to end after DISCON.
  virtual void wait_for_closed(uint8_t socket) = 0;

  // SHAR, SIPR, GAR, SUBR: four frames.
  bool write_addresses(const NetConfig& config);
  // Sn_RXBUF_SIZE and Sn_TXBUF_SIZE of sockets first .. end-1, two frames each.
  void write_buffer_sizes(uint8_t first, uint8_t end, uint8_t kib);
  Sn_SR status(uint8_t socket) { return chip_.status(socket); }

  static constexpr uint32_t close_limit_us = 1000000;

  ChipAccess chip_;
  w5500::Port& port_;

 private:
  bool open(uint8_t socket, uint8_t mode, uint16_t local_port);
  bool close(uint8_t socket);
  bool serve_next();
  void tend_server();
  uint8_t find_client_with_data();
  void stop(uint8_t socket);
  // The library's recv: bytes stored, 0 at the end of the stream, -1 if nothing is there yet.
  int32_t receive(uint8_t socket, uint8_t* data, uint16_t count);

  const uint16_t first_source_port_;
  uint16_t source_port_;   // of the last client
  uint16_t any_port_ = 0;  // the last port given to a socket that asked for port 0
  uint8_t client_ = no_socket;
  uint16_t server_port_ = 0;  // of the application's server, 0: it has none
  uint16_t server_ports_[socket_count] = {};
  uint8_t udp_ = no_socket;
  uint16_t udp_filled_ = 0;     // bytes written into the datagram under construction
  uint16_t udp_remaining_ = 0;  // bytes of the received datagram that were not read yet
};

}  // namespace patterns

#endif
