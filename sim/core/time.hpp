// Virtual time: signed 64-bit picoseconds, which reach 106 days.
//
// Nothing here knows what time it is: only an EventQueue does. An Instant of the virtual clock does not mix with
// std::chrono::steady_clock, and a literal that is not a whole number of picoseconds does not compile.
//
//   Duration byte_time = Frequency{33'300'000}.periods(8);
//   Instant later = queue.now() + 200ms;
#pragma once

#include <chrono>
#include <cstdint>

namespace wizloop {

__extension__ typedef __int128 int128;            // products of a count and a rate
__extension__ typedef unsigned __int128 uint128;  // 64 x 64 bit products

using Duration = std::chrono::duration<std::int64_t, std::pico>;

// A clock without now(), so that time points of a run are a type of their own.
struct VirtualClock {
  using duration = Duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<VirtualClock, Duration>;
  static constexpr bool is_steady = true;
};

using Instant = std::chrono::time_point<VirtualClock, Duration>;

using namespace std::chrono_literals;  // 1us, 200ms: whole literals convert to Duration

constexpr Duration picoseconds(std::int64_t count) { return Duration{count}; }
constexpr Duration nanoseconds(std::int64_t count) { return std::chrono::nanoseconds{count}; }
constexpr Duration microseconds(std::int64_t count) { return std::chrono::microseconds{count}; }

// Whole hertz, from 1 Hz up.
class Frequency {
 public:
  constexpr explicit Frequency(std::int64_t hz) : hz_{hz} {}

  constexpr std::int64_t hz() const { return hz_; }

  // How long `count` periods last, rounded once to the nearest picosecond.
  constexpr Duration periods(std::int64_t count) const {
    const int128 scaled = static_cast<int128>(count) * 1'000'000'000'000 + hz_ / 2;
    return Duration{static_cast<std::int64_t>(scaled / hz_)};
  }

  friend constexpr bool operator==(Frequency, Frequency) = default;

 private:
  std::int64_t hz_;
};

// Hands out the lengths of equal steps of `count` periods each, such that their sum never drifts from the exact time:
// after n steps the total is n * count / f, rounded down, to the picosecond.
class PeriodSteps {
 public:
  constexpr PeriodSteps(Frequency frequency, std::int64_t count) : hz_{frequency.hz()} {
    const int128 scaled = static_cast<int128>(count) * 1'000'000'000'000;
    whole_ = static_cast<std::int64_t>(scaled / hz_);
    fraction_ = static_cast<std::int64_t>(scaled % hz_);
  }

  // The length of the next step.
  constexpr Duration next() {
    carry_ += fraction_;
    if (carry_ >= hz_) {
      carry_ -= hz_;
      return Duration{whole_ + 1};
    }
    return Duration{whole_};
  }

  // The length of the next `steps` steps together; the same as adding that many next().
  constexpr Duration next(std::int64_t steps) {
    const int128 total = static_cast<int128>(fraction_) * steps + carry_;
    carry_ = static_cast<std::int64_t>(total % hz_);
    return Duration{whole_ * steps + static_cast<std::int64_t>(total / hz_)};
  }

  // A lower bound on one step, for deciding how many steps fit before an event.
  constexpr Duration shortest() const { return Duration{whole_}; }

 private:
  std::int64_t hz_;
  std::int64_t whole_ = 0;
  std::int64_t fraction_ = 0;
  std::int64_t carry_ = 0;
};

}  // namespace wizloop
