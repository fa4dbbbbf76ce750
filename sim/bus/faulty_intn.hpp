// INTn between chip and board when something is wrong with the wire: edges lost or late, spikes, a level that sticks.
// Exists only in a run that plans such a fault.
#pragma once

#include "sim/chip/chip.hpp"
#include "sim/core/fault.hpp"
#include "sim/core/timer.hpp"

namespace wizloop::bus {

class FaultyIntn final : private chip::InterruptPin::Listener {
 public:
  // Connects itself to the chip's pin.
  FaultyIntn(EventQueue& queue, chip::Chip& chip, Faults& faults);

  static bool wanted(const Faults& faults) { return faults.planned("intn"); }

  // As the board sees the line.
  bool low();
  // Told of edges as the board sees them.
  void connect(chip::InterruptPin::Listener& listener) { listener_ = &listener; }
  // The board begins to wait: whether a spike wakes it at once.
  bool spikes() { return glitch_ != nullptr && glitch_->strikes(); }

 private:
  void on_intn(bool high) override;
  void move(bool low);

  FaultPoint* lost_;
  FaultPoint* late_;
  FaultPoint* glitch_;
  FaultPoint* stuck_;
  Timer late_edge_;
  bool low_ = false;
  chip::InterruptPin::Listener* listener_ = nullptr;
};

}  // namespace wizloop::bus
