#include "sim/bus/spi_bus.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "drivers/ports/sim/sim_port.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::bus {
namespace {

using Octets = std::vector<std::uint8_t>;
using test::TestBoard;

BoardProfile priced() {
  BoardProfile profile;
  profile.cpu = Frequency{100'000'000};
  profile.sclk = Frequency{10'000'000};
  profile.byte = {.gap = 1us};
  profile.burst = BurstCost{.gap = 100ns, .setup = 2us};
  profile.dma = DmaCost{.setup = 5us, .complete = 3us};
  profile.select = 500ns;
  profile.deselect = 300ns;
  profile.interrupt_latency = 1us;
  return profile;
}

class SpiBusTest : public testing::Test, protected AwaitedSource {
 protected:
  Account awaited() const override { return Account::peer; }

  void header(std::uint16_t offset, std::uint8_t control) {
    const std::uint8_t bytes[] = {static_cast<std::uint8_t>(offset >> 8), static_cast<std::uint8_t>(offset), control};
    bus.exchange(bytes, nullptr, sizeof bytes);
  }
  // What the accounts have gained since the last call.
  AccountTotals spent() {
    bus.settle();
    const AccountTotals difference = budget.totals() - before;
    before = budget.totals();
    return difference;
  }

  TestBoard board;
  BoardProfile profile = priced();
  Budget budget;
  AccountTotals before;
  SpiBus bus{board.queue, budget, board.chip.spi(), profile, board.findings, *this};
};

TEST_F(SpiBusTest, ByteWiseFrameCostsClocksGapsAndSelect) {
  bus.select();
  for (const int mosi : {0x00, 0x39, 0x00}) bus.exchange(static_cast<std::uint8_t>(mosi));
  EXPECT_EQ(bus.exchange(0), 4);
  bus.deselect();
  const AccountTotals costs = spent();
  EXPECT_EQ(costs[Account::spi_clock], 4 * 800ns);
  EXPECT_EQ(costs[Account::byte_gap], 4us);
  EXPECT_EQ(costs[Account::select], 800ns);
  EXPECT_EQ(board.now(), Instant{8us});
  EXPECT_EQ(costs.sum(), 8us);
}

TEST_F(SpiBusTest, BurstCostsOneSetUpAndSmallGaps) {
  Octets data(1000);
  bus.select();
  header(0, 0x14);
  bus.exchange(data.data(), nullptr, data.size());
  bus.deselect();
  const AccountTotals costs = spent();
  EXPECT_EQ(costs[Account::spi_clock], 1003 * 800ns);
  EXPECT_EQ(costs[Account::byte_gap], 1003 * 100ns);
  EXPECT_EQ(costs[Account::dma_setup], 4us);
}

TEST_F(SpiBusTest, BurstMovesTheSameBytesWhateverEventsFallIntoIt) {
  Octets data(2048);
  std::iota(data.begin(), data.end(), std::uint8_t{0});
  int events = 0;
  std::function<void()> tick = [&] {
    ++events;
    if (events < 100) board.queue.schedule(7us, [&] { tick(); });
  };
  board.queue.schedule(1us, [&] { tick(); });
  bus.select();
  header(0, 0x14);
  bus.exchange(data.data(), nullptr, data.size());
  bus.deselect();
  EXPECT_EQ(events, 100);
  EXPECT_EQ(spent().sum(), board.now().time_since_epoch());
  EXPECT_EQ(board.read(TestBoard::tx_of(0), 0, data.size()), data);

  Octets back(2048);
  bus.select();
  header(0, 0x10);
  bus.exchange(nullptr, back.data(), back.size());
  bus.deselect();
  EXPECT_EQ(back, data);
}

TEST_F(SpiBusTest, AnEventInABurstRunsAtItsOwnInstant) {
  Instant seen{};
  board.queue.schedule(100us, [&] { seen = board.now(); });
  Octets data(1000);
  bus.select();
  header(0, 0x14);
  bus.exchange(data.data(), nullptr, data.size());
  bus.deselect();
  EXPECT_EQ(seen, Instant{100us});
}

TEST_F(SpiBusTest, ClockPeriodsNeverDrift) {
  profile.sclk = Frequency{42'000'000};
  profile.burst = BurstCost{};
  profile.select = profile.deselect = 0ns;
  SpiBus odd{board.queue, budget, board.chip.spi(), profile, board.findings, *this};
  const Instant start = board.now();
  Octets data(21000 - 3);
  odd.select();
  const std::uint8_t bytes[] = {0, 0, 0x14};
  odd.exchange(bytes, nullptr, 3);
  odd.exchange(data.data(), nullptr, data.size());
  odd.deselect();
  EXPECT_EQ(board.now() - start, 4ms);  // 21000 x 8 / 42 MHz
}

TEST_F(SpiBusTest, DmaCostsSetUpAndCompletion) {
  Octets data(1000, std::uint8_t{9});
  bus.select();
  header(0, 0x14);
  spent();
  bus.start_dma(data.data(), nullptr, data.size());
  EXPECT_TRUE(bus.wait_dma(10ms));
  const AccountTotals costs = spent();
  EXPECT_EQ(costs[Account::dma_setup], 8us);
  EXPECT_EQ(costs[Account::spi_clock], 800us);
  EXPECT_EQ(costs[Account::byte_gap], 0us);
  bus.deselect();
  EXPECT_EQ(board.read(TestBoard::tx_of(0), 0, 1000), data);
}

TEST_F(SpiBusTest, FirmwareComputesWhileDmaRuns) {
  Octets data(1000);
  bus.select();
  header(0, 0x14);
  spent();
  bus.start_dma(data.data(), nullptr, data.size());
  bus.spend(500us, Account::cpu);
  EXPECT_TRUE(bus.wait_dma(10ms));
  bus.deselect();
  const AccountTotals costs = spent();
  EXPECT_EQ(costs[Account::cpu], 500us);
  EXPECT_LE(costs[Account::spi_clock], 301us);
  EXPECT_GE(costs[Account::spi_clock], 299us);
  EXPECT_LE(costs.sum(), 5us + 802us + 3us + 1us);
}

TEST_F(SpiBusTest, DmaThatTakesLongerThanTheTimeoutIsNotComplete) {
  Octets data(1000);
  bus.select();
  header(0, 0x14);
  bus.start_dma(data.data(), nullptr, data.size());
  const Instant start = board.now();
  EXPECT_FALSE(bus.wait_dma(100us));
  EXPECT_EQ(board.now() - start, 100us);
  bus.abort_dma();
  bus.deselect();
  EXPECT_TRUE(bus.wait_dma(0us));  // nothing runs any more
}

TEST_F(SpiBusTest, SclkAboveTheRatingIsFound) {
  EXPECT_THAT(board.findings.all(), testing::IsEmpty());
  profile.sclk = Frequency{42'000'000};
  SpiBus fast{board.queue, budget, board.chip.spi(), profile, board.findings, *this};
  ASSERT_THAT(board.findings.all(), testing::SizeIs(1));
  EXPECT_EQ(board.findings.all()[0].rule, Rule::sclk_above_rating);
}

class SimPortTest : public SpiBusTest {
 protected:
  SimPort port{board.queue, bus, board.chip, profile, true};
};

TEST_F(SimPortTest, LookingAtTheClockMovesIt) {
  const std::uint32_t start = port.now_us();
  for (int i = 0; i < 100; ++i) port.now_us();
  EXPECT_EQ(port.now_us() - start, 20U);  // 20 cycles of 100 MHz each
}

TEST_F(SimPortTest, DelayIsIdle) {
  port.delay_us(1000);
  EXPECT_EQ(spent()[Account::idle], 1ms);
}

TEST_F(SimPortTest, WaitsForTheInterruptAndThenPaysItsLatency) {
  board.configure();
  board.write(0, chip::common::SIMR, {0x01});
  board.set8(0, chip::socket::Sn_MR, chip::sn_mr::UDP);
  board.set16(0, chip::socket::Sn_PORT, 7);
  board.command(0, chip::sn_cr::OPEN);
  board.queue.schedule(100us, [&] { board.arrive_udp(1, 7, {1}); });
  const Instant start = board.now();
  EXPECT_TRUE(port.wait_for_interrupt(1000));
  EXPECT_EQ(board.now() - start, 103us + picoseconds(26'667) + 1us);
  EXPECT_EQ(spent()[Account::peer], 103us + picoseconds(26'667));
}

TEST_F(SimPortTest, GivesUpOnAnInterruptThatDoesNotCome) {
  EXPECT_FALSE(port.wait_for_interrupt(1000));
  EXPECT_EQ(board.now(), Instant{1ms});
}

TEST_F(SimPortTest, ResetPinResetsTheChip) {
  board.configure();
  EXPECT_TRUE(port.set_reset_pin(false));
  port.delay_us(500);
  EXPECT_TRUE(port.set_reset_pin(true));
  port.delay_us(1000);
  EXPECT_THAT(board.read(0, chip::common::SIPR, 4), testing::Each(0));
  SimPort unwired{board.queue, bus, board.chip, profile, false};
  EXPECT_FALSE(unwired.set_reset_pin(false));
}

// SCSn tied low: each frame ends with its fixed length.
TEST_F(SpiBusTest, PollingInFramesOfFixedLengthIsSeenAndWaiting) {
  bus.select();
  for (int i = 0; i < 4; ++i) {
    header(0x0003, 0x09);
    EXPECT_EQ(bus.exchange(0), 0x00);  // Sn_SR
  }
  header(0x0000, 0x13);  // 4 bytes of the TX buffer: work again
  Octets data(4);
  bus.exchange(nullptr, data.data(), data.size());
  header(0x0000, 0x01);
  EXPECT_EQ(bus.polled_for(), Duration{});
  EXPECT_EQ(spent()[Account::peer], 2 * (2us + 3 * 900ns + 800ns + 1us));  // from the end of the first to the last
}

TEST_F(SpiBusTest, PollingInFramesOfFixedLengthHasAnEnd) {
  bus.end_polls_after(1ms);
  bus.select();
  const auto poll = [this] {
    header(0x0003, 0x09);
    bus.exchange(0);
  };
  bus.spend(1s, Account::idle);  // before the first read: no polling
  for (int i = 0; i < 100; ++i) poll();
  EXPECT_THROW(
      {
        for (int i = 0; i < 100; ++i) poll();
      },
      FirmwareHangs);
}

TEST_F(SpiBusTest, TheEndOfTheRunEndsFramesOfFixedLengthToo) {
  bus.end_run_at(board.now() + 1ms);
  bus.select();
  EXPECT_THROW(
      {
        for (std::uint16_t i = 0; i < 1000; ++i) {
          header(i % 0x20, 0x01);
          bus.exchange(0);
        }
      },
      FirmwareHangs);
}

}  // namespace
}  // namespace wizloop::bus
