// dhcp, dns and ping-stats, against the PC; stats and selftest.
#include "sim/net/services/dhcp_server.hpp"
#include "sim/net/services/dns_server.hpp"
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class NameVerbs : public BoardTest {};

TEST_F(NameVerbs, DhcpGetsAnAddressAndKeepsIt) {
  net::DhcpServer server{pc(),
                         {.first = wire::ipv4(192, 168, 1, 100),
                          .addresses = 5,
                          .routers = {testbed::pc_ip},
                          .dns_servers = {testbed::pc_ip}}};
  EXPECT_THAT(ask("dhcp host=board-17"),
              StartsWith("ok ip=192.168.1.100 mask=255.255.255.0 gw=192.168.1.10 dns=192.168.1.10 dns2=0.0.0.0 "
                         "server=192.168.1.10 lease_s=3600 us="));
  EXPECT_THAT(ask("net"), HasSubstr(" ip=192.168.1.100 mask=255.255.255.0 gw=192.168.1.10 "));
  EXPECT_THAT(ask("reset"), StartsWith("ok"));
  EXPECT_THAT(ask("net"), HasSubstr(" ip=192.168.1.100 "));
}

TEST_F(NameVerbs, WithoutAServerTheAddressStays) {
  EXPECT_THAT(ask("dhcp timeout_ms=3000 every_ms=0"), StartsWith("err timeout us="));
  EXPECT_THAT(ask("net"), HasSubstr(" ip=192.168.1.20 "));
}

TEST_F(NameVerbs, DnsFindsAddresses) {
  net::DnsServer server{pc(),
                        {.names = {{"broker.lan", wire::ipv4(10, 0, 0, 1)}, {"broker.lan", wire::ipv4(10, 0, 0, 2)}}}};
  EXPECT_THAT(ask("dns name=broker.lan server=192.168.1.10"), StartsWith("ok ip=10.0.0.1,10.0.0.2 ttl_s=300 us="));
  EXPECT_THAT(ask("dns name=nobody.lan server=192.168.1.10"), StartsWith("err no-such-name us="));
}

TEST_F(NameVerbs, DnsAsksTheServerOfTheLease) {
  net::DhcpServer dhcp{pc(), {.first = wire::ipv4(192, 168, 1, 100), .dns_servers = {testbed::pc_ip}}};
  net::DnsServer dns{pc(), {.names = {{"broker.lan", wire::ipv4(10, 0, 0, 1)}}}};
  EXPECT_EQ(ask("dns name=broker.lan"), "err missing-key server");
  EXPECT_THAT(ask("dhcp probe=0"), StartsWith("ok ip=192.168.1.100 "));
  EXPECT_THAT(ask("dns name=broker.lan"), StartsWith("ok ip=10.0.0.1 "));
}

TEST_F(NameVerbs, DnsWithoutAnswerOrWithANameThatIsNone) {
  EXPECT_THAT(ask("dns name=a.lan server=192.168.1.10"), StartsWith("err no-answer us="));
  EXPECT_THAT(ask("dns name=a..lan server=192.168.1.10"), StartsWith("err bad-value us="));
  EXPECT_EQ(ask("dns name=" + std::string(254, 'x') + " server=192.168.1.10"), "err bad-value name");
}

TEST_F(NameVerbs, CancelEndsADhcpExchange) {
  at(500ms, "\x03");
  EXPECT_THAT(ask("dhcp"), StartsWith("err cancelled us="));
  EXPECT_THAT(ask("net"), HasSubstr(" ip=192.168.1.20 "));
}

TEST_F(NameVerbs, PingCountsRoundTrips) {
  const std::string answer = ask("ping-stats ip=192.168.1.10 count=10 interval_ms=10 size=1000");
  EXPECT_THAT(answer, StartsWith("ok sent=10 received=10 lost=0 bad=0 us="));
  EXPECT_GT(number_of(answer, "rtt_min_us"), 100U);
  EXPECT_LE(number_of(answer, "rtt_min_us"), number_of(answer, "rtt_avg_us"));
}

TEST_F(NameVerbs, PingOfNobodyIsLost) {
  EXPECT_THAT(ask("ping-stats ip=192.168.1.99 count=2 wait_ms=100 interval_ms=100"),
              StartsWith("ok sent=2 received=0 lost=2 bad=0 us="));
}

TEST_F(NameVerbs, SelftestWalksTheChipOnEveryPath) {
  EXPECT_THAT(ask("selftest"),
              StartsWith(std::string{"ok bad_registers_byte=0 bad_registers_burst=0 bad_bytes_byte=0 "
                                     "bad_bytes_burst=0 "} +
                         (kind.has_dma ? "bad_registers_dma=0 bad_bytes_dma=0 " : "") + "spi_errors=0 us="));
}

TEST_F(NameVerbs, StatsCount) {
  ask("stats clear=1");
  ask("frobnicate");
  ask("path *0000");
  const std::string answer = ask("stats");
  EXPECT_EQ(number_of(answer, "requests"), 3U);
  EXPECT_EQ(number_of(answer, "errors"), 2U);
  EXPECT_EQ(number_of(answer, "crc_errors"), 1U);
  EXPECT_GT(number_of(answer, "uptime_us"), 1'000'000U);
}

}  // namespace
}  // namespace wizloop::test
