#include "sim/core/event_queue.hpp"

#include <algorithm>
#include <utility>

namespace wizloop {
namespace {
constexpr std::size_t arity = 4;
constexpr std::size_t typical_pending = 64;  // no growth on the steady path of one board and one host
}  // namespace

EventQueue::EventQueue() {
  heap_.reserve(typical_pending);
  slots_.reserve(typical_pending);
}

EventQueue::EventId EventQueue::schedule_at(Instant at, Callback callback) {
  return schedule_in_order(at, next_sequence_++, std::move(callback));
}

EventQueue::EventId EventQueue::schedule_in_order(Instant at, std::uint64_t sequence, Callback&& callback) {
  WIZ_ASSERT(at >= now_);
  if (first_free_ == UINT32_MAX) {
    first_free_ = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  }
  const std::uint32_t index = first_free_;
  Slot& slot = slots_[index];
  first_free_ = slot.next_free;
  slot.callback = std::move(callback);
  heap_.push_back({at, sequence, index, slot.generation});
  sift_up(heap_.size() - 1);
  if (at < quiet_until_) quiet_until_ = at;
  return {index, slot.generation};
}

bool EventQueue::cancel(EventId id) {
  if (!waits(id)) return false;
  Slot& slot = slots_[id.slot];
  slot.callback.reset();
  ++slot.generation;
  slot.next_free = std::exchange(first_free_, id.slot);
  drop_cancelled_front();
  return true;
}

bool EventQueue::run_next() {
  if (heap_.empty()) return false;
  horizon_ = heap_.front().at;
  run_front();
  set_horizon(Instant::max());
  return true;
}

void EventQueue::run_due(Instant to) {
  if (running_fiber_ != nullptr) return running_fiber_->wait_until(to);
  horizon_ = to;  // which the first event makes known
  while (!heap_.empty() && heap_.front().at <= to) run_front();
  now_ = to;
  set_horizon(Instant::max());
}

void EventQueue::wait_for_events(Instant deadline) {
  if (running_fiber_ != nullptr) return running_fiber_->wait_for_events(deadline);
  advance_to(std::min(deadline, next_deadline()));
}

void EventQueue::run_front() {
  WIZ_ASSERT(!running_);  // an event must not move time itself
  const Entry entry = heap_.front();
  Slot& slot = slots_[entry.slot];
  Callback callback = std::move(slot.callback);
  ++slot.generation;
  slot.next_free = std::exchange(first_free_, entry.slot);
  pop_front();
  drop_cancelled_front();
  now_ = entry.at;
  ++events_run_;
  running_ = true;
  callback();
  running_ = false;
  if (!sleepers_.empty() && entry.sequence < last_of_instant) [[unlikely]] {
    const bool more_at_this_instant = next_deadline() == entry.at && heap_.front().sequence < last_of_instant;
    if (!more_at_this_instant) wake_sleepers();
  }
}

// Each looks, at this very instant, whether what it waits for has come, before any of them moves time.
void EventQueue::wake_sleepers() {
  const Instant horizon = horizon_;
  set_horizon(now_);
  std::swap(sleepers_, woken_);
  for (Foreground* sleeper : woken_) sleeper->go_on();
  woken_.clear();
  set_horizon(horizon);
}

void EventQueue::pop_front() {
  heap_.front() = heap_.back();
  heap_.pop_back();
  if (!heap_.empty()) sift_down(0);
}

void EventQueue::drop_cancelled_front() {
  while (!heap_.empty()) {
    const Entry& front = heap_.front();
    if (slots_[front.slot].generation == front.generation) {
      quiet_until_ = std::min(front.at, horizon_);
      return;
    }
    pop_front();
  }
  quiet_until_ = horizon_;
}

void EventQueue::sift_up(std::size_t index) {
  const Entry entry = heap_[index];
  while (index > 0) {
    const std::size_t parent = (index - 1) / arity;
    if (!before(entry, heap_[parent])) break;
    heap_[index] = heap_[parent];
    index = parent;
  }
  heap_[index] = entry;
}

void EventQueue::sift_down(std::size_t index) {
  const Entry entry = heap_[index];
  const std::size_t size = heap_.size();
  for (;;) {
    const std::size_t first_child = index * arity + 1;
    if (first_child >= size) break;
    std::size_t best = first_child;
    for (std::size_t child = first_child + 1; child < std::min(first_child + arity, size); ++child) {
      if (before(heap_[child], heap_[best])) best = child;
    }
    if (!before(heap_[best], entry)) break;
    heap_[index] = heap_[best];
    index = best;
  }
  heap_[index] = entry;
}

}  // namespace wizloop
