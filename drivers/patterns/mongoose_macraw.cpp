#include "drivers/patterns/mongoose_macraw.hpp"

#include "drivers/patterns/macraw.hpp"

namespace patterns {

namespace {

constexpr uint32_t loop_period_us = 100;  // an assumption: the application decides
constexpr uint32_t link_period_us = 1000000;
constexpr uint16_t largest_frame = 1540;
constexpr int looks_for_sendok = 40;

}  // namespace

bool MongooseMacraw::begin(const uint8_t (&)[6]) {
  chip_.write_common(CommonRegister::MR, MR::RST);
  chip_.write_common(CommonRegister::PHYCFGR, 0x00);
  chip_.write_common(CommonRegister::PHYCFGR, 0xF8);
  claim_all_memory(chip_);
  chip_.write_socket(raw_socket, SocketRegister::Sn_MR, Sn_MR::MACRAW);
  chip_.issue(raw_socket, Sn_CR::OPEN);
  looked_us_ = port_.now_us();
  return chip_.status(raw_socket) == Sn_SR::SOCK_MACRAW;
}

void MongooseMacraw::look_at_link() { up_ = w5500::PHYCFGR{chip_.read_common(CommonRegister::PHYCFGR)}.LNK(); }

uint32_t MongooseMacraw::run(Receiver& receiver) {
  const uint32_t now_us = port_.now_us();
  if (now_us - looked_us_ >= link_period_us) {
    looked_us_ = now_us;
    look_at_link();
  }
  if (up_) take_frame(receiver);
  return loop_period_us;
}

void MongooseMacraw::take_frame(Receiver& receiver) {
  // Until two reads in a row do not grow.
  uint16_t waiting = 0;
  for (;;) {
    const uint16_t next = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RSR);
    if (next <= waiting) break;
    waiting = next;
  }
  if (waiting == 0) return;
  const uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RD);
  const uint16_t length = read_raw_length(chip_, at);
  // A length that cannot be is stepped over as it stands: what follows is then read out of step.
  const bool plausible = length >= raw_length_bytes && length <= largest_frame + raw_length_bytes;
  const uint16_t bytes = plausible ? static_cast<uint16_t>(length - raw_length_bytes) : uint16_t{0};
  uint8_t* memory = bytes != 0 ? receiver.memory_for(bytes) : nullptr;
  const bool read = memory != nullptr &&
                    chip_.read_rx_buffer(raw_socket, static_cast<uint16_t>(at + raw_length_bytes), memory, bytes);
  chip_.write_socket_word(raw_socket, SocketRegister::Sn_RX_RD, static_cast<uint16_t>(at + length));
  chip_.issue(raw_socket, Sn_CR::RECV);
  if (read) {
    receiver.accept();
  } else if (memory != nullptr) {
    receiver.drop();
  }
}

bool MongooseMacraw::send_frame(const uint8_t* data, uint16_t count) {
  if (!up_) return false;
  const Deadline deadline(port_, give_up_us);
  while (chip_.read_socket_word(raw_socket, SocketRegister::Sn_TX_FSR) < count) {
    if (deadline.passed()) return false;
  }
  const uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_TX_WR);
  const bool copied = chip_.write_tx_buffer(raw_socket, at, data, count);
  chip_.write_socket_word(raw_socket, SocketRegister::Sn_TX_WR, static_cast<uint16_t>(at + count));
  chip_.issue(raw_socket, Sn_CR::SEND);
  for (int look = 0; look < looks_for_sendok; ++look) {
    const Sn_IR causes = chip_.interrupts(raw_socket);
    if (causes.raw == 0) continue;
    chip_.clear_interrupts(raw_socket, causes.raw);
    if (causes.has(Sn_IR::TIMEOUT)) return false;
    if (causes.has(Sn_IR::SENDOK)) break;
  }
  return copied;
}

}  // namespace patterns
