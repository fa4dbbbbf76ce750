#include "drivers/patterns/pico_macraw.hpp"

#include "drivers/patterns/macraw.hpp"

namespace patterns {

namespace {

constexpr uint32_t poll_period_us = 20000;
constexpr int frames_in_a_turn = 9;

}  // namespace

bool PicoMacraw::begin(const uint8_t (&mac)[6]) {
  chip_.write_common(CommonRegister::MR, MR::RST);
  chip_.read_common(CommonRegister::MR);  // all the delay that the reset gets
  chip_.write_common_array(CommonRegister::SHAR, mac, sizeof mac);
  claim_all_memory(chip_);
  chip_.write_common_array(CommonRegister::SHAR, mac, sizeof mac);
  chip_.write_socket(raw_socket, SocketRegister::Sn_MR, Sn_MR::MACRAW);
  return chip_.command(raw_socket, Sn_CR::OPEN) && chip_.status(raw_socket) == Sn_SR::SOCK_MACRAW;
}

uint16_t PicoMacraw::frame_size() {
  chip_.clear_interrupts(raw_socket, Sn_IR::RECV);
  if (chip_.read_socket_counter(raw_socket, SocketRegister::Sn_RX_RSR) == 0) return 0;
  uint8_t length[raw_length_bytes] = {0, raw_length_bytes};
  const bool read = chip_.take_from_rx(raw_socket, length, raw_length_bytes);
  const bool taken = chip_.command(raw_socket, Sn_CR::RECV);
  if (!read || !taken) return 0;
  return static_cast<uint16_t>((length[0] << 8) + length[1] - raw_length_bytes);
}

bool PicoMacraw::read_frame(uint8_t* data, uint16_t count) {
  const bool read = chip_.take_from_rx(raw_socket, data, count);
  return chip_.command(raw_socket, Sn_CR::RECV) && read;
}

void PicoMacraw::discard_frame(uint16_t count) {
  const uint16_t at = chip_.read_socket_halves(raw_socket, SocketRegister::Sn_RX_RD);
  chip_.write_socket_halves(raw_socket, SocketRegister::Sn_RX_RD, static_cast<uint16_t>(at + count));
  chip_.command(raw_socket, Sn_CR::RECV);
}

bool PicoMacraw::send_frame(const uint8_t* data, uint16_t count) {
  const Deadline deadline(port_, give_up_us);
  for (;;) {
    const uint16_t free = chip_.read_socket_counter(raw_socket, SocketRegister::Sn_TX_FSR);
    if (chip_.status(raw_socket) == Sn_SR::SOCK_CLOSED) return false;
    if (count <= free) break;
    if (deadline.passed()) return false;
  }
  const bool copied = chip_.append_to_tx(raw_socket, 0, data, count);
  if (!chip_.command(raw_socket, Sn_CR::SEND)) return false;
  for (;;) {
    const Sn_IR causes = chip_.interrupts(raw_socket);
    if (causes.has(Sn_IR::SENDOK)) break;
    if (causes.has(Sn_IR::TIMEOUT)) {
      chip_.clear_interrupts(raw_socket, Sn_IR::TIMEOUT);
      return false;
    }
    if (deadline.passed()) return false;
  }
  chip_.clear_interrupts(raw_socket, Sn_IR::SENDOK);
  return copied;
}

uint32_t PicoMacraw::run(Receiver& receiver) {
  for (int taken = 0; taken < frames_in_a_turn; ++taken) {
    const uint16_t bytes = frame_size();
    if (bytes == 0) break;
    uint8_t* memory = receiver.memory_for(bytes);
    if (memory == nullptr) {
      discard_frame(bytes);
      break;
    }
    if (!read_frame(memory, bytes)) {
      receiver.drop();
      break;
    }
    receiver.accept();
  }
  return poll_period_us;
}

}  // namespace patterns
