#include "sim/bus/version_read.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wizloop::bus {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr FourBytes request = {0x00, 0x39, 0x00, 0x00};

std::string explain(FourBytes miso) { return explain_version_read(request, miso); }

TEST(VersionReadTest, TheRightAnswerNeedsNoExplanation) {
  EXPECT_EQ(explain({0x01, 0x02, 0x03, 0x04}), "");
  EXPECT_EQ(explain({0x00, 0x00, 0x00, 0x04}), "");  // a host that keeps nothing of the header
}

TEST(VersionReadTest, RecognisesTheRequests) {
  EXPECT_TRUE(is_version_read(request));
  EXPECT_TRUE(is_version_read({0x00, 0x39, 0x01, 0x00}));
  EXPECT_TRUE(is_version_read({0x00, 0x00, 0x39, 0x00}));
  EXPECT_FALSE(is_version_read({0x00, 0x39, 0x04, 0x00}));
  EXPECT_FALSE(is_version_read({0x00, 0x39, 0x08, 0x00}));
  EXPECT_FALSE(is_version_read({0x00, 0x38, 0x00, 0x00}));
}

// B41, value by value.
TEST(VersionReadTest, AllLowIsResetPowerOrTooEarly) {
  EXPECT_THAT(explain({0x00, 0x00, 0x00, 0x00}), StartsWith("MISO stays low: the chip is held in reset"));
}

TEST(VersionReadTest, ZeroBehindAGoodHeaderIsAChipThatStillWakes) {
  EXPECT_THAT(explain({0x01, 0x02, 0x03, 0x00}), HasSubstr("still waking"));
}

TEST(VersionReadTest, ZeroBehindAnotherHeaderIsNot) {
  EXPECT_THAT(explain({0x01, 0x02, 0x00, 0x00}), StartsWith("MISO low when the data came"));
}

TEST(VersionReadTest, AllHighIsNoChip) {
  EXPECT_THAT(explain({0xFF, 0xFF, 0xFF, 0xFF}), StartsWith("MISO stays high: no chip"));
  EXPECT_THAT(explain({0x00, 0x00, 0x00, 0xFF}), StartsWith("no chip drives MISO"));
}

TEST(VersionReadTest, TwoIsOneBitEarly) {
  EXPECT_THAT(explain({0x00, 0x81, 0x01, 0x82}), StartsWith("MISO sampled one bit early"));
  EXPECT_THAT(explain({0x80, 0x81, 0x01, 0x82}), StartsWith("MISO sampled one bit early"));
  EXPECT_THAT(explain({0x00, 0x00, 0x00, 0x02}), StartsWith("MISO sampled one bit early"));
}

TEST(VersionReadTest, EightIsOneBitLate) {
  EXPECT_THAT(explain({0x02, 0x04, 0x06, 0x08}), StartsWith("MISO sampled one bit late"));
  EXPECT_THAT(explain({0x02, 0x04, 0x06, 0x09}), StartsWith("MISO sampled one bit late"));
  EXPECT_THAT(explain({0x00, 0x00, 0x00, 0x08}), StartsWith("MISO sampled one bit late"));
}

TEST(VersionReadTest, SixteenIsTwoBitsLate) {
  EXPECT_THAT(explain({0x04, 0x08, 0x0C, 0x10}), StartsWith("MISO sampled 2 bits late"));
  EXPECT_THAT(explain({0x00, 0x00, 0x00, 0x10}), StartsWith("MISO sampled 2 bits late"));
}

TEST(VersionReadTest, ThreeIsOneByteEarly) {
  EXPECT_THAT(explain({0x00, 0x01, 0x02, 0x03}), StartsWith("the last header byte taken for data"));
}

TEST(VersionReadTest, AnAddressOf24BitsMovesTheControlByte) {
  EXPECT_THAT(explain_version_read({0x00, 0x00, 0x39, 0x00}, {0x01, 0x02, 0x03, 0xF6}),
              HasSubstr("socket 1's RX buffer (block 7) at 0x0000 with a fixed length of 1"));
}

TEST(VersionReadTest, OtherValuesHaveNoKnownCause) {
  EXPECT_THAT(explain({0x01, 0x02, 0x03, 0xA8}), StartsWith("no known pattern"));
}

}  // namespace
}  // namespace wizloop::bus
