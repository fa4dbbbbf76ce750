#include "drivers/patterns/qnethernet_macraw.hpp"

#include "drivers/patterns/macraw.hpp"

namespace patterns {

namespace {

constexpr uint32_t start_delay_us = 560000;
constexpr int reset_polls = 20;           // a millisecond apart
constexpr uint32_t loop_period_us = 100;  // an assumption: the sketch decides
constexpr uint32_t link_period_us = 125000;
constexpr uint16_t largest_frame = 1518;
constexpr uint32_t counter_polls = 100000;

uint16_t length_at(const uint8_t* record) { return static_cast<uint16_t>((record[0] << 8) | record[1]); }

}  // namespace

bool QnEthernetMacraw::reset() {
  chip_.write_common(CommonRegister::MR, MR::RST);
  for (int poll = 0; poll < reset_polls; ++poll) {
    if (!MR{chip_.read_common(CommonRegister::MR)}.has(MR::RST)) return true;
    port_.delay_us(1000);
  }
  return false;
}

void QnEthernetMacraw::reset_phy() {
  constexpr uint8_t released = 0x80;
  const uint8_t before = chip_.read_common(CommonRegister::PHYCFGR);
  chip_.write_common(CommonRegister::PHYCFGR, static_cast<uint8_t>(before & ~released));
  const uint8_t held = chip_.read_common(CommonRegister::PHYCFGR);
  chip_.write_common(CommonRegister::PHYCFGR, static_cast<uint8_t>(held | released));
}

bool QnEthernetMacraw::open() {
  return chip_.command(raw_socket, Sn_CR::OPEN) && chip_.status(raw_socket) == Sn_SR::SOCK_MACRAW;
}

bool QnEthernetMacraw::begin(const uint8_t (&mac)[6]) {
  port_.delay_us(start_delay_us);
  if (!reset() || !chip_.has_registers_of_w5500()) return false;
  constexpr uint8_t negotiate_all = 0x40 | 0x38;  // by OPMDC, not by the pins
  const uint8_t phy = chip_.read_common(CommonRegister::PHYCFGR);
  chip_.write_common(CommonRegister::PHYCFGR, static_cast<uint8_t>(phy | negotiate_all));
  reset_phy();
  chip_.write_socket(raw_socket, SocketRegister::Sn_MR, raw_mode_filtered);
  chip_.clear_interrupts(raw_socket, 0xFF);
  empty_other_sockets(chip_);
  claim_all_memory(chip_);
  chip_.write_socket(raw_socket, SocketRegister::Sn_IMR, 0);
  if (!open()) return false;
  looked_us_ = port_.now_us();
  return chip_.write_common_array(CommonRegister::SHAR, mac, sizeof mac);
}

// Two reads that agree.
bool QnEthernetMacraw::read_counter(SocketRegister from, uint16_t& value) {
  const uint16_t first = chip_.read_socket_word(raw_socket, from);
  value = chip_.read_socket_word(raw_socket, from);
  return value == first;
}

bool QnEthernetMacraw::send_frame(const uint8_t* data, uint16_t count) {
  if (!up_) return false;
  const Deadline deadline(port_, give_up_us);
  while (sent_ && chip_.read_socket_word(raw_socket, SocketRegister::Sn_TX_RD) != sent_to_) {
    if (deadline.passed()) return false;
  }
  uint16_t free = 0;
  while (!read_counter(SocketRegister::Sn_TX_FSR, free) || count > free) {
    if (deadline.passed()) return false;
  }
  const uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_TX_WR);
  const bool copied = chip_.write_tx_buffer(raw_socket, at, data, count);
  sent_to_ = static_cast<uint16_t>(at + count);
  sent_ = true;
  chip_.write_socket_word(raw_socket, SocketRegister::Sn_TX_WR, sent_to_);
  return chip_.command(raw_socket, Sn_CR::SEND) && copied;
}

uint32_t QnEthernetMacraw::run(Receiver& receiver) {
  for (uint32_t turn = 0; turn < counter_polls && read_and_scan(); ++turn) {
  }
  pass_on(receiver);
  const uint32_t now_us = port_.now_us();
  if (now_us - looked_us_ >= link_period_us) {
    looked_us_ = now_us;
    up_ = w5500::PHYCFGR{chip_.read_common(CommonRegister::PHYCFGR)}.LNK();
  }
  return loop_period_us;
}

// Reads all that the chip holds and keeps the whole frames of it. False if nothing was there, or no more can be kept.
bool QnEthernetMacraw::read_and_scan() {
  uint16_t bytes = 0;
  if (!read_counter(SocketRegister::Sn_RX_RSR, bytes) || bytes < raw_length_bytes) return false;
  if (bytes > rx_bytes) bytes = rx_bytes;
  const uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RD);
  if (!chip_.read_rx_buffer(raw_socket, at, rx_, bytes)) return false;

  bool more = true;
  uint16_t end = 0;
  while (end + raw_length_bytes <= bytes) {
    const uint16_t length = length_at(rx_ + end);
    if (length < raw_length_bytes) {
      chip_.command(raw_socket, Sn_CR::CLOSE);
      open();
      return true;
    }
    if (end + length > bytes) break;
    if (length - raw_length_bytes <= largest_frame) {
      if (length > waiting_limit - waiting_bytes_) {
        more = false;
        break;
      }
      for (uint16_t i = 0; i < length; ++i) waiting_[waiting_bytes_ + i] = rx_[end + i];
      waiting_bytes_ = static_cast<uint16_t>(waiting_bytes_ + length);
    }
    end = static_cast<uint16_t>(end + length);
  }
  if (end != 0) {
    chip_.write_socket_word(raw_socket, SocketRegister::Sn_RX_RD, static_cast<uint16_t>(at + end));
    chip_.command(raw_socket, Sn_CR::RECV);
  }
  return more;
}

void QnEthernetMacraw::pass_on(Receiver& receiver) {
  uint16_t next = 0;
  while (next < waiting_bytes_) {
    const uint16_t length = length_at(waiting_ + next);
    const uint16_t bytes = static_cast<uint16_t>(length - raw_length_bytes);
    uint8_t* memory = receiver.memory_for(bytes);
    if (memory != nullptr) {
      for (uint16_t i = 0; i < bytes; ++i) memory[i] = waiting_[next + raw_length_bytes + i];
      receiver.accept();
    }
    next = static_cast<uint16_t>(next + length);
  }
  waiting_bytes_ = 0;
}

}  // namespace patterns
