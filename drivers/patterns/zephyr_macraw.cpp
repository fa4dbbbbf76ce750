#include "drivers/patterns/zephyr_macraw.hpp"

#include "drivers/patterns/macraw.hpp"

namespace patterns {

namespace {

constexpr uint32_t reset_pulse_us = 500;
constexpr uint32_t reset_settles_us = 1000;
constexpr uint32_t software_reset_us = 5000;
constexpr uint32_t command_poll_us = 26;
constexpr uint32_t command_limit_us = 100000;
constexpr uint32_t sendok_limit_us = 10000;
constexpr uint32_t monitor_period_us = 500000;
constexpr uint32_t wake_us = 20;  // from an edge to the thread: an assumption
constexpr uint16_t ring_bytes = 0x4000;
constexpr uint16_t fragment_bytes = 128;
constexpr uint8_t rtr_at_reset[] = {0x07, 0xD0};

}  // namespace

bool ZephyrMacraw::begin(const uint8_t (&mac)[6]) {
  if (port_.set_reset_pin(false)) {
    port_.delay_us(reset_pulse_us);
    port_.set_reset_pin(true);
    port_.delay_us(reset_settles_us);
  }
  chip_.write_common(CommonRegister::MR, MR::RST);
  port_.delay_us(software_reset_us);
  chip_.write_common(CommonRegister::MR, MR::PB);
  chip_.write_common(CommonRegister::SIMR, 0);
  chip_.write_common_array(CommonRegister::SHAR, mac, sizeof mac);
  claim_all_memory(chip_);
  empty_other_sockets(chip_);
  uint8_t rtr[sizeof rtr_at_reset] = {};
  chip_.read_common_array(CommonRegister::RTR, rtr, sizeof rtr);
  if (rtr[0] != rtr_at_reset[0] || rtr[1] != rtr_at_reset[1]) return false;
  chip_.write_socket(raw_socket, SocketRegister::Sn_MR, raw_mode_filtered);
  look_at_link();
  command(Sn_CR::OPEN);
  chip_.write_common(CommonRegister::SIMR, 0x01);
  woken_us_ = port_.now_us();
  return true;
}

bool ZephyrMacraw::command(Sn_CR command) {
  chip_.issue(raw_socket, command);
  const Deadline deadline(port_, command_limit_us);
  for (;;) {
    if (chip_.read_socket(raw_socket, SocketRegister::Sn_CR) == 0) return true;
    if (deadline.passed()) return false;
    port_.delay_us(command_poll_us);
  }
}

void ZephyrMacraw::look_at_link() { up_ = w5500::PHYCFGR{chip_.read_common(CommonRegister::PHYCFGR)}.LNK(); }

uint32_t ZephyrMacraw::run(Receiver& receiver) {
  receiver_ = &receiver;
  const uint32_t now_us = port_.now_us();
  if (intn_.take_fall()) {
    woken_us_ = now_us;
    if (!up_) look_at_link();
    serve_interrupts(receiver);
  } else if (now_us - woken_us_ >= monitor_period_us) {
    woken_us_ = now_us;
    look_at_link();
  }
  return wake_us;
}

void ZephyrMacraw::serve_interrupts(Receiver& receiver) {
  const Deadline deadline(port_, give_up_us);
  while (intn_.low() && !deadline.passed()) {
    const Sn_IR causes = chip_.interrupts(raw_socket);
    if (causes.raw == 0) continue;
    chip_.clear_interrupts(raw_socket, causes.raw);
    if (causes.has(Sn_IR::SENDOK)) ++sends_done_;
    if (causes.has(Sn_IR::RECV)) receive(receiver);
  }
}

bool ZephyrMacraw::read_ring(uint16_t address, uint8_t* data, uint16_t count) {
  const uint16_t at = address % ring_bytes;
  const uint16_t to_end = static_cast<uint16_t>(ring_bytes - at);
  if (count <= to_end) return chip_.read_rx_buffer(raw_socket, at, data, count);
  return chip_.read_rx_buffer(raw_socket, at, data, to_end) &&
         chip_.read_rx_buffer(raw_socket, 0, data + to_end, static_cast<uint16_t>(count - to_end));
}

bool ZephyrMacraw::write_ring(uint16_t address, const uint8_t* data, uint16_t count) {
  const uint16_t at = address % ring_bytes;
  const uint16_t to_end = static_cast<uint16_t>(ring_bytes - at);
  if (count <= to_end) return chip_.write_tx_buffer(raw_socket, at, data, count);
  return chip_.write_tx_buffer(raw_socket, at, data, to_end) &&
         chip_.write_tx_buffer(raw_socket, 0, data + to_end, static_cast<uint16_t>(count - to_end));
}

// One frame. Without memory for it nothing is given back: it is there again at the next RECV.
void ZephyrMacraw::receive(Receiver& receiver) {
  if (chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RSR) == 0) return;
  const uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_RX_RD);
  uint8_t header[raw_length_bytes] = {};
  read_ring(at, header, sizeof header);
  const uint16_t bytes = static_cast<uint16_t>((header[0] << 8) + header[1] - raw_length_bytes);
  uint8_t* memory = receiver.memory_for(bytes);
  if (memory == nullptr) return;
  bool read = true;
  uint16_t done = 0;
  do {
    const uint16_t left = static_cast<uint16_t>(bytes - done);
    const uint16_t piece = left < fragment_bytes ? left : fragment_bytes;
    read = read_ring(static_cast<uint16_t>(at + raw_length_bytes + done), memory + done, piece) && read;
    done = static_cast<uint16_t>(done + piece);
  } while (done < bytes);
  chip_.write_socket_word(raw_socket, SocketRegister::Sn_RX_RD, static_cast<uint16_t>(at + raw_length_bytes + bytes));
  command(Sn_CR::RECV);
  if (read) {
    receiver.accept();
  } else {
    receiver.drop();
  }
}

// The thread is a cooperative one, above all that send.
void ZephyrMacraw::let_thread_run() {
  if (receiver_ != nullptr && intn_.take_fall()) serve_interrupts(*receiver_);
}

bool ZephyrMacraw::send_frame(const uint8_t* data, uint16_t count) {
  if (!up_) return false;
  let_thread_run();
  const uint16_t at = chip_.read_socket_word(raw_socket, SocketRegister::Sn_TX_WR);
  if (!write_ring(at, data, count)) return false;
  chip_.write_socket_word(raw_socket, SocketRegister::Sn_TX_WR, static_cast<uint16_t>(at + count));
  let_thread_run();
  command(Sn_CR::SEND);
  const Deadline deadline(port_, sendok_limit_us);
  while (sends_done_ == 0) {
    if (deadline.passed()) return false;
    port_.delay_us(wake_us);
    let_thread_run();
  }
  --sends_done_;
  return true;
}

}  // namespace patterns
