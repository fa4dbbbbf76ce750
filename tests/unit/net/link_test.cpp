#include "sim/net/link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sim/core/fingerprint.hpp"
#include "sim/net/observers.hpp"

namespace wizloop::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Frequency fast{100'000'000};

struct Receiver final : wire::FrameSink {
  explicit Receiver(EventQueue& of) : queue{of} {}
  void accept(wire::FramePtr frame, Instant at) override {
    EXPECT_EQ(at, queue.now());
    arrivals.push_back(at - Instant{});
    sizes.push_back(frame->size);
    first_bytes.push_back(frame->bytes[0]);
  }
  EventQueue& queue;
  std::vector<Duration> arrivals;
  std::vector<std::size_t> sizes;
  std::vector<int> first_bytes;
};

struct LinkTest : testing::Test {
  Link& make(const LinkProfile& profile, std::uint64_t seed = 1) {
    link.emplace(queue, Random{seed}, profile);
    link->attach(End::board, at_board);
    link->attach(End::host, at_host);
    return *link;
  }
  wire::FramePtr frame(std::size_t size, std::uint8_t mark = 0) {
    wire::FramePtr made = pool.take();
    made->size = size;
    made->bytes.fill(mark);
    return made;
  }
  void send(End from, std::size_t size, Duration start, std::uint8_t mark = 0) {
    link->transmitter(from).accept(frame(size, mark), Instant{start});
  }
  // As many frames of the smallest size from the board as asked for, as close as they may come.
  void send_train(int count) {
    const Duration step = wire::time_on_wire(60, fast) + wire::inter_packet_gap(fast);
    for (int i = 0; i < count; ++i) send(End::board, 60, queue.now() - Instant{} + i * step);
  }

  wire::FramePool pool;
  EventQueue queue;
  Receiver at_board{queue};
  Receiver at_host{queue};
  std::optional<Link> link;
};
using LinkDeathTest = LinkTest;

TEST_F(LinkTest, DeliversAFrameAfterItsTimeOnTheWireAndTheDelay) {
  make({.bit_rate = fast, .delay = 1us});
  send(End::board, 1514, 0us, 0x42);
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(at_host.arrivals, ElementsAre(nanoseconds(80 * (8 + 1514 + 4) + 1000)));
  EXPECT_THAT(at_host.sizes, ElementsAre(1514u));
  EXPECT_THAT(at_host.first_bytes, ElementsAre(0x42));
  EXPECT_THAT(at_board.arrivals, IsEmpty());
}

TEST_F(LinkTest, TakesTenTimesAsLongAtTenMegabits) {
  make({.bit_rate = Frequency{10'000'000}});
  send(End::host, 60, 0us);
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(at_board.arrivals, ElementsAre(nanoseconds(800 * (8 + 60 + 4))));
}

TEST_F(LinkTest, WaitsForAStartThatLiesAhead) {
  make({});
  send(End::board, 60, 100us);
  EXPECT_FALSE(link->busy(queue.now()));
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(at_host.arrivals, ElementsAre(100us + nanoseconds(80 * 72)));
}

TEST_F(LinkTest, CarriesBothDirectionsAtOnce) {
  make({});
  send(End::board, 1514, 0us);
  send(End::host, 1514, 0us);
  queue.advance_to(Instant{} + 1s);
  EXPECT_EQ(at_host.arrivals, at_board.arrivals);
  EXPECT_EQ(at_host.arrivals.size(), 1u);
}

TEST_F(LinkTest, CarriesFramesBackToBackAtTheInterPacketGap) {
  make({});
  send_train(3);
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(at_host.arrivals, ElementsAre(nanoseconds(5760), nanoseconds(6720 + 5760), nanoseconds(2 * 6720 + 5760)));
}

TEST_F(LinkDeathTest, StopsWhenAFrameComesWithinTheGap) {
  make({});
  send(End::board, 60, 0us);
  EXPECT_DEATH(send(End::board, 60, nanoseconds(6719)), "start >= next_start_");
}

TEST_F(LinkDeathTest, StopsWhenAFrameStartsInThePast) {
  make({});
  queue.advance_to(Instant{} + 1us);
  EXPECT_DEATH(send(End::board, 60, 0us), "start >= link_.queue_.now()");
}

TEST_F(LinkTest, IsBusyFromTheFirstBitToTheLast) {
  make({.bit_rate = fast, .delay = 50us});
  send(End::host, 60, 10us);
  const Instant end = Instant{} + 10us + nanoseconds(5760);
  const auto busy_at = [&](Instant at) {
    queue.advance_to(at);
    return link->busy(at);
  };
  EXPECT_FALSE(busy_at(Instant{} + 10us - picoseconds(1)));
  EXPECT_TRUE(busy_at(Instant{} + 10us));
  EXPECT_TRUE(busy_at(end - picoseconds(1)));
  EXPECT_FALSE(busy_at(end));
}

TEST_F(LinkTest, LosesFramesAtTheGivenRate) {
  make({.bit_rate = fast, .loss_ppm = 100'000});
  send_train(2000);
  queue.advance_to(Instant{} + 1s);
  const LinkCounters& counters = link->counters(End::board);
  EXPECT_EQ(counters.transmitted, 2000u);
  EXPECT_EQ(counters.delivered, at_host.arrivals.size());
  EXPECT_EQ(counters.delivered + counters.lost, 2000u);
  EXPECT_NEAR(static_cast<double>(counters.lost), 200, 60);
}

TEST_F(LinkTest, LosesAllFramesAtAMillionPpm) {
  make({.bit_rate = fast, .loss_ppm = 1'000'000});
  send_train(50);
  queue.advance_to(Instant{} + 1s);
  EXPECT_EQ(link->counters(End::board).lost, 50u);
}

TEST_F(LinkTest, LosesTheSameFramesWithTheSameSeedOnly) {
  const auto arrivals_with = [&](std::uint64_t seed) {
    EventQueue own_queue;
    Receiver receiver{own_queue};
    Link own_link{own_queue, Random{seed}, {.bit_rate = fast, .loss_ppm = 500'000}};
    own_link.attach(End::host, receiver);
    for (int i = 0; i < 64; ++i) own_link.transmitter(End::board).accept(frame(60), Instant{} + i * 10us);
    own_queue.advance_to(Instant{} + 1s);
    return receiver.arrivals;
  };
  EXPECT_EQ(arrivals_with(5), arrivals_with(5));
  EXPECT_NE(arrivals_with(5), arrivals_with(6));
}

TEST_F(LinkTest, LosesTheFrameOnTheCableWhenItIsUnplugged) {
  make({});
  send(End::board, 1514, 0us);
  queue.advance_to(Instant{} + 50us);
  link->set_up(false);
  queue.advance_to(Instant{} + 60us);
  link->set_up(true);
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(at_host.arrivals, IsEmpty());
  EXPECT_EQ(link->counters(End::board).unplugged, 1u);
}

TEST_F(LinkTest, LosesFramesThatStartWhileItIsUnplugged) {
  make({});
  send(End::board, 60, 100us);
  send(End::board, 60, 300us);
  queue.advance_to(Instant{} + 50us);
  link->set_up(false);
  queue.advance_to(Instant{} + 200us);
  link->set_up(true);
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(at_host.arrivals, ElementsAre(300us + nanoseconds(5760)));
  const LinkCounters& counters = link->counters(End::board);
  EXPECT_EQ(counters.transmitted, 2u);
  EXPECT_EQ(counters.unplugged, 1u);
  EXPECT_EQ(counters.delivered, 1u);
}

struct Log final : LinkObserver {
  void on_frame(End from, Instant start, const wire::Frame& seen) override {
    entries.push_back({from, start - Instant{}, seen.size});
  }
  std::vector<std::tuple<End, Duration, std::size_t>> entries;
};

TEST_F(LinkTest, ShowsObserversEachFrameInTheOrderOfTime) {
  make({.bit_rate = fast, .loss_ppm = 1'000'000});
  Log log;
  link->observe(log);
  send(End::host, 100, 30us);
  send(End::board, 60, 0us);
  send(End::board, 61, 20us);
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(log.entries, ElementsAre(std::tuple(End::board, 0us, 60u), std::tuple(End::board, 20us, 61u),
                                       std::tuple(End::host, 30us, 100u)));
}

TEST_F(LinkTest, DoesNotShowObserversWhatAnUnpluggedCableNeverTook) {
  make({});
  Log log;
  link->observe(log);
  link->set_up(false);
  send(End::board, 60, 0us);
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(log.entries, IsEmpty());
}

TEST_F(LinkTest, GivesTheFingerprintDirectionInstantAndBytes) {
  const auto fingerprint_of = [&](End from, Duration start, std::uint8_t mark) {
    EventQueue own_queue;
    Receiver receiver{own_queue};
    Link own_link{own_queue, Random{1}, {}};
    own_link.attach(End::host, receiver);
    own_link.attach(End::board, receiver);
    Fingerprint fingerprint;
    FingerprintObserver observer{fingerprint};
    own_link.observe(observer);
    own_link.transmitter(from).accept(frame(60, mark), Instant{start});
    own_queue.advance_to(Instant{} + 1s);
    return fingerprint.value();
  };
  const std::uint64_t base = fingerprint_of(End::board, 1us, 1);
  EXPECT_EQ(base, fingerprint_of(End::board, 1us, 1));
  EXPECT_NE(base, fingerprint_of(End::host, 1us, 1));
  EXPECT_NE(base, fingerprint_of(End::board, 2us, 1));
  EXPECT_NE(base, fingerprint_of(End::board, 1us, 2));
}

TEST_F(LinkTest, TakesNoNewFramesOnceTheSteadyStateIsReached) {
  make({});
  for (int i = 0; i < 100; ++i) {
    send(End::board, 1514, queue.now() - Instant{});
    queue.advance_to(queue.now() + 200us);
  }
  EXPECT_EQ(at_host.arrivals.size(), 100u);
  EXPECT_EQ(pool.made(), 1u);
}

TEST_F(LinkTest, MayGoWithFramesStillUnderWay) {
  make({});
  send(End::board, 60, 0us);
  send(End::board, 60, 100us);
  link.reset();
  queue.advance_to(Instant{} + 1s);
  EXPECT_THAT(at_host.arrivals, IsEmpty());
}

}  // namespace
}  // namespace wizloop::net
