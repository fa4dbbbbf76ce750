#include "sim/bus/faulty_spi.hpp"

#include <algorithm>

namespace wizloop::bus {
namespace {

// The same stream of bits, one bit late.
std::uint8_t one_bit_late(std::uint8_t before, std::uint8_t byte) {
  return static_cast<std::uint8_t>(before << 7 | byte >> 1);
}

constexpr std::uint8_t rwb_write = 0x04;

}  // namespace

FaultySpi::FaultySpi(chip::Chip& chip, chip::SpiTarget& target, Faults& faults, chip::SpiPins* pins)
    : chip_{chip},
      target_{target},
      pins_{pins},
      flip_{faults.point(Fault::spi_flip)},
      miso_stuck_{faults.point(Fault::spi_miso_stuck)},
      miso_contention_{faults.point(Fault::spi_miso_contention)},
      clock_missed_{faults.point(Fault::spi_clock_missed)},
      clock_extra_{faults.point(Fault::spi_clock_extra)},
      select_lost_{faults.point(Fault::spi_select_lost)},
      torn_read_{faults.point(Fault::spi_torn_read)},
      half_clock_{faults.point(Fault::spi_half_clock)},
      brown_out_{faults.point(Fault::chip_brown_out)} {}

bool FaultySpi::wanted(Faults& faults) {
  return faults.planned("spi") || faults.point(Fault::chip_brown_out) != nullptr;
}

void FaultySpi::select() {
  late_mosi_ = late_miso_ = false;
  if (half_clock_ != nullptr && half_clock_->strikes()) {
    late_mosi_ = !half_clock_->is("line", "miso");
    late_miso_ = !half_clock_->is("line", "mosi");
  }
  mosi_before_ = miso_before_ = 0;
  frame_bytes_ = 0;
  bits_in_ = 0;
  selected_ = true;
  target_.select();
}

void FaultySpi::deselect() {
  if (selected_) target_.deselect();
  selected_ = false;
}

void FaultySpi::lose_select() {
  target_.deselect();
  bits_in_ = 0;
  selected_ = select_lost_->is("back", "yes");
  if (selected_) target_.select();
}

std::uint8_t FaultySpi::exchange(std::uint8_t mosi) {
  if (brown_out_ != nullptr && brown_out_->strikes()) chip_.brown_out(brown_out_->time("down"));
  if (pins_ != nullptr) pins_->begin_byte();
  if (select_lost_ != nullptr && selected_ && select_lost_->strikes()) lose_select();

  const bool flips = flip_ != nullptr && flip_->strikes();
  const auto flipped = static_cast<std::uint8_t>(flips ? 1U << flip_->number("bit") : 0U);
  const bool flips_mosi = flips && flip_->is("line", "mosi");

  std::uint8_t on_mosi = late_mosi_ ? one_bit_late(mosi_before_, mosi) : mosi;
  if (flips_mosi) on_mosi ^= flipped;
  std::uint8_t miso = shift_byte(on_mosi);
  if (torn_read_ != nullptr) miso = torn(miso);
  const std::uint8_t miso_sent = miso;
  if (late_miso_) miso = one_bit_late(miso_before_, miso);
  if (miso_contention_ != nullptr && miso_contention_->strikes()) {
    miso &= static_cast<std::uint8_t>(miso_contention_->number("byte"));
    if (other_device_) {
      other_device_(true);
      other_device_(false);
    }
  }
  if (miso_stuck_ != nullptr && miso_stuck_->strikes()) miso = miso_stuck_->number("level") != 0 ? 0xFF : 0x00;
  if (flips && !flips_mosi) miso ^= flipped;

  mosi_before_ = mosi;
  miso_before_ = miso_sent;
  if (frame_bytes_ < header_bytes) header_[frame_bytes_] = mosi;
  ++frame_bytes_;
  return miso;
}

std::uint8_t FaultySpi::shift_byte(std::uint8_t mosi) {
  const auto bit_of = [](FaultPoint* point) {
    return point != nullptr && point->strikes() ? static_cast<int>(point->number("bit")) : -1;
  };
  const int missed = bit_of(clock_missed_);
  const int doubled = bit_of(clock_extra_);
  std::uint8_t miso = 0;
  for (int bit = 7; bit >= 0; --bit) {
    const bool level = (mosi >> bit & 1) != 0;
    if (pins_ != nullptr) {
      miso = static_cast<std::uint8_t>(miso << 1 | (clock_pins(bit, level, bit == missed, bit == doubled) ? 1 : 0));
      continue;
    }
    miso = static_cast<std::uint8_t>(miso << 1 | (miso_level() ? 1 : 0));
    if (bit == missed) continue;
    clock(level);
    if (bit == doubled) clock(level);
  }
  if (pins_ != nullptr) pins_->end_byte();
  return miso;
}

bool FaultySpi::clock_pins(int bit, bool mosi, bool missed, bool doubled) {
  const bool level = missed ? pins_->miss_bit(bit) : pins_->clock_bit(bit, mosi);
  if (doubled && !missed) pins_->repeat_edge();
  return level || !selected_;
}

void FaultySpi::clock(bool mosi) {
  if (!selected_) return;
  shift_ = static_cast<std::uint8_t>(shift_ << 1 | (mosi ? 1 : 0));
  if (++bits_in_ < 8) return;
  bits_in_ = 0;
  target_.exchange(shift_);
}

bool FaultySpi::miso_level() const {
  if (!selected_) return true;  // high impedance, and a pull-up
  return (target_.next_miso() >> (7 - bits_in_) & 1) != 0;
}

// The high byte of a counter as it was before it grew; the low byte follows as it is.
std::uint8_t FaultySpi::torn(std::uint8_t miso) {
  const chip::Block block{static_cast<std::uint8_t>(header_[2] >> 3)};
  if (frame_bytes_ < header_bytes || (header_[2] & rwb_write) != 0 || !block.is_socket_registers()) return miso;
  const auto offset = static_cast<std::uint16_t>((header_[0] << 8 | header_[1]) + (frame_bytes_ - header_bytes));
  if (offset != chip::socket::Sn_TX_FSR && offset != chip::socket::Sn_RX_RSR) return miso;
  const std::uint8_t low = chip_.peek(block, static_cast<std::uint16_t>(offset + 1));
  const auto value = static_cast<std::uint16_t>(miso << 8 | low);
  const auto growth = static_cast<std::uint16_t>(std::min<std::uint64_t>(value, torn_read_->number("growth")));
  const auto before = static_cast<std::uint8_t>((value - growth) >> 8);
  if (before == miso) return miso;  // this tear would not show
  return torn_read_->strikes() ? before : miso;
}

void FaultySpi::exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t in = exchange(mosi != nullptr ? mosi[i] : std::uint8_t{0});
    if (miso != nullptr) miso[i] = in;
  }
}

}  // namespace wizloop::bus
