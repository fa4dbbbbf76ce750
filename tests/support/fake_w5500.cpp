#include "tests/support/fake_w5500.hpp"

#include <algorithm>
#include <cstdio>

namespace wizloop::test {
namespace {

constexpr std::uint8_t con = 0x01, recv = 0x04, timeout = 0x08, sendok = 0x10;

bool is_tcp(std::uint8_t mode) { return (mode & 0x0F) == 0x01; }

std::string hex(unsigned value) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%02X", value);
  return text;
}

}  // namespace

FakeW5500::FakeW5500() { reset(); }

void FakeW5500::reset() {
  common_.fill(0);
  common_[0x19] = 0x07;  // RTR
  common_[0x1A] = 0xD0;
  common_[0x1B] = 0x08;  // RCR
  common_[0x2E] = 0xBF;  // PHYCFGR, linked at 100 Mbit/s full duplex
  common_[0x39] = 0x04;  // VERSIONR
  for (unsigned n = 0; n < 8; ++n) {
    sockets_[n] = Socket{};
    socket(n, 0x1E) = 2;
    socket(n, 0x1F) = 2;
    socket(n, 0x2C) = 0xFF;  // Sn_IMR
    update_counters(n);
  }
}

std::uint16_t FakeW5500::socket16(unsigned n, unsigned offset) const {
  return static_cast<std::uint16_t>(sockets_.at(n).registers.at(offset) * 256 + sockets_[n].registers.at(offset + 1));
}

void FakeW5500::set_socket16(unsigned n, unsigned offset, unsigned value) {
  socket(n, offset) = static_cast<std::uint8_t>(value >> 8);
  socket(n, offset + 1) = static_cast<std::uint8_t>(value);
}

void FakeW5500::update_counters(unsigned n) {
  const Socket& s = sockets_[n];
  set_socket16(n, 0x20, tx_size(n) - static_cast<std::uint16_t>(socket16(n, 0x24) - s.acknowledged));
  set_socket16(n, 0x26, static_cast<std::uint16_t>(socket16(n, 0x2A) - s.released_rx_rd));
}

void FakeW5500::set_tx_pointers(unsigned n, std::uint16_t value) {
  set_socket16(n, 0x22, value);
  set_socket16(n, 0x24, value);
  sockets_[n].written_tx_wr = value;
  sockets_[n].acknowledged = value;
  update_counters(n);
}

void FakeW5500::set_rx_pointers(unsigned n, std::uint16_t value) {
  set_socket16(n, 0x28, value);
  set_socket16(n, 0x2A, value);
  sockets_[n].released_rx_rd = value;
  update_counters(n);
}

void FakeW5500::receive(unsigned n, const Bytes& data) {
  unsigned write = socket16(n, 0x2A);
  for (const std::uint8_t byte : data) sockets_[n].rx[write++ % rx_size(n)] = byte;
  set_socket16(n, 0x2A, write);
  update_counters(n);
  if (socket16(n, 0x26) > rx_size(n)) violation("the test overfills the RX ring");
  raise(n, recv);
}

void FakeW5500::receive_datagram(unsigned n, const Bytes& source_ip, unsigned source_port, const Bytes& payload) {
  Bytes record = source_ip;
  for (const std::size_t value : {std::size_t{source_port}, payload.size()}) {
    record.push_back(static_cast<std::uint8_t>(value >> 8));
    record.push_back(static_cast<std::uint8_t>(value));
  }
  record.insert(record.end(), payload.begin(), payload.end());
  receive(n, record);
}

void FakeW5500::establish(unsigned n) {
  set_tx_pointers(n, first_tx_pointer);
  set_state(n, 0x17);
  raise(n, con);
}

void FakeW5500::acknowledge_all(unsigned n) {
  sockets_[n].acknowledged = socket16(n, 0x22);
  update_counters(n);
}

void FakeW5500::time_out(unsigned n, bool keeps_datagram) {
  sockets_[n].sending = false;
  if (is_tcp(socket(n, 0x00))) set_state(n, 0x00);
  if (!keeps_datagram) set_tx_pointers(n, socket16(n, 0x24));
  raise(n, timeout);
}

void FakeW5500::after_us(std::uint32_t delay, std::function<void()> action) {
  schedule_.emplace(elapsed_us_ + delay, std::move(action));
}

void FakeW5500::set_now_us(std::uint32_t now) { start_us_ = static_cast<std::uint32_t>(now - elapsed_us_); }

Bytes FakeW5500::sent_bytes(unsigned n) const {
  Bytes all;
  for (const Sent& one : sockets_.at(n).sent) all.insert(all.end(), one.data.begin(), one.data.end());
  return all;
}

void FakeW5500::advance(std::uint64_t us) {
  const std::uint64_t end = elapsed_us_ + us;
  while (!schedule_.empty() && schedule_.begin()->first <= end) {
    auto due = schedule_.extract(schedule_.begin());
    elapsed_us_ = due.key();
    due.mapped()();
  }
  elapsed_us_ = end;
}

// ---- SPI

void FakeW5500::select() {
  if (selected_) violation("select() inside a frame");
  if (held_in_reset_) violation("a frame while RSTn is low");
  if (reset_edge_us_ != 0 && elapsed_us_ - reset_edge_us_ < 1000) violation("a frame less than 1 ms after reset");
  selected_ = true;
  aborted_ = false;
  frames_.emplace_back();
}

void FakeW5500::deselect() {
  if (!selected_) violation("deselect() outside a frame");
  if (dma_) violation("deselect() during a DMA");
  if (frames_.back().mosi.size() < 4 && !aborted_) violation("a frame without data");
  selected_ = false;
}

void FakeW5500::forget_frames() { frames_.erase(frames_.begin(), frames_.end() - (selected_ ? 1 : 0)); }

std::uint8_t FakeW5500::transfer(std::uint8_t mosi) {
  advance(1);
  if (!selected_) {
    violation("a byte outside a frame");
    return 0;
  }
  Frame& frame = frames_.back();
  const std::size_t position = frame.mosi.size();
  frame.mosi.push_back(mosi);
  std::uint8_t miso = static_cast<std::uint8_t>(position + 1);  // 01 02 03 in the header
  if (position == 2 && (mosi & 0x03) != 0) violation("not in variable data length mode");
  if (position >= 3) {
    const unsigned offset = (frame.offset() + static_cast<unsigned>(position) - 3) & 0xFFFFu;
    miso = frame.is_write() ? std::uint8_t{0} : read_byte(frame.block(), offset);
    if (frame.is_write()) write_byte(frame.block(), offset, mosi);
  }
  if (stuck_miso) miso = *stuck_miso;
  frames_.back().miso.push_back(miso);
  return miso;
}

std::uint8_t FakeW5500::exchange(std::uint8_t mosi) {
  const std::uint8_t miso = transfer(mosi);
  ++frames_.back().byte_calls;
  return miso;
}

void FakeW5500::exchange(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t in = transfer(mosi == nullptr ? std::uint8_t{0} : mosi[i]);
    if (miso != nullptr) miso[i] = in;
  }
  ++frames_.back().buffer_calls;
}

bool FakeW5500::start_dma(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  if (!dma_available) return false;
  dma_ = Dma{mosi, miso, count};
  ++dma_count_;
  ++frames_.back().dma_transfers;
  return true;
}

bool FakeW5500::wait_dma(std::uint32_t timeout_us) {
  if (!dma_) {
    violation("wait_dma() without a DMA");
    return false;
  }
  if (dma_hangs || hanging_dma == dma_count_ - 1) {
    advance(timeout_us);
    return false;
  }
  for (std::size_t i = 0; i < dma_->count; ++i) {
    const std::uint8_t in = transfer(dma_->mosi == nullptr ? std::uint8_t{0} : dma_->mosi[i]);
    if (dma_->miso != nullptr) dma_->miso[i] = in;
  }
  dma_.reset();
  return true;
}

void FakeW5500::abort_dma() {
  if (!dma_) violation("abort_dma() without a DMA");
  dma_.reset();
  aborted_ = true;
}

bool FakeW5500::set_reset_pin(bool high) {
  if (!reset_pin_wired) return false;
  if (!high) {
    held_in_reset_ = true;
    reset_edge_us_ = elapsed_us_;
  } else if (held_in_reset_) {
    if (elapsed_us_ - reset_edge_us_ < 500) violation("RSTn low for less than 500 us");
    held_in_reset_ = false;
    reset_edge_us_ = elapsed_us_;
    reset();
  }
  return true;
}

bool FakeW5500::interrupt_pending() const {
  std::uint8_t sir = 0;
  for (unsigned n = 0; n < 8; ++n) {
    const auto& registers = sockets_[n].registers;
    if ((registers[0x02] & registers[0x2C]) != 0) sir = static_cast<std::uint8_t>(sir | (1u << n));
  }
  return (common_[0x15] & common_[0x16]) != 0 || (sir & common_[0x18]) != 0;
}

bool FakeW5500::wait_for_interrupt(std::uint32_t timeout_us) {
  if (!interrupt_pin_wired) return false;
  ++interrupt_waits_;
  const std::uint64_t end = elapsed_us_ + timeout_us;
  while (!interrupt_pending() && elapsed_us_ < end) {
    const std::uint64_t next = schedule_.empty() ? end : schedule_.begin()->first;
    advance(std::min(next, end) - elapsed_us_);
  }
  return interrupt_pending();
}

// ---- blocks

std::uint8_t FakeW5500::read_byte(unsigned block, unsigned offset) {
  std::uint8_t value = 0;
  const unsigned n = block / 4;
  if (block == 0 && offset < common_.size()) {
    value = common_[offset];
    if (offset == 0x39 && elapsed_us_ < version_zero_until_us) value = 0;
    if (offset == 0x17) {
      for (unsigned i = 0; i < 8; ++i) {
        if ((socket(i, 0x02) & socket(i, 0x2C)) != 0) value = static_cast<std::uint8_t>(value | (1u << i));
      }
    }
  } else if (block % 4 == 1 && offset < 0x30) {
    value = socket(n, offset);
  } else if (block % 4 == 2 && tx_size(n) > 0) {
    value = sockets_[n].tx[offset % tx_size(n)];
  } else if (block % 4 == 3 && rx_size(n) > 0) {
    value = sockets_[n].rx[offset % rx_size(n)];
  } else {
    violation("a read of reserved block " + hex(block) + " offset " + hex(offset));
  }
  return on_read ? on_read(block, offset, value) : value;
}

void FakeW5500::write_byte(unsigned block, unsigned offset, std::uint8_t value) {
  const unsigned n = block / 4;
  if (block == 0 && offset < common_.size()) {
    write_common(offset, value);
  } else if (block % 4 == 1 && offset < 0x30) {
    write_socket(n, offset, value);
  } else if (block % 4 == 2 && tx_size(n) > 0) {
    const unsigned beyond = static_cast<std::uint16_t>(offset - sockets_[n].acknowledged);
    if (socket(n, 0x03) != 0 && beyond >= tx_size(n)) violation("TX data over what is not acknowledged");
    sockets_[n].tx[offset % tx_size(n)] = value;
  } else {
    violation("a write to block " + hex(block) + " offset " + hex(offset));
  }
}

void FakeW5500::write_common(unsigned offset, std::uint8_t value) {
  if (offset == 0x00 && (value & 0x80) != 0) {
    reset();
  } else if (offset == 0x15) {
    common_[offset] = static_cast<std::uint8_t>(common_[offset] & ~value);
  } else if (offset == 0x17 || offset == 0x39 || (offset >= 0x28 && offset <= 0x2D)) {
    violation("a write to read-only common register " + hex(offset));
  } else if (offset == 0x2E) {
    common_[offset] = static_cast<std::uint8_t>((value & 0xF8) | (common_[offset] & 0x07));
  } else {
    common_[offset] = value;
  }
}

void FakeW5500::write_socket(unsigned n, unsigned offset, std::uint8_t value) {
  Socket& s = sockets_[n];
  switch (offset) {
    case 0x01:
      if (socket(n, 0x01) != 0) violation("command " + hex(value) + " before the last one was accepted");
      socket(n, 0x01) = value;
      if (commands_hang) break;
      if (command_us == 0) {
        perform(n, value);
      } else {
        after_us(command_us, [this, n, value] { perform(n, value); });
      }
      break;
    case 0x02:
      socket(n, 0x02) = static_cast<std::uint8_t>(socket(n, 0x02) & ~value);
      break;
    case 0x1E:
    case 0x1F: {
      socket(n, offset) = value;
      unsigned sum = 0;
      for (unsigned i = 0; i < 8; ++i) sum += socket(i, offset);
      if (sum > 16) violation("buffer sizes above 16 KiB in all");
      if (socket(n, 0x03) != 0) violation("a buffer size changed on an open socket");
      update_counters(n);
      break;
    }
    case 0x24:
      s.written_tx_wr = static_cast<std::uint16_t>((s.written_tx_wr & 0x00FF) | (value << 8));
      break;
    case 0x25:
      s.written_tx_wr = static_cast<std::uint16_t>((s.written_tx_wr & 0xFF00) | value);
      break;
    case 0x03:
    case 0x20:
    case 0x21:
    case 0x22:
    case 0x23:
    case 0x26:
    case 0x27:
    case 0x2A:
    case 0x2B:
      violation("a write to read-only socket register " + hex(offset));
      break;
    default:
      socket(n, offset) = value;
  }
}

// ---- commands

void FakeW5500::perform(unsigned n, std::uint8_t command) {
  sockets_[n].commands.push_back(command);
  socket(n, 0x01) = 0;
  if (on_command && on_command(n, command)) return;
  const bool tcp = is_tcp(socket(n, 0x00));
  switch (command) {
    case 0x01:
      set_state(n, tcp ? 0x13 : (socket(n, 0x00) & 0x0F) == 3 ? 0x32 : 0x22);
      set_tx_pointers(n, 0);
      set_rx_pointers(n, 0);
      break;
    case 0x02:
      set_state(n, 0x14);
      break;
    case 0x04:
      establish(n);
      break;
    case 0x08:
    case 0x10:
      sockets_[n].sending = false;
      set_state(n, 0x00);
      break;
    case 0x20:
      send(n);
      break;
    case 0x40:
      sockets_[n].released_rx_rd = socket16(n, 0x28);
      update_counters(n);
      if (socket16(n, 0x26) > rx_size(n)) violation("RECV past Sn_RX_WR");
      break;
    default:
      violation("unknown command " + hex(command));
  }
}

void FakeW5500::send(unsigned n) {
  Socket& s = sockets_[n];
  if (s.sending) violation("SEND before the last one was done");
  if ((socket(n, 0x02) & sendok) != 0) violation("SEND before SENDOK of the last one was cleared");
  s.sending = true;
  set_socket16(n, 0x24, s.written_tx_wr);
  update_counters(n);
  Sent sent;
  for (std::uint16_t at = socket16(n, 0x22); at != s.written_tx_wr; ++at) sent.data.push_back(s.tx[at % tx_size(n)]);
  if (sent.data.size() > tx_size(n)) violation("SEND of more than the TX ring");
  for (unsigned offset = 0x0C; offset < 0x12; ++offset) sent.destination.push_back(socket(n, offset));
  s.sent.push_back(sent);
  if (sends_hang) return;
  if (send_us == 0) {
    finish_send(n);
  } else {
    after_us(send_us, [this, n] { finish_send(n); });
  }
}

void FakeW5500::finish_send(unsigned n) {
  Socket& s = sockets_[n];
  if (!s.sending) return;
  s.sending = false;
  set_socket16(n, 0x22, socket16(n, 0x24));
  if (acknowledges || !is_tcp(socket(n, 0x00))) acknowledge_all(n);
  raise(n, sendok);
}

}  // namespace wizloop::test
