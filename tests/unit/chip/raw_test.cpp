// MACRAW on socket 0 and IPRAW: datasheet 4.2 (Sn_MR), WIZnet's IPRAW note, and what ESP-IDF and QNEthernet saw.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::SizeIs;
using Octets = std::vector<std::uint8_t>;

const wire::MacAddress stranger = {0x02, 0, 0, 0, 0, 0x77};
const wire::MacAddress ipv4_group = {0x01, 0x00, 0x5E, 0, 0, 5};
const wire::MacAddress ipv6_group = {0x33, 0x33, 0, 0, 0, 1};
const wire::MacAddress other_group = {0x01, 0x80, 0xC2, 0, 0, 0};

Octets frame_to(const wire::MacAddress& destination, std::uint16_t type = 0x88B5, std::size_t bytes = 60) {
  Octets frame(bytes, 0xEE);
  wire::EthernetHeader{destination, peer_mac, type}.emit(frame.data());
  return frame;
}

class MacrawTest : public testing::Test {
 protected:
  void open(std::uint8_t filters = 0) {
    board.configure();
    board.set8(0, socket::Sn_MR, static_cast<std::uint8_t>(sn_mr::MACRAW | filters));
    board.command(0, sn_cr::OPEN);
    ASSERT_EQ(board.status(0), sn_sr::MACRAW);
  }
  // Whether a frame reaches the host.
  bool passes(const Octets& frame) {
    const std::uint16_t before = board.get16(0, socket::Sn_RX_WR);
    board.arrive(frame);
    board.advance(10us);
    const bool arrived = board.get16(0, socket::Sn_RX_WR) != before;
    board.set16(0, socket::Sn_RX_RD, board.get16(0, socket::Sn_RX_WR));
    board.command(0, sn_cr::RECV);
    return arrived;
  }

  TestBoard board;
};

TEST_F(MacrawTest, AFrameFollowsItsLengthWhichCountsItself) {
  open();
  board.arrive(frame_to(chip_mac));
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 62);
  EXPECT_THAT(board.read(TestBoard::rx_of(0), 0, 9), ElementsAre(0x00, 0x3E, 2, 0, 0, 0, 0, 0x20, 2));
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
}

TEST_F(MacrawTest, OpenLoadsTheSegmentSizeRegister) {
  open();
  EXPECT_EQ(board.get16(0, socket::Sn_MSSR), 0x05B4);
}

TEST_F(MacrawTest, WithoutMfenEverythingPasses) {
  open();
  for (const auto& mac : {chip_mac, stranger, wire::broadcast_mac, ipv4_group, ipv6_group, other_group}) {
    EXPECT_TRUE(passes(frame_to(mac)));
  }
}

TEST_F(MacrawTest, MfenKeepsWhatIsForOthers) {
  open(sn_mr::MFEN);
  EXPECT_TRUE(passes(frame_to(chip_mac)));
  EXPECT_FALSE(passes(frame_to(stranger)));
  EXPECT_TRUE(passes(frame_to(wire::broadcast_mac)));
  EXPECT_TRUE(passes(frame_to(ipv4_group)));
  EXPECT_TRUE(passes(frame_to(ipv6_group)));
  EXPECT_FALSE(passes(frame_to(other_group)));  // observed: multicast that is not IP never arrives
}

TEST_F(MacrawTest, MmbBlocksIpv4MulticastButNotIpv6) {
  open(sn_mr::MFEN | sn_mr::MMB);
  EXPECT_FALSE(passes(frame_to(ipv4_group)));
  EXPECT_TRUE(passes(frame_to(ipv6_group)));
  EXPECT_TRUE(passes(frame_to(wire::broadcast_mac)));
}

TEST_F(MacrawTest, BcastbAndMip6bDropByDestinationAndByType) {
  open(sn_mr::BCASTB | sn_mr::MIP6B);
  EXPECT_FALSE(passes(frame_to(wire::broadcast_mac)));
  EXPECT_FALSE(passes(frame_to(chip_mac, wire::type_ipv6)));
  EXPECT_FALSE(passes(frame_to(ipv6_group, wire::type_ipv6)));
  EXPECT_TRUE(passes(frame_to(chip_mac)));
}

TEST_F(MacrawTest, FiltersFollowARewriteOfTheModeWhileOpen) {
  open();
  EXPECT_TRUE(passes(frame_to(stranger)));
  board.set8(0, socket::Sn_MR, sn_mr::MACRAW | sn_mr::MFEN);
  EXPECT_FALSE(passes(frame_to(stranger)));
  EXPECT_EQ(board.status(0), sn_sr::MACRAW);
}

TEST_F(MacrawTest, OtherSocketsTakeTheirFramesFirst) {
  open();
  board.set8(1, socket::Sn_MR, sn_mr::UDP);
  board.set16(1, socket::Sn_PORT, 5000);
  board.command(1, sn_cr::OPEN);
  board.arrive_udp(1, 5000, {1});
  board.advance(10us);
  EXPECT_EQ(board.get16(1, socket::Sn_RX_RSR), 9);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0);
  board.arrive_udp(1, 6000, {1});
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 62);
  EXPECT_THAT(board.sent, SizeIs(0));  // no port unreachable while MACRAW is open
}

TEST_F(MacrawTest, SegmentsWithoutASocketReachTheHostAndDrawNoRst) {
  open();
  TestConnection tcp{board};
  tcp.syn();
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 62);
}

TEST_F(MacrawTest, TheStackStillAnswersArpAndPingAndTheHostSeesThem) {
  open();
  board.arrive_arp(wire::Arp::Operation::request, peer_mac, peer_ip, chip_ip);
  board.arrive_ping(1, 56);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 62 + 2 + 14 + 20 + 64);
}

TEST_F(MacrawTest, AFrameThatDoesNotFitIsDroppedWhole) {
  open();
  board.arrive(frame_to(chip_mac, 0x88B5, 1514));
  board.arrive(frame_to(chip_mac, 0x88B5, 531));
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 1516);
  board.arrive(frame_to(chip_mac, 0x88B5, 530));  // exactly the rest
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 2048);
}

TEST_F(MacrawTest, SendIsOneFrameThatTheMacPads) {
  open();
  const Octets data = frame_to(peer_mac, 0x88B5, 42);
  board.send(0, data);
  const Instant command = board.now() - Latencies{}.command_to_status;
  board.advance(100us);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].at - command, 3us);
  Octets padded = data;
  padded.resize(60);
  EXPECT_EQ(board.sent[0].bytes, padded);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_RD), 42);
}

TEST_F(MacrawTest, MoreThanAFrameIsNotSentAndStillCompletes) {
  open();
  board.send(0, frame_to(peer_mac, 0x88B5, 1514));
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
  board.set8(0, socket::Sn_IR, 0xFF);
  board.send(0, frame_to(peer_mac, 0x88B5, 1515));
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
}

TEST_F(MacrawTest, SendWithoutLinkNeverCompletes) {
  open();
  board.chip.plug(false);
  board.advance(2ms);
  board.send(0, frame_to(peer_mac));
  board.advance(10s);
  EXPECT_EQ(board.interrupts(0), 0);
  EXPECT_THAT(board.sent, SizeIs(0));
  board.command(0, sn_cr::CLOSE);  // the way out
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
}

TEST_F(MacrawTest, IsForSocketZeroOnly) {
  board.set8(1, socket::Sn_MR, sn_mr::MACRAW);
  board.command(1, sn_cr::OPEN);
  EXPECT_EQ(board.status(1), sn_sr::CLOSED);
  EXPECT_THAT(board.findings.failing(), ElementsAre(Rule::illegal_command));
}

class IprawTest : public testing::Test {
 protected:
  IprawTest() { board.configure(); }
  void open(int socket, std::uint8_t protocol) {
    board.set8(socket, socket::Sn_MR, sn_mr::IPRAW);
    board.set8(socket, socket::Sn_PROTO, protocol);
    board.set32(socket, socket::Sn_DIPR, peer_ip);
    board.command(socket, sn_cr::OPEN);
    ASSERT_EQ(board.status(socket), sn_sr::IPRAW);
  }
  TestBoard board;
};

TEST_F(IprawTest, SendPutsAnIpHeaderBeforeTheDataAfterArp) {
  open(2, 253);
  board.send(2, {1, 2, 3});
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_TRUE(board.sent[0].is_arp());
  board.answer_arp();
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].ip().protocol, 253);
  EXPECT_EQ(board.sent[1].ip().destination, peer_ip);
  EXPECT_THAT(board.sent[1].ip_payload(), ElementsAre(1, 2, 3));
  EXPECT_EQ(board.interrupts(2), sn_ir::SENDOK);
}

TEST_F(IprawTest, PacketsOfItsProtocolFollowTheirSixByteHeaders) {
  open(2, 253);
  board.arrive_ip(253, {7, 8, 9});
  board.arrive_ip(254, {7, 8, 9});
  board.advance(10us);
  EXPECT_EQ(board.get16(2, socket::Sn_RX_RSR), 9);
  EXPECT_THAT(board.read(TestBoard::rx_of(2), 0, 9), ElementsAre(192, 168, 1, 10, 0, 3, 7, 8, 9));
  EXPECT_EQ(board.interrupts(2), sn_ir::RECV);
}

TEST_F(IprawTest, EchoRepliesAreDeliveredAndRequestsStillAnswered) {
  open(2, wire::protocol_icmp);
  Octets reply(wire::IcmpHeader::bytes + 4, std::uint8_t{0x5A});
  wire::IcmpHeader{wire::IcmpHeader::echo_reply, 0, 1, 1}.emit(reply);
  board.arrive_ip(wire::protocol_icmp, reply);
  board.advance(1ms);
  EXPECT_EQ(board.get16(2, socket::Sn_RX_RSR), 6 + 12);
  EXPECT_THAT(board.sent, SizeIs(0));
  board.arrive_ping(1, 8);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST_F(IprawTest, MoreThanAPacketIsCut) {
  open(2, 253);
  board.set32(2, socket::Sn_DIPR, wire::broadcast_ipv4);
  board.send(2, Octets(1481, 1));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[0].ip_payload().size(), 1480U);
}

TEST_F(IprawTest, ASocketOfTheProtocolKeepsTheStackFromRefusing) {
  open(2, wire::protocol_udp);
  board.arrive_udp(1, 6000, {1});
  board.advance(1ms);
  EXPECT_EQ(board.get16(2, socket::Sn_RX_RSR), 6 + 9);
  EXPECT_THAT(board.sent, SizeIs(0));
}

}  // namespace
}  // namespace wizloop::test
