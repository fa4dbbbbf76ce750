#include "sim/core/hex.hpp"

#include <gmock/gmock.h>

namespace wizloop {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::Optional;

TEST(Hex, WritesUpperCaseDigits) { EXPECT_EQ(hex(std::vector<std::uint8_t>{0x00, 0xF4, 0x9a}), "00F49A"); }

TEST(Hex, ReadsWhatItWrites) { EXPECT_THAT(unhex("00F49A"), Optional(ElementsAre(0x00, 0xF4, 0x9A))); }

TEST(Hex, RefusesHalfAByteAndOtherSigns) {
  for (const char* const text : {"0", "0G", "0x", "f4", "+1", " 1"}) EXPECT_THAT(unhex(text), Eq(std::nullopt)) << text;
}

}  // namespace
}  // namespace wizloop
