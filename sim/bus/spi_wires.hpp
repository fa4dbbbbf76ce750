// The SPI wires as single levels in time, for a host that moves them by itself, such as an SPI master in RTL. Makes
// bytes of the edges for a SpiTarget, in modes 0 and 3 alike: the rising edge of SCLK takes MOSI, the falling one moves
// MISO. Judges what it sees against the datasheet's limits (5.5.4), and the values on MISO as BusJudge does.
//
//   SpiWires wires{queue, chip, chip.spi(), findings};
//   queue.advance_to(...);
//   wires.drive(/*scsn=*/false, /*sclk=*/false, /*mosi=*/true);
//   const bool bit = wires.miso();
#pragma once

#include <cstdint>
#include <string>

#include "sim/bus/bus_judge.hpp"
#include "sim/bus/pin_wave.hpp"
#include "sim/bus/profile.hpp"
#include "sim/bus/seen_frame.hpp"
#include "sim/chip/chip.hpp"
#include "sim/chip/spi_target.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/core/finding.hpp"
#include "sim/core/limits.hpp"

namespace wizloop::bus {

class SpiWires final : private chip::PinWitness {
 public:
  // `target` is the chip's, or stands in front of it.
  SpiWires(EventQueue& queue, chip::Chip& chip, chip::SpiTarget& target, Findings& findings);

  // Once: from now on all pins are drawn. The waveform outlives the wires' use.
  void draw(PinWave& wave);

  // The levels from now on.
  void drive(bool scsn, bool sclk, bool mosi);
  // High while nobody drives it: a pull-up.
  bool miso() const { return miso_; }

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t frames() const { return frames_; }

 private:
  void on_reset_pin(bool high) override;
  void on_supply(bool) override {}
  void on_cable(bool) override {}
  void on_select_let_go() override {}
  void on_intn(bool high) override;

  void fall_select();
  void rise_select();
  void rise_clock();
  void fall_clock();
  void note_first_edge();
  void judge_setup();
  void judge_hold();
  void take_byte();
  void show_miso(bool level);
  void add(Rule rule, const std::string& seen) { findings_.add(queue_.now(), rule, seen); }

  EventQueue& queue_;
  chip::Chip& chip_;
  chip::SpiTarget& target_;
  Findings& findings_;
  BoardProfile profile_{};  // that of nobody: what a judge of costs asks for
  BusJudge judge_;
  PinWave* wave_ = nullptr;

  bool scsn_ = true;
  bool sclk_ = false;
  bool mosi_ = false;
  bool miso_ = true;
  std::uint8_t shift_ = 0;
  int bits_in_ = 0;
  SeenFrame frame_;
  bool clocked_ = false;  // since SCSn has fallen
  Instant select_moved_at_ = Instant::min();
  Instant clock_moved_at_ = Instant::min();
  Instant clock_rose_at_ = Instant::min();  // in this frame, as is the next
  Instant clock_fell_at_ = Instant::min();
  Instant mosi_moved_at_ = Instant::min();
  // The worst so far: a finding for each bit would tell no more.
  Duration shortest_period_ = Duration::max();
  Duration shortest_high_ = limits::sclk_high;
  Duration shortest_low_ = limits::sclk_low;
  Duration shortest_setup_ = limits::mosi_setup;
  Duration shortest_hold_ = limits::mosi_hold;
  std::uint64_t bytes_ = 0;
  std::uint64_t frames_ = 0;
};

}  // namespace wizloop::bus
