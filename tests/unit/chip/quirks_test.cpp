// Each alternative of each open question (sim/chip/quirks.cpp) shows in what the chip does; the defaults are shown by
// the other tests of this folder. Here those of SPI, reset and memory, and the table of all; stack_quirks_test.cpp and
// tcp_quirks_test.cpp have the others.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/unit/chip/quirk_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

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
    {"sn_ir_at_open=cleared", "SocketQuirkTest.OpenClearsSnIr"},
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
    {"window_update=after_a_second", "TcpQuirkTest.WindowUpdateComesASecondLater"},
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
