// UDP, ARP and ICMP of the chip: datasheet 4.1, 4.2; WIZnet's UDP page.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::SizeIs;
using Octets = std::vector<std::uint8_t>;

class UdpTest : public testing::Test {
 protected:
  UdpTest() {
    board.configure();
    open(0, 5000);
  }

  void open(int socket, std::uint16_t port, std::uint8_t mode_bits = 0) {
    board.set8(socket, socket::Sn_MR, static_cast<std::uint8_t>(sn_mr::UDP | mode_bits));
    board.set16(socket, socket::Sn_PORT, port);
    board.command(socket, sn_cr::OPEN);
  }
  void address(int socket, wire::Ipv4Address ip, std::uint16_t port) {
    board.set32(socket, socket::Sn_DIPR, ip);
    board.set16(socket, socket::Sn_DPORT, port);
  }

  TestBoard board;
};

TEST_F(UdpTest, FirstSendAsksForTheMacAndThenSends) {
  address(0, peer_ip, 9);
  board.send(0, {1, 2, 3});
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].bytes.size(), 60U);
  EXPECT_EQ(board.sent[0].ethernet().destination, wire::broadcast_mac);
  EXPECT_EQ(board.sent[0].arp().target_ip, peer_ip);
  EXPECT_EQ(board.interrupts(0), 0);
  board.answer_arp();
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].ethernet().destination, peer_mac);
  EXPECT_EQ(board.sent[1].udp().source_port, 5000);
  EXPECT_EQ(board.sent[1].udp().destination_port, 9);
  EXPECT_THAT(board.sent[1].udp_payload(), ElementsAre(1, 2, 3));
  EXPECT_EQ(board.sent[1].ip().ttl, 128);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
}

TEST_F(UdpTest, LaterSendsToTheSameAddressDoNotAskAgain) {
  address(0, peer_ip, 9);
  board.send(0, {1});
  board.advance(1ms);
  board.answer_arp();
  board.advance(1ms);
  board.send(0, {2});
  const Instant command = board.now() - Latencies{}.command_to_status;
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(3));
  EXPECT_FALSE(board.sent[2].is_arp());
  EXPECT_EQ(board.sent[2].at - command, 2500ns + picoseconds(1'667));
  address(0, wire::ipv4(192, 168, 1, 99), 9);
  board.send(0, {3});
  board.advance(1ms);
  EXPECT_TRUE(board.sent[3].is_arp());
}

TEST_F(UdpTest, DestinationCountsAsOfSendEvenIfArpAnswersLater) {
  address(0, peer_ip, 9);
  board.send(0, {1});
  board.advance(1ms);
  address(0, wire::ipv4(192, 168, 1, 99), 10);
  board.answer_arp();
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].ip().destination, peer_ip);
  EXPECT_EQ(board.sent[1].udp().destination_port, 9);
  board.send(0, {2});  // to the other address, whose MAC is not known
  board.advance(1ms);
  EXPECT_TRUE(board.sent[2].is_arp());
}

TEST_F(UdpTest, SegmentSizeWrittenAfterOpenIsKeptWithinAFrame) {
  address(0, wire::broadcast_ipv4, 9);
  for (const int mssr : {0xFFFF, 0}) {
    board.sent.clear();
    board.set16(0, socket::Sn_MSSR, static_cast<std::uint16_t>(mssr));
    board.send(0, Octets(2000, 1));
    board.advance(1ms);
    ASSERT_THAT(board.sent, SizeIs(2));
    EXPECT_EQ(board.sent[0].udp_payload().size(), 1472U);
  }
}

TEST_F(UdpTest, QueuedSendMacStaysOne) {
  address(0, wire::broadcast_ipv4, 9);
  board.send(0, {1});
  board.write(TestBoard::registers_of(0), socket::Sn_DHAR, {2, 0, 0, 0, 0, 0x99});
  address(0, wire::ipv4(192, 168, 1, 99), 9);
  board.set16(0, socket::Sn_TX_WR, 2);
  board.command(0, sn_cr::SEND_MAC);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_FALSE(board.sent[1].is_arp());
}

TEST_F(UdpTest, TypeOfServiceTtlAndFragmentFlagsAreTheSockets) {
  board.set8(0, socket::Sn_TOS, 0x10);
  board.set8(0, socket::Sn_TTL, 7);
  board.set16(0, socket::Sn_FRAG, 0x0000);
  address(0, wire::broadcast_ipv4, 9);
  board.send(0, {1});
  board.advance(1ms);
  board.send(0, {2});
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[0].ip().tos, 0x10);
  EXPECT_EQ(board.sent[0].ip().ttl, 7);
  EXPECT_EQ(board.sent[0].ip().flags_and_fragment, 0);
  EXPECT_EQ(board.sent[1].ip().identification, board.sent[0].ip().identification + 1);
}

TEST_F(UdpTest, LateSendokOfAnEarlierLifeIsDropped) {
  address(0, wire::broadcast_ipv4, 9);
  board.send(0, {1});
  board.advance(6us);  // on the wire
  board.command(0, sn_cr::CLOSE);
  board.command(0, sn_cr::OPEN);
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST_F(UdpTest, SocketsTakeTurns) {
  open(1, 5001);
  for (int n = 0; n < 2; ++n) address(n, wire::broadcast_ipv4, 9);
  board.write(TestBoard::tx_of(0), 0, Octets(2000, 1));
  board.set16(0, socket::Sn_TX_WR, 2000);
  board.write(TestBoard::tx_of(1), 0, Octets(2000, 2));
  board.set16(1, socket::Sn_TX_WR, 2000);
  board.set8(0, socket::Sn_CR, sn_cr::SEND);
  board.set8(1, socket::Sn_CR, sn_cr::SEND);
  board.advance(2ms);
  ASSERT_THAT(board.sent, SizeIs(4));
  std::vector<std::uint16_t> order;
  for (const SentFrame& frame : board.sent) order.push_back(frame.udp().source_port);
  EXPECT_THAT(order, ElementsAre(5000, 5001, 5000, 5001));
}

TEST_F(UdpTest, DatagramsThatFollowBackToBackAreJudgedEachByItself) {
  const Octets large = TestBoard::ip_frame(wire::protocol_udp, TestBoard::udp_message(1, 5000, Octets(1470, 1)));
  board.arrive_bit_by_bit(large);
  board.advance(960ns);
  board.arrive_bit_by_bit(large);  // no room for this one
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 1478);
}

TEST_F(UdpTest, ForcedArpAsksBeforeEachSend) {
  board.write(0, common::MR, {mr::FARP});
  address(0, peer_ip, 9);
  for (int i = 0; i < 2; ++i) {
    board.send(0, {1});
    board.advance(1ms);
    board.answer_arp();
    board.advance(1ms);
  }
  ASSERT_THAT(board.sent, SizeIs(4));
  EXPECT_TRUE(board.sent[2].is_arp());
}

TEST_F(UdpTest, ArpTimeoutLosesTheDatagramAndKeepsTheSocket) {
  address(0, peer_ip, 9);
  board.send(0, {1, 2, 3});
  board.advance(1799ms);
  EXPECT_EQ(board.interrupts(0), 0);
  board.advance(2ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  EXPECT_EQ(board.status(0), sn_sr::UDP);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_RD), board.get16(0, socket::Sn_TX_WR));
  EXPECT_THAT(board.sent, SizeIs(9));
  board.send(0, {4});
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(10));
  board.answer_arp();
  board.advance(1ms);
  EXPECT_THAT(board.sent.back().udp_payload(), ElementsAre(4));
}

TEST_F(UdpTest, BroadcastNeedsNoArp) {
  for (const wire::Ipv4Address ip : {wire::broadcast_ipv4, wire::ipv4(192, 168, 1, 255)}) {
    board.sent.clear();
    address(0, ip, 67);
    board.send(0, {1});
    board.advance(1ms);
    ASSERT_THAT(board.sent, SizeIs(1));
    EXPECT_EQ(board.sent[0].ethernet().destination, wire::broadcast_mac);
  }
}

TEST_F(UdpTest, SendMacUsesTheAddressThatTheHostSet) {
  board.write(TestBoard::registers_of(0), socket::Sn_DHAR, {2, 0, 0, 0, 0, 0x99});
  address(0, peer_ip, 9);
  board.set16(0, socket::Sn_TX_WR, 4);
  board.command(0, sn_cr::SEND_MAC);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].ethernet().destination, (wire::MacAddress{2, 0, 0, 0, 0, 0x99}));
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
}

TEST_F(UdpTest, MoreThanADatagramIsCutIntoSeparateOnes) {
  address(0, wire::broadcast_ipv4, 9);
  board.send(0, Octets(2000, 7));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[0].udp_payload().size(), 1472U);
  EXPECT_EQ(board.sent[1].udp_payload().size(), 528U);
  EXPECT_FALSE(board.sent[1].ip().is_fragment());
}

TEST_F(UdpTest, ReceivedDatagramsFollowTheirEightByteHeaders) {
  board.arrive_udp(1111, 5000, {1, 2, 3, 4, 5});
  board.arrive_udp(2222, 5000, {6, 7, 8, 9, 10, 11, 12});
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 28);
  EXPECT_THAT(board.read(TestBoard::rx_of(0), 0, 13), ElementsAre(192, 168, 1, 10, 0x04, 0x57, 0, 5, 1, 2, 3, 4, 5));
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
}

TEST_F(UdpTest, DatagramThatDoesNotFitIsDroppedWholeAndOlderOnesStay) {
  board.arrive_udp(1, 5000, Octets(1470, 1));
  board.advance(1ms);
  board.arrive_udp(1, 5000, Octets(563, 2));
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 1478);
  board.arrive_udp(1, 5000, Octets(562, 3));  // exactly the rest
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 2048);
}

TEST_F(UdpTest, RoomIsDecidedWhenTheHeaderOfADatagramIsIn) {
  const Octets frame = TestBoard::ip_frame(wire::protocol_udp, TestBoard::udp_message(1, 5000, Octets(1470, 1)));
  board.arrive_bit_by_bit(frame);
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 1478);
  const auto give_room = [this] {
    board.set16(0, socket::Sn_RX_RD, board.get16(0, socket::Sn_RX_WR));
    board.set8(0, socket::Sn_CR, sn_cr::RECV);
  };
  board.queue.schedule(5us, give_room);  // 58 bytes, preamble included, take 4.64 us
  board.arrive_bit_by_bit(frame);
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0);  // room came too late
  board.arrive_bit_by_bit(frame);
  board.advance(10us);
  board.queue.schedule(4us, give_room);
  board.arrive_bit_by_bit(frame);
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 1478);
}

TEST_F(UdpTest, ReceiveRaisesTheInterruptAgainWhileDataIsLeft) {
  board.arrive_udp(1, 5000, {1});
  board.arrive_udp(1, 5000, {2});
  board.advance(10us);
  board.set8(0, socket::Sn_IR, 0xFF);
  board.set16(0, socket::Sn_RX_RD, 9);
  board.command(0, sn_cr::RECV);
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
  board.set8(0, socket::Sn_IR, 0xFF);
  board.set16(0, socket::Sn_RX_RD, 18);
  board.command(0, sn_cr::RECV);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST_F(UdpTest, LowestSocketOnAPortTakesTheDatagram) {
  open(2, 5000);
  board.arrive_udp(1, 5000, {1});
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 9);
  EXPECT_EQ(board.get16(2, socket::Sn_RX_RSR), 0);
}

TEST_F(UdpTest, BroadcastBlockDropsBroadcasts) {
  board.command(0, sn_cr::CLOSE);
  open(0, 5000, sn_mr::BCASTB);
  board.arrive_udp(1, 5000, {1}, wire::broadcast_ipv4, wire::broadcast_mac);
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0);
  board.arrive_udp(1, 5000, {1});
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 9);
}

TEST_F(UdpTest, DatagramThatNobodyHoldsDrawsPortUnreachable) {
  board.arrive_udp(1, 6000, {1, 2, 3});
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  const Bytes icmp = board.sent[0].ip_payload();
  EXPECT_EQ(icmp[0], 3);
  EXPECT_EQ(icmp[1], 3);
  EXPECT_EQ(icmp.size(), 8U + 20 + 8);
  EXPECT_EQ(load16(&icmp[8 + 20 + 2]), 6000);
}

TEST_F(UdpTest, ReceivedPortUnreachableIsReported) {
  Octets message = {3, 3, 0, 0, 0, 0, 0, 0};
  message.resize(8 + 20 + 8);
  wire::Ipv4Header quoted;
  quoted.protocol = wire::protocol_udp;
  quoted.source = chip_ip;
  quoted.destination = peer_ip;
  quoted.total_length = 31;
  quoted.emit(&message[8]);
  store16(&message[28], 5000);
  store16(&message[30], 777);
  wire::IcmpHeader{3, 3, 0, 0}.emit(message);
  board.arrive_ip(wire::protocol_icmp, message);
  board.advance(1ms);
  EXPECT_THAT(board.read(0, common::IR, 1), ElementsAre(ir::UNREACH));
  EXPECT_THAT(board.read(0, common::UIPR, 6), ElementsAre(192, 168, 1, 10, 777 >> 8, 777 & 0xFF));
}

TEST_F(UdpTest, FragmentsAndDamagedPacketsAreDropped) {
  Octets message(wire::UdpHeader::bytes + 3);
  wire::UdpHeader{1, 5000, 0}.emit(peer_ip, chip_ip, message);
  board.arrive_ip(wire::protocol_udp, message, chip_ip, chip_mac, 0x2000);
  message.back() ^= 1;
  board.arrive_ip(wire::protocol_udp, message);
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(StackTest, AnswersArpForItsOwnAddressTenMicrosecondsLater) {
  TestBoard board;
  board.configure();
  board.arrive_arp(wire::Arp::Operation::request, peer_mac, peer_ip, chip_ip);
  board.arrive_arp(wire::Arp::Operation::request, peer_mac, peer_ip, wire::ipv4(192, 168, 1, 77));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].at, Instant{10us});
  EXPECT_EQ(board.sent[0].arp().operation, wire::Arp::Operation::reply);
  EXPECT_EQ(board.sent[0].arp().sender_mac, chip_mac);
  EXPECT_EQ(board.sent[0].ethernet().destination, peer_mac);
}

TEST(StackTest, ForeignUseOfItsAddressIsAConflict) {
  TestBoard board;
  board.configure();
  board.arrive_arp(wire::Arp::Operation::request, peer_mac, chip_ip, chip_ip);
  board.advance(1ms);
  EXPECT_THAT(board.read(0, common::IR, 1), ElementsAre(ir::CONFLICT));
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(StackTest, AnswersPingWithoutASocket) {
  TestBoard board;
  board.configure();
  board.arrive_ping(3, 56);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].at, Instant{10us + 10ns * (20 + 8 + 56)});
  const auto icmp = wire::IcmpHeader::parse(board.sent[0].ip_payload()).value();
  EXPECT_EQ(icmp.type, wire::IcmpHeader::echo_reply);
  EXPECT_EQ(icmp.sequence, 3);
  EXPECT_EQ(board.sent[0].ip_payload().size(), 64U);
}

TEST(StackTest, FramesForOthersAreNotTaken) {
  TestBoard board;
  board.configure();
  std::vector<std::uint8_t> message(wire::IcmpHeader::bytes + 8);
  wire::IcmpHeader{wire::IcmpHeader::echo_request, 0, 7, 1}.emit(message);
  board.arrive_ip(wire::protocol_icmp, message, chip_ip, {2, 0, 0, 0, 0, 0x77});
  board.arrive_ip(wire::protocol_icmp, message, wire::ipv4(192, 168, 1, 255), wire::broadcast_mac);
  board.arrive_udp(1, 6000, {1}, wire::broadcast_ipv4, wire::broadcast_mac);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(StackTest, AMaskOfAllOnesLeavesNoBroadcastAddress) {
  TestBoard board;
  board.configure();
  board.write(0, common::SUBR, {255, 255, 255, 255});
  board.arrive_ping(1, 8);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST(StackTest, NothingLeavesWithoutALink) {
  TestBoard board;
  board.configure();
  board.write(0, common::PHYCFGR, {0x78});  // PHY in reset
  board.arrive_ping(1, 8);
  board.advance(1ms);
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.command(0, sn_cr::OPEN);
  board.set32(0, socket::Sn_DIPR, wire::broadcast_ipv4);
  board.send(0, {1});
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(StackTest, PingBlockKeepsItSilent) {
  TestBoard board;
  board.configure();
  board.write(0, common::MR, {mr::PB});
  board.arrive_ping(1, 56);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(StackTest, WithoutAnAddressNothingMatches) {
  TestBoard board;
  board.arrive_ping(1, 56);
  board.arrive_arp(wire::Arp::Operation::request, peer_mac, peer_ip, chip_ip);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(StackTest, FramesWithABadFcsOrWithoutLinkAreLost) {
  TestBoard board;
  board.configure();
  board.chip.plug(false);
  board.advance(2ms);
  board.arrive_ping(1, 56);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

}  // namespace
}  // namespace wizloop::test
