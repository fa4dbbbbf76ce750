#include "drivers/w5500/ping.hpp"

#include "sim/net/services/pinger.hpp"
#include "sim/wire/icmp.hpp"
#include "tests/unit/driver/testbed_test.hpp"

namespace wizloop::test {
namespace {

using testbed::board_ip;
using w5500::Ping;
using w5500::PingOptions;
using w5500::PingStats;
using w5500::Result;
using wire::IcmpHeader;
using wire::ipv4;

constexpr std::uint8_t pc[4] = {192, 168, 1, 10};
constexpr std::uint8_t other[4] = {192, 168, 1, 77};
constexpr wire::Ipv4Address other_ip = ipv4(192, 168, 1, 77);

class PingTest : public TestbedTest {
 protected:
  void SetUp() override { build_with_address(); }

  static Bytes echo(std::uint8_t type, std::uint16_t identifier, std::uint16_t sequence, const Bytes& payload) {
    Bytes message(IcmpHeader::bytes + payload.size());
    std::copy(payload.begin(), payload.end(), message.begin() + IcmpHeader::bytes);
    IcmpHeader{type, 0, identifier, sequence}.emit(message);
    return message;
  }

  Ping ping_of_socket_5() { return {*chip, 5}; }

  // Sends one request to the other station, which the test answers.
  std::unique_ptr<Ping> ask(const PingOptions& options) {
    occupy(other_ip);
    auto ping = std::make_unique<Ping>(*chip, std::uint8_t{5});
    EXPECT_TRUE(ping->start(other, options));
    EXPECT_FALSE(ping->poll().value());
    idle(1ms);
    EXPECT_EQ(ping->stats().sent, 1u);
    return ping;
  }
};
WIZLOOP_ON_EVERY_BUS(PingTest);

TEST_P(PingTest, CountsRoundTrips) {
  Ping ping = ping_of_socket_5();
  PingOptions options;
  options.count = 10;
  options.interval_us = 10'000;
  const Duration taken = time_of([&] {
    const Result<PingStats> stats = ping.run(pc, options);
    ASSERT_TRUE(stats) << stats.error();
    EXPECT_EQ(stats.value().sent, 10u);
    EXPECT_EQ(stats.value().received, 10u);
    EXPECT_EQ(stats.value().timeouts, 0u);
    EXPECT_EQ(stats.value().damaged, 0u);
    // The PC's turnaround is 50 us, the wires take 7 us each way; the first one waits for ARP too.
    EXPECT_GE(stats.value().min_us, 60u);
    EXPECT_LE(stats.value().min_us, 150u);
    EXPECT_GT(stats.value().max_us, stats.value().min_us);
    EXPECT_GE(stats.value().mean_us(), stats.value().min_us);
    EXPECT_LE(stats.value().mean_us(), stats.value().max_us);
  });
  EXPECT_GE(taken, 90ms);
  EXPECT_LT(taken, 92ms);
  EXPECT_EQ(ping.poll().error(), Error::wrong_state);  // it has ended
}

TEST_P(PingTest, CarriesEachSizeOfPayload) {
  Ping ping = ping_of_socket_5();
  PingOptions options;
  options.count = 1;
  for (const int bytes : {0, 1, 2, 63, 64, 65, 127, 128, 999, 1471, 1472}) {
    options.payload_bytes = static_cast<std::uint16_t>(bytes);
    const Result<PingStats> stats = ping.run(pc, options);
    ASSERT_TRUE(stats);
    EXPECT_EQ(stats.value().received, 1u) << bytes;
  }
  options.payload_bytes = 1473;
  EXPECT_EQ(ping.run(pc, options).error(), Error::invalid_argument);
  options = {};
  options.count = 0;
  EXPECT_EQ(ping.run(pc, options).error(), Error::invalid_argument);  // would never end
}

TEST_P(PingTest, AnAbsentHostTimesOut) {
  Ping ping = ping_of_socket_5();
  PingOptions options;
  options.count = 3;
  options.timeout_us = 500'000;
  const Duration taken = time_of([&] {
    const Result<PingStats> stats = ping.run(other, options);
    ASSERT_TRUE(stats) << stats.error();
    EXPECT_EQ(stats.value().sent, 3u);
    EXPECT_EQ(stats.value().received, 0u);
    EXPECT_EQ(stats.value().timeouts, 3u);
    EXPECT_EQ(stats.value().mean_us(), 0u);
  });
  EXPECT_GE(taken, 2500ms);
  EXPECT_LT(taken, 2600ms);
}

TEST_P(PingTest, AHostWhoseArpIsGivenUpTimesOut) {
  Ping ping = ping_of_socket_5();
  ASSERT_TRUE(chip->set_retry(100, 1));  // 20 ms
  PingOptions options;
  options.count = 3;
  options.timeout_us = options.interval_us = 100'000;
  const Result<PingStats> stats = ping.run(other, options);
  ASSERT_TRUE(stats) << stats.error();
  EXPECT_EQ(stats.value().timeouts, 3u);
}

TEST_P(PingTest, CountsLossInBothDirections) {
  build_with_address({{"fault.link_loss", "every=5,from=1ms"}});
  Ping ping = ping_of_socket_5();
  PingOptions options;
  options.count = 50;
  options.interval_us = options.timeout_us = 10'000;
  const Result<PingStats> stats = ping.run(pc, options);
  ASSERT_TRUE(stats) << stats.error();
  EXPECT_EQ(stats.value().sent, 50u);
  EXPECT_GE(stats.value().timeouts, 10u);
  EXPECT_LE(stats.value().timeouts, 25u);
  EXPECT_EQ(stats.value().received + stats.value().timeouts, 50u);
}

TEST_P(PingTest, PollsDoNotWaitUnlessTold) {
  Ping ping = ping_of_socket_5();
  PingOptions options;
  options.count = 2;
  options.interval_us = 50'000;
  ASSERT_TRUE(ping.start(pc, options));
  EXPECT_FALSE(ping.poll().value());
  EXPECT_LT(time_of([&] { EXPECT_FALSE(ping.poll().value()); }), 100us);  // nothing yet
  idle(5ms);
  EXPECT_FALSE(ping.poll().value());
  EXPECT_EQ(ping.stats().received, 1u);
  EXPECT_LT(time_of([&] { EXPECT_FALSE(ping.poll().value()); }), 100us);  // not due yet
  EXPECT_GE(time_of([&] { EXPECT_FALSE(ping.poll(20'000).value()); }), 20ms);
  int polls = 0;
  while (!ping.poll(1'000).value() && polls < 100) ++polls;
  EXPECT_LT(polls, 100);
  EXPECT_EQ(ping.stats().received, 2u);
}

TEST_P(PingTest, GoesOnUntilItIsStopped) {
  Ping ping = ping_of_socket_5();
  PingOptions options;
  options.count = 0;
  options.interval_us = 1'000;
  ASSERT_TRUE(ping.start(pc, options));
  for (int i = 0; i < 60; ++i) EXPECT_FALSE(ping.poll(1'000).value());
  EXPECT_TRUE(ping.stop());
  EXPECT_GE(ping.stats().received, 20u);
  EXPECT_EQ(ping.poll().error(), Error::wrong_state);
}

TEST_P(PingTest, TheChipAnswersThePcsPingsMeanwhile) {
  net::Pinger from_pc{bed->pc(), {.target = board_ip, .count = 20, .interval = 2ms}};
  Ping ping = ping_of_socket_5();
  PingOptions options;
  options.count = 20;
  options.interval_us = 3'000;
  const Result<PingStats> stats = ping.run(pc, options);
  ASSERT_TRUE(stats);
  EXPECT_EQ(stats.value().received, 20u);
  EXPECT_EQ(from_pc.counters().answered, 20u);
  EXPECT_EQ(from_pc.counters().damaged, 0u);
}

TEST_P(PingTest, OnlyTheAnswerToTheLastRequestCounts) {
  PingOptions options;
  options.payload_bytes = 10;
  options.timeout_us = 500'000;
  const auto ping = ask(options);
  const Bytes payload = pattern(10);
  arrive(1, echo(IcmpHeader::echo_reply, 0x5751, 0, payload), other_ip);               // to another program
  arrive(1, echo(IcmpHeader::echo_reply, 0x5750, 1, payload), other_ip);               // another number
  arrive(1, echo(IcmpHeader::echo_request, 0x5750, 0, payload), other_ip);             // a question
  arrive(1, echo(IcmpHeader::echo_reply, 0x5750, 0, payload), ipv4(192, 168, 1, 78));  // from elsewhere
  arrive(1, Bytes(7), other_ip);                                                       // no message
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(ping->poll().value());
  EXPECT_EQ(ping->stats().received + ping->stats().damaged + ping->stats().timeouts, 0u);
  arrive(1, echo(IcmpHeader::echo_reply, 0x5750, 0, payload), other_ip);
  EXPECT_FALSE(ping->poll().value());
  EXPECT_EQ(ping->stats().received, 1u);
  EXPECT_GE(ping->stats().min_us, 6000u);
}

TEST_P(PingTest, RepliesThatDoNotRepeatTheRequestAreDamaged) {
  const Bytes right = echo(IcmpHeader::echo_reply, 0x5750, 0, pattern(70));
  Bytes payload = right;
  payload[77] ^= 1;
  IcmpHeader{IcmpHeader::echo_reply, 0, 0x5750, 0}.emit(payload);  // with a good checksum
  Bytes checksum = right;
  checksum[2] ^= 1;
  const Bytes shorter = echo(IcmpHeader::echo_reply, 0x5750, 0, pattern(69));
  const Bytes longer = echo(IcmpHeader::echo_reply, 0x5750, 0, pattern(71));
  for (const Bytes& reply : {payload, checksum, shorter, longer}) {
    PingOptions options;
    options.count = 1;
    options.payload_bytes = 70;
    const auto ping = ask(options);
    arrive(1, reply, other_ip);
    EXPECT_TRUE(ping->poll().value());
    EXPECT_EQ(ping->stats().damaged, 1u);
    EXPECT_EQ(ping->stats().received, 0u);
  }
}

TEST_P(PingTest, ALateReplyIsNotTakenForThatOfTheNextRequest) {
  PingOptions options;
  options.count = 2;
  options.payload_bytes = 4;
  options.timeout_us = options.interval_us = 20'000;
  const auto ping = ask(options);
  idle(20ms);
  EXPECT_FALSE(ping->poll().value());  // times out, and asks again
  EXPECT_EQ(ping->stats().timeouts, 1u);
  EXPECT_EQ(ping->stats().sent, 2u);
  arrive(1, echo(IcmpHeader::echo_reply, 0x5750, 0, pattern(4)), other_ip);
  arrive(1, echo(IcmpHeader::echo_reply, 0x5750, 1, pattern(4)), other_ip);
  EXPECT_FALSE(ping->poll().value());
  EXPECT_TRUE(ping->poll().value());
  EXPECT_EQ(ping->stats().received, 1u);
}

class PingOnABrokenDmaTest : public PingTest {};
INSTANTIATE_TEST_SUITE_P(OnItsBus, PingOnABrokenDmaTest, testing::Values(BusKind::dma), bus_name);

TEST_P(PingOnABrokenDmaTest, AFailedTransferEndsTheRun) {
  for (int nth = 1; nth < 40; ++nth) {
    SCOPED_TRACE(nth);
    build_with_address({{"fault.dma_never", "nth=" + std::to_string(nth)}});
    Ping ping = ping_of_socket_5();
    PingOptions options;
    options.count = 2;
    options.interval_us = 1'000;
    const Error error = ping.run(pc, options).error();
    const bool unbroken = bed->fault(Fault::dma_never)->struck() == 0;
    EXPECT_EQ(error, unbroken ? Error::none : Error::bus_failed);
    if (unbroken) return;
    const Result<PingStats> stats = ping.run(pc, options);
    ASSERT_TRUE(stats) << stats.error();
    EXPECT_EQ(stats.value().received, 2u);
    TearDown();
  }
  ADD_FAILURE() << "each run was broken";
}

}  // namespace
}  // namespace wizloop::test
