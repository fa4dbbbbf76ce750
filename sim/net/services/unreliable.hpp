// How a service is told not to be there when it is needed, so that its clients show how they recover: it leaves the
// first questions unanswered, or answers late.
//
//   if (spend(config_.ignored_queries)) return;
//   late_.answer([this, to, payload] { port_.send(to, payload); });
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <utility>

#include "sim/core/timer.hpp"

namespace wizloop::net {

// For "the first so many": all of them.
inline constexpr std::uint64_t always = std::numeric_limits<std::uint64_t>::max();

// True as long as some are left.
inline bool spend(std::uint64_t& left) {
  if (left == 0) return false;
  --left;
  return true;
}

// Each answer is held for the same time, then sent. What is still held goes with the service.
class LateAnswers {
 public:
  static constexpr std::size_t max_held = 256;  // of more, the later ones are lost: a flood must not fill the memory

  LateAnswers(EventQueue& queue, Duration delay) : queue_{queue}, delay_{delay}, timer_{queue} {
    WIZ_ASSERT(delay >= Duration::zero());
  }

  // At once if there is no delay. False if the answer is lost.
  bool answer(std::function<void()> send) {
    if (delay_ == Duration::zero()) {
      send();
      return true;
    }
    if (held_.size() == max_held) return false;
    held_.push_back({queue_.now() + delay_, std::move(send)});
    if (held_.size() == 1) wait();
    return true;
  }

 private:
  struct Held {
    Instant due;
    std::function<void()> send;
  };

  void wait() {
    timer_.start_at(held_.front().due, [this] {
      const std::function<void()> send = std::move(held_.front().send);
      held_.pop_front();
      if (!held_.empty()) wait();
      send();
    });
  }

  EventQueue& queue_;
  Duration delay_;
  std::deque<Held> held_;  // the first is the next one due
  Timer timer_;
};

}  // namespace wizloop::net
