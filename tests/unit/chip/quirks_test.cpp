// Each alternative of each open question (sim/chip/quirks.cpp) shows in what the chip does; the defaults are shown by
// the other tests of this folder.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "sim/wire/igmp.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;
using wire::TcpHeader;
using Octets = std::vector<std::uint8_t>;

// "quirk=choice", as set by the test that runs.
std::set<std::string>& set_by_this_test() {
  static std::set<std::string> alternatives;
  return alternatives;
}

// A configured chip with one quirk set.
struct QuirkBoard : TestBoard {
  QuirkBoard(std::string_view quirk, std::string_view choice)
      : TestBoard{with(std::string{"chip.quirk."} + std::string{quirk}, choice)} {
    configure();
    set_by_this_test().insert(std::string{quirk} + "=" + std::string{choice});
  }
  void open(int socket, std::uint8_t mode, std::uint16_t port = 5000) {
    set8(socket, socket::Sn_MR, mode);
    set16(socket, socket::Sn_PORT, port);
    command(socket, sn_cr::OPEN);
  }
  void open_udp_to_peer() {
    open(0, sn_mr::UDP);
    set32(0, socket::Sn_DIPR, peer_ip);
    set16(0, socket::Sn_DPORT, 9);
  }
  void send_and_resolve(const Octets& data) {
    send(0, data);
    advance(1ms);
    answer_arp();
    advance(1ms);
  }
  bool touched(Quirk quirk) const {
    const auto all = chip.quirks().touched();
    return std::find(all.begin(), all.end(), quirk) != all.end();
  }
};

// SPI ----------------------------------------------------------------------------------------------------------------

TEST(SpiQuirkTest, HeaderMisoZeros) {
  QuirkBoard board{"header_miso", "zeros"};
  EXPECT_THAT(board.spi({0x00, 0x39, 0x00, 0x00}), ElementsAre(0, 0, 0, 4));
}

TEST(SpiQuirkTest, WriteDataMisoOnesOrEcho) {
  QuirkBoard ones{"write_data_miso", "ones"};
  EXPECT_THAT(ones.spi({0x00, 0x01, 0x04, 1, 2}), ElementsAre(1, 2, 3, 0xFF, 0xFF));
  QuirkBoard echo{"write_data_miso", "echo"};
  EXPECT_THAT(echo.spi({0x00, 0x01, 0x04, 7, 8, 9}), ElementsAre(1, 2, 3, 0, 7, 8));
  Octets burst = {5, 6, 7};
  echo.chip.spi().select();
  for (const int byte : {0x00, 0x00, 0x14}) echo.chip.spi().exchange(static_cast<std::uint8_t>(byte));
  echo.chip.spi().exchange_quiet(burst.data(), burst.data(), burst.size());
  echo.chip.spi().deselect();
  EXPECT_THAT(burst, ElementsAre(0, 5, 6));
  EXPECT_THAT(echo.read(TestBoard::tx_of(0), 0, 3), ElementsAre(5, 6, 7));
}

TEST(SpiQuirkTest, ReservedReadOnesIsTouchedOnlyByARealRead) {
  QuirkBoard board{"reserved_read", "ones"};
  EXPECT_THAT(board.read(0, 0x0039, 1), ElementsAre(4));
  EXPECT_FALSE(board.touched(Quirk::reserved_read));
  EXPECT_THAT(board.read(0, 0x0030, 1), ElementsAre(0xFF));
  EXPECT_THAT(board.read(4, 0x0000, 1), ElementsAre(0xFF));
  EXPECT_TRUE(board.touched(Quirk::reserved_read));
}

TEST(SpiQuirkTest, FixedLengthUnderSelectIgnoredOrCapped) {
  const Octets mosi = {0x00, 0x01, 0x05, 0xA1, 0xA2, 0xA3};  // OM = 1: one byte
  QuirkBoard ignored{"fdm_under_select", "ignored"};
  ignored.spi(mosi);
  EXPECT_THAT(ignored.read(0, common::GAR, 3), ElementsAre(0xA1, 0xA2, 0xA3));
  QuirkBoard capped{"fdm_under_select", "capped"};
  EXPECT_THAT(capped.spi(mosi), ElementsAre(1, 2, 3, 0, 0, 0));
  EXPECT_THAT(capped.read(0, common::GAR, 3), ElementsAre(0xA1, 168, 1));
  EXPECT_THAT(capped.spi({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
}

TEST(SpiQuirkTest, FixedLengthWithScsnTiedLowIsHonouredWhateverItDoesUnderSelect) {
  TestBoard board{TestBoard::with("chip.quirk.fdm_under_select", "capped")};
  auto& spi = board.chip.spi();
  spi.select();
  for (int i = 0; i < 2; ++i) {
    Octets miso;
    for (const int byte : {0x00, 0x39, 0x01, 0x00}) miso.push_back(spi.exchange(static_cast<std::uint8_t>(byte)));
    EXPECT_THAT(miso, ElementsAre(1, 2, 3, 4));
  }
}

TEST(SpiQuirkTest, ByteCommitWithTheNextByteOrTheDeselect) {
  QuirkBoard board{"byte_commit", "next_byte"};
  auto& spi = board.chip.spi();
  spi.select();
  for (const int byte : {0x00, 0x1B, 0x04, 0x03}) spi.exchange(static_cast<std::uint8_t>(byte));
  EXPECT_EQ(board.chip.peek(Block{0}, common::RCR), 8);
  spi.deselect();
  EXPECT_EQ(board.chip.peek(Block{0}, common::RCR), 3);
}

TEST(SpiQuirkTest, ByteCommitHoldsBufferBytesTooOneByOneAndInBulk) {
  const auto in_memory = [](QuirkBoard& board) { return board.chip.peek(Block{TestBoard::tx_of(0)}, 1); };
  for (const bool bulk : {false, true}) {
    QuirkBoard board{"byte_commit", "next_byte"};
    board.write(TestBoard::tx_of(0), 0, {0xA0, 0xA1, 0xA2});
    auto& spi = board.chip.spi();
    spi.select();
    for (const int byte : {0x00, 0x00, 0x14}) spi.exchange(static_cast<std::uint8_t>(byte));
    const std::uint8_t data[] = {0xB0, 0xB1};
    if (bulk) {
      spi.exchange_quiet(data, nullptr, 2);
    } else {
      for (const std::uint8_t byte : data) spi.exchange(byte);
    }
    EXPECT_EQ(in_memory(board), 0xA1) << bulk;
    spi.deselect();
    EXPECT_EQ(in_memory(board), 0xB1) << bulk;
    EXPECT_THAT(board.read(TestBoard::tx_of(0), 0, 3), ElementsAre(0xB0, 0xB1, 0xA2)) << bulk;
  }
}

TEST(SpiQuirkTest, AddressSticksAtItsEnd) {
  QuirkBoard board{"address_wrap", "sticks"};
  board.write(0, 0xFFFF, {0x00, 0x10});
  EXPECT_THAT(board.read(0, common::MR, 1), ElementsAre(0x00));
}

TEST(SpiQuirkTest, LatchedCountersDoNotTear) {
  const auto torn = [](std::string_view choice) {
    QuirkBoard board{"wide_read", choice};
    board.open(0, sn_mr::UDP);
    board.arrive_udp(1, 5000, Octets(232, 1));
    board.advance(1ms);  // 0x00F0
    board.arrive_udp(1, 5000, Octets(24, 1));
    auto& spi = board.chip.spi();
    spi.select();
    for (const int byte : {0x00, 0x26, 0x08}) spi.exchange(static_cast<std::uint8_t>(byte));
    board.advance(1ms);  // 0x0110 now
    const std::uint8_t high = spi.exchange(0);
    const std::uint8_t low = spi.exchange(0);
    spi.deselect();
    EXPECT_TRUE(board.touched(Quirk::wide_read));
    return high << 8 | low;
  };
  EXPECT_EQ(torn("torn"), 0x0010);
  EXPECT_EQ(torn("latched"), 0x00F0);
}

TEST(SpiQuirkTest, WideReadIsTouchedOnlyByALowByteThatHasChangedAndIsReadBehindItsHighOne) {
  for (const char* choice : {"torn", "latched"}) {
    QuirkBoard board{"wide_read", choice};
    board.open(0, sn_mr::UDP);
    const auto read_across_an_arrival = [&](std::size_t bytes, std::size_t datagram) {
      board.arrive_udp(1, 5000, Octets(datagram, 1));
      auto& spi = board.chip.spi();
      spi.select();
      for (const int byte : {0x00, 0x26, 0x08}) spi.exchange(static_cast<std::uint8_t>(byte));
      board.advance(1ms);
      for (std::size_t i = 0; i < bytes; ++i) spi.exchange(0);
      spi.deselect();
    };
    read_across_an_arrival(1, 24);   // the high byte alone
    read_across_an_arrival(2, 248);  // 0x0020 becomes 0x0120: the low byte stays
    EXPECT_FALSE(board.touched(Quirk::wide_read)) << choice;
    read_across_an_arrival(2, 24);
    EXPECT_TRUE(board.touched(Quirk::wide_read)) << choice;
  }
}

// Reset and PHY ------------------------------------------------------------------------------------------------------

TEST(ResetQuirkTest, ShortPulseIgnored) {
  QuirkBoard board{"short_reset_pulse", "ignored"};
  board.chip.set_rstn(false);
  board.advance(100us);
  board.chip.set_rstn(true);
  EXPECT_THAT(board.read(0, common::SIPR, 4), ElementsAre(192, 168, 1, 20));
  EXPECT_TRUE(board.touched(Quirk::short_reset_pulse));
  board.chip.set_rstn(false);
  board.advance(500us);
  board.chip.set_rstn(true);
  board.advance(1ms);
  EXPECT_THAT(board.read(0, common::SIPR, 4), Each(0));
}

TEST(ResetQuirkTest, SpiAliveBeforeThePllHasLocked) {
  const auto version = [](std::string_view choice) {
    QuirkBoard board{"spi_before_pll", choice};
    board.chip.set_rstn(false);
    board.advance(500us);
    board.chip.set_rstn(true);
    board.advance(999us);
    return board.read(0, common::VERSIONR, 1)[0];
  };
  EXPECT_EQ(version("dead"), 0);
  EXPECT_EQ(version("alive"), 4);
}

TEST(ResetQuirkTest, SpiBeforePllIsTouchedByWhoComesBetweenRstnAndTheLock) {
  for (const char* choice : {"dead", "alive"}) {
    QuirkBoard board{"spi_before_pll", choice};
    board.chip.set_rstn(false);
    board.advance(500us);
    board.read(0, common::VERSIONR, 1);  // in reset: no question
    board.chip.set_rstn(true);
    board.advance(1ms);
    board.read(0, common::VERSIONR, 1);
    EXPECT_FALSE(board.touched(Quirk::spi_before_pll)) << choice;
    board.chip.set_rstn(false);
    board.advance(500us);
    board.chip.set_rstn(true);
    board.advance(999us);
    board.read(0, common::VERSIONR, 1);
    EXPECT_TRUE(board.touched(Quirk::spi_before_pll)) << choice;
  }
}

TEST(ResetQuirkTest, SoftwareResetRenegotiatesOrClearsTheMemory) {
  QuirkBoard phy{"mr_rst_phy", "renegotiates"};
  phy.write(0, common::MR, {mr::RST});
  EXPECT_EQ(phy.read(0, common::PHYCFGR, 1)[0] & 1, 0);
  phy.advance(2s);
  EXPECT_EQ(phy.read(0, common::PHYCFGR, 1)[0] & 1, 1);
  QuirkBoard memory{"mr_rst_memory", "cleared"};
  memory.write(TestBoard::tx_of(0), 0, {1, 2, 3});
  memory.write(0, common::MR, {mr::RST});
  EXPECT_THAT(memory.read(TestBoard::tx_of(0), 0, 3), Each(0));
}

TEST(ResetQuirkTest, PhycfgrWithoutLinkShowsNoSpeed) {
  QuirkBoard board{"phycfgr_without_link", "code_000"};
  board.chip.plug(false);
  board.advance(2ms);
  EXPECT_THAT(board.read(0, common::PHYCFGR, 1), ElementsAre(0xB8));
}

TEST(ResetLatencyTest, SoftwareResetAndVersionTakeTheirTime) {
  TestBoard board{TestBoard::with("chip.latency.software_reset_ns", "5000000")};
  board.write(0, common::MR, {mr::RST});
  EXPECT_THAT(board.read(0, common::MR, 1), ElementsAre(mr::RST));
  board.write(0, common::RCR, {3});
  board.advance(5ms);
  EXPECT_THAT(board.read(0, common::MR, 1), ElementsAre(0));
  EXPECT_THAT(board.read(0, common::RCR, 1), ElementsAre(8));
  TestBoard late{TestBoard::with("chip.latency.versionr_valid_ns", "1000")};
  EXPECT_THAT(late.read(0, common::VERSIONR, 1), ElementsAre(0));
  late.advance(1us);
  EXPECT_THAT(late.read(0, common::VERSIONR, 1), ElementsAre(4));
}

// Memory and pointers ------------------------------------------------------------------------------------------------

TEST(MemoryQuirkTest, OvercommittedMemoryHasNoStorage) {
  QuirkBoard board{"overcommitted_memory", "no_storage"};
  board.set8(0, socket::Sn_TXBUF_SIZE, 16);
  board.write(TestBoard::tx_of(0), 0, {1});
  board.write(TestBoard::tx_of(1), 0, {2});
  EXPECT_THAT(board.read(TestBoard::tx_of(0), 0, 1), ElementsAre(1));
  EXPECT_THAT(board.read(TestBoard::tx_of(1), 0, 1), ElementsAre(0));
}

TEST(MemoryQuirkTest, IllegalSizeIsZero) {
  QuirkBoard board{"illegal_buffer_size", "zero"};
  board.set8(0, socket::Sn_TXBUF_SIZE, 3);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_FSR), 0);
}

TEST(MemoryQuirkTest, ZeroBufferReachesTheWholeMemory) {
  QuirkBoard board{"zero_buffer", "whole_memory"};
  board.set8(0, socket::Sn_TXBUF_SIZE, 0);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_FSR), 0);
  EXPECT_FALSE(board.touched(Quirk::zero_buffer));
  board.write(TestBoard::tx_of(0), 0x3000, {0x5A});
  EXPECT_THAT(board.read(TestBoard::tx_of(0), 0x3000, 1), ElementsAre(0x5A));
  EXPECT_TRUE(board.touched(Quirk::zero_buffer));
}

TEST(MemoryQuirkTest, TxWrReadsBackPlain) {
  QuirkBoard board{"tx_wr_readback", "plain"};
  board.open(0, sn_mr::UDP);
  board.set16(0, socket::Sn_TX_WR, 4);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_WR), 4);
}

TEST(MemoryQuirkTest, TxFsrFallsAtTheWrite) {
  QuirkBoard board{"tx_fsr_falls", "at_write"};
  board.open(0, sn_mr::UDP);
  board.set16(0, socket::Sn_TX_WR, 48);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_FSR), 2000);
}

TEST(MemoryQuirkTest, StaleTxWrIsClampedToTheRing) {
  QuirkBoard board{"stale_tx_wr", "clamped"};
  board.open_udp_to_peer();
  board.set32(0, socket::Sn_DIPR, wire::broadcast_ipv4);
  board.set16(0, socket::Sn_TX_WR, 0x4000);
  board.command(0, sn_cr::SEND);
  board.advance(10ms);
  EXPECT_THAT(board.sent, SizeIs(2));
  EXPECT_EQ(board.get16(0, socket::Sn_TX_RD), 2048);
}

// Sockets ------------------------------------------------------------------------------------------------------------

TEST(SocketQuirkTest, IllegalCommandSticksUntilALegalOne) {
  QuirkBoard board{"illegal_command", "stuck"};
  board.command(0, sn_cr::LISTEN);
  board.advance(1s);
  EXPECT_EQ(board.get8(0, socket::Sn_CR), sn_cr::LISTEN);
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.get8(0, socket::Sn_CR), 0);
}

TEST(SocketQuirkTest, OpenReopens) {
  QuirkBoard board{"open_on_open_socket", "reopens"};
  board.open(0, sn_mr::UDP);
  board.open(0, sn_mr::TCP);
  EXPECT_EQ(board.status(0), sn_sr::INIT);
}

TEST(SocketQuirkTest, SendDuringSendIsIgnored) {
  QuirkBoard board{"send_during_send", "ignored"};
  board.open_udp_to_peer();
  board.send_and_resolve({1});
  board.sent.clear();
  board.set16(0, socket::Sn_TX_WR, 2);
  board.set8(0, socket::Sn_CR, sn_cr::SEND);
  board.set16(0, socket::Sn_TX_WR, 3);
  board.set8(0, socket::Sn_CR, sn_cr::SEND);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST(SocketQuirkTest, EmptySendIsSilentOrAnEmptyDatagram) {
  QuirkBoard silent{"empty_send", "silent"};
  silent.open_udp_to_peer();
  silent.command(0, sn_cr::SEND);
  silent.advance(1ms);
  EXPECT_EQ(silent.interrupts(0), 0);
  EXPECT_THAT(silent.sent, SizeIs(0));
  QuirkBoard empty{"empty_send", "empty_datagram"};
  empty.open_udp_to_peer();
  empty.send_and_resolve({});
  ASSERT_THAT(empty.sent, SizeIs(2));
  EXPECT_THAT(empty.sent[1].udp_payload(), SizeIs(0));
  EXPECT_EQ(empty.interrupts(0), sn_ir::SENDOK);
}

TEST(SocketQuirkTest, RecvIsNotRaisedAgain) {
  QuirkBoard board{"recv_raised_again", "no"};
  board.open(0, sn_mr::UDP);
  board.arrive_udp(1, 5000, {1});
  board.advance(1ms);
  board.set8(0, socket::Sn_IR, 0xFF);
  board.command(0, sn_cr::RECV);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST(SocketQuirkTest, SnIrTakesOnlyWhatSnImrLetsThrough) {
  QuirkBoard board{"sn_ir_masking", "masked"};
  board.open(0, sn_mr::UDP);
  board.set8(0, socket::Sn_IMR, sn_ir::SENDOK);
  board.arrive_udp(1, 5000, {1});
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST(SocketQuirkTest, IntnPulsesBetweenSources) {
  QuirkBoard board{"intn_between_sources", "pulses"};
  board.write(0, common::SIMR, {0xFF});
  board.write(0, common::INTLEVEL, {0x00, 0xFF});
  for (int n = 0; n < 2; ++n) {
    board.open(n, sn_mr::UDP, static_cast<std::uint16_t>(5000 + n));
    board.arrive_udp(1, static_cast<std::uint16_t>(5000 + n), {1});
  }
  board.advance(1ms);
  ASSERT_FALSE(board.chip.intn());
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(1us);
  EXPECT_TRUE(board.chip.intn());
  board.advance(6us);  // 256 x 26.67 ns
  EXPECT_FALSE(board.chip.intn());
}

TEST(SocketQuirkTest, MssrStaysAsWritten) {
  QuirkBoard board{"mssr_after_open", "unchanged"};
  board.open(0, sn_mr::TCP);
  EXPECT_EQ(board.get16(0, socket::Sn_MSSR), 0);
}

// ARP, IP, ICMP, UDP -------------------------------------------------------------------------------------------------

TEST(StackQuirkTest, DataIsKeptAfterAnArpTimeout) {
  QuirkBoard board{"udp_data_after_arp_timeout", "kept"};
  board.open_udp_to_peer();
  board.send(0, {1, 2});
  board.advance(2s);
  board.sent.clear();
  board.send_and_resolve({3});
  EXPECT_THAT(board.sent.back().udp_payload(), ElementsAre(1, 2, 3));
}

TEST(StackQuirkTest, EachSendAsks) {
  QuirkBoard board{"arp_before_send", "each_send"};
  board.open_udp_to_peer();
  board.send_and_resolve({1});
  board.send_and_resolve({2});
  ASSERT_THAT(board.sent, SizeIs(4));
  EXPECT_TRUE(board.sent[2].is_arp());
}

TEST(StackQuirkTest, UnaskedArpUpdatesTheMac) {
  QuirkBoard board{"unasked_arp", "updates"};
  board.open_udp_to_peer();
  board.send_and_resolve({1});
  board.arrive_arp(wire::Arp::Operation::reply, {2, 0, 0, 0, 0, 0x99}, peer_ip, chip_ip);
  board.advance(1ms);
  EXPECT_THAT(board.read(TestBoard::registers_of(0), socket::Sn_DHAR, 6), ElementsAre(2, 0, 0, 0, 0, 0x99));
}

TEST(StackQuirkTest, ProbeConflictsWithNoAddress) {
  QuirkBoard board{"conflict_without_address", "reported"};
  board.write(0, common::SIPR, {0, 0, 0, 0});
  board.arrive_arp(wire::Arp::Operation::request, peer_mac, 0, chip_ip);
  board.advance(1ms);
  EXPECT_THAT(board.read(0, common::IR, 1), ElementsAre(ir::CONFLICT));
}

TEST(StackQuirkTest, UnicastIsDroppedWithoutAnAddress) {
  for (const auto& [choice, expected] : {std::pair{"taken", 9}, std::pair{"dropped", 0}}) {
    QuirkBoard board{"unicast_without_address", choice};
    board.open(0, sn_mr::UDP, 68);
    board.write(0, common::SIPR, {0, 0, 0, 0});
    board.arrive_udp(67, 68, {1});
    board.advance(1ms);
    EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), expected) << choice;
  }
}

TEST(StackQuirkTest, RepliesAreNoConflict) {
  QuirkBoard board{"conflict_by_reply", "ignored"};
  board.arrive_arp(wire::Arp::Operation::reply, peer_mac, chip_ip, chip_ip);
  board.advance(1ms);
  EXPECT_THAT(board.read(0, common::IR, 1), ElementsAre(0));
}

TEST(StackQuirkTest, LargestPingIs512) {
  QuirkBoard board{"largest_ping", "data_512"};
  board.arrive_ping(1, 512);
  board.arrive_ping(2, 513);
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(1));
}

TEST(StackQuirkTest, NoPortUnreachable) {
  QuirkBoard board{"port_unreachable", "silent"};
  board.arrive_udp(1, 6000, {1});
  board.advance(1ms);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(StackQuirkTest, IdentificationPerSocketOrZero) {
  const auto identifications = [](std::string_view choice) {
    QuirkBoard board{"ip_identification", choice};
    std::vector<int> seen;
    for (const int n : {0, 1, 0}) {
      if (n == 1 || seen.empty()) {
        board.open(n, sn_mr::UDP, static_cast<std::uint16_t>(5000 + n));
        board.set32(n, socket::Sn_DIPR, wire::broadcast_ipv4);
      }
      board.send(n, {1});
      board.advance(1ms);
      seen.push_back(board.sent.back().ip().identification);
    }
    return seen;
  };
  EXPECT_THAT(identifications("per_chip"), ElementsAre(0, 1, 2));
  EXPECT_THAT(identifications("per_socket"), ElementsAre(0, 0, 1));
  EXPECT_THAT(identifications("zero"), ElementsAre(0, 0, 0));
}

// MACRAW -------------------------------------------------------------------------------------------------------------

TEST(MacrawQuirkTest, StackAnswersEverythingOrNothing) {
  QuirkBoard all{"stack_beside_macraw", "everything"};
  all.open(0, sn_mr::MACRAW);
  all.arrive_udp(1, 6000, {1});
  all.advance(1ms);
  EXPECT_THAT(all.sent, SizeIs(1));
  QuirkBoard none{"stack_beside_macraw", "nothing"};
  none.open(0, sn_mr::MACRAW);
  none.arrive_ping(1, 8);
  none.arrive_arp(wire::Arp::Operation::request, peer_mac, peer_ip, chip_ip);
  none.advance(1ms);
  EXPECT_THAT(none.sent, SizeIs(0));
}

TEST(MacrawQuirkTest, ShortFramesLeaveAsRunts) {
  QuirkBoard board{"macraw_padding", "none"};
  board.open(0, sn_mr::MACRAW);
  board.send(0, Octets(42, 1));
  board.advance(1ms);
  ASSERT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.sent[0].bytes.size(), 42U);
}

TEST(MacrawQuirkTest, MulticastByTheDatasheet) {
  QuirkBoard board{"macraw_multicast", "datasheet"};
  board.open(0, sn_mr::MACRAW | sn_mr::MFEN);
  Octets frame(60);
  wire::EthernetHeader{{0x01, 0x80, 0xC2, 0, 0, 0}, peer_mac, 0x88B5}.emit(frame.data());
  board.arrive(frame);
  board.advance(1ms);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 62);
}

TEST(MacrawQuirkTest, SendWithoutLinkCompletes) {
  QuirkBoard board{"macraw_without_link", "sendok"};
  board.open(0, sn_mr::MACRAW);
  board.chip.plug(false);
  board.advance(2ms);
  board.send(0, Octets(60, 1));
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  EXPECT_THAT(board.sent, SizeIs(0));
}

TEST(MacrawQuirkTest, SendStallsWhileSendokStands) {
  QuirkBoard board{"late_sendok_clear", "stalls"};
  board.open(0, sn_mr::MACRAW);
  board.send(0, Octets(60, 1));
  board.advance(1ms);
  board.send(0, Octets(60, 2));
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(1s);
  EXPECT_THAT(board.sent, SizeIs(1));
  EXPECT_EQ(board.interrupts(0), 0);
}

// TCP ----------------------------------------------------------------------------------------------------------------

struct TcpQuirk : QuirkBoard {
  using QuirkBoard::QuirkBoard;
  TestConnection tcp{*this};
  void retry(std::uint8_t rcr) { write(0, common::RCR, {rcr}); }
};

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

// multicast_test.cpp has the rest: version 1, and the report that is dropped.
TEST(UdpQuirkTest, GroupQueryIsAnsweredAfterARandomDelay) {
  const auto delay = [](std::string_view choice) {
    constexpr wire::Ipv4Address group = wire::ipv4(224, 1, 129, 5);
    const wire::MacAddress mac = wire::multicast_mac(group);
    QuirkBoard board{"group_query_answer", choice};
    board.write(TestBoard::registers_of(0), socket::Sn_DHAR, {mac.begin(), mac.end()});
    board.set32(0, socket::Sn_DIPR, group);
    board.open(0, sn_mr::UDP | sn_mr::MULTI);
    board.advance(1ms);
    board.sent.clear();
    Octets query(wire::Igmp::bytes);
    wire::Igmp{wire::Igmp::query, 100, group}.emit(query.data());
    const Instant asked = board.now();
    board.arrive_ip(wire::protocol_igmp, query, group, mac);
    board.advance(11s);
    EXPECT_THAT(board.sent, SizeIs(1));
    return board.sent.empty() ? Duration{} : board.sent[0].at - asked;
  };
  EXPECT_EQ(delay("at_once"), 10us);
  EXPECT_GT(delay("random_delay"), 1ms);
  EXPECT_LE(delay("random_delay"), 10s);
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

// Keep-alive (datasheet 4.2, SEND_KEEP and Sn_KPALVTR) ---------------------------------------------------------------

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

// PHY modes (datasheet 4.1, PHYCFGR) ---------------------------------------------------------------------------------

TEST(PhyModeTest, EachCodeOfOpmdcLinksAsItSays) {
  const std::pair<int, int> status_of[] = {{0, 1}, {1, 5}, {2, 3}, {3, 7}, {4, 3}, {5, 2}, {6, 2}, {7, 7}};
  for (const auto& [code, status] : status_of) {
    TestBoard board;
    const auto mode = static_cast<std::uint8_t>(0x40 | code << 3);
    board.write(0, common::PHYCFGR, {mode});
    board.write(0, common::PHYCFGR, {static_cast<std::uint8_t>(0x80 | mode)});
    board.advance(2s);
    EXPECT_EQ(board.read(0, common::PHYCFGR, 1)[0], 0x80 | mode | status) << code;
  }
}

TEST(PhyModeTest, PinsAreReadAtResetAndOpmdcDoesNotMirrorThem) {
  TestBoard board;
  board.chip.set_pmode_pins(1);  // 10BT full
  board.chip.set_rstn(false);
  board.advance(500us);
  board.chip.set_rstn(true);
  board.advance(1s);
  EXPECT_EQ(board.read(0, common::PHYCFGR, 1)[0], 0xBD);
}

// Completeness --------------------------------------------------------------------------------------------------------

// Each alternative beside the default, and the test that shows it.
struct Shown {
  std::string_view alternative, test;
};
constexpr Shown shown[] = {
    {"header_miso=zeros", "SpiQuirkTest.HeaderMisoZeros"},
    {"write_data_miso=ones", "SpiQuirkTest.WriteDataMisoOnesOrEcho"},
    {"write_data_miso=echo", "SpiQuirkTest.WriteDataMisoOnesOrEcho"},
    {"reserved_read=ones", "SpiQuirkTest.ReservedReadOnesIsTouchedOnlyByARealRead"},
    {"fdm_under_select=ignored", "SpiQuirkTest.FixedLengthUnderSelectIgnoredOrCapped"},
    {"fdm_under_select=capped", "SpiQuirkTest.FixedLengthUnderSelectIgnoredOrCapped"},
    {"byte_commit=next_byte", "SpiQuirkTest.ByteCommitWithTheNextByteOrTheDeselect"},
    {"address_wrap=sticks", "SpiQuirkTest.AddressSticksAtItsEnd"},
    {"wide_read=latched", "SpiQuirkTest.LatchedCountersDoNotTear"},
    {"spi_before_pll=alive", "ResetQuirkTest.SpiAliveBeforeThePllHasLocked"},
    {"short_reset_pulse=ignored", "ResetQuirkTest.ShortPulseIgnored"},
    {"mr_rst_phy=renegotiates", "ResetQuirkTest.SoftwareResetRenegotiatesOrClearsTheMemory"},
    {"mr_rst_memory=cleared", "ResetQuirkTest.SoftwareResetRenegotiatesOrClearsTheMemory"},
    {"phycfgr_without_link=code_000", "ResetQuirkTest.PhycfgrWithoutLinkShowsNoSpeed"},
    {"overcommitted_memory=no_storage", "MemoryQuirkTest.OvercommittedMemoryHasNoStorage"},
    {"illegal_buffer_size=zero", "MemoryQuirkTest.IllegalSizeIsZero"},
    {"zero_buffer=whole_memory", "MemoryQuirkTest.ZeroBufferReachesTheWholeMemory"},
    {"tx_wr_readback=plain", "MemoryQuirkTest.TxWrReadsBackPlain"},
    {"tx_fsr_falls=at_write", "MemoryQuirkTest.TxFsrFallsAtTheWrite"},
    {"stale_tx_wr=clamped", "MemoryQuirkTest.StaleTxWrIsClampedToTheRing"},
    {"illegal_command=stuck", "SocketQuirkTest.IllegalCommandSticksUntilALegalOne"},
    {"open_on_open_socket=reopens", "SocketQuirkTest.OpenReopens"},
    {"send_during_send=ignored", "SocketQuirkTest.SendDuringSendIsIgnored"},
    {"empty_send=silent", "SocketQuirkTest.EmptySendIsSilentOrAnEmptyDatagram"},
    {"empty_send=empty_datagram", "SocketQuirkTest.EmptySendIsSilentOrAnEmptyDatagram"},
    {"recv_raised_again=no", "SocketQuirkTest.RecvIsNotRaisedAgain"},
    {"sn_ir_masking=masked", "SocketQuirkTest.SnIrTakesOnlyWhatSnImrLetsThrough"},
    {"intn_between_sources=pulses", "SocketQuirkTest.IntnPulsesBetweenSources"},
    {"mssr_after_open=unchanged", "SocketQuirkTest.MssrStaysAsWritten"},
    {"udp_data_after_arp_timeout=kept", "StackQuirkTest.DataIsKeptAfterAnArpTimeout"},
    {"arp_before_send=each_send", "StackQuirkTest.EachSendAsks"},
    {"unasked_arp=updates", "StackQuirkTest.UnaskedArpUpdatesTheMac"},
    {"conflict_without_address=reported", "StackQuirkTest.ProbeConflictsWithNoAddress"},
    {"unicast_without_address=dropped", "StackQuirkTest.UnicastIsDroppedWithoutAnAddress"},
    {"conflict_by_reply=ignored", "StackQuirkTest.RepliesAreNoConflict"},
    {"largest_ping=data_512", "StackQuirkTest.LargestPingIs512"},
    {"port_unreachable=silent", "StackQuirkTest.NoPortUnreachable"},
    {"ip_identification=per_socket", "StackQuirkTest.IdentificationPerSocketOrZero"},
    {"ip_identification=zero", "StackQuirkTest.IdentificationPerSocketOrZero"},
    {"stack_beside_macraw=everything", "MacrawQuirkTest.StackAnswersEverythingOrNothing"},
    {"stack_beside_macraw=nothing", "MacrawQuirkTest.StackAnswersEverythingOrNothing"},
    {"macraw_padding=none", "MacrawQuirkTest.ShortFramesLeaveAsRunts"},
    {"macraw_multicast=datasheet", "MacrawQuirkTest.MulticastByTheDatasheet"},
    {"macraw_without_link=sendok", "MacrawQuirkTest.SendWithoutLinkCompletes"},
    {"late_sendok_clear=stalls", "MacrawQuirkTest.SendStallsWhileSendokStands"},
    {"tx_pointers_at_connection=zero", "TcpQuirkTest.PointersStartAtZeroOrAtThePeersSequenceNumber"},
    {"rx_pointers_at_connection=irs", "TcpQuirkTest.PointersStartAtZeroOrAtThePeersSequenceNumber"},
    {"isn_source=clock", "TcpQuirkTest.InitialSequenceNumberByTheClockOrZero"},
    {"isn_source=zero", "TcpQuirkTest.InitialSequenceNumberByTheClockOrZero"},
    {"status_while_resolving=synsent", "TcpQuirkTest.StatusWhileResolving"},
    {"status_while_resolving=arp", "TcpQuirkTest.StatusWhileResolving"},
    {"rst_received_cause=timeout", "TcpQuirkTest.CauseOfAReset"},
    {"rst_received_cause=none", "TcpQuirkTest.CauseOfAReset"},
    {"close_of_connection=rst", "TcpQuirkTest.CloseSendsRst"},
    {"time_wait=none", "TcpQuirkTest.NoTimeWaitButTheLastAckLeaves"},
    {"missing_fin=waits", "TcpQuirkTest.WaitsForTheMissingFin"},
    {"rst_in_synrecv=listen", "TcpQuirkTest.ResetInSynrecvReturnsToListen"},
    {"second_syn_in_synrecv=ignored", "TcpQuirkTest.SecondSynInSynrecvIsIgnored"},
    {"zero_window_probe=limited", "TcpQuirkTest.ZeroWindowProbesAreLimitedOrNone"},
    {"zero_window_probe=none", "TcpQuirkTest.ZeroWindowProbesAreLimitedOrNone"},
    {"retransmission=first_segment", "TcpQuirkTest.OnlyTheFirstSegmentIsSentAgain"},
    {"out_of_order=silent", "TcpQuirkTest.SegmentBeyondAGapDrawsNothing"},
    {"delayed_ack=timer_only", "TcpQuirkTest.SecondSegmentWaitsForTheTimerToo"},
    {"window_update=below_mss", "TcpQuirkTest.WindowUpdateOnlyBelowTheMss"},
    {"advertised_window=by_pointer", "TcpQuirkTest.AdvertisedWindowFollowsThePointer"},
    {"psh=last_segment", "TcpQuirkTest.PshOnTheLastSegmentOnly"},
    {"mss_without_option=own", "TcpQuirkTest.PeerWithoutAnMssOptionGetsTheOwnMss"},
    {"tcp_transmissions=rcr_plus_2", "TcpQuirkTest.OneTransmissionMoreThanTheFormula"},
    {"keepalive_needs=any_byte", "TcpQuirkTest.KeepAliveAfterAReceivedByte"},
    {"group_query_answer=random_delay", "UdpQuirkTest.GroupQueryIsAnsweredAfterARandomDelay"},
};

TEST(QuirkCompletenessTest, EachAlternativeHasItsTest) {
  std::set<std::string> tests;
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      tests.insert(std::string{suite.name()} + "." + suite.GetTestInfo(k)->name());
    }
  }
  std::size_t alternatives = 0;
  for (const QuirkSpec& spec : quirk_table()) {
    for (const std::string_view choice : spec.choices) {
      if (choice == spec.choices.front()) continue;
      const std::string alternative = std::string{spec.name} + "=" + std::string{choice};
      const auto found = std::ranges::find(shown, alternative, &Shown::alternative);
      ASSERT_NE(found, std::end(shown)) << "no test shows " << alternative;
      EXPECT_TRUE(tests.contains(std::string{found->test})) << "there is no " << found->test;
      ++alternatives;
    }
  }
  EXPECT_EQ(std::size(shown), alternatives) << "there are rows about what does not exist";
}

// Holds each test to its rows: it has to have set the alternative.
class HoldsTestsToTheirRows final : public testing::EmptyTestEventListener {
  void OnTestEnd(const testing::TestInfo& test) override {
    const std::string name = std::string{test.test_suite_name()} + "." + test.name();
    for (const Shown& row : shown) {
      if (row.test != name) continue;
      EXPECT_TRUE(set_by_this_test().contains(std::string{row.alternative})) << name << " does not set it";
    }
    set_by_this_test().clear();
  }
};
[[maybe_unused]] const bool holds = [] {
  testing::UnitTest::GetInstance()->listeners().Append(new HoldsTestsToTheirRows);
  return true;
}();

}  // namespace
}  // namespace wizloop::test
