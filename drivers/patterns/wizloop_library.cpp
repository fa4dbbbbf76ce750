#include "drivers/patterns/wizloop_library.hpp"

namespace patterns {
namespace {

w5500::Endpoint to_driver(const Endpoint& endpoint) {
  return {{endpoint.ip[0], endpoint.ip[1], endpoint.ip[2], endpoint.ip[3]}, endpoint.port};
}

void copy(uint8_t* to, const uint8_t* from, uint8_t count) {
  for (uint8_t i = 0; i < count; ++i) to[i] = from[i];
}

}  // namespace

bool WizloopLibrary::begin(const NetConfig& config) {
  if (!chip_.reset()) return false;
  w5500::Network network;
  copy(network.mac, config.mac, 6);
  copy(network.ip, config.ip, 4);
  copy(network.subnet, config.subnet, 4);
  copy(network.gateway, config.gateway, 4);
  if (!chip_.set_network(network)) return false;
  w5500::BufferSizes sizes = {};
  uint8_t left_kib = 16;
  for (uint8_t n = 0; n < w5500::socket_count; ++n) {
    const uint8_t wanted = n == 0 ? config.buffer_kib : 2;
    const uint8_t kib = wanted <= left_kib ? wanted : 0;
    sizes.tx_kib[n] = sizes.rx_kib[n] = kib;
    left_kib = static_cast<uint8_t>(left_kib - kib);
  }
  if (!chip_.set_buffer_sizes(sizes)) return false;
  return !config.use_intn || chip_.use_interrupt_pin(1);
}

bool WizloopLibrary::tcp_connect(const Endpoint& peer, uint16_t local_port) {
  connected_ = tcp_.open(local_port) && tcp_.connect(to_driver(peer));
  return connected_;
}

bool WizloopLibrary::tcp_listen(uint16_t local_port) { return tcp_.open(local_port) && tcp_.listen(); }

bool WizloopLibrary::tcp_connected() {
  if (connected_) return static_cast<bool>(tcp_.available());
  const w5500::Result<bool> accepted = tcp_.accept();
  connected_ = accepted && accepted.value();
  return connected_;
}

uint16_t WizloopLibrary::tcp_write(const uint8_t* data, uint16_t count) {
  return static_cast<uint16_t>(tcp_.write(data, count).count);
}

uint16_t WizloopLibrary::tcp_available() {
  const w5500::Result<uint16_t> available = tcp_.available();
  return available ? available.value() : uint16_t(0);
}

uint16_t WizloopLibrary::tcp_read(uint8_t* data, uint16_t count) {
  const w5500::Result<uint16_t> read = tcp_.read(data, count);
  return read ? read.value() : uint16_t(0);
}

void WizloopLibrary::tcp_stop() {
  // A peer that does not follow in time was dropped: closed all the same.
  const w5500::Result<void> closed = tcp_.disconnect();
  static_cast<void>(closed);
  connected_ = false;
}

bool WizloopLibrary::udp_open(uint16_t local_port) { return static_cast<bool>(udp_.open(local_port)); }

bool WizloopLibrary::udp_send(const Endpoint& to, const uint8_t* data, uint16_t count) {
  return static_cast<bool>(udp_.send_to(to_driver(to), data, count));
}

uint16_t WizloopLibrary::udp_parse() {
  const w5500::Result<w5500::Datagram> datagram = udp_.next_datagram();
  return datagram ? datagram.value().size : uint16_t(0);
}

uint16_t WizloopLibrary::udp_read(uint8_t* data, uint16_t count) {
  const w5500::Result<uint16_t> read = udp_.read(data, count);
  return read ? read.value() : uint16_t(0);
}

}  // namespace patterns
