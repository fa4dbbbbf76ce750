#include "sim/core/bytes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace wizloop {
namespace {

using testing::ElementsAre;

TEST(BytesTest, LoadTheHighByteFirst) {
  constexpr std::uint8_t bytes[] = {0xC0, 0xA8, 0x01, 0xFE};
  EXPECT_EQ(load16(bytes), 0xC0A8);
  EXPECT_EQ(load16(bytes + 2), 0x01FE);
  EXPECT_EQ(load32(bytes), 0xC0A801FEu);
}

TEST(BytesTest, StoreTheHighByteFirst) {
  std::array<std::uint8_t, 6> bytes{};
  store16(bytes.data(), 0x1388);
  store32(bytes.data() + 2, 0xC0A801FE);
  EXPECT_THAT(bytes, ElementsAre(0x13, 0x88, 0xC0, 0xA8, 0x01, 0xFE));
}

}  // namespace
}  // namespace wizloop
