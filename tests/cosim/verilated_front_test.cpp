// The verilated SPI front in front of a chip: frames, edges, and the pin protocol.
#include "sim/rtl/verilated_front.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_board.hpp"

namespace wizloop::rtl {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;
using Octets = std::vector<std::uint8_t>;

class VerilatedFrontTest : public testing::Test {
 protected:
  VerilatedFrontTest() { board.chip.set_front(front); }

  test::TestBoard board;
  VerilatedFront front{board.queue, board.chip.behind_front()};
};

TEST_F(VerilatedFrontTest, ShowsTheVersionAfterOneTwoThree) {
  EXPECT_THAT(board.spi({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
}

TEST_F(VerilatedFrontTest, ReadsBackFromABufferWhatWasWritten) {
  Octets data(256);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i * 7);
  board.write(board.tx_of(0), 0x0700, data);
  EXPECT_EQ(board.read(board.tx_of(0), 0x0700, 256), data);
}

TEST_F(VerilatedFrontTest, FixedLengthFramesFollowEachOtherWithoutDeselect) {
  EXPECT_THAT(board.spi({0x00, 0x19, 0x06, 0x12, 0x34, 0x00, 0x19, 0x02, 0, 0}),
              ElementsAre(1, 2, 3, 0, 0, 1, 2, 3, 0x12, 0x34));
}

TEST_F(VerilatedFrontTest, HeldInResetAnswersZeroAndIgnoresWrites) {
  front.set_held_in_reset(true);
  EXPECT_THAT(board.spi({0x00, 0x19, 0x04, 0x12}), Each(0));
  front.set_held_in_reset(false);
  EXPECT_THAT(board.spi({0x00, 0x19, 0x00, 0}), ElementsAre(1, 2, 3, 0x07));
}

}  // namespace
}  // namespace wizloop::rtl
