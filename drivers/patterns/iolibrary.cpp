#include "drivers/patterns/iolibrary.hpp"

namespace patterns {

bool IoLibrary::begin(const NetConfig& config) {
  soft_reset();
  const uint8_t first =
      config.buffer_kib == 4 || config.buffer_kib == 8 || config.buffer_kib == 16 ? config.buffer_kib : uint8_t{2};
  // All TX sizes, then all RX sizes.
  const SocketRegister size_registers[] = {SocketRegister::Sn_TXBUF_SIZE, SocketRegister::Sn_RXBUF_SIZE};
  for (const SocketRegister size_register : size_registers) {
    uint8_t left = 16;
    for (uint8_t socket = 0; socket < socket_count; ++socket) {
      uint8_t kib = socket == 0 ? first : uint8_t{2};
      if (kib > left) kib = 0;
      left = static_cast<uint8_t>(left - kib);
      chip_.write_socket(socket, size_register, kib);
    }
  }
  if (chip_.read_common(CommonRegister::VERSIONR) != w5500::version_w5500) return false;
  return write_addresses(config.mac, config.gateway, config.subnet, config.ip);
}

void IoLibrary::soft_reset() {
  uint8_t mac[6] = {};
  uint8_t gateway[4] = {};
  uint8_t subnet[4] = {};
  uint8_t ip[4] = {};
  chip_.read_common_array(CommonRegister::SHAR, mac, 6);
  chip_.read_common_array(CommonRegister::GAR, gateway, 4);
  chip_.read_common_array(CommonRegister::SUBR, subnet, 4);
  chip_.read_common_array(CommonRegister::SIPR, ip, 4);
  chip_.write_common(CommonRegister::MR, MR::RST);
  chip_.read_common(CommonRegister::MR);  // the library's only delay after a reset
  write_addresses(mac, gateway, subnet, ip);
}

bool IoLibrary::write_addresses(const uint8_t* mac, const uint8_t* gateway, const uint8_t* subnet, const uint8_t* ip) {
  const bool mac_written = chip_.write_common_array(CommonRegister::SHAR, mac, 6);
  const bool gateway_written = chip_.write_common_array(CommonRegister::GAR, gateway, 4);
  const bool subnet_written = chip_.write_common_array(CommonRegister::SUBR, subnet, 4);
  const bool ip_written = chip_.write_common_array(CommonRegister::SIPR, ip, 4);
  return mac_written && gateway_written && subnet_written && ip_written;
}

bool IoLibrary::open(uint8_t socket, uint8_t protocol, uint16_t local_port) {
  if (protocol == Sn_MR::TCP) {
    uint8_t ip[4] = {};
    chip_.read_common_array(CommonRegister::SIPR, ip, 4);
    if (is_zero(ip)) return false;
  }
  if (!close(socket)) return false;
  chip_.write_socket(socket, SocketRegister::Sn_MR, protocol);
  if (local_port == 0) {
    local_port = any_port_++;
    if (any_port_ == 0xFFF0) any_port_ = 0xC000;
  }
  chip_.write_socket_halves(socket, SocketRegister::Sn_PORT, local_port);
  if (!chip_.command(socket, Sn_CR::OPEN)) return false;
  const Deadline deadline(port_, give_up_us);
  while (status(socket) == Sn_SR::SOCK_CLOSED) {
    if (deadline.passed()) return false;
  }
  return true;
}

bool IoLibrary::close(uint8_t socket) {
  const bool taken = chip_.command(socket, Sn_CR::CLOSE);
  chip_.clear_interrupts(socket, Sn_IR::all);
  if (socket == tcp_) sending_ = false;
  if (socket == udp_) udp_remaining_ = 0;
  const Deadline deadline(port_, give_up_us);
  while (status(socket) != Sn_SR::SOCK_CLOSED) {
    if (deadline.passed()) return false;
  }
  return taken;
}

bool IoLibrary::tcp_connect(const Endpoint& peer, uint16_t local_port) {
  tcp_ = udp_ == 0 ? 1 : 0;
  if (open(tcp_, Sn_MR::TCP, local_port) && connect(peer)) return true;
  tcp_ = no_socket;
  return false;
}

bool IoLibrary::connect(const Endpoint& peer) {
  if (mode(tcp_) != Sn_MR::TCP || status(tcp_) != Sn_SR::SOCK_INIT) return false;
  if (is_zero(peer.ip) || is_all_ones(peer.ip) || peer.port == 0) return false;
  chip_.write_socket_halves(tcp_, SocketRegister::Sn_DPORT, peer.port);
  chip_.read_socket(tcp_, SocketRegister::Sn_MR);  // looks for an IPv6 socket, which this chip does not have
  chip_.write_socket_array(tcp_, SocketRegister::Sn_DIPR, peer.ip, 4);
  if (!chip_.command(tcp_, Sn_CR::CONNECT)) return false;

  const Deadline deadline(port_, give_up_us);
  while (status(tcp_) != Sn_SR::SOCK_ESTABLISHED) {
    if (chip_.interrupts(tcp_).has(Sn_IR::TIMEOUT)) {
      chip_.clear_interrupts(tcp_, Sn_IR::TIMEOUT);
      return false;
    }
    if (status(tcp_) == Sn_SR::SOCK_CLOSED || deadline.passed()) return false;
  }
  return true;
}

bool IoLibrary::tcp_listen(uint16_t local_port) {
  tcp_ = udp_ == 0 ? 1 : 0;
  bool listening = open(tcp_, Sn_MR::TCP, local_port) && mode(tcp_) == Sn_MR::TCP && status(tcp_) == Sn_SR::SOCK_INIT &&
                   chip_.command(tcp_, Sn_CR::LISTEN);
  if (listening && status(tcp_) != Sn_SR::SOCK_LISTEN) {
    close(tcp_);
    listening = false;
  }
  if (!listening) tcp_ = no_socket;
  return listening;
}

bool IoLibrary::tcp_connected() {
  if (tcp_ == no_socket) return false;
  const Sn_SR state = status(tcp_);
  return state == Sn_SR::SOCK_ESTABLISHED ||
         (state == Sn_SR::SOCK_CLOSE_WAIT && chip_.read_socket_counter(tcp_, SocketRegister::Sn_RX_RSR) != 0);
}

uint16_t IoLibrary::tcp_write(const uint8_t* data, uint16_t count) {
  if (tcp_ == no_socket || mode(tcp_) != Sn_MR::TCP || count == 0) return 0;
  Sn_SR state = status(tcp_);
  if (state != Sn_SR::SOCK_ESTABLISHED && state != Sn_SR::SOCK_CLOSE_WAIT) return 0;
  if (sending_) {
    const Sn_IR interrupts = chip_.interrupts(tcp_);
    if (!interrupts.has(Sn_IR::SENDOK)) {
      if (interrupts.has(Sn_IR::TIMEOUT)) close(tcp_);
      return 0;
    }
    chip_.clear_interrupts(tcp_, Sn_IR::SENDOK);
    sending_ = false;
  }

  const uint16_t buffer_bytes = static_cast<uint16_t>(chip_.read_socket(tcp_, SocketRegister::Sn_TXBUF_SIZE) << 10);
  if (count > buffer_bytes) count = buffer_bytes;
  const Deadline deadline(port_, give_up_us);
  for (;;) {
    const uint16_t free = chip_.read_socket_counter(tcp_, SocketRegister::Sn_TX_FSR);
    state = status(tcp_);
    if (state != Sn_SR::SOCK_ESTABLISHED && state != Sn_SR::SOCK_CLOSE_WAIT) {
      if (state == Sn_SR::SOCK_CLOSED) close(tcp_);
      return 0;
    }
    if (count <= free) break;
    if (deadline.passed()) return 0;
  }
  const bool copied = copy_to_tx(tcp_, data, count);
  if (!chip_.command(tcp_, Sn_CR::SEND)) return 0;
  sending_ = true;
  return copied ? count : uint16_t{0};
}

// The library copies nothing, and touches no pointer, for a count of 0.
bool IoLibrary::copy_to_tx(uint8_t socket, const uint8_t* data, uint16_t count) {
  return count == 0 || chip_.append_to_tx(socket, 0, data, count);
}

bool IoLibrary::copy_from_rx(uint8_t socket, uint8_t* data, uint16_t count) {
  return count == 0 || chip_.take_from_rx(socket, data, count);
}

uint16_t IoLibrary::tcp_available() {
  return tcp_ == no_socket ? uint16_t{0} : chip_.read_socket_counter(tcp_, SocketRegister::Sn_RX_RSR);
}

uint16_t IoLibrary::tcp_read(uint8_t* data, uint16_t count) {
  if (tcp_ == no_socket || mode(tcp_) != Sn_MR::TCP || count == 0) return 0;
  const uint16_t buffer_bytes = static_cast<uint16_t>(chip_.read_socket(tcp_, SocketRegister::Sn_RXBUF_SIZE) << 10);
  if (count > buffer_bytes) count = buffer_bytes;

  uint16_t waiting = 0;
  const Deadline deadline(port_, give_up_us);
  for (;;) {
    waiting = chip_.read_socket_counter(tcp_, SocketRegister::Sn_RX_RSR);
    const Sn_SR state = status(tcp_);
    if (state != Sn_SR::SOCK_ESTABLISHED) {
      if (state != Sn_SR::SOCK_CLOSE_WAIT) {
        close(tcp_);
        return 0;
      }
      if (waiting != 0) break;
      // The peer is done; so is this side once all that it sent was acknowledged.
      const uint16_t free = chip_.read_socket_counter(tcp_, SocketRegister::Sn_TX_FSR);
      if (free == static_cast<uint16_t>(chip_.read_socket(tcp_, SocketRegister::Sn_TXBUF_SIZE) << 10)) {
        close(tcp_);
        return 0;
      }
    }
    if (waiting != 0) break;
    if (deadline.passed()) return 0;
  }
  if (count > waiting) count = waiting;
  const bool copied = copy_from_rx(tcp_, data, count);
  return chip_.command(tcp_, Sn_CR::RECV) && copied ? count : uint16_t{0};
}

void IoLibrary::tcp_stop() {
  if (tcp_ == no_socket) return;
  if (mode(tcp_) == Sn_MR::TCP && status(tcp_) != Sn_SR::SOCK_CLOSED) {
    chip_.command(tcp_, Sn_CR::DISCON);
    const Deadline deadline(port_, give_up_us);
    while (status(tcp_) != Sn_SR::SOCK_CLOSED) {
      if (chip_.interrupts(tcp_).has(Sn_IR::TIMEOUT)) {
        close(tcp_);
        break;
      }
      if (deadline.passed()) break;
    }
  }
  sending_ = false;
  tcp_ = no_socket;
}

bool IoLibrary::udp_open(uint16_t local_port) {
  const uint8_t socket = tcp_ == 0 ? 1 : 0;
  inside_recvfrom_ = false;
  udp_remaining_ = 0;
  udp_ = open(socket, Sn_MR::UDP, local_port) ? socket : no_socket;
  return udp_ != no_socket;
}

bool IoLibrary::udp_send(const Endpoint& to, const uint8_t* data, uint16_t count) {
  if (udp_ == no_socket || mode(udp_) != Sn_MR::UDP) return false;
  chip_.read_socket(udp_, SocketRegister::Sn_MR);  // once more, to tell the kinds of datagram sockets apart
  chip_.write_socket_array(udp_, SocketRegister::Sn_DIPR, to.ip, 4);
  if (to.port == 0) return false;
  chip_.write_socket_halves(udp_, SocketRegister::Sn_DPORT, to.port);
  if (count == 0) return false;
  if (is_zero(to.ip)) {
    chip_.read_socket(udp_, SocketRegister::Sn_MR);
    return false;
  }
  if (status(udp_) != Sn_SR::SOCK_UDP) return false;
  // The destination goes out a second time.
  bool moved = chip_.write_socket_array(udp_, SocketRegister::Sn_DIPR, to.ip, 4);
  chip_.write_socket_halves(udp_, SocketRegister::Sn_DPORT, to.port);

  const uint16_t buffer_bytes = static_cast<uint16_t>(chip_.read_socket(udp_, SocketRegister::Sn_TXBUF_SIZE) << 10);
  if (count > buffer_bytes) count = buffer_bytes;
  const Deadline deadline(port_, give_up_us);
  for (;;) {
    const uint16_t free = chip_.read_socket_counter(udp_, SocketRegister::Sn_TX_FSR);
    if (status(udp_) == Sn_SR::SOCK_CLOSED) return false;
    if (count <= free) break;
    if (deadline.passed()) return false;
  }
  moved = copy_to_tx(udp_, data, count) && moved;
  if (!chip_.command(udp_, Sn_CR::SEND)) return false;
  for (;;) {
    const Sn_IR interrupts = chip_.interrupts(udp_);
    if (interrupts.has(Sn_IR::SENDOK)) break;
    if (interrupts.has(Sn_IR::TIMEOUT)) {
      chip_.clear_interrupts(udp_, Sn_IR::TIMEOUT);
      return false;
    }
    if (deadline.passed()) return false;
  }
  chip_.clear_interrupts(udp_, Sn_IR::SENDOK);
  return moved;
}

uint16_t IoLibrary::udp_parse() {
  // The application drains what is left of the last datagram, into a buffer of its own of this size.
  uint8_t discarded[256];
  while (udp_remaining_ != 0) {
    if (udp_read(discarded, sizeof discarded) == 0) return 0;
  }
  if (udp_ == no_socket || chip_.read_socket_counter(udp_, SocketRegister::Sn_RX_RSR) == 0) return 0;

  if (mode(udp_) != Sn_MR::UDP) return 0;
  const Deadline deadline(port_, give_up_us);
  for (;;) {
    const uint16_t waiting = chip_.read_socket_counter(udp_, SocketRegister::Sn_RX_RSR);
    if (status(udp_) == Sn_SR::SOCK_CLOSED) return 0;
    if (waiting != 0) break;
    if (deadline.passed()) return 0;
  }
  uint8_t header[datagram_header_bytes] = {};
  if (!copy_from_rx(udp_, header, datagram_header_bytes) || !chip_.command(udp_, Sn_CR::RECV)) return 0;
  udp_remaining_ = payload_size_of(header);
  if (udp_remaining_ == 0) {
    chip_.command(udp_, Sn_CR::RECV);  // for a payload of no bytes too
    return 0;
  }
  inside_recvfrom_ = true;
  return udp_remaining_;
}

uint16_t IoLibrary::udp_read(uint8_t* data, uint16_t count) {
  if (udp_ == no_socket || udp_remaining_ == 0 || count == 0) return 0;
  if (!inside_recvfrom_ && mode(udp_) != Sn_MR::UDP) return 0;
  inside_recvfrom_ = false;
  const uint16_t taking = udp_remaining_ < count ? udp_remaining_ : count;
  const bool copied = copy_from_rx(udp_, data, taking);
  if (!chip_.command(udp_, Sn_CR::RECV)) return 0;
  udp_remaining_ = static_cast<uint16_t>(udp_remaining_ - taking);
  return copied ? taking : uint16_t{0};
}

}  // namespace patterns
