#include "drivers/patterns/esp_idf_macraw.hpp"

#include "drivers/patterns/macraw.hpp"

namespace patterns {

namespace {

constexpr uint32_t poll_us = 10000;
constexpr int polls = 10;  // 100 ms
constexpr uint32_t link_period_us = 2000000;
constexpr uint32_t longest_sleep_us = 1000000;
constexpr uint32_t wake_us = 20;  // from an edge to the task: an assumption
constexpr uint16_t largest_frame = 1522;
constexpr uint16_t smallest_frame = 60;
constexpr uint32_t counter_polls = 100000;
constexpr int looks_at_a_bad_length = 1000;         // the task would never leave it
constexpr uint8_t mode = raw_mode_filtered | 0x20;  // MMB: no IPv4 multicast

}  // namespace

bool EspIdfMacraw::reset() {
  chip_.write_common(CommonRegister::MR, MR::RST);
  for (int poll = 0; poll < polls; ++poll) {
    if (!MR{chip_.read_common(CommonRegister::MR)}.has(MR::RST)) return true;
    port_.delay_us(poll_us);
  }
  return false;
}

// Some units answer 0 for a while after the reset.
bool EspIdfMacraw::identify() {
  for (int poll = 0; poll < polls; ++poll) {
    if (chip_.read_common(CommonRegister::VERSIONR) == w5500::version_w5500) return true;
    port_.delay_us(poll_us);
  }
  return false;
}

void EspIdfMacraw::reset_phy() {
  constexpr uint8_t released = 0x80;
  up_ = false;
  const uint8_t phy = chip_.read_common(CommonRegister::PHYCFGR);
  chip_.write_common(CommonRegister::PHYCFGR, static_cast<uint8_t>(phy & ~released));
  port_.delay_us(poll_us);
  chip_.write_common(CommonRegister::PHYCFGR, static_cast<uint8_t>(phy | released));
}

bool EspIdfMacraw::begin(const uint8_t (&mac)[6]) {
  if (!reset() || !identify()) return false;
  claim_all_memory(chip_);
  empty_other_sockets(chip_);
  chip_.write_common(CommonRegister::SIMR, 0);
  chip_.write_socket(raw_socket, SocketRegister::Sn_MR, mode);
  chip_.write_socket(raw_socket, SocketRegister::Sn_IMR, Sn_IR::RECV);
  const uint8_t longest[] = {0xFF, 0xFF};
  chip_.write_common_array(CommonRegister::INTLEVEL, longest, sizeof longest);
  reset_phy();
  chip_.read_common(CommonRegister::PHYCFGR);  // does it negotiate?
  const bool addressed = chip_.write_common_array(CommonRegister::SHAR, mac, sizeof mac);
  chip_.read_common(CommonRegister::PHYCFGR);  // does it still? Then once more
  reset_phy();
  look_at_link();
  looked_us_ = woken_us_ = port_.now_us();
  return addressed;
}

bool EspIdfMacraw::command(Sn_CR command) {
  chip_.issue(raw_socket, command);
  for (int poll = 0; poll < polls; ++poll) {
    if (chip_.read_socket(raw_socket, SocketRegister::Sn_CR) == 0) return true;
    port_.delay_us(poll_us);
  }
  return false;
}

// The socket is open while the link is up.
void EspIdfMacraw::look_at_link() {
  const w5500::PHYCFGR phy{chip_.read_common(CommonRegister::PHYCFGR)};
  if (phy.LNK() == up_) return;
  up_ = phy.LNK();
  if (up_) {
    sendok_limit_us_ = phy.SPD() ? 200 : 1500;
    if (command(Sn_CR::OPEN)) chip_.write_common(CommonRegister::SIMR, 0x01);
  } else {
    chip_.write_common(CommonRegister::SIMR, 0);
    command(Sn_CR::CLOSE);
  }
}

uint32_t EspIdfMacraw::run(Receiver& receiver) {
  const uint32_t now_us = port_.now_us();
  if (now_us - looked_us_ >= link_period_us) {
    looked_us_ = now_us;
    look_at_link();
  }
  const bool fallen = intn_.take_fall();
  if (fallen || now_us - woken_us_ >= longest_sleep_us) {
    woken_us_ = now_us;
    if (fallen || intn_.low()) receive(receiver);
  }
  return wake_us;
}

void EspIdfMacraw::receive(Receiver& receiver) {
  if (!chip_.interrupts(raw_socket).has(Sn_IR::RECV)) return;
  chip_.clear_interrupts(raw_socket, Sn_IR::RECV);
  int bad = 0;
  do {
    if (!receive_one(receiver)) ++bad;
  } while (more_ && bad < looks_at_a_bad_length);
}

// Reads pairs until the two of one agree.
uint16_t EspIdfMacraw::settled_counter(SocketRegister from) {
  uint16_t second = 0;
  for (uint32_t poll = 0; poll < counter_polls; ++poll) {
    const uint16_t first = chip_.read_socket_word(raw_socket, from);
    second = chip_.read_socket_word(raw_socket, from);
    if (first == second) break;
  }
  return second;
}

// False if the length before the frame cannot be: then nothing is taken, and whether more is waiting stays as it was.
bool EspIdfMacraw::receive_one(Receiver& receiver) {
  uint16_t waiting = settled_counter(SocketRegister::Sn_RX_RSR);
  if (waiting == 0) {
    more_ = false;
    return true;
  }
  uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RD);
  uint16_t length = read_raw_length(chip_, at);
  const uint16_t bytes = static_cast<uint16_t>(length - raw_length_bytes);
  const uint16_t copied = bytes > largest_frame ? largest_frame : bytes;
  if (copied < smallest_frame) return false;
  uint8_t* memory = receiver.memory_for(copied);
  bool read = false;
  if (memory != nullptr) {
    read = chip_.read_rx_buffer(raw_socket, static_cast<uint16_t>(at + raw_length_bytes), memory, copied);
  } else {
    // Without memory the frame is looked up once more and stepped over.
    waiting = settled_counter(SocketRegister::Sn_RX_RSR);
    at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RD);
    length = read_raw_length(chip_, at);
  }
  chip_.write_socket_word(raw_socket, SocketRegister::Sn_RX_RD, static_cast<uint16_t>(at + length));
  const bool taken = command(Sn_CR::RECV);
  more_ = taken && static_cast<uint16_t>(waiting - length) > 0;
  if (read && taken && copied == bytes) {
    receiver.accept();
  } else if (memory != nullptr) {
    receiver.drop();
  }
  return true;
}

bool EspIdfMacraw::send_frame(const uint8_t* data, uint16_t count) {
  if (!up_ || count > largest_frame) return false;
  if (settled_counter(SocketRegister::Sn_TX_FSR) < count) return false;
  const uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_TX_WR);
  const bool copied = chip_.write_tx_buffer(raw_socket, at, data, count);
  chip_.write_socket_word(raw_socket, SocketRegister::Sn_TX_WR, static_cast<uint16_t>(at + count));
  if (!copied || !command(Sn_CR::SEND)) return false;
  const Deadline deadline(port_, sendok_limit_us_ + 1);
  do {
    const bool late = deadline.passed();
    if (!w5500::PHYCFGR{chip_.read_common(CommonRegister::PHYCFGR)}.LNK() || late) return false;
  } while (!chip_.interrupts(raw_socket).has(Sn_IR::SENDOK));
  chip_.clear_interrupts(raw_socket, Sn_IR::SENDOK);
  return true;
}

}  // namespace patterns
