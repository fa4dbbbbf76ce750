#include "sim/core/timer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

namespace wizloop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class TimerTest : public testing::Test {
 protected:
  auto note() {
    return [this] { fired_.push_back(queue_.now() - Instant{}); };
  }

  EventQueue queue_;
  std::vector<Duration> fired_;
};

TEST_F(TimerTest, FiresOnceAtItsDeadline) {
  Timer timer{queue_};
  timer.start(200ms, note());
  EXPECT_EQ(timer.deadline(), Instant{} + 200ms);
  queue_.advance_to(Instant{} + 1s);
  EXPECT_THAT(fired_, ElementsAre(Duration{200ms}));
}

TEST_F(TimerTest, HasNoDeadlineBeforeItIsStartedAndAfterItIsStopped) {
  Timer timer{queue_};
  EXPECT_EQ(timer.deadline(), Instant::max());
  timer.start(1ms, note());
  timer.stop();
  EXPECT_EQ(timer.deadline(), Instant::max());
  queue_.advance_to(Instant{} + 1s);
  EXPECT_THAT(fired_, IsEmpty());
}

TEST_F(TimerTest, AStartReplacesTheEarlierDeadline) {
  Timer timer{queue_};
  timer.start(10ms, note());
  queue_.advance_to(Instant{} + 5ms);
  timer.start(10ms, note());
  queue_.advance_to(Instant{} + 1s);
  EXPECT_THAT(fired_, ElementsAre(Duration{15ms}));
}

TEST_F(TimerTest, CanBeStartedForAnInstant) {
  Timer timer{queue_};
  timer.start_at(Instant{} + 3ms, note());
  queue_.advance_to(Instant{} + 1s);
  EXPECT_THAT(fired_, ElementsAre(Duration{3ms}));
}

TEST_F(TimerTest, RestartsFromItsOwnCallback) {
  Timer timer{queue_};
  timer.start(1ms, [&] {
    note()();
    timer.start(2ms, note());
  });
  queue_.advance_to(Instant{} + 1s);
  EXPECT_THAT(fired_, ElementsAre(Duration{1ms}, Duration{3ms}));
}

TEST_F(TimerTest, CancelsItselfWhenDestroyed) {
  std::optional<Timer> timer{std::in_place, queue_};
  timer->start(1ms, note());
  timer.reset();
  EXPECT_EQ(queue_.next_deadline(), Instant::max());
  queue_.advance_to(Instant{} + 1s);
  EXPECT_THAT(fired_, IsEmpty());
}

}  // namespace
}  // namespace wizloop
