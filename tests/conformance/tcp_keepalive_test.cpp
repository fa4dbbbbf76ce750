// Keep-alive: facts section 5.7 (datasheet 4.2, Sn_KPALVTR and SEND_KEEP).
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class TcpKeepaliveTest : public TcpTest {
 protected:
  // A byte has been sent and acknowledged; the instant of the last frame.
  Instant establish_and_send() {
    establish();
    send(0, counting(1));
    wait(1ms);
    EXPECT_FRAME({.kind = Kind::tcp, .data_bytes = 1});
    const Instant last = tcp().ack();
    wait(1ms);
    peer().forget();
    clear_interrupts(0);
    return last;
  }
  // One byte, the last acknowledged one.
  FramePattern probe() {
    return {.kind = Kind::tcp, .sequence = chip_seq(0), .acknowledgment = tcp().seq, .data_bytes = 1};
  }
  void answer() {
    tcp().ack(chip_seq(1));
    wait(1ms);
  }
};

TEST_F(TcpKeepaliveTest, ManualProbeRepeatsTheLastAcknowledgedByte) {
  establish_and_send();
  command(0, cr::SEND_KEEP);
  wait(1ms);
  EXPECT_FRAME(probe());
  answer();
  wait(60s);
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_EQ(interrupts(0), 0U);
}

// A byte must have been sent by the chip: receiving is not enough.
TEST_F(TcpKeepaliveTest, ManualProbeNeedsAByteThatWasSent) {
  establish(mode::ND);
  command(0, cr::SEND_KEEP);
  tcp().data(counting(10));
  wait(1ms);
  peer().forget();
  command(0, cr::SEND_KEEP);
  wait(60s);
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

TEST_F(TcpKeepaliveTest, ManualProbeIsIgnoredWithAutomaticOn) {
  set(0, "Sn_KPALVTR", 10);
  establish_and_send();
  command(0, cr::SEND_KEEP);
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(TcpKeepaliveTest, AutomaticProbeComesAfterThePeriodOfSilence) {
  for (const std::uint64_t period : {1U, 2U, 12U}) {
    set(0, "Sn_KPALVTR", period);
    const Instant last = establish_and_send();
    const Duration silence = 5s * static_cast<std::int64_t>(period);
    wait_until(last + silence - 100ms);
    EXPECT_SILENCE();
    wait(200ms);
    EXPECT_FRAME(probe());
    EXPECT_SILENCE();
    command(0, cr::CLOSE);
    peer().forget();
    tcp().seq = tcp().iss() + 1;
  }
}

TEST_F(TcpKeepaliveTest, AutomaticProbesGoOnAsLongAsTheyAreAnswered) {
  set(0, "Sn_KPALVTR", 1);
  establish_and_send();
  for (int i = 0; i < 20; ++i) {
    wait(5100ms);
    EXPECT_FRAME(probe());
    EXPECT_SILENCE();
    answer();
  }
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_EQ(interrupts(0), 0U);
}

// An answer gives the next probe all its repeats.
TEST_F(TcpKeepaliveTest, AnswerAfterARepeatStartsTheCountAnew) {
  set("RCR", 2);
  set(0, "Sn_KPALVTR", 1);
  establish_and_send();
  wait(5300ms);
  EXPECT_FRAME(probe());
  EXPECT_FRAME(probe());
  answer();
  wait(5100ms);
  EXPECT_FRAME(probe());
  const Instant first = peer().seen().back().at;
  wait(2s);
  EXPECT_FRAME_AT(first + 200ms, probe());
  EXPECT_FRAME_AT(first + 600ms, probe());
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
}

TEST_F(TcpKeepaliveTest, AutomaticProbeNeedsAByteThatWasSent) {
  set(0, "Sn_KPALVTR", 1);
  establish();
  wait(60s);
  EXPECT_SILENCE();
}

// 3: may be set at any time in TCP.
TEST_F(TcpKeepaliveTest, AutomaticMayBeSwitchedOnAndOffLater) {
  establish_and_send();
  wait(60s);
  EXPECT_SILENCE();
  set(0, "Sn_KPALVTR", 1);
  wait(5100ms);
  EXPECT_FRAME(probe());
  answer();
  set(0, "Sn_KPALVTR", 0);
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpKeepaliveTest, TrafficKeepsTheProbeAway) {
  set(0, "Sn_KPALVTR", 1);
  establish_and_send();
  for (int i = 0; i < 5; ++i) {
    wait(4s);
    tcp().data(counting(1));
    wait(500ms);
    EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK, .data_bytes = 0});
    EXPECT_SILENCE();
  }
}

TEST_F(TcpKeepaliveTest, UnansweredProbesFollowTheTableAndEndInTimeout) {
  set("RCR", 3);
  establish_and_send();
  command(0, cr::SEND_KEEP);
  wait(1ms);
  EXPECT_FRAME(probe());
  const Instant first = peer().seen().back().at;
  wait_until(first + 3s - 1us - target().jitter());
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  wait(2us + 2 * target().jitter());
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
  for (const Duration after : {Duration{200ms}, Duration{600ms}, Duration{1400ms}}) {
    EXPECT_FRAME_AT(first + after, probe());
  }
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpKeepaliveTest, VanishedPeerIsNoticedByTheAutomaticProbe) {
  set(0, "Sn_KPALVTR", 1);
  establish_and_send();
  wait(5s + 32s);
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
}

// Any packet from the peer proves life.
TEST_F(TcpKeepaliveTest, DataFromThePeerAnswersAsWell) {
  establish_and_send();
  command(0, cr::SEND_KEEP);
  wait(1ms);
  EXPECT_FRAME(probe());
  tcp().data(counting(5));
  wait(1s);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK, .data_bytes = 0});
  wait(60s);
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

TEST_F(TcpKeepaliveTest, ResetAnswersToo) {
  establish_and_send();
  command(0, cr::SEND_KEEP);
  wait(1ms);
  tcp().rst();
  wait(1ms);
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::DISCON);
}

// The state must be ESTABLISHED.
TEST_F(TcpKeepaliveTest, ManualProbeDoesNothingInOtherStates) {
  listen();
  command(0, cr::SEND_KEEP);
  EXPECT_EQ(status(0), sr::LISTEN);
  command(0, cr::CLOSE);
  establish_and_send();
  tcp().fin();
  wait(1ms);
  peer().forget();
  command(0, cr::SEND_KEEP);
  wait(1ms);
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::CLOSE_WAIT);
}

// A keep-alive is no SEND.
TEST_F(TcpKeepaliveTest, ProbeRaisesNoSendokAndMovesNoPointer) {
  establish_and_send();
  const std::uint64_t tx_rd = get(0, "Sn_TX_RD");
  command(0, cr::SEND_KEEP);
  wait(1ms);
  EXPECT_EQ(interrupts(0), 0U);
  EXPECT_EQ(get(0, "Sn_TX_RD"), tx_rd);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
  answer();
  peer().forget();
  send(0, counting(4));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .sequence = chip_seq(1), .data_bytes = 4});
}

}  // namespace
}  // namespace wizloop::conformance
