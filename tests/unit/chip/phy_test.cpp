// PHY modes: datasheet 4.1, PHYCFGR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;

TEST(PhyModeTest, EachCodeOfOpmdcLinksAsItSays) {
  const std::pair<int, int> status_of[] = {{0, 1}, {1, 5}, {2, 3}, {3, 7}, {4, 3}, {5, 2}, {6, 2}, {7, 7}};
  for (const auto& [code, status] : status_of) {
    TestBoard board;
    const auto mode = static_cast<std::uint8_t>(0x40 | code << 3);
    board.write(0, common::PHYCFGR, {mode});
    board.write(0, common::PHYCFGR, {static_cast<std::uint8_t>(0x80 | mode)});
    board.advance(2s);
    EXPECT_EQ(board.read(0, common::PHYCFGR, 1)[0], 0x80 | mode | status) << code;
  }
}

TEST(PhyModeTest, PinsAreReadAtResetAndOpmdcDoesNotMirrorThem) {
  TestBoard board;
  board.chip.set_pmode_pins(1);  // 10BT full
  board.chip.set_rstn(false);
  board.advance(500us);
  board.chip.set_rstn(true);
  board.advance(1s);
  EXPECT_EQ(board.read(0, common::PHYCFGR, 1)[0], 0xBD);
}

}  // namespace
}  // namespace wizloop::test
