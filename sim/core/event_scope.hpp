// Events of one owner, which go with it: those that still wait are cancelled when it is destroyed. For owners that do
// not need to know them one by one (a Timer is for those that do), and whose queue lives on without them.
//
//   EventScope events{queue};
//   events.schedule(200ms, [this] { retransmit(); });
#pragma once

#include <utility>
#include <vector>

#include "sim/core/event_queue.hpp"

namespace wizloop {

class EventScope {
 public:
  explicit EventScope(EventQueue& queue) : queue_{queue} { ids_.reserve(typical_pending); }
  EventScope(const EventScope&) = delete;
  EventScope& operator=(const EventScope&) = delete;
  ~EventScope() {
    for (const EventQueue::EventId id : ids_) queue_.cancel(id);
  }

  void schedule(Duration delay, EventQueue::Callback callback) {
    schedule_at(queue_.now() + delay, std::move(callback));
  }
  void schedule_at(Instant at, EventQueue::Callback callback) {
    if (ids_.size() == ids_.capacity()) forget_past();
    ids_.push_back(queue_.schedule_at(at, std::move(callback)));
  }

 private:
  static constexpr std::size_t typical_pending = 64;

  // Twice the room is made where more than half of it is needed, so that this comes up seldom.
  void forget_past() {
    std::erase_if(ids_, [this](EventQueue::EventId id) { return !queue_.waits(id); });
    if (ids_.size() > ids_.capacity() / 2) ids_.reserve(2 * ids_.capacity());
  }

  EventQueue& queue_;
  std::vector<EventQueue::EventId> ids_;  // in part of events that have run
};

}  // namespace wizloop
