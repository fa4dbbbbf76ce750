#include "sim/chip/spi_front.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace wizloop::chip {

// MISO of a header, and of data that are written, goes where hosts do not look: asking does not count as touching.
SpiFront::SpiFront(BlockAccess& access, Quirks& quirks) : access_{access}, quirks_{quirks}, header_miso_{} {
  if (quirks.peek<HeaderMiso>(Quirk::header_miso) == HeaderMiso::counts) header_miso_ = {0x01, 0x02, 0x03};
  const auto shown = quirks.peek<WriteDataMiso>(Quirk::write_data_miso);
  writes_show_mosi_ = shown == WriteDataMiso::echo;
  commits_late_ = quirks.peek<ByteCommit>(Quirk::byte_commit) == ByteCommit::next_byte;
  writes_show_ = shown == WriteDataMiso::ones ? std::uint8_t{0xFF} : std::uint8_t{0x00};
}

void SpiFront::select() {
  selected_ = true;
  data_bytes_ = 0;
  start_frame();
  access_.note_select();
}

void SpiFront::deselect() {
  commit_pending();
  if (selected_ && phase_ == FramePhase::data) finish_data();
  const bool cut_short = phase_ == FramePhase::address_low || phase_ == FramePhase::control;
  if (selected_ && (cut_short || log_.tells_each)) [[unlikely]] {
    access_.note_deselect(std::min<std::size_t>(static_cast<std::size_t>(phase_), 3), data_bytes_);
  }
  forget_frame();
}

void SpiFront::let_select_go() {
  commit_pending();
  if (selected_ && phase_ == FramePhase::data) finish_data();
  forget_frame();
}

void SpiFront::forget_frame() {
  selected_ = streaming_ = false;
  log_.count = 0;
  select_toggles_ = true;
}

void SpiFront::start_frame() {
  log_.count = 0;
  phase_ = FramePhase::address_high;
  next_miso_ = header_miso_[0];
  streaming_ = false;
}

// One byte of a buffer.
inline std::uint8_t SpiFront::stream(std::uint8_t mosi) {
  const std::uint8_t miso = next_miso_;
  ++data_bytes_;
  if (is_write_) ring_->write(address_, mosi);
  if (++address_ == 0xFFFF) streaming_ = false;
  if (!is_write_) {
    next_miso_ = ring_->read(address_);
  } else if (writes_show_mosi_) {
    next_miso_ = write_miso_ = mosi;
  }
  return miso;
}

std::uint8_t SpiFront::exchange(std::uint8_t mosi) {
  if (streaming_) return stream(mosi);
  if (phase_ > FramePhase::address_low || ignoring() || pending_) return step(mosi);
  const std::uint8_t miso = next_miso_;
  if (phase_ == FramePhase::address_high) {
    log_.mosi[0] = mosi;
    log_.count = 1;
    address_ = static_cast<std::uint16_t>(mosi << 8);
    phase_ = FramePhase::address_low;
    next_miso_ = header_miso_[1];
  } else {
    log_.mosi[1] = mosi;
    log_.count = 2;
    address_ = static_cast<std::uint16_t>(address_ | mosi);
    phase_ = FramePhase::control;
    next_miso_ = header_miso_[2];
  }
  return miso;
}

// Whatever is no plain address byte and does not stream.
std::uint8_t SpiFront::step(std::uint8_t mosi) {
  if (selected_ && !held_in_reset_ && phase_ <= FramePhase::address_low) {
    commit();  // of the frame before, where SCSn is tied low
    return exchange(mosi);
  }
  if (selected_ && (phase_ != FramePhase::data || !is_buffer_)) log(mosi);
  if (ignoring()) {
    note_ignored(1);
    return 0x00;
  }
  const std::uint8_t miso = next_miso_;
  if (phase_ == FramePhase::control) {
    begin_data(mosi);
    return miso;
  }
  commit_pending();
  ++data_bytes_;
  const std::uint16_t address = address_;
  if (!is_write_) {
    advance_address(1);
    next_miso_ = is_buffer_ ? ring_->read(address_) : access_.read_register(block_, address, miso, address_);
  } else {
    if (is_buffer_) {
      write_buffer(&mosi, 1);
    } else {
      write_register(mosi);
    }
    if (writes_show_mosi_) write_miso_ = mosi;
    advance_address(1);
    next_miso_ = write_miso_;
  }
  if (fixed_left_ != 0) {
    finish_fixed_bytes(1);
  } else if (is_buffer_) {
    note_streaming();
  }
  return miso;
}

void SpiFront::begin_data(std::uint8_t control) {
  block_ = Block{static_cast<std::uint8_t>(control >> 3)};
  is_write_ = (control & 0x04) != 0;
  fixed_left_ = (control & 0x03) == 0 ? 0 : fixed_length(control & 0x03);
  is_buffer_ = block_.is_tx_buffer() || block_.is_rx_buffer();
  ring_ = is_buffer_ ? &access_.ring(block_) : nullptr;
  if (is_buffer_ || block_.is_reserved() || log_.tells_each) access_.note_data_begins(block_, address_, is_write_);
  bytes_before_ = data_bytes_;
  phase_ = FramePhase::data;
  write_miso_ = writes_show_;
  next_miso_ = is_write_ ? write_miso_ : fetch();
  note_streaming();
}

// Of the operation modes 1 to 3; 0 if they are taken for variable data length mode.
std::size_t SpiFront::fixed_length(std::uint8_t om) {
  constexpr std::size_t length[] = {0, 1, 2, 4};
  if (select_toggles_ && quirks_.choice<FdmUnderSelect>(Quirk::fdm_under_select) == FdmUnderSelect::ignored) {
    return 0;
  }
  return length[om];
}

void SpiFront::write_register(std::uint8_t value) {
  quirks_.touch(Quirk::byte_commit);
  if (commits_late_) {
    pending_ = Pending{nullptr, address_, value};
  } else {
    access_.write_register(block_, address_, value);
  }
}

void SpiFront::commit() {
  if (pending_->ring != nullptr) {
    pending_->ring->write(pending_->address, pending_->value);
  } else {
    access_.write_register(block_, pending_->address, pending_->value);
  }
  pending_.reset();
}

void SpiFront::note_wrap() {
  if (quirks_.choice<AddressWrap>(Quirk::address_wrap) == AddressWrap::sticks) address_ = 0xFFFF;
}

void SpiFront::finish_fixed_bytes(std::size_t count) {
  fixed_left_ -= count;
  if (fixed_left_ != 0) return;
  finish_data();
  if (select_toggles_ && quirks_.peek<FdmUnderSelect>(Quirk::fdm_under_select) == FdmUnderSelect::capped) {
    commit_pending();
    phase_ = FramePhase::spent;  // until SCSn rises
    next_miso_ = 0;
  } else {
    start_frame();  // the next byte is the first address byte of another frame
  }
}

std::size_t SpiFront::quiet_bytes() const {
  if (ignoring()) return std::numeric_limits<std::size_t>::max();
  if (phase_ != FramePhase::data || !is_buffer_) return 0;
  const std::size_t to_the_end = std::size_t{0x10000} - address_;
  return fixed_left_ != 0 ? std::min(fixed_left_, to_the_end) : to_the_end;
}

void SpiFront::exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  if (count == 0) return;
  if (ignoring()) {
    note_ignored(count);
    if (miso != nullptr) std::memset(miso, 0, count);
    return;
  }
  commit_pending();
  data_bytes_ += count;
  if (is_write_) {
    write_buffer(mosi, count);
    if (miso != nullptr) show_while_written(mosi, miso, count);
    advance_address(count);
  } else {
    if (miso != nullptr) {
      miso[0] = next_miso_;
      ring_->read(static_cast<std::uint16_t>(address_ + 1), miso + 1, count - 1);
    }
    advance_address(count);
    next_miso_ = fetch();
  }
  if (fixed_left_ != 0) finish_fixed_bytes(count);
  note_streaming();
}

// `mosi` may be null: zeros.
void SpiFront::write_buffer(const std::uint8_t* mosi, std::size_t count) {
  const std::size_t at_once = commits_late_ ? count - 1 : count;
  if (mosi != nullptr) {
    ring_->write(address_, mosi, at_once);
  } else {
    for (std::size_t i = 0; i < at_once; ++i) ring_->write(static_cast<std::uint16_t>(address_ + i), 0);
  }
  if (at_once == count) return;
  const std::uint8_t last = mosi != nullptr ? mosi[at_once] : std::uint8_t{0};
  pending_ = Pending{ring_, static_cast<std::uint16_t>(address_ + at_once), last};
}

void SpiFront::show_while_written(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  if (!writes_show_mosi_) {
    std::memset(miso, write_miso_, count);
    return;
  }
  // `mosi` and `miso` may be one buffer.
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t sent = mosi != nullptr ? mosi[i] : std::uint8_t{0};
    miso[i] = std::exchange(write_miso_, sent);
  }
  next_miso_ = write_miso_;
}

}  // namespace wizloop::chip
