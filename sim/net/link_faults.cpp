#include "sim/net/link_faults.hpp"

#include <algorithm>

namespace wizloop::net {
namespace {

constexpr Duration shortest_flap = 1us;  // so that a flap of no length cannot stop the clock

}  // namespace

LinkFaults::LinkFaults(EventQueue& queue, Faults& faults, wire::FramePool& frames, std::function<void(bool up)> set_up)
    : queue_{queue},
      frames_{frames},
      set_up_{std::move(set_up)},
      loss_{faults.point(Fault::link_loss)},
      duplicate_{faults.point(Fault::link_duplicate)},
      reorder_{faults.point(Fault::link_reorder)},
      corrupt_{faults.point(Fault::link_corrupt)},
      corrupt_silent_{faults.point(Fault::link_corrupt_silent)},
      delay_{faults.point(Fault::link_delay)},
      jitter_{faults.point(Fault::link_jitter)},
      unplug_timer_{queue},
      flap_timer_{queue} {
  if (FaultPoint* unplug = faults.point(Fault::link_unplug)) {
    unplug_timer_.start_at(std::max(unplug->from(), queue.now()), [this, unplug] {
      unplug->strike();
      set_up_(false);
      if (unplug->until() == Instant::max()) return;
      unplug_timer_.start_at(std::max(unplug->until(), queue_.now()), [this] { set_up_(true); });
    });
  }
  if (FaultPoint* flap = faults.point(Fault::link_flap)) {
    flap_timer_.start_at(std::max(flap->from(), queue.now()), [this, flap] { pull(*flap); });
  }
}

void LinkFaults::pull(FaultPoint& flap) {
  if (queue_.now() >= flap.until()) return;
  flap.strike();
  set_up_(false);
  flap_timer_.start(std::max(flap.time("down"), shortest_flap), [this, &flap] {
    set_up_(true);
    flap_timer_.start(std::max(flap.time("up"), shortest_flap), [this, &flap] { pull(flap); });
  });
}

bool LinkFaults::strikes(FaultPoint* point, End from) {
  if (point == nullptr) return false;
  if (point->is("sender", from == End::board ? "peer" : "board")) return false;
  return point->strikes();
}

void LinkFaults::corrupt(End from, wire::Frame& frame) {
  if (strikes(corrupt_, from)) {
    frame.bytes[corrupt_->draw(frame.size)] ^= static_cast<std::uint8_t>(1 + corrupt_->draw(255));
    frame.fcs_good = false;
  }
  if (strikes(corrupt_silent_, from)) {
    const std::size_t at = corrupt_silent_->number("byte") % frame.size;
    frame.bytes[at] ^= static_cast<std::uint8_t>(1 + corrupt_silent_->draw(255));
  }
}

Duration LinkFaults::lateness(End from) {
  Duration late{};
  if (strikes(delay_, from)) late += delay_->time("delay");
  if (strikes(jitter_, from)) {
    const auto most = static_cast<std::uint64_t>(jitter_->time("most").count());
    late += picoseconds(static_cast<std::int64_t>(jitter_->draw(most + 1)));
  }
  return late;
}

std::optional<Duration> LinkFaults::holds_back(End from) {
  if (!strikes(reorder_, from)) return std::nullopt;
  return reorder_->time("wait");
}

wire::FramePtr LinkFaults::duplicate(End from, const wire::Frame& frame) {
  if (!strikes(duplicate_, from)) return nullptr;
  wire::FramePtr copy = frames_.copy(frame.data());
  copy->fcs_good = frame.fcs_good;
  return copy;
}

}  // namespace wizloop::net
