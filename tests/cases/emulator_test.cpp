// Cases of other simulators and emulators, which got the chip wrong: resets, registers, and what is unknown.
#include "tests/cases/case_test.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// B67 ----------------------------------------------------------------------------------------------------------------

class B67_SoftResetHalfDone : public CaseTest {};

TEST_F(B67_SoftResetHalfDone, BitClearsItselfAndEachRegisterIsAtItsDefault) {
  board.write(0, common::RTR, {0x12, 0x34});
  board.write(0, common::SIMR, {0xFF});
  for (int n = 0; n < socket_count; ++n) {
    board.set8(n, socket::Sn_TTL, 7);
    board.set8(n, socket::Sn_RXBUF_SIZE, 1);
    open_udp(n, static_cast<std::uint16_t>(5000 + n));
  }
  board.write(0, common::MR, {0x80});
  EXPECT_THAT(board.read(0, common::MR, 1), ElementsAre(0x00));
  for (const RegisterSpec& spec : common_registers()) {
    if (spec.offset == common::PHYCFGR) continue;  // its low bits show the link
    Octets expected;
    for (int i = spec.width - 1; i >= 0; --i) expected.push_back(static_cast<std::uint8_t>(spec.reset >> (8 * i)));
    EXPECT_EQ(board.read(0, spec.offset, spec.width), expected) << spec.name;
  }
  EXPECT_THAT(board.read(0, common::RTR, 3), ElementsAre(0x07, 0xD0, 0x08));
  EXPECT_THAT(board.read(0, common::PTIMER, 1), ElementsAre(0x28));
  EXPECT_THAT(board.read(0, common::VERSIONR, 1), ElementsAre(0x04));
  for (int n = 0; n < socket_count; ++n) {
    EXPECT_EQ(board.status(n), 0x00);
    EXPECT_THAT(board.read(TestBoard::registers_of(n), socket::Sn_RXBUF_SIZE, 4), ElementsAre(2, 2, 0x08, 0x00));
    EXPECT_THAT(board.read(TestBoard::registers_of(n), socket::Sn_DHAR, 6), Each(0xFF));
    EXPECT_EQ(board.get8(n, socket::Sn_TTL), 0x80);
    EXPECT_EQ(board.get16(n, socket::Sn_FRAG), 0x4000);
  }
}

// B69 ----------------------------------------------------------------------------------------------------------------

class B69_SimulatorPanics : public CaseTest {};

TEST_F(B69_SimulatorPanics, EveryAddressOfEveryBlockCanBeRead) {
  for (std::uint8_t bsb = 0; bsb < 32; ++bsb) EXPECT_EQ(board.read(bsb, 0, 256).size(), 256U);
  EXPECT_THAT(board.read(4, 0, 16), Each(0x00));       // a reserved block
  EXPECT_THAT(board.read(0, 0x0040, 16), Each(0x00));  // behind the last register
  EXPECT_FALSE(seen(Rule::reserved_block).empty());
  EXPECT_FALSE(seen(Rule::reserved_register).empty());
}

TEST_F(B69_SimulatorPanics, UnknownCommandsAreFoundAndDoNothing) {
  open_udp(0, 5000);
  RandomStream random = Random{7}.stream("commands");
  for (int i = 0; i < 200; ++i) {
    const auto code = static_cast<std::uint8_t>(random.below(256) | 0x80);  // none of the datasheet's
    board.command(0, code);
    EXPECT_EQ(board.status(0), sn_sr::UDP);
    EXPECT_EQ(board.get8(0, socket::Sn_CR), 0);
  }
  EXPECT_EQ(times(Rule::illegal_command), 200U);
}

TEST_F(B69_SimulatorPanics, PointersWrapWhileSeventyThousandBytesPass) {
  open_udp(0, 5000);
  Octets wire;
  for (int i = 0; i < 70; ++i) {
    send(0, counting(1000, static_cast<std::uint8_t>(i)));
    EXPECT_EQ(board.get16(0, socket::Sn_TX_RD), board.get16(0, socket::Sn_TX_WR));
    const Octets piece = sent_udp();
    EXPECT_EQ(piece, counting(1000, static_cast<std::uint8_t>(i)));
  }
  EXPECT_EQ(board.get16(0, socket::Sn_TX_WR), 70'000 % 65536);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(B69_SimulatorPanics, WritingOneClearsThatBitAlone) {
  open_udp(0, 5000);
  board.arrive_udp(1111, 5000, {1});
  board.send(0, {1});
  board.advance(1ms);
  ASSERT_EQ(board.interrupts(0), sn_ir::SENDOK | sn_ir::RECV);
  board.set8(0, socket::Sn_IR, sn_ir::SENDOK);
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
  board.set8(0, socket::Sn_IR, 0);
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
}

// B72 ----------------------------------------------------------------------------------------------------------------

class B72_NoOracleForAnUnpluggedCable : public CaseTest {
 protected:
  void SetUp() override {
    board.chip.plug(false);
    board.advance(2ms);
    ASSERT_EQ(board.read(0, common::PHYCFGR, 1)[0] & 0x01, 0);
  }
};

TEST_F(B72_NoOracleForAnUnpluggedCable, DatagramFailsByTheTimeoutOfArp) {
  open_udp(0, 5000);
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {1});
  const Instant from = board.now();
  while (board.interrupts(0) == 0) board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  EXPECT_EQ((board.now() - from) / 1ms, 1801);
  EXPECT_THAT(board.sent, IsEmpty());
}

TEST_F(B72_NoOracleForAnUnpluggedCable, ConnectionFailsTheSameWay) {
  tcp.connect();
  const Instant from = board.now();
  while (board.status(0) != sn_sr::CLOSED) board.advance(1ms);
  EXPECT_EQ((board.now() - from) / 1ms, 1801);  // 1.8 s, looked at once a millisecond
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  EXPECT_THAT(board.sent, IsEmpty());
  // Nobody says what Sn_SR shows meanwhile, so a run that looked says that it did.
  EXPECT_THAT(board.chip.quirks().touched(), testing::Contains(Quirk::status_while_resolving));
}

TEST_F(B72_NoOracleForAnUnpluggedCable, RawFrameNeverCompletesAndTheRunTellsThatThisIsAGuess) {
  board.set8(0, socket::Sn_MR, sn_mr::MACRAW);
  board.command(0, sn_cr::OPEN);
  board.send(0, Octets(60, 0x55));
  board.advance(60s);
  EXPECT_EQ(board.interrupts(0), 0);
  EXPECT_THAT(board.chip.quirks().touched(), testing::Contains(Quirk::macraw_without_link));
  const QuirkSpec& spec = quirk_table()[static_cast<std::size_t>(Quirk::macraw_without_link)];
  EXPECT_NE(spec.trust, Trust::datasheet);
}

TEST_F(B72_NoOracleForAnUnpluggedCable, EachAnswerNamesItsSource) {
  for (const ChipOption& option : chip_options()) EXPECT_FALSE(option.source.empty()) << option.name;
}

}  // namespace
}  // namespace wizloop::test
