// Faulty SPI wires: what each fault does to the bytes on both sides, and that it strikes nowhere else.
#include "sim/bus/faulty_spi.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/support/planned_faults.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::bus {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using Octets = std::vector<std::uint8_t>;

constexpr std::uint8_t common_write = 0x04;
const Octets version_read = {0x00, 0x39, 0x00, 0x00};

class FaultySpiTest : public testing::Test {
 protected:
  void plan(std::string_view name, std::string_view text, std::uint64_t seed = 1) {
    faults.emplace(board.queue, board.trace, test::PlannedFaults::Texts{{name, text}}, seed);
    wires.emplace(board.chip, board.chip.spi(), **faults);
  }
  // One SPI frame over the faulty wires; what the controller saw on MISO.
  Octets frame(const Octets& mosi) {
    Octets miso;
    wires->select();
    for (const std::uint8_t byte : mosi) miso.push_back(wires->exchange(byte));
    wires->deselect();
    return miso;
  }
  std::uint64_t struck(Fault fault) { return faults->struck(fault); }
  // A common register past the faulty wires.
  std::uint8_t common(std::uint16_t offset) { return board.chip.peek(chip::Block{0}, offset); }

  test::TestBoard board;
  std::optional<test::PlannedFaults> faults;
  std::optional<FaultySpi> wires;
};

TEST_F(FaultySpiTest, WiresThatNothingHasStruckYetChangeNothing) {
  plan("spi_flip", "nth=1000");
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
  frame({0x00, 0x19, common_write, 0x12, 0x34});
  EXPECT_THAT(frame({0x00, 0x19, 0x00, 0x00, 0x00}), ElementsAre(0x01, 0x02, 0x03, 0x12, 0x34));
  EXPECT_EQ(struck(Fault::spi_flip), 0U);
}

TEST_F(FaultySpiTest, BufferDataPassUnchangedAsLongAsNothingStrikes) {
  plan("spi_flip", "nth=1000");
  const Octets data = {0x00, 0x00, 0x14, 1, 2, 3, 4, 5};
  wires->select();
  EXPECT_EQ(wires->quiet_bytes(), 0U);
  Octets miso(data.size());
  wires->exchange_quiet(data.data(), miso.data(), data.size());
  wires->deselect();
  EXPECT_THAT(frame({0x00, 0x00, 0x10, 0, 0, 0, 0, 0}), ElementsAre(0x01, 0x02, 0x03, 1, 2, 3, 4, 5));
}

TEST_F(FaultySpiTest, FlippedMisoBitChangesOneByteOfTheReading) {
  plan("spi_flip", "nth=4,bit=1");
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x06));
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
  EXPECT_EQ(struck(Fault::spi_flip), 1U);
}

TEST_F(FaultySpiTest, FlippedMosiBitReachesTheChip) {
  plan("spi_flip", "nth=4,line=mosi,bit=7");
  frame({0x00, 0x1B, common_write, 0x05});
  EXPECT_EQ(common(chip::common::RCR), 0x85);
  frame({0x00, 0x1B, common_write, 0x05});
  EXPECT_EQ(common(chip::common::RCR), 0x05);
}

TEST_F(FaultySpiTest, SameSeedFlipsTheSameBits) {
  const auto readings = [this](std::uint64_t seed) {
    plan("spi_flip", "ppm=200000", seed);
    Octets all;
    for (int i = 0; i < 50; ++i) {
      for (const std::uint8_t byte : frame(version_read)) all.push_back(byte);
    }
    return all;
  };
  const Octets first = readings(1);
  EXPECT_EQ(readings(1), first);
  EXPECT_NE(readings(2), first);
}

TEST_F(FaultySpiTest, StuckMisoReadsOneLevelThroughout) {
  plan("spi_miso_stuck", "always,level=1");
  EXPECT_THAT(frame(version_read), Each(0xFF));
  plan("spi_miso_stuck", "always,level=0");
  EXPECT_THAT(frame(version_read), Each(0x00));
}

TEST_F(FaultySpiTest, StuckMisoLetsWritesThrough) {
  plan("spi_miso_stuck", "always");
  frame({0x00, 0x1B, common_write, 0x05});
  EXPECT_EQ(common(chip::common::RCR), 0x05);
}

TEST_F(FaultySpiTest, StuckMisoEndsWithItsWindow) {
  plan("spi_miso_stuck", "until=1ms");
  EXPECT_THAT(frame(version_read), Each(0x00));
  board.advance(1ms);
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
}

TEST_F(FaultySpiTest, ContendedMisoIsLowWhereEitherDeviceIs) {
  plan("spi_miso_contention", "nth=4,byte=251");
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x00));
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
}

TEST_F(FaultySpiTest, MissedClockShiftsAllThatFollowsUntilScsnRises) {
  plan("spi_clock_missed", "nth=1,bit=7");
  // The chip takes 00 72 00 for the header; the controller samples its first bit twice.
  EXPECT_THAT(frame(version_read), ElementsAre(0x00, 0x81, 0x01, 0x80));
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
}

TEST_F(FaultySpiTest, MissedClockDropsThePartialLastByteOfAWrite) {
  plan("spi_clock_missed", "nth=4,bit=0");
  frame({0x00, 0x1B, common_write, 0x55});
  EXPECT_EQ(common(chip::common::RCR), 0x08);
}

TEST_F(FaultySpiTest, ExtraClockShiftsAllThatFollowsUntilScsnRises) {
  plan("spi_clock_extra", "nth=1,bit=0");
  // The chip takes 00 1C 80 for the header: a reserved block. The controller loses the first bit of its second byte.
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x04, 0x06, 0x00));
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
}

TEST_F(FaultySpiTest, LostSelectDropsTheRestOfTheFrame) {
  plan("spi_select_lost", "nth=5");
  EXPECT_THAT(frame({0x00, 0x19, common_write, 0x11, 0x22}), ElementsAre(0x01, 0x02, 0x03, 0x00, 0xFF));
  EXPECT_EQ(common(chip::common::RTR), 0x11);
  EXPECT_EQ(common(chip::common::RTR + 1), 0xD0);
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
}

TEST_F(FaultySpiTest, SelectThatComesBackMakesTheRestAFrameOfItsOwn) {
  plan("spi_select_lost", "nth=3,back=yes");
  EXPECT_THAT(frame({0x00, 0x19, 0x00, 0x39, 0x00, 0x00}), ElementsAre(0x01, 0x02, 0x01, 0x02, 0x03, 0x04));
}

TEST_F(FaultySpiTest, SelectIsNotLostOutsideAFrame) {
  plan("spi_select_lost", "always");
  wires->exchange(0x00);
  EXPECT_EQ(struck(Fault::spi_select_lost), 0U);
}

class TornReadTest : public FaultySpiTest {
 protected:
  void SetUp() override {
    board.configure();
    board.set8(0, chip::socket::Sn_MR, chip::sn_mr::UDP);
    board.set16(0, chip::socket::Sn_PORT, 5000);
    board.command(0, chip::sn_cr::OPEN);
  }
  void receive(std::size_t bytes) {
    board.arrive_udp(6000, 5000, Octets(bytes));
    board.advance(1ms);
  }
  static Octets counter_read(std::uint8_t offset) { return {0x00, offset, 0x08, 0x00, 0x00}; }
};

TEST_F(TornReadTest, HighByteIsTheOneBeforeTheCounterGrew) {
  plan("spi_torn_read", "nth=1,growth=64");
  receive(0x0110 - 8);
  EXPECT_THAT(frame(counter_read(0x26)), ElementsAre(0x01, 0x02, 0x03, 0x00, 0x10));
  EXPECT_THAT(frame(counter_read(0x26)), ElementsAre(0x01, 0x02, 0x03, 0x01, 0x10));
}

TEST_F(TornReadTest, AlsoWhereEachByteHasAFrameOfItsOwn) {
  plan("spi_torn_read", "nth=1,growth=64");
  receive(0x0110 - 8);
  EXPECT_EQ(frame({0x00, 0x26, 0x08, 0x00})[3], 0x00);
  EXPECT_EQ(frame({0x00, 0x27, 0x08, 0x00})[3], 0x10);
}

TEST_F(TornReadTest, TearThatWouldNotShowIsNoOccasion) {
  plan("spi_torn_read", "always,growth=8");
  receive(0x0110 - 8);
  EXPECT_THAT(frame(counter_read(0x26)), ElementsAre(0x01, 0x02, 0x03, 0x01, 0x10));
  EXPECT_EQ(struck(Fault::spi_torn_read), 0U);
}

TEST_F(TornReadTest, FreeSizeTearsTooAndOtherRegistersDoNot) {
  plan("spi_torn_read", "always");
  EXPECT_THAT(frame(counter_read(0x20)), ElementsAre(0x01, 0x02, 0x03, 0x07, 0x00));
  EXPECT_THAT(frame(counter_read(0x04)), ElementsAre(0x01, 0x02, 0x03, 0x13, 0x88));  // Sn_PORT
  EXPECT_THAT(frame({0x00, 0x20, 0x00, 0x00, 0x00}), ElementsAre(0x01, 0x02, 0x03, 0x00, 0x00));
  EXPECT_EQ(struck(Fault::spi_torn_read), 1U);
}

TEST_F(FaultySpiTest, HalfAClockShowsEachSideTheBitBefore) {
  plan("spi_half_clock", "nth=1");
  EXPECT_THAT(frame(version_read), ElementsAre(0x00, 0x81, 0x01, 0x80));  // the chip took 00 1C 80 for the header
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
}

TEST_F(FaultySpiTest, HalfAClockOnOneLineLeavesTheOtherAlone) {
  plan("spi_half_clock", "always,line=miso");
  EXPECT_THAT(frame(version_read), ElementsAre(0x00, 0x81, 0x01, 0x82));
  plan("spi_half_clock", "always,line=mosi");
  EXPECT_THAT(frame({0x00, 0x72, 0x00, 0x00}), ElementsAre(0x01, 0x02, 0x03, 0x04));
}

TEST_F(FaultySpiTest, BrownOutInMidTransferStartsTheChipAnew) {
  plan("chip_brown_out", "nth=5,down=100us");
  frame({0x00, 0x19, common_write, 0x11, 0x22});
  EXPECT_EQ(common(chip::common::RTR), 0x07);
  EXPECT_EQ(common(chip::common::RTR + 1), 0xD0);
  EXPECT_EQ(common(chip::common::PHYCFGR) & 0x01, 0);
  EXPECT_THAT(frame(version_read), Each(0x00));
  board.advance(1100us - picoseconds(1));
  EXPECT_THAT(frame(version_read), Each(0x00));
  board.advance(picoseconds(1));
  EXPECT_THAT(frame(version_read), ElementsAre(0x01, 0x02, 0x03, 0x04));
  board.advance(2s);
  EXPECT_EQ(common(chip::common::PHYCFGR) & 0x01, 1);
}

TEST_F(FaultySpiTest, IsWantedOnlyWhenAFaultOfItsIsPlanned) {
  const auto wanted = [this](std::string_view name) {
    faults.emplace(board.queue, board.trace, test::PlannedFaults::Texts{{name, "always"}});
    return FaultySpi::wanted(**faults);
  };
  EXPECT_TRUE(wanted("spi_torn_read"));
  EXPECT_TRUE(wanted("chip_brown_out"));
  EXPECT_FALSE(wanted("chip_version_zero"));
  EXPECT_FALSE(wanted("link_loss"));
}

}  // namespace
}  // namespace wizloop::bus
