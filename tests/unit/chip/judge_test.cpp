// What the judge says of pins, blocks and registers, and with what evidence; of what the model leaves out.
#include "tests/unit/chip/judge_test.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// Evidence -----------------------------------------------------------------------------------------------------------

TEST_F(JudgeTest, AFindingCarriesTimeSpiBytesAndSocketState) {
  board.advance(5us);
  board.set8(2, socket::Sn_CR, sn_cr::SEND);
  ASSERT_THAT(board.findings.all(), SizeIs(1));
  const Finding& finding = board.findings.all()[0];
  EXPECT_EQ(finding.at, Instant{5us});
  EXPECT_EQ(finding.seen, "S2 Sn_CR = 0x20 while Sn_SR = 0x00");
  EXPECT_EQ(finding.evidence.spi, "00 01 4c 20");
  EXPECT_EQ(finding.evidence.state, "SOCK_CLOSED");
  EXPECT_EQ(finding.count, 1U);
}

TEST_F(JudgeTest, SpiBytesStopAfterEightOfData) {
  board.write(0, 0x0100, Octets(20, 0xAB));
  EXPECT_EQ(board.findings.all().back().evidence.spi, "01 00 04 ab ab ab ab ab ab ab ab");
}

TEST_F(JudgeTest, EachFrameOfAFixedLengthIsItsOwnEvidence) {
  board.spi({0x00, 0x39, 0x01, 0x00, 0x00, 0x01, 0x0D, 0x20});
  EXPECT_EQ(first(Rule::illegal_command).evidence.spi, "00 01 0d 20");
}

TEST_F(JudgeTest, TwoChipsInOneProcessAreJudgedApart) {
  TestBoard other;
  board.set8(0, socket::Sn_CR, sn_cr::SEND);
  EXPECT_THAT(board.findings.all(), SizeIs(1));
  EXPECT_THAT(other.findings.all(), IsEmpty());
}

// Pins ---------------------------------------------------------------------------------------------------------------

TEST_F(JudgeTest, ResetPulseBelow500MicrosecondsIsTooShort) {
  board.chip.set_rstn(false);
  board.advance(100us);
  board.chip.set_rstn(true);
  EXPECT_THAT(seen(Rule::reset_too_short), ElementsAre("RSTn low for 100000 ns, at least 500000 ns"));
}

TEST_F(JudgeTest, ResetPulseOf500MicrosecondsIsLongEnough) {
  board.chip.set_rstn(false);
  board.advance(500us);
  board.chip.set_rstn(true);
  board.advance(1ms);
  EXPECT_THAT(board.read(0, common::VERSIONR, 1), ElementsAre(4));
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, FramesBeforeThePllHasLockedAreFoundOncePerReset) {
  board.chip.set_rstn(false);
  board.advance(500us);
  board.chip.set_rstn(true);
  board.advance(300us);
  board.read(0, common::VERSIONR, 1);
  board.advance(1us);
  board.read(0, common::VERSIONR, 1);
  EXPECT_THAT(seen(Rule::access_before_pll_lock), ElementsAre("SPI frame 300000 ns after RSTn rose"));
  EXPECT_EQ(first(Rule::access_before_pll_lock).count, 2U);
  EXPECT_EQ(first(Rule::access_before_pll_lock).evidence.spi, "00 39 00 00");
  EXPECT_THAT(seen(Rule::header_cut_short), IsEmpty());
}

TEST_F(JudgeTest, FramesWhileResetIsHeldAreFound) {
  board.chip.set_rstn(false);
  board.read(0, common::VERSIONR, 1);
  EXPECT_THAT(seen(Rule::access_before_pll_lock), ElementsAre("SPI frame while RSTn is low"));
}

TEST_F(JudgeTest, BytesBeforeThePllHasLockedAreFoundWithSelectTiedLow) {
  board.chip.set_rstn(false);
  board.advance(500us);
  board.chip.spi().select();  // for ever
  board.chip.set_rstn(true);
  board.advance(300us);
  for (const std::uint8_t byte : Octets{0x00, 0x39, 0x01, 0x00}) board.chip.spi().exchange(byte);
  EXPECT_THAT(seen(Rule::access_before_pll_lock), ElementsAre("SPI frame 300000 ns after RSTn rose"));
  EXPECT_EQ(first(Rule::access_before_pll_lock).count, 1U);

  board.chip.set_rstn(false);
  const Octets mosi(10);
  board.chip.spi().exchange_quiet(mosi.data(), nullptr, mosi.size());
  EXPECT_THAT(seen(Rule::access_before_pll_lock), SizeIs(2));
}

TEST_F(JudgeTest, ASocketOpenedInAChipThatWasNeverResetIsNotedOnceAndFailsNothing) {
  open_udp(3);
  open_udp(4, 8);
  EXPECT_THAT(seen(Rule::never_reset), ElementsAre("S3 is opened with neither RSTn nor MR.RST since power-up"));
  EXPECT_EQ(first(Rule::never_reset).count, 1U);
  EXPECT_EQ(first(Rule::never_reset).evidence.spi, "00 01 6c 01");
  EXPECT_THAT(board.findings.failing(), IsEmpty());
  EXPECT_THAT(board.findings.failing(/*strict=*/true), ElementsAre(Rule::never_reset));
}

TEST_F(JudgeTest, ASocketOpenedAfterEitherKindOfResetIsFree) {
  board.write(0, common::MR, {mr::RST});
  open_udp();
  TestBoard other;
  other.chip.set_rstn(false);
  other.advance(500us);
  other.chip.set_rstn(true);
  other.advance(1ms);
  other.set8(0, socket::Sn_MR, sn_mr::UDP);
  other.command(0, sn_cr::OPEN);
  EXPECT_THAT(board.findings.all(), IsEmpty());
  EXPECT_THAT(other.findings.all(), IsEmpty());
}

TEST_F(JudgeTest, AHeaderCutShortIsFound) {
  board.spi({0x00});
  board.spi({0x00, 0x39});
  EXPECT_THAT(seen(Rule::header_cut_short),
              ElementsAre("SCSn rose after 1 of 3 header bytes", "SCSn rose after 2 of 3 header bytes"));
  EXPECT_EQ(first(Rule::header_cut_short).evidence.spi, "00");
}

TEST_F(JudgeTest, FixedLengthFramesThatLoseStepAreFound) {
  board.spi({0x00, 0x39, 0x01, 0x00, 0x00, 0x39});
  EXPECT_THAT(seen(Rule::header_cut_short), ElementsAre("SCSn rose after 2 of 3 header bytes, behind 1 data bytes"));
}

TEST_F(JudgeTest, WholeAndEmptyFramesAreNotCutShort) {
  board.spi(Octets{});
  board.spi({0x00, 0x39, 0x00});
  board.spi({0x00, 0x39, 0x01, 0x00});
  EXPECT_THAT(broken(), IsEmpty());
}

// Blocks and registers -----------------------------------------------------------------------------------------------

TEST_F(JudgeTest, ReservedBlocksAreNamed) {
  for (const int bsb : {4, 8, 12, 16, 20, 24, 28}) board.read(static_cast<std::uint8_t>(bsb), 0, 1);
  EXPECT_THAT(seen(Rule::reserved_block),
              ElementsAre("BSB 4", "BSB 8", "BSB 12", "BSB 16", "BSB 20", "BSB 24", "BSB 28"));
}

TEST_F(JudgeTest, ReservedRegistersAreNamedByOffset) {
  board.read(0, 0x2F, 1);
  board.write(TestBoard::registers_of(1), 0x30, {0x55});
  EXPECT_THAT(seen(Rule::reserved_register), ElementsAre("read of common 0x002F", "write to S1 0x0030 = 0x55"));
}

TEST_F(JudgeTest, EveryDocumentedRegisterMayBeRead) {
  for (const RegisterSpec& spec : common_registers()) board.read(0, spec.offset, spec.width);
  for (const RegisterSpec& spec : socket_registers()) board.read(TestBoard::registers_of(5), spec.offset, spec.width);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, WriteToAReadOnlyRegisterIsNamedWithItsValue) {
  board.write(0, common::SIR, {0x01});
  board.set8(3, socket::Sn_SR, 0x17);
  EXPECT_THAT(seen(Rule::write_to_read_only), ElementsAre("common SIR = 0x01", "S3 Sn_SR = 0x17"));
}

TEST_F(JudgeTest, ReservedBitsOfCommonRegistersAreNamed) {
  board.write(0, common::MR, {0x41});
  board.write(0, common::IMR, {0xF1});
  board.write(0, common::PHYCFGR, {0xE8});
  EXPECT_THAT(seen(Rule::reserved_bits_written),
              ElementsAre("common MR = 0x41, reserved 0x41", "common IMR = 0xF1, reserved 0x01",
                          "common PHYCFGR = 0xE8, OPMDC 101 is not used"));
}

TEST_F(JudgeTest, DefinedBitsOfCommonRegistersAreFree) {
  for (const int value : {0x20, 0x10, 0x08, 0x02, 0x80}) board.write(0, common::MR, {static_cast<std::uint8_t>(value)});
  board.write(0, common::IMR, {0xF0});
  board.write(0, common::SIMR, {0xFF});
  board.write(0, common::IR, {0xFF});
  for (const int code : {0, 1, 2, 3, 4, 6, 7}) {
    board.write(0, common::PHYCFGR, {static_cast<std::uint8_t>(0xC0 | code << 3)});
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, ReservedBitsOfTheModeRegisterDependOnTheProtocol) {
  struct Case {
    int value;
    bool legal;
  };
  for (const auto& [value, legal] : {Case{0x01, true}, Case{0x21, true}, Case{0x81, false}, Case{0x41, false},
                                     Case{0x11, false}, Case{0xF2, true}, Case{0xF4, true}, Case{0x03, true},
                                     Case{0x83, false}, Case{0x00, true}, Case{0x20, false}, Case{0x05, false}}) {
    TestBoard fresh;
    fresh.set8(0, socket::Sn_MR, static_cast<std::uint8_t>(value));
    EXPECT_EQ(fresh.findings.all().empty(), legal) << value;
  }
}

TEST_F(JudgeTest, IllegalBufferSizesAreNamed) {
  for (const int kib : {0, 1, 2, 4, 8, 16}) board.set8(7, socket::Sn_TXBUF_SIZE, static_cast<std::uint8_t>(kib));
  EXPECT_THAT(broken(), IsEmpty());
  board.set8(7, socket::Sn_TXBUF_SIZE, 3);
  board.set8(7, socket::Sn_RXBUF_SIZE, 32);
  EXPECT_THAT(seen(Rule::illegal_buffer_size), ElementsAre("S7 Sn_TXBUF_SIZE = 3", "S7 Sn_RXBUF_SIZE = 32"));
}

TEST_F(JudgeTest, OpeningWithMoreThanSixteenKibIsOverCommitted) {
  board.set8(0, socket::Sn_RXBUF_SIZE, 16);
  EXPECT_THAT(broken(), IsEmpty());  // while all are closed nothing is lost yet
  open_udp();
  EXPECT_THAT(seen(Rule::buffers_over_committed), ElementsAre("RX total 30 KiB of 16"));
}

TEST_F(JudgeTest, SixteenKibInAllAreNotOverCommitted) {
  resize_all(socket::Sn_RXBUF_SIZE, 0);
  resize_all(socket::Sn_TXBUF_SIZE, 0);
  board.set8(0, socket::Sn_RXBUF_SIZE, 16);
  board.set8(0, socket::Sn_TXBUF_SIZE, 16);
  open_udp();
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, ResizingUnderAnOpenSocketIsFoundAlsoFromALowerOne) {
  open_udp(3);
  board.set8(4, socket::Sn_TXBUF_SIZE, 1);  // behind it: moves nothing of S3
  board.set8(3, socket::Sn_TXBUF_SIZE, 2);  // no change
  EXPECT_THAT(broken(), IsEmpty());
  board.set8(3, socket::Sn_TXBUF_SIZE, 1);
  board.set8(0, socket::Sn_RXBUF_SIZE, 1);
  EXPECT_THAT(seen(Rule::buffer_resized_while_open), ElementsAre("S3 Sn_TXBUF_SIZE = 1, was 2, while S3 is open",
                                                                 "S0 Sn_RXBUF_SIZE = 1, was 2, while S3 is open"));
  EXPECT_EQ(first(Rule::buffer_resized_while_open).evidence.state, "SOCK_UDP");
}

// What is not modelled -----------------------------------------------------------------------------------------------

TEST_F(JudgeTest, PppoeBitIsNotModelledWhenASocketIsOpenedUnderIt) {
  board.write(0, common::MR, {mr::PPPoE});  // as drivers do that probe for the chip
  EXPECT_THAT(seen(Rule::not_modelled), IsEmpty());
  open_udp();
  ASSERT_THAT(seen(Rule::not_modelled), SizeIs(1));
  EXPECT_THAT(seen(Rule::not_modelled)[0], HasSubstr("MR bit 3 (PPPoE) is set: frames leave as plain IPv4"));
}

TEST_F(JudgeTest, PppoeBitIsNotModelledWhenAFrameLeavesUnderIt) {
  open_udp();
  board.write(0, common::MR, {mr::PPPoE});
  EXPECT_THAT(seen(Rule::not_modelled), IsEmpty());
  board.send(0, {1});
  finish_send();
  ASSERT_THAT(seen(Rule::not_modelled), SizeIs(1));
  EXPECT_THAT(seen(Rule::not_modelled)[0], HasSubstr("MR bit 3 (PPPoE) is set: frames leave as plain IPv4"));
}

TEST_F(JudgeTest, PppoeSocketModeIsNotModelled) {
  board.set8(0, socket::Sn_MR, 0x05);
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(seen(Rule::not_modelled), ElementsAre("S0 Sn_MR = 0x05 (PPPoE): OPEN leaves the socket closed here"));
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
}

TEST_F(JudgeTest, EachPppoeCommandIsNotModelled) {
  for (std::uint8_t code = 0x22; code <= 0x29; ++code) board.command(0, code);
  const auto found = seen(Rule::not_modelled);
  ASSERT_THAT(found, SizeIs(6));
  EXPECT_EQ(found[0], "S0 Sn_CR = 0x23 (a PPPoE command): nothing happens here");
  EXPECT_EQ(found[5], "S0 Sn_CR = 0x28 (a PPPoE command): nothing happens here");
}

// PHY ----------------------------------------------------------------------------------------------------------------

struct Port {
  std::string_view partner;
  std::uint8_t opmdc;
  std::string_view seen;  // of the finding; empty: none
};

TEST(JudgeOfThePhy, ForcedDuplexAgainstTheOtherIsAMismatch) {
  constexpr std::string_view forced_100 =
      "PHYCFGR = 0xDF: 100 Mbit/s full duplex forced by OPMDC, the other end of the cable is half duplex";
  constexpr std::string_view forced_10 =
      "PHYCFGR = 0xC1: 10 Mbit/s half duplex forced by OPMDC, the other end of the cable is full duplex";
  const Port ports[] = {
      {"100-full-negotiating", 3, forced_100}, {"100-half-forced", 3, forced_100}, {"10-full-forced", 0, forced_10},
      {"100-full-negotiating", 2, ""},         {"100-full-forced", 3, ""},         {"100-full-forced", 7, ""},
      {"100-full-negotiating", 7, ""},
  };
  for (const Port& port : ports) {
    TestBoard board;
    board.chip.set_link_partner(wire::link_abilities_of(port.partner).value());
    const auto mode = static_cast<std::uint8_t>(0x40 | port.opmdc << 3);
    board.write(0, common::PHYCFGR, {mode});
    board.write(0, common::PHYCFGR, {static_cast<std::uint8_t>(0x80 | mode)});
    board.advance(3s);
    std::vector<std::string> seen;
    for (const Finding& finding : board.findings.all()) {
      if (finding.rule == Rule::duplex_mismatch) seen.push_back(finding.seen);
    }
    if (port.seen.empty()) {
      EXPECT_THAT(seen, IsEmpty()) << port.partner << " OPMDC " << int{port.opmdc};
    } else {
      EXPECT_THAT(seen, ElementsAre(port.seen)) << port.partner << " OPMDC " << int{port.opmdc};
    }
  }
}

}  // namespace
}  // namespace wizloop::test
