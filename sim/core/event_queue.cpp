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
  WIZ_ASSERT(at >= now_);
  if (first_free_ == UINT32_MAX) {
    first_free_ = static_cast<std::uint32_t>(slots_.size());
    slots_.emplace_back();
  }
  const std::uint32_t index = first_free_;
  Slot& slot = slots_[index];
  first_free_ = slot.next_free;
  slot.callback = std::move(callback);
  heap_.push_back({at, next_sequence_++, index, slot.generation});
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
  const Instant next = next_deadline();
  if (next == Instant::max()) return false;
  horizon_ = next;
  if (wake_is_next()) {
    run_wake();
  } else {
    run_front();
  }
  lift_horizon();
  return true;
}

void EventQueue::run_due(Instant to) {
  if (running_fiber_ != nullptr) return running_fiber_->wait_until(to);
  horizon_ = to;
  for (;;) {
    if (wake_is_next()) [[unlikely]] {
      if (wakes_.back().at > to) break;
      run_wake();
    } else {
      if (heap_.empty() || heap_.front().at > to) break;
      run_front();
    }
  }
  now_ = to;
  lift_horizon();
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
  if (!sleepers_.empty() && next_event() != entry.at) [[unlikely]]
    wake_sleepers();
}

void EventQueue::run_wake() {
  const Wake wake = wakes_.back();
  wakes_.pop_back();
  forget_sleeper(*wake.fiber);
  now_ = wake.at;
  wake.fiber->go_on();
}

void EventQueue::set_wake(Foreground& fiber, Instant at) {
  const auto known = std::ranges::find(wakes_, &fiber, &Wake::fiber);
  if (known != wakes_.end()) {
    if (known->at == at) return;
    wakes_.erase(known);
  }
  if (at != Instant::max()) {
    const auto behind = std::ranges::find_if(wakes_, [at](const Wake& wake) { return wake.at <= at; });
    wakes_.insert(behind, {at, &fiber});
  }
  note_limit();
}

// Each looks, at this very instant, whether what it waits for has come, before any of them moves time. What fell asleep
// ahead of the others is not there yet.
void EventQueue::wake_sleepers() {
  const Instant horizon = horizon_;
  const Instant at = now_;
  horizon_ = at;
  std::swap(sleepers_, woken_);
  for (const Sleeper& sleeper : woken_) {
    if (sleeper.since > at) {
      sleepers_.push_back(sleeper);
    } else {
      sleeper.fiber->go_on();
    }
  }
  woken_.clear();
  horizon_ = horizon;
}

void EventQueue::forget_sleeper(const Foreground& fiber) {
  std::erase_if(sleepers_, [&](const Sleeper& sleeper) { return sleeper.fiber == &fiber; });
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
      quiet_until_ = std::min(front.at, limit_);
      return;
    }
    pop_front();
  }
  quiet_until_ = limit_;
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
