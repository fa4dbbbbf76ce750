#include "sim/bus/spi_wires.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/limits.hpp"

namespace wizloop::bus {
namespace {

constexpr int bits_per_byte = 8;

std::int64_t hz_of(Duration period) { return (1'000'000'000'000 + period.count() / 2) / period.count(); }

}  // namespace

SpiWires::SpiWires(EventQueue& queue, chip::Chip& chip, chip::SpiTarget& target, Findings& findings)
    : queue_{queue},
      chip_{chip},
      target_{target},
      findings_{findings},
      judge_{queue, findings, profile_, /*sees_chip=*/false} {}

void SpiWires::draw(PinWave& wave) {
  wave_ = &wave;
  wave.set(queue_.now(), PinWave::INTn, chip_.intn());
  chip_.add_witness(*this);
}

void SpiWires::on_reset_pin(bool high) { wave_->set(queue_.now(), PinWave::RSTn, high); }

void SpiWires::on_intn(bool high) { wave_->set(queue_.now(), PinWave::INTn, high); }

void SpiWires::drive(bool scsn, bool sclk, bool mosi) {
  // Of edges at one instant, SCSn comes first where it opens a frame and last where it ends one; MOSI precedes SCLK.
  if (mosi != mosi_) {
    mosi_ = mosi;
    judge_hold();
    mosi_moved_at_ = queue_.now();
    if (wave_ != nullptr) wave_->set(queue_.now(), PinWave::MOSI, mosi);
  }
  if (!scsn && scsn_) fall_select();
  if (sclk != sclk_) {
    sclk_ = sclk;
    if (wave_ != nullptr) wave_->set(queue_.now(), PinWave::SCLK, sclk);
    note_first_edge();
    if (sclk) {
      rise_clock();
    } else {
      fall_clock();
    }
    clock_moved_at_ = queue_.now();
  }
  if (scsn && !scsn_) rise_select();
}

void SpiWires::fall_select() {
  const Instant now = queue_.now();
  if (frames_ > 0 && now < select_moved_at_ + limits::select_high) {
    add(Rule::select_high_too_short,
        fmt::format("SCSn high for {} ps, at least {} ps", (now - select_moved_at_).count(),
                    Duration{limits::select_high}.count()));
  }
  scsn_ = false;
  select_moved_at_ = now;
  clocked_ = false;
  clock_rose_at_ = Instant::min();
  clock_fell_at_ = Instant::min();
  bits_in_ = 0;
  frame_ = {};
  ++frames_;
  if (wave_ != nullptr) wave_->set(now, PinWave::SCSn, false);
  target_.select();
  show_miso((target_.next_miso() & 0x80) != 0);
}

void SpiWires::rise_select() {
  const Instant now = queue_.now();
  if (clocked_ && now < clock_moved_at_ + limits::select_hold) {
    add(Rule::select_hold_too_short,
        fmt::format("SCSn rose {} ps after the last SCLK edge, at least {} ps", (now - clock_moved_at_).count(),
                    Duration{limits::select_hold}.count()));
  }
  scsn_ = true;
  select_moved_at_ = now;
  target_.deselect();
  judge_.judge_values(frame_);
  miso_ = true;
  if (wave_ != nullptr) {
    wave_->set(now, PinWave::SCSn, true);
    wave_->release_miso(now);
  }
}

void SpiWires::note_first_edge() {
  if (scsn_) {
    if (sclk_ && clocked_) add(Rule::clocks_without_select, "SCLK runs while SCSn is high");
    return;
  }
  if (clocked_) return;
  clocked_ = true;
  const Duration setup = queue_.now() - select_moved_at_;
  if (setup < limits::select_setup) {
    add(Rule::select_setup_too_short, fmt::format("SCLK {} ps after SCSn fell, at least {} ps", setup.count(),
                                                  Duration{limits::select_setup}.count()));
  }
}

void SpiWires::rise_clock() {
  if (scsn_) return;
  const Instant now = queue_.now();
  if (clock_rose_at_ != Instant::min() && now - clock_rose_at_ < shortest_period_) {
    shortest_period_ = std::max(now - clock_rose_at_, picoseconds(1));  // a host may have forgotten to let time pass
    const std::int64_t hz = hz_of(shortest_period_);
    if (hz > limits::theoretical_sclk.hz()) {
      add(Rule::sclk_above_limit, fmt::format("SCLK {} Hz, at most {} Hz", hz, limits::theoretical_sclk.hz()));
    } else if (hz > limits::guaranteed_sclk.hz()) {
      add(Rule::sclk_above_rating, fmt::format("SCLK {} Hz, guaranteed {} Hz", hz, limits::guaranteed_sclk.hz()));
    }
  }
  if (now < clock_fell_at_ + shortest_low_) {
    shortest_low_ = now - clock_fell_at_;
    add(Rule::sclk_pulse_too_short, fmt::format("SCLK low for {} ps, at least {} ps (TWL)", shortest_low_.count(),
                                                Duration{limits::sclk_low}.count()));
  }
  judge_setup();
  clock_rose_at_ = now;
  shift_ = static_cast<std::uint8_t>(shift_ << 1 | (mosi_ ? 1 : 0));
  if (++bits_in_ == bits_per_byte) take_byte();
}

void SpiWires::fall_clock() {
  if (scsn_) return;
  const Instant now = queue_.now();
  if (now < clock_rose_at_ + shortest_high_) {
    shortest_high_ = now - clock_rose_at_;
    add(Rule::sclk_pulse_too_short, fmt::format("SCLK high for {} ps, at least {} ps (TWH)", shortest_high_.count(),
                                                Duration{limits::sclk_high}.count()));
  }
  clock_fell_at_ = now;
  show_miso((target_.next_miso() >> (bits_per_byte - 1 - bits_in_) & 1) != 0);
}

void SpiWires::judge_setup() {
  const Instant now = queue_.now();
  if (now >= mosi_moved_at_ + shortest_setup_) return;
  shortest_setup_ = now - mosi_moved_at_;
  // Only a clock that has stood still before tells a mode: a host may have forgotten to let time pass.
  const bool with_the_edge = shortest_setup_ == Duration{} && clock_moved_at_ < now && select_moved_at_ < now;
  const std::string seen = fmt::format("MOSI moved {} ps before SCLK rose, at least {} ps (TDS)",
                                       shortest_setup_.count(), Duration{limits::mosi_setup}.count());
  if (with_the_edge) {
    add(Rule::spi_mode_unsupported, seen + ": a master of mode 1 or 2, expected 0 or 3");
  } else {
    add(Rule::mosi_unsteady, seen);
  }
}

void SpiWires::judge_hold() {
  const Instant now = queue_.now();
  if (scsn_ || now >= clock_rose_at_ + shortest_hold_) return;
  shortest_hold_ = now - clock_rose_at_;
  add(Rule::mosi_unsteady, fmt::format("MOSI moved {} ps after SCLK rose, at least {} ps (TDH)", shortest_hold_.count(),
                                       Duration{limits::mosi_hold}.count()));
}

void SpiWires::take_byte() {
  bits_in_ = 0;
  ++bytes_;
  const std::uint8_t miso = target_.exchange(shift_);
  if (wave_ != nullptr) wave_->on_byte(queue_.now(), shift_, miso);
  if (frame_.bytes < SeenFrame::kept_bytes) {
    frame_.mosi[frame_.bytes] = shift_;
    frame_.miso[frame_.bytes] = miso;
  }
  if (++frame_.bytes != SeenFrame::header_bytes) return;
  constexpr std::uint8_t rwb = 0x04;
  frame_.header = static_cast<std::uint32_t>(frame_.mosi[0] << 16 | frame_.mosi[1] << 8 | shift_);
  const std::uint8_t bsb = frame_.bsb();
  frame_.reads_registers = (shift_ & rwb) == 0 && (bsb == 0 || (bsb & 3) == 1);
}

void SpiWires::show_miso(bool level) {
  miso_ = level;
  if (wave_ != nullptr) wave_->set(queue_.now(), PinWave::MISO, level);
}

}  // namespace wizloop::bus
