#include "sim/realtime/credit.hpp"

#include <gtest/gtest.h>

namespace wizloop::realtime {
namespace {

constexpr WallInstant wall_start{std::chrono::hours{1000}};  // of a machine that has been up for a while
constexpr Instant virtual_start{7s};

TEST(CreditTest, LetsVirtualTimeKeepUpWithTheWallClock) {
  const Credit credit{virtual_start, wall_start, 1};
  EXPECT_EQ(credit.at(wall_start), virtual_start);
  EXPECT_EQ(credit.at(wall_start + 1500us), virtual_start + 1500us);
  EXPECT_EQ(credit.due(virtual_start + 1500us), wall_start + 1500us);
}

TEST(CreditTest, ScalesBySpeed) {
  const Credit fast{virtual_start, wall_start, 10};
  EXPECT_EQ(fast.at(wall_start + 1ms), virtual_start + 10ms);
  EXPECT_EQ(fast.due(virtual_start + 1s), wall_start + 100ms);
  EXPECT_EQ(fast.lasts(200us), Duration{2ms});
  const Credit slow{virtual_start, wall_start, 0.25};
  EXPECT_EQ(slow.at(wall_start + 1s), virtual_start + 250ms);
  EXPECT_EQ(slow.due(virtual_start + 1us), wall_start + 4us);
}

TEST(CreditTest, IsNotDueBeforeItsTimeAtAnySpeed) {
  for (const double speed : {1.0, 3.0, 0.1, 7.3, 1e-3, 1e4}) {
    const Credit credit{virtual_start, wall_start, speed};
    for (const std::int64_t ps : {1LL, 999LL, 1001LL, 123'456'789LL, 86'400'000'000'000'001LL}) {
      const Instant at = virtual_start + picoseconds(ps);
      const WallInstant due = credit.due(at);
      EXPECT_GE(credit.at(due), at) << speed << ' ' << ps;
      EXPECT_LT(credit.at(due - std::chrono::nanoseconds{1}), at) << speed << ' ' << ps;
    }
  }
}

TEST(CreditTest, IsExactAfterADayAtRealTime) {
  const Credit credit{virtual_start, wall_start, 1};
  EXPECT_EQ(credit.at(wall_start + std::chrono::hours{24} + 1ns),
            virtual_start + Duration{std::chrono::hours{24}} + 1ns);
}

TEST(CreditTest, IsNeverDueWhenThatLiesBeyondAllClocks) {
  const Credit slow{virtual_start, wall_start, 1e-6};
  EXPECT_EQ(slow.due(Instant::max()), WallInstant::max());
  EXPECT_EQ(slow.due(virtual_start + Duration{std::chrono::hours{2400}}), WallInstant::max());
}

TEST(CreditTest, CountsHowLateThingsAre) {
  Credit credit{virtual_start, wall_start, 1};
  credit.note(virtual_start + 10ms, wall_start + 9ms, 100ms);  // early: nothing to say
  EXPECT_EQ(credit.lateness().max, 0ns);
  credit.note(virtual_start + 10ms, wall_start + 13ms, 100ms);
  credit.note(virtual_start + 20ms, wall_start + 21ms, 100ms);
  EXPECT_EQ(credit.lateness().last, 1ms);
  EXPECT_EQ(credit.lateness().max, 3ms);
  EXPECT_EQ(credit.lateness().slips, 0u);
  EXPECT_EQ(credit.at(wall_start + 30ms), virtual_start + 30ms) << "nothing is forgotten";
}

TEST(CreditTest, CountsLatenessInWallTimeAtAnySpeed) {
  Credit credit{virtual_start, wall_start, 10};
  credit.note(virtual_start + 100ms, wall_start + 12ms, 100ms);
  EXPECT_EQ(credit.lateness().last, 2ms);
}

TEST(CreditTest, GivesUpArrearsThatAreTooLong) {
  Credit credit{virtual_start, wall_start, 1};
  credit.note(virtual_start + 10ms, wall_start + 110ms, 100ms);
  EXPECT_EQ(credit.lateness().slips, 0u) << "just not";
  credit.note(virtual_start + 10ms, wall_start + 3s, 100ms);
  EXPECT_EQ(credit.lateness().slips, 1u);
  EXPECT_EQ(credit.lateness().slipped, 2990ms);
  EXPECT_EQ(credit.at(wall_start + 3s), virtual_start + 10ms);
  credit.note(virtual_start + 15ms, wall_start + 3s + 6ms, 100ms);
  EXPECT_EQ(credit.lateness().last, 1ms);
}

TEST(CreditTest, GoesOnAtAnotherSpeedFromWhereItIs) {
  Credit credit{virtual_start, wall_start, 1};
  credit.restart(virtual_start + 1s, wall_start + 1s, 2);
  EXPECT_EQ(credit.at(wall_start + 2s), virtual_start + 3s);
}

}  // namespace
}  // namespace wizloop::realtime
