#include "drivers/patterns/macraw.hpp"

namespace patterns {

namespace {

void set_memory(ChipAccess& chip, uint8_t socket, uint8_t kib) {
  chip.write_socket(socket, SocketRegister::Sn_RXBUF_SIZE, kib);
  chip.write_socket(socket, SocketRegister::Sn_TXBUF_SIZE, kib);
}

}  // namespace

void claim_all_memory(ChipAccess& chip) { set_memory(chip, raw_socket, w5500::buffer_kib_total); }

void empty_other_sockets(ChipAccess& chip) {
  for (uint8_t socket = 1; socket < socket_count; ++socket) set_memory(chip, socket, 0);
}

uint16_t read_raw_length(ChipAccess& chip, uint16_t address) {
  uint8_t length[raw_length_bytes] = {0, 0};
  chip.read_rx_buffer(raw_socket, address, length, raw_length_bytes);
  return static_cast<uint16_t>((length[0] << 8) | length[1]);
}

}  // namespace patterns
