#include <algorithm>

#include "tests/unit/driver/driver_test.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using w5500::BufferSizes;
using w5500::IR;
using w5500::OPMDC;

class ChipTest : public DriverTest {};
WIZLOOP_ON_EVERY_BUS(ChipTest);

TEST_P(ChipTest, ResetsBySoftwareWithoutTheResetPin) {
  fake.common(0x0F) = 99;
  EXPECT_TRUE(chip.reset());
  EXPECT_THAT(fake.frames().at(0).mosi, ElementsAre(0x00, 0x00, 0x04, 0x80));
  EXPECT_EQ(fake.common(0x0F), 0);
}

TEST_P(ChipTest, ResetsByThePinWhereItIsWired) {
  fake.reset_pin_wired = true;  // the fake checks 500 us low and 1 ms before the first frame
  fake.common(0x0F) = 99;
  EXPECT_TRUE(chip.reset());
  EXPECT_EQ(fake.common(0x0F), 0);
  for (const auto& frame : fake.frames()) {
    EXPECT_FALSE(frame.is_write() && frame.data()[0] == 0x80) << "MR.RST was written as well";
  }
}

TEST_P(ChipTest, WaitsForAChipThatReadsZeroAfterReset) {
  fake.version_zero_until_us = 20000;
  EXPECT_TRUE(chip.reset());
  EXPECT_GE(fake.elapsed_us(), 20000u);
  EXPECT_LE(fake.elapsed_us(), 20300u);
}

TEST_P(ChipTest, DoesNotResetAgainWhileAResetIsUnderWay) {
  fake.on_read = [&](unsigned block, unsigned offset, std::uint8_t value) {
    return block == 0 && offset == 0x00 && fake.elapsed_us() < 2000 ? std::uint8_t{0x80} : value;
  };
  EXPECT_TRUE(chip.reset());
  const auto resets = std::count_if(fake.frames().begin(), fake.frames().end(),
                                    [](auto& f) { return f.is_write() && (f.data()[0] & 0x80) != 0; });
  EXPECT_EQ(resets, 1);
}

TEST_P(ChipTest, LeavesMrAsItWas) {
  fake.common(0x00) = 0x10;
  EXPECT_TRUE(chip.identify());
  EXPECT_EQ(fake.common(0x00), 0x10);
}

TEST_P(ChipTest, ReportsNoChipWhenMisoIsStuck) {
  for (const auto level : {std::uint8_t{0x00}, std::uint8_t{0xFF}}) {
    fake.stuck_miso = level;
    const auto took = us_of([&] { EXPECT_EQ(chip.reset(5000).error(), Error::no_chip); });
    EXPECT_GE(took, 5000u);
    EXPECT_LE(took, 5200u);
  }
}

TEST_P(ChipTest, ReportsAnotherChip) {
  fake.common(0x39) = 0x51;
  const auto took = us_of([&] { EXPECT_EQ(chip.identify(3000).error(), Error::wrong_version); });
  EXPECT_LE(took, 3200u);
}

TEST_P(ChipTest, WritesAllAddressesInOneFrame) {
  const auto frames = frames_of([&] {
    EXPECT_TRUE(chip.set_network({{0x02, 0, 0, 0, 0, 7}, {192, 168, 1, 50}, {255, 255, 255, 0}, {192, 168, 1, 1}}));
  });
  EXPECT_EQ(frames, 1u);
  EXPECT_THAT(fake.frames()[0].mosi,
              ElementsAre(0x00, 0x01, 0x04, 192, 168, 1, 1, 255, 255, 255, 0, 2, 0, 0, 0, 0, 7, 192, 168, 1, 50));
  const auto network = chip.network();
  ASSERT_TRUE(network);
  EXPECT_THAT(network.value().mac, ElementsAre(2, 0, 0, 0, 0, 7));
  EXPECT_THAT(network.value().ip, ElementsAre(192, 168, 1, 50));
  EXPECT_THAT(network.value().subnet, ElementsAre(255, 255, 255, 0));
  EXPECT_THAT(network.value().gateway, ElementsAre(192, 168, 1, 1));
}

TEST_P(ChipTest, WritesRtrAndRcrInOneFrame) {
  EXPECT_TRUE(chip.set_retry(1000, 3));
  ASSERT_EQ(fake.frames().size(), 1u);
  EXPECT_THAT(fake.frames()[0].mosi, ElementsAre(0x00, 0x19, 0x04, 0x03, 0xE8, 0x03));
}

std::vector<std::array<unsigned, 2>> sizes_of(FakeW5500& fake) {
  std::vector<std::array<unsigned, 2>> sizes;
  for (unsigned n = 0; n < 8; ++n) sizes.push_back({fake.socket(n, 0x1F), fake.socket(n, 0x1E)});
  return sizes;
}

TEST_P(ChipTest, GivesOneSocketAllMemoryWithoutEverHoldingMore) {
  // The fake watches the sum at each byte.
  EXPECT_TRUE(chip.set_buffer_sizes({{16}, {16}}));
  EXPECT_THAT(
      sizes_of(fake),
      ElementsAreArray({std::array{16u, 16u}, {0u, 0u}, {0u, 0u}, {0u, 0u}, {0u, 0u}, {0u, 0u}, {0u, 0u}, {0u, 0u}}));
  EXPECT_TRUE(chip.set_buffer_sizes({{0, 8, 0, 0, 0, 0, 4, 4}, {4, 0, 0, 0, 0, 4, 0, 8}}));
  EXPECT_THAT(
      sizes_of(fake),
      ElementsAreArray({std::array{0u, 4u}, {8u, 0u}, {0u, 0u}, {0u, 0u}, {0u, 0u}, {0u, 4u}, {4u, 0u}, {4u, 8u}}));
}

TEST_P(ChipTest, ShrinksOneDirectionOfASocketWhileTheOtherGrows) {
  EXPECT_TRUE(chip.set_buffer_sizes({{8, 4, 2, 2}, {2, 2, 4, 8}}));
  EXPECT_TRUE(chip.set_buffer_sizes({{2, 2, 4, 8}, {8, 4, 2, 2}}));
  EXPECT_EQ(fake.socket(0, 0x1F), 2);
  EXPECT_EQ(fake.socket(0, 0x1E), 8);
}

TEST_P(ChipTest, WritesNoSizeThatIsAlreadyThere) {
  const auto frames = frames_of([&] {
    EXPECT_TRUE(chip.set_buffer_sizes({{2, 2, 2, 2, 2, 2, 2, 2}, {2, 2, 2, 2, 2, 2, 2, 2}}));
  });
  EXPECT_EQ(frames, 16u);  // state and sizes of eight sockets, all reads
  EXPECT_TRUE(std::none_of(fake.frames().begin(), fake.frames().end(), [](auto& f) { return f.is_write(); }));
}

TEST_P(ChipTest, RefusesSizesThatTheChipDoesNotHave) {
  const BufferSizes refused[] = {
      {{16, 1}, {2}},    // TX above 16 KiB
      {{2}, {8, 8, 1}},  // RX above 16 KiB
      {{3}, {2}},        // no power of two
      {{32}, {2}},      {{2}, {0xFF}},
  };
  for (const BufferSizes& sizes : refused) EXPECT_EQ(chip.set_buffer_sizes(sizes).error(), Error::invalid_argument);
  EXPECT_TRUE(fake.frames().empty());
}

TEST_P(ChipTest, RefusesToMoveTheRingOfAnOpenSocket) {
  fake.set_state(5, 0x22);
  EXPECT_EQ(chip.set_buffer_sizes({{16}, {16}}).error(), Error::wrong_state);
  EXPECT_EQ(fake.socket(0, 0x1F), 2);
}

TEST_P(ChipTest, TellsTheLink) {
  fake.common(0x2E) = 0xBA;
  ASSERT_TRUE(chip.phy());
  EXPECT_FALSE(chip.phy().value().LNK());
  fake.common(0x2E) = 0xCD;  // forced to 10 Mbit/s full duplex, linked
  const w5500::PHYCFGR phy = chip.phy().value();
  EXPECT_TRUE(phy.LNK());
  EXPECT_FALSE(phy.SPD());
  EXPECT_TRUE(phy.DPX());
  EXPECT_TRUE(phy.OPMD());
  EXPECT_TRUE(phy.RST());
  EXPECT_EQ(phy.mode(), OPMDC::full_10);
}

TEST_P(ChipTest, RestartsThePhyToChangeItsMode) {
  EXPECT_TRUE(chip.set_phy_mode(OPMDC::full_100));
  ASSERT_EQ(fake.frames().size(), 2u);
  EXPECT_THAT(fake.frames()[0].mosi, ElementsAre(0x00, 0x2E, 0x04, 0x58));
  EXPECT_THAT(fake.frames()[1].mosi, ElementsAre(0x00, 0x2E, 0x04, 0xD8));
}

TEST_P(ChipTest, WaitsForTheLink) {
  fake.common(0x2E) = 0xBA;
  fake.after_us(1500000, [&] { fake.common(0x2E) = 0xBF; });
  const auto took = us_of([&] { EXPECT_TRUE(chip.wait_for_link(5000000)); });
  EXPECT_GE(took, 1500000u);
  EXPECT_LE(took, 1502000u);
}

TEST_P(ChipTest, GivesUpWaitingForTheLink) {
  fake.common(0x2E) = 0xBA;
  const auto took = us_of([&] { EXPECT_EQ(chip.wait_for_link(50000).error(), Error::state_timeout); });
  EXPECT_LE(took, 52000u);
}

TEST_P(ChipTest, SetsAndShowsInterrupts) {
  EXPECT_TRUE(chip.set_interrupt_mask(IR{IR::CONFLICT | IR::UNREACH}));
  EXPECT_TRUE(chip.set_interrupt_pause(0x1234));
  EXPECT_TRUE(chip.use_interrupt_pin(0x05));
  EXPECT_EQ(fake.common(0x16), 0xC0);
  EXPECT_EQ(fake.common(0x13), 0x12);
  EXPECT_EQ(fake.common(0x14), 0x34);
  EXPECT_EQ(fake.common(0x18), 0x05);
  EXPECT_TRUE(chip.uses_interrupt_pin(2));
  EXPECT_FALSE(chip.uses_interrupt_pin(1));

  fake.common(0x15) = 0xC0;
  fake.raise(2, 0x04);
  const auto pending = chip.read_interrupts();
  ASSERT_TRUE(pending);
  EXPECT_TRUE(pending.value().common.has(IR::CONFLICT));
  EXPECT_EQ(pending.value().mask.raw, 0xC0);
  EXPECT_EQ(pending.value().sockets, 0x04);
  EXPECT_TRUE(chip.clear_interrupts(IR{IR::CONFLICT}));
  EXPECT_EQ(fake.common(0x15), 0x40);
}

TEST_P(ChipTest, ForgetsTheInterruptPinAtReset) {
  EXPECT_TRUE(chip.use_interrupt_pin(0xFF));
  EXPECT_TRUE(chip.reset());
  EXPECT_FALSE(chip.uses_interrupt_pin(0));
}

}  // namespace
}  // namespace wizloop::test
