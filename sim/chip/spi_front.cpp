#include "sim/chip/spi_front.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace wizloop::chip {

void SpiFront::select() {
  selected_ = true;
  data_bytes_ = 0;
  start_frame();
  access_.note_select();
}

void SpiFront::deselect() {
  commit_pending();
  if (selected_ && phase_ == Phase::data) access_.note_data_ends(data_bytes_ - bytes_before_);
  if (selected_) access_.note_deselect(std::min<std::size_t>(static_cast<std::size_t>(phase_), 3), data_bytes_);
  selected_ = false;
  select_toggles_ = true;
}

void SpiFront::start_frame() {
  log_.count = 0;
  phase_ = Phase::address_high;
  next_miso_ = header_miso(0);
}

// MISO goes where hosts do not look: asking does not count as touching.
std::uint8_t SpiFront::header_miso(std::size_t byte) const {
  constexpr std::uint8_t counts[] = {0x01, 0x02, 0x03};
  return quirks_.peek<HeaderMiso>(Quirk::header_miso) == HeaderMiso::counts ? counts[byte] : std::uint8_t{0};
}

std::uint8_t SpiFront::exchange(std::uint8_t mosi) {
  if (selected_ && (phase_ != Phase::data || !is_buffer_)) log(mosi);
  if (ignoring()) {
    note_ignored(1);
    return 0x00;
  }
  if (pending_) commit_pending();
  const std::uint8_t miso = next_miso_;
  switch (phase_) {
    case Phase::address_high:
      address_ = static_cast<std::uint16_t>(mosi << 8);
      phase_ = Phase::address_low;
      next_miso_ = header_miso(1);
      break;
    case Phase::address_low:
      address_ = static_cast<std::uint16_t>(address_ | mosi);
      phase_ = Phase::control;
      next_miso_ = header_miso(2);
      break;
    case Phase::control:
      begin_data(mosi);
      break;
    case Phase::data:
      ++data_bytes_;
      if (is_buffer_) {
        if (is_write_) {
          if (commits_late_) [[unlikely]] {
            pending_ = Pending{ring_, address_, mosi};
          } else {
            ring_->write(address_, mosi);
          }
        }
      } else if (is_write_) {
        write_register(mosi);
      } else {
        access_.note_register_read(block_, address_, miso);
      }
      if (is_write_ && echoes_) write_miso_ = mosi;
      advance_address(1);
      next_miso_ = is_write_ ? write_miso_ : fetch();
      if (fixed_left_ != 0) finish_fixed_bytes(1);
      break;
    case Phase::spent:
      break;
  }
  return miso;
}

void SpiFront::begin_data(std::uint8_t control) {
  block_ = Block{static_cast<std::uint8_t>(control >> 3)};
  is_write_ = (control & 0x04) != 0;
  fixed_left_ = fixed_length(control & 0x03);
  is_buffer_ = block_.is_tx_buffer() || block_.is_rx_buffer();
  ring_ = is_buffer_ ? &access_.ring(block_) : nullptr;
  access_.note_data_begins(block_, address_, is_write_);
  bytes_before_ = data_bytes_;
  phase_ = Phase::data;
  const auto shown = quirks_.peek<WriteDataMiso>(Quirk::write_data_miso);
  echoes_ = shown == WriteDataMiso::echo;
  commits_late_ = quirks_.peek<ByteCommit>(Quirk::byte_commit) == ByteCommit::next_byte;
  write_miso_ = shown == WriteDataMiso::ones ? std::uint8_t{0xFF} : std::uint8_t{0x00};
  next_miso_ = is_write_ ? write_miso_ : fetch();
}

// 0 in variable data length mode.
std::size_t SpiFront::fixed_length(std::uint8_t om) {
  constexpr std::size_t length[] = {0, 1, 2, 4};
  if (om != 0 && select_toggles_ &&
      quirks_.choice<FdmUnderSelect>(Quirk::fdm_under_select) == FdmUnderSelect::ignored) {
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

void SpiFront::commit_pending() {
  if (!pending_) return;
  if (pending_->ring != nullptr) {
    pending_->ring->write(pending_->address, pending_->value);
  } else {
    access_.write_register(block_, pending_->address, pending_->value);
  }
  pending_.reset();
}

void SpiFront::advance_address(std::size_t count) {
  const std::size_t next = address_ + count;
  address_ = static_cast<std::uint16_t>(next);  // from 0xFFFF to 0 in the same block
  if (next > 0xFFFF && quirks_.choice<AddressWrap>(Quirk::address_wrap) == AddressWrap::sticks) address_ = 0xFFFF;
}

std::uint8_t SpiFront::fetch() { return is_buffer_ ? ring_->read(address_) : access_.fetch_register(block_, address_); }

void SpiFront::finish_fixed_bytes(std::size_t count) {
  fixed_left_ -= count;
  if (fixed_left_ != 0) return;
  access_.note_data_ends(data_bytes_ - bytes_before_);
  if (select_toggles_ && quirks_.peek<FdmUnderSelect>(Quirk::fdm_under_select) == FdmUnderSelect::capped) {
    commit_pending();
    phase_ = Phase::spent;  // until SCSn rises
  } else {
    start_frame();  // the next byte is the first address byte of another frame
  }
}

std::size_t SpiFront::quiet_bytes() const {
  if (ignoring()) return std::numeric_limits<std::size_t>::max();
  if (phase_ != Phase::data || !is_buffer_) return 0;
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
  if (pending_) commit_pending();
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
  if (!echoes_) {
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
