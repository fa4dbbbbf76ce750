// Stands in for sim/bus/bus_judge.hpp in a build that judges nothing (WIZLOOP_JUDGES=OFF); see tests/bench/README.md.
#pragma once

#include <array>
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

// The judge that this one stands in for, to leave room for it.
#define BusJudge BusJudgeLeftOut
#include "../../../../../sim/bus/bus_judge.hpp"
#undef BusJudge

namespace wizloop::bus {

class BusJudge {
 public:
  BusJudge(EventQueue&, Findings&, const BoardProfile&, bool) {}

  void set_clock(Frequency, int) {}
  void set_select_cost(Duration, Duration) {}
  void on_select() {}
  void on_deselect(const PollWatch&, Duration) {}
  void on_fixed_length_end(const SeenFrame&) {}
  void on_other_select(bool, bool) {}
  void judge_values(const SeenFrame&) {}
  void on_clocks_outside_frame() {}
  void on_broken_limits(chip::PinLimits) {}

 private:
  alignas(BusJudgeLeftOut) std::array<std::byte, sizeof(BusJudgeLeftOut)> room_;
};

}  // namespace wizloop::bus
