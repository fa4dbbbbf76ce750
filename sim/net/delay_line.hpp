// Frames under way: each is held until its own instant and then comes out. What is still held vanishes with the line.
//
//   DelayLine arrivals{queue, [this](wire::FramePtr frame) { on_frame(std::move(frame)); }};
//   arrivals.hold(std::move(frame), queue.now() + 50us);
#pragma once

#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include "sim/core/event_queue.hpp"
#include "sim/wire/frame.hpp"

namespace wizloop::net {

class DelayLine {
 public:
  using Outlet = std::function<void(wire::FramePtr)>;

  DelayLine(EventQueue& queue, Outlet outlet) : queue_{queue}, outlet_{std::move(outlet)} {}
  DelayLine(const DelayLine&) = delete;
  DelayLine& operator=(const DelayLine&) = delete;
  ~DelayLine() {
    for (const Slot& slot : slots_) queue_.cancel(slot.event);
  }

  // Drops what is held; returns how many frames that were.
  std::size_t clear() {
    std::size_t dropped = 0;
    for (std::size_t index = 0; index < slots_.size(); ++index) {
      if (!queue_.cancel(slots_[index].event)) continue;
      slots_[index].frame.reset();
      free_.push_back(index);
      ++dropped;
    }
    return dropped;
  }

  void hold(wire::FramePtr frame, Instant until) {
    if (free_.empty()) {
      free_.push_back(slots_.size());
      slots_.emplace_back();
      free_.reserve(slots_.capacity());
    }
    const std::size_t index = free_.back();
    free_.pop_back();
    slots_[index].frame = std::move(frame);
    slots_[index].event = queue_.schedule_at(until, [this, index] {
      wire::FramePtr due = std::move(slots_[index].frame);
      free_.push_back(index);
      outlet_(std::move(due));
    });
  }

 private:
  struct Slot {
    wire::FramePtr frame;
    EventQueue::EventId event;
  };

  EventQueue& queue_;
  Outlet outlet_;
  std::vector<Slot> slots_;  // as many as were ever under way at once
  std::vector<std::size_t> free_;
};

}  // namespace wizloop::net
