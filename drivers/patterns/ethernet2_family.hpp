// The socket calls that Ethernet2 and its descendant Ethernet3 make alike: EthernetClient, EthernetServer and
// EthernetUDP over byte-wise register frames. ethernet2.hpp and ethernet3.hpp add how each of them starts and closes.
//
// Kept as they are, because figures depend on them: each 16-bit register costs two frames; a write waits for SENDOK
// before it returns; it sends at most 2048 bytes and still claims all of them; a datagram that was not read to its end
// is discarded one byte at a time.
#ifndef WIZLOOP_PATTERNS_ETHERNET2_FAMILY_HPP
#define WIZLOOP_PATTERNS_ETHERNET2_FAMILY_HPP

#include <stdint.h>

#include "drivers/patterns/arduino_udp.hpp"

namespace patterns {

class Ethernet2Family : public ArduinoUdp {
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
  uint16_t udp_parse() override;

 protected:
  Ethernet2Family(w5500::Bus& registers, w5500::Bus& data, w5500::Port& port, uint16_t source_port)
      : ArduinoUdp(registers, data, port), first_source_port_(source_port), source_port_(source_port) {}
  ~Ethernet2Family() = default;

  // Waits up to a second for the connection to end after DISCON.
  virtual void wait_for_closed(uint8_t socket) = 0;

  // SHAR, SIPR, GAR, SUBR: four frames.
  bool write_addresses(const NetConfig& config);
  // Sn_RXBUF_SIZE and Sn_TXBUF_SIZE of sockets first .. end-1, two frames each.
  void write_buffer_sizes(uint8_t first, uint8_t end, uint8_t kib);
  Sn_SR status(uint8_t socket) { return chip_.status(socket); }

  static constexpr uint32_t close_limit_us = 1000000;

 private:
  bool open(uint8_t socket, uint8_t mode, uint16_t local_port);
  bool close(uint8_t socket);
  bool serve_next();
  void tend_server();
  uint8_t find_client_with_data();
  void stop(uint8_t socket);
  void write_destination_port(uint16_t port) override;
  uint16_t fitting(uint16_t count) override;
  bool append_to_tx(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count) override;
  int32_t receive(uint8_t socket, uint8_t* data, uint16_t count) override;

  const uint16_t first_source_port_;
  uint16_t source_port_;   // of the last client
  uint16_t any_port_ = 0;  // the last port given to a socket that asked for port 0
  uint8_t client_ = no_socket;
  uint16_t server_port_ = 0;  // of the application's server, 0: it has none
  uint16_t server_ports_[socket_count] = {};
};

}  // namespace patterns

#endif
