#include "drivers/patterns/pico_macraw.hpp"

namespace patterns {

namespace {

constexpr uint16_t length_bytes = 2;  // before each frame, and counted by it

}  // namespace

bool PicoMacraw::begin(const uint8_t (&mac)[6]) {
  chip_.write_common(CommonRegister::MR, MR::RST);
  chip_.read_common(CommonRegister::MR);  // all the delay that the reset gets
  chip_.write_common_array(CommonRegister::SHAR, mac, sizeof mac);
  chip_.write_socket(socket_, SocketRegister::Sn_RXBUF_SIZE, w5500::buffer_kib_total);
  chip_.write_socket(socket_, SocketRegister::Sn_TXBUF_SIZE, w5500::buffer_kib_total);
  chip_.write_common_array(CommonRegister::SHAR, mac, sizeof mac);
  chip_.write_socket(socket_, SocketRegister::Sn_MR, Sn_MR::MACRAW);
  return chip_.command(socket_, Sn_CR::OPEN) && chip_.status(socket_) == Sn_SR::SOCK_MACRAW;
}

uint16_t PicoMacraw::frame_size() {
  chip_.clear_interrupts(socket_, Sn_IR::RECV);
  if (chip_.read_socket_counter(socket_, SocketRegister::Sn_RX_RSR) == 0) return 0;
  uint8_t length[length_bytes] = {0, length_bytes};
  const bool read = chip_.take_from_rx(socket_, length, length_bytes);
  const bool taken = chip_.command(socket_, Sn_CR::RECV);
  if (!read || !taken) return 0;
  return static_cast<uint16_t>((length[0] << 8) + length[1] - length_bytes);
}

bool PicoMacraw::read_frame(uint8_t* data, uint16_t count) {
  const bool read = chip_.take_from_rx(socket_, data, count);
  return chip_.command(socket_, Sn_CR::RECV) && read;
}

void PicoMacraw::discard_frame(uint16_t count) {
  const uint16_t at = chip_.read_socket_halves(socket_, SocketRegister::Sn_RX_RD);
  chip_.write_socket_halves(socket_, SocketRegister::Sn_RX_RD, static_cast<uint16_t>(at + count));
  chip_.command(socket_, Sn_CR::RECV);
}

bool PicoMacraw::send_frame(const uint8_t* data, uint16_t count) {
  const Deadline deadline(port_, give_up_us);
  for (;;) {
    const uint16_t free = chip_.read_socket_counter(socket_, SocketRegister::Sn_TX_FSR);
    if (chip_.status(socket_) == Sn_SR::SOCK_CLOSED) return false;
    if (count <= free) break;
    if (deadline.passed()) return false;
  }
  const bool copied = chip_.append_to_tx(socket_, 0, data, count);
  if (!chip_.command(socket_, Sn_CR::SEND)) return false;
  for (;;) {
    const Sn_IR causes = chip_.interrupts(socket_);
    if (causes.has(Sn_IR::SENDOK)) break;
    if (causes.has(Sn_IR::TIMEOUT)) {
      chip_.clear_interrupts(socket_, Sn_IR::TIMEOUT);
      return false;
    }
    if (deadline.passed()) return false;
  }
  chip_.clear_interrupts(socket_, Sn_IR::SENDOK);
  return copied;
}

}  // namespace patterns
