#include "sim/chip/byte_map.hpp"

#include <gtest/gtest.h>

namespace wizloop::chip {
namespace {

TEST(ByteMapTest, TakesWhatWasMarkedAndOnlyOnce) {
  ByteMap map;
  map.resize(1024);
  EXPECT_FALSE(map.mark(100, 50));
  EXPECT_TRUE(map.take(100, 50));
  EXPECT_FALSE(map.take(100, 50));
}

TEST(ByteMapTest, MissesASingleByte) {
  for (std::uint16_t hole = 0; hole < 200; ++hole) {
    ByteMap map;
    map.resize(1024);
    map.mark(0, hole);
    map.mark(static_cast<std::uint16_t>(hole + 1), static_cast<std::size_t>(199 - hole));
    EXPECT_FALSE(map.take(0, 200)) << hole;
  }
}

TEST(ByteMapTest, TellsASecondMark) {
  ByteMap map;
  map.resize(1024);
  EXPECT_FALSE(map.mark(64, 1));
  EXPECT_TRUE(map.mark(64, 1));
  EXPECT_FALSE(map.mark(0, 64));
  EXPECT_TRUE(map.mark(0, 65));
  EXPECT_FALSE(map.mark(65, 128));
}

TEST(ByteMapTest, FoldsOffsetsIntoTheRing) {
  ByteMap map;
  map.resize(1024);
  EXPECT_FALSE(map.mark(0x8000 + 1000, 48));
  EXPECT_TRUE(map.mark(23, 1));
  EXPECT_FALSE(map.mark(24, 1));
  EXPECT_TRUE(map.take(1000, 49));
}

TEST(ByteMapTest, MoreThanTheRingIsAlwaysTwiceAndNeverWhole) {
  ByteMap map;
  map.resize(1024);
  EXPECT_TRUE(map.mark(0, 1025));
  EXPECT_FALSE(map.take(0, 1025));
}

TEST(ByteMapTest, ARingOfSizeZeroHasNothingToMiss) {
  ByteMap map;
  EXPECT_FALSE(map.mark(0, 10));
  EXPECT_TRUE(map.take(0, 10));
}

}  // namespace
}  // namespace wizloop::chip
