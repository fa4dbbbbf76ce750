// TCP of the chip, packet by packet: datasheet 4.1 (RTR, RCR), 4.2; RFC 9293.
#include "sim/chip/tcp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::SizeIs;
using wire::TcpHeader;
using Octets = std::vector<std::uint8_t>;

Octets counting(std::size_t count) {
  Octets bytes(count);
  std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
  return bytes;
}

class TcpTest : public testing::Test {
 protected:
  TcpTest() { board.configure(); }

  Octets take(std::uint16_t count) {
    const std::uint16_t at = board.get16(0, socket::Sn_RX_RD);
    Octets bytes = board.read(TestBoard::rx_of(0), at, count);
    board.set16(0, socket::Sn_RX_RD, static_cast<std::uint16_t>(at + count));
    board.command(0, sn_cr::RECV);
    return bytes;
  }

  TestBoard board;
  TestConnection tcp{board};
};

TEST(RetransmissionTest, TableOfWaitsFromTheDatasheet) {
  const auto waits = [](int rtr, std::uint8_t rcr) {
    std::vector<std::int64_t> ms;
    for (int k = 0; k <= rcr; ++k) ms.push_back(retransmission_wait(100us * rtr, rcr, k) / 1ms);
    return ms;
  };
  EXPECT_THAT(waits(2000, 8), ElementsAre(200, 400, 800, 1600, 3200, 6400, 6400, 6400, 6400));
  EXPECT_THAT(waits(2000, 3), ElementsAre(200, 400, 800, 1600));
  EXPECT_THAT(waits(2000, 0), ElementsAre(200));
  EXPECT_THAT(waits(1000, 8), ElementsAre(100, 200, 400, 800, 1600, 3200, 6400, 6400, 6400));
  EXPECT_THAT(waits(500, 8), ElementsAre(50, 100, 200, 400, 800, 1600, 3200, 6400, 6400));
  EXPECT_THAT(waits(40000, 8), ElementsAre(4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000));
  EXPECT_EQ(tcp_timeout(100us * 2000, 8), 31800ms);
  EXPECT_EQ(tcp_timeout(100us * 500, 8), 19150ms);
}

TEST_F(TcpTest, ConnectGivesUpAfterTheLastRetryDoubledItsWait) {
  board.write(0, common::RCR, {2});
  tcp.connect();
  board.advance(1ms);
  board.answer_arp();
  board.advance(1s);
  ASSERT_THAT(board.sent, SizeIs(4));
  const Instant first = board.sent[1].at;
  EXPECT_EQ(board.sent[1].tcp().flags, TcpHeader::syn);
  EXPECT_EQ(board.sent[2].at - first, 200ms);
  EXPECT_EQ(board.sent[3].at - first, 600ms);
  EXPECT_EQ(board.sent[3].tcp().sequence, board.sent[1].tcp().sequence);
  EXPECT_EQ(board.status(0), sn_sr::SYNSENT);
  board.queue.advance_to(first + 1400ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  board.advance(60s);
  EXPECT_THAT(board.sent, SizeIs(4));
}

TEST_F(TcpTest, ConnectToAnAbsentHostAsksNineTimes) {
  tcp.connect();
  const Instant start = board.sent.empty() ? board.now() : board.sent[0].at;
  board.advance(10s);
  ASSERT_THAT(board.sent, SizeIs(9));
  for (std::size_t i = 1; i < 9; ++i) EXPECT_EQ(board.sent[i].at - board.sent[i - 1].at, 200ms);
  EXPECT_EQ(board.sent[0].arp().target_ip, peer_ip);
  EXPECT_LT(board.sent[0].at - start, 10us);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(TcpTest, ConnectAsksTheGatewayForAnAddressOutsideTheSubnet) {
  tcp.open();
  board.set32(0, socket::Sn_DIPR, wire::ipv4(10, 0, 0, 1));
  board.command(0, sn_cr::CONNECT);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].arp().target_ip, wire::ipv4(192, 168, 1, 1));
}

TEST_F(TcpTest, ClientHandshake) {
  tcp.connect();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::INIT);  // until the SYN leaves
  board.answer_arp();
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].tcp().mss, 1460);
  EXPECT_EQ(board.sent[1].tcp().window, 2048);
  EXPECT_EQ(board.sent[1].ethernet().destination, peer_mac);
  EXPECT_EQ(board.status(0), sn_sr::SYNSENT);
  const std::uint32_t iss = board.sent[1].tcp().sequence;
  TcpHeader syn_ack = tcp.header(TcpHeader::syn | TcpHeader::ack, iss + 1);
  syn_ack.sequence = TestConnection::peer_iss;
  board.arrive_tcp(syn_ack);
  const Instant arrived = board.now();
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(3));
  EXPECT_EQ(board.sent[2].tcp().flags, TcpHeader::ack);
  EXPECT_EQ(board.sent[2].tcp().acknowledgment, TestConnection::peer_iss + 1);
  EXPECT_EQ(board.sent[2].at - arrived, 5us);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  EXPECT_EQ(board.interrupts(0), sn_ir::CON);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_WR), static_cast<std::uint16_t>(iss + 1));
}

TEST_F(TcpTest, RefusedConnectClosesAtOnceWithoutTimeout) {
  tcp.connect();
  board.advance(1ms);
  board.answer_arp();
  board.advance(1ms);
  TcpHeader rst = tcp.header(TcpHeader::rst | TcpHeader::ack, board.sent[1].tcp().sequence + 1);
  board.arrive_tcp(rst);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST_F(TcpTest, ListenerAcceptsAndLoadsThePeer) {
  tcp.listen();
  EXPECT_EQ(board.status(0), sn_sr::LISTEN);
  tcp.syn();
  const Instant arrived = board.now();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::SYNRECV);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].at - arrived, 10us);
  EXPECT_EQ(board.sent[0].tcp().flags, TcpHeader::syn | TcpHeader::ack);
  EXPECT_EQ(board.sent[0].tcp().acknowledgment, TestConnection::peer_iss + 1);
  tcp.acknowledge(board.sent[0].tcp().sequence + 1);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  EXPECT_EQ(board.interrupts(0), sn_ir::CON);
  EXPECT_EQ(board.get16(0, socket::Sn_DPORT), TestConnection::peer_port);
  EXPECT_THAT(board.read(TestBoard::registers_of(0), socket::Sn_DIPR, 4), ElementsAre(192, 168, 1, 10));
  EXPECT_THAT(board.read(TestBoard::registers_of(0), socket::Sn_DHAR, 6), ElementsAre(2, 0, 0, 0, 0, 0x10));
}

TEST_F(TcpTest, LostSynAckIsSentAgainAndTheListenerClosesInTheEnd) {
  board.write(0, common::RCR, {1});
  tcp.listen();
  tcp.syn();
  board.advance(10s);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].at - board.sent[0].at, 200ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(TcpTest, PassiveOpenTakesThePeersWindowUpdatesWhateverTheIss) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {  // initial sequence numbers on both sides of 2^31
    TestBoard other{seed};
    TestConnection connection{other};
    other.configure();
    connection.establish();
    connection.window = 0;
    connection.acknowledge(connection.iss + 1);
    other.advance(1ms);
    other.send(0, counting(500));
    other.advance(1ms);
    EXPECT_THAT(other.sent, SizeIs(0)) << seed;
  }
}

TEST_F(TcpTest, ARepeatedSynDoesNotMakeTheChipSendDataTwice) {
  tcp.listen();
  tcp.syn();
  board.advance(300ms);  // the SYN/ACK was sent again
  tcp.iss = board.sent.back().tcp().sequence;
  tcp.acknowledge(tcp.iss + 1);
  board.advance(1ms);
  board.sent.clear();
  board.send(0, counting(100));
  board.advance(1ms);
  TcpHeader nothing_new = tcp.header(TcpHeader::ack | TcpHeader::psh, tcp.iss + 1);
  board.arrive_tcp(nothing_new, {1});
  board.advance(1ms);
  std::size_t bytes = 0;
  for (const SentFrame& frame : board.sent) bytes += frame.tcp_payload().size();
  EXPECT_EQ(bytes, 100U);
}

TEST_F(TcpTest, SegmentSizeRegisterShowsThePeersAfterAPassiveOpen) {
  tcp.establish(0, 600);
  EXPECT_EQ(board.get16(0, socket::Sn_MSSR), 600);
}

TEST_F(TcpTest, SecondDisconnectHasNoEffectAndIsFound) {
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  board.command(0, sn_cr::DISCON);
  EXPECT_EQ(board.status(0), sn_sr::FIN_WAIT);
  EXPECT_THAT(board.findings.failing(), ElementsAre(Rule::illegal_command));
}

TEST_F(TcpTest, DataAfterTheOwnFinIsStillReceived) {
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  tcp.acknowledge(tcp.iss + 2);
  tcp.data({1, 2, 3});
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 3);
}

TEST_F(TcpTest, AcknowledgmentOfWhatWasNeverSentIsAnsweredAndOtherwiseIgnored) {
  tcp.establish();
  board.send(0, counting(10));
  board.advance(1ms);
  board.sent.clear();
  tcp.acknowledge(tcp.iss + 1 + 5000);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.get16(0, socket::Sn_TX_FSR), 2048 - 10);
}

TEST_F(TcpTest, WrongAcknowledgmentInSynrecvDrawsRst) {
  tcp.listen();
  tcp.syn();
  board.advance(1ms);
  tcp.acknowledge(board.sent.back().tcp().sequence + 77);
  board.advance(1ms);
  EXPECT_TRUE(board.sent.back().tcp().has(TcpHeader::rst));
  EXPECT_EQ(board.status(0), sn_sr::SYNRECV);
}

TEST_F(TcpTest, NothingIsSentAgainAfterAFullAcknowledgment) {
  tcp.establish();
  board.send(0, counting(10));
  board.advance(1ms);
  tcp.acknowledge(tcp.iss + 11);
  board.advance(60s);
  EXPECT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
}

TEST_F(TcpTest, EndOfTimeWaitIsNotATimeout) {
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  tcp.acknowledge(tcp.iss + 2);
  tcp.fin();
  board.advance(1s);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::DISCON);
}

TEST_F(TcpTest, LowestListenerTakesTheSyn) {
  board.set8(3, socket::Sn_MR, sn_mr::TCP);
  board.set16(3, socket::Sn_PORT, TestConnection::chip_port);
  board.command(3, sn_cr::OPEN);
  board.command(3, sn_cr::LISTEN);
  tcp.listen();
  tcp.syn();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::SYNRECV);
  EXPECT_EQ(board.status(3), sn_sr::LISTEN);
}

TEST_F(TcpTest, SecondClientIsRefused) {
  tcp.establish();
  TcpHeader other = tcp.header(TcpHeader::syn, 0);
  other.source_port = 41000;
  board.arrive_tcp(other);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp().flags, TcpHeader::rst | TcpHeader::ack);
  EXPECT_EQ(board.sent[0].tcp().acknowledgment, other.sequence + 1);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
}

TEST_F(TcpTest, SendOfMoreThanASegmentLeavesBackToBackAndSendokComesBeforeTheAck) {
  tcp.establish();
  const Octets data = counting(2006);
  board.send(0, data);
  const Instant command = board.now() - Latencies{}.command_to_status;
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[0].tcp_payload().size(), 1460U);
  EXPECT_EQ(board.sent[1].tcp_payload().size(), 546U);
  for (const SentFrame& frame : board.sent) EXPECT_EQ(frame.tcp().flags, TcpHeader::ack | TcpHeader::psh);
  EXPECT_EQ(Octets(board.sent[1].tcp_payload().begin(), board.sent[1].tcp_payload().end()),
            Octets(data.begin() + 1460, data.end()));
  EXPECT_EQ(board.sent[0].at - command, 2500ns + picoseconds(1'667) * 1460);
  const Frequency fast{100'000'000};
  EXPECT_EQ(board.sent[1].at - board.sent[0].at, wire::time_on_wire(1514, fast) + wire::inter_packet_gap(fast) + 5us);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_FSR), 2048 - 2006);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_RD), board.get16(0, socket::Sn_TX_WR));
  tcp.acknowledge(tcp.iss + 1 + 2006);
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_FSR), 2048);
}

TEST_F(TcpTest, SendokFollowsTheLastBitByAMicrosecond) {
  tcp.establish();
  board.send(0, counting(100));
  board.advance(10us);
  ASSERT_THAT(board.sent, SizeIs(1));
  const Instant last_bit = board.sent[0].at + wire::time_on_wire(154, Frequency{100'000'000});
  board.queue.advance_to(last_bit + 1us - picoseconds(1));
  EXPECT_EQ(board.interrupts(0), 0);
  board.advance(picoseconds(1));
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
}

TEST_F(TcpTest, UnacknowledgedDataIsSentAgainFromTheOldestByte) {
  board.write(0, common::RCR, {1});
  tcp.establish();
  board.send(0, counting(2000));
  board.advance(150ms);
  tcp.acknowledge(tcp.iss + 1 + 1460);
  const Instant acknowledged = board.now();
  board.advance(10s);
  ASSERT_THAT(board.sent, SizeIs(3));
  EXPECT_EQ(board.sent[2].tcp().sequence, tcp.iss + 1 + 1460);
  EXPECT_EQ(board.sent[2].tcp_payload().size(), 540U);
  EXPECT_EQ(board.sent[2].at - acknowledged, 200ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0) & sn_ir::TIMEOUT, sn_ir::TIMEOUT);
}

TEST_F(TcpTest, SendsWithinThePeersWindowAndGoesOnWhenItOpens) {
  tcp.window = 500;
  tcp.establish();
  board.send(0, counting(1200));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp_payload().size(), 500U);
  EXPECT_EQ(board.interrupts(0), 0);  // SENDOK waits
  tcp.window = 2000;
  tcp.acknowledge(tcp.iss + 1 + 500);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].tcp_payload().size(), 700U);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
}

TEST_F(TcpTest, ProbesAClosedWindowWithOneByte) {
  tcp.establish();
  tcp.window = 0;
  tcp.acknowledge(tcp.iss + 1);
  board.advance(1ms);
  board.send(0, counting(100));
  board.advance(150ms);
  EXPECT_THAT(board.sent, SizeIs(0));
  board.advance(100ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp_payload().size(), 1U);
  for (int i = 0; i < 20; ++i) {  // answered probes never end the connection
    tcp.acknowledge(tcp.iss + 1);
    board.advance(250ms);
  }
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  EXPECT_GE(board.sent.size(), 20U);
  tcp.window = 1000;
  tcp.acknowledge(tcp.iss + 1);
  board.advance(300ms);
  std::size_t last = board.sent.size() - 1;
  EXPECT_EQ(board.sent[last].tcp().sequence + board.sent[last].tcp_payload().size(), tcp.iss + 1 + 100);
}

TEST_F(TcpTest, UnansweredProbesEndInTimeout) {
  board.write(0, common::RCR, {2});
  tcp.establish();
  tcp.window = 0;
  tcp.acknowledge(tcp.iss + 1);
  board.advance(1ms);
  board.send(0, counting(100));
  board.advance(10s);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(TcpTest, ReceivedDataIsReadableAndTheWindowShrinks) {
  tcp.establish();
  tcp.data(counting(1460));
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 1460);
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
  ASSERT_THAT(board.sent, SizeIs(1));  // at once: the window is below a segment now
  EXPECT_EQ(board.sent[0].tcp().window, 588);
  board.sent.clear();
  EXPECT_EQ(take(1460), counting(1460));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));  // the window update
  EXPECT_EQ(board.sent[0].tcp().window, 2048);
}

TEST_F(TcpTest, ASmallSegmentIsAcknowledgedAfterRtrOrWithTheSecondOne) {
  tcp.establish();
  tcp.data(counting(10));
  const Instant arrived = board.now();
  board.advance(1s);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].at - arrived, 200ms);
  tcp.data(counting(10));
  board.advance(1ms);
  tcp.data(counting(10));
  const Instant second = board.now();
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].at - second, 5us);
}

TEST_F(TcpTest, NoDelayAcknowledgesEachSegmentAtOnce) {
  tcp.establish(sn_mr::ND);
  tcp.data(counting(10));
  const Instant arrived = board.now();
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].at - arrived, 5us);
}

TEST_F(TcpTest, OutOfOrderSegmentIsDroppedWithADuplicateAck) {
  tcp.establish();
  TcpHeader ahead = tcp.header(TcpHeader::ack, tcp.iss + 1);
  ahead.sequence += 100;
  board.arrive_tcp(ahead, counting(50));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp().acknowledgment, tcp.seq);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0);
}

TEST_F(TcpTest, OverlappingSegmentKeepsItsNewPart) {
  tcp.establish();
  tcp.data({0, 1, 2, 3});
  TcpHeader overlap = tcp.header(TcpHeader::ack, tcp.iss + 1);
  overlap.sequence -= 2;
  board.arrive_tcp(overlap, {2, 3, 4, 5});
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 6);
  EXPECT_THAT(board.read(TestBoard::rx_of(0), 0, 6), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(TcpTest, SegmentBeyondTheWindowIsDroppedWhole) {
  tcp.establish();
  tcp.data(counting(1460));
  tcp.data(counting(1460));
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 1460);
}

TEST_F(TcpTest, PeerClosesFirst) {
  tcp.establish();
  tcp.data(counting(300));
  tcp.fin();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSE_WAIT);
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV | sn_ir::DISCON);
  EXPECT_EQ(take(300), counting(300));
  board.send(0, {1, 2, 3});  // still allowed
  board.advance(1ms);
  EXPECT_EQ(board.sent.back().tcp_payload().size(), 3U);
  tcp.acknowledge(tcp.iss + 4);
  board.advance(1ms);
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::LAST_ACK);
  EXPECT_TRUE(board.sent.back().tcp().has(TcpHeader::fin));
  tcp.acknowledge(tcp.iss + 5);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
}

TEST_F(TcpTest, ChipClosesFirstAndWaitsInTimeWait) {
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::FIN_WAIT);
  tcp.acknowledge(tcp.iss + 2);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::FIN_WAIT);
  tcp.fin();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::TIME_WAIT);
  EXPECT_EQ(board.interrupts(0), sn_ir::DISCON);
  EXPECT_EQ(board.sent.back().tcp().acknowledgment, tcp.seq);
  board.advance(200ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
}

TEST_F(TcpTest, FinsThatCrossPassThroughClosing) {
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  TcpHeader fin = tcp.header(TcpHeader::ack | TcpHeader::fin, tcp.iss + 1);  // without acknowledging the chip's
  board.arrive_tcp(fin);
  ++tcp.seq;
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSING);
  tcp.acknowledge(tcp.iss + 2);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::TIME_WAIT);
  board.advance(200ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
}

TEST_F(TcpTest, FinFollowsTheDataThatIsStillUnsent) {
  tcp.window = 100;
  tcp.establish();
  board.send(0, counting(150));
  board.advance(1ms);
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  tcp.acknowledge(tcp.iss + 101);
  board.advance(1ms);
  ASSERT_GE(board.sent.size(), 3U);
  EXPECT_EQ(board.sent[1].tcp_payload().size(), 50U);
  EXPECT_TRUE(board.sent[2].tcp().has(TcpHeader::fin));
  EXPECT_EQ(board.sent[2].tcp().sequence, tcp.iss + 151);
}

TEST_F(TcpTest, UnansweredFinEndsInTimeout) {
  board.write(0, common::RCR, {2});
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(5s);
  EXPECT_THAT(board.sent, SizeIs(3));
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(TcpTest, PeersFinThatNeverComesEndsInTimeout) {
  board.write(0, common::RCR, {2});
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  tcp.acknowledge(tcp.iss + 2);
  board.advance(1300ms);
  EXPECT_EQ(board.status(0), sn_sr::FIN_WAIT);
  board.advance(200ms);  // 1.4 s after the FIN
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(TcpTest, CloseIsSilentAndLaterSegmentsDrawRst) {
  tcp.establish();
  board.command(0, sn_cr::CLOSE);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(board.sent, SizeIs(0));
  tcp.data({1});
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp().flags, TcpHeader::rst);
  EXPECT_EQ(board.sent[0].tcp().sequence, tcp.iss + 1);
}

TEST_F(TcpTest, ResetFromThePeerClosesAtOnce) {
  tcp.establish();
  tcp.rst();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::DISCON);
}

TEST_F(TcpTest, ResetOutsideTheWindowIsIgnored) {
  tcp.establish();
  tcp.seq += 5000;
  tcp.rst();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
}

TEST_F(TcpTest, SmallerSegmentSizeOfThePeerWins) {
  tcp.establish(0, 600);
  board.send(0, counting(1000));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[0].tcp_payload().size(), 600U);
}

TEST_F(TcpTest, PeerWithoutAnMssOptionGets536) {
  tcp.establish(0, 0);
  board.send(0, counting(1000));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[0].tcp_payload().size(), 536U);
}

TEST_F(TcpTest, SendWithoutDataRaisesSendokAndSendsNothing) {
  tcp.establish();
  board.command(0, sn_cr::SEND);
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST_F(TcpTest, SendDuringASendIsQueuedOnceAndFound) {
  tcp.establish();
  board.send(0, counting(100));
  const std::uint16_t wr = board.get16(0, socket::Sn_TX_WR);
  board.write(TestBoard::tx_of(0), wr, counting(50));
  board.set16(0, socket::Sn_TX_WR, static_cast<std::uint16_t>(wr + 50));
  board.command(0, sn_cr::SEND);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(2));
  EXPECT_THAT(board.findings.failing(), ElementsAre(Rule::send_while_sending));
}

TEST_F(TcpTest, StaleWritePointerSendsTheRingRoundAndRound) {
  tcp.establish();
  const auto stale = static_cast<std::uint16_t>(board.get16(0, socket::Sn_TX_WR) - 100);
  board.set16(0, socket::Sn_TX_WR, stale);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(board.findings.failing(), ElementsAre(Rule::write_beyond_free));
  board.advance(8ms);
  std::size_t bytes = 0;
  for (const SentFrame& frame : board.sent) bytes += frame.tcp_payload().size();
  EXPECT_EQ(bytes, 65436U);
}

TEST_F(TcpTest, PointersRunAcrossFfff) {
  tcp.establish();
  std::uint32_t sent = 0;
  for (int i = 0; i < 70; ++i) {  // 70000 bytes through a ring of 2 KiB
    const Octets data(1000, static_cast<std::uint8_t>(i));
    board.send(0, data);
    board.advance(1ms);
    ASSERT_EQ(board.sent.back().tcp_payload()[999], i);
    sent += 1000;
    tcp.acknowledge(tcp.iss + 1 + sent);
    board.advance(1ms);
    ASSERT_EQ(board.get16(0, socket::Sn_TX_FSR), 2048);
  }
}

}  // namespace
}  // namespace wizloop::test
