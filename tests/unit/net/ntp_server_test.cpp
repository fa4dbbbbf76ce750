#include "sim/net/services/ntp_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

using wire::Ntp;

constexpr UdpPort::Address client = {board_ip, 8888};
constexpr std::int64_t start = 1'767'225'600;

struct NtpServerTest : testing::Test {
  NtpServerTest() {
    net.pc->resolve(board_ip);
    net.run(1ms);
  }
  std::optional<Ntp> ask(const Ntp& query) {
    net.datagrams.clear();
    net.send_udp(client, {pc_ip, Ntp::port}, query.emit());
    net.run(10ms);
    if (net.datagrams.empty()) return std::nullopt;
    EXPECT_EQ(net.datagrams.size(), 1u);
    EXPECT_EQ(net.datagrams[0].datagram.header.source_port, 123);
    return Ntp::parse(net.datagrams[0].datagram.payload);
  }

  HostAndStation net{{.turnaround = 20us}};
};

TEST_F(NtpServerTest, TellsVirtualTimeFromItsStart) {
  NtpServer server{*net.pc, {.start_unix_s = start, .answer_delay = 2ms}};
  net.run(5s);
  const Instant asked = net.queue.now();
  const auto answer = ask({.version = 3, .poll = 4, .transmit = 0x1122334455667788});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->leap, 0);
  EXPECT_EQ(answer->version, 3);
  EXPECT_EQ(answer->mode, Ntp::server);
  EXPECT_EQ(answer->stratum, 1);
  EXPECT_EQ(answer->poll, 4);
  EXPECT_EQ(answer->origin, 0x1122334455667788u);
  const Duration received = asked - Instant{} + wire::time_on_wire(14 + 20 + 8 + 48, fast_ethernet) + 20us;
  EXPECT_EQ(answer->receive, Ntp::timestamp(start, received));
  EXPECT_EQ(answer->transmit, Ntp::timestamp(start, received + 2ms));
  EXPECT_EQ(server.counters().answered, 1u);
}

TEST_F(NtpServerTest, TakesTheSmallestQueryOfASimpleClient) {
  NtpServer server{*net.pc, {}};
  EXPECT_TRUE(ask({.leap = 3, .version = 4}));
  EXPECT_TRUE(ask({.version = 1}));
}

TEST_F(NtpServerTest, IgnoresAndRefusesAsOftenAsItIsTold) {
  NtpServer server{*net.pc, {.ignored_queries = 2, .refused_queries = 1}};
  EXPECT_FALSE(ask({}));
  EXPECT_FALSE(ask({}));
  const auto kiss = ask({});
  ASSERT_TRUE(kiss);
  EXPECT_EQ(kiss->stratum, 0);
  EXPECT_EQ(kiss->leap, 3);
  EXPECT_EQ(kiss->reference_identifier, 0x52415445u);
  const auto answer = ask({});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stratum, 1);
  EXPECT_EQ(server.counters().queries, 4u);
  EXPECT_EQ(server.counters().ignored, 2u);
  EXPECT_EQ(server.counters().refused, 1u);
  EXPECT_EQ(server.counters().answered, 1u);
}

TEST_F(NtpServerTest, IsSilentToAllButClients) {
  NtpServer server{*net.pc, {}};
  std::uint64_t answered = 0;
  for (int first = 0; first < 256; ++first) {
    auto query = Ntp{}.emit();
    query[0] = static_cast<std::uint8_t>(first);
    net.datagrams.clear();
    net.send_udp(client, {pc_ip, Ntp::port}, query);
    net.run(1ms);
    answered += net.datagrams.size();
  }
  net.datagrams.clear();
  net.send_udp(client, {pc_ip, Ntp::port}, Bytes{Ntp{}.emit()}.first(47));
  net.send_udp(client, {pc_ip, Ntp::port}, Bytes{});
  net.run(1ms);
  EXPECT_EQ(net.datagrams.size(), 0u);
  EXPECT_EQ(answered, 4u * 4u);  // versions 1 to 4, with each leap indicator
  EXPECT_EQ(server.counters().malformed, 256u - 16u + 2u);
}

}  // namespace
}  // namespace wizloop::net
