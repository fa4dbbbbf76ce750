#include "sim/net/services/pinger.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

using testing::Each;
using testing::ElementsAre;

Duration both_ways(std::size_t payload_bytes) {
  return 2 * wire::time_on_wire(14 + 20 + 8 + payload_bytes, fast_ethernet);
}

TEST(Pinger, MeasuresFromTheFirstBitToTheReplyAndBothTurnarounds) {
  TwoHosts net{{.turnaround = 20us}, {.delay = 3us}, {.turnaround = 50us}};
  net.pc->resolve(board_ip);
  net.run(1ms);
  for (const std::size_t payload : {std::size_t{0}, std::size_t{56}, std::size_t{1472}}) {
    Pinger pinger{*net.pc, {.target = board_ip, .payload_bytes = payload, .count = 3, .interval = 1ms}};
    net.run(10ms);
    EXPECT_TRUE(pinger.finished());
    EXPECT_EQ(pinger.counters().sent, 3u);
    EXPECT_EQ(pinger.counters().answered, 3u);
    EXPECT_THAT(pinger.counters().rtt, Each(both_ways(payload) + 2 * 3us + 50us + 20us));
  }
}

TEST(Pinger, SendsOneRequestAtATimeAtItsInterval) {
  TwoHosts net;
  net.pc->resolve(board_ip);
  net.run(1ms);
  FrameLog log;
  net.link.observe(log);
  Pinger pinger{*net.pc, {.target = board_ip, .count = 3, .interval = 2ms, .start = Instant{} + 5ms}};
  net.run(1s);
  std::vector<Instant> requests;
  for (const FrameLog::Entry& entry : log.entries) {
    if (entry.from == End::host) requests.push_back(entry.start);
  }
  EXPECT_THAT(requests, ElementsAre(Instant{} + 5ms, Instant{} + 7ms, Instant{} + 9ms));
}

TEST(Pinger, CountsRequestsThatNobodyAnswers) {
  TwoHosts net;
  net.pc->resolve(board_ip);
  net.run(1ms);
  net.link.set_up(false);
  Pinger pinger{*net.pc, {.target = board_ip, .count = 4, .interval = 10ms, .timeout = 30ms}};
  net.run(75ms);
  EXPECT_FALSE(pinger.finished());
  EXPECT_EQ(pinger.counters().lost, 2u);
  net.link.set_up(true);
  net.run(1s);
  EXPECT_TRUE(pinger.finished());
  EXPECT_EQ(pinger.counters().lost, 3u);  // the third was sent while the cable was still out
  EXPECT_EQ(pinger.counters().answered, 1u);
  EXPECT_EQ(pinger.counters().rtt.size(), 1u);
}

TEST(Pinger, IncludesTheSearchForTheMacOfAnUnknownNeighbour) {
  TwoHosts net;
  Pinger pinger{*net.pc, {.target = board_ip, .count = 2, .interval = 1ms}};
  net.run(10ms);
  ASSERT_EQ(pinger.counters().rtt.size(), 2u);
  EXPECT_EQ(pinger.counters().rtt[1], both_ways(56));
  EXPECT_EQ(pinger.counters().rtt[0], both_ways(56) + 2 * wire::time_on_wire(42, fast_ethernet));
}

}  // namespace
}  // namespace wizloop::net
