#include "sim/core/event_queue.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <vector>

#include "sim/core/timer.hpp"
#include "tests/support/allocation_counter.hpp"

namespace wizloop {
namespace {

using testing::ElementsAre;

constexpr Instant start{};

TEST(EventQueueTest, StartsAtZeroWithNothingToDo) {
  EventQueue queue;
  EXPECT_EQ(queue.now(), start);
  EXPECT_EQ(queue.next_deadline(), Instant::max());
  EXPECT_FALSE(queue.run_next());
  EXPECT_EQ(queue.events_run(), 0u);
}

TEST(EventQueueTest, RunsEventsInTheOrderOfTheirInstants) {
  EventQueue queue;
  std::vector<int> order;
  queue.schedule(30us, [&] { order.push_back(30); });
  queue.schedule(10us, [&] { order.push_back(10); });
  queue.schedule(20us, [&] { order.push_back(20); });
  EXPECT_EQ(queue.next_deadline(), start + 10us);
  queue.advance_to(start + 1ms);
  EXPECT_THAT(order, ElementsAre(10, 20, 30));
}

TEST(EventQueueTest, RunsEventsOfOneInstantInTheOrderTheyWereScheduled) {
  EventQueue queue;
  std::vector<int> order;
  std::vector<int> expected;
  for (int i = 0; i < 500; ++i) {  // two instants, interleaved
    queue.schedule(i % 2 == 0 ? 5us : 9us, [&order, i] { order.push_back(i); });
  }
  for (int i = 0; i < 500; i += 2) expected.push_back(i);
  for (int i = 1; i < 500; i += 2) expected.push_back(i);
  queue.advance_to(start + 9us);
  EXPECT_EQ(order, expected);
}

TEST(EventQueueTest, RunsAnEventScheduledForNowAfterThoseAlreadyWaiting) {
  EventQueue queue;
  std::vector<int> order;
  queue.schedule(1us, [&] {
    order.push_back(1);
    queue.schedule(0us, [&] { order.push_back(3); });
  });
  queue.schedule(1us, [&] { order.push_back(2); });
  queue.advance_to(start + 1us);
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST(EventQueueTest, AdvanceRunsEachDueEventAtItsOwnInstantAndEndsAtTheTarget) {
  EventQueue queue;
  std::vector<Instant> seen;
  for (const Duration delay : {Duration{3us}, Duration{7us}, Duration{10us}, Duration{11us}}) {
    queue.schedule(delay, [&] { seen.push_back(queue.now()); });
  }
  queue.advance_to(start + 10us);
  EXPECT_THAT(seen, ElementsAre(start + 3us, start + 7us, start + 10us));
  EXPECT_EQ(queue.now(), start + 10us);
  EXPECT_EQ(queue.next_deadline(), start + 11us);
  EXPECT_EQ(queue.events_run(), 3u);
}

TEST(EventQueueTest, AdvanceRunsWhatEventsScheduleOnTheWay) {
  EventQueue queue;
  int ticks = 0;
  struct Ticker {
    EventQueue& queue;
    int& ticks;
    void operator()() const {
      ++ticks;
      queue.schedule(1us, Ticker{queue, ticks});
    }
  };
  queue.schedule(1us, Ticker{queue, ticks});
  queue.advance_to(start + 100us);
  EXPECT_EQ(ticks, 100);
}

TEST(EventQueueTest, RunNextJumpsOverIdleTime) {
  EventQueue queue;
  bool ran = false;
  queue.schedule(24h, [&] { ran = true; });
  EXPECT_TRUE(queue.run_next());
  EXPECT_TRUE(ran);
  EXPECT_EQ(queue.now(), start + 24h);
}

TEST(EventQueueTest, ACancelledEventNeverRuns) {
  EventQueue queue;
  std::vector<int> order;
  queue.schedule(1us, [&] { order.push_back(1); });
  const auto middle = queue.schedule(2us, [&] { order.push_back(2); });
  queue.schedule(3us, [&] { order.push_back(3); });
  EXPECT_TRUE(queue.cancel(middle));
  EXPECT_FALSE(queue.cancel(middle));
  queue.advance_to(start + 1ms);
  EXPECT_THAT(order, ElementsAre(1, 3));
}

TEST(EventQueueTest, NextDeadlineForgetsACancelledFront) {
  EventQueue queue;
  const auto first = queue.schedule(1us, [] {});
  const auto second = queue.schedule(2us, [] {});
  queue.schedule(5us, [] {});
  queue.cancel(second);
  EXPECT_EQ(queue.next_deadline(), start + 1us);
  queue.cancel(first);
  EXPECT_EQ(queue.next_deadline(), start + 5us);
}

TEST(EventQueueTest, CancelReleasesWhatTheCallbackHeld) {
  EventQueue queue;
  auto held = std::make_shared<int>(1);
  const auto id = queue.schedule(1us, [held] {});
  EXPECT_EQ(held.use_count(), 2);
  queue.cancel(id);
  EXPECT_EQ(held.use_count(), 1);
}

TEST(EventQueueTest, AnOldIdDoesNotCancelTheNextUserOfItsSlot) {
  EventQueue queue;
  int runs = 0;
  const auto cancelled = queue.schedule(1us, [] {});
  queue.cancel(cancelled);
  const auto reused = queue.schedule(2us, [&] { ++runs; });
  EXPECT_EQ(reused.slot, cancelled.slot);
  EXPECT_FALSE(queue.cancel(cancelled));
  queue.advance_to(start + 2us);
  EXPECT_EQ(runs, 1);

  queue.schedule(1us, [&] { ++runs; });
  EXPECT_FALSE(queue.cancel(reused));  // has run
  queue.advance_to(start + 3us);
  EXPECT_EQ(runs, 2);
}

TEST(EventQueueTest, AnEventCannotCancelItselfWhileItRuns) {
  EventQueue queue;
  EventQueue::EventId id;
  bool cancelled = true;
  id = queue.schedule(1us, [&] { cancelled = queue.cancel(id); });
  queue.advance_to(start + 1us);
  EXPECT_FALSE(cancelled);
}

TEST(EventQueueTest, AnEmptyIdIsHarmless) {
  EventQueue queue;
  EXPECT_FALSE(queue.cancel({}));
}

TEST(EventQueueTest, KeepsOrderThroughRandomSchedulingAndCancelling) {
  EventQueue queue;
  std::uint32_t chance = 12345;
  const auto draw = [&chance](std::uint32_t bound) {
    chance = chance * 1664525 + 1013904223;
    return (chance >> 8) % bound;
  };
  std::vector<EventQueue::EventId> ids;
  std::uint64_t expected = 0;
  std::uint64_t ran = 0;
  Instant last{};
  for (int i = 0; i < 2'000; ++i) {
    const Instant at = queue.now() + nanoseconds(draw(5'000));
    ids.push_back(queue.schedule_at(at, [&, at] {
      EXPECT_EQ(queue.now(), at);
      EXPECT_GE(at, last);
      last = at;
      ++ran;
    }));
    ++expected;
    if (draw(3) == 0 && queue.cancel(ids[draw(static_cast<std::uint32_t>(ids.size()))])) --expected;
    if (draw(4) == 0) queue.advance_to(queue.now() + nanoseconds(draw(2'000)));
  }
  queue.advance_to(queue.now() + 1s);
  EXPECT_EQ(ran, expected);
}

TEST(EventQueueTest, DoesNotAllocateOnTheSteadyPath) {
  EventQueue queue;
  std::uint64_t frames = 0;
  struct Sender {
    EventQueue& queue;
    std::uint64_t& frames;
    std::uint64_t payload[5];  // captures as large as those of a frame in flight
    void operator()() const {
      ++frames;
      queue.schedule(6us, *this);
    }
  };
  Timer retransmission{queue};
  const auto run_for = [&](Duration span) {
    const Instant end = queue.now() + span;
    while (queue.now() < end) {
      retransmission.start(100us, [] {});
      queue.advance_to(queue.now() + 2us);
    }
  };
  for (int i = 0; i < 8; ++i) queue.schedule(microseconds(i), Sender{queue, frames, {}});
  run_for(1ms);

  const std::uint64_t before = allocation_count();
  run_for(10ms);
  EXPECT_EQ(allocation_count(), before);
  EXPECT_GT(frames, 10'000u);
}

TEST(EventQueueDeathTest, RefusesThePast) {
  EventQueue queue;
  queue.advance_to(start + 1us);
  EXPECT_DEATH(queue.schedule_at(start, [] {}), "at >= now_");
}

TEST(EventQueueDeathTest, AnEventMustNotMoveTimeItself) {
  EventQueue queue;
  queue.schedule(1us, [&] {
    queue.schedule(1us, [] {});
    queue.advance_to(queue.now() + 5us);
  });
  EXPECT_DEATH(queue.advance_to(start + 1us), "!running_");
}

}  // namespace
}  // namespace wizloop
