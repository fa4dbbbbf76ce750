// What an analyser at the host's end of the wires can tell: clocks and select times against the datasheet's limits, and
// values on MISO that no W5500 gives. What firmware does to the chip is judged by sim/chip/judge.hpp. It never changes
// what happens on the bus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/bus/judged_registers.hpp"
#include "sim/bus/profile.hpp"
#include "sim/bus/seen_frame.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/core/finding.hpp"
#include "sim/core/limits.hpp"

namespace wizloop::bus {

class BusJudge {
 public:
  BusJudge(EventQueue& queue, Findings& findings, const BoardProfile& profile);

  // What firmware runs the bus at from now on.
  void set_clock(Frequency sclk, int spi_mode);

  // SCSn of the W5500 falls, its cost paid.
  void on_select() {
    if (queue_.now() < may_select_at_ || setup_too_short_ || other_selected_) [[unlikely]]
      on_bad_select();
    selected_ = true;
  }
  // It rises, its cost not yet paid, so long after the last bit.
  void on_deselect(Duration after_last_bit, const SeenFrame& frame) {
    if (!selected_) return;
    selected_ = false;
    may_select_at_ = queue_.now() + limits::select_high;
    if (after_last_bit < least_after_last_bit_ && frame.bytes != 0) [[unlikely]]
      on_bad_deselect(after_last_bit + hold_);
    judge_values(frame);
  }
  // A frame of fixed length is over, and SCSn still low.
  void on_fixed_length_end(const SeenFrame& frame) {
    if (selected_) judge_values(frame);
  }
  // Another device's select on the same bus.
  void on_other_select(bool low) {
    other_selected_ = low;
    if (low && selected_) add(Rule::two_selects_low, "another device was selected while SCSn of the W5500 was low");
  }
  // Bytes are about to be clocked while SCSn is high.
  void on_clocks_outside_frame() {
    if (!other_selected_) add(Rule::clocks_without_select, "SCLK runs while SCSn is high");
  }

 private:
  void add(Rule rule, std::string_view seen, const SeenFrame* frame = nullptr);
  void on_bad_select();
  void on_bad_deselect(Duration hold);
  void judge_values(const SeenFrame& frame) {
    if (frame.bytes == SeenFrame::header_bytes + 1) {  // most of them: polls
      if (frame.reads_registers ? judged::wants_a_look(frame, 0) : frame.reads_24_bit_address()) [[unlikely]]
        judge_value(frame, 0);
    } else if (frame.reads_registers && frame.bytes > SeenFrame::header_bytes) {
      judge_wide_values(frame);
    }
  }
  void judge_wide_values(const SeenFrame& frame);
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
  bool setup_too_short_ = false;
  Duration least_after_last_bit_;  // for a hold that is long enough
  bool selected_ = false;
  bool other_selected_ = false;
  Instant may_select_at_ = Instant::min();
};

}  // namespace wizloop::bus
