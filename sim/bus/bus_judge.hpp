// What an analyser at the host's end of the wires can tell: clocks and select times against the datasheet's limits, and
// values on MISO that no W5500 gives. What firmware does to the chip is judged by sim/chip/judge.hpp. It never changes
// what happens on the bus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/bus/profile.hpp"
#include "sim/bus/seen_frame.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/core/finding.hpp"
#include "sim/core/limits.hpp"

namespace wizloop::bus {

// The chip knows modes 0 and 3 (datasheet 2.1).
constexpr bool mode_works(int spi_mode) { return spi_mode == 0 || spi_mode == 3; }

class BusJudge {
 public:
  BusJudge(EventQueue& queue, Findings& findings, const BoardProfile& profile);

  // What firmware runs the bus at from now on.
  void set_clock(Frequency sclk, int spi_mode);

  // SCSn of the W5500 falls, its cost paid.
  void on_select() {
    if (queue_.now() < may_select_at_ || setup_ < limits::select_setup || other_selected_) on_bad_select();
    selected_ = addressed_ = true;
  }
  // It rises, its cost not yet paid, so long after the last bit.
  void on_deselect(Duration after_last_bit, const SeenFrame& frame) {
    if (!selected_) return;
    selected_ = false;
    addressed_ = other_selected_;
    may_select_at_ = queue_.now() + limits::select_high;
    if (frame.bytes == 0) return;
    if (after_last_bit + hold_ < limits::select_hold) on_bad_deselect(after_last_bit + hold_);
    if (frame.bytes > SeenFrame::header_bytes) judge_values(frame);
  }
  // A frame of fixed length is over, and SCSn still low.
  void on_fixed_length_end(const SeenFrame& frame) {
    if (selected_) judge_values(frame);
  }
  // Another device's select on the same bus.
  void on_other_select(bool low) {
    other_selected_ = low;
    addressed_ = selected_ || low;
    if (low && selected_) add(Rule::two_selects_low, "another device was selected while SCSn of the W5500 was low");
  }
  // Bytes are about to be clocked.
  void on_clocks() {
    if (!addressed_) add(Rule::clocks_without_select, "SCLK runs while SCSn is high");
  }

 private:
  void add(Rule rule, std::string_view seen, const SeenFrame* frame = nullptr);
  void on_bad_select();
  void on_bad_deselect(Duration hold);
  void judge_values(const SeenFrame& frame);
  void judge_value(const SeenFrame& frame, std::size_t i);
  void add_odd_socket_value(const SeenFrame& frame, int socket, std::uint8_t value, bool is_state);
  void judge_version(const SeenFrame& frame, std::uint8_t value);
  void add_bits(const SeenFrame& frame, std::string_view name, std::uint8_t value, std::uint8_t never_set);

  EventQueue& queue_;
  Findings& findings_;
  // A board file prices select and deselect whole and does not say where in them the edge lies: it is given the benefit
  // of the doubt. So much do they add to what the bus sees between SCSn and SCLK.
  Duration select_cost_;
  Duration deselect_cost_;
  Duration setup_;
  Duration hold_;
  bool selected_ = false;
  bool other_selected_ = false;
  bool addressed_ = false;  // either of them
  Instant may_select_at_ = Instant::min();
};

}  // namespace wizloop::bus
