// Multicast UDP with IGMP versions 1 and 2, and wake on LAN: datasheet 4.1 (MR), 4.2 (Sn_MR); RFC 1112, RFC 2236.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/wire/igmp.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::SizeIs;
using Octets = std::vector<std::uint8_t>;

constexpr wire::Ipv4Address group = wire::ipv4(224, 1, 129, 5);
const wire::MacAddress group_mac = wire::multicast_mac(group);

class MulticastTest : public testing::Test {
 protected:
  MulticastTest() { board.configure(); }

  void open(std::uint8_t mode_bits = 0) {
    board.write(TestBoard::registers_of(0), socket::Sn_DHAR, {group_mac.begin(), group_mac.end()});
    board.set32(0, socket::Sn_DIPR, group);
    board.set16(0, socket::Sn_DPORT, 3000);
    board.set16(0, socket::Sn_PORT, 3000);
    board.set8(0, socket::Sn_MR, static_cast<std::uint8_t>(sn_mr::UDP | sn_mr::MULTI | mode_bits));
    board.command(0, sn_cr::OPEN);
    board.advance(1ms);
  }
  static wire::Igmp igmp(const SentFrame& frame) { return wire::Igmp::parse(frame.ip_payload()).value(); }
  void query(wire::Ipv4Address about) {
    Octets message(wire::Igmp::bytes);
    wire::Igmp{wire::Igmp::query, 100, about}.emit(message.data());
    const wire::Ipv4Address to = about == 0 ? wire::ipv4(224, 0, 0, 1) : about;
    board.arrive_ip(wire::protocol_igmp, message, to, wire::multicast_mac(to));
  }
  std::uint16_t received() { return board.get16(0, socket::Sn_RX_RSR); }

  TestBoard board;
};

TEST(IgmpTest, TheLow23BitsOfTheGroupMakeItsMac) {
  EXPECT_THAT(wire::multicast_mac(wire::ipv4(239, 255, 1, 2)), ElementsAre(0x01, 0x00, 0x5E, 0x7F, 1, 2));
}

TEST_F(MulticastTest, OpenReportsTheGroupAndCloseLeavesIt) {
  open();
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].ethernet().destination, group_mac);
  EXPECT_EQ(board.sent[0].ip().destination, group);
  EXPECT_EQ(board.sent[0].ip().ttl, 1);
  EXPECT_EQ(igmp(board.sent[0]).type, wire::Igmp::report_v2);
  EXPECT_EQ(igmp(board.sent[0]).group, group);
  EXPECT_EQ(board.interrupts(0), 0);
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].ip().destination, wire::ipv4(224, 0, 0, 2));
  EXPECT_EQ(board.sent[1].ethernet().destination, wire::multicast_mac(wire::ipv4(224, 0, 0, 2)));
  EXPECT_EQ(igmp(board.sent[1]).type, wire::Igmp::leave);
  EXPECT_EQ(igmp(board.sent[1]).group, group);
}

TEST_F(MulticastTest, VersionOneReportsAndLeavesInSilence) {
  open(sn_mr::MC);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(igmp(board.sent[0]).type, wire::Igmp::report_v1);
  board.command(0, sn_cr::CLOSE);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST_F(MulticastTest, QueriesAreAnsweredForAllGroupsAndForItsOwn) {
  open();
  board.sent.clear();
  query(0);
  const Instant asked = board.now();
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].at - asked, 10us);
  EXPECT_EQ(igmp(board.sent[0]).type, wire::Igmp::report_v2);
  query(group);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(2));
  query(wire::ipv4(224, 1, 1, 1));
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(2));
}

class GroupQueryTest : public testing::Test {
 protected:
  // Joins, asks, and returns after which time the report came; nothing if none came in 20 s.
  static std::optional<Duration> answer(TestBoard& board, std::uint8_t response_time, bool other_reports = false) {
    board.configure();
    board.write(TestBoard::registers_of(0), socket::Sn_DHAR, {group_mac.begin(), group_mac.end()});
    board.set32(0, socket::Sn_DIPR, group);
    board.set16(0, socket::Sn_PORT, 3000);
    board.set8(0, socket::Sn_MR, static_cast<std::uint8_t>(sn_mr::UDP | sn_mr::MULTI));
    board.command(0, sn_cr::OPEN);
    board.advance(1ms);
    board.sent.clear();
    const Instant asked = board.now();
    arrive(board, {wire::Igmp::query, response_time, 0}, wire::ipv4(224, 0, 0, 1));
    if (other_reports) arrive(board, {wire::Igmp::report_v2, 0, group}, group);
    board.advance(20s);
    if (board.sent.empty()) return std::nullopt;
    EXPECT_THAT(board.sent, SizeIs(1));
    return board.sent[0].at - asked;
  }

 private:
  static void arrive(TestBoard& board, const wire::Igmp& message, wire::Ipv4Address to) {
    Octets bytes(wire::Igmp::bytes);
    message.emit(bytes.data());
    board.arrive_ip(wire::protocol_igmp, bytes, to, wire::multicast_mac(to));
  }
};

TEST_F(GroupQueryTest, IsAnsweredAtOnceByDefaultWhateverOthersReport) {
  TestBoard first;
  EXPECT_EQ(answer(first, 100), 10us);
  TestBoard second;
  EXPECT_EQ(answer(second, 100, true), 10us);
}

// RFC 2236 3: somewhere up to Max Response Time, by the seed.
TEST_F(GroupQueryTest, RandomDelayStaysWithinTheMaxResponseTime) {
  Duration longest{};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestBoard board{seed, TestBoard::with("chip.quirk.group_query_answer", "random_delay")};
    TestBoard again{seed, TestBoard::with("chip.quirk.group_query_answer", "random_delay")};
    const auto delay = answer(board, 5);
    ASSERT_TRUE(delay.has_value());
    EXPECT_LE(*delay, 500ms + 10us);
    EXPECT_EQ(answer(again, 5), delay);
    longest = std::max(longest, *delay);
  }
  EXPECT_GT(longest, 300ms);
}

// RFC 2236 4: a query of version 1 has no Max Response Time; 10 s stand in for it.
TEST_F(GroupQueryTest, RandomDelayOfVersionOneReachesTenSeconds) {
  Duration longest{};
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    TestBoard board{seed, TestBoard::with("chip.quirk.group_query_answer", "random_delay")};
    longest = std::max(longest, answer(board, 0).value());
  }
  EXPECT_GT(longest, 6s);
  EXPECT_LE(longest, 10s + 10us);
}

TEST_F(GroupQueryTest, DelayedReportIsDroppedWhenAnotherMemberReports) {
  TestBoard board{1, TestBoard::with("chip.quirk.group_query_answer", "random_delay")};
  EXPECT_EQ(answer(board, 100, true), std::nullopt);
}

TEST_F(MulticastTest, SendGoesToTheGroupWithoutArp) {
  open();
  board.sent.clear();
  board.send(0, {1, 2});
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].ethernet().destination, group_mac);
  EXPECT_EQ(board.sent[0].ip().ttl, 128);
  EXPECT_THAT(board.sent[0].udp_payload(), ElementsAre(1, 2));
}

TEST_F(MulticastTest, TakesGroupTrafficUnicastAndBroadcastUnlessBlocked) {
  open();
  board.arrive_udp(1, 3000, {1}, group, group_mac);
  board.arrive_udp(1, 3000, {1});
  board.arrive_udp(1, 3000, {1}, wire::broadcast_ipv4, wire::broadcast_mac);
  board.arrive_udp(1, 3000, {1}, wire::ipv4(224, 1, 1, 1), wire::multicast_mac(wire::ipv4(224, 1, 1, 1)));
  board.advance(1ms);
  EXPECT_EQ(received(), 27);
}

TEST_F(MulticastTest, UcastbAndBcastbBlock) {
  open(sn_mr::UCASTB | sn_mr::BCASTB);
  board.arrive_udp(1, 3000, {1});
  board.arrive_udp(1, 3000, {1}, wire::broadcast_ipv4, wire::broadcast_mac);
  board.advance(1ms);
  EXPECT_EQ(received(), 0);
  board.arrive_udp(1, 3000, {1}, group, group_mac);
  board.advance(1ms);
  EXPECT_EQ(received(), 9);
}

TEST_F(MulticastTest, WithoutMultiGroupTrafficIsNotForTheChip) {
  board.set16(0, socket::Sn_PORT, 3000);
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.command(0, sn_cr::OPEN);
  board.arrive_udp(1, 3000, {1}, group, group_mac);
  board.advance(1ms);
  EXPECT_EQ(received(), 0);
  EXPECT_THAT(board.sent, SizeIs(0));
}

class WakeOnLanTest : public testing::Test {
 protected:
  WakeOnLanTest() {
    board.configure();
    magic.assign(6, 0xFF);
    for (int i = 0; i < 16; ++i) magic.insert(magic.end(), chip_mac.begin(), chip_mac.end());
  }
  void open_any_port() {
    board.set8(4, socket::Sn_MR, sn_mr::UDP);
    board.set16(4, socket::Sn_PORT, 1234);
    board.command(4, sn_cr::OPEN);
  }
  bool woken() {
    board.arrive_udp(1, 9, magic, wire::broadcast_ipv4, wire::broadcast_mac);
    board.advance(1ms);
    return (board.read(0, common::IR, 1)[0] & ir::MP) != 0;
  }
  TestBoard board;
  Octets magic;
};

TEST_F(WakeOnLanTest, AMagicPacketRaisesMpWithAnyUdpSocketOpen) {
  board.write(0, common::MR, {mr::WOL});
  EXPECT_FALSE(woken());
  open_any_port();
  EXPECT_TRUE(woken());
  board.write(0, common::IR, {ir::MP});
  EXPECT_THAT(board.read(0, common::IR, 1), ElementsAre(0));
}

TEST_F(WakeOnLanTest, NeedsTheModeBitAndTheOwnAddress) {
  open_any_port();
  EXPECT_FALSE(woken());
  board.write(0, common::MR, {mr::WOL});
  magic[50] ^= 1;
  EXPECT_FALSE(woken());
}

}  // namespace
}  // namespace wizloop::test
