#include "sim/chip/spi_front.hpp"

#include <limits>

namespace wizloop::chip {
namespace {

// MISO during the three header bytes, and during the data of a write.
constexpr std::uint8_t header_miso[] = {0x01, 0x02, 0x03};
constexpr std::uint8_t write_miso = 0x00;

}  // namespace

void SpiFront::select() {
  selected_ = true;
  data_bytes_ = 0;
  start_frame();
  access_.note_select();
}

void SpiFront::deselect() {
  if (selected_) access_.note_deselect(static_cast<std::size_t>(phase_), data_bytes_);
  selected_ = false;
}

void SpiFront::start_frame() {
  phase_ = Phase::address_high;
  next_miso_ = header_miso[0];
}

std::uint8_t SpiFront::exchange(std::uint8_t mosi) {
  if (!selected_ || held_in_reset_) return 0x00;
  const std::uint8_t miso = next_miso_;
  switch (phase_) {
    case Phase::address_high:
      address_ = static_cast<std::uint16_t>(mosi << 8);
      phase_ = Phase::address_low;
      next_miso_ = header_miso[1];
      break;
    case Phase::address_low:
      address_ = static_cast<std::uint16_t>(address_ | mosi);
      phase_ = Phase::control;
      next_miso_ = header_miso[2];
      break;
    case Phase::control:
      begin_data(mosi);
      break;
    case Phase::data:
      ++data_bytes_;
      if (is_buffer_) {
        access_.note_buffer_data(block_, address_, 1, is_write_);
        if (is_write_) ring_->write(address_, mosi);
      } else if (is_write_) {
        access_.write_register(block_, address_, mosi);
      } else {
        access_.note_register_read(block_, address_, miso);
      }
      ++address_;  // wraps from 0xFFFF to 0 in the same block
      next_miso_ = is_write_ ? write_miso : fetch();
      if (fixed_left_ != 0) finish_fixed_bytes(1);
      break;
  }
  return miso;
}

void SpiFront::begin_data(std::uint8_t control) {
  constexpr std::size_t fixed_length[] = {0, 1, 2, 4};  // by OM
  block_ = Block{static_cast<std::uint8_t>(control >> 3)};
  is_write_ = (control & 0x04) != 0;
  fixed_left_ = fixed_length[control & 0x03];
  is_buffer_ = block_.is_tx_buffer() || block_.is_rx_buffer();
  ring_ = is_buffer_ ? &access_.ring(block_) : nullptr;
  access_.note_block_selected(block_);
  phase_ = Phase::data;
  next_miso_ = is_write_ ? write_miso : fetch();
}

std::uint8_t SpiFront::fetch() { return is_buffer_ ? ring_->read(address_) : access_.fetch_register(block_, address_); }

void SpiFront::finish_fixed_bytes(std::size_t count) {
  fixed_left_ -= count;
  if (fixed_left_ == 0) start_frame();  // the next byte is the first address byte of another frame
}

std::size_t SpiFront::quiet_bytes() const {
  if (!selected_ || held_in_reset_) return std::numeric_limits<std::size_t>::max();
  if (phase_ != Phase::data || !is_buffer_) return 0;
  return fixed_left_ != 0 ? fixed_left_ : std::numeric_limits<std::size_t>::max();
}

void SpiFront::exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  if (count == 0) return;
  if (!selected_ || held_in_reset_) {
    if (miso != nullptr) std::memset(miso, 0, count);
    return;
  }
  data_bytes_ += count;
  access_.note_buffer_data(block_, address_, count, is_write_);
  if (is_write_) {
    if (mosi != nullptr) {
      ring_->write(address_, mosi, count);
    } else {
      for (std::size_t i = 0; i < count; ++i) ring_->write(static_cast<std::uint16_t>(address_ + i), 0);
    }
    if (miso != nullptr) std::memset(miso, write_miso, count);
    address_ = static_cast<std::uint16_t>(address_ + count);
  } else {
    if (miso != nullptr) {
      miso[0] = next_miso_;
      ring_->read(static_cast<std::uint16_t>(address_ + 1), miso + 1, count - 1);
    }
    address_ = static_cast<std::uint16_t>(address_ + count);
    next_miso_ = fetch();
  }
  if (fixed_left_ != 0) finish_fixed_bytes(count);
}

}  // namespace wizloop::chip
