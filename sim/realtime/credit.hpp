// How far virtual time may go by the wall clock, and how late it is: arithmetic only, no clock and no queue.
//
//   Credit credit{queue.now(), wall, 1.0};
//   queue.advance_to(credit.at(wall));           // the instant that belongs to the wall instant
//   wait_until(credit.due(queue.next_deadline()));
#pragma once

#include <chrono>
#include <cstdint>

#include "sim/core/time.hpp"

namespace wizloop::realtime {

using WallInstant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;

// In wall time. What an event is late counts when its turn comes.
struct Lateness {
  std::chrono::nanoseconds last{};
  std::chrono::nanoseconds max{};
  std::chrono::nanoseconds slipped{};  // arrears given up, in all
  std::uint64_t slips = 0;             // how often
};

class Credit {
 public:
  // Virtual and wall time belong together as they are now, and from here on run at `speed`, which is above 0.
  Credit(Instant virtual_now, WallInstant wall_now, double speed)
      : virtual_start_{virtual_now}, wall_start_{wall_now}, speed_{speed} {}

  // The virtual instant that belongs to a wall instant, and the first wall instant to which no earlier one belongs;
  // never for never.
  Instant at(WallInstant wall) const { return virtual_start_ + lasts(wall - wall_start_); }
  WallInstant due(Instant at) const {
    if (at == Instant::max()) return WallInstant::max();
    const long double wall_ns = static_cast<long double>((at - virtual_start_).count()) / 1000 / speed_;
    if (wall_ns >= longest_ns) return WallInstant::max();
    WallInstant wall = wall_start_ + std::chrono::nanoseconds{static_cast<std::int64_t>(wall_ns)};
    while (this->at(wall) < at) wall += std::chrono::nanoseconds{1};
    return wall;
  }
  // How much virtual time a stretch of wall time is worth.
  Duration lasts(std::chrono::nanoseconds wall) const {
    return Duration{static_cast<std::int64_t>(static_cast<long double>(wall.count()) * 1000 * speed_)};
  }

  // The next event is that of `next`, and it is `wall` now. When it is later than `longest`, the wall clock has run
  // away: virtual time goes on from that event, and does not try to make up for it.
  void note(Instant next, WallInstant wall, std::chrono::nanoseconds longest) {
    const WallInstant due_at = due(next);
    if (due_at > wall) return;
    lateness_.last = wall - due_at;
    if (lateness_.last > lateness_.max) lateness_.max = lateness_.last;
    if (lateness_.last <= longest) return;
    lateness_.slipped += lateness_.last;
    ++lateness_.slips;
    virtual_start_ = next;
    wall_start_ = wall;
  }

  const Lateness& lateness() const { return lateness_; }

  // Another speed from here on.
  void restart(Instant virtual_now, WallInstant wall_now, double speed) {
    virtual_start_ = virtual_now;
    wall_start_ = wall_now;
    speed_ = speed;
  }

 private:
  static constexpr long double longest_ns = 4e18L;  // a sum with wall_start_ stays within 64 bits

  Instant virtual_start_;
  WallInstant wall_start_;
  long double speed_;
  Lateness lateness_;
};

}  // namespace wizloop::realtime
