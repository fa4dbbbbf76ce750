// What an analyser at the host's end of the wires can tell: clocks and select times against the datasheet's limits, and
// values on MISO that no W5500 gives. What firmware does to the chip is judged by sim/chip/judge.hpp. It never changes
// what happens on the bus.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/bus/poll_watch.hpp"
#include "sim/bus/profile.hpp"
#include "sim/bus/seen_frame.hpp"
#include "sim/chip/spi_pins.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/core/finding.hpp"
#include "sim/core/limits.hpp"

namespace wizloop::bus {

class BusJudge {
 public:
  // `sees_chip`: nothing on the wires changes what the chip says, so that of all values only VERSIONR's can be wrong.
  BusJudge(EventQueue& queue, Findings& findings, const BoardProfile& profile, bool sees_chip);

  // What firmware runs the bus at from now on.
  void set_clock(Frequency sclk, int spi_mode);

  // What raising SCSn and lowering it again takes, from now on.
  void set_select_cost(Duration select, Duration deselect);

  // SCSn of the W5500 falls, its cost paid.
  void on_select() {
    if (watches_select_) [[unlikely]]
      on_watched_select();
  }
  // It rises, if it was low, its cost not yet paid, so long after the last bit.
  void on_deselect(const PollWatch& watch, Duration after_last_bit) {
    const std::uint32_t header = watch.frame().header;
    if (((header ^ read_of_version) & passing_bits_) == 0 || header == SeenFrame::version_by_24_bits) [[unlikely]]
      on_watched_deselect(watch, after_last_bit);
  }
  // A frame of fixed length is over, and SCSn still low.
  void on_fixed_length_end(const SeenFrame& frame) { judge_values(frame); }
  // Another device's select on the same bus, and whether the W5500 is selected.
  void on_other_select(bool low, bool selected) {
    other_selected_ = low;
    note_edges();
    if (low && selected) add(Rule::two_selects_low, "another device was selected while SCSn of the W5500 was low");
  }
  // Bytes are about to be clocked while SCSn is high.
  void on_clocks_outside_frame() {
    if (!other_selected_) add(Rule::clocks_without_select, "SCLK runs while SCSn is high");
  }
  // What has been broken at the pins so far, for whoever is there to assert it. No news where this judge has found it.
  void on_broken_limits(chip::PinLimits broken) {
    if (broken != broken_) [[unlikely]]
      add_broken_limits(broken);
  }
  // What came back on MISO in a frame that is over; alone where edges are judged by whoever sees them.
  void judge_values(const SeenFrame& frame);

 private:
  static constexpr std::uint32_t read_of_version = 0x003900, length_bits = 0x000003;  // VDM, or a fixed length

  void add(Rule rule, std::string_view seen, const SeenFrame* frame = nullptr);
  void note_costs();
  void note_edges();
  void add_broken_limits(chip::PinLimits broken);
  void on_watched_select();
  void on_watched_deselect(const PollWatch& watch, Duration after_last_bit);
  void judge_value(const SeenFrame& frame, std::size_t i);
  void add_odd_socket_value(const SeenFrame& frame, int socket, std::uint8_t value, bool is_state);
  void judge_version(const SeenFrame& frame, std::uint8_t value);
  void add_bits(const SeenFrame& frame, std::string_view name, std::uint8_t value, std::uint8_t never_set);

  EventQueue& queue_;
  Findings& findings_;
  int spi_mode_ = 0;
  Duration half_period_{};
  // A board file prices select and deselect whole and does not say where in them the edge lies: it is given the benefit
  // of the doubt. So much do they add to what the bus sees between SCSn and SCLK.
  Duration select_cost_;
  Duration deselect_cost_;
  Duration setup_;
  Duration hold_;
  // But what set-up and hold need of them SCSn is not high for.
  Duration setup_taken_;
  chip::PinLimits broken_;
  // Most boards cannot break the limits of select times, whatever firmware does, nor the values of a chip. On these
  // nothing needs a watch.
  bool sees_chip_;
  bool setup_too_short_ = false;
  bool gap_may_be_too_short_ = false;
  bool other_selected_ = false;
  bool watches_select_ = false;
  // A frame goes by that has one of these bits of its header unlike a read of VERSIONR has; 0: each wants a look.
  std::uint32_t passing_bits_ = 0;
  Duration least_after_last_bit_;           // for a hold that is long enough
  Instant may_select_at_ = Instant::min();  // kept where the gap may be too short
};

}  // namespace wizloop::bus
