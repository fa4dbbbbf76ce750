// The one owner of "now" in a simulation.
//
// Firmware is the foreground: it moves time with advance_to(), which first runs every event that has become due. Events
// due at one instant run in the order in which they were scheduled. Idle time costs nothing.
//
//   EventQueue queue;
//   queue.schedule(200ms, [&] { retransmit(); });
//   queue.advance_to(queue.now() + 1s);
//
// One firmware runs on the caller's stack, the main stack. Several run beside each other on stacks of their own
// (fiber.hpp), with the same calls and the same result; the main stack then moves time for all of them.
#pragma once

#include <algorithm>
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
  Instant next_deadline() const { return std::min(next_event(), wakes_.empty() ? Instant::max() : wakes_.back().at); }

  // Before this instant nothing happens to the caller but what it does itself: no event, no other firmware, no input.
  Instant quiet_until() const { return quiet_until_; }

  // Schedules for an instant that must not lie in the past.
  EventId schedule_at(Instant at, Callback callback);
  EventId schedule(Duration delay, Callback callback) { return schedule_at(now_ + delay, std::move(callback)); }

  // True if the event was still waiting.
  bool cancel(EventId id);
  bool waits(EventId id) const { return id.slot < slots_.size() && slots_[id.slot].generation == id.generation; }

  // Runs all events due up to and including `to`, each at its own instant, and leaves now() at `to`.
  void advance_to(Instant to) {
    if (quiet_until_ > to) [[likely]] {
      now_ = to;
    } else {
      run_due(to);
    }
  }

  // Firmware sleeps: runs the events of the next instant that has any, if that is not after `deadline`; now() is then
  // that instant, or else `deadline`.
  void wait_for_events(Instant deadline);

  // Runs the next event, however far away; false if there is none. Not for firmware.
  bool run_next();

  // The caller is firmware on a stack of its own.
  bool on_fiber() const { return running_fiber_ != nullptr; }

  // What one firmware does reaches another no sooner than this, and by events alone: on the way through a switch, say.
  // So a fiber may be so far ahead of the others, which saves most of the changes between stacks. Its events still run
  // in the order of time.
  void set_lookahead(Duration shortest_passage) { lookahead_ = shortest_passage; }

  std::uint64_t events_run() const { return events_run_; }

 private:
  friend class Fiber;
  // Firmware on a stack of its own, as the queue sees it. Both calls return when their time has come, the main stack
  // having run events meanwhile.
  class Foreground {
   public:
    virtual void wait_until(Instant to) = 0;
    virtual void wait_for_events(Instant deadline) = 0;
    virtual void go_on() = 0;  // on the main stack: returns once the firmware waits again or has ended

   protected:
    ~Foreground() = default;
  };
  struct Wake {
    Instant at;
    Foreground* fiber;
  };
  struct Sleeper {
    Foreground* fiber;
    Instant since;
  };

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

  Instant next_event() const { return heap_.empty() ? Instant::max() : heap_.front().at; }
  void run_due(Instant to);
  bool wake_is_next() const { return !wakes_.empty() && wakes_.back().at < next_event(); }
  void run_front();
  void run_wake();
  // In place of this fiber's earlier one; Instant::max() for none.
  void set_wake(Foreground& fiber, Instant at);
  void wake_sleepers();
  void forget_sleeper(const Foreground& fiber);
  void set_running(Foreground* fiber) {
    running_fiber_ = fiber;
    note_limit();
  }
  // Only a fiber that runs minds the horizon: set_running() makes it known to it.
  void lift_horizon() {
    horizon_ = Instant::max();
    if (limit_ != Instant::max() || !wakes_.empty()) [[unlikely]]
      note_limit();
  }
  void note_limit() {
    limit_ = horizon_;
    if (!wakes_.empty()) [[unlikely]] {
      const Instant others = wakes_.back().at + (running_fiber_ != nullptr ? lookahead_ : Duration{});
      limit_ = std::min(limit_, others);
    }
    quiet_until_ = std::min(next_event(), limit_);
  }
  void pop_front();
  void drop_cancelled_front();
  static bool before(const Entry& a, const Entry& b) { return a.at != b.at ? a.at < b.at : a.sequence < b.sequence; }
  void sift_up(std::size_t index);
  void sift_down(std::size_t index);

  Instant now_{};
  Instant quiet_until_ = Instant::max();  // the next event or the limit, whichever is earlier
  Instant limit_ = Instant::max();        // of the horizon and what other firmware does
  Instant horizon_ = Instant::max();  // where fibers hand back to the main stack, which has been told to go no further
  std::uint64_t next_sequence_ = 0;
  std::uint64_t events_run_ = 0;
  bool running_ = false;
  std::vector<Entry> heap_;  // 4-ary; the front entry is never a cancelled one
  std::vector<Slot> slots_;
  std::uint32_t first_free_ = UINT32_MAX;
  Foreground* running_fiber_ = nullptr;
  Duration lookahead_{};
  std::vector<Wake> wakes_;        // when fibers go on, after all events of that instant; the next one last
  std::vector<Sleeper> sleepers_;  // want to look after the next events; in the order in which they fell asleep
  std::vector<Sleeper> woken_;
};

}  // namespace wizloop
