#include "boards/agent/mains/receive_ring.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wizloop::test {
namespace {

template <typename Ring>
std::string taken_of(Ring& ring, std::size_t most = 1000) {
  std::string text(most, 0);
  text.resize(ring.take(reinterpret_cast<std::uint8_t*>(text.data()), most));
  return text;
}

TEST(ReceiveRing, GivesWhatCameInItsOrderAsOftenAsTheIndicesWrap) {
  agent::ReceiveRing<std::uint8_t, 64> ring;
  for (int round = 0; round < 100; ++round) {
    std::string sent;
    for (int i = 0; i < 50; ++i) {
      sent.push_back(static_cast<char>('0' + i));
      ring.put(static_cast<std::uint8_t>(sent.back()));
    }
    EXPECT_EQ(taken_of(ring, 7) + taken_of(ring), sent);
    EXPECT_TRUE(ring.empty());
  }
  EXPECT_FALSE(ring.take_overrun());
}

TEST(ReceiveRing, WhatFindsNoRoomIsLostAndToldOnce) {
  agent::ReceiveRing<std::uint16_t, 4> ring;
  for (const char byte : {'a', 'b', 'c', 'd', 'e', 'f'}) ring.put(static_cast<std::uint8_t>(byte));
  EXPECT_TRUE(ring.take_overrun());
  EXPECT_FALSE(ring.take_overrun());
  EXPECT_EQ(taken_of(ring), "abcd");
  ring.lose();
  EXPECT_TRUE(ring.take_overrun());
}

}  // namespace
}  // namespace wizloop::test
