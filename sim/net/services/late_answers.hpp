// What a service owes its clients when it is told to be slow: each answer is held for the same time, then sent. What is
// still held goes with the service.
//
//   LateAnswers late{queue, 300ms};
//   late.answer([this, to, payload] { port_.send(to, payload); });
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <utility>

#include "sim/core/timer.hpp"

namespace wizloop::net {

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
