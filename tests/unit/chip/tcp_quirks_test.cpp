// The open questions about TCP: see quirks_test.cpp.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/unit/chip/quirk_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::SizeIs;
using wire::TcpHeader;

TEST(TcpQuirkTest, PointersStartAtZeroOrAtThePeersSequenceNumber) {
  TcpQuirk zero{"tx_pointers_at_connection", "zero"};
  zero.tcp.establish();
  EXPECT_EQ(zero.get16(0, socket::Sn_TX_WR), 0);
  zero.send(0, {1, 2, 3});
  zero.advance(1ms);
  EXPECT_THAT(zero.sent.back().tcp_payload(), ElementsAre(1, 2, 3));
  EXPECT_EQ(zero.get16(0, socket::Sn_TX_RD), 3);
  TcpQuirk irs{"rx_pointers_at_connection", "irs"};
  irs.tcp.establish();
  EXPECT_EQ(irs.get16(0, socket::Sn_RX_RD), TestConnection::peer_iss + 1);
  irs.tcp.data({7});
  irs.advance(1ms);
  EXPECT_THAT(irs.read(TestBoard::rx_of(0), TestConnection::peer_iss + 1, 1), ElementsAre(7));
}

TEST(TcpQuirkTest, InitialSequenceNumberByTheClockOrZero) {
  TcpQuirk zero{"isn_source", "zero"};
  zero.tcp.establish();
  EXPECT_EQ(zero.tcp.iss, 0U);
  TcpQuirk clock{"isn_source", "clock"};
  clock.advance(4ms);
  clock.tcp.establish();
  EXPECT_NEAR(clock.tcp.iss, 1000, 10);
}

TEST(TcpQuirkTest, StatusWhileResolving) {
  for (const auto& [choice, shown] : {std::pair{"synsent", sn_sr::SYNSENT}, std::pair{"arp", sn_sr::ARP}}) {
    TcpQuirk board{"status_while_resolving", choice};
    board.tcp.connect();
    board.advance(1ms);
    EXPECT_EQ(board.status(0), shown);
  }
}

TEST(TcpQuirkTest, CauseOfAReset) {
  for (const auto& [choice, cause] : {std::pair{"timeout", int{sn_ir::TIMEOUT}}, std::pair{"none", 0}}) {
    TcpQuirk board{"rst_received_cause", choice};
    board.tcp.establish();
    board.tcp.rst();
    board.advance(1ms);
    EXPECT_EQ(board.status(0), sn_sr::CLOSED);
    EXPECT_EQ(board.interrupts(0), cause);
  }
}

TEST(TcpQuirkTest, CloseSendsRst) {
  TcpQuirk board{"close_of_connection", "rst"};
  board.tcp.establish();
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp().flags, TcpHeader::rst | TcpHeader::ack);
  EXPECT_EQ(board.sent[0].tcp().sequence, board.tcp.iss + 1);
}

TEST(TcpQuirkTest, NoTimeWaitButTheLastAckLeaves) {
  TcpQuirk board{"time_wait", "none"};
  board.tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  board.tcp.acknowledge(board.tcp.iss + 2);
  board.tcp.fin();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(board.sent, SizeIs(2));  // FIN, ACK
}

TEST(TcpQuirkTest, WaitsForTheMissingFin) {
  TcpQuirk board{"missing_fin", "waits"};
  board.tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  board.tcp.acknowledge(board.tcp.iss + 2);
  board.advance(600s);
  EXPECT_EQ(board.status(0), sn_sr::FIN_WAIT);
}

TEST(TcpQuirkTest, ResetInSynrecvReturnsToListen) {
  TcpQuirk board{"rst_in_synrecv", "listen"};
  board.tcp.listen();
  board.tcp.syn();
  board.advance(1ms);
  board.tcp.rst();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::LISTEN);
}

TEST(TcpQuirkTest, SecondSynInSynrecvIsIgnored) {
  TcpQuirk board{"second_syn_in_synrecv", "ignored"};
  board.tcp.listen();
  board.tcp.syn();
  board.advance(1ms);
  board.sent.clear();
  TcpHeader other = board.tcp.header(TcpHeader::syn, 0);
  other.source_port = 41000;
  board.arrive_tcp(other);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(TcpQuirkTest, ZeroWindowProbesAreLimitedOrNone) {
  TcpQuirk none{"zero_window_probe", "none"};
  none.tcp.establish();
  none.tcp.window = 0;
  none.tcp.acknowledge(none.tcp.iss + 1);
  none.advance(1ms);
  none.send(0, {1, 2});
  none.advance(60s);
  EXPECT_THAT(none.sent, SizeIs(0));
  TcpQuirk limited{"zero_window_probe", "limited"};
  limited.retry(2);
  limited.tcp.establish();
  limited.tcp.window = 0;
  limited.tcp.acknowledge(limited.tcp.iss + 1);
  limited.advance(1ms);
  limited.send(0, {1, 2});
  for (int i = 0; i < 10; ++i) {
    limited.advance(1s);
    limited.tcp.acknowledge(limited.tcp.iss + 1);
  }
  limited.advance(10s);
  EXPECT_EQ(limited.interrupts(0) & sn_ir::TIMEOUT, sn_ir::TIMEOUT);
  EXPECT_EQ(limited.status(0), sn_sr::CLOSED);
}

TEST(TcpQuirkTest, OnlyTheFirstSegmentIsSentAgain) {
  TcpQuirk board{"retransmission", "first_segment"};
  board.tcp.establish();
  board.send(0, Octets(2000, 1));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  board.advance(250ms);
  ASSERT_THAT(board.sent, SizeIs(3));
  EXPECT_EQ(board.sent[2].tcp().sequence, board.tcp.iss + 1);
}

TEST(TcpQuirkTest, SegmentBeyondAGapDrawsNothing) {
  TcpQuirk board{"out_of_order", "silent"};
  board.tcp.establish();
  board.tcp.seq += 10;
  board.tcp.data({1});
  board.advance(1s);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(TcpQuirkTest, SecondSegmentWaitsForTheTimerToo) {
  TcpQuirk board{"delayed_ack", "timer_only"};
  board.tcp.establish();
  board.tcp.data({1});
  board.tcp.data({2});
  board.advance(100ms);
  EXPECT_THAT(board.sent, SizeIs(0));
  board.advance(150ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST(TcpQuirkTest, WindowUpdateOnlyBelowTheMss) {
  TcpQuirk board{"window_update", "below_mss"};
  board.tcp.establish();
  board.tcp.data(Octets(100, 1));
  board.advance(300ms);
  board.sent.clear();
  board.set16(0, socket::Sn_RX_RD, 100);
  board.command(0, sn_cr::RECV);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));  // the window was 1948, the MSS is 1460
}

TEST(TcpQuirkTest, WindowUpdateComesASecondLater) {
  TcpQuirk board{"window_update", "after_a_second"};
  board.tcp.establish();
  board.tcp.data(Octets(100, 1));
  board.advance(300ms);
  board.sent.clear();
  board.set16(0, socket::Sn_RX_RD, 100);
  board.command(0, sn_cr::RECV);
  board.advance(990ms);
  EXPECT_THAT(board.sent, SizeIs(0));
  board.advance(20ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp().window, 2048);
}

TEST(TcpQuirkTest, LateWindowUpdateRidesOnAnAckThatIsDue) {
  TcpQuirk board{"window_update", "after_a_second"};
  board.tcp.establish();
  board.tcp.data(Octets(100, 1));
  board.advance(1ms);
  board.set16(0, socket::Sn_RX_RD, 100);
  board.command(0, sn_cr::RECV);
  board.advance(3s);
  ASSERT_THAT(board.sent, SizeIs(1));  // that of RTR
  EXPECT_EQ(board.sent[0].tcp().window, 2048);
}

TEST(TcpQuirkTest, AdvertisedWindowFollowsThePointer) {
  TcpQuirk board{"advertised_window", "by_pointer"};
  board.tcp.establish();
  board.tcp.data(Octets(100, 1));
  board.advance(1ms);
  board.set16(0, socket::Sn_RX_RD, 100);
  board.advance(300ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp().window, 2048);
}

TEST(TcpQuirkTest, PshOnTheLastSegmentOnly) {
  TcpQuirk board{"psh", "last_segment"};
  board.tcp.establish();
  board.send(0, Octets(2000, 1));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_FALSE(board.sent[0].tcp().has(TcpHeader::psh));
  EXPECT_TRUE(board.sent[1].tcp().has(TcpHeader::psh));
}

TEST(TcpQuirkTest, PeerWithoutAnMssOptionGetsTheOwnMss) {
  TcpQuirk board{"mss_without_option", "own"};
  board.tcp.establish(0, 0);
  board.send(0, Octets(1460, 1));
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST(TcpQuirkTest, OneTransmissionMoreThanTheFormula) {
  TcpQuirk board{"tcp_transmissions", "rcr_plus_2"};
  board.retry(1);
  board.tcp.connect();
  board.advance(1ms);
  board.answer_arp();
  board.advance(10s);
  EXPECT_THAT(board.sent, SizeIs(1 + 3));
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
}

TEST(TcpQuirkTest, KeepAliveAfterAReceivedByte) {
  for (const auto& [choice, frames] : {std::pair{"sent_byte", 0U}, std::pair{"any_byte", 1U}}) {
    TcpQuirk board{"keepalive_needs", choice};
    board.tcp.establish(sn_mr::ND);
    board.tcp.data({1});
    board.advance(1ms);
    board.sent.clear();
    board.command(0, sn_cr::SEND_KEEP);
    board.advance(1ms);
    EXPECT_THAT(board.sent, SizeIs(frames));
  }
}

}  // namespace
}  // namespace wizloop::test
