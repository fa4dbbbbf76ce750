// Keep-alive: datasheet 4.2, SEND_KEEP and Sn_KPALVTR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::SizeIs;

class KeepAliveTest : public testing::Test {
 protected:
  KeepAliveTest() { board.configure(); }
  void establish_with_data() {
    tcp.establish();
    board.send(0, {1, 2, 3});
    board.advance(1ms);
    tcp.acknowledge(tcp.iss + 4);
    board.advance(1ms);
    board.sent.clear();
    board.set8(0, socket::Sn_IR, 0xFF);
  }
  TestBoard board;
  TestConnection tcp{board};
};

TEST_F(KeepAliveTest, SendKeepRepeatsTheLastAcknowledgedByte) {
  establish_with_data();
  board.command(0, sn_cr::SEND_KEEP);
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].tcp().sequence, tcp.iss + 3);
  EXPECT_THAT(board.sent[0].tcp_payload(), ElementsAre(3));
  tcp.acknowledge(tcp.iss + 4);
  board.advance(60s);
  EXPECT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST_F(KeepAliveTest, PeriodCountsFiveSecondsOfSilenceEach) {
  establish_with_data();
  const Instant asked = board.now();  // silence counts from the write of the period at the earliest
  board.set8(0, socket::Sn_KPALVTR, 2);
  board.advance(9900ms);
  EXPECT_THAT(board.sent, SizeIs(0));
  board.advance(1s - 850ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].at - asked, 10s);
  tcp.acknowledge(tcp.iss + 4);
  board.advance(9900ms);
  EXPECT_THAT(board.sent, SizeIs(1));
  board.advance(200ms);
  EXPECT_THAT(board.sent, SizeIs(2));
}

TEST_F(KeepAliveTest, UnansweredOnesAreRepeatedAndEndInTimeout) {
  board.write(0, common::RCR, {1});
  establish_with_data();
  board.command(0, sn_cr::SEND_KEEP);
  board.advance(10s);
  ASSERT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.sent[1].at - board.sent[0].at, 200ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(KeepAliveTest, NothingSentYetMeansNoKeepAlive) {
  tcp.establish();
  board.set8(0, socket::Sn_KPALVTR, 1);
  board.advance(60s);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST_F(KeepAliveTest, SendKeepIsIgnoredWhileThePeriodIsSet) {
  establish_with_data();
  board.set8(0, socket::Sn_KPALVTR, 1);
  board.command(0, sn_cr::SEND_KEEP);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

}  // namespace
}  // namespace wizloop::test
