// A cable that misbehaves as planned: which frames are struck, when they arrive, and that all others are on time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "sim/net/link.hpp"
#include "tests/support/planned_faults.hpp"

namespace wizloop::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Frequency fast{100'000'000};
constexpr Duration short_frame = nanoseconds(5760);  // 60 bytes on the wire
constexpr Duration gap = nanoseconds(960);

struct Arrival {
  int mark;  // the frame's last byte
  Duration at;
  bool fcs_good;
};

struct Receiver final : wire::FrameSink {
  explicit Receiver(EventQueue& of) : queue{of} {}
  void announce(const wire::Frame& frame, Instant at) override {
    EXPECT_GE(at, queue.now());
    announced.push_back(at - Instant{});
    sizes.push_back(frame.size);
  }
  void accept(wire::FramePtr frame, Instant at) override {
    EXPECT_EQ(at, queue.now());
    arrivals.push_back({frame->bytes[frame->size - 1], at - Instant{}, frame->fcs_good});
    last.assign(frame->data().begin(), frame->data().end());
  }
  std::vector<int> marks() const {
    std::vector<int> all;
    for (const Arrival& arrival : arrivals) all.push_back(arrival.mark);
    return all;
  }
  EventQueue& queue;
  std::vector<Duration> announced;
  std::vector<std::size_t> sizes;
  std::vector<Arrival> arrivals;
  std::vector<std::uint8_t> last;
};

class LinkFaultsTest : public testing::Test {
 protected:
  void plan(std::string_view name, std::string_view text, std::uint64_t seed = 1) {
    faults.emplace(queue, trace, test::PlannedFaults::Texts{{name, text}}, seed);
    link.emplace(queue, Random{seed}, LinkProfile{.delay = 1us});
    link->attach(End::board, at_board);
    link->attach(End::host, at_host);
    link->on_change([this](bool up) { changes.push_back({up, queue.now() - Instant{}}); });
    link->inject(**faults, pool);
  }
  // `count` frames marked 1, 2, 3 ... from the board, one each 100 us from now on; then a second passes.
  void send(int count, End from = End::board) {
    for (int i = 0; i < count; ++i) {
      wire::FramePtr frame = pool.take();
      frame->size = 60;
      frame->bytes.fill(static_cast<std::uint8_t>(i + 1));
      link->transmitter(from).accept(std::move(frame), queue.now() + i * 100us);
    }
    queue.advance_to(queue.now() + 1s);
  }
  static Duration on_time(int mark) { return (mark - 1) * 100us + short_frame + 1us; }
  std::uint64_t struck(Fault fault) { return faults->struck(fault); }

  wire::FramePool pool;
  EventQueue queue;
  Trace trace;
  Receiver at_board{queue};
  Receiver at_host{queue};
  std::vector<std::pair<bool, Duration>> changes;
  std::optional<test::PlannedFaults> faults;
  std::optional<Link> link;
};

TEST_F(LinkFaultsTest, FramesThatNothingStrikesAreOnTime) {
  plan("link_loss", "nth=100");
  send(3);
  ASSERT_EQ(at_host.arrivals.size(), 3U);
  for (const Arrival& arrival : at_host.arrivals) EXPECT_EQ(arrival.at, on_time(arrival.mark));
  EXPECT_THAT(at_host.announced, ElementsAre(1us, 101us, 201us));
}

TEST_F(LinkFaultsTest, LosesTheChosenFrame) {
  plan("link_loss", "nth=2");
  send(4);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 3, 4));
  EXPECT_EQ(link->counters(End::board).lost, 1U);
}

TEST_F(LinkFaultsTest, StrikesTheChosenSenderOnly) {
  plan("link_loss", "always,sender=peer");
  send(2, End::board);
  send(2, End::host);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 2));
  EXPECT_THAT(at_board.marks(), IsEmpty());
  plan("link_loss", "always,sender=board");
  send(2, End::board);
  send(2, End::host);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 2));
  EXPECT_THAT(at_board.marks(), ElementsAre(1, 2));
}

TEST_F(LinkFaultsTest, LosesTheSameFramesWithTheSameSeed) {
  const auto survivors = [this](std::uint64_t seed) {
    at_host.arrivals.clear();
    plan("link_loss", "ppm=500000", seed);
    send(64);
    return at_host.marks();
  };
  const auto first = survivors(1);
  EXPECT_EQ(survivors(1), first);
  EXPECT_NE(survivors(2), first);
}

TEST_F(LinkFaultsTest, DuplicateFollowsAtTheInterPacketGap) {
  plan("link_duplicate", "nth=1");
  send(2);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 1, 2));
  EXPECT_EQ(at_host.arrivals[0].at, on_time(1));
  EXPECT_EQ(at_host.arrivals[1].at, on_time(1) + gap + short_frame);
  EXPECT_EQ(at_host.arrivals[2].at, on_time(2));
  EXPECT_EQ(link->counters(End::board).duplicated, 1U);
  EXPECT_EQ(link->counters(End::board).delivered, 3U);
}

TEST_F(LinkFaultsTest, ReorderedFrameComesRightBehindTheNextOne) {
  plan("link_reorder", "nth=2");
  send(4);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 3, 2, 4));
  EXPECT_EQ(at_host.arrivals[2].at, on_time(3) + gap + short_frame);
  EXPECT_EQ(at_host.arrivals[3].at, on_time(4));
}

TEST_F(LinkFaultsTest, ReorderedFrameWithoutANextOneComesAfterItsWait) {
  plan("link_reorder", "nth=2,wait=500us");
  send(2);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 2));
  EXPECT_EQ(at_host.arrivals[1].at, on_time(2) + 500us);
}

TEST_F(LinkFaultsTest, CorruptionShowsInTheFcs) {
  plan("link_corrupt", "nth=2");
  send(2);
  ASSERT_EQ(at_host.arrivals.size(), 2U);
  EXPECT_TRUE(at_host.arrivals[0].fcs_good);
  EXPECT_FALSE(at_host.arrivals[1].fcs_good);
}

TEST_F(LinkFaultsTest, SilentCorruptionDoesNot) {
  plan("link_corrupt_silent", "nth=1,byte=66");
  send(1);
  ASSERT_EQ(at_host.arrivals.size(), 1U);
  EXPECT_TRUE(at_host.arrivals[0].fcs_good);
  for (std::size_t i = 0; i < 60; ++i) EXPECT_EQ(at_host.last[i] != 1, i == 6) << i;  // 66 modulo 60
}

TEST_F(LinkFaultsTest, DelayedFrameMakesThoseBehindItWait) {
  plan("link_delay", "nth=1,delay=150us");
  send(3);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 2, 3));
  EXPECT_EQ(at_host.arrivals[0].at, on_time(1) + 150us);
  EXPECT_EQ(at_host.arrivals[1].at, on_time(1) + 150us + gap + short_frame);
  EXPECT_EQ(at_host.arrivals[2].at, on_time(3));
}

TEST_F(LinkFaultsTest, JitterStaysWithinItsBoundAndKeepsTheOrder) {
  plan("link_jitter", "always,most=50us");
  send(50);
  ASSERT_EQ(at_host.arrivals.size(), 50U);
  Duration least = 1s;
  Duration most{};
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(at_host.arrivals[static_cast<std::size_t>(i)].mark, i + 1);
    const Duration late = at_host.arrivals[static_cast<std::size_t>(i)].at - on_time(i + 1);
    least = std::min(least, late);
    most = std::max(most, late);
  }
  EXPECT_GE(least, 0us);
  EXPECT_LT(least, 10us);
  EXPECT_LE(most, 50us);
  EXPECT_GT(most, 40us);
}

TEST_F(LinkFaultsTest, FramesNeverOverlapAtTheFarEnd) {
  plan("link_jitter", "always,most=500us");
  send(50);
  for (std::size_t i = 1; i < at_host.announced.size(); ++i) {
    EXPECT_GE(at_host.announced[i], at_host.announced[i - 1] + short_frame + gap);
  }
}

TEST_F(LinkFaultsTest, CableIsOutFromOneTimeUntilTheOther) {
  plan("link_unplug", "from=150us,until=250us");
  send(4);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 2, 4));
  EXPECT_THAT(changes, ElementsAre(std::pair{false, 150us}, std::pair{true, 250us}));
  EXPECT_EQ(struck(Fault::link_unplug), 1U);
}

TEST_F(LinkFaultsTest, CableWithoutAnEndStaysOut) {
  plan("link_unplug", "at=150us");
  send(4);
  EXPECT_THAT(at_host.marks(), ElementsAre(1, 2));
  EXPECT_FALSE(link->up());
}

TEST_F(LinkFaultsTest, HeldBackAndLateFramesAreLostWithTheCable) {
  plan("link_delay", "always,delay=10ms");
  send(0);
  link->transmitter(End::board).accept(pool.copy(std::vector<std::uint8_t>(60)), queue.now());
  queue.advance_to(queue.now() + 1ms);
  link->set_up(false);
  link->set_up(true);
  queue.advance_to(queue.now() + 1s);
  EXPECT_THAT(at_host.arrivals, IsEmpty());
  EXPECT_EQ(link->counters(End::board).unplugged, 1U);
}

TEST_F(LinkFaultsTest, FlapsOnScheduleUntilItsEnd) {
  plan("link_flap", "from=1ms,until=10ms,down=1ms,up=4ms");
  send(0);
  EXPECT_THAT(changes,
              ElementsAre(std::pair{false, 1ms}, std::pair{true, 2ms}, std::pair{false, 6ms}, std::pair{true, 7ms}));
  EXPECT_EQ(struck(Fault::link_flap), 2U);
}

TEST_F(LinkFaultsTest, FlapOfNoLengthStillLetsTimePass) {
  plan("link_flap", "from=0s,until=1ms,down=0s,up=0s");
  send(1);
  EXPECT_TRUE(link->up());
  EXPECT_EQ(struck(Fault::link_flap), 500U);
}

}  // namespace
}  // namespace wizloop::net
