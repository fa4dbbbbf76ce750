#include "sim/realtime/pacer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/fiber.hpp"
#include "sim/core/timer.hpp"

namespace wizloop::realtime {
namespace {

using std::chrono::nanoseconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr WallInstant wall_start{std::chrono::hours{1000}};

// A wall clock that moves only when somebody waits or works, and input at instants told beforehand.
class FakeOutside final : public Outside {
 public:
  WallInstant now() override { return now_; }
  bool over() override { return over_; }

  void poll() override {
    ++polls;
    while (!input_.empty() && input_.begin()->first <= now_) serve_next();
  }

  void wait_until(WallInstant until) override {
    waits.push_back(until == WallInstant::max() ? nanoseconds::max() : until - wall_start);
    if (!input_.empty() && input_.begin()->first <= until) {
      now_ = std::max(now_, input_.begin()->first);
      serve_next();
    } else if (until == WallInstant::max()) {
      over_ = true;  // nothing will ever happen
    } else {
      now_ = std::max(now_, until + overshoot);
    }
  }

  void input(nanoseconds at, std::function<void()> handler) { input_.emplace(wall_start + at, std::move(handler)); }
  void spend(nanoseconds duration) { now_ += duration; }

  nanoseconds overshoot{};
  std::vector<nanoseconds> waits;  // until when, since the start; max: for ever
  int polls = 0;

 private:
  void serve_next() {
    const auto handler = std::move(input_.begin()->second);
    input_.erase(input_.begin());
    handler();
  }

  WallInstant now_ = wall_start;
  bool over_ = false;
  std::multimap<WallInstant, std::function<void()>> input_;
};

class PacerTest : public testing::Test {
 protected:
  void make(const PacerConfig& config = {}) {
    auto fake = std::make_unique<FakeOutside>();
    outside = fake.get();
    pacer.emplace(queue, std::move(fake), config);
  }
  nanoseconds wall() { return outside->now() - wall_start; }
  Duration now() { return queue.now().time_since_epoch(); }
  // Notes both clocks when it is called.
  auto noting(std::string what) {
    return [this, what = std::move(what)] { seen.push_back({what, now(), wall()}); };
  }

  struct Seen {
    std::string what;
    Duration at;
    nanoseconds wall;
    bool operator==(const Seen&) const = default;
  };

  EventQueue queue;
  FakeOutside* outside = nullptr;
  std::optional<Pacer> pacer;
  std::vector<Seen> seen;
};

TEST_F(PacerTest, RunsAnEventWhenTheWallClockGetsThere) {
  make();
  queue.schedule(10ms, noting("a"));
  queue.schedule(3s, noting("b"));
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"a", 10ms, 10ms}, Seen{"b", 3s, 3s}));
}

TEST_F(PacerTest, SleepsWithoutATickWhileNothingIsDue) {
  make();
  queue.schedule(std::chrono::hours{1}, noting("a"));
  pacer->run();
  EXPECT_THAT(outside->waits, ElementsAre(std::chrono::hours{1}, nanoseconds::max()));
  EXPECT_EQ(pacer->wake_ups(), 2u);
}

TEST_F(PacerTest, DoesNotDriftWhenEachWakeUpIsLate) {
  make();
  outside->overshoot = 150us;
  Timer timer{queue};
  std::function<void()> tick = [&] {
    noting("tick")();
    if (seen.size() < 100) timer.start(1ms, [&] { tick(); });
  };
  timer.start(1ms, [&] { tick(); });
  pacer->run();
  EXPECT_EQ(seen.back(), (Seen{"tick", 100ms, 100ms + 150us}));
  EXPECT_EQ(pacer->lateness().max, 150us);
  EXPECT_EQ(pacer->lateness().slips, 0u);
}

TEST_F(PacerTest, RunsAtADifferentSpeed) {
  make({.speed = 10});
  queue.schedule(1s, noting("a"));
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"a", 1s, 100ms}));
}

TEST_F(PacerTest, ChangesItsSpeedOnTheWay) {
  make();
  queue.schedule(3s, noting("a"));
  outside->input(1s, [this] { pacer->set_speed(4); });
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"a", 3s, 1500ms}));
}

TEST_F(PacerTest, GoesAsFastAsItCanAtSpeedZero) {
  make({.speed = 0});
  for (const Duration at : {Duration{1ms}, Duration{std::chrono::hours{1}}}) queue.schedule(at, noting("a"));
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"a", 1ms, 0ms}, Seen{"a", std::chrono::hours{1}, 0ms}));
  EXPECT_THAT(outside->waits, ElementsAre(nanoseconds::max())) << "when there is nothing more to do";
}

TEST_F(PacerTest, DoesWhatIsDueSoonAtOnce) {
  make({.ahead = 200us});
  queue.schedule(1ms, noting("due"));
  queue.schedule(1ms + 200us, noting("soon"));
  queue.schedule(1ms + 201us, noting("later"));
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"due", 1ms, 1ms}, Seen{"soon", 1200us, 1ms}, Seen{"later", 1201us, 1201us}));
}

TEST_F(PacerTest, WakesBusyFirmwareOnceInTheTimeThatItMayGoAhead) {
  make({.ahead = 200us});
  Fiber busy{queue, [this] {
               for (;;) queue.advance_to(queue.now() + 1us);
             }};
  outside->input(10ms, [this] { pacer->stop(); });
  pacer->run();
  EXPECT_NEAR(static_cast<double>(pacer->wake_ups()), 50, 2);
  EXPECT_GE(now(), Duration{10ms});
  EXPECT_LE(now(), Duration{10ms + 202us});
}

TEST_F(PacerTest, GivesHandlersTheirTurnWhileItCatchesUp) {
  make({.slice = 1ms});
  outside->spend(50ms);
  Fiber busy{queue, [this] {
               for (;;) queue.advance_to(queue.now() + 10us);
             }};
  std::vector<Duration> served;
  for (int i = 0; i < 3; ++i) outside->input(50ms, [&] { served.push_back(now()); });
  outside->input(50ms + 1us, [this] { pacer->stop(); });
  pacer->run();
  EXPECT_GE(outside->polls, 50);
  EXPECT_THAT(served, testing::Each(Duration{})) << "before anything else";
}

TEST_F(PacerTest, MakesGoodWhatItWasBehind) {
  make();
  queue.schedule(1ms, [this] { outside->spend(20ms); });  // the host was slow
  queue.schedule(10ms, noting("late"));
  queue.schedule(30ms, noting("in time again"));
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"late", 10ms, 21ms}, Seen{"in time again", 30ms, 30ms}));
  EXPECT_EQ(pacer->lateness().max, 11ms);
  EXPECT_EQ(pacer->lateness().slipped, 0ns);
}

TEST_F(PacerTest, GivesUpArrearsThatAreTooLong) {
  make({.longest_arrears = 100ms});
  queue.schedule(1ms, [this] { outside->spend(5s); });  // the machine was asleep
  queue.schedule(10ms, noting("late"));
  queue.schedule(30ms, noting("on time by the new reckoning"));
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"late", 10ms, 5001ms}, Seen{"on time by the new reckoning", 30ms, 5021ms}));
  EXPECT_EQ(pacer->lateness().slips, 1u);
  EXPECT_EQ(pacer->lateness().slipped, 4991ms);
}

// Input -------------------------------------------------------------------------------------------------------------

TEST_F(PacerTest, BringsTheIdleClockToTheInstantOfTheInput) {
  make();
  outside->input(5s, [this] {
    EXPECT_EQ(now(), Duration{}) << "nobody has moved it";
    EXPECT_EQ(pacer->catch_up(), Instant{5s});
    queue.schedule(10us, noting("answer"));
  });
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"answer", 5s + 10us, 5s + 10us}));
}

TEST_F(PacerTest, WakesFirmwareByInput) {
  make();
  Fiber firmware{queue, [this] {
                   queue.wait_for_events(Instant{std::chrono::hours{1}});
                   noting("woken")();
                 }};
  outside->input(5s, [this] {
    pacer->catch_up();
    queue.schedule(0us, noting("byte"));
  });
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"byte", 5s, 5s}, Seen{"woken", 5s, 5s}));
}

TEST_F(PacerTest, RunsNoEventToMakeRoomForInput) {
  make();
  queue.schedule(10ms, noting("due"));
  outside->input(10ms, [this] {
    outside->spend(2ms);  // until the handler gets to it
    pacer->catch_up();
    EXPECT_LT(now(), Duration{10ms});
    EXPECT_THAT(seen, IsEmpty()) << "a handler does not run events";
    queue.schedule(0us, noting("input"));
  });
  pacer->run();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].what, "input");
  EXPECT_EQ(seen[1].what, "due");
}

TEST_F(PacerTest, DoesNotTakeTimeBackForInputWhileItIsAhead) {
  make({.ahead = 500us});
  Fiber busy{queue, [this] {
               for (;;) queue.advance_to(queue.now() + 1us);
             }};
  std::vector<Duration> stamped;
  outside->input(100us, [&] {
    stamped.push_back(pacer->catch_up().time_since_epoch());
    pacer->stop();
  });
  pacer->run();
  EXPECT_THAT(stamped, ElementsAre(Duration{500us}));
}

TEST_F(PacerTest, StopsWhenAnEventSaysSoAndGoesOnAfterwards) {
  make();
  queue.schedule(1ms, [this] { pacer->stop(); });
  queue.schedule(5ms, noting("later"));
  pacer->run();
  EXPECT_THAT(seen, IsEmpty());
  pacer->run();
  EXPECT_THAT(seen, ElementsAre(Seen{"later", 5ms, 5ms}));
}

// With the real clock: in which order, never how long ---------------------------------------------------------------

TEST(RealPacerTest, ServesTheIoContextAndTheQueueInTheOrderOfTime) {
  boost::asio::io_context io;
  EventQueue queue;
  Pacer pacer{queue, io};
  std::vector<std::string> order;
  boost::asio::post(io, [&] {
    order.push_back("handler");
    pacer.catch_up();
    queue.schedule(2ms, [&] { order.push_back("its event"); });
  });
  queue.schedule(30ms, [&] {
    order.push_back("event");
    boost::asio::post(io, [&] {
      order.push_back("handler of the event");
      pacer.stop();
    });
  });
  pacer.run();
  EXPECT_THAT(order, ElementsAre("handler", "its event", "event", "handler of the event"));
  EXPECT_GE(pacer.wake_ups(), 1u);
}

TEST(RealPacerTest, EndsWithItsIoContext) {
  boost::asio::io_context io;
  EventQueue queue;
  Pacer pacer{queue, io};
  queue.schedule(1ms, [&] { io.stop(); });
  queue.schedule(std::chrono::hours{1}, [] { ADD_FAILURE() << "an hour early"; });
  pacer.run();
  EXPECT_TRUE(io.stopped());
}

TEST(RealPacerTest, LeavesNothingBehindInTheIoContext) {
  boost::asio::io_context io;
  EventQueue queue;
  {
    Pacer pacer{queue, io};
    boost::asio::post(io, [&] { pacer.stop(); });
    queue.schedule(std::chrono::hours{1}, [] {});
    pacer.run();
  }
  EXPECT_LE(io.run(), 1u);  // the timer that was cancelled, and no work that would keep it running
}

}  // namespace
}  // namespace wizloop::realtime
