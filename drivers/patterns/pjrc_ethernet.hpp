// The access pattern of the Arduino library Ethernet as Paul Stoffregen rewrote it (PaulStoffregen/Ethernet 2.0.0).
// README.md has its frame counts.
//
// All its SPI goes through one pair of functions that hand buffers to SPI.transfer, so there is one bus. 16-bit
// registers are one frame; receive state is cached between calls, so that most calls read no register at all.
//
// Kept as they are, because figures depend on them: a write waits for SENDOK before it returns, sends at most one
// buffer and still claims all bytes; RECV goes out only after 250 bytes or when the cached count is used up.
//
//   BurstBus bus(port);
//   patterns::PjrcEthernet library(bus, port);
//   library.begin(config);
#ifndef WIZLOOP_PATTERNS_PJRC_ETHERNET_HPP
#define WIZLOOP_PATTERNS_PJRC_ETHERNET_HPP

#include <stdint.h>

#include "drivers/patterns/arduino_udp.hpp"

namespace patterns {

class PjrcEthernet final : public ArduinoUdp {
 public:
  PjrcEthernet(w5500::Bus& bus, w5500::Port& port) : ArduinoUdp(bus, bus, port), bus_(bus) {}

  // 560 ms of delay, a probe for a W5200, then for a W5500; only the first call does that. The probe for a W5100, which
  // the library makes when neither answers, is left out. A buffer_kib above 2 is the library built with
  // ETHERNET_LARGE_BUFFERS and MAX_SOCK_NUM = 16 / buffer_kib.
  bool begin(const NetConfig& config) override;

  // EthernetClient::connect, which gives up after one second. It picks the source port itself: local_port is not used.
  bool tcp_connect(const Endpoint& peer, uint16_t local_port) override;
  bool tcp_listen(uint16_t local_port) override;
  // EthernetClient::connected. A listener: EthernetServer::accept, which opens the next socket to listen when it hands
  // over a client.
  bool tcp_connected() override;
  uint16_t tcp_write(const uint8_t* data, uint16_t count) override;
  uint16_t tcp_available() override;
  uint16_t tcp_read(uint8_t* data, uint16_t count) override;
  void tcp_stop() override;

  bool udp_open(uint16_t local_port) override;
  uint16_t udp_parse() override;

 private:
  // What the library remembers of a socket's receive side between calls.
  struct Cache {
    uint16_t waiting = 0;     // bytes known to be there and not yet read
    uint16_t read_at = 0;     // where the next byte is
    uint16_t unreported = 0;  // bytes read since the last RECV
  };

  bool is_other_chip();
  bool is_w5500();
  Sn_SR status(uint8_t socket) { return chip_.status(socket); }
  uint16_t settled_counter(uint8_t socket, SocketRegister from);
  uint8_t open(uint8_t mode, uint16_t local_port);
  bool serve_next();
  uint8_t accept();
  uint16_t available(uint8_t socket);
  void write_destination_port(uint16_t port) override;
  uint16_t fitting(uint16_t count) override;
  int32_t receive(uint8_t socket, uint8_t* data, uint16_t count) override;
  bool append_to_tx(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count) override;
  uint16_t ring_offset(uint8_t socket, uint16_t pointer) const;

  w5500::Bus& bus_;
  bool identified_ = false;
  uint8_t sockets_ = socket_count;  // how many the library was built for
  uint16_t buffer_bytes_ = 2048;    // of each of them
  uint16_t source_port_ = 49152;    // of the last client
  Cache cache_[socket_count];
  uint8_t client_ = no_socket;
  uint16_t server_port_ = 0;  // of the application's server, 0: it has none
  uint16_t server_ports_[socket_count] = {};
};

}  // namespace patterns

#endif
