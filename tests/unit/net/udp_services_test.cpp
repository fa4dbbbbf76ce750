#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/net/services/udp_echo.hpp"
#include "sim/net/services/udp_sink.hpp"
#include "sim/net/services/udp_source.hpp"
#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

using testing::ElementsAre;

// Two PCs that know each other's MAC, so that only datagrams are on the wire.
struct UdpTest : testing::Test {
  void start(const PeerProfile& pc_profile, const LinkProfile& link_profile = {}) {
    net.emplace(pc_profile, link_profile);
    net->pc->resolve(board_ip);
    net->board->resolve(pc_ip);
    net->run(1ms);
    net->link.observe(log);
  }
  std::vector<Duration> starts_from(End from) const {
    std::vector<Duration> starts;
    for (const FrameLog::Entry& entry : log.entries) {
      if (entry.from == from) starts.push_back(entry.start - Instant{});
    }
    return starts;
  }

  FrameLog log;
  std::optional<TwoHosts> net;
};

TEST_F(UdpTest, SourceSendsAtItsIntervalToThePicosecond) {
  start({});
  UdpSink sink{*net->board, 5001};
  UdpSource source{
      *net->pc,
      {.to = {board_ip, 5001}, .payload_bytes = 1470, .interval = 1176us, .count = 4, .start = Instant{} + 10ms}};
  net->run(1s);
  EXPECT_THAT(starts_from(End::host), ElementsAre(10ms, 10ms + 1176us, 10ms + 2352us, 10ms + 3528us));
  EXPECT_EQ(log.entries[0].bytes.size(), 14u + 20u + 8u + 1470u);
  EXPECT_EQ(source.counters().datagrams, 4u);
  EXPECT_EQ(source.counters().bytes, 4u * 1470u);
  EXPECT_EQ(sink.counters().datagrams, 4u);
  EXPECT_EQ(sink.counters().bytes, 4u * 1470u);
  EXPECT_EQ(sink.counters().missing, 0u);
  EXPECT_EQ(sink.counters().late, 0u);
}

TEST_F(UdpTest, SourceWithACoarseTimerSendsInBursts) {
  start({.timer_tick = 2ms});
  UdpSource source{
      *net->pc,
      {.to = {board_ip, 5001}, .payload_bytes = 100, .interval = 700us, .count = 7, .start = Instant{} + 2100us}};
  // due: 2.1 2.8 3.5 | 4.2 4.9 5.6 | 6.3
  net->run(9ms);
  const Duration step = wire::time_on_wire(142, fast_ethernet) + wire::inter_packet_gap(fast_ethernet);
  EXPECT_THAT(starts_from(End::host),
              ElementsAre(4ms, 4ms + step, 4ms + 2 * step, 6ms, 6ms + step, 6ms + 2 * step, 8ms));
}

TEST_F(UdpTest, SourceWithACoarseTimerSendsAtTheTickWhatIsDueThen) {
  start({.timer_tick = 2ms});
  UdpSource source{*net->pc,
                   {.to = {board_ip, 5001}, .payload_bytes = 8, .interval = 2ms, .count = 2, .start = Instant{} + 4ms}};
  net->run(1s);
  EXPECT_THAT(starts_from(End::host), ElementsAre(4ms, 6ms));
}

TEST_F(UdpTest, SourceStops) {
  start({});
  UdpSource source{*net->pc, {.to = {board_ip, 5001}, .payload_bytes = 8, .interval = 1ms, .start = net->queue.now()}};
  net->run(4500us);
  source.stop();
  net->run(1s);
  EXPECT_EQ(source.counters().datagrams, 5u);
}

TEST_F(UdpTest, SinkCountsWhatIsMissing) {
  start({}, {.loss_ppm = 200'000});
  log.entries.clear();
  UdpSink sink{*net->board, 5001};
  UdpSource source{*net->pc, {.to = {board_ip, 5001}, .payload_bytes = 20, .interval = 100us, .count = 500}};
  net->run(1s);
  const std::uint64_t lost = net->link.counters(End::host).lost;
  EXPECT_GT(lost, 50u);
  EXPECT_EQ(sink.counters().late, 0u);
  EXPECT_GE(source.counters().datagrams, sink.counters().datagrams + sink.counters().missing);
  EXPECT_NEAR(static_cast<double>(sink.counters().missing), static_cast<double>(lost), 10);
}

struct SinkTest : testing::Test {
  SinkTest() {
    net.pc->resolve(board_ip);
    net.run(1ms);
  }
  void send(std::initializer_list<std::uint8_t> payload) {
    sender.send({board_ip, 5001}, std::vector<std::uint8_t>(payload));
    net.run(1ms);
  }
  TwoHosts net;
  UdpSink sink{*net.board, 5001};
  UdpPort sender{*net.pc, 0, [](const UdpPort::Address&, Bytes) {}};
};

TEST_F(SinkTest, ReadsTheNumberBigEndian) {
  send({0, 0, 0, 255});
  send({0, 0, 1, 0});
  EXPECT_EQ(sink.counters().missing, 0u);
  send({0, 0, 1, 3, 99});
  EXPECT_EQ(sink.counters().missing, 2u);
}

TEST_F(SinkTest, CountsOldNumbersAsLate) {
  send({0, 0, 0, 7});
  send({0, 0, 0, 8});
  send({0, 0, 0, 7});
  send({0, 0, 0, 9});
  EXPECT_EQ(sink.counters().late, 1u);
  EXPECT_EQ(sink.counters().missing, 0u);
  EXPECT_EQ(sink.counters().datagrams, 4u);
}

TEST_F(SinkTest, TakesShortDatagramsWithoutANumber) {
  send({1, 2, 3});
  send({});
  send({9});
  EXPECT_EQ(sink.counters().datagrams, 3u);
  EXPECT_EQ(sink.counters().bytes, 4u);
  EXPECT_EQ(sink.counters().missing, 0u);
}

TEST_F(UdpTest, EchoSendsBackAfterTheTurnaround) {
  start({.turnaround = 25us});
  UdpEcho echo{*net->pc, 7};
  std::vector<std::uint8_t> answer;
  UdpPort::Address from;
  UdpPort client{*net->board, 4000, [&](const UdpPort::Address& sender, Bytes payload) {
                   from = sender;
                   answer.assign(payload.begin(), payload.end());
                 }};
  const std::vector<std::uint8_t> question = {1, 2, 3, 4, 5, 6, 7, 8};
  const Duration asked = net->queue.now() - Instant{};
  EXPECT_TRUE(client.send({pc_ip, 7}, question));
  net->run(1ms);
  EXPECT_EQ(answer, question);
  EXPECT_EQ(from.ip, pc_ip);
  EXPECT_EQ(from.port, 7);
  EXPECT_THAT(starts_from(End::host), ElementsAre(asked + wire::time_on_wire(50, fast_ethernet) + 25us));
  EXPECT_EQ(echo.counters().datagrams, 1u);
  EXPECT_EQ(echo.counters().bytes, 8u);
}

constexpr std::uint8_t question[] = {1, 2, 3, 4, 5};

TEST(UdpPort, HearsAStationWithoutAnAddress) {
  HostAndStation net{{.turnaround = 25us}};
  std::vector<Instant> heard;
  UdpPort port{*net.pc, 67, [&](const UdpPort::Address& from, Bytes payload) {
                 EXPECT_EQ(from.ip, 0u);
                 EXPECT_EQ(from.port, 68);
                 EXPECT_THAT(payload, testing::ElementsAreArray(question));
                 heard.push_back(net.queue.now());
               }};
  const Instant limited = net.send_udp({0, 68}, {wire::broadcast_ipv4, 67}, question);
  const Instant of_the_subnet = net.send_udp({0, 68}, {pc_ip | 0xFF, 67}, question);
  const Instant unicast = net.send_udp({0, 68}, {pc_ip, 67}, question);
  net.run(1ms);
  EXPECT_THAT(heard, ElementsAre(limited + 25us, of_the_subnet + 25us, unicast + 25us));
}

TEST(UdpPort, LeavesAloneWhatAStationWithoutAnAddressSendsElsewhere) {
  HostAndStation net{{}};
  std::uint64_t heard = 0;
  UdpPort port{*net.pc, 67, [&](const UdpPort::Address&, Bytes) { ++heard; }};
  net.send_udp({0, 68}, {wire::broadcast_ipv4, 68}, question);
  net.send_udp({0, 68}, {pc_ip + 1, 67}, question);
  net.run(1ms);
  EXPECT_EQ(heard, 0u);
  EXPECT_EQ(net.pc->counters().sent, 0u);
}

TEST(UdpPort, HearsABroadcastFromAStationWithAnAddress) {
  HostAndStation net{{}};
  std::uint64_t heard = 0;
  UdpPort port{*net.pc, 67, [&](const UdpPort::Address& from, Bytes) {
                 EXPECT_EQ(from.ip, board_ip);
                 ++heard;
               }};
  net.send_udp({board_ip, 68}, {wire::broadcast_ipv4, 67}, question);
  net.send_udp({board_ip, 68}, {pc_ip | 0xFF, 67}, question);
  net.run(1ms);
  EXPECT_EQ(heard, 2u);
}

TEST(UdpPort, SendsToEverybody) {
  HostAndStation net{{}};
  UdpPort port{*net.pc, 67, [](const UdpPort::Address&, Bytes) {}};
  EXPECT_TRUE(port.send({wire::broadcast_ipv4, 68}, question));
  net.run(1ms);
  ASSERT_EQ(net.datagrams.size(), 1u);
  const UdpDatagram& datagram = net.datagrams[0].datagram;
  EXPECT_EQ(datagram.destination, wire::broadcast_mac);
  EXPECT_EQ(datagram.ip.source, pc_ip);
  EXPECT_EQ(datagram.ip.destination, wire::broadcast_ipv4);
  EXPECT_THAT(datagram.payload, testing::ElementsAreArray(question));
}

TEST(UdpPort, SendsToANeighbourThatDoesNotKnowItsAddressYet) {
  HostAndStation net{{}};
  UdpPort port{*net.pc, 67, [](const UdpPort::Address&, Bytes) {}};
  port.send_to(board_mac, {wire::ipv4(192, 168, 1, 77), 68}, question);
  net.run(1ms);
  EXPECT_EQ(net.pc->counters().sent, 1u);  // no ARP
  ASSERT_EQ(net.datagrams.size(), 1u);
  const UdpDatagram& datagram = net.datagrams[0].datagram;
  EXPECT_EQ(datagram.destination, board_mac);
  EXPECT_EQ(datagram.ip.source, pc_ip);
  EXPECT_EQ(datagram.ip.destination, wire::ipv4(192, 168, 1, 77));
  EXPECT_EQ(datagram.header.source_port, 67);
  EXPECT_EQ(datagram.header.destination_port, 68);
  EXPECT_THAT(datagram.payload, testing::ElementsAreArray(question));
}

}  // namespace
}  // namespace wizloop::net
