#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using Octets = std::vector<std::uint8_t>;

// Literal bytes, from w5500 datasheet 4.1 and 4.2; PHYCFGR reads 0xBF with a 100M full duplex link.
TEST(RegistersTest, CommonBlockAfterReset) {
  TestBoard board;
  Octets expected(0x3A, 0x00);
  expected[0x19] = 0x07;
  expected[0x1A] = 0xD0;
  expected[0x1B] = 0x08;
  expected[0x1C] = 0x28;
  expected[0x26] = 0xFF;
  expected[0x27] = 0xFF;
  expected[0x2E] = 0xBF;
  expected[0x39] = 0x04;
  EXPECT_EQ(board.read(0, 0, 0x3A), expected);
}

TEST(RegistersTest, SocketBlocksAfterReset) {
  TestBoard board;
  Octets expected(0x30, 0x00);
  for (int i = 0x06; i < 0x0C; ++i) expected[static_cast<std::size_t>(i)] = 0xFF;
  expected[0x16] = 0x80;
  expected[0x1E] = 0x02;
  expected[0x1F] = 0x02;
  expected[0x20] = 0x08;
  expected[0x2C] = 0xFF;
  expected[0x2D] = 0x40;
  for (int n = 0; n < 8; ++n) EXPECT_EQ(board.read(TestBoard::registers_of(n), 0, 0x30), expected) << n;
}

TEST(RegistersTest, EveryRegisterOfTheMapKeepsItsAccess) {
  for (int socket = -1; socket < 8; ++socket) {
    const auto map = socket < 0 ? common_registers() : socket_registers();
    const std::uint8_t bsb = socket < 0 ? 0 : TestBoard::registers_of(socket);
    for (const RegisterSpec& spec : map) {
      TestBoard board;
      const Octets before = board.read(bsb, spec.offset, spec.width);
      // 0x01 is legal for all: no command but OPEN of a closed mode, no reset, no PHY change but its RST bit.
      if (spec.name == "Sn_CR" || spec.name == "PHYCFGR" || spec.name == "MR") continue;
      board.write(bsb, spec.offset, Octets(spec.width, 0x01));
      const Octets after = board.read(bsb, spec.offset, spec.width);
      const bool latched = spec.name == "Sn_TX_WR";
      if (spec.access == Access::read_write && !latched) {
        EXPECT_THAT(after, Each(0x01)) << spec.name;
      } else {
        EXPECT_EQ(after, before) << spec.name;
      }
      const bool is_found = spec.access == Access::read_only || spec.name == "IMR";  // whose bit 0 is reserved
      EXPECT_EQ(board.findings.all().size(), is_found ? 1U : 0U) << spec.name;
    }
  }
}

TEST(RegistersTest, WriteToAReadOnlyRegisterNamesIt) {
  TestBoard board;
  board.set8(3, socket::Sn_SR, 0x17);
  ASSERT_THAT(board.findings.all(), SizeIs(1));
  EXPECT_EQ(board.findings.all()[0].rule, Rule::write_to_read_only);
  EXPECT_EQ(board.findings.all()[0].seen, "S3 Sn_SR = 0x17");
}

TEST(RegistersTest, ModeRegisterKeepsTheBitsThatDriversProbe) {
  TestBoard board;
  for (const int bits : {0x08, 0x10, 0x00}) {
    const auto value = static_cast<std::uint8_t>(bits);
    board.write(0, common::MR, {value});
    EXPECT_THAT(board.read(0, common::MR, 1), ElementsAre(value));
  }
}

TEST(RegistersTest, SoftwareResetClearsItselfAndEverythingElse) {
  TestBoard board;
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.command(0, sn_cr::OPEN);
  board.set8(0, socket::Sn_RXBUF_SIZE, 8);
  board.write(0, common::MR, {0x80});
  EXPECT_THAT(board.read(0, common::MR, 1), ElementsAre(0x00));
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.get8(0, socket::Sn_RXBUF_SIZE), 2);
  EXPECT_THAT(board.read(0, common::SIPR, 4), Each(0));
  EXPECT_THAT(board.read(0, common::PHYCFGR, 1), ElementsAre(0xBF));  // the link stays
}

TEST(RegistersTest, InterruptBitsClearByWritingOneAndOnlyThose) {
  TestBoard board;
  TestConnection tcp{board};
  board.configure();
  tcp.establish();
  tcp.data({1, 2, 3});
  board.advance(1ms);
  tcp.fin();
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV | sn_ir::DISCON);
  board.set8(0, socket::Sn_IR, sn_ir::RECV);
  EXPECT_EQ(board.interrupts(0), sn_ir::DISCON);
}

TEST(RegistersTest, CommandRegisterReadsBackUntilItIsAccepted) {
  TestBoard board;
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.set8(0, socket::Sn_CR, sn_cr::OPEN);
  EXPECT_EQ(board.get8(0, socket::Sn_CR), sn_cr::OPEN);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  board.advance(200ns);
  EXPECT_EQ(board.get8(0, socket::Sn_CR), 0);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  board.advance(300ns);
  EXPECT_EQ(board.status(0), sn_sr::UDP);
}

TEST(RegistersTest, WritePointerReadsBackTheValueOfTheLastSend) {
  TestBoard board;
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.command(0, sn_cr::OPEN);
  board.set16(0, socket::Sn_TX_WR, 100);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_WR), 0);
  board.set32(0, socket::Sn_DIPR, 0xFFFFFFFF);
  board.command(0, sn_cr::SEND);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_WR), 100);
}

TEST(RegistersTest, ReadPointerReadsBackAtOnceAndCountsFromReceive) {
  TestBoard board;
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.set16(0, socket::Sn_PORT, 7);
  board.command(0, sn_cr::OPEN);
  board.arrive_udp(9, 7, Octets(100, 1));
  board.advance(10us);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 108);
  board.set16(0, socket::Sn_RX_RD, 108);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RD), 108);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 108);
  board.command(0, sn_cr::RECV);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0);
}

TEST(RegistersTest, FreeSizeFollowsTheBufferSize) {
  TestBoard board;
  for (const int kib : {0, 1, 2, 4, 8, 16}) {
    board.set8(0, socket::Sn_TXBUF_SIZE, static_cast<std::uint8_t>(kib));
    EXPECT_EQ(board.get16(0, socket::Sn_TX_FSR), 1024 * kib);
  }
}

TEST(RegistersTest, IllegalBufferSizeActsAsTheNextLowerPowerOfTwo) {
  TestBoard board;
  board.set8(0, socket::Sn_TXBUF_SIZE, 3);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_FSR), 2048);
}

TEST(RegistersTest, MemoriesOverlapWhenSizesExceedSixteenKib) {
  TestBoard board;
  board.set8(0, socket::Sn_TXBUF_SIZE, 16);
  board.write(TestBoard::tx_of(0), 0, {0xAB});
  EXPECT_THAT(board.read(TestBoard::tx_of(1), 0, 1), ElementsAre(0xAB));  // base 16 KiB wraps to 0
}

TEST(RegistersTest, OpenLoadsTheSegmentSize) {
  TestBoard board;
  board.set8(0, socket::Sn_MR, sn_mr::TCP);
  board.command(0, sn_cr::OPEN);
  EXPECT_EQ(board.get16(0, socket::Sn_MSSR), 1460);
  board.set8(1, socket::Sn_MR, sn_mr::UDP);
  board.command(1, sn_cr::OPEN);
  EXPECT_EQ(board.get16(1, socket::Sn_MSSR), 1472);
}

TEST(RegistersTest, CommandsThatTheStateDoesNotKnowAreFoundAndDoNothing) {
  TestBoard board;
  for (const std::uint8_t code : {sn_cr::LISTEN, sn_cr::CONNECT, sn_cr::DISCON, sn_cr::SEND, sn_cr::RECV}) {
    board.command(0, code);
    EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  }
  EXPECT_THAT(board.findings.all(), SizeIs(5));
  EXPECT_EQ(board.findings.all()[3].seen, "S0 Sn_CR = 0x20 while Sn_SR = 0x00");
}

TEST(RegistersTest, PppoeFramingIsNotModelledAndSaysSo) {
  TestBoard board;
  board.configure();
  board.write(0, common::MR, {mr::PPPoE});  // as drivers do that probe for the chip
  EXPECT_THAT(board.findings.all(), SizeIs(0));
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.command(0, sn_cr::OPEN);
  board.set32(0, socket::Sn_DIPR, wire::broadcast_ipv4);
  board.set16(0, socket::Sn_DPORT, 9);
  board.send(0, {1});
  board.advance(1ms);
  EXPECT_THAT(board.findings.failing(), ElementsAre(Rule::not_modelled));
}

}  // namespace
}  // namespace wizloop::test
