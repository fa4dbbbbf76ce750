#include "drivers/patterns/ethernet2_family.hpp"

namespace patterns {

namespace {

constexpr uint16_t largest_write = 2048;   // a constant of the libraries, whatever the buffer is
constexpr uint16_t largest_read = 0x7FFF;  // their size parameter is signed

}  // namespace

bool Ethernet2Family::write_addresses(const NetConfig& config) {
  const bool mac = chip_.write_common_array(CommonRegister::SHAR, config.mac, 6);
  const bool ip = chip_.write_common_array(CommonRegister::SIPR, config.ip, 4);
  const bool gateway = chip_.write_common_array(CommonRegister::GAR, config.gateway, 4);
  const bool subnet = chip_.write_common_array(CommonRegister::SUBR, config.subnet, 4);
  return mac && ip && gateway && subnet;
}

void Ethernet2Family::write_buffer_sizes(uint8_t first, uint8_t end, uint8_t kib) {
  for (uint8_t socket = first; socket < end; ++socket) {
    chip_.write_socket(socket, SocketRegister::Sn_RXBUF_SIZE, kib);
    chip_.write_socket(socket, SocketRegister::Sn_TXBUF_SIZE, kib);
  }
}

bool Ethernet2Family::open(uint8_t socket, uint8_t mode, uint16_t local_port) {
  if (!close(socket)) return false;
  chip_.write_socket(socket, SocketRegister::Sn_MR, mode);
  chip_.write_socket_halves(socket, SocketRegister::Sn_PORT, local_port != 0 ? local_port : ++any_port_);
  return chip_.command(socket, Sn_CR::OPEN);
}

bool Ethernet2Family::close(uint8_t socket) {
  const bool taken = chip_.command(socket, Sn_CR::CLOSE);
  chip_.clear_interrupts(socket, 0xFF);
  return taken;
}

bool Ethernet2Family::tcp_connect(const Endpoint& peer, uint16_t /*local_port*/) {
  if (client_ != no_socket) return false;
  server_port_ = 0;

  uint8_t socket = 0;
  for (; socket < socket_count; ++socket) {
    const Sn_SR state = status(socket);
    if (state == Sn_SR::SOCK_CLOSED || state == Sn_SR::SOCK_FIN_WAIT || state == Sn_SR::SOCK_CLOSE_WAIT) break;
  }
  if (socket == socket_count) return false;

  if (++source_port_ == 0) source_port_ = first_source_port_;
  const bool opened = open(socket, Sn_MR::TCP, source_port_);
  if (is_zero(peer.ip) || is_all_ones(peer.ip) || peer.port == 0) return false;

  chip_.write_socket_array(socket, SocketRegister::Sn_DIPR, peer.ip, 4);
  chip_.write_socket_halves(socket, SocketRegister::Sn_DPORT, peer.port);
  if (!chip_.command(socket, Sn_CR::CONNECT) || !opened) return false;

  const Deadline deadline(port_, give_up_us);
  while (status(socket) != Sn_SR::SOCK_ESTABLISHED) {
    port_.delay_us(1000);
    if (status(socket) == Sn_SR::SOCK_CLOSED || deadline.passed()) return false;
  }
  client_ = socket;
  return true;
}

bool Ethernet2Family::tcp_listen(uint16_t local_port) {
  server_port_ = local_port;
  return serve_next();
}

// Puts the first closed socket into LISTEN.
bool Ethernet2Family::serve_next() {
  for (uint8_t socket = 0; socket < socket_count; ++socket) {
    if (status(socket) != Sn_SR::SOCK_CLOSED) continue;
    open(socket, Sn_MR::TCP, server_port_);
    server_ports_[socket] = server_port_;
    return status(socket) == Sn_SR::SOCK_INIT && chip_.command(socket, Sn_CR::LISTEN);
  }
  return false;
}

// Ends connections that the peer has closed and that were read to their end, and keeps one socket listening.
void Ethernet2Family::tend_server() {
  bool listening = false;
  for (uint8_t socket = 0; socket < socket_count; ++socket) {
    if (server_ports_[socket] != server_port_) continue;
    if (status(socket) == Sn_SR::SOCK_LISTEN) {
      listening = true;
    } else if (status(socket) == Sn_SR::SOCK_CLOSE_WAIT &&
               chip_.read_socket_counter(socket, SocketRegister::Sn_RX_RSR) == 0) {
      stop(socket);
    }
  }
  if (!listening) serve_next();
}

uint8_t Ethernet2Family::find_client_with_data() {
  tend_server();
  for (uint8_t socket = 0; socket < socket_count; ++socket) {
    if (server_ports_[socket] != server_port_) continue;
    if (status(socket) != Sn_SR::SOCK_ESTABLISHED && status(socket) != Sn_SR::SOCK_CLOSE_WAIT) continue;
    if (chip_.read_socket_counter(socket, SocketRegister::Sn_RX_RSR) != 0) return socket;
  }
  return no_socket;
}

bool Ethernet2Family::tcp_connected() {
  if (client_ == no_socket) {
    if (server_port_ != 0) client_ = find_client_with_data();
    return client_ != no_socket;
  }
  const Sn_SR state = status(client_);
  if (state == Sn_SR::SOCK_LISTEN || state == Sn_SR::SOCK_CLOSED || state == Sn_SR::SOCK_FIN_WAIT) return false;
  return state != Sn_SR::SOCK_CLOSE_WAIT || tcp_available() != 0;
}

uint16_t Ethernet2Family::tcp_write(const uint8_t* data, uint16_t count) {
  if (client_ == no_socket) return 0;

  uint16_t sending = count < largest_write ? count : largest_write;
  const Deadline deadline(port_, give_up_us);
  for (;;) {
    const uint16_t free = chip_.read_socket_counter(client_, SocketRegister::Sn_TX_FSR);
    const Sn_SR state = status(client_);
    if (state != Sn_SR::SOCK_ESTABLISHED && state != Sn_SR::SOCK_CLOSE_WAIT) {
      sending = 0;  // and yet the libraries go on, with a frame that carries no data
      break;
    }
    if (free >= sending) break;
    if (deadline.passed()) return 0;
  }

  const bool copied = chip_.append_to_tx(client_, 0, data, sending);
  if (!chip_.command(client_, Sn_CR::SEND)) return 0;
  while (!chip_.interrupts(client_).has(Sn_IR::SENDOK)) {
    if (status(client_) == Sn_SR::SOCK_CLOSED) {
      close(client_);
      return 0;
    }
    if (deadline.passed()) return 0;
  }
  chip_.clear_interrupts(client_, Sn_IR::SENDOK);
  return copied && sending != 0 ? count : uint16_t{0};
}

uint16_t Ethernet2Family::tcp_available() {
  return client_ == no_socket ? uint16_t{0} : chip_.read_socket_counter(client_, SocketRegister::Sn_RX_RSR);
}

uint16_t Ethernet2Family::tcp_read(uint8_t* data, uint16_t count) {
  if (client_ == no_socket) return 0;
  const int32_t got = receive(client_, data, count);
  return got > 0 ? static_cast<uint16_t>(got) : uint16_t{0};
}

int32_t Ethernet2Family::receive(uint8_t socket, uint8_t* data, uint16_t count) {
  if (count > largest_read) count = largest_read;
  const uint16_t waiting = chip_.read_socket_counter(socket, SocketRegister::Sn_RX_RSR);
  if (waiting == 0) {
    const Sn_SR state = status(socket);
    return state == Sn_SR::SOCK_LISTEN || state == Sn_SR::SOCK_CLOSED || state == Sn_SR::SOCK_CLOSE_WAIT ? 0 : -1;
  }
  const uint16_t taking = waiting < count ? waiting : count;
  if (taking == 0) return 0;
  const bool copied = chip_.take_from_rx(socket, data, taking);
  return chip_.command(socket, Sn_CR::RECV) && copied ? taking : -1;
}

void Ethernet2Family::tcp_stop() {
  if (client_ == no_socket) return;
  stop(client_);
  client_ = no_socket;
}

void Ethernet2Family::stop(uint8_t socket) {
  chip_.command(socket, Sn_CR::DISCON);
  wait_for_closed(socket);
  if (status(socket) != Sn_SR::SOCK_CLOSED) close(socket);
  server_ports_[socket] = 0;
}

bool Ethernet2Family::udp_open(uint16_t local_port) {
  if (udp_ != no_socket) return false;
  uint8_t socket = 0;
  for (; socket < socket_count; ++socket) {
    const Sn_SR state = status(socket);
    if (state == Sn_SR::SOCK_CLOSED || state == Sn_SR::SOCK_FIN_WAIT) break;
  }
  if (socket == socket_count) return false;
  udp_remaining_ = 0;
  if (!open(socket, Sn_MR::UDP, local_port)) return false;
  udp_ = socket;
  return true;
}

void Ethernet2Family::write_destination_port(uint16_t port) {
  chip_.write_socket_halves(udp_, SocketRegister::Sn_DPORT, port);
}

// A piece that does not fit makes the libraries read the free space once more.
uint16_t Ethernet2Family::fitting(uint16_t count) {
  if (count <= chip_.read_socket_counter(udp_, SocketRegister::Sn_TX_FSR)) return count;
  return chip_.read_socket_counter(udp_, SocketRegister::Sn_TX_FSR);
}

bool Ethernet2Family::append_to_tx(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count) {
  return chip_.append_to_tx(socket, offset, data, count);
}

uint16_t Ethernet2Family::udp_parse() {
  if (udp_ == no_socket) return 0;
  const Deadline deadline(port_, give_up_us);
  while (udp_remaining_ != 0) {
    uint8_t discarded = 0;
    if (receive(udp_, &discarded, 1) > 0) --udp_remaining_;
    if (deadline.passed()) return 0;
  }
  if (chip_.read_socket_counter(udp_, SocketRegister::Sn_RX_RSR) == 0) return 0;
  uint8_t header[datagram_header_bytes] = {};
  if (receive(udp_, header, datagram_header_bytes) <= 0) return 0;
  udp_remaining_ = payload_size_of(header);
  return udp_remaining_;
}

}  // namespace patterns
