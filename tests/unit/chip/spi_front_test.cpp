#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::SizeIs;

using Octets = std::vector<std::uint8_t>;

TEST(SpiFrontTest, ShowsTheVersionAfterOneTwoThree) {
  TestBoard board;
  EXPECT_THAT(board.spi({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
}

TEST(SpiFrontTest, AddressRisesWithEachByteOfARead) {
  TestBoard board;
  board.configure();
  EXPECT_THAT(board.read(0, 0x0009, 10), ElementsAre(2, 0, 0, 0, 0, 0x20, 192, 168, 1, 20));
}

TEST(SpiFrontTest, AddressWrapsFromFfffToZeroInTheSameBlock) {
  TestBoard board;
  board.write(0, 0xFFFF, {0x00, 0x10});
  EXPECT_THAT(board.read(0, 0xFFFF, 2), ElementsAre(0x00, 0x10));  // MR.PB
}

TEST(SpiFrontTest, HeaderCutShortHasNoEffect) {
  TestBoard board;
  board.spi({0x00});
  board.spi({0x00, 0x09});
  board.spi({0x00, 0x09, 0x04});
  EXPECT_THAT(board.read(0, 0x0009, 6), Each(0));
  EXPECT_THAT(board.spi({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
}

TEST(SpiFrontTest, FixedLengthFramesFollowEachOtherWithoutDeselecting) {
  TestBoard board;
  // Two one-byte writes to SHAR and a two-byte read, in one select.
  const Octets miso = board.spi({0x00, 0x09, 0x05, 0xAA, 0x00, 0x0A, 0x05, 0xBB, 0x00, 0x09, 0x02, 0x00, 0x00});
  EXPECT_EQ(miso[11], 0xAA);
  EXPECT_EQ(miso[12], 0xBB);
  EXPECT_EQ(miso[8], 0x01);  // a header again
}

TEST(SpiFrontTest, FourByteFixedLengthInABuffer) {
  TestBoard board;
  board.spi({0x00, 0x00, 0x17, 1, 2, 3, 4, 0x00, 0x39, 0x00, 0x00});
  EXPECT_THAT(board.read(TestBoard::tx_of(0), 0, 4), ElementsAre(1, 2, 3, 4));
}

TEST(SpiFrontTest, BufferOffsetFoldsIntoTheRing) {
  TestBoard board;
  Octets data(16);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i + 1);
  board.write(TestBoard::tx_of(0), 0x07F8, data);
  EXPECT_THAT(board.read(TestBoard::tx_of(0), 0x0000, 8), ElementsAre(9, 10, 11, 12, 13, 14, 15, 16));
  EXPECT_THAT(board.read(TestBoard::tx_of(0), 0x0800, 8), ElementsAre(9, 10, 11, 12, 13, 14, 15, 16));
  EXPECT_THAT(board.read(TestBoard::tx_of(0), 0x8000 + 0x07F8, 2), ElementsAre(1, 2));
}

TEST(SpiFrontTest, RingsOfDifferentSocketsAndDirectionsAreApart) {
  TestBoard board;
  for (int n = 0; n < 8; ++n) {
    board.write(TestBoard::tx_of(n), 0, {static_cast<std::uint8_t>(n)});
    board.write(TestBoard::rx_of(n), 0, {static_cast<std::uint8_t>(0x80 + n)});
  }
  for (int n = 0; n < 8; ++n) {
    EXPECT_THAT(board.read(TestBoard::tx_of(n), 0, 1), ElementsAre(n));
    EXPECT_THAT(board.read(TestBoard::rx_of(n), 0, 1), ElementsAre(0x80 + n));
  }
}

TEST(SpiFrontTest, QuietTransferEqualsByteByByte) {
  TestBoard one;
  TestBoard other;
  Octets data(5000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 7);
  one.write(TestBoard::tx_of(3), 0x0123, data);
  auto& spi = other.chip.spi();
  spi.select();
  for (const int byte : {0x01, 0x23, 0x74}) spi.exchange(static_cast<std::uint8_t>(byte));
  EXPECT_EQ(spi.quiet_bytes(), std::size_t{0x10000} - 0x0123);
  spi.exchange_quiet(data.data(), nullptr, 4999);
  spi.exchange(data[4999]);
  spi.deselect();
  EXPECT_EQ(one.read(TestBoard::tx_of(3), 0, 2048), other.read(TestBoard::tx_of(3), 0, 2048));

  Octets quiet(3000);
  spi.select();
  for (const int byte : {0x01, 0x23, 0x70}) spi.exchange(static_cast<std::uint8_t>(byte));
  spi.exchange_quiet(nullptr, quiet.data(), quiet.size());
  spi.deselect();
  EXPECT_EQ(quiet, one.read(TestBoard::tx_of(3), 0x0123, 3000));
}

TEST(SpiFrontTest, RegistersAreNeverQuiet) {
  TestBoard board;
  auto& spi = board.chip.spi();
  spi.select();
  EXPECT_EQ(spi.quiet_bytes(), 0U);  // a header
  for (int i = 0; i < 3; ++i) spi.exchange(0x00);
  EXPECT_EQ(spi.quiet_bytes(), 0U);
  spi.deselect();
}

TEST(SpiFrontTest, ReservedBlocksReadZeroAndAreFound) {
  TestBoard board;
  for (int reserved = 4; reserved <= 28; reserved += 4) {
    const auto bsb = static_cast<std::uint8_t>(reserved);
    board.write(bsb, 0, {0xFF});
    EXPECT_THAT(board.read(bsb, 0, 4), Each(0)) << reserved;
  }
  EXPECT_THAT(board.findings.all(), SizeIs(7));
  EXPECT_EQ(board.findings.all()[0].rule, Rule::reserved_block);
  EXPECT_EQ(board.findings.all()[0].seen, "BSB 4");
  EXPECT_EQ(board.findings.all()[0].count, 2U);
}

TEST(SpiFrontTest, ReadingTheLastRegisterDoesNotTouchTheReservedOneBehindIt) {
  TestBoard board;
  board.read(0, 0x0039, 1);
  EXPECT_THAT(board.findings.all(), SizeIs(0));
  EXPECT_THAT(board.read(0, 0x0039, 2), ElementsAre(4, 0));
  ASSERT_THAT(board.findings.all(), SizeIs(1));
  EXPECT_EQ(board.findings.all()[0].seen, "read of common 0x003A");
}

TEST(SpiFrontTest, HeldInResetAnswersZeroAndIgnoresWrites) {
  TestBoard board;
  board.chip.set_rstn(false);
  board.advance(1ms);
  board.chip.set_rstn(true);
  EXPECT_THAT(board.spi({0x00, 0x39, 0x00, 0x00}), Each(0));
  board.write(0, 0x0009, {0xAA});
  board.advance(1ms);  // the PLL has locked
  EXPECT_THAT(board.spi({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(board.read(0, 0x0009, 1), ElementsAre(0));
}

}  // namespace
}  // namespace wizloop::test
