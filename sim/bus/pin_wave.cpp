#include "sim/bus/pin_wave.hpp"

#include <utility>

#include "sim/chip/register_map.hpp"
#include "sim/chip/spi_front.hpp"

namespace wizloop::bus {
namespace {

chip::Block block_of(std::uint8_t control) { return chip::Block{static_cast<std::uint8_t>(control >> 3)}; }

void name_block(chip::Block block, std::string& name) {
  if (block.is_common() || block.is_reserved()) {
    name = block.is_common() ? "common" : "reserved";
    return;
  }
  name = "S";
  name += static_cast<char>('0' + block.socket());
  if (block.is_tx_buffer()) name += ".TX";
  if (block.is_rx_buffer()) name += ".RX";
}

}  // namespace

PinWave::PinWave(std::unique_ptr<WaveFile> file, WaveWindow window) : wave_{std::move(file), signals, window} {
  for (const Pin pin : {SCSn, INTn, RSTn}) set(Instant{}, pin, true);
  release_miso(Instant{});
}

void PinWave::set(Instant at, Pin pin, bool high) {
  wave_.change(at, pin, {.high = high});
  if (pin == SCSn) {
    header_bytes_ = fixed_left_ = 0;
    show_nothing(at);
  }
}

void PinWave::on_byte(Instant at, std::uint8_t mosi, std::uint8_t miso) {
  constexpr std::uint8_t rwb = 0x04;
  constexpr std::array<std::size_t, 4> fixed_length = {0, 1, 2, 4};
  if (header_bytes_ < header_.size()) {
    header_[header_bytes_++] = mosi;
    if (header_bytes_ < header_.size()) return;
    offset_ = static_cast<std::uint16_t>(header_[0] << 8 | header_[1]);
    fixed_left_ = fixed_length[header_[2] & 3];
    name_block(block_of(header_[2]), block_);
    wave_.change(at, access, {.text = (header_[2] & rwb) != 0 ? "write" : "read"});
    wave_.change(at, block, {.text = block_});
    return show_place(at);
  }
  show_hex(at, data, (header_[2] & rwb) != 0 ? mosi : miso, 2);
  ++offset_;
  if (fixed_left_ != 0 && --fixed_left_ == 0) {
    header_bytes_ = 0;
    return show_nothing(at);
  }
  show_place(at);
}

void PinWave::show_place(Instant at) {
  show_hex(at, offset, offset_, 4);
  const chip::Block place = block_of(header_[2]);
  if (!place.is_common() && !place.is_socket_registers()) return wave_.change(at, name, {.text = block_});
  const chip::RegisterSpec* spec =
      place.is_common() ? chip::common_register_at(offset_) : chip::socket_register_at(offset_);
  name_.clear();
  if (!place.is_common()) name_.append(block_) += '.';
  name_ += spec != nullptr ? spec->name : "-";
  wave_.change(at, name, {.text = name_});
}

void PinWave::show_hex(Instant at, Decoded signal, unsigned value, std::size_t digits) {
  constexpr std::string_view digit = "0123456789ABCDEF";
  std::array<char, 4> text{};
  for (std::size_t i = 0; i < digits; ++i) text[i] = digit[value >> 4 * (digits - 1 - i) & 0xF];
  wave_.change(at, signal, {.text = {text.data(), digits}});
}

void PinWave::show_nothing(Instant at) {
  for (const Decoded signal : {access, block, offset, name, data}) wave_.change(at, signal, {});
}

}  // namespace wizloop::bus
