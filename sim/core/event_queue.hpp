// The one owner of "now" in a simulation.
//
// Firmware is the foreground: it moves time with advance_to(), which first runs every event that has become due. Events
// due at one instant run in the order in which they were scheduled. Idle time costs nothing.
//
//   EventQueue queue;
//   queue.schedule(200ms, [&] { retransmit(); });
//   queue.advance_to(queue.now() + 1s);
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/inplace_function.hpp"
#include "sim/core/time.hpp"

namespace wizloop {

class EventQueue {
 public:
  using Callback = InplaceFunction<64>;

  // Names one scheduled event; stays harmless after the event has run or was cancelled.
  struct EventId {
    std::uint32_t slot = UINT32_MAX;
    std::uint32_t generation = 0;
  };

  EventQueue();
  EventQueue(const EventQueue&) = delete;
  EventQueue& operator=(const EventQueue&) = delete;

  Instant now() const { return now_; }

  // Instant::max() when nothing is scheduled.
  Instant next_deadline() const { return next_deadline_; }

  // Schedules for an instant that must not lie in the past.
  EventId schedule_at(Instant at, Callback callback);
  EventId schedule(Duration delay, Callback callback) { return schedule_at(now_ + delay, std::move(callback)); }

  // True if the event was still waiting.
  bool cancel(EventId id);

  // Runs all events due up to and including `to`, each at its own instant, and leaves now() at `to`.
  void advance_to(Instant to) {
    if (next_deadline() > to) [[likely]] {
      now_ = to;
    } else {
      run_due(to);
    }
  }

  // Runs the next event, however far away; false if there is none.
  bool run_next();

  std::uint64_t events_run() const { return events_run_; }

 private:
  struct Entry {
    Instant at;
    std::uint64_t sequence;
    std::uint32_t slot;
    std::uint32_t generation;
  };
  struct Slot {
    Callback callback;
    std::uint32_t generation = 0;
    std::uint32_t next_free = UINT32_MAX;
  };

  void run_due(Instant to);
  void run_front();
  void pop_front();
  void drop_cancelled_front();
  void note_front() { next_deadline_ = heap_.empty() ? Instant::max() : heap_.front().at; }
  static bool before(const Entry& a, const Entry& b) { return a.at != b.at ? a.at < b.at : a.sequence < b.sequence; }
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  Instant now_{};
  Instant next_deadline_ = Instant::max();
  std::uint64_t next_sequence_ = 0;
  std::uint64_t events_run_ = 0;
  bool running_ = false;
  std::vector<Entry> heap_;  // 4-ary; the front entry is never a cancelled one
  std::vector<Slot> slots_;
  std::uint32_t first_free_ = UINT32_MAX;
};

}  // namespace wizloop
