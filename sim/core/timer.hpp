// One restartable deadline that cancels itself when destroyed.
//
//   Timer retransmission{queue};
//   retransmission.start(200ms, [this] { on_timeout(); });
#pragma once

#include <utility>

#include "sim/core/event_queue.hpp"

namespace wizloop {

class Timer {
 public:
  explicit Timer(EventQueue& queue) : queue_{queue} {}
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;
  ~Timer() { stop(); }

  // Replaces any earlier deadline.
  void start(Duration delay, EventQueue::Callback callback) { start_at(queue_.now() + delay, std::move(callback)); }
  void start_at(Instant at, EventQueue::Callback callback) {
    stop();
    deadline_ = at;
    id_ = queue_.schedule_at(at, std::move(callback));
  }
  void stop() {
    queue_.cancel(id_);
    id_ = {};
    deadline_ = Instant::max();
  }

  // The instant last started for, until stop(); Instant::max() before the first start.
  Instant deadline() const { return deadline_; }

 private:
  EventQueue& queue_;
  EventQueue::EventId id_;
  Instant deadline_ = Instant::max();
};

}  // namespace wizloop
