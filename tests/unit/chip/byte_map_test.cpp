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

TEST(ByteMapTest, StreamsRoundTheRingAndStaysExact) {
  ByteMap map;
  map.resize(1024);
  std::uint16_t at = 0xFF00;
  for (int round = 0; round < 20; ++round) {
    EXPECT_FALSE(map.mark(at, 300));
    EXPECT_FALSE(map.mark(static_cast<std::uint16_t>(at + 300), 300));
    EXPECT_TRUE(map.take(at, 200));
    EXPECT_TRUE(map.take(static_cast<std::uint16_t>(at + 200), 400));
    at = static_cast<std::uint16_t>(at + 600);
  }
  EXPECT_FALSE(map.take(at, 1));
}

TEST(ByteMapTest, KeepsWhatIsLeftOfARunWhenMarksFallBesideIt) {
  ByteMap map;
  map.resize(1024);
  EXPECT_FALSE(map.mark(1000, 100));  // over the end of the ring
  EXPECT_TRUE(map.take(1000, 10));
  EXPECT_FALSE(map.mark(500, 10));
  EXPECT_TRUE(map.mark(0x0400 + 1010, 1));
  EXPECT_FALSE(map.mark(1009, 1));
  EXPECT_TRUE(map.take(1009, 91));
  EXPECT_TRUE(map.take(500, 10));
  map.clear();
  EXPECT_FALSE(map.mark(500, 10));
  EXPECT_TRUE(map.take(500, 10));
}

TEST(ByteMapTest, NothingIsNeverTwiceAndAlwaysWhole) {
  ByteMap map;
  map.resize(1024);
  EXPECT_FALSE(map.mark(7, 0));
  EXPECT_TRUE(map.take(300, 0));
  EXPECT_FALSE(map.take(7, 1));
}

TEST(ByteMapTest, ARingOfSizeZeroHasNothingToMiss) {
  ByteMap map;
  EXPECT_FALSE(map.mark(0, 10));
  EXPECT_TRUE(map.take(0, 10));
}

}  // namespace
}  // namespace wizloop::chip
