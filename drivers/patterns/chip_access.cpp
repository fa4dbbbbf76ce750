#include "drivers/patterns/chip_access.hpp"

namespace patterns {

namespace {

uint16_t word_of(uint8_t high, uint8_t low) { return static_cast<uint16_t>((high << 8) | low); }
uint8_t high_of(uint16_t value) { return static_cast<uint8_t>(value >> 8); }
uint8_t low_of(uint16_t value) { return static_cast<uint8_t>(value & 0xFF); }

// The register that holds the low half.
SocketRegister next(SocketRegister high) { return static_cast<SocketRegister>(static_cast<uint16_t>(high) + 1); }

uint8_t read_byte(w5500::Bus& bus, uint8_t block, uint16_t offset) {
  uint8_t value = 0;
  return bus.read(block, offset, &value, 1) ? value : uint8_t{0};
}

}  // namespace

uint16_t payload_size_of(const uint8_t (&header)[datagram_header_bytes]) { return word_of(header[6], header[7]); }

uint8_t ChipAccess::read_common(CommonRegister from) {
  return read_byte(registers_, w5500::common_block, static_cast<uint16_t>(from));
}

void ChipAccess::write_common(CommonRegister to, uint8_t value) {
  registers_.write(w5500::common_block, static_cast<uint16_t>(to), &value, 1);
}

uint8_t ChipAccess::read_socket(uint8_t socket, SocketRegister from) {
  return read_byte(registers_, w5500::socket_block(socket), static_cast<uint16_t>(from));
}

void ChipAccess::write_socket(uint8_t socket, SocketRegister to, uint8_t value) {
  registers_.write(w5500::socket_block(socket), static_cast<uint16_t>(to), &value, 1);
}

uint16_t ChipAccess::read_socket_halves(uint8_t socket, SocketRegister from) {
  const uint8_t high = read_socket(socket, from);
  const uint8_t low = read_socket(socket, next(from));
  return word_of(high, low);
}

void ChipAccess::write_socket_halves(uint8_t socket, SocketRegister to, uint16_t value) {
  write_socket(socket, to, high_of(value));
  write_socket(socket, next(to), low_of(value));
}

uint16_t ChipAccess::read_socket_word(uint8_t socket, SocketRegister from) {
  uint8_t bytes[2] = {0, 0};
  const bool done = registers_.read(w5500::socket_block(socket), static_cast<uint16_t>(from), bytes, 2);
  return done ? word_of(bytes[0], bytes[1]) : uint16_t{0};
}

void ChipAccess::write_socket_word(uint8_t socket, SocketRegister to, uint16_t value) {
  const uint8_t bytes[2] = {high_of(value), low_of(value)};
  registers_.write(w5500::socket_block(socket), static_cast<uint16_t>(to), bytes, 2);
}

uint16_t ChipAccess::read_socket_counter(uint8_t socket, SocketRegister from) {
  uint16_t second = 0;  // outlives a pair that was cut short: a 0 after a torn pair is not taken at once
  for (uint32_t poll = 0; poll < poll_limit; ++poll) {
    const uint16_t first = read_socket_halves(socket, from);
    if (first != 0) second = read_socket_halves(socket, from);
    if (first == second) break;
  }
  return second;
}

bool ChipAccess::command(uint8_t socket, Sn_CR command) {
  issue(socket, command);
  for (uint32_t poll = 0; poll < poll_limit; ++poll) {
    if (read_socket(socket, SocketRegister::Sn_CR) == 0) return true;
  }
  return false;
}

bool ChipAccess::has_registers_of_w5500() {
  const uint8_t patterns_of_mr[] = {0x08, 0x10, 0x00};
  for (const uint8_t pattern : patterns_of_mr) {
    write_common(CommonRegister::MR, pattern);
    if (read_common(CommonRegister::MR) != pattern) return false;
  }
  return read_common(CommonRegister::VERSIONR) == w5500::version_w5500;
}

bool ChipAccess::write_common_array(CommonRegister to, const uint8_t* data, uint16_t count) {
  return data_.write(w5500::common_block, static_cast<uint16_t>(to), data, count);
}

bool ChipAccess::read_common_array(CommonRegister from, uint8_t* data, uint16_t count) {
  return data_.read(w5500::common_block, static_cast<uint16_t>(from), data, count);
}

bool ChipAccess::write_socket_array(uint8_t socket, SocketRegister to, const uint8_t* data, uint16_t count) {
  return data_.write(w5500::socket_block(socket), static_cast<uint16_t>(to), data, count);
}

bool ChipAccess::write_tx_buffer(uint8_t socket, uint16_t address, const uint8_t* data, uint16_t count) {
  return data_.write(w5500::tx_buffer_block(socket), address, data, count);
}

bool ChipAccess::read_rx_buffer(uint8_t socket, uint16_t address, uint8_t* data, uint16_t count) {
  return data_.read(w5500::rx_buffer_block(socket), address, data, count);
}

bool ChipAccess::append_to_tx(uint8_t socket, uint16_t offset, const uint8_t* data, uint16_t count) {
  const uint16_t address = static_cast<uint16_t>(read_socket_halves(socket, SocketRegister::Sn_TX_WR) + offset);
  const bool copied = write_tx_buffer(socket, address, data, count);
  write_socket_halves(socket, SocketRegister::Sn_TX_WR, static_cast<uint16_t>(address + count));
  return copied;
}

bool ChipAccess::take_from_rx(uint8_t socket, uint8_t* data, uint16_t count) {
  const uint16_t address = read_socket_halves(socket, SocketRegister::Sn_RX_RD);
  const bool copied = read_rx_buffer(socket, address, data, count);
  write_socket_halves(socket, SocketRegister::Sn_RX_RD, static_cast<uint16_t>(address + count));
  return copied;
}

}  // namespace patterns
