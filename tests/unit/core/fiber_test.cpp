#include "sim/core/fiber.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sim/core/fingerprint.hpp"
#include "sim/core/random.hpp"
#include "sim/core/timer.hpp"
#include "tests/support/allocation_counter.hpp"

namespace wizloop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class FiberTest : public testing::Test {
 protected:
  static constexpr Instant start{};

  void note(std::string what) { seen_.emplace_back(queue_.now() - start, std::move(what)); }
  auto noting(std::string what) {
    return [this, what = std::move(what)] { note(what); };
  }
  void run(Duration duration) { queue_.advance_to(queue_.now() + duration); }
  void advance(Duration duration) { run(duration); }  // as firmware calls it

  using Seen = std::pair<Duration, std::string>;
  EventQueue queue_;
  std::vector<Seen> seen_;
};

TEST_F(FiberTest, BeginsAtTheInstantOfItsMakingOnceTimeMoves) {
  run(3us);
  Fiber fiber{queue_, noting("begun")};
  EXPECT_THAT(seen_, IsEmpty());
  run(0us);
  EXPECT_THAT(seen_, ElementsAre(Seen{3us, "begun"}));
  EXPECT_TRUE(fiber.ended());
  EXPECT_EQ(fiber.failure(), nullptr);
}

TEST_F(FiberTest, MovesTimeAsFarAsTheMainStackAllows) {
  Fiber fiber{queue_, [this] {
                for (;;) {
                  advance(10us);
                  note("");
                }
              }};
  run(25us);
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, ""}, Seen{20us, ""}));
  EXPECT_EQ(queue_.now(), start + 25us);
  run(5us);
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, ""}, Seen{20us, ""}, Seen{30us, ""}));
}

TEST_F(FiberTest, RunsBesideOthersInTheOrderOfTime) {
  Fiber a{queue_, [this] {
            for (int i = 0; i < 3; ++i) {
              advance(10us);
              note("a");
            }
          }};
  Fiber b{queue_, [this] {
            for (int i = 0; i < 2; ++i) {
              advance(14us);
              note("b");
            }
          }};
  run(1ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, "a"}, Seen{14us, "b"}, Seen{20us, "a"}, Seen{28us, "b"}, Seen{30us, "a"}));
}

TEST_F(FiberTest, GoesOnInTheOrderOfAskingWhenTimeIsTheSame) {
  Fiber a{queue_, [this] { advance(10us), note("a"), advance(0us), note("a again"); }};
  Fiber b{queue_, [this] { advance(10us), note("b"); }};
  run(10us);
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, "a"}, Seen{10us, "b"}, Seen{10us, "a again"}));
}

// As on the main stack: what is due by then, and what that makes due by then, has happened when the call returns.
TEST_F(FiberTest, FindsAllEventsOfItsInstantDone) {
  queue_.schedule(10us, [this] { queue_.schedule(0us, [this] { queue_.schedule(0us, noting("event")); }); });
  Fiber fiber{queue_, [this] {
                advance(10us);
                note("firmware");
              }};
  run(1ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, "event"}, Seen{10us, "firmware"}));
}

TEST_F(FiberTest, RunsOnOneEventAfterTheOtherByRunNextToo) {
  Fiber fiber{queue_, [this] {
                for (;;) advance(10us), note("firmware");
              }};
  queue_.schedule(15us, noting("event"));
  while (queue_.now() < start + 20us) ASSERT_TRUE(queue_.run_next());
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, "firmware"}, Seen{15us, "event"}, Seen{20us, "firmware"}));
}

TEST_F(FiberTest, SleepsUntilTheNextEventOrItsDeadline) {
  queue_.schedule(7us, noting("event"));
  Fiber fiber{queue_, [this] {
                queue_.wait_for_events(start + 50us);
                note("woken");
                queue_.wait_for_events(start + 50us);
                note("at the deadline");
              }};
  run(1ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{7us, "event"}, Seen{7us, "woken"}, Seen{50us, "at the deadline"}));
}

// On the main stack a sleeper knows all events beforehand. Beside others it does not.
TEST_F(FiberTest, IsWokenByAnEventThatWasScheduledWhileItSlept) {
  Fiber sleeper{queue_, [this] {
                  queue_.wait_for_events(Instant::max());
                  note("woken");
                }};
  Fiber worker{queue_, [this] {
                 advance(10us);
                 queue_.schedule(2us, noting("event"));
                 advance(10us);
                 note("worked");
               }};
  run(1ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{12us, "event"}, Seen{12us, "woken"}, Seen{20us, "worked"}));
}

TEST_F(FiberTest, IsWokenByInputFromOutside) {
  Fiber sleeper{queue_, [this] {
                  queue_.wait_for_events(Instant::max());
                  note("woken");
                }};
  run(1s);
  EXPECT_THAT(seen_, IsEmpty());
  queue_.schedule(0us, noting("input"));
  run(1s);
  EXPECT_THAT(seen_, ElementsAre(Seen{1s, "input"}, Seen{1s, "woken"}));
}

TEST_F(FiberTest, WakesOnceForAllEventsOfOneInstant) {
  queue_.schedule(5us, [this] { queue_.schedule(0us, noting("second")); });
  queue_.schedule(5us, noting("first"));
  Fiber fiber{queue_, [this] {
                queue_.wait_for_events(Instant::max());
                note("woken");
              }};
  run(1ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{5us, "first"}, Seen{5us, "second"}, Seen{5us, "woken"}));
}

// The first of them to look must not carry the others away with it in time.
TEST_F(FiberTest, WakesAllSleepersAtTheInstantOfTheEvent) {
  const auto sleep_and_work = [this](std::string name) {
    return [this, name = std::move(name)] {
      queue_.wait_for_events(Instant::max());
      note(name);
      advance(1us);
      note(name + " worked");
    };
  };
  Fiber a{queue_, sleep_and_work("a")};
  Fiber b{queue_, sleep_and_work("b")};
  queue_.schedule(5us, [] {});
  run(1ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{5us, "a"}, Seen{5us, "b"}, Seen{6us, "a worked"}, Seen{6us, "b worked"}));
}

TEST_F(FiberTest, IsNotWokenByTheStepsOfOtherFirmware) {
  Fiber sleeper{queue_, [this] {
                  queue_.wait_for_events(start + 1ms);
                  note("woken");
                }};
  Fiber worker{queue_, [this] {
                 for (int i = 0; i < 10; ++i) advance(10us);
               }};
  run(500us);
  EXPECT_THAT(seen_, IsEmpty());
}

TEST_F(FiberTest, MixesWithFirmwareOnTheMainStack) {
  Fiber fiber{queue_, [this] {
                for (int i = 0; i < 3; ++i) advance(10us), queue_.schedule(1us, noting("event"));
              }};
  queue_.wait_for_events(start + 1ms);  // the fiber's beginning is none of its events, but as good a time to look
  while (queue_.now() < start + 25us) {
    queue_.wait_for_events(start + 25us);
    note("main");
  }
  EXPECT_EQ(queue_.now(), start + 25us);
  EXPECT_EQ(std::ranges::count(seen_, std::string{"event"}, &Seen::second), 2);
}

// What is ahead of the others cannot be woken by what happens before it fell asleep.
TEST_F(FiberTest, SleepsFromItsOwnInstantOnWhereItIsAheadOfOthers) {
  queue_.set_lookahead(100us);
  Fiber ahead{queue_, [this] {
                advance(50us);
                queue_.wait_for_events(start + 1ms);
                note("woken");
              }};
  Fiber behind{queue_, [this] {
                 advance(10us);
                 queue_.schedule(5us, noting("too early"));
                 queue_.schedule(70us, noting("event"));
               }};
  run(2ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{15us, "too early"}, Seen{80us, "event"}, Seen{80us, "woken"}));
}

TEST_F(FiberTest, IsNeverAheadOfTheMainStack) {
  queue_.set_lookahead(1ms);
  const auto steps = [this] {
    for (;;) advance(10us), note("");
  };
  Fiber a{queue_, steps};
  Fiber b{queue_, steps};
  run(25us);
  EXPECT_EQ(seen_.size(), 4u);
  for (const Seen& seen : seen_) EXPECT_LE(seen.first, Duration{25us});
}

// Exceptions --------------------------------------------------------------------------------------------------------

TEST_F(FiberTest, KeepsWhatFirmwareThrewForItsOwner) {
  Fiber fiber{queue_, [this] {
                advance(10us);
                throw std::runtime_error{"stack smashed"};
              }};
  Fiber other{queue_, [this] { advance(20us), note("other"); }};
  run(1ms);
  EXPECT_TRUE(fiber.ended());
  ASSERT_NE(fiber.failure(), nullptr);
  EXPECT_THROW(std::rethrow_exception(fiber.failure()), std::runtime_error);
  EXPECT_THAT(seen_, ElementsAre(Seen{20us, "other"}));
}

// The C++ runtime would mix them up: it keeps exceptions by thread.
TEST_F(FiberTest, MayWaitInAHandlerWhileOthersThrow) {
  const auto throwing = [this](std::string name, Duration wait) {
    return [this, name = std::move(name), wait] {
      for (int i = 0; i < 3; ++i) {
        try {
          throw name + std::to_string(i);
        } catch (const std::string& thrown) {
          advance(wait);
          try {
            throw 7;
          } catch (int) {
            advance(wait);
          }
          EXPECT_EQ(thrown, name + std::to_string(i));
          try {
            advance(wait);
            throw;
          } catch (const std::string& again) {
            note(again);
          }
        }
      }
    };
  };
  Fiber a{queue_, throwing("a", 10us)};
  Fiber b{queue_, throwing("b", 14us)};
  run(1ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{30us, "a0"}, Seen{42us, "b0"}, Seen{60us, "a1"}, Seen{84us, "b1"},
                                 Seen{90us, "a2"}, Seen{126us, "b2"}));
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
}

struct AtExit {
  std::function<void()> call;
  ~AtExit() { call(); }
};

TEST_F(FiberTest, IsUnwoundWhereItWaitsWhenStopped) {
  Fiber fiber{queue_, [this] {
                const AtExit guard{noting("unwound")};
                advance(1s);
                note("not reached");
              }};
  run(10us);
  fiber.stop();
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, "unwound"}));
  EXPECT_TRUE(fiber.ended());
  EXPECT_EQ(fiber.failure(), nullptr);
  run(2s);
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, "unwound"}));
}

TEST_F(FiberTest, IsUnwoundWhenDestroyed) {
  {
    Fiber fiber{queue_, [this] {
                  const AtExit guard{noting("unwound")};
                  queue_.wait_for_events(Instant::max());
                }};
    run(10us);
  }
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, "unwound"}));
  queue_.schedule(0us, noting("event"));  // would wake it
  run(1s);
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, "unwound"}, Seen{10us, "event"}));
}

TEST_F(FiberTest, DoesNothingWhenStoppedBeforeItBegan) {
  const auto alive = std::make_shared<int>(0);
  Fiber fiber{queue_, [this, alive] { note("begun"); }};
  fiber.stop();
  run(1s);
  EXPECT_THAT(seen_, IsEmpty());
  EXPECT_TRUE(fiber.ended());
  EXPECT_EQ(queue_.next_deadline(), Instant::max());
}

TEST_F(FiberTest, IsStoppedByAnEvent) {
  std::optional<Fiber> fiber;
  fiber.emplace(queue_, [this] {
    for (;;) advance(10us), note("");
  });
  queue_.schedule(25us, [&] { fiber.reset(); });
  run(1ms);
  EXPECT_THAT(seen_, ElementsAre(Seen{10us, ""}, Seen{20us, ""}));
}

TEST_F(FiberTest, FindsTimeStandingStillWhileItIsUnwound) {
  Fiber fiber{queue_, [this] {
                const AtExit guard{[this] {
                  advance(10us);
                  queue_.wait_for_events(Instant::max());
                  note("unwound");
                }};
                advance(1s);
              }};
  run(5us);
  fiber.stop();
  EXPECT_THAT(seen_, ElementsAre(Seen{5us, "unwound"}));
}

TEST_F(FiberTest, StopsFirmwareThatSwallowsExceptions) {
  Fiber fiber{queue_, [this] {
                for (int tries = 0; tries < 3; ++tries) {
                  try {
                    for (;;) advance(10us);
                  } catch (...) {
                    note("caught");
                  }
                }
              }};
  run(15us);
  fiber.stop();
  EXPECT_THAT(seen_, ElementsAre(Seen{15us, "caught"}, Seen{15us, "caught"}, Seen{15us, "caught"}));
}

TEST_F(FiberTest, LetsGoOfWhatFirmwareHeldWhenItEnds) {
  const auto held = std::make_shared<int>(0);
  Fiber fiber{queue_, [held] {}};
  EXPECT_EQ(held.use_count(), 2);
  run(0us);
  EXPECT_EQ(held.use_count(), 1);
}

// Determinism -------------------------------------------------------------------------------------------------------

// Firmware with timers of its own: computes, sleeps until one of them fires, schedules at once, all by chance.
class Device {
 public:
  Device(EventQueue& queue, std::uint64_t seed)
      : queue_{queue}, random_{Random{seed}.stream("device")}, timer_{queue} {}

  void operator()() {
    const Instant begin = queue_.now();
    while (queue_.now() < begin + 5ms) {
      advance();
      if (random_.below(4) == 0) timer_.start(draw(), [this] { fire(); });
      if (random_.below(4) == 0) sleep();
    }
    timer_.stop();
  }
  std::vector<Duration> instants;

 private:
  Duration draw() { return nanoseconds(static_cast<std::int64_t>(random_.below(40)) * 500); }
  void note() { instants.push_back(queue_.now().time_since_epoch()); }
  void advance() {
    queue_.advance_to(queue_.now() + draw());
    note();
  }
  void sleep() {
    const std::size_t before = fired_;
    const Instant deadline = queue_.now() + 4 * draw();
    while (fired_ == before && queue_.now() < deadline) queue_.wait_for_events(deadline);
    note();
  }
  void fire() {
    ++fired_;
    note();
    if (random_.below(2) == 0) timer_.start(random_.below(2) == 0 ? Duration{} : draw(), [this] { fire(); });
  }

  EventQueue& queue_;
  RandomStream random_;
  Timer timer_;
  std::size_t fired_ = 0;
};

std::vector<Duration> alone(std::uint64_t seed) {
  EventQueue queue;
  Device device{queue, seed};
  device();
  return device.instants;
}

// In steps of `step`, so that the main stack looks in now and then.
std::vector<std::vector<Duration>> together(std::uint64_t count, Duration step, Duration lookahead = {}) {
  EventQueue queue;
  queue.set_lookahead(lookahead);
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (std::uint64_t seed = 1; seed <= count; ++seed) {
    devices.push_back(std::make_unique<Device>(queue, seed));
    fibers.push_back(std::make_unique<Fiber>(queue, [device = devices.back().get()] { (*device)(); }));
  }
  while (queue.now() < Instant{6ms}) queue.advance_to(queue.now() + step);
  std::vector<std::vector<Duration>> instants;
  for (const auto& fiber : fibers) EXPECT_TRUE(fiber->ended());
  for (const auto& device : devices) instants.push_back(device->instants);
  return instants;
}

TEST(FiberDeterminismTest, GivesEachFirmwareTheInstantsThatItHasAlone) {
  constexpr std::uint64_t devices = 8;
  const auto beside_others = together(devices, 6ms);
  for (std::uint64_t seed = 1; seed <= devices; ++seed) {
    ASSERT_GT(beside_others[seed - 1].size(), 100u);
    EXPECT_EQ(beside_others[seed - 1], alone(seed)) << "of device " << seed;
  }
}

TEST(FiberDeterminismTest, DoesNotDependOnHowOftenTheMainStackLooksIn) {
  EXPECT_EQ(together(4, 3us), together(4, 6ms));
}

TEST(FiberDeterminismTest, GivesTheSameInstantsToFibersThatMayBeAheadOfOthers) {
  const auto in_step = together(6, 6ms);
  EXPECT_EQ(together(6, 6ms, 5us), in_step);
  EXPECT_EQ(together(6, 7us, 100us), in_step);
}

TEST(FiberDeterminismTest, GivesOneFingerprintInEachRun) {
  const auto fingerprint = [] {
    EventQueue queue;
    Fingerprint all;
    std::vector<std::unique_ptr<Fiber>> fibers;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      fibers.push_back(std::make_unique<Fiber>(queue, [&queue, &all, seed] {
        RandomStream random = Random{seed}.stream("firmware");
        for (int i = 0; i < 200; ++i) {
          queue.advance_to(queue.now() + microseconds(static_cast<std::int64_t>(random.below(5))));
          all.add(seed);
          all.add(queue.now());
        }
      }));
    }
    queue.advance_to(Instant{10ms});
    return all.value();
  };
  EXPECT_EQ(fingerprint(), fingerprint());
}

TEST_F(FiberTest, SwitchesWithoutAllocating) {
  const auto work = [this] {
    for (;;) {
      advance(10us);
      queue_.wait_for_events(queue_.now() + 10us);
    }
  };
  Fiber a{queue_, work};
  Fiber b{queue_, work};
  run(1ms);
  const std::uint64_t before = allocation_count();
  run(100ms);
  EXPECT_EQ(allocation_count(), before);
}

}  // namespace
}  // namespace wizloop
