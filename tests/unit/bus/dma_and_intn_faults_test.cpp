// DMA transfers and INTn edges that go wrong, as the driver's port sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

#include "drivers/ports/sim/sim_port.hpp"
#include "tests/support/planned_faults.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::bus {
namespace {

using testing::Each;
using testing::ElementsAre;

BoardProfile profile_with_dma() {
  BoardProfile profile;
  profile.cpu = Frequency{100'000'000};
  profile.sclk = Frequency{10'000'000};
  profile.byte = {};
  profile.dma = DmaCost{.setup = 5us, .complete = 3us};
  profile.interrupt_latency = 1us;
  return profile;
}

class WireFaultsTest : public testing::Test, protected AwaitedSource {
 protected:
  WireFaultsTest() { board.configure(); }

  Account awaited() const override { return Account::peer; }

  void plan(std::string_view name, std::string_view text) {
    faults.emplace(board.queue, board.trace, test::PlannedFaults::Texts{{name, text}});
    bus.inject(**faults);
    wire.emplace(board.queue, board.chip, **faults);
    port.connect_intn(*wire);
  }

  // A read of the common block from its start by DMA; whether it was over within a millisecond, and how long it took.
  bool dma_read() {
    into.fill(0xEE);
    port.select();
    const std::array<std::uint8_t, 3> header = {0x00, 0x01, 0x00};
    port.exchange(header.data(), nullptr, header.size());
    const Instant start = board.now();
    EXPECT_TRUE(port.start_dma(nullptr, into.data(), into.size()));
    const bool over = port.wait_dma(1000);
    took = board.now() - start;
    if (!over) port.abort_dma();
    port.deselect();
    return over;
  }

  // INTn falls, 1 ms from now.
  void interrupt_soon() {
    board.write(0, chip::common::SIMR, {0x01});
    board.set8(0, chip::socket::Sn_MR, chip::sn_mr::UDP);
    board.set16(0, chip::socket::Sn_PORT, 5000);
    board.command(0, chip::sn_cr::OPEN);
    board.queue.schedule(1ms, [this] { board.arrive_udp(6000, 5000, {1, 2, 3, 4}); });
  }
  void release_intn() {
    board.set8(0, chip::socket::Sn_IR, 0xFF);
    board.advance(1us);
  }

  test::TestBoard board;
  Budget budget;
  BoardProfile profile = profile_with_dma();
  SpiBus bus{board.queue, budget, board.chip.spi(), profile, board.findings, *this};
  SimPort port{board.queue, bus, board.chip, profile, false};
  std::optional<test::PlannedFaults> faults;
  std::optional<FaultyIntn> wire;
  std::array<std::uint8_t, 8> into{};
  Duration took{};
};

constexpr Duration healthy_dma = 5us + 8 * 800ns + 3us;

TEST_F(WireFaultsTest, DmaThatNothingStrikesIsOnTime) {
  plan("dma_late", "nth=2");
  EXPECT_TRUE(dma_read());
  EXPECT_EQ(took, healthy_dma);
  EXPECT_THAT(into, ElementsAre(192, 168, 1, 1, 255, 255, 255, 0));
}

TEST_F(WireFaultsTest, LateDmaCompletesLateAndOnlyOnce) {
  plan("dma_late", "nth=1,delay=200us");
  EXPECT_TRUE(dma_read());
  EXPECT_EQ(took, healthy_dma + 200us);
  EXPECT_THAT(into, ElementsAre(192, 168, 1, 1, 255, 255, 255, 0));
  EXPECT_TRUE(dma_read());
  EXPECT_EQ(took, healthy_dma);
}

TEST_F(WireFaultsTest, DmaLaterThanThePatienceOfFirmwareIsNotOver) {
  plan("dma_late", "nth=1,delay=2ms");
  EXPECT_FALSE(dma_read());
  EXPECT_EQ(took, 5us + 1ms);
  EXPECT_TRUE(dma_read());
}

TEST_F(WireFaultsTest, LateDmaIsOverWhenFirmwareWasBusyMeanwhile) {
  plan("dma_late", "nth=1,delay=200us");
  port.select();
  EXPECT_TRUE(port.start_dma(nullptr, into.data(), into.size()));
  port.delay_us(500);
  const Instant before = board.now();
  EXPECT_TRUE(port.wait_dma(1000));
  EXPECT_EQ(board.now() - before, 3us);
  port.deselect();
}

TEST_F(WireFaultsTest, ShortDmaReportsSuccessAndLeavesTheRestAsItWas) {
  plan("dma_short", "nth=1,missing=3");
  EXPECT_TRUE(dma_read());
  EXPECT_THAT(into, ElementsAre(192, 168, 1, 1, 255, 0xEE, 0xEE, 0xEE));
  EXPECT_TRUE(dma_read());
  EXPECT_THAT(into, ElementsAre(192, 168, 1, 1, 255, 255, 255, 0));
}

TEST_F(WireFaultsTest, ShorterThanNothingIsNothing) {
  plan("dma_short", "nth=1,missing=100");
  EXPECT_TRUE(dma_read());
  EXPECT_THAT(into, Each(0xEE));
}

TEST_F(WireFaultsTest, StalledDmaNeverCompletesUntilItIsAborted) {
  plan("dma_never", "nth=1,moved=2");
  EXPECT_FALSE(dma_read());
  EXPECT_EQ(took, 5us + 1ms);
  EXPECT_THAT(into, ElementsAre(192, 168, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE, 0xEE));
  EXPECT_TRUE(dma_read());
}

TEST_F(WireFaultsTest, IntnThatNothingStrikesWakesTheBoard) {
  plan("intn_lost", "nth=2");
  interrupt_soon();
  const Instant start = board.now();
  EXPECT_TRUE(port.wait_for_interrupt(10'000));
  EXPECT_LT(board.now() - start, 1100us);
}

TEST_F(WireFaultsTest, LostEdgeIsNeverSeenButTheNextOneIs) {
  plan("intn_lost", "nth=1");
  interrupt_soon();
  EXPECT_FALSE(port.wait_for_interrupt(10'000));
  release_intn();
  board.queue.schedule(1ms, [this] { board.arrive_udp(6000, 5000, {5}); });
  EXPECT_TRUE(port.wait_for_interrupt(10'000));
  EXPECT_EQ(faults->struck(Fault::intn_lost), 1U);
}

TEST_F(WireFaultsTest, LateEdgeIsSeenLate) {
  plan("intn_late", "nth=1,delay=5ms");
  interrupt_soon();
  const Instant start = board.now();
  EXPECT_TRUE(port.wait_for_interrupt(20'000));
  EXPECT_GE(board.now() - start, 6ms);
  EXPECT_LT(board.now() - start, 6100us);
}

TEST_F(WireFaultsTest, LateEdgeThatWasServedMeanwhileIsNotSeenAtAll) {
  plan("intn_late", "nth=1,delay=5ms");
  interrupt_soon();
  board.advance(2ms);
  release_intn();
  EXPECT_FALSE(port.wait_for_interrupt(20'000));
}

TEST_F(WireFaultsTest, GlitchWakesTheBoardForNothing) {
  plan("intn_glitch", "nth=2");
  EXPECT_FALSE(port.wait_for_interrupt(1000));
  const Instant start = board.now();
  EXPECT_TRUE(port.wait_for_interrupt(1000));
  EXPECT_EQ(board.now() - start, 1us);
  EXPECT_FALSE(port.wait_for_interrupt(1000));
}

TEST_F(WireFaultsTest, IntnStuckHighIsNeverSeenLow) {
  plan("intn_stuck", "always,level=high");
  interrupt_soon();
  EXPECT_FALSE(port.wait_for_interrupt(10'000));
}

TEST_F(WireFaultsTest, IntnStuckLowAlwaysIs) {
  plan("intn_stuck", "always,level=low");
  EXPECT_TRUE(port.wait_for_interrupt(10'000));
}

}  // namespace
}  // namespace wizloop::bus
