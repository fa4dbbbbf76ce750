#include "sim/net/tcp_connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

using testing::Each;
using testing::ElementsAre;

constexpr Duration time_of_ack = nanoseconds(80 * (8 + 60 + 4));

// A station that sends into a sink on the PC, and sees when the PC acknowledges.
struct AckTest : testing::Test {
  void connect(const PeerProfile& profile) {
    net.emplace(profile);
    sink.emplace(*net->pc, 5001);
    net->send_tcp(header(wire::TcpHeader::syn));
    net->run(10ms);
    ASSERT_EQ(net->segments.size(), 1u);
    peer_iss = net->segments[0].segment.header.sequence;
    sequence = 1001;
    net->send_tcp(header(wire::TcpHeader::ack));
    net->run(10ms);
    net->segments.clear();
  }
  wire::TcpHeader header(std::uint8_t flags) const {
    return {.source_port = 1234,
            .destination_port = 5001,
            .sequence = sequence,
            .acknowledgment = flags == wire::TcpHeader::syn ? 0 : peer_iss + 1,
            .flags = flags,
            .window = 2048,
            .mss = static_cast<std::uint16_t>(flags == wire::TcpHeader::syn ? 1460 : 0)};
  }
  Instant send(std::size_t bytes, std::uint8_t flags = wire::TcpHeader::ack) {
    const Instant arrival = net->send_tcp(header(flags), bytes);
    sequence += static_cast<std::uint32_t>(bytes);
    return arrival;
  }
  // When the first bit of each ACK of the PC went out, and how much of our data it covers.
  std::vector<std::pair<Instant, std::uint32_t>> acks() const {
    std::vector<std::pair<Instant, std::uint32_t>> result;
    for (const auto& seen : net->segments) {
      result.emplace_back(seen.at - time_of_ack, seen.segment.header.acknowledgment - 1001);
    }
    return result;
  }

  std::optional<HostAndStation> net;
  std::optional<TcpSink> sink;
  std::uint32_t sequence = 1000;
  std::uint32_t peer_iss = 0;
};

TEST_F(AckTest, ImmediateAcknowledgesEachSegmentAtOnce) {
  connect({.ack_policy = AckPolicy::immediate});
  const Instant first = send(1000);
  const Instant second = send(1000);
  net->run(1s);
  EXPECT_THAT(acks(), ElementsAre(std::pair(first, 1000u), std::pair(second, 2000u)));
}

TEST_F(AckTest, EverySecondAcknowledgesTheSecondAtOnce) {
  connect({.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms});
  std::vector<Instant> arrivals;
  for (int i = 0; i < 4; ++i) arrivals.push_back(send(1000));
  net->run(1s);
  EXPECT_THAT(acks(), ElementsAre(std::pair(arrivals[1], 2000u), std::pair(arrivals[3], 4000u)));
}

TEST_F(AckTest, EverySecondAcknowledgesALoneSegmentAfterTheDelay) {
  connect({.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms});
  const Instant arrival = send(1000);
  net->run(1s);
  EXPECT_THAT(acks(), ElementsAre(std::pair(arrival + 40ms, 1000u)));
}

// lwIP's own tick comes every 250 ms; here a longer delay has to live through it.
TEST_F(AckTest, NeverAcknowledgesByTheTickOfLwip) {
  connect({.ack_policy = AckPolicy::every_second, .delayed_ack = 700ms});
  const Instant arrival = send(1000);
  net->run(3s);
  EXPECT_THAT(acks(), ElementsAre(std::pair(arrival + 700ms, 1000u)));
}

TEST_F(AckTest, StartsTheDelayAnewForEachLoneSegment) {
  connect({.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms});
  send(1000);
  const Instant second = send(1000);
  net->run(30ms);
  const Instant third = send(1000);
  net->run(1s);
  EXPECT_THAT(acks(), ElementsAre(std::pair(second, 2000u), std::pair(third + 40ms, 3000u)));
}

TEST_F(AckTest, DelayedAcknowledgesAllThatHasComeAfterTheDelay) {
  connect({.ack_policy = AckPolicy::delayed, .delayed_ack = 10ms});
  const Instant first = send(1400);
  for (int i = 0; i < 6; ++i) send(1400);  // more than lwIP would leave without a window update
  net->run(1s);
  EXPECT_THAT(acks(), ElementsAre(std::pair(first + 10ms, 7u * 1400u)));
}

TEST_F(AckTest, TheTurnaroundComesBeforeTheDelay) {
  connect({.ack_policy = AckPolicy::delayed, .delayed_ack = 10ms, .turnaround = 100us});
  const Instant arrival = send(10);
  net->run(1s);
  EXPECT_THAT(acks(), ElementsAre(std::pair(arrival + 100us + 10ms, 10u)));
}

TEST_F(AckTest, AcknowledgesAFinAtOnceUnderEachPolicy) {
  for (const AckPolicy policy : {AckPolicy::immediate, AckPolicy::every_second, AckPolicy::delayed}) {
    sequence = 1000;
    sink.reset();
    connect({.ack_policy = policy, .delayed_ack = 40ms});
    const Instant arrival = send(100, wire::TcpHeader::ack | wire::TcpHeader::fin);
    net->run(1ms);
    ASSERT_FALSE(acks().empty());
    EXPECT_EQ(acks()[0], std::pair(arrival, 101u));
    EXPECT_EQ(sink->counters().peer_closed, 1u);
  }
}

TEST_F(AckTest, AcknowledgesAtOnceWhenASegmentIsMissing) {
  connect({.ack_policy = AckPolicy::delayed, .delayed_ack = 40ms});
  sequence += 500;
  const Instant arrival = send(100);
  net->run(1ms);
  EXPECT_THAT(acks(), ElementsAre(std::pair(arrival, 0u)));
}

TEST_F(AckTest, OpensTheWindowAgainAtOnce) {
  connect({.ack_policy = AckPolicy::immediate});
  const std::uint16_t before = net->segments.empty() ? 65535 : 0;
  for (int i = 0; i < 20; ++i) {
    send(1400);
    net->run(1ms);
  }
  EXPECT_EQ(net->segments.back().segment.header.window, before);
  EXPECT_EQ(sink->counters().bytes, 20u * 1400u);
}

// A station that sends to an echo on the PC, with a window of 2048 bytes, and acknowledges nothing of what comes back.
std::vector<HostAndStation::Seen> echo_of(std::size_t bytes) {
  HostAndStation net{{.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms}};
  TcpEcho echo{*net.pc, 7};
  wire::TcpHeader header{.source_port = 9,
                         .destination_port = 7,
                         .sequence = 0,
                         .flags = wire::TcpHeader::syn,
                         .window = 2048,
                         .mss = 1460};
  net.send_tcp(header);
  net.run(1ms);
  header.sequence = 1;
  header.acknowledgment = net.segments.at(0).segment.header.sequence + 1;
  header.flags = wire::TcpHeader::ack;
  header.mss = 0;
  net.send_tcp(header);
  net.run(1ms);
  net.segments.clear();
  net.send_tcp(header, bytes);
  net.run(200ms);  // ends before lwIP first retransmits
  return net.segments;
}

TEST(TcpConnection, AcknowledgesWithTheAnswerIfThereIsOne) {
  const auto answer = echo_of(10);
  ASSERT_EQ(answer.size(), 1u);
  EXPECT_EQ(answer[0].segment.payload_bytes, 10u);
  EXPECT_EQ(answer[0].segment.header.acknowledgment, 11u);
}

TEST(TcpConnection, SendsTheEndOfAnAnswerWithoutWaitingForAnAck) {
  const auto answer = echo_of(1200);
  ASSERT_EQ(answer.size(), 2u);
  EXPECT_EQ(answer[0].segment.payload_bytes, 1024u);
  EXPECT_EQ(answer[1].segment.payload_bytes, 176u);
}

// A station that accepts the PC's connection with a receive buffer of `buffer` bytes, which empties only when told.
struct SmallReceiver {
  SmallReceiver(const PeerProfile& profile, std::uint16_t buffer_bytes, std::uint64_t stream_bytes = TcpSource::endless)
      : net{profile}, buffer{buffer_bytes}, source{*net.pc, {.bytes = stream_bytes}} {
    net.on_segment = [this](const TcpSegment& segment) { on_segment(segment); };
    source.connect(board_ip, 5001);
    net.run(5ms);
  }

  void on_segment(const TcpSegment& segment) {
    port = segment.header.source_port;
    if (segment.header.has(wire::TcpHeader::syn)) {
      next = segment.header.sequence + 1;
      reply(wire::TcpHeader::syn | wire::TcpHeader::ack);
      return;
    }
    if (segment.payload_bytes == 0) return;
    payloads.push_back(segment.payload_bytes);
    starts.push_back(net.queue.now());
    next += static_cast<std::uint32_t>(segment.payload_bytes) + (segment.header.has(wire::TcpHeader::fin) ? 1 : 0);
    held += segment.payload_bytes;
    EXPECT_LE(held, buffer) << "more than the window held";
    if (answering) reply(wire::TcpHeader::ack);
  }
  void reply(std::uint8_t flags) {
    net.send_tcp({.source_port = 5001,
                  .destination_port = port,
                  .sequence = (flags & wire::TcpHeader::syn) != 0 ? 100u : 101u,
                  .acknowledgment = next,
                  .flags = flags,
                  .window = static_cast<std::uint16_t>(buffer - held),
                  .mss = static_cast<std::uint16_t>((flags & wire::TcpHeader::syn) != 0 ? 1460 : 0)});
  }
  // The application reads: the window opens and a window update goes out.
  void read_all() {
    held = 0;
    reply(wire::TcpHeader::ack);
  }

  HostAndStation net;
  std::size_t buffer;
  TcpSource source;
  std::uint16_t port = 0;
  std::uint32_t next = 0;
  std::size_t held = 0;
  bool answering = true;
  std::vector<std::size_t> payloads;
  std::vector<Instant> starts;
};

TEST(SegmentRule, HalfWindowCutsTheStreamToHalfTheLargestWindow) {
  SmallReceiver board{{.segment_rule = SegmentRule::half_window}, 2048};
  EXPECT_THAT(board.payloads, ElementsAre(1024u, 1024u));
  for (int i = 0; i < 20; ++i) {
    board.read_all();
    board.net.run(2ms);
  }
  EXPECT_EQ(board.payloads.size(), 42u);
  EXPECT_THAT(board.payloads, Each(1024u));
}

TEST(SegmentRule, FullMssSendsOneFullSegmentAndWaits) {
  SmallReceiver board{{.segment_rule = SegmentRule::full_mss}, 2048};
  EXPECT_THAT(board.payloads, ElementsAre(1460u));
  board.net.run(500ms);  // 588 bytes of window are left, and nothing goes
  EXPECT_THAT(board.payloads, ElementsAre(1460u));
}

TEST(SegmentRule, FullMssGoesOnAtOnceWhenTheWindowOpens) {
  SmallReceiver board{{.segment_rule = SegmentRule::full_mss}, 2048};
  for (int i = 0; i < 50; ++i) {
    board.net.run(20ms);  // longer than a tick of lwIP, in all
    const Instant opened = board.net.queue.now();
    board.read_all();
    board.net.run(1ms);
    EXPECT_LT(board.starts.back() - opened, 200us);
  }
  EXPECT_EQ(board.payloads.size(), 51u);
  EXPECT_THAT(board.payloads, Each(1460u));
}

TEST(SegmentRule, FullMssFillsALargerWindowWithWholeSegments) {
  SmallReceiver board{{.segment_rule = SegmentRule::full_mss}, 8192};
  EXPECT_THAT(board.payloads, ElementsAre(1460u, 1460u, 1460u, 1460u, 1460u));
  board.read_all();
  board.net.run(2ms);
  EXPECT_EQ(board.payloads.size(), 10u);
  EXPECT_THAT(board.payloads, Each(1460u));
}

TEST(SegmentRule, FullMssFillsAWindowBelowTheMssAsAWhole) {
  SmallReceiver board{{.segment_rule = SegmentRule::full_mss}, 1024};
  for (int i = 0; i < 3; ++i) {
    board.read_all();
    board.net.run(2ms);
  }
  EXPECT_THAT(board.payloads, ElementsAre(1024u, 1024u, 1024u, 1024u));
}

// RFC 9293 3.8.6.2.1 (4): a timeout overrides the avoidance, lest two silent ends wait for each other for good.
TEST(SegmentRule, FullMssFillsTheWindowInTheEndIfItStaysSmall) {
  SmallReceiver board{{.segment_rule = SegmentRule::full_mss}, 2048};
  board.net.run(2s);
  EXPECT_THAT(board.payloads, ElementsAre(1460u, 588u));
  EXPECT_GT(board.starts[1] - board.starts[0], 900ms);
  board.read_all();
  board.net.run(2ms);
  EXPECT_THAT(board.payloads, ElementsAre(1460u, 588u, 872u));
  board.read_all();
  board.net.run(2ms);
  EXPECT_EQ(board.payloads.back(), 1460u);
}

TEST(SegmentRule, SendsTheRestOfAStreamInOneShortSegmentAtItsEnd) {
  for (const SegmentRule rule : {SegmentRule::half_window, SegmentRule::full_mss}) {
    SmallReceiver board{{.segment_rule = rule}, 16384, 3000};
    EXPECT_THAT(board.payloads, ElementsAre(1460u, 1460u, 80u));
    EXPECT_TRUE(board.source.finished());
  }
}

TEST(SegmentRule, CutsOnlyWholeSegmentsHoweverTheAcksFall) {
  SmallReceiver board{{.segment_rule = SegmentRule::full_mss}, 65535};
  for (int i = 0; i < 100; ++i) {
    board.read_all();
    board.net.run(500us);
  }
  EXPECT_GT(board.payloads.size(), 300u);
  EXPECT_THAT(board.payloads, Each(1460u));
}

}  // namespace
}  // namespace wizloop::net
