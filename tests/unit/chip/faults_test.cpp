// A chip that misbehaves on purpose: slow commands, late resets, an identity that comes late, SENDOK that does not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "tests/support/planned_faults.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::chip {
namespace {

class ChipFaultsTest : public testing::Test {
 protected:
  void plan(std::string_view name, std::string_view text) {
    faults.emplace(board.queue, board.trace, test::PlannedFaults::Texts{{name, text}});
    board.chip.inject(**faults);
  }
  void open_udp() {
    board.configure();
    board.set8(0, socket::Sn_MR, sn_mr::UDP);
    board.set16(0, socket::Sn_PORT, 5000);
    board.command(0, sn_cr::OPEN);
    board.set32(0, socket::Sn_DIPR, test::peer_ip);
    board.set16(0, socket::Sn_DPORT, 6000);
  }
  // One datagram, its ARP answered; leaves the time at which SENDOK is due well behind.
  void send_datagram() {
    board.send(0, {1, 2, 3, 4});
    board.advance(100us);
    board.answer_arp();
    board.advance(1ms);
  }
  std::uint8_t version() { return board.read(0, common::VERSIONR, 1)[0]; }

  test::TestBoard board;
  std::optional<test::PlannedFaults> faults;
};

TEST_F(ChipFaultsTest, SlowCommandStaysInSnCrAndTakesEffectLate) {
  plan("chip_command_slow", "nth=1,delay=3ms");
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.set8(0, socket::Sn_CR, sn_cr::OPEN);
  board.advance(3ms - picoseconds(1));
  EXPECT_EQ(board.get8(0, socket::Sn_CR), sn_cr::OPEN);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  board.advance(1us);
  EXPECT_EQ(board.get8(0, socket::Sn_CR), 0);
  EXPECT_EQ(board.status(0), sn_sr::UDP);
}

TEST_F(ChipFaultsTest, OnlyTheChosenCommandIsSlow) {
  plan("chip_command_slow", "nth=2,delay=3ms");
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.command(0, sn_cr::OPEN);
  EXPECT_EQ(board.status(0), sn_sr::UDP);
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::UDP);
  board.advance(3ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  board.command(0, sn_cr::OPEN);
  EXPECT_EQ(board.status(0), sn_sr::UDP);
}

TEST_F(ChipFaultsTest, ResetForgetsACommandThatWasStillSlow) {
  plan("chip_command_slow", "nth=1,delay=3ms");
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.set8(0, socket::Sn_CR, sn_cr::OPEN);
  board.write(0, common::MR, {mr::RST});
  board.advance(10ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
}

TEST_F(ChipFaultsTest, LateResetKeepsMrRstAndHidesTheRegisters) {
  plan("chip_reset_late", "nth=1,delay=5ms");
  board.write(0, common::MR, {mr::RST});
  EXPECT_EQ(board.read(0, common::MR, 1)[0], mr::RST);
  EXPECT_EQ(version(), 0);
  board.write(0, common::RCR, {0x03});
  board.advance(5ms);
  EXPECT_EQ(board.read(0, common::MR, 1)[0], 0);
  EXPECT_EQ(version(), 4);
  EXPECT_EQ(board.read(0, common::RCR, 1)[0], 8);
}

TEST_F(ChipFaultsTest, LateResetByThePinHoldsTheChipLonger) {
  plan("chip_reset_late", "nth=1,delay=5ms");
  board.chip.set_rstn(false);
  board.advance(1ms);
  board.chip.set_rstn(true);
  board.advance(6ms - picoseconds(1));
  EXPECT_EQ(version(), 0);
  board.advance(picoseconds(1));
  EXPECT_EQ(version(), 4);
}

TEST_F(ChipFaultsTest, SecondResetIsOnTime) {
  plan("chip_reset_late", "nth=1,delay=5ms");
  board.write(0, common::MR, {mr::RST});
  board.advance(5ms);
  board.write(0, common::MR, {mr::RST});
  EXPECT_EQ(version(), 4);
}

TEST_F(ChipFaultsTest, VersionReadsZeroForAWhile) {
  plan("chip_version_zero", "until=2ms");
  EXPECT_EQ(version(), 0);
  EXPECT_EQ(board.chip.peek(Block{0}, common::VERSIONR), 4);  // looking is no read
  EXPECT_EQ(board.read(0, common::RCR, 1)[0], 8);             // nothing else is hidden
  board.advance(2ms);
  EXPECT_EQ(version(), 4);
  EXPECT_EQ(faults->struck(Fault::chip_version_zero), 1U);
}

TEST_F(ChipFaultsTest, SwallowedSendokNeverComesAndTheFrameLeavesAllTheSame) {
  plan("chip_sendok_lost", "nth=1");
  open_udp();
  send_datagram();
  EXPECT_EQ(board.sent.size(), 2U);  // ARP request and datagram
  board.advance(10s);
  EXPECT_EQ(board.interrupts(0) & sn_ir::SENDOK, 0);
  board.send(0, {5});
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0) & sn_ir::SENDOK, sn_ir::SENDOK);
}

TEST_F(ChipFaultsTest, LateSendokComesLate) {
  plan("chip_sendok_late", "nth=1,delay=50ms");
  open_udp();
  send_datagram();
  EXPECT_EQ(board.interrupts(0) & sn_ir::SENDOK, 0);
  board.advance(48ms);
  EXPECT_EQ(board.interrupts(0) & sn_ir::SENDOK, 0);
  board.advance(2ms);
  EXPECT_EQ(board.interrupts(0) & sn_ir::SENDOK, sn_ir::SENDOK);
}

TEST_F(ChipFaultsTest, LateSendokOfAClosedSocketNeverComes) {
  plan("chip_sendok_late", "nth=1,delay=50ms");
  open_udp();
  send_datagram();
  board.command(0, sn_cr::CLOSE);
  board.command(0, sn_cr::OPEN);
  board.advance(100ms);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST_F(ChipFaultsTest, TimeoutIsNotTakenForSendok) {
  plan("chip_sendok_lost", "always");
  open_udp();
  board.send(0, {1});
  board.advance(3s);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  EXPECT_EQ(faults->struck(Fault::chip_sendok_lost), 0U);
}

}  // namespace
}  // namespace wizloop::chip
