#include "drivers/patterns/pjrc_ethernet.hpp"

namespace patterns {

namespace {

constexpr uint32_t start_delay_us = 560000;  // outlasts the reset supervisors on Ethernet shields
constexpr uint8_t reset_polls = 20;          // a millisecond apart
constexpr uint32_t client_limit_us = 1000000;
constexpr uint16_t report_after = 250;     // bytes; the count is kept in eight bits
constexpr uint16_t largest_read = 0x7FFF;  // the size parameter is signed
constexpr uint32_t counter_polls = 100000;

constexpr uint8_t tcp_mode = uint8_t{Sn_MR::TCP} | uint8_t{Sn_MR::ND};

// The library numbers all memory in one 16-bit space; only the offset of a frame shows it.
constexpr uint16_t tx_base = 0x8000;
constexpr uint16_t rx_base = 0xC000;

// What a W5500 makes of frames in the format of a W5200, which are two address bytes, a write flag with a 15-bit length
// (00 01 or 80 01 here), and data: the first length byte is taken for the control byte, so both kinds are reads of two
// bytes, one of a reserved block, one of MR and the register behind it.
constexpr uint8_t w5200_write_block = 0x80 >> 3;

}  // namespace

bool PjrcEthernet::begin(const NetConfig& config) {
  if (!identified_) {
    port_.delay_us(start_delay_us);
    if (is_other_chip() || !is_w5500()) return false;
    if (config.buffer_kib == 4 || config.buffer_kib == 8 || config.buffer_kib == 16) {
      sockets_ = static_cast<uint8_t>(16 / config.buffer_kib);
      buffer_bytes_ = static_cast<uint16_t>(config.buffer_kib * 1024);
      for (uint8_t socket = 0; socket < socket_count; ++socket) {
        const uint8_t kib = socket < sockets_ ? config.buffer_kib : uint8_t{0};
        chip_.write_socket(socket, SocketRegister::Sn_RXBUF_SIZE, kib);
        chip_.write_socket(socket, SocketRegister::Sn_TXBUF_SIZE, kib);
      }
    }
    identified_ = true;
  }
  const bool mac = chip_.write_common_array(CommonRegister::SHAR, config.mac, 6);
  const bool ip = chip_.write_common_array(CommonRegister::SIPR, config.ip, 4);
  const bool gateway = chip_.write_common_array(CommonRegister::GAR, config.gateway, 4);
  const bool subnet = chip_.write_common_array(CommonRegister::SUBR, config.subnet, 4);
  return mac && ip && gateway && subnet;
}

// The W5200 probe. A W5500 passes its reset check if the register behind MR, the first byte of GAR, is 0; it never
// passes the pattern that follows.
bool PjrcEthernet::is_other_chip() {
  uint8_t bytes[2] = {};
  bus_.read(w5200_write_block, 0x0000, bytes, 2);  // asks a W5200 to reset
  for (uint8_t poll = 0;; ++poll) {
    if (poll == reset_polls) return false;
    bus_.read(w5500::common_block, 0x0000, bytes, 2);
    if (bytes[1] == 0) break;
    port_.delay_us(1000);
  }
  bus_.read(w5200_write_block, 0x0000, bytes, 2);  // writes 0x08 to a W5200's MR
  bus_.read(w5500::common_block, 0x0000, bytes, 2);
  return bytes[1] == 0x08;
}

bool PjrcEthernet::is_w5500() {
  chip_.write_common(CommonRegister::MR, MR::RST);
  for (uint8_t poll = 0;; ++poll) {
    if (poll == reset_polls) return false;
    if (chip_.read_common(CommonRegister::MR) == 0) break;
    port_.delay_us(1000);
  }
  return chip_.has_registers_of_w5500();
}

// Reads a counter until two reads in a row agree: two frames at least, also for 0.
uint16_t PjrcEthernet::settled_counter(uint8_t socket, SocketRegister from) {
  uint16_t last = chip_.read_socket_word(socket, from);
  for (uint32_t poll = 0; poll < counter_polls; ++poll) {
    const uint16_t next = chip_.read_socket_word(socket, from);
    if (next == last) break;
    last = next;
  }
  return last;
}

uint16_t PjrcEthernet::ring_offset(uint8_t socket, uint16_t pointer) const {
  return static_cast<uint16_t>(socket * buffer_bytes_ + (pointer & (buffer_bytes_ - 1)));
}

// The library's socketBegin: takes the first closed socket, else the first that is closing anyway.
uint8_t PjrcEthernet::open(uint8_t mode, uint16_t local_port) {
  if (!identified_) return no_socket;
  Sn_SR states[socket_count] = {};
  uint8_t socket = 0;
  for (; socket < sockets_; ++socket) {
    states[socket] = status(socket);
    if (states[socket] == Sn_SR::SOCK_CLOSED) break;
  }
  if (socket == sockets_) {
    for (socket = 0; socket < sockets_; ++socket) {
      const Sn_SR state = states[socket];
      if (state == Sn_SR::SOCK_LAST_ACK || state == Sn_SR::SOCK_TIME_WAIT || state == Sn_SR::SOCK_FIN_WAIT ||
          state == Sn_SR::SOCK_CLOSING)
        break;
    }
    if (socket == sockets_) return no_socket;
    chip_.command(socket, Sn_CR::CLOSE);
  }
  server_ports_[socket] = 0;
  port_.delay_us(250);
  chip_.write_socket(socket, SocketRegister::Sn_MR, mode);
  chip_.clear_interrupts(socket, 0xFF);
  if (local_port == 0) {
    if (++source_port_ < 49152) source_port_ = 49152;
    local_port = source_port_;
  }
  chip_.write_socket_word(socket, SocketRegister::Sn_PORT, local_port);
  if (!chip_.command(socket, Sn_CR::OPEN)) return no_socket;
  cache_[socket] = Cache{};
  cache_[socket].read_at = chip_.read_socket_word(socket, SocketRegister::Sn_RX_RD);
  return socket;
}

bool PjrcEthernet::tcp_connect(const Endpoint& peer, uint16_t /*local_port*/) {
  server_port_ = 0;
  if (client_ != no_socket) {
    if (status(client_) != Sn_SR::SOCK_CLOSED) chip_.command(client_, Sn_CR::DISCON);
    client_ = no_socket;
  }
  if (is_zero(peer.ip) || is_all_ones(peer.ip)) return false;
  client_ = open(tcp_mode, 0);
  if (client_ == no_socket) return false;

  chip_.write_socket_array(client_, SocketRegister::Sn_DIPR, peer.ip, 4);
  chip_.write_socket_word(client_, SocketRegister::Sn_DPORT, peer.port);
  chip_.command(client_, Sn_CR::CONNECT);
  const Deadline deadline(port_, client_limit_us);
  for (;;) {
    const Sn_SR state = status(client_);
    if (state == Sn_SR::SOCK_ESTABLISHED || state == Sn_SR::SOCK_CLOSE_WAIT) return true;
    if (state == Sn_SR::SOCK_CLOSED) return false;
    if (deadline.passed()) break;
    port_.delay_us(1000);
  }
  chip_.command(client_, Sn_CR::CLOSE);
  client_ = no_socket;
  return false;
}

bool PjrcEthernet::tcp_listen(uint16_t local_port) {
  server_port_ = local_port;
  return serve_next();
}

bool PjrcEthernet::serve_next() {
  const uint8_t socket = open(tcp_mode, server_port_);
  if (socket == no_socket) return false;
  if (status(socket) != Sn_SR::SOCK_INIT || !chip_.command(socket, Sn_CR::LISTEN)) {
    chip_.command(socket, Sn_CR::DISCON);
    return false;
  }
  server_ports_[socket] = server_port_;
  return true;
}

uint8_t PjrcEthernet::accept() {
  bool listening = false;
  uint8_t found = no_socket;
  for (uint8_t socket = 0; socket < sockets_; ++socket) {
    if (server_ports_[socket] != server_port_) continue;
    const Sn_SR state = status(socket);
    if (found == no_socket && (state == Sn_SR::SOCK_ESTABLISHED || state == Sn_SR::SOCK_CLOSE_WAIT)) {
      found = socket;
      server_ports_[socket] = 0;
    } else if (state == Sn_SR::SOCK_LISTEN) {
      listening = true;
    } else if (state == Sn_SR::SOCK_CLOSED) {
      server_ports_[socket] = 0;
    }
  }
  if (!listening) serve_next();
  return found;
}

bool PjrcEthernet::tcp_connected() {
  if (client_ == no_socket) {
    if (server_port_ != 0) client_ = accept();
    return client_ != no_socket;
  }
  const Sn_SR state = status(client_);
  if (state == Sn_SR::SOCK_LISTEN || state == Sn_SR::SOCK_CLOSED || state == Sn_SR::SOCK_FIN_WAIT) return false;
  return state != Sn_SR::SOCK_CLOSE_WAIT || available(client_) != 0;
}

uint16_t PjrcEthernet::tcp_write(const uint8_t* data, uint16_t count) {
  if (client_ == no_socket) return 0;

  uint16_t sending = count < buffer_bytes_ ? count : buffer_bytes_;
  const Deadline deadline(port_, give_up_us);
  for (;;) {
    const uint16_t free = settled_counter(client_, SocketRegister::Sn_TX_FSR);
    const Sn_SR state = status(client_);
    if (state != Sn_SR::SOCK_ESTABLISHED && state != Sn_SR::SOCK_CLOSE_WAIT) {
      sending = 0;  // and yet the library goes on, with a frame that carries no data
      break;
    }
    if (free >= sending) break;
    if (deadline.passed()) return 0;
  }

  const bool copied = append_to_tx(client_, 0, data, sending);
  if (!chip_.command(client_, Sn_CR::SEND)) return 0;
  while (!chip_.interrupts(client_).has(Sn_IR::SENDOK)) {
    if (status(client_) == Sn_SR::SOCK_CLOSED || deadline.passed()) return 0;
  }
  chip_.clear_interrupts(client_, Sn_IR::SENDOK);
  return copied && sending != 0 ? count : uint16_t{0};
}

bool PjrcEthernet::append_to_tx(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count) {
  const uint16_t pointer = static_cast<uint16_t>(chip_.read_socket_word(socket, SocketRegister::Sn_TX_WR) + offset);
  const uint16_t address = static_cast<uint16_t>(tx_base + ring_offset(socket, pointer));
  const bool copied = chip_.write_tx_buffer(socket, address, data, count);
  chip_.write_socket_word(socket, SocketRegister::Sn_TX_WR, static_cast<uint16_t>(pointer + count));
  return copied;
}

uint16_t PjrcEthernet::tcp_available() { return client_ == no_socket ? uint16_t{0} : available(client_); }

uint16_t PjrcEthernet::available(uint8_t socket) {
  Cache& cache = cache_[socket];
  if (cache.waiting == 0) {
    cache.waiting = static_cast<uint16_t>(settled_counter(socket, SocketRegister::Sn_RX_RSR) - cache.unreported);
  }
  return cache.waiting;
}

uint16_t PjrcEthernet::tcp_read(uint8_t* data, uint16_t count) {
  if (client_ == no_socket) return 0;
  const int32_t got = receive(client_, data, count);
  return got > 0 ? static_cast<uint16_t>(got) : uint16_t{0};
}

// Null data: the bytes are skipped.
int32_t PjrcEthernet::receive(uint8_t socket, uint8_t* data, uint16_t count) {
  if (count > largest_read) count = largest_read;
  Cache& cache = cache_[socket];
  if (cache.waiting < count) {
    cache.waiting = static_cast<uint16_t>(settled_counter(socket, SocketRegister::Sn_RX_RSR) - cache.unreported);
  }
  if (cache.waiting == 0) {
    const Sn_SR state = status(socket);
    return state == Sn_SR::SOCK_LISTEN || state == Sn_SR::SOCK_CLOSED || state == Sn_SR::SOCK_CLOSE_WAIT ? 0 : -1;
  }

  const uint16_t taking = cache.waiting < count ? cache.waiting : count;
  bool copied = true;
  if (data != nullptr) {
    const uint16_t address = static_cast<uint16_t>(rx_base + ring_offset(socket, cache.read_at));
    copied = chip_.read_rx_buffer(socket, address, data, taking);
  }
  cache.read_at = static_cast<uint16_t>(cache.read_at + taking);
  cache.waiting = static_cast<uint16_t>(cache.waiting - taking);
  cache.unreported = static_cast<uint16_t>(cache.unreported + taking);
  if (cache.unreported >= report_after || cache.waiting == 0) {
    cache.unreported = 0;
    chip_.write_socket_word(socket, SocketRegister::Sn_RX_RD, cache.read_at);
    if (!chip_.command(socket, Sn_CR::RECV)) return -1;
  }
  return copied ? taking : -1;
}

void PjrcEthernet::tcp_stop() {
  if (client_ == no_socket) return;
  const uint8_t socket = client_;
  client_ = no_socket;
  chip_.command(socket, Sn_CR::DISCON);
  const Deadline deadline(port_, client_limit_us);
  do {
    if (status(socket) == Sn_SR::SOCK_CLOSED) return;
    port_.delay_us(1000);
  } while (!deadline.passed());
  chip_.command(socket, Sn_CR::CLOSE);
}

bool PjrcEthernet::udp_open(uint16_t local_port) {
  if (udp_ != no_socket) chip_.command(udp_, Sn_CR::CLOSE);
  udp_ = open(Sn_MR::UDP, local_port);
  udp_remaining_ = 0;
  return udp_ != no_socket;
}

void PjrcEthernet::write_destination_port(uint16_t port) {
  chip_.write_socket_word(udp_, SocketRegister::Sn_DPORT, port);
}

uint16_t PjrcEthernet::fitting(uint16_t count) {
  const uint16_t free = settled_counter(udp_, SocketRegister::Sn_TX_FSR);
  return count > free ? free : count;
}

uint16_t PjrcEthernet::udp_parse() {
  if (udp_ == no_socket) return 0;
  const Deadline deadline(port_, give_up_us);
  while (udp_remaining_ != 0) {
    const int32_t skipped = receive(udp_, nullptr, udp_remaining_);
    if (skipped > 0) udp_remaining_ = static_cast<uint16_t>(udp_remaining_ - skipped);
    if (deadline.passed()) return 0;
  }
  if (available(udp_) == 0) return 0;
  uint8_t header[datagram_header_bytes] = {};
  if (receive(udp_, header, datagram_header_bytes) <= 0) return 0;
  udp_remaining_ = payload_size_of(header);
  return udp_remaining_;
}

}  // namespace patterns
