// Closing a TCP connection, and RST: facts section 5.8.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

using wire::TcpHeader;

class TcpCloseTest : public TcpTest {
 protected:
  FramePattern own_fin(std::uint32_t at = 0) {
    return {.kind = Kind::tcp, .flags = FIN | ACK, .sequence = chip_seq(at), .data_bytes = 0};
  }
  FramePattern pure_ack() { return {.kind = Kind::tcp, .flags = ACK, .acknowledgment = tcp().seq, .data_bytes = 0}; }
  // Established, then DISCON: FIN is out, nothing acknowledged.
  void disconnect() {
    establish();
    command(0, cr::DISCON);
    wait(1ms);
    EXPECT_FRAME(own_fin());
    EXPECT_EQ(status(0), sr::FIN_WAIT);
  }
  void close_wait() {
    establish();
    tcp().fin();
    wait(1ms);
    EXPECT_FRAME(pure_ack());
    EXPECT_EQ(status(0), sr::CLOSE_WAIT);
  }
  // The peer's FIN, without acknowledging the chip's.
  Instant crossing_fin() {
    const Instant arrived = tcp().segment(tcp().header(FIN | ACK, chip_seq(0)));
    ++tcp().seq;
    return arrived;
  }
};

// The peer first ------------------------------------------------------------------------------------------------------

TEST_F(TcpCloseTest, FinOfThePeerIsAcknowledgedAndLeadsToCloseWait) {
  establish();
  const Instant arrived = tcp().fin();
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack, pure_ack());
  EXPECT_EQ(status(0), sr::CLOSE_WAIT);
  EXPECT_EQ(interrupts(0), ir::DISCON);
  wait(600s);
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::CLOSE_WAIT);
}

TEST_F(TcpCloseTest, DisconInCloseWaitSendsFinAndClosesWithItsAck) {
  close_wait();
  command(0, cr::DISCON);
  wait(1ms);
  EXPECT_FRAME(own_fin());
  EXPECT_EQ(status(0), sr::LAST_ACK);
  tcp().ack();
  wait(10us);
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0) & ir::TIMEOUT, 0U);
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpCloseTest, DataMayStillBeSentInCloseWait) {
  close_wait();
  send(0, counting(2000));
  wait(1ms);
  EXPECT_EQ(stream(), counting(2000));
  tcp().ack();
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);  // what recv() of ioLibrary waits for
  EXPECT_EQ(status(0), sr::CLOSE_WAIT);
}

TEST_F(TcpCloseTest, ReceivedDataIsReadableInCloseWait) {
  establish();
  tcp().data(counting(300));
  tcp().fin();
  wait(1ms);
  EXPECT_EQ(interrupts(0), ir::RECV | ir::DISCON);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 300U);
  EXPECT_EQ(receive(0, 300), counting(300));
}

TEST_F(TcpCloseTest, FinOnADataSegmentCountsForBoth) {
  establish();
  tcp().segment(tcp().header(FIN | PSH | ACK, chip_seq(0)), counting(40));
  tcp().seq += 41;
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(status(0), sr::CLOSE_WAIT);
  EXPECT_EQ(interrupts(0), ir::RECV | ir::DISCON);
  EXPECT_EQ(receive(0, 40), counting(40));
}

TEST_F(TcpCloseTest, FinOnASegmentWhoseDataIsOldCounts) {
  establish(mode::ND);
  const TcpHeader repeated = tcp().header(FIN | PSH | ACK, chip_seq(0));
  tcp().data(counting(40));
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  tcp().segment(repeated, counting(40));
  ++tcp().seq;
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(status(0), sr::CLOSE_WAIT);
  EXPECT_EQ(interrupts(0), ir::RECV | ir::DISCON);
  EXPECT_EQ(receive(0, 40), counting(40));
}

TEST_F(TcpCloseTest, RepeatedFinIsAcknowledgedAgain) {
  establish();
  const TcpHeader fin = tcp().header(FIN | ACK, chip_seq(0));
  tcp().fin();
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  clear_interrupts(0);
  tcp().segment(fin);
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(status(0), sr::CLOSE_WAIT);
  EXPECT_EQ(interrupts(0), 0U);
}

TEST_F(TcpCloseTest, FinAfterAGapDoesNotCount) {
  establish();
  TcpHeader ahead = tcp().header(FIN | ACK, chip_seq(0));
  ahead.sequence += 10;
  tcp().segment(ahead);
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_EQ(interrupts(0), 0U);
}

TEST_F(TcpCloseTest, DataBeyondThePeersFinIsNotTaken) {
  close_wait();
  tcp().segment(tcp().header(PSH | ACK, chip_seq(0)), counting(10));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
}

TEST_F(TcpCloseTest, FinArrivesWhileOwnDataIsUnacknowledged) {
  establish();
  send(0, counting(100));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .data_bytes = 100});
  crossing_fin();
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  wait(300ms);
  EXPECT_FRAME({.kind = Kind::tcp, .sequence = chip_seq(0), .acknowledgment = tcp().seq, .data_bytes = 100});
  EXPECT_EQ(status(0), sr::CLOSE_WAIT);
}

// The chip first ------------------------------------------------------------------------------------------------------

TEST_F(TcpCloseTest, DisconWaitsForAckAndFinThenTimeWaitForRtr) {
  disconnect();
  tcp().ack();
  wait(1ms);
  EXPECT_EQ(status(0), sr::FIN_WAIT);  // one value for both FIN_WAITs
  const Instant arrived = tcp().fin();
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack, pure_ack());
  EXPECT_EQ(status(0), sr::TIME_WAIT);
  EXPECT_EQ(interrupts(0), ir::DISCON);
  wait_until(arrived + 200ms - 1us - target().jitter());
  EXPECT_EQ(status(0), sr::TIME_WAIT);
  wait(2us + 2 * target().jitter());
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::DISCON);
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpCloseTest, FinThatAcknowledgesTheFinGoesStraightToTimeWait) {
  disconnect();
  tcp().fin();  // acknowledges everything
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(status(0), sr::TIME_WAIT);
  EXPECT_EQ(interrupts(0), ir::DISCON);
  wait(201ms);
  EXPECT_EQ(status(0), sr::CLOSED);
}

TEST_F(TcpCloseTest, FinsThatCrossPassThroughClosing) {
  disconnect();
  crossing_fin();
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(status(0), sr::CLOSING);
  EXPECT_EQ(interrupts(0), ir::DISCON);  // 3.3: with the FIN, not with the end of the connection
  clear_interrupts(0);
  const Instant acknowledged = tcp().ack(chip_seq(1));
  wait(1ms);
  EXPECT_EQ(status(0), sr::TIME_WAIT);
  wait_until(acknowledged + 200ms + 1us + target().jitter());
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), 0U);
  EXPECT_SILENCE();
}

TEST_F(TcpCloseTest, UnacknowledgedFinInClosingIsRepeatedAndTimesOut) {
  set("RCR", 2);
  disconnect();
  const Instant first = peer().seen().back().at;
  crossing_fin();
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  wait(10s);
  EXPECT_FRAME_AT(first + 200ms, own_fin());
  EXPECT_FRAME_AT(first + 600ms, own_fin());
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::DISCON | ir::TIMEOUT);
}

TEST_F(TcpCloseTest, RepeatedFinInTimeWaitIsAcknowledgedAgain) {
  disconnect();
  TcpHeader fin = tcp().header(FIN | ACK, chip_seq(1));
  tcp().fin();
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  tcp().segment(fin);
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(status(0), sr::TIME_WAIT);
}

// 12 no. 22.
TEST_F(TcpCloseTest, PeersFinThatNeverComesEndsInTimeout) {
  set("RCR", 2);
  disconnect();
  const Instant first = peer().seen().back().at;
  tcp().ack();
  wait_until(first + 1400ms - 1us - target().jitter());
  EXPECT_EQ(status(0), sr::FIN_WAIT);
  wait(2us + 2 * target().jitter());
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
  EXPECT_SILENCE();
}

TEST_F(TcpCloseTest, DataIsReceivedAfterTheOwnFin) {
  disconnect();
  tcp().ack();
  tcp().data(counting(50));
  wait(300ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(interrupts(0), ir::RECV);
  EXPECT_EQ(receive(0, 50), counting(50));
}

TEST_F(TcpCloseTest, FinFollowsDataThatIsStillUnsent) {
  tcp().window = 100;
  establish();
  send(0, counting(150));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .data_bytes = 100});
  command(0, cr::DISCON);
  wait(1ms);
  EXPECT_SILENCE();
  tcp().ack();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = PSH | ACK, .sequence = chip_seq(100), .data_bytes = 50});
  EXPECT_FRAME(own_fin(150));
}

TEST_F(TcpCloseTest, LostDataBeforeTheFinIsRepeatedWithIt) {
  establish();
  send(0, counting(100));
  wait(1ms);
  command(0, cr::DISCON);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .data_bytes = 100});
  EXPECT_FRAME(own_fin(100));
  wait(250ms);
  EXPECT_FRAME({.kind = Kind::tcp, .sequence = chip_seq(0), .data_bytes = 100});
  EXPECT_FRAME(own_fin(100));
}

TEST_F(TcpCloseTest, SendAfterDisconDoesNothing) {
  disconnect();
  send(0, counting(10));
  wait(1ms);
  EXPECT_SILENCE();
}

// CLOSE ---------------------------------------------------------------------------------------------------------------

TEST_F(TcpCloseTest, CloseIsSilentAndLaterSegmentsDrawReset) {
  establish();
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .data_bytes = 10});
  command(0, cr::CLOSE);
  EXPECT_EQ(status(0), sr::CLOSED);
  wait(60s);  // what was outstanding is not repeated
  EXPECT_SILENCE();
  tcp().data(counting(5));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST, .sequence = chip_seq(10)});
}

TEST_F(TcpCloseTest, MemoryAndPointersStayAfterClosedUntilOpen) {
  establish();
  tcp().data(counting(300));
  wait(1ms);
  command(0, cr::CLOSE);
  EXPECT_EQ(get(0, "Sn_RX_WR"), 300U);
  EXPECT_EQ(read(rx_of(0), 0, 300), counting(300));
  open(0, mode::TCP, chip_port);
  EXPECT_EQ(get(0, "Sn_RX_WR"), 0U);
}

TEST_F(TcpCloseTest, SocketCanListenAgainAfterwards) {
  for (int i = 0; i < 3; ++i) {
    establish();
    send(0, counting(10));
    wait(1ms);
    EXPECT_EQ(stream(), counting(10));
    tcp().fin();
    wait(1ms);
    command(0, cr::DISCON);
    wait(1ms);
    tcp().ack();
    wait(1ms);
    ASSERT_EQ(status(0), sr::CLOSED);
    tcp().seq = tcp().iss() + 1;
    peer().forget();
  }
}

// ioLibrary issues DISCON in any open TCP state.
TEST_F(TcpCloseTest, DisconWithoutAConnectionJustCloses) {
  open(0, mode::TCP, chip_port);
  command(0, cr::DISCON);
  EXPECT_EQ(status(0), sr::CLOSED);
  listen();
  command(0, cr::DISCON);
  EXPECT_EQ(status(0), sr::CLOSED);
  wait(1s);
  EXPECT_SILENCE();
}

// RST -----------------------------------------------------------------------------------------------------------------

class TcpResetTest : public TcpCloseTest {
 protected:
  void expect_reset_closes() {
    clear_interrupts(0);
    tcp().rst();
    wait(10us);
    EXPECT_EQ(status(0), sr::CLOSED);
    EXPECT_EQ(interrupts(0), ir::DISCON);  // and not TIMEOUT
    peer().forget();
    wait(60s);
    EXPECT_SILENCE();
  }
};

TEST_F(TcpResetTest, InEstablishedClosesAtOnce) {
  establish();
  expect_reset_closes();
}
TEST_F(TcpResetTest, WithDataOutstandingClosesAtOnce) {
  establish();
  send(0, counting(100));
  wait(1ms);
  expect_reset_closes();
}
TEST_F(TcpResetTest, InCloseWaitClosesAtOnce) {
  close_wait();
  expect_reset_closes();
}
TEST_F(TcpResetTest, InFinWaitClosesAtOnce) {
  disconnect();
  expect_reset_closes();
}
TEST_F(TcpResetTest, InClosingClosesAtOnce) {
  disconnect();
  crossing_fin();
  wait(1ms);
  ASSERT_EQ(status(0), sr::CLOSING);
  expect_reset_closes();
}
TEST_F(TcpResetTest, InLastAckClosesAtOnce) {
  close_wait();
  command(0, cr::DISCON);
  wait(1ms);
  ASSERT_EQ(status(0), sr::LAST_ACK);
  expect_reset_closes();
}

TEST_F(TcpResetTest, OutsideTheWindowIsIgnored) {
  establish();
  const std::uint32_t next = tcp().seq;
  for (const std::uint32_t sequence : {next - 1, next + 2048, next + 0x80000000U}) {
    TcpHeader rst = tcp().header(RST, 0);
    rst.sequence = sequence;
    tcp().segment(rst);
    wait(1ms);
    EXPECT_EQ(status(0), sr::ESTABLISHED) << sequence - next;
  }
  EXPECT_SILENCE();
}

TEST_F(TcpResetTest, AnywhereInTheWindowCounts) {
  establish();
  TcpHeader rst = tcp().header(RST, 0);
  rst.sequence += 2047;
  tcp().segment(rst);
  wait(1ms);
  EXPECT_EQ(status(0), sr::CLOSED);
}

TEST_F(TcpResetTest, AtTheEdgeOfAClosedWindowCounts) {
  establish(mode::ND);
  tcp().data(counting(1460));
  wait(1ms);
  tcp().data(counting(588));
  wait(1ms);
  ASSERT_EQ(get(0, "Sn_RX_RSR"), 2048U);
  expect_reset_closes();
}

TEST_F(TcpResetTest, OfAnotherConnectionDoesNothing) {
  establish();
  TcpHeader rst = tcp().header(RST, 0);
  rst.source_port = 41000;
  tcp().segment(rst);
  wait(1ms);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

// 8 no. 20: a peer that vanishes is not noticed without traffic.
TEST_F(TcpCloseTest, VanishedPeerIsNotNoticedWithoutTraffic) {
  establish();
  wait(86400s);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_SILENCE();
}

}  // namespace
}  // namespace wizloop::conformance
