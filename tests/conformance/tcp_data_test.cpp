// Data over TCP: facts sections 5.6 and 3.5, and the check of section 11 about a SEND of 2006 bytes.
#include <set>

#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

using wire::TcpHeader;

class TcpDataTest : public TcpTest {
 protected:
  FramePattern pure_ack() { return {.kind = Kind::tcp, .flags = ACK, .acknowledgment = tcp().seq, .data_bytes = 0}; }
  FramePattern segment(std::uint32_t from, std::size_t bytes) {
    return {.kind = Kind::tcp, .flags = PSH | ACK, .sequence = chip_seq(from), .data_bytes = bytes};
  }
  Instant last_seen() { return peer().seen().back().at; }
  // The peer takes no byte of a probe, but opens its window.
  void set_window_before_the_probe(std::uint16_t window) {
    tcp().window = window;
    tcp().ack(chip_seq(0));
  }
  // The peer's window, as of now.
  void set_window(std::uint16_t window) {
    tcp().window = window;
    tcp().ack();
    wait(1ms);
  }
};

// Sending -------------------------------------------------------------------------------------------------------------

// 11.
TEST_F(TcpDataTest, TwoThousandAndSixBytesLeaveAs1460And546) {
  establish();
  send(0, counting(2006));
  wait(1ms);
  EXPECT_FRAME(segment(0, 1460));
  EXPECT_FRAME(segment(1460, 546));
  EXPECT_SILENCE();
  EXPECT_EQ(stream(), counting(2006));
  EXPECT_EQ(interrupts(0), ir::SENDOK);  // before any ACK
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U - 2006U);
  tcp().ack();
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
}

TEST_F(TcpDataTest, SegmentsOfOneSendFollowBackToBack) {
  REQUIRES(exact_time);
  establish();
  send(0, counting(2006));
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 2U);
  EXPECT_EQ(peer().seen()[1].at - peer().seen()[0].last_bit, 960ns + 5us);  // 9.3
}

TEST_F(TcpDataTest, SendokComesOnceAllHasLeftAndWithTheReadPointer) {
  establish();
  write(tx_of(0), static_cast<std::uint16_t>(get(0, "Sn_TX_WR")), counting(2000));
  set(0, "Sn_TX_WR", (chip_seq(0) + 2000) & 0xFFFF);
  set(0, "Sn_CR", cr::SEND);
  for (int i = 0; i < 1000 && interrupts(0) == 0; ++i) wait(1us);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
  EXPECT_EQ(peer().seen().size(), 2U);
  EXPECT_EQ(get(0, "Sn_TX_RD"), chip_seq(2000) & 0xFFFF);
}

// No Nagle.
TEST_F(TcpDataTest, SmallSendsLeaveAtOnceEach) {
  establish();
  for (std::uint32_t i = 0; i < 5; ++i) {
    send(0, counting(3));
    wait(100us);
    EXPECT_FRAME(segment(3 * i, 3));
  }
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, FreeSizeGrowsWithEachAck) {
  establish();
  send(0, counting(1000));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 1048U);
  tcp().ack(chip_seq(300));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 1348U);
  tcp().ack(chip_seq(1000));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
}

TEST_F(TcpDataTest, DataCrossesTheEndOfTheTxRing) {
  establish();
  Octets all;
  for (std::uint8_t i = 0; i < 10; ++i) {
    const Octets data = counting(777, i);
    all.insert(all.end(), data.begin(), data.end());
    send(0, data);
    wait(1ms);
    tcp().ack();
    wait(1ms);
  }
  EXPECT_EQ(stream(), all);
}

TEST_F(TcpDataTest, SendsOnlyWhatFitsThePeersWindow) {
  tcp().window = 500;
  establish();
  send(0, counting(1200));
  wait(1ms);
  EXPECT_FRAME(segment(0, 500));
  EXPECT_SILENCE();
  EXPECT_EQ(interrupts(0), 0U);  // SENDOK is late
  tcp().window = 600;
  tcp().ack();
  wait(1ms);
  EXPECT_FRAME(segment(500, 600));
  EXPECT_EQ(interrupts(0), 0U);
  tcp().ack();
  wait(1ms);
  EXPECT_FRAME(segment(1100, 100));
  EXPECT_SILENCE();
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

TEST_F(TcpDataTest, DoesNotWaitForAcksWithinTheWindow) {
  for (int n = 0; n < 8; ++n) set(n, "Sn_TXBUF_SIZE", n == 0 ? 16 : 0);
  establish();
  send(0, Octets(16000, 1));
  wait(2ms);
  for (std::uint32_t i = 0; i < 10; ++i) EXPECT_FRAME(segment(1460 * i, 1460));
  EXPECT_FRAME(segment(14600, 1400));
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

TEST_F(TcpDataTest, ReopenedWindowLetsDataOutAtOnce) {
  establish();
  set_window(0);
  send(0, counting(100));
  wait(50ms);
  EXPECT_SILENCE();
  set_window(1000);
  EXPECT_FRAME(segment(0, 100));
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

// A segment that another one has overtaken says nothing about the window of today.
TEST_F(TcpDataTest, WindowOfASegmentThatCameLateDoesNotCount) {
  establish(mode::ND);
  const TcpHeader early = tcp().header(ACK, chip_seq(0));  // with a window of 65535
  tcp().window = 500;
  tcp().data(counting(10));
  tcp().ack();
  wait(1ms);
  tcp().segment(early);
  wait(1ms);
  peer().forget();
  send(0, counting(1000));
  wait(1ms);
  EXPECT_FRAME(segment(0, 500));
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, WindowOfAnAckThatCameLateDoesNotCount) {
  establish();
  send(0, counting(100));
  wait(1ms);
  EXPECT_FRAME(segment(0, 100));
  const TcpHeader early = tcp().header(ACK, chip_seq(50));
  tcp().window = 500;
  tcp().ack(chip_seq(100));
  wait(1ms);
  tcp().segment(early);
  wait(1ms);
  send(0, counting(1000));
  wait(1ms);
  EXPECT_FRAME(segment(100, 500));
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, AckOfWhatWasNeverSentIsAnsweredAndIgnored) {
  establish();
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME(segment(0, 10));
  tcp().ack(chip_seq(5000));
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2038U);
}

TEST_F(TcpDataTest, DuplicateAcksBringNoFastRetransmission) {
  establish();
  send(0, counting(100));
  wait(1ms);
  EXPECT_FRAME(segment(0, 100));
  for (int i = 0; i < 10; ++i) {
    tcp().ack(chip_seq(0));
    wait(1ms);
  }
  EXPECT_SILENCE();
}

// Segment size --------------------------------------------------------------------------------------------------------

TEST_F(TcpDataTest, SmallerSegmentSizeOfThePeerWins) {
  establish(0, 600);
  send(0, counting(1300));
  wait(1ms);
  EXPECT_FRAME(segment(0, 600));
  EXPECT_FRAME(segment(600, 600));
  EXPECT_FRAME(segment(1200, 100));
}

TEST_F(TcpDataTest, OwnSmallerSegmentSizeWins) {
  set(0, "Sn_MSSR", 500);
  establish(0, 1460);
  send(0, counting(1200));
  wait(1ms);
  EXPECT_FRAME(segment(0, 500));
  EXPECT_FRAME(segment(500, 500));
  EXPECT_FRAME(segment(1000, 200));
}

TEST_F(TcpDataTest, PeerWithoutASegmentSizeGets536) {
  establish(0, 0);
  send(0, counting(600));
  wait(1ms);
  EXPECT_FRAME(segment(0, 536));
  EXPECT_FRAME(segment(536, 64));
}

TEST_F(TcpDataTest, SegmentSizeOfOneByteWorks) {
  establish(0, 1);
  send(0, counting(5));
  wait(1ms);
  for (std::uint32_t i = 0; i < 5; ++i) EXPECT_FRAME(segment(i, 1));
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

TEST_F(TcpDataTest, ClientTakesTheSegmentSizeOfTheSynAck) {
  connect();
  ASSERT_TRUE(tcp().establish_from_client([this](Duration duration) { wait(duration); }, 400));
  send(0, counting(500));
  wait(1ms);
  EXPECT_FRAME(segment(0, 400));
  EXPECT_FRAME(segment(400, 100));
}

// Retransmission ------------------------------------------------------------------------------------------------------
// (The instants of the whole table are in tcp_open_test.)

TEST_F(TcpDataTest, AllOutstandingSegmentsAreSentAgain) {
  establish();
  send(0, counting(2006));
  wait(1ms);
  EXPECT_FRAME(segment(0, 1460));
  const Instant first = last_seen() - (peer().seen()[1].at - peer().seen()[0].at);
  EXPECT_FRAME(segment(1460, 546));
  wait(300ms);
  EXPECT_FRAME_AT(first + 200ms, segment(0, 1460));
  EXPECT_FRAME(segment(1460, 546));
  EXPECT_SILENCE();
  EXPECT_EQ(stream(), counting(2006));
}

TEST_F(TcpDataTest, AckOfNewDataStartsTimerAndCountAnew) {
  set("RCR", 2);
  establish();
  send(0, counting(1000));
  wait(1s);  // two repeats are spent
  EXPECT_FRAME(segment(0, 1000));
  EXPECT_FRAME(segment(0, 1000));
  EXPECT_FRAME(segment(0, 1000));
  const Instant acknowledged = tcp().ack(chip_seq(400));
  wait(5s);
  EXPECT_FRAME_AT(acknowledged + 200ms, segment(400, 600));
  EXPECT_FRAME_AT(acknowledged + 600ms, segment(400, 600));
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::CLOSED);
}

TEST_F(TcpDataTest, AcknowledgedDataIsNotRepeated) {
  establish();
  send(0, counting(1000));
  wait(1ms);
  EXPECT_FRAME(segment(0, 1000));
  tcp().ack();
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, LateAckOfARepeatedSegmentEndsTheRepeats) {
  establish();
  send(0, counting(100));
  wait(3s);
  tcp().ack(chip_seq(100));
  wait(1ms);
  peer().forget();
  wait(60s);
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

TEST_F(TcpDataTest, ASendAfterATimeoutOfAnotherSocketIsUntouched) {
  set("RCR", 0);
  establish();
  open(1, mode::UDP, 5001);
  address(1, wire::ipv4(192, 168, 1, 77), 9);
  send(1, {1});
  wait(1s);
  EXPECT_EQ(interrupts(1), ir::TIMEOUT);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

// 5.1: a new RTR counts from the next start of the timer.
TEST_F(TcpDataTest, RtrWrittenWhileWaitingCountsFromTheNextStart) {
  establish();
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME(segment(0, 10));
  const Instant first = last_seen();
  set("RTR", 1000);
  wait(700ms);
  EXPECT_FRAME_AT(first + 200ms, segment(0, 10));
  EXPECT_FRAME_AT(first + 400ms, segment(0, 10));
}

TEST_F(TcpDataTest, RcrWrittenWhileWaitingCountsFromTheNextStart) {
  establish();
  send(0, counting(10));
  wait(100ms);
  set("RCR", 1);  // the repeat after 200 ms is the last
  wait(5s);
  EXPECT_FRAME(segment(0, 10));
  EXPECT_FRAME(segment(0, 10));
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::SENDOK | ir::TIMEOUT);
}

// 5.1: RTR = 0 acts as 1.
TEST_F(TcpDataTest, RtrZeroActsAsOne) {
  REQUIRES(exact_time);
  establish();
  set("RTR", 0);
  set("RCR", 2);
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME(segment(0, 10));
  const Instant first = peer().seen().front().at;
  EXPECT_FRAME_AT(first + 100us, segment(0, 10));
  EXPECT_FRAME_AT(first + 300us, segment(0, 10));
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::CLOSED);
}

// 4.2: the drain trick.
TEST_F(TcpDataTest, ReadPointerAtWritePointerEmptiesTheRing) {
  establish();
  tcp().data(counting(1000));
  wait(1s);
  peer().forget();
  set(0, "Sn_RX_RD", get(0, "Sn_RX_WR"));
  command(0, cr::RECV);
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK, .window = 2048});
}

// 5.8: link lost: nothing but the retries.
TEST_F(TcpDataTest, PulledCableDoesNotEndTheConnection) {
  REQUIRES(cable_switch);
  establish();
  target().set_cable(false);
  wait(100ms);
  send(0, counting(10));
  wait(2s);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  target().set_cable(true);
  peer().forget();
  wait(10s);
  EXPECT_FRAME(segment(0, 10));
  tcp().ack();
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
}

// Zero window ---------------------------------------------------------------------------------------------------------

TEST_F(TcpDataTest, ProbesAClosedWindowWithOneByteAfterRtr) {
  establish();
  set_window(0);
  send(0, counting(100));
  wait(190ms);
  EXPECT_SILENCE();
  wait(20ms);
  EXPECT_FRAME(segment(0, 1));
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, UnansweredProbesFollowTheTableAndEndInTimeout) {
  set("RCR", 2);
  establish();
  set_window(0);
  send(0, counting(100));
  wait(210ms);
  EXPECT_FRAME(segment(0, 1));
  const Instant first = last_seen();
  wait(10s);
  Instant last = first;
  while (const net::SeenFrame* frame = peer().next()) {
    EXPECT_EQ(frame->data().size(), 1U);
    EXPECT_GE(frame->at - last, 200ms);
    last = frame->at;
  }
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
}

TEST_F(TcpDataTest, AnsweredProbesNeverEndTheConnection) {
  set("RCR", 1);
  establish();
  set_window(0);
  send(0, counting(100));
  int probes = 0;
  for (int i = 0; i < 300; ++i) {
    wait(100ms);
    while (const net::SeenFrame* frame = peer().next()) {
      EXPECT_EQ(frame->data().size(), 1U);
      ++probes;
      tcp().ack(chip_seq(0));
    }
  }
  EXPECT_GT(probes, 20);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  tcp().window = 1000;
  tcp().ack(chip_seq(0));
  wait(1ms);
  tcp().ack();
  wait(1s);
  EXPECT_EQ(stream(), counting(100));
}

// The byte of a probe that was not taken is not outstanding: what leaves once the window opens has RTR of its own.
TEST_F(TcpDataTest, DataAfterAReopenedWindowWaitsRtrBeforeItIsRepeated) {
  establish();
  set_window(0);
  send(0, counting(100));
  wait(210ms);
  EXPECT_FRAME(segment(0, 1));
  tcp().ack(chip_seq(0));
  wait(150ms);
  set_window_before_the_probe(1000);
  wait(1ms);
  EXPECT_FRAME(segment(0, 100));
  const Instant sent = last_seen();
  wait(300ms);
  EXPECT_FRAME_AT(sent + 200ms, segment(0, 100));
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, ProbeThatIsTakenCountsAsData) {
  establish();
  set_window(0);
  send(0, counting(100));
  wait(210ms);
  EXPECT_FRAME(segment(0, 1));
  tcp().window = 1000;
  tcp().ack(chip_seq(1));
  wait(1ms);
  EXPECT_FRAME(segment(1, 99));
}

// Receiving -----------------------------------------------------------------------------------------------------------

// 4.3: a raw stream.
TEST_F(TcpDataTest, ReceivedDataIsARawStream) {
  establish();
  tcp().data(counting(10));
  tcp().data(counting(20, 10));
  wait(1ms);
  EXPECT_EQ(interrupts(0), ir::RECV);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 30U);
  EXPECT_EQ(receive(0, 30), counting(30));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
}

TEST_F(TcpDataTest, ReceivedDataCrossesTheEndOfTheRxRing) {
  establish(mode::ND);
  for (std::uint8_t i = 0; i < 20; ++i) {
    tcp().data(counting(999, i));
    wait(1ms);
    ASSERT_EQ(receive(0, 999), counting(999, i));
    wait(1ms);
  }
}

TEST_F(TcpDataTest, SegmentsShowWholeOnly) {
  REQUIRES(exact_time);
  establish();
  tcp().data(counting(1000));
  std::set<std::uint64_t> sizes;
  for (int i = 0; i < 200; ++i) {
    sizes.insert(get(0, "Sn_RX_RSR"));
    wait(1us);
  }
  EXPECT_EQ(sizes, (std::set<std::uint64_t>{0, 1000}));
}

TEST_F(TcpDataTest, NoDelayAcknowledgesEverySegmentAtOnce) {
  establish(mode::ND);
  for (int i = 0; i < 3; ++i) {
    const Instant arrived = tcp().data(counting(10));
    wait(1ms);
    EXPECT_FRAME_AT(arrived + segment_to_ack, pure_ack());
  }
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, WithDelayASingleSegmentIsAcknowledgedAfterRtr) {
  establish();
  const Instant arrived = tcp().data(counting(10));
  wait(1s);
  EXPECT_FRAME_AT(arrived + 200ms, pure_ack());
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, DelayOfTheAckFollowsRtr) {
  set("RTR", 700);
  establish();
  const Instant arrived = tcp().data(counting(10));
  wait(1s);
  EXPECT_FRAME_AT(arrived + 70ms, pure_ack());
}

TEST_F(TcpDataTest, WithDelayTheSecondSegmentIsAcknowledgedAtOnce) {
  establish();
  tcp().data(counting(10));
  wait(1ms);
  EXPECT_SILENCE();
  const Instant second = tcp().data(counting(10));
  wait(1s);
  EXPECT_FRAME_AT(second + segment_to_ack, pure_ack());
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, WithDelayAWindowBelowASegmentIsAcknowledgedAtOnce) {
  establish();
  const Instant arrived = tcp().data(counting(1460));
  wait(1s);
  EXPECT_FRAME_AT(arrived + segment_to_ack, {.kind = Kind::tcp, .flags = ACK, .window = 588});
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, WithDelayTheAckRidesOnTheNextData) {
  establish();
  tcp().data(counting(10));
  wait(50ms);
  send(0, counting(5));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = PSH | ACK, .acknowledgment = tcp().seq, .data_bytes = 5});
  tcp().ack();
  wait(1s);
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, DataMayAcknowledge) {
  establish();
  send(0, counting(50));
  wait(1ms);
  EXPECT_FRAME(segment(0, 50));
  tcp().data(counting(10));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 10U);
}

// Window --------------------------------------------------------------------------------------------------------------

TEST_F(TcpDataTest, AdvertisedWindowIsWhatIsFree) {
  establish(mode::ND);
  std::uint16_t left = 2048;
  for (int i = 0; i < 4; ++i) {
    tcp().data(counting(500));
    wait(1ms);
    left = static_cast<std::uint16_t>(left - 500);
    EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK, .window = left});
  }
}

TEST_F(TcpDataTest, RecvThatOpensTheWindowSendsAnUpdate) {
  establish(mode::ND);
  tcp().data(counting(1000));
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  set(0, "Sn_RX_RD", 400);
  set(0, "Sn_CR", cr::RECV);
  const Instant command_given = now();
  wait(1ms);
  EXPECT_FRAME_AT(command_given + 5us, {.kind = Kind::tcp, .flags = ACK, .acknowledgment = tcp().seq, .window = 1448});
  EXPECT_SILENCE();
}

// The trace of F5213: a small request, its ACK with the window update, the answer.
TEST_F(TcpDataTest, WindowUpdateAcknowledgesWhatTheDelayHeldBack) {
  establish();
  tcp().data(counting(2));
  wait(1ms);
  EXPECT_SILENCE();
  receive(0, 2);
  wait(1s);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK, .acknowledgment = tcp().seq, .window = 2048});
  EXPECT_SILENCE();
}

// F5242: RECV forgotten.
TEST_F(TcpDataTest, WindowStaysShutUntilRecv) {
  establish(mode::ND);
  tcp().data(counting(1460));
  wait(1ms);
  tcp().data(counting(588));
  wait(1ms);
  peer().forget();
  for (int i = 0; i < 3; ++i) {
    wait(10s);
    TcpHeader probe = tcp().header(ACK, chip_seq(0));
    tcp().segment(probe, counting(1));
    wait(1ms);
    EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK, .acknowledgment = tcp().seq, .window = 0});
  }
  receive(0, 2048);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK, .window = 2048});
}

TEST_F(TcpDataTest, RecvThatTakesNothingSendsNoUpdate) {
  establish(mode::ND);
  tcp().data(counting(1000));
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  command(0, cr::RECV);
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(TcpDataTest, WindowDoesNotGrowWithoutRecv) {
  establish(mode::ND);
  tcp().data(counting(1000));
  wait(1ms);
  set(0, "Sn_RX_RD", 1000);
  send(0, {1});
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  EXPECT_FRAME({.kind = Kind::tcp, .window = 1048, .data_bytes = 1});
}

TEST_F(TcpDataTest, FullRingAdvertisesZero) {
  establish(mode::ND);
  tcp().data(counting(1460));
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  tcp().data(counting(588));
  wait(1ms);
  FramePattern full = pure_ack();
  full.window = 0;
  EXPECT_FRAME(full);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 2048U);
}

// 4.3: the window keeps the peer from it; a segment beyond is dropped and acknowledged.
TEST_F(TcpDataTest, SegmentBeyondTheWindowIsDroppedAndAcknowledged) {
  establish(mode::ND);
  tcp().data(counting(1460));
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  FramePattern unchanged = pure_ack();
  unchanged.window = 588;
  const Instant arrived = tcp().data(counting(589));
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack, unchanged);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 1460U);
}

// Order ---------------------------------------------------------------------------------------------------------------

TEST_F(TcpDataTest, SegmentAfterAGapIsDroppedWithADuplicateAck) {
  establish();
  TcpHeader ahead = tcp().header(ACK, chip_seq(0));
  ahead.sequence += 100;
  const Instant arrived = tcp().segment(ahead, counting(50));
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack, pure_ack());
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  EXPECT_EQ(interrupts(0), 0U);
}

TEST_F(TcpDataTest, AGapIsFilledInOrderOnly) {
  establish(mode::ND);
  TcpHeader second = tcp().header(ACK, chip_seq(0));
  second.sequence += 100;
  tcp().segment(second, counting(100, 100));
  tcp().data(counting(100));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 100U);  // the early one was not kept
  tcp().segment(second, counting(100, 100));
  wait(1ms);
  EXPECT_EQ(receive(0, 200), counting(200));
}

TEST_F(TcpDataTest, OldSegmentIsDroppedAndAcknowledged) {
  establish(mode::ND);
  const TcpHeader first = tcp().header(ACK | PSH, chip_seq(0));
  tcp().data(counting(100));
  wait(1ms);
  EXPECT_FRAME(pure_ack());
  const Instant again = tcp().segment(first, counting(100));
  wait(1ms);
  EXPECT_FRAME_AT(again + segment_to_ack, pure_ack());
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 100U);
}

TEST_F(TcpDataTest, OverlappingSegmentKeepsItsNewPart) {
  establish(mode::ND);
  TcpHeader overlap = tcp().header(ACK | PSH, chip_seq(0));
  tcp().data(counting(100));
  wait(1ms);
  overlap.sequence += 60;
  tcp().segment(overlap, counting(100, 60));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 160U);
  EXPECT_EQ(receive(0, 160), counting(160));
}

// Odds ----------------------------------------------------------------------------------------------------------------

TEST_F(TcpDataTest, UrgentDataStaysInLine) {
  establish(mode::ND);
  tcp().segment(tcp().header(ACK | 0x20, chip_seq(0)), counting(10));
  wait(1ms);
  EXPECT_EQ(receive(0, 10), counting(10));
}

TEST_F(TcpDataTest, SegmentWithoutPshIsDeliveredAsWell) {
  establish(mode::ND);
  tcp().segment(tcp().header(ACK, chip_seq(0)), counting(10));
  wait(1ms);
  EXPECT_EQ(interrupts(0), ir::RECV);
}

TEST_F(TcpDataTest, OptionsInASegmentAreSkipped) {
  establish(mode::ND);
  TcpHeader header = tcp().header(ACK, chip_seq(0));
  header.mss = 100;  // 24 bytes of header
  tcp().segment(header, counting(10));
  wait(1ms);
  EXPECT_EQ(receive(0, 10), counting(10));
}

TEST_F(TcpDataTest, DamagedSegmentsAreDroppedSilently) {
  establish(mode::ND);
  const Octets good = peer().tcp(tcp().header(ACK | PSH, chip_seq(0)), counting(10));
  Octets bad = good;
  bad[60] ^= 0x10;  // data: the TCP checksum is wrong
  peer().send(bad);
  bad = good;
  bad[22] ^= 0x01;  // TTL: the IP checksum is wrong
  peer().send(bad);
  peer().send(good, false);  // FCS
  wait(1s);
  EXPECT_SILENCE();
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  peer().send(good);
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 10U);
}

// 5.7: the peer's keep-alives.
TEST_F(TcpDataTest, KeepAliveOfThePeerIsAcknowledgedAndNotStored) {
  establish();
  tcp().data(counting(10));
  wait(1s);
  EXPECT_FRAME(pure_ack());
  for (const std::size_t garbage : {0U, 1U}) {
    TcpHeader probe = tcp().header(ACK, chip_seq(0));
    probe.sequence -= 1;
    const Instant arrived = tcp().segment(probe, Octets(garbage));
    wait(1ms);
    EXPECT_FRAME_AT(arrived + segment_to_ack, pure_ack());
    EXPECT_EQ(get(0, "Sn_RX_RSR"), 10U);
  }
}

TEST_F(TcpDataTest, ConnectionsOfTwoSocketsStayApart) {
  establish();
  open(3, mode::TCP, 5003);
  command(3, cr::LISTEN);
  net::ScriptedConnection other{peer(), 41000, 5003};
  ASSERT_TRUE(other.establish_to_listener([this](Duration duration) { wait(duration); }));
  tcp().data(counting(10));
  other.data(counting(20, 50));
  wait(1ms);
  EXPECT_EQ(receive(0, 10), counting(10));
  EXPECT_EQ(receive(3, 20), counting(20, 50));
  wait(1ms);
  send(3, counting(7));
  wait(1ms);
  EXPECT_EQ(peer().seen().back().tcp().source_port, 5003);
}

// 4.2, 8 no. 10: a stale TX_WR sends the ring round and round, about 64 KB.
TEST_F(TcpDataTest, StaleWritePointerSendsTheRingRoundAndRound) {
  establish();
  set(0, "Sn_TX_WR", (chip_seq(0) - 100) & 0xFFFF);
  set(0, "Sn_CR", cr::SEND);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), (2048U - 65436U) & 0xFFFF);
  wait(8ms);
  EXPECT_EQ(stream().size(), 65436U);
}

}  // namespace
}  // namespace wizloop::conformance
