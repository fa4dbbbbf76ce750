#include "sim/chip/judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/core/limits.hpp"
#include "tests/support/planned_faults.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Octets = std::vector<std::uint8_t>;

class JudgeTest : public testing::Test {
 protected:
  std::vector<std::string> seen(Rule rule) const {
    std::vector<std::string> all;
    for (const Finding& finding : board.findings.all()) {
      if (finding.rule == rule) all.push_back(finding.seen);
    }
    return all;
  }
  const Finding& first(Rule rule) const {
    for (const Finding& finding : board.findings.all()) {
      if (finding.rule == rule) return finding;
    }
    throw std::runtime_error{std::string{text_of(rule).id} + " was not found"};
  }
  // Without notes: most tests begin with a chip as power-up leaves it.
  std::vector<std::string_view> broken() const {
    std::vector<std::string_view> ids;
    for (const Rule rule : board.findings.failing()) ids.push_back(text_of(rule).id);
    return ids;
  }

  // An open UDP socket whose peer's MAC is known.
  void open_udp(int n = 0, std::uint16_t port = 7) {
    board.configure();
    board.set8(n, socket::Sn_MR, sn_mr::UDP);
    board.set16(n, socket::Sn_PORT, port);
    board.set32(n, socket::Sn_DIPR, 0xFFFFFFFF);
    board.set16(n, socket::Sn_DPORT, 9);
    board.command(n, sn_cr::OPEN);
  }
  void finish_send(int n = 0) {
    board.advance(1ms);
    board.set8(n, socket::Sn_IR, 0xFF);
  }
  void resize_all(std::uint16_t offset, std::uint8_t kib) {
    for (int n = 0; n < 8; ++n) board.set8(n, offset, kib);
  }

  TestBoard board;
  TestConnection tcp{board};
};

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

// Commands -----------------------------------------------------------------------------------------------------------

TEST_F(JudgeTest, OpenOnAnOpenSocketHasARuleOfItsOwn) {
  open_udp();
  EXPECT_THAT(broken(), IsEmpty());
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(seen(Rule::open_on_open_socket), ElementsAre("S0 Sn_CR = 0x01 while Sn_SR = 0x22"));
  EXPECT_THAT(seen(Rule::illegal_command), IsEmpty());
}

TEST_F(JudgeTest, OpenAfterCloseIsFree) {
  open_udp();
  board.command(0, sn_cr::CLOSE);
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, CommandsThatTheStateDoesNotKnowAreIllegal) {
  open_udp();
  board.command(0, sn_cr::CONNECT);
  board.command(0, 0x77);
  EXPECT_THAT(seen(Rule::illegal_command),
              ElementsAre("S0 Sn_CR = 0x04 while Sn_SR = 0x22", "S0 Sn_CR = 0x77 while Sn_SR = 0x22"));
}

TEST_F(JudgeTest, ACommandBeforeTheLastWasAcceptedIsFound) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.set8(0, socket::Sn_CR, sn_cr::OPEN);
  board.set8(0, socket::Sn_CR, sn_cr::CLOSE);
  EXPECT_THAT(seen(Rule::command_while_busy), ElementsAre("S0 Sn_CR = 0x10 while Sn_CR is 0x01"));
}

TEST_F(JudgeTest, ACommandAfterTheLastWasAcceptedIsFree) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.set8(0, socket::Sn_CR, sn_cr::OPEN);
  board.advance(200ns);
  board.set8(0, socket::Sn_CR, sn_cr::CLOSE);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, SendBeforeSendokIsFound) {
  open_udp();
  board.send(0, {1, 2});
  board.set16(0, socket::Sn_TX_WR, 2);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::send_while_sending), ElementsAre("S0 Sn_CR = 0x20 before SENDOK"));
}

TEST_F(JudgeTest, SendsOneAfterTheOtherAreFree) {
  open_udp();
  for (int i = 0; i < 100; ++i) {
    board.send(0, Octets(100, 1));
    finish_send();
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, SendokNeverClearedIsFoundAtTheNextSend) {
  open_udp();
  board.send(0, {1});
  board.advance(1ms);
  board.send(0, {2});
  EXPECT_THAT(seen(Rule::send_result_not_cleared), ElementsAre("S0 Sn_CR = 0x20 while Sn_IR = 0x10"));
}

TEST_F(JudgeTest, TimeoutOfAConnectNeverClearedIsFoundAtTheNextConnect) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::TCP);
  board.set16(0, socket::Sn_PORT, 50000);
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.set16(0, socket::Sn_DPORT, 5001);
  board.command(0, sn_cr::OPEN);
  board.command(0, sn_cr::CONNECT);
  board.advance(40s);  // nobody answers
  ASSERT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  board.command(0, sn_cr::OPEN);
  board.command(0, sn_cr::CONNECT);
  EXPECT_THAT(seen(Rule::send_result_not_cleared), ElementsAre("S0 Sn_CR = 0x04 while Sn_IR = 0x08"));
}

TEST_F(JudgeTest, TimeoutNeverClearedIsFoundAtTheNextSend) {
  open_udp();
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {1});
  board.advance(3s);
  board.send(0, {2});
  EXPECT_THAT(seen(Rule::send_result_not_cleared), ElementsAre("S0 Sn_CR = 0x20 while Sn_IR = 0x08"));
}

TEST_F(JudgeTest, CloseOnEstablishedIsFound) {
  board.configure();
  tcp.establish();
  board.command(0, sn_cr::CLOSE);
  EXPECT_THAT(seen(Rule::close_without_disconnect), ElementsAre("S0 Sn_CR = 0x10"));
  EXPECT_EQ(first(Rule::close_without_disconnect).evidence.state, "SOCK_ESTABLISHED");
}

TEST_F(JudgeTest, CloseAfterDisconnectIsFree) {
  board.configure();
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  board.command(0, sn_cr::CLOSE);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, AnotherAddressUnderAConnectionIsFound) {
  board.configure();
  tcp.establish();
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.set16(0, socket::Sn_DPORT, TestConnection::peer_port);
  EXPECT_THAT(broken(), IsEmpty());  // the same as before
  board.set32(0, socket::Sn_DIPR, wire::ipv4(10, 0, 0, 1));
  board.set16(0, socket::Sn_DPORT, 80);
  EXPECT_THAT(seen(Rule::connection_readdressed), ElementsAre("S0 Sn_DIPR changed", "S0 Sn_DPORT changed"));
  EXPECT_EQ(first(Rule::connection_readdressed).evidence.state, "SOCK_ESTABLISHED");
}

TEST_F(JudgeTest, AnotherAddressWhileConnectAsksForTheMacIsFound) {
  board.configure();
  tcp.connect();
  board.set32(0, socket::Sn_DIPR, wire::ipv4(10, 0, 0, 1));
  EXPECT_THAT(seen(Rule::connection_readdressed), SizeIs(1));
}

TEST_F(JudgeTest, AnotherAddressWithoutAConnectionIsFree) {
  open_udp();
  board.set32(0, socket::Sn_DIPR, wire::ipv4(10, 0, 0, 1));
  tcp.board.command(0, sn_cr::CLOSE);
  tcp.listen();
  board.set16(0, socket::Sn_DPORT, 80);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, MulticastNeedsItsGroupBeforeOpen) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP | sn_mr::MULTI);
  board.set32(0, socket::Sn_DIPR, wire::ipv4(239, 255, 255, 250));
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(seen(Rule::multicast_without_group),
              ElementsAre("S0 Sn_DIPR = 239.255.255.250, Sn_DHAR = ff:ff:ff:ff:ff:ff"));
}

TEST_F(JudgeTest, MulticastWithItsGroupIsFree) {
  board.configure();
  board.set8(3, socket::Sn_MR, sn_mr::UDP | sn_mr::MULTI);
  board.set32(3, socket::Sn_DIPR, wire::ipv4(239, 255, 255, 250));
  board.write(TestBoard::registers_of(3), socket::Sn_DHAR, {0x01, 0x00, 0x5E, 0x7F, 0xFF, 0xFA});
  board.command(3, sn_cr::OPEN);
  EXPECT_THAT(seen(Rule::multicast_without_group), IsEmpty());
}

TEST_F(JudgeTest, ASocketWithoutOwnMacIsFound) {
  board.set8(0, socket::Sn_MR, sn_mr::TCP);
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(broken(), IsEmpty());
  board.command(0, sn_cr::LISTEN);
  EXPECT_THAT(seen(Rule::own_mac_missing), ElementsAre("S0 used with SHAR = 00:00:00:00:00:00"));
}

TEST_F(JudgeTest, AUnicastWithoutOwnIpIsFound) {
  open_udp();
  board.write(0, common::SIPR, {0, 0, 0, 0});
  board.send(0, {1});  // DHCP begins so
  finish_send();
  EXPECT_THAT(broken(), IsEmpty());
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {2});
  EXPECT_THAT(seen(Rule::own_ip_missing), ElementsAre("S0 Sn_DIPR = 0xC0A8010A while SIPR = 0"));
}

TEST_F(JudgeTest, SendAndConnectNeedADestination) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.command(0, sn_cr::OPEN);
  board.send(0, {1});
  EXPECT_THAT(seen(Rule::destination_missing), ElementsAre("S0 Sn_DIPR = 0x00000000, Sn_DPORT = 0"));
  board.set8(1, socket::Sn_MR, sn_mr::TCP);
  board.command(1, sn_cr::OPEN);
  board.set32(1, socket::Sn_DIPR, peer_ip);
  board.command(1, sn_cr::CONNECT);
  EXPECT_THAT(seen(Rule::destination_missing),
              ElementsAre("S0 Sn_DIPR = 0x00000000, Sn_DPORT = 0", "S1 Sn_DIPR = 0xC0A8010A, Sn_DPORT = 0"));
}

// TX buffer ----------------------------------------------------------------------------------------------------------

TEST_F(JudgeTest, WritingOverUnacknowledgedBytesIsFound) {
  board.configure();
  tcp.establish();
  const std::uint16_t at = board.get16(0, socket::Sn_TX_WR);
  board.send(0, Octets(2000, 1));
  finish_send();
  EXPECT_THAT(broken(), IsEmpty());
  board.write(TestBoard::tx_of(0), static_cast<std::uint16_t>(at + 2000), Octets(49, 2));  // one more than free
  ASSERT_THAT(seen(Rule::unsent_bytes_overwritten), SizeIs(1));
  EXPECT_THAT(seen(Rule::unsent_bytes_overwritten)[0], HasSubstr("S0 TX 49 bytes written"));
  EXPECT_THAT(seen(Rule::unsent_bytes_overwritten)[0], HasSubstr("Sn_TX_FSR = 48"));
}

TEST_F(JudgeTest, WritingTheNextDatagramBehindTheOneInFlightIsFree) {
  open_udp();
  board.send(0, Octets(1000, 1));
  board.write(TestBoard::tx_of(0), 1000, Octets(1048, 2));
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, WritingTheNextDatagramOverTheOneInFlightIsFound) {
  open_udp();
  board.send(0, Octets(1000, 1));
  board.write(TestBoard::tx_of(0), 0, {2});
  EXPECT_THAT(seen(Rule::unsent_bytes_overwritten),
              ElementsAre("S0 TX 1 bytes written at 0x0000, Sn_TX_WR = 0x03E8, Sn_TX_FSR = 1048"));
  EXPECT_EQ(first(Rule::unsent_bytes_overwritten).evidence.spi, "00 00 14 02");
}

TEST_F(JudgeTest, PointerAdvancedBeyondTheFreeSizeIsFound) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(2048, 1));
  board.set16(0, socket::Sn_TX_WR, 3000);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::write_beyond_free), ElementsAre("S0 Sn_TX_WR advanced by 3000 with Sn_TX_FSR = 2048"));
}

TEST_F(JudgeTest, TheWholeRingMayBeSent) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(2048, 1));
  board.set16(0, socket::Sn_TX_WR, 2048);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, BytesThatWereNeverWrittenAreFoundWhenSent) {
  open_udp();
  board.send(0, Octets(10, 1));
  finish_send();
  board.write(TestBoard::tx_of(0), 0, Octets(20, 2));  // at 0 in place of Sn_TX_WR = 10
  board.set16(0, socket::Sn_TX_WR, 30);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::uninitialised_bytes_sent),
              ElementsAre("S0 SEND of 20 bytes from 0x000A, not all of them written"));
}

TEST_F(JudgeTest, BytesOfAnEarlierLapDoNotCountAsWritten) {
  open_udp();
  for (int i = 0; i < 2; ++i) {
    board.send(0, Octets(1024, 1));
    finish_send();
  }
  EXPECT_THAT(broken(), IsEmpty());
  board.set16(0, socket::Sn_TX_WR, 2049);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::uninitialised_bytes_sent), SizeIs(1));
}

TEST_F(JudgeTest, ABurstAcrossTheRingEndIsWrittenOnce) {
  open_udp();
  for (int i = 0; i < 100; ++i) {
    board.send(0, Octets(999, 1));
    finish_send();
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, PartsOfADatagramOneBehindTheOtherAreFree) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(4, 1));
  board.write(TestBoard::tx_of(0), 4, Octets(6, 1));
  board.write(TestBoard::tx_of(0), 10, Octets(2, 1));
  board.set16(0, socket::Sn_TX_WR, 12);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), IsEmpty());
}

// B35: the tail at the ring's start is overwritten by the head of the same message.
TEST_F(JudgeTest, AWrappedWriteRepeatedAtTheRingStartIsFound) {
  open_udp();
  board.send(0, Octets(1472, 1));
  finish_send();
  board.send(0, Octets(556, 1));
  finish_send();
  board.write(TestBoard::tx_of(0), 2028, Octets(50, 1));
  board.write(TestBoard::tx_of(0), 0, Octets(30, 1));
  EXPECT_THAT(seen(Rule::bytes_written_twice),
              ElementsAre("S0 TX 30 bytes written at 0x0000, some of them already there"));
}

TEST_F(JudgeTest, ATransferDoneAgainFromItsStartIsNoSecondWrite) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(60, 1));
  board.write(TestBoard::tx_of(0), 0, Octets(100, 1));
  board.set16(0, socket::Sn_TX_WR, 100);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), IsEmpty());
}

// B47.
// A transfer done again is at least as long: what is shorter is another write.
TEST_F(JudgeTest, AShorterWriteOverTheLastOneIsASecondWrite) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(100, 1));
  board.write(TestBoard::tx_of(0), 0, Octets(60, 1));
  EXPECT_THAT(seen(Rule::bytes_written_twice),
              ElementsAre("S0 TX 60 bytes written at 0x0000, some of them already there"));
}

TEST_F(JudgeTest, APointerFromBeforeTheConnectionIsStale) {
  board.configure();
  tcp.establish();
  board.write(TestBoard::tx_of(0), 0, Octets(10, 1));
  board.set16(0, socket::Sn_TX_WR, 10);
  board.command(0, sn_cr::SEND);
  ASSERT_THAT(seen(Rule::stale_write_pointer), SizeIs(1));
  EXPECT_THAT(seen(Rule::stale_write_pointer)[0],
              HasSubstr("S0 Sn_TX_WR = 0x000A, 10 from 0x0000 before the connection"));
  EXPECT_THAT(seen(Rule::write_beyond_free), SizeIs(1));
}

TEST_F(JudgeTest, APointerReadAfterTheConnectionIsFresh) {
  board.configure();
  tcp.establish();
  board.send(0, Octets(10, 1));
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, MemoryOfAClosedSocketIsFree) {
  board.write(TestBoard::tx_of(0), 0, Octets(100, 1));
  board.write(TestBoard::tx_of(0), 50, Octets(100, 1));
  board.read(TestBoard::rx_of(0), 0, 100);
  EXPECT_THAT(broken(), IsEmpty());
}

// RX buffer ----------------------------------------------------------------------------------------------------------

// B37.
TEST_F(JudgeTest, ReadingBeyondWhatWasReceivedIsFound) {
  board.configure();
  tcp.establish();
  tcp.data({1, 2, 3, 4});
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 4);
  EXPECT_THAT(broken(), IsEmpty());
  board.read(TestBoard::rx_of(0), 0, 16);
  EXPECT_THAT(seen(Rule::read_beyond_received),
              ElementsAre("S0 RX 16 bytes read from 0x0000, Sn_RX_RD = 0x0000, Sn_RX_RSR = 4"));
}

TEST_F(JudgeTest, ReadingFromAWrongOffsetIsFound) {
  board.configure();
  tcp.establish();
  tcp.data({1, 2, 3, 4});
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 4, 1);
  EXPECT_THAT(seen(Rule::read_beyond_received), SizeIs(1));
}

TEST_F(JudgeTest, OffsetsThatFoldIntoTheRingMayBeRead) {
  board.configure();
  tcp.establish();
  tcp.data({1, 2, 3, 4});
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0x8000, 4);
  board.read(TestBoard::rx_of(0), 0x0803, 1);
  EXPECT_THAT(broken(), IsEmpty());
}

// B07.
TEST_F(JudgeTest, ReceiveWithAPointerOutsideIsFound) {
  open_udp();
  board.arrive_udp(9, 7, Octets(20, 1));
  board.advance(1ms);
  board.set16(0, socket::Sn_RX_RD, 40);
  board.command(0, sn_cr::RECV);
  EXPECT_THAT(seen(Rule::read_pointer_outside), ElementsAre("S0 Sn_RX_RD = 0x0028, received 0x0000 to 0x001C"));
}

TEST_F(JudgeTest, ReceiveWithinOrUnchangedIsFree) {
  open_udp();
  board.arrive_udp(9, 7, Octets(20, 1));
  board.advance(1ms);
  board.command(0, sn_cr::RECV);
  board.set16(0, socket::Sn_RX_RD, 8);
  board.command(0, sn_cr::RECV);
  board.set16(0, socket::Sn_RX_RD, 28);
  board.command(0, sn_cr::RECV);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, ForgottenReceiveIsFoundOnceTheWindowIsClosed) {
  board.configure();
  tcp.establish();
  tcp.data(Octets(1460, 1));
  board.advance(1ms);
  tcp.data(Octets(588, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 2048);
  board.advance(limits::receive_overdue);
  EXPECT_THAT(seen(Rule::receive_forgotten), ElementsAre("S0 Sn_RX_RSR = 2048, data read and no RECV for 1000 ms"));
}

TEST_F(JudgeTest, ForgottenReceiveIsFoundOnceADatagramWasDropped) {
  open_udp();
  board.arrive_udp(9, 7, Octets(1400, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 1408);
  board.advance(10s);
  EXPECT_THAT(broken(), IsEmpty());  // there is room still
  board.arrive_udp(9, 7, Octets(1400, 1));
  board.advance(2s);
  EXPECT_THAT(seen(Rule::receive_forgotten), SizeIs(1));
}

TEST_F(JudgeTest, EachSocketsForgottenReceiveIsFoundOnce) {
  open_udp(0, 7);
  open_udp(1, 8);
  for (int n = 0; n < 2; ++n) {
    const auto port = static_cast<std::uint16_t>(7 + n);
    board.arrive_udp(9, port, Octets(1400, 1));
    board.advance(1ms);
    board.read(TestBoard::rx_of(n), 0, 1408);
    board.arrive_udp(9, port, Octets(1400, 1));
    board.advance(500ms);
  }
  board.advance(3s);
  ASSERT_THAT(seen(Rule::receive_forgotten), SizeIs(2));
  for (const Finding& finding : board.findings.all()) EXPECT_EQ(finding.count, 1U) << finding.seen;
}

TEST_F(JudgeTest, ForgottenReceiveIsFoundWhenTheSameRecordIsReadAgain) {
  open_udp();
  board.arrive_udp(9, 7, Octets(10, 1));
  board.advance(1ms);
  for (int i = 0; i < 20; ++i) {
    board.read(TestBoard::rx_of(0), 0, 18);
    board.advance(10s);
  }
  EXPECT_THAT(seen(Rule::receive_forgotten),
              ElementsAre("S0 RX read again from Sn_RX_RD = 0x0000, no RECV for 1000 ms"));
  EXPECT_EQ(first(Rule::receive_forgotten).count, 19U);
}

TEST_F(JudgeTest, AReadThatIsRepeatedAtOnceAndAPeekForgetNothing) {
  open_udp();
  board.arrive_udp(9, 7, Octets(10, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 8);
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 18);
  for (int i = 0; i < 5; ++i) {
    board.advance(10s);
    board.read(TestBoard::rx_of(0), 0, 1);
  }
  EXPECT_THAT(broken(), IsEmpty());
  // What comes after RECV is new data.
  board.set16(0, socket::Sn_RX_RD, 18);
  board.command(0, sn_cr::RECV);
  board.arrive_udp(9, 7, Octets(10, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 18, 18);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, ReceiveInTimeIsNotForgotten) {
  board.configure();
  tcp.establish();
  tcp.data(Octets(1460, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 1460);
  board.advance(limits::receive_overdue / 2);
  board.set16(0, socket::Sn_RX_RD, 1460);
  board.command(0, sn_cr::RECV);
  board.advance(10s);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, DataThatWasNotReadYetIsNotForgotten) {
  board.configure();
  tcp.establish();
  tcp.data(Octets(1460, 1));
  board.advance(10s);
  EXPECT_THAT(broken(), IsEmpty());
}

// B39: 0x00FF grows to 0x0100 between its bytes.
class TornReadTest : public JudgeTest {
 protected:
  void SetUp() override {
    open_udp();
    board.arrive_udp(9, 7, Octets(247, 1));
    board.advance(1ms);
  }
  // In two frames, with a datagram of one byte coming in between.
  void read_torn() {
    EXPECT_EQ(board.get8(0, socket::Sn_RX_RSR), 0x00);
    board.arrive_udp(9, 7, {1});
    board.advance(1ms);
    EXPECT_EQ(board.get8(0, socket::Sn_RX_RSR + 1), 0x08);
  }
};

TEST_F(TornReadTest, ATornCounterThatIsUsedIsFound) {
  read_torn();
  EXPECT_THAT(broken(), IsEmpty());
  board.read(TestBoard::rx_of(0), 0, 8);
  EXPECT_THAT(seen(Rule::torn_read), ElementsAre("S0 Sn_RX_RSR read as 0x0008, which it never was"));
}

TEST_F(TornReadTest, ATornCounterThatIsReadAgainIsFree) {
  read_torn();
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0x0108);
  board.read(TestBoard::rx_of(0), 0, 8);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(TornReadTest, WithinOneFrameToo) {
  SpiTarget& spi = board.chip.spi();
  spi.select();
  for (const int byte : {0x00, 0x26, 0x08}) spi.exchange(static_cast<std::uint8_t>(byte));
  board.arrive_udp(9, 7, {1});
  board.advance(1ms);
  EXPECT_EQ(spi.exchange(0), 0x00);
  EXPECT_EQ(spi.exchange(0), 0x08);
  spi.deselect();
  board.set16(0, socket::Sn_RX_RD, 8);
  EXPECT_THAT(seen(Rule::torn_read), SizeIs(1));
}

// From 0x0100 to 0x0200: the mix of both is 0x0100, which the counter was. Who reads until two agree may use it.
TEST_F(TornReadTest, AMixThatTheCounterWasIsWhole) {
  board.arrive_udp(9, 7, {1});  // 0x0108
  board.arrive_udp(9, 7, Octets(240, 1));
  board.advance(1ms);
  ASSERT_EQ(board.get16(0, socket::Sn_RX_RSR), 0x0200);
  EXPECT_EQ(board.get8(0, socket::Sn_RX_RSR), 0x02);
  board.arrive_udp(9, 7, Octets(248, 1));
  board.advance(1ms);
  EXPECT_EQ(board.get8(0, socket::Sn_RX_RSR + 1), 0x00);
  board.read(TestBoard::rx_of(0), 0, 8);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(TornReadTest, AMixThatTheCounterWasIsWholeWithinOneFrameToo) {
  board.arrive_udp(9, 7, {1});
  board.arrive_udp(9, 7, Octets(240, 1));
  board.advance(1ms);
  SpiTarget& spi = board.chip.spi();
  spi.select();
  for (const int byte : {0x00, 0x26, 0x08}) spi.exchange(static_cast<std::uint8_t>(byte));
  board.arrive_udp(9, 7, Octets(248, 1));
  board.advance(1ms);
  EXPECT_EQ(spi.exchange(0), 0x02);
  EXPECT_EQ(spi.exchange(0), 0x00);
  spi.deselect();
  board.set16(0, socket::Sn_RX_RD, 8);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(TornReadTest, ACounterThatHoldsStillIsWhole) {
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0x00FF);
  board.read(TestBoard::rx_of(0), 0, 8);
  EXPECT_EQ(board.get8(0, socket::Sn_TX_FSR), 0x08);
  EXPECT_EQ(board.get8(0, socket::Sn_TX_FSR + 1), 0x00);
  board.set16(0, socket::Sn_TX_WR, 0);
  EXPECT_THAT(broken(), IsEmpty());
}

// What firmware leaves undone ----------------------------------------------------------------------------------------

TEST_F(JudgeTest, AnInterruptThatNobodyServesIsFound) {
  board.write(0, common::SIMR, {0x01});
  open_udp();
  board.arrive_udp(9, 7, {1});
  board.advance(limits::interrupt_unserved + 1ms);
  EXPECT_THAT(seen(Rule::interrupt_ignored), ElementsAre("INTn low, no SPI access for 500 ms"));
  EXPECT_THAT(first(Rule::interrupt_ignored).evidence.spi, IsEmpty());
}

TEST_F(JudgeTest, AnInterruptThatIsPolledAtTimesIsServed) {
  board.write(0, common::SIMR, {0x01});
  open_udp();
  board.arrive_udp(9, 7, {1});
  for (int i = 0; i < 20; ++i) {
    board.advance(400ms);
    board.interrupts(0);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, AnInterruptThatWasClearedIsServed) {
  board.write(0, common::SIMR, {0x01});
  open_udp();
  board.arrive_udp(9, 7, {1});
  board.advance(1ms);
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(10s);
  EXPECT_THAT(broken(), IsEmpty());
}

// B09. Each of these shows that firmware wants interrupts.
TEST_F(JudgeTest, AnInterruptThatSimrMasksIsFoundInFirmwareThatWantsInterrupts) {
  using Wish = void (*)(TestBoard&);
  const Wish wishes[] = {
      [](TestBoard& of) {
        of.write(0, common::SIMR, {0x01});
        of.write(0, common::SIMR, {0x00});
      },
      [](TestBoard& of) { of.write(0, common::IMR, {0x80}); },
      [](TestBoard& of) { of.set8(0, socket::Sn_IMR, sn_ir::RECV); },
      [](TestBoard& of) { of.chip.note_intn_awaited(); },
  };
  for (const Wish wish : wishes) {
    for (const bool wishes_first : {true, false}) {
      TestBoard deaf;
      deaf.write(0, common::MR, {mr::RST});
      deaf.set8(0, socket::Sn_MR, sn_mr::UDP);
      deaf.set16(0, socket::Sn_PORT, 7);
      deaf.command(0, sn_cr::OPEN);
      if (wishes_first) wish(deaf);
      deaf.configure();
      deaf.arrive_udp(9, 7, {1});
      deaf.advance(1ms);
      if (!wishes_first) wish(deaf);
      deaf.advance(limits::interrupt_unserved + 1ms);
      ASSERT_THAT(deaf.findings.all(), SizeIs(1));
      EXPECT_EQ(deaf.findings.all()[0].rule, Rule::interrupt_masked);
      EXPECT_EQ(deaf.findings.all()[0].seen, "SIMR = 0x00, no SPI access for 500 ms");
    }
  }
}

TEST_F(JudgeTest, FirmwareThatWantsNoInterruptsPollsAndIsNotDeaf) {
  open_udp();
  board.arrive_udp(9, 7, {1});
  board.advance(20s);
  board.write(0, common::SIMR, {0x00});  // not even if it masks everything on purpose
  board.write(0, common::IMR, {0x00});
  board.arrive_udp(9, 7, {1});
  board.advance(20s);
  EXPECT_THAT(broken(), IsEmpty());
}

// The bus is never silent: PHYCFGR is read each 100 ms.
TEST_F(JudgeTest, AMaskedInterruptIsFoundWhenItsSocketHasNotBeenVisitedForLong) {
  const auto watch_link = [this](Duration how_long) {
    for (Duration spent{}; spent < how_long; spent += 100ms) {
      board.advance(100ms);
      board.read(0, common::PHYCFGR, 1);
    }
  };
  open_udp();
  board.write(0, common::SIMR, {0x02});
  board.arrive_udp(9, 7, {1});
  watch_link(limits::socket_unserved - 1s);
  board.get16(0, socket::Sn_RX_RSR);  // it polls this socket: it knows
  watch_link(3 * limits::socket_unserved);
  EXPECT_THAT(broken(), IsEmpty());
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(1ms);
  board.arrive_udp(9, 7, {2});
  watch_link(limits::socket_unserved + 1s);
  EXPECT_THAT(seen(Rule::interrupt_masked), ElementsAre("SIMR = 0x02, S0 Sn_IR = 0x04, not accessed for 10 s"));
  EXPECT_EQ(first(Rule::interrupt_masked).count, 1U);
  EXPECT_EQ(first(Rule::interrupt_masked).evidence.state, "SOCK_UDP");
}

// B01.
TEST_F(JudgeTest, ARegisterPolledWithoutAnExitIsFound) {
  open_udp();
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.write(0, common::RTR, {0xFF, 0xFF, 0xFF});  // the retries take longer than anybody waits
  board.send(0, {1});
  for (int i = 0; i < 7000; ++i) {
    board.interrupts(0);
    board.advance(10ms);
  }
  ASSERT_THAT(seen(Rule::endless_poll), SizeIs(1));
  EXPECT_EQ(seen(Rule::endless_poll)[0], "S0 Sn_IR = 0x00, read without a change for 60 s");
  EXPECT_EQ(first(Rule::endless_poll).count, 1U);
  board.interrupts(0);  // the count says how long it went on, not how often it was read
  EXPECT_EQ(first(Rule::endless_poll).count, 1U);
}

TEST_F(JudgeTest, ACommandRegisterThatIsPolledForLongIsFoundSooner) {
  TestBoard stuck{TestBoard::with("chip.quirk.illegal_command", "stuck")};
  stuck.set8(0, socket::Sn_CR, sn_cr::LISTEN);  // of a closed socket
  for (int i = 0; i < 1100; ++i) {
    EXPECT_EQ(stuck.get8(0, socket::Sn_CR), sn_cr::LISTEN);
    stuck.advance(10ms);
  }
  ASSERT_THAT(stuck.findings.all(), SizeIs(2));
  EXPECT_EQ(stuck.findings.all()[1].seen, "S0 Sn_CR = 0x02, read without a change for 10 s");
}

TEST_F(JudgeTest, ARegisterThatReadsWhatFirmwareWaitsForIsNoEndlessPoll) {
  for (int i = 0; i < 1100; ++i) {
    EXPECT_EQ(board.get8(0, socket::Sn_CR), 0x00);
    EXPECT_THAT(board.read(0, common::MR, 1), ElementsAre(0x00));
    EXPECT_THAT(board.read(0, common::VERSIONR, 1), ElementsAre(0x04));
    board.advance(10ms);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

// B02: the chip has forgotten what firmware waits for.
TEST_F(JudgeTest, AResultOfSendThatNeverComesIsAnEndlessPoll) {
  PlannedFaults faults{board.queue, board.trace, PlannedFaults::Texts{{"chip_sendok_lost", "nth=1"}}};
  board.chip.inject(*faults);
  open_udp();
  board.send(0, {1});
  board.arrive_udp(9, 7, {1});
  for (int i = 0; i < 1100; ++i) {
    board.interrupts(0);
    board.advance(10ms);
  }
  EXPECT_THAT(seen(Rule::endless_poll), ElementsAre("S0 Sn_IR = 0x04, read without a change for 10 s"));
}

TEST_F(JudgeTest, ASocketThatHasSentMayBePolledForEver) {
  open_udp();
  board.send(0, {1});
  finish_send();
  for (int i = 0; i < 1100; ++i) {
    board.interrupts(0);
    board.advance(10ms);
  }
  board.send(0, {1});  // and whose SENDOK stands
  for (int i = 0; i < 1100; ++i) {
    board.interrupts(0);
    board.advance(10ms);
  }
  EXPECT_THAT(seen(Rule::endless_poll), IsEmpty());
}

TEST_F(JudgeTest, WaitingForClientsDataOrACableMayTakeForEver) {
  board.configure();
  tcp.listen();
  for (int i = 0; i < 7000; ++i) {
    board.status(0);
    board.interrupts(0);
    board.get16(0, socket::Sn_RX_RSR);
    board.get16(0, socket::Sn_TX_FSR);
    board.read(0, common::PHYCFGR, 1);
    board.advance(10ms);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, AWaitThatTheChipEndsIsNotEndless) {
  open_udp();
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {1});
  while (board.interrupts(0) == 0) board.advance(1ms);  // ARP gives up after 1.8 s
  EXPECT_THAT(broken(), IsEmpty());
}

// B21.
TEST_F(JudgeTest, ASocketOfAnEarlierHostLifeIsLeaked) {
  open_udp(0, 7);
  board.chip.note_host_restart();
  EXPECT_THAT(broken(), IsEmpty());
  open_udp(1, 8);
  EXPECT_THAT(seen(Rule::socket_leaked), ElementsAre("S0 Sn_SR = 0x22 from before the restart, while S1 is opened"));
}

TEST_F(JudgeTest, AResetOrCloseAfterAHostRestartLeaksNothing) {
  open_udp(0, 7);
  board.chip.note_host_restart();
  board.write(0, common::MR, {mr::RST});
  open_udp(1, 8);
  board.chip.note_host_restart();
  board.command(1, sn_cr::CLOSE);
  open_udp(0, 7);
  EXPECT_THAT(broken(), IsEmpty());
}

// DHCP ---------------------------------------------------------------------------------------------------------------

class LeaseTest : public JudgeTest {
 protected:
  static constexpr wire::Ipv4Address granted = wire::ipv4(192, 168, 1, 77);

  void SetUp() override {
    open_udp(0, 68);
    board.write(0, common::SIPR, {0, 0, 0, 0});
  }
  void arrive_reply(std::uint8_t type, const wire::MacAddress& client = chip_mac) {
    Octets message(240);
    message[0] = 2;
    store32(&message[16], granted);
    std::ranges::copy(client, message.begin() + 28);
    store32(&message[236], 0x63825363);
    for (const int byte : {0, 54, 4, 192, 168, 1, 1, 53, 1, 0, 255}) message.push_back(static_cast<std::uint8_t>(byte));
    message[message.size() - 2] = type;
    board.arrive_udp(67, 68, message, 0xFFFFFFFF, wire::broadcast_mac);
    board.advance(1ms);
  }
};

TEST_F(LeaseTest, ALeaseThatSiprNeverGetsIsFound) {
  arrive_reply(5);
  board.advance(limits::lease_overdue);
  EXPECT_THAT(seen(Rule::lease_not_applied), ElementsAre("granted 192.168.1.77, SIPR = 0.0.0.0"));
}

TEST_F(LeaseTest, ASendFromAnotherSocketWithoutTheLeaseIsFoundAtOnce) {
  arrive_reply(5);
  board.set8(1, socket::Sn_MR, sn_mr::UDP);
  board.set16(1, socket::Sn_PORT, 5000);
  board.set32(1, socket::Sn_DIPR, 0xFFFFFFFF);
  board.set16(1, socket::Sn_DPORT, 9);
  board.command(1, sn_cr::OPEN);
  board.send(1, {1});
  EXPECT_THAT(seen(Rule::lease_not_applied), SizeIs(1));
  board.advance(1min);
  EXPECT_EQ(first(Rule::lease_not_applied).count, 1U);
}

TEST_F(LeaseTest, ALeaseThatWasGivenBackIsNotWanting) {
  for (const std::uint8_t type : {std::uint8_t{4}, std::uint8_t{7}}) {  // DECLINE, RELEASE
    arrive_reply(5);
    Octets message(240);
    message[0] = 1;
    std::ranges::copy(chip_mac, message.begin() + 28);
    store32(&message[236], 0x63825363);
    for (const int byte : {53, 1, int{type}, 255}) message.push_back(static_cast<std::uint8_t>(byte));
    board.set32(0, socket::Sn_DIPR, 0xFFFFFFFF);
    board.set16(0, socket::Sn_DPORT, 67);
    board.send(0, message);
    finish_send();
    board.advance(limits::lease_overdue);
    EXPECT_THAT(seen(Rule::lease_not_applied), IsEmpty());
  }
}

TEST_F(LeaseTest, ALeaseInSiprIsApplied) {
  arrive_reply(5);
  board.write(0, common::SIPR, {192, 168, 1, 77});
  board.advance(1min);
  EXPECT_THAT(broken(), IsEmpty());
}

// As ioLibrary's DHCP client does before it takes the address.
TEST_F(LeaseTest, ProbingTheLeasedAddressIsNoUseWithoutOne) {
  arrive_reply(5);
  board.set32(0, socket::Sn_DIPR, granted);
  board.set16(0, socket::Sn_DPORT, 5000);
  board.send(0, {1});
  EXPECT_THAT(broken(), IsEmpty());
}

// Servers broadcast to clients that ask for it.
TEST_F(LeaseTest, ALeaseOfAnotherClientGrantsNothing) {
  arrive_reply(5, peer_mac);
  board.advance(1min);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(LeaseTest, OffersAndOtherDatagramsGrantNothing) {
  arrive_reply(2);
  board.arrive_udp(67, 68, Octets(239, 2), 0xFFFFFFFF, wire::broadcast_mac);
  Octets cut(242, 0);
  cut[0] = 2;
  store32(&cut[16], granted);
  store32(&cut[236], 0x63825363);
  cut[240] = 53;
  board.arrive_udp(67, 68, cut, 0xFFFFFFFF, wire::broadcast_mac);
  board.advance(1min);
  EXPECT_THAT(seen(Rule::lease_not_applied), IsEmpty());
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
