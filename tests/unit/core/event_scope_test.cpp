#include "sim/core/event_scope.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tests/support/allocation_counter.hpp"

namespace wizloop {
namespace {

using testing::ElementsAre;

TEST(EventScopeTest, SchedulesAsTheQueueDoes) {
  EventQueue queue;
  std::vector<int> order;
  EventScope events{queue};
  events.schedule(20us, [&] { order.push_back(20); });
  events.schedule_at(Instant{10us}, [&] { order.push_back(10); });
  queue.schedule(20us, [&] { order.push_back(21); });
  queue.advance_to(Instant{1ms});
  EXPECT_THAT(order, ElementsAre(10, 20, 21));
}

TEST(EventScopeTest, CancelsWhatStillWaitsWhenItGoes) {
  EventQueue queue;
  std::vector<int> ran;
  const auto held = std::make_shared<int>(0);
  {
    EventScope events{queue};
    events.schedule(1us, [&] { ran.push_back(1); });
    events.schedule(3us, [&ran, held] { ran.push_back(3); });
    queue.schedule(3us, [&] { ran.push_back(30); });
    queue.advance_to(Instant{2us});
  }
  EXPECT_EQ(held.use_count(), 1);
  queue.advance_to(Instant{1ms});
  EXPECT_THAT(ran, ElementsAre(1, 30));
}

TEST(EventScopeTest, CancelsAllOfManyButNobodyElses) {
  EventQueue queue;
  int ran = 0;
  std::optional<EventScope> events{std::in_place, queue};
  for (int i = 0; i < 1000; ++i) {
    events->schedule(microseconds(i), [&] { ++ran; });
    queue.schedule(microseconds(i), [&] { ++ran; });
  }
  queue.advance_to(Instant{microseconds(499)});
  EXPECT_EQ(ran, 1000);
  events.reset();
  queue.advance_to(Instant{1s});
  EXPECT_EQ(ran, 1500);
}

TEST(EventScopeTest, DoesNotAllocateOnTheSteadyPath) {
  EventQueue queue;
  EventScope events{queue};
  const auto run = [&](int count) {
    for (int i = 0; i < count; ++i) {
      events.schedule(1us, [] {});
      if (i % 20 == 0) queue.advance_to(queue.now() + 5us);
    }
  };
  run(1000);
  const std::uint64_t before = allocation_count();
  run(10'000);
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace wizloop
