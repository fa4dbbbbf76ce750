// The open questions about sockets and all that they speak but TCP: see quirks_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "sim/wire/igmp.hpp"
#include "tests/unit/chip/quirk_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::SizeIs;

// Sockets ------------------------------------------------------------------------------------------------------------

TEST(SocketQuirkTest, IllegalCommandSticksUntilALegalOne) {
  QuirkBoard board{"illegal_command", "stuck"};
  board.command(0, sn_cr::LISTEN);
  board.advance(1s);
  EXPECT_EQ(board.get8(0, socket::Sn_CR), sn_cr::LISTEN);
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.get8(0, socket::Sn_CR), 0);
}

TEST(SocketQuirkTest, OpenReopens) {
  QuirkBoard board{"open_on_open_socket", "reopens"};
  board.open(0, sn_mr::UDP);
  board.open(0, sn_mr::TCP);
  EXPECT_EQ(board.status(0), sn_sr::INIT);
}

TEST(SocketQuirkTest, SendDuringSendIsIgnored) {
  QuirkBoard board{"send_during_send", "ignored"};
  board.open_udp_to_peer();
  board.send_and_resolve({1});
  board.sent.clear();
  board.set16(0, socket::Sn_TX_WR, 2);
  board.set8(0, socket::Sn_CR, sn_cr::SEND);
  board.set16(0, socket::Sn_TX_WR, 3);
  board.set8(0, socket::Sn_CR, sn_cr::SEND);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST(SocketQuirkTest, EmptySendIsSilentOrAnEmptyDatagram) {
  QuirkBoard silent{"empty_send", "silent"};
  silent.open_udp_to_peer();
  silent.command(0, sn_cr::SEND);
  silent.advance(1ms);
  EXPECT_EQ(silent.interrupts(0), 0);
  EXPECT_THAT(silent.sent, SizeIs(0));
  QuirkBoard empty{"empty_send", "empty_datagram"};
  empty.open_udp_to_peer();
  empty.send_and_resolve({});
  ASSERT_THAT(empty.sent, SizeIs(2));
  EXPECT_THAT(empty.sent[1].udp_payload(), SizeIs(0));
  EXPECT_EQ(empty.interrupts(0), sn_ir::SENDOK);
}

TEST(SocketQuirkTest, RecvIsNotRaisedAgain) {
  QuirkBoard board{"recv_raised_again", "no"};
  board.open(0, sn_mr::UDP);
  board.arrive_udp(1, 5000, {1});
  board.advance(1ms);
  board.set8(0, socket::Sn_IR, 0xFF);
  board.command(0, sn_cr::RECV);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST(SocketQuirkTest, SnIrTakesOnlyWhatSnImrLetsThrough) {
  QuirkBoard board{"sn_ir_masking", "masked"};
  board.open(0, sn_mr::UDP);
  board.set8(0, socket::Sn_IMR, sn_ir::SENDOK);
  board.arrive_udp(1, 5000, {1});
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST(SocketQuirkTest, OpenClearsSnIr) {
  QuirkBoard board{"sn_ir_at_open", "cleared"};
  board.write(0, common::SIMR, {0x01});
  board.open(0, sn_mr::UDP);
  board.arrive_udp(1, 5000, {1});
  board.advance(1ms);
  board.command(0, sn_cr::CLOSE);
  ASSERT_EQ(board.interrupts(0), sn_ir::RECV);
  ASSERT_FALSE(board.chip.intn());
  board.command(0, sn_cr::OPEN);
  board.advance(1us);
  EXPECT_EQ(board.interrupts(0), 0);
  EXPECT_TRUE(board.chip.intn());
}

TEST(SocketQuirkTest, IntnPulsesBetweenSources) {
  QuirkBoard board{"intn_between_sources", "pulses"};
  board.write(0, common::SIMR, {0xFF});
  board.write(0, common::INTLEVEL, {0x00, 0xFF});
  for (int n = 0; n < 2; ++n) {
    board.open(n, sn_mr::UDP, static_cast<std::uint16_t>(5000 + n));
    board.arrive_udp(1, static_cast<std::uint16_t>(5000 + n), {1});
  }
  board.advance(1ms);
  ASSERT_FALSE(board.chip.intn());
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(1us);
  EXPECT_TRUE(board.chip.intn());
  board.advance(6us);  // 256 x 26.67 ns
  EXPECT_FALSE(board.chip.intn());
}

TEST(SocketQuirkTest, MssrStaysAsWritten) {
  QuirkBoard board{"mssr_after_open", "unchanged"};
  board.open(0, sn_mr::TCP);
  EXPECT_EQ(board.get16(0, socket::Sn_MSSR), 0);
}

// ARP, IP, ICMP, UDP -------------------------------------------------------------------------------------------------

TEST(StackQuirkTest, DataIsKeptAfterAnArpTimeout) {
  QuirkBoard board{"udp_data_after_arp_timeout", "kept"};
  board.open_udp_to_peer();
  board.send(0, {1, 2});
  board.advance(2s);
  board.sent.clear();
  board.send_and_resolve({3});
  EXPECT_THAT(board.sent.back().udp_payload(), ElementsAre(1, 2, 3));
}

TEST(StackQuirkTest, EachSendAsks) {
  QuirkBoard board{"arp_before_send", "each_send"};
  board.open_udp_to_peer();
  board.send_and_resolve({1});
  board.send_and_resolve({2});
  ASSERT_THAT(board.sent, SizeIs(4));
  EXPECT_TRUE(board.sent[2].is_arp());
}

TEST(StackQuirkTest, UnaskedArpUpdatesTheMac) {
  QuirkBoard board{"unasked_arp", "updates"};
  board.open_udp_to_peer();
  board.send_and_resolve({1});
  board.arrive_arp(wire::Arp::Operation::reply, {2, 0, 0, 0, 0, 0x99}, peer_ip, chip_ip);
  board.advance(1ms);
  EXPECT_THAT(board.read(TestBoard::registers_of(0), socket::Sn_DHAR, 6), ElementsAre(2, 0, 0, 0, 0, 0x99));
}

TEST(StackQuirkTest, ProbeConflictsWithNoAddress) {
  QuirkBoard board{"conflict_without_address", "reported"};
  board.write(0, common::SIPR, {0, 0, 0, 0});
  board.arrive_arp(wire::Arp::Operation::request, peer_mac, 0, chip_ip);
  board.advance(1ms);
  EXPECT_THAT(board.read(0, common::IR, 1), ElementsAre(ir::CONFLICT));
}

TEST(StackQuirkTest, UnicastIsDroppedWithoutAnAddress) {
  for (const auto& [choice, expected] : {std::pair{"taken", 9}, std::pair{"dropped", 0}}) {
    QuirkBoard board{"unicast_without_address", choice};
    board.open(0, sn_mr::UDP, 68);
    board.write(0, common::SIPR, {0, 0, 0, 0});
    board.arrive_udp(67, 68, {1});
    board.advance(1ms);
    EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), expected) << choice;
  }
}

TEST(StackQuirkTest, RepliesAreNoConflict) {
  QuirkBoard board{"conflict_by_reply", "ignored"};
  board.arrive_arp(wire::Arp::Operation::reply, peer_mac, chip_ip, chip_ip);
  board.advance(1ms);
  EXPECT_THAT(board.read(0, common::IR, 1), ElementsAre(0));
}

TEST(StackQuirkTest, LargestPingIs512) {
  QuirkBoard board{"largest_ping", "data_512"};
  board.arrive_ping(1, 512);
  board.arrive_ping(2, 513);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST(StackQuirkTest, NoPortUnreachable) {
  QuirkBoard board{"port_unreachable", "silent"};
  board.arrive_udp(1, 6000, {1});
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(StackQuirkTest, IdentificationPerSocketOrZero) {
  const auto identifications = [](std::string_view choice) {
    QuirkBoard board{"ip_identification", choice};
    std::vector<int> seen;
    for (const int n : {0, 1, 0}) {
      if (n == 1 || seen.empty()) {
        board.open(n, sn_mr::UDP, static_cast<std::uint16_t>(5000 + n));
        board.set32(n, socket::Sn_DIPR, wire::broadcast_ipv4);
      }
      board.send(n, {1});
      board.advance(1ms);
      seen.push_back(board.sent.back().ip().identification);
    }
    return seen;
  };
  EXPECT_THAT(identifications("per_chip"), ElementsAre(0, 1, 2));
  EXPECT_THAT(identifications("per_socket"), ElementsAre(0, 0, 1));
  EXPECT_THAT(identifications("zero"), ElementsAre(0, 0, 0));
}

// MACRAW -------------------------------------------------------------------------------------------------------------

TEST(MacrawQuirkTest, StackAnswersEverythingOrNothing) {
  QuirkBoard all{"stack_beside_macraw", "everything"};
  all.open(0, sn_mr::MACRAW);
  all.arrive_udp(1, 6000, {1});
  all.advance(1ms);
  EXPECT_THAT(all.sent, SizeIs(1));
  QuirkBoard none{"stack_beside_macraw", "nothing"};
  none.open(0, sn_mr::MACRAW);
  none.arrive_ping(1, 8);
  none.arrive_arp(wire::Arp::Operation::request, peer_mac, peer_ip, chip_ip);
  none.advance(1ms);
  EXPECT_THAT(none.sent, SizeIs(0));
}

TEST(MacrawQuirkTest, ShortFramesLeaveAsRunts) {
  QuirkBoard board{"macraw_padding", "none"};
  board.open(0, sn_mr::MACRAW);
  board.send(0, Octets(42, 1));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].bytes.size(), 42U);
}

TEST(MacrawQuirkTest, MulticastByTheDatasheet) {
  QuirkBoard board{"macraw_multicast", "datasheet"};
  board.open(0, sn_mr::MACRAW | sn_mr::MFEN);
  Octets frame(60);
  wire::EthernetHeader{{0x01, 0x80, 0xC2, 0, 0, 0}, peer_mac, 0x88B5}.emit(frame.data());
  board.arrive(frame);
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 62);
}

TEST(MacrawQuirkTest, SendWithoutLinkCompletes) {
  QuirkBoard board{"macraw_without_link", "sendok"};
  board.open(0, sn_mr::MACRAW);
  board.chip.plug(false);
  board.advance(2ms);
  board.send(0, Octets(60, 1));
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(MacrawQuirkTest, SendStallsWhileSendokStands) {
  QuirkBoard board{"late_sendok_clear", "stalls"};
  board.open(0, sn_mr::MACRAW);
  board.send(0, Octets(60, 1));
  board.advance(1ms);
  board.send(0, Octets(60, 2));
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(1s);
  EXPECT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.interrupts(0), 0);
}

// multicast_test.cpp has the rest: version 1, and the report that is dropped.
TEST(UdpQuirkTest, GroupQueryIsAnsweredAfterARandomDelay) {
  const auto delay = [](std::string_view choice) {
    constexpr wire::Ipv4Address group = wire::ipv4(224, 1, 129, 5);
    const wire::MacAddress mac = wire::multicast_mac(group);
    QuirkBoard board{"group_query_answer", choice};
    board.write(TestBoard::registers_of(0), socket::Sn_DHAR, {mac.begin(), mac.end()});
    board.set32(0, socket::Sn_DIPR, group);
    board.open(0, sn_mr::UDP | sn_mr::MULTI);
    board.advance(1ms);
    board.sent.clear();
    Octets query(wire::Igmp::bytes);
    wire::Igmp{wire::Igmp::query, 100, group}.emit(query.data());
    const Instant asked = board.now();
    board.arrive_ip(wire::protocol_igmp, query, group, mac);
    board.advance(11s);
    EXPECT_THAT(board.sent, SizeIs(1));
    return board.sent.empty() ? Duration{} : board.sent[0].at - asked;
  };
  EXPECT_EQ(delay("at_once"), 10us);
  EXPECT_GT(delay("random_delay"), 1ms);
  EXPECT_LE(delay("random_delay"), 10s);
}

}  // namespace
}  // namespace wizloop::test
