#include "sim/rtl/lock_step.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace wizloop::rtl {
namespace {

constexpr std::size_t edges_kept = std::size_t{1} << 18;  // 16 KiB at the pins

// What a front tells in any case; the rest it may keep to itself (chip::FrameLog::tells_each).
bool must_be_told(chip::Block block) { return !block.is_common() && !block.is_socket_registers(); }
bool is_cut_short(std::size_t header_bytes) { return header_bytes == 1 || header_bytes == 2; }

std::string name_of(chip::Block block) {
  if (block.is_common()) return "common";
  if (block.is_reserved()) return fmt::format("reserved block {}", block.bsb);
  return fmt::format("S{} {}", block.socket(),
                     block.is_socket_registers() ? "registers"
                     : block.is_tx_buffer()      ? "TX"
                                                 : "RX");
}

std::string_view name_of(chip::FramePhase phase) {
  constexpr std::string_view names[] = {"the first address byte", "the second address byte", "the control byte", "data",
                                        "the end of SCSn"};
  return names[static_cast<std::size_t>(phase)];
}

}  // namespace

LockStep::LockStep(const EventQueue& queue, chip::Chip::BehindFront behind, LockStepOptions options)
    : queue_{queue},
      options_{std::move(options)},
      tap_{behind.blocks, *this},
      shadow_{*this},
      rtl_quirks_{behind.quirks},
      reference_{tap_, behind.quirks},
      rtl_{queue, {shadow_, rtl_quirks_}, options_.straps.value_or(Straps::of(behind.quirks))} {
  if (!options_.waveform.empty()) rtl_.keep_edges(edges_kept);
}

// What both do --------------------------------------------------------------------------------------------------------

bool LockStep::Access::operator==(const Access& other) const {
  return kind == other.kind && block.bsb == other.block.bsb && offset == other.offset && next == other.next &&
         is_write == other.is_write && count == other.count && data_bytes == other.data_bytes &&
         (kind != Kind::write || value == other.value);
}

std::string LockStep::Access::text() const {
  switch (kind) {
    case Kind::fetch:
      return fmt::format("a fetch from {} 0x{:04X}", name_of(block), offset);
    case Kind::write:
      return fmt::format("0x{:02X} into {} 0x{:04X}", value, name_of(block), offset);
    case Kind::read:
      return fmt::format("a read of {} 0x{:04X}, then a fetch from 0x{:04X}", name_of(block), offset, next);
    case Kind::ring:
      return fmt::format("the ring of {}", name_of(block));
    case Kind::select:
      return "a select";
    case Kind::data_begins:
      return fmt::format("{} of {} from 0x{:04X} on", is_write ? "a write" : "a read", name_of(block), offset);
    case Kind::data_ends:
      return fmt::format("the end of {} bytes of buffer data", count);
    case Kind::deselect:
      return fmt::format("the end of SCSn after {} header bytes and {} of data", count, data_bytes);
    case Kind::ignored:
      return "a frame ignored in reset";
  }
  return {};
}

std::uint8_t LockStep::Tap::fetch_register(chip::Block block, std::uint16_t offset) {
  const std::uint8_t value = chip_.fetch_register(block, offset);
  fronts_.done_.push_back({.kind = Access::Kind::fetch, .block = block, .offset = offset, .value = value});
  return value;
}

void LockStep::Tap::write_register(chip::Block block, std::uint16_t offset, std::uint8_t value) {
  fronts_.done_.push_back({.kind = Access::Kind::write, .block = block, .offset = offset, .value = value});
  chip_.write_register(block, offset, value);
}

std::uint8_t LockStep::Tap::read_register(chip::Block block, std::uint16_t offset, std::uint8_t value,
                                          std::uint16_t next) {
  const std::uint8_t then = chip_.read_register(block, offset, value, next);
  fronts_.done_.push_back({.kind = Access::Kind::read, .block = block, .offset = offset, .next = next, .value = then});
  return then;
}

chip::Ring& LockStep::Tap::ring(chip::Block block) {
  fronts_.done_.push_back({.kind = Access::Kind::ring, .block = block});
  fronts_.ring_ = &chip_.ring(block);
  return *fronts_.ring_;
}

void LockStep::Tap::note_select() {
  fronts_.done_.push_back({.kind = Access::Kind::select});
  chip_.note_select();
}

void LockStep::Tap::note_data_begins(chip::Block block, std::uint16_t offset, bool is_write) {
  if (must_be_told(block)) {
    fronts_.done_.push_back(
        {.kind = Access::Kind::data_begins, .block = block, .offset = offset, .is_write = is_write});
  }
  chip_.note_data_begins(block, offset, is_write);
}

void LockStep::Tap::note_data_ends(std::size_t bytes) {
  fronts_.done_.push_back({.kind = Access::Kind::data_ends, .count = bytes});
  chip_.note_data_ends(bytes);
}

void LockStep::Tap::note_deselect(std::size_t header_bytes, std::size_t data_bytes) {
  if (is_cut_short(header_bytes)) {
    fronts_.done_.push_back({.kind = Access::Kind::deselect, .count = header_bytes, .data_bytes = data_bytes});
  }
  chip_.note_deselect(header_bytes, data_bytes);
}

void LockStep::Tap::note_ignored() {
  fronts_.done_.push_back({.kind = Access::Kind::ignored});
  chip_.note_ignored();
}

std::uint8_t LockStep::Shadow::fetch_register(chip::Block block, std::uint16_t offset) {
  return fronts_.expect({.kind = Access::Kind::fetch, .block = block, .offset = offset});
}

void LockStep::Shadow::write_register(chip::Block block, std::uint16_t offset, std::uint8_t value) {
  fronts_.expect({.kind = Access::Kind::write, .block = block, .offset = offset, .value = value});
}

std::uint8_t LockStep::Shadow::read_register(chip::Block block, std::uint16_t offset, std::uint8_t /*value*/,
                                             std::uint16_t next) {
  return fronts_.expect({.kind = Access::Kind::read, .block = block, .offset = offset, .next = next});
}

// Both have the same ring, into which RTL writes once more what is there. Where it would not, it has none.
chip::Ring& LockStep::Shadow::ring(chip::Block block) {
  fronts_.expect({.kind = Access::Kind::ring, .block = block});
  return fronts_.difference_.empty() ? *fronts_.ring_ : fronts_.no_ring_;
}

void LockStep::Shadow::note_select() { fronts_.expect({.kind = Access::Kind::select}); }

void LockStep::Shadow::note_data_begins(chip::Block block, std::uint16_t offset, bool is_write) {
  if (!must_be_told(block)) return;
  fronts_.expect({.kind = Access::Kind::data_begins, .block = block, .offset = offset, .is_write = is_write});
}

void LockStep::Shadow::note_data_ends(std::size_t bytes) {
  fronts_.expect({.kind = Access::Kind::data_ends, .count = bytes});
}

void LockStep::Shadow::note_deselect(std::size_t header_bytes, std::size_t data_bytes) {
  if (!is_cut_short(header_bytes)) return;
  fronts_.expect({.kind = Access::Kind::deselect, .count = header_bytes, .data_bytes = data_bytes});
}

void LockStep::Shadow::note_ignored() { fronts_.expect({.kind = Access::Kind::ignored}); }

std::uint8_t LockStep::expect(const Access& access) {
  if (!difference_.empty()) return seen_ < done_.size() ? done_[seen_++].value : std::uint8_t{0};
  if (seen_ == done_.size()) {
    differ(fmt::format("RTL does {}, and C++ nothing", access.text()));
    return 0;
  }
  const Access& done = done_[seen_++];
  if (!(done == access)) differ(fmt::format("C++ does {}, and RTL {}", done.text(), access.text()));
  return done.value;
}

// Calls --------------------------------------------------------------------------------------------------------------

void LockStep::begin_call() {
  if (queue_.now() - after >= differs_since_) [[unlikely]] {
    throw chip::FrontsDiffer{};
  }
  done_.clear();
  seen_ = 0;
}

void LockStep::end_call() {
  if (seen_ < done_.size() && difference_.empty()) {
    differ(fmt::format("C++ does {}, and RTL nothing", done_[seen_].text()));
  }
}

void LockStep::select() {
  begin_call();
  selected_ = true;
  frame_bytes_ = 0;
  bits_in_ = 0;
  reference_.select();
  rtl_.select();
  end_call();
  compare_drive();
}

void LockStep::deselect() {
  begin_call();
  reference_.deselect();
  rtl_.deselect();
  selected_ = false;
  bits_in_ = 0;
  end_call();
  compare_drive();
}

void LockStep::let_select_go() {
  done_.clear();  // not a call of firmware's: nothing to throw at
  seen_ = 0;
  reference_.let_select_go();
  rtl_.let_select_go();
  selected_ = false;
  bits_in_ = 0;
  end_call();
  compare_drive();
}

void LockStep::set_held_in_reset(bool held) {
  done_.clear();
  seen_ = 0;
  held_in_reset_ = held;
  bits_in_ = 0;
  reference_.set_held_in_reset(held);
  rtl_.set_held_in_reset(held);
  end_call();
}

std::uint8_t LockStep::exchange(std::uint8_t mosi) { return clock_byte(*this, mosi); }

void LockStep::exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t in = exchange(mosi != nullptr ? mosi[i] : std::uint8_t{0});
    if (miso != nullptr) miso[i] = in;
  }
}

// The C++ front takes whole bytes, so it is given each when its last bit is in.
bool LockStep::reference_miso() const { return (reference_.next_miso() >> (7 - bits_in_) & 1) != 0; }

void LockStep::clock_reference(bool mosi) {
  if (!selected_) return;
  shift_ = static_cast<std::uint8_t>(shift_ << 1 | (mosi ? 1 : 0));
  if (++bits_in_ < 8) return;
  bits_in_ = 0;
  note_byte(shift_);
  taken_address_.reset();
  if (reference_.phase() == chip::FramePhase::data) taken_address_ = reference_.address();
  reference_.exchange(shift_);
}

void LockStep::note_byte(std::uint8_t mosi) {
  if (frame_bytes_ < frame_.size()) frame_[frame_bytes_] = mosi;
  ++frame_bytes_;
  if (held_in_reset_) return;
  ++strobes_.bytes;
  if (reference_.phase() == chip::FramePhase::control) ++strobes_.headers;
  if (reference_.phase() == chip::FramePhase::data) {
    const chip::Block block = reference_.block();
    ++(block.is_tx_buffer() || block.is_rx_buffer() ? strobes_.buffers : strobes_.registers);
  }
}

bool LockStep::clock_bit(int bit, bool mosi) {
  begin_call();
  const bool miso = selected_ && reference_miso();
  clock_reference(mosi);
  in_step_ = bits_in_ == 0 && bit == 0;
  const bool rtl_miso = rtl_.clock_bit(bit, mosi);
  if (difference_.empty() && miso != rtl_miso) {
    differ(fmt::format("bit {} of MISO is {} in C++ and {} in RTL", bit, miso ? 1 : 0, rtl_miso ? 1 : 0));
  }
  if (bits_in_ == 0) compare_byte();
  return miso;
}

void LockStep::repeat_edge() {
  begin_call();
  clock_reference(rtl_.mosi());
  in_step_ = false;
  rtl_.repeat_edge();
  if (bits_in_ == 0) compare_byte();
}

bool LockStep::miss_bit(int bit) {
  const bool miso = selected_ && reference_miso();
  const bool rtl_miso = rtl_.miss_bit(bit);
  if (difference_.empty() && miso != rtl_miso) {
    differ(fmt::format("bit {} of MISO is {} in C++ and {} in RTL", bit, miso ? 1 : 0, rtl_miso ? 1 : 0));
  }
  return miso;
}

void LockStep::compare_byte() {
  end_call();
  if (!difference_.empty() || !selected_) return;
  ++bytes_compared_;
  if (rtl_.strobes() != strobes_) {
    const VerilatedFront::Strobes& of = rtl_.strobes();
    return differ(fmt::format(
        "RTL has strobed {} bytes, {} headers, {} register bytes and {} buffer bytes, due are {}, {}, {} and {}",
        of.bytes, of.headers, of.registers, of.buffers, strobes_.bytes, strobes_.headers, strobes_.registers,
        strobes_.buffers));
  }
  if (held_in_reset_) return;
  if (taken_address_ && rtl_.taken_address() != *taken_address_) {
    return differ(
        fmt::format("this byte is at 0x{:04X} in C++ and at 0x{:04X} in RTL", *taken_address_, rtl_.taken_address()));
  }
  if (rtl_.phase() != reference_.phase()) {
    return differ(fmt::format("C++ expects {} next, and RTL {}", name_of(reference_.phase()), name_of(rtl_.phase())));
  }
  // Out of step with its host the C++ front gets a byte, as ever, when one of the host's is over.
  const Duration apart = queue_.now() - rtl_.taken_at();
  const Duration most = rtl_.sclk_periods(in_step_ ? 1 : 8);
  if (std::chrono::abs(apart) > most) {
    return differ(
        fmt::format("RTL takes the byte {} ps before C++, at most {} ps are due", apart.count(), most.count()));
  }
  if (reference_.phase() != chip::FramePhase::data) return;
  if (rtl_.block().bsb != reference_.block().bsb || rtl_.is_write() != reference_.is_write()) {
    return differ(fmt::format("C++ {} {}, and RTL {} {}", reference_.is_write() ? "writes" : "reads",
                              name_of(reference_.block()), rtl_.is_write() ? "writes" : "reads",
                              name_of(rtl_.block())));
  }
  if (rtl_.address() != reference_.address()) {
    return differ(fmt::format("the next byte of {} is at 0x{:04X} in C++ and at 0x{:04X} in RTL",
                              name_of(reference_.block()), reference_.address(), rtl_.address()));
  }
}

void LockStep::compare_drive() {
  if (!difference_.empty() || rtl_.drives_miso() == selected_) return;
  differ(fmt::format("RTL {} MISO while SCSn is {}", rtl_.drives_miso() ? "drives" : "does not drive",
                     selected_ ? "low" : "high"));
}

void LockStep::differ(std::string what) {
  const Instant now = queue_.now();
  differs_since_ = now;
  const auto since_start = now.time_since_epoch().count();
  const std::size_t shown = std::min(frame_bytes_, frame_.size());
  const std::string where =
      frame_bytes_ == 0
          ? "before the first byte of a frame"
          : fmt::format("byte {} of the frame {:02x}{}", frame_bytes_,
                        fmt::join(frame_.begin(), frame_.begin() + static_cast<std::ptrdiff_t>(shown), " "),
                        frame_bytes_ > shown ? " .." : "");
  difference_ = fmt::format("at {}.{:012} s, {}: {}", since_start / 1'000'000'000'000, since_start % 1'000'000'000'000,
                            where, what);
}

std::optional<Error> LockStep::close() {
  if (difference_.empty() || options_.waveform.empty() || std::exchange(closed_, true)) return std::nullopt;
  return rtl_.write_waveform(options_.waveform, differs_since_ - before);
}

}  // namespace wizloop::rtl
