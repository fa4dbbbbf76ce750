// What a run's plan makes a cable do to the frames on it: loss, duplicates, corruption, lateness; and when it is
// pulled. Only decides; Link does it. A link without faults has none of this.
#pragma once

#include <functional>
#include <optional>

#include "sim/core/fault.hpp"
#include "sim/core/timer.hpp"
#include "sim/wire/frame.hpp"

namespace wizloop::net {

enum class End : std::uint8_t { board, host };

constexpr End other(End end) { return end == End::board ? End::host : End::board; }

class LinkFaults {
 public:
  // `set_up` pulls the cable and plugs it in, at the times that are planned.
  LinkFaults(EventQueue& queue, Faults& faults, wire::FramePool& frames, std::function<void(bool up)> set_up);
  LinkFaults(const LinkFaults&) = delete;
  LinkFaults& operator=(const LinkFaults&) = delete;

  static bool wanted(const Faults& faults) { return faults.planned("link"); }

  // The fate of one frame, asked in this order.
  bool loses(End from) { return strikes(loss_, from); }
  void corrupt(End from, wire::Frame& frame);
  Duration lateness(End from);
  std::optional<Duration> holds_back(End from);
  // Null, or a copy.
  wire::FramePtr duplicate(End from, const wire::Frame& frame);

 private:
  static bool strikes(FaultPoint* point, End from);
  void pull(FaultPoint& flap);

  EventQueue& queue_;
  wire::FramePool& frames_;
  std::function<void(bool)> set_up_;
  FaultPoint* loss_;
  FaultPoint* duplicate_;
  FaultPoint* reorder_;
  FaultPoint* corrupt_;
  FaultPoint* corrupt_silent_;
  FaultPoint* delay_;
  FaultPoint* jitter_;
  Timer unplug_timer_;
  Timer flap_timer_;
};

}  // namespace wizloop::net
