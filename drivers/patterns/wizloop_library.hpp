// The project's own driver (drivers/w5500) behind the same interface as the patterns, so that a figure of theirs can
// stand beside "same board, this driver". Either protocol has socket 0: an application opens one of them.
//
//   DmaBus bus(port);
//   patterns::WizloopLibrary library(bus, port);
//   library.begin(config);
#ifndef WIZLOOP_PATTERNS_WIZLOOP_LIBRARY_HPP
#define WIZLOOP_PATTERNS_WIZLOOP_LIBRARY_HPP

#include "drivers/patterns/socket_library.hpp"
#include "drivers/w5500/chip.hpp"
#include "drivers/w5500/socket.hpp"

namespace patterns {

class WizloopLibrary final : public SocketLibrary {
 public:
  WizloopLibrary(w5500::Bus& bus, w5500::Port& port) : chip_(bus, port), tcp_(chip_, 0), udp_(chip_, 0) {}

  // buffer_kib goes to socket 0, what is left of 16 KiB to the next sockets, at most 2 KiB each.
  bool begin(const NetConfig& config) override;

  bool tcp_connect(const Endpoint& peer, uint16_t local_port) override;
  bool tcp_listen(uint16_t local_port) override;
  bool tcp_connected() override;
  uint16_t tcp_write(const uint8_t* data, uint16_t count) override;
  uint16_t tcp_available() override;
  uint16_t tcp_read(uint8_t* data, uint16_t count) override;
  void tcp_stop() override;

  bool udp_open(uint16_t local_port) override;
  bool udp_send(const Endpoint& to, const uint8_t* data, uint16_t count) override;
  uint16_t udp_parse() override;
  uint16_t udp_read(uint8_t* data, uint16_t count) override;

 private:
  w5500::Chip chip_;
  w5500::TcpSocket tcp_;
  w5500::UdpSocket udp_;
  bool connected_ = false;
};

}  // namespace patterns

#endif
