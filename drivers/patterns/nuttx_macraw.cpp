#include "drivers/patterns/nuttx_macraw.hpp"

#include "drivers/patterns/macraw.hpp"

namespace patterns {

namespace {

constexpr uint32_t reset_pulse_us = 500;
constexpr uint32_t reset_settles_us = 1000;
constexpr int looks_at_link = 100;
constexpr uint32_t link_look_us = 100000;
constexpr uint32_t send_limit_us = 60000000;
constexpr uint32_t worker_us = 20;  // from INTn to the worker: an assumption
constexpr int counter_polls = 100;
constexpr uint16_t largest_frame = 1514;
constexpr uint16_t smallest_frame = 14;

}  // namespace

bool NuttxMacraw::begin(const uint8_t (&mac)[6]) {
  for (int i = 0; i < 6; ++i) mac_[i] = mac[i];
  up_ = unfence();
  return up_;
}

bool NuttxMacraw::unfence() {
  port_.set_reset_pin(false);
  port_.delay_us(reset_pulse_us);
  port_.set_reset_pin(true);
  port_.delay_us(reset_settles_us);
  chip_.write_common_array(CommonRegister::SHAR, mac_, sizeof mac_);
  chip_.write_socket(raw_socket, SocketRegister::Sn_MR, raw_mode_filtered);
  claim_all_memory(chip_);
  empty_other_sockets(chip_);
  chip_.write_socket(raw_socket, SocketRegister::Sn_IMR, Sn_IR::RECV);
  chip_.write_common(CommonRegister::SIMR, 0x01);
  chip_.issue(raw_socket, Sn_CR::OPEN);
  if (chip_.status(raw_socket) != Sn_SR::SOCK_MACRAW) {
    fence();
    return false;
  }
  for (uint16_t& start : starts_) start = 0;
  read_slot_ = write_slot_ = 0;
  w5500::PHYCFGR phy{chip_.read_common(CommonRegister::PHYCFGR)};
  for (int look = 0; look < looks_at_link && !phy.LNK(); ++look) {
    phy = w5500::PHYCFGR{chip_.read_common(CommonRegister::PHYCFGR)};
    port_.delay_us(link_look_us);
  }
  if (!phy.LNK()) fence();
  return phy.LNK();
}

void NuttxMacraw::fence() {
  port_.set_reset_pin(false);
  up_ = false;
}

bool NuttxMacraw::send_frame(const uint8_t* data, uint16_t count) {
  if (!up_ || pending() == slots) return false;
  const uint16_t at = starts_[write_slot_];
  const uint16_t end = static_cast<uint16_t>(at + count);
  const bool copied = chip_.write_tx_buffer(raw_socket, at, data, count);
  write_slot_ = static_cast<uint8_t>((write_slot_ + 1) % (slots + 1));
  starts_[write_slot_] = end;
  if (pending() == 1) {
    chip_.write_socket_word(raw_socket, SocketRegister::Sn_TX_WR, end);
    chip_.write_socket(raw_socket, SocketRegister::Sn_IMR, Sn_IR::RECV | Sn_IR::SENDOK);
    start_send();
  }
  return copied;
}

void NuttxMacraw::start_send() {
  chip_.issue(raw_socket, Sn_CR::SEND);
  send_began_us_ = port_.now_us();
}

uint32_t NuttxMacraw::run(Receiver& receiver) {
  if (!up_) return worker_us;
  if (intn_.low()) {
    if (!interrupt(receiver)) fence();
  } else if (pending() != 0 && port_.now_us() - send_began_us_ >= send_limit_us) {
    fence();
    up_ = unfence();
  }
  return worker_us;
}

// False if it cannot go on.
bool NuttxMacraw::interrupt(Receiver& receiver) {
  uint8_t causes[3] = {};  // IR, IMR, SIR
  chip_.read_common_array(CommonRegister::IR, causes, sizeof causes);
  if (causes[0] != 0) chip_.write_common(CommonRegister::IR, causes[0]);
  if ((causes[2] & ~0x01) != 0) return false;
  if (causes[2] == 0) return true;
  const Sn_IR socket = chip_.interrupts(raw_socket);
  if (socket.raw == 0 || (socket.raw & ~(Sn_IR::RECV | Sn_IR::SENDOK)) != 0) return false;
  chip_.clear_interrupts(raw_socket, socket.raw);
  if (socket.has(Sn_IR::SENDOK)) sent();
  return !socket.has(Sn_IR::RECV) || receive(receiver);
}

void NuttxMacraw::sent() {
  if (pending() == 0) return;
  read_slot_ = static_cast<uint8_t>((read_slot_ + 1) % (slots + 1));
  chip_.read_socket_word(raw_socket, SocketRegister::Sn_TX_RD);  // an assertion looks at it
  if (pending() == 0) {
    chip_.write_socket(raw_socket, SocketRegister::Sn_IMR, Sn_IR::RECV);
    return;
  }
  chip_.write_socket_word(raw_socket, SocketRegister::Sn_TX_WR, starts_[(read_slot_ + 1) % (slots + 1)]);
  start_send();
}

bool NuttxMacraw::settled_received(uint16_t& value) {
  value = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RSR);
  for (int poll = 0; poll < counter_polls; ++poll) {
    const uint16_t next = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RSR);
    if (next == value) return true;
    value = next;
  }
  return false;
}

// All that is there: a length of 0 is read for ever, and so ends it here. False if what the chip says cannot be.
bool NuttxMacraw::receive(Receiver& receiver) {
  for (;;) {
    uint16_t waiting = 0;
    if (!settled_received(waiting)) return false;
    if (waiting == 0) return true;
    if (waiting < raw_length_bytes) return false;
    const uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RD);
    const uint16_t length = read_raw_length(chip_, at);
    if (length > waiting || length < raw_length_bytes) return false;
    const uint16_t bytes = static_cast<uint16_t>(length - raw_length_bytes);
    uint8_t* memory = bytes >= smallest_frame && bytes <= largest_frame ? receiver.memory_for(bytes) : nullptr;
    bool read = false;
    if (memory != nullptr) {
      read = chip_.read_rx_buffer(raw_socket, static_cast<uint16_t>(at + raw_length_bytes), memory, bytes);
    }
    chip_.write_socket_word(raw_socket, SocketRegister::Sn_RX_RD, static_cast<uint16_t>(at + length));
    chip_.issue(raw_socket, Sn_CR::RECV);
    if (read) {
      receiver.accept();
    } else if (memory != nullptr) {
      receiver.drop();
    }
  }
}

}  // namespace patterns
