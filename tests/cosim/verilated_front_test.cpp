// The verilated SPI front in front of a chip: frames, edges, and the pin protocol.
#include "sim/rtl/verilated_front.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

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

// What a host does in time, and what the assertions at the pins make of it.
class PinLimitsTest : public VerilatedFrontTest {
 protected:
  struct Host {
    Frequency sclk{33'300'000};
    int mode = 0;
    Duration select = 100ns, deselect = 100ns, gap = 10ns;
  };

  std::vector<std::string_view> broken_by(const Host& host) {
    front.set_timing({host.sclk, host.mode, host.select, host.deselect});
    for (int frame = 0; frame < 2; ++frame) {
      board.advance(host.select);
      front.select();
      for (const std::uint8_t byte : Octets{0x00, 0x39, 0x00, 0xA5}) {
        board.advance(host.sclk.periods(8));
        front.exchange(byte);
        board.advance(host.gap);
      }
      front.deselect();
      board.advance(host.deselect);
    }
    return front.broken_limits().names();
  }
};

TEST_F(PinLimitsTest, AreKeptByAHostWithinThem) {
  for (const int mode : {0, 3}) EXPECT_THAT(broken_by({.mode = mode}), IsEmpty()) << mode;
}

TEST_F(PinLimitsTest, SelectHasToBeHighForThirtyNanoseconds) {
  EXPECT_THAT(broken_by({.select = 10ns, .deselect = 10ns}), ElementsAre("TCS"));
}

TEST_F(PinLimitsTest, SelectHasToBeLowFiveNanosecondsBeforeTheFirstEdge) {
  EXPECT_THAT(broken_by({.mode = 3, .select = 4ns}), ElementsAre("TCSS"));
}

TEST_F(PinLimitsTest, SelectHasToBeHeldFiveNanosecondsAfterTheLastEdge) {
  EXPECT_THAT(broken_by({.deselect = 4ns, .gap = 0ns}), ElementsAre("TCSH"));
}

TEST_F(PinLimitsTest, AClockAboveTheLimitIsTooShortInBothHalves) {
  EXPECT_THAT(broken_by({.sclk = Frequency{90'000'000}, .gap = 0ns}), ElementsAre("TWH", "TWL"));
}

TEST_F(PinLimitsTest, AClockFarAboveItLeavesMosiNoTimeEither) {
  EXPECT_THAT(broken_by({.sclk = Frequency{200'000'000}, .gap = 0ns}), ElementsAre("TWH", "TWL", "TDS", "TDH"));
}

// The frame that sim/rtl/README.md shows is one that the pins have made.
TEST_F(VerilatedFrontTest, TheFrameOfTheReadmeIsTheOneAtThePins) {
  const auto level = [](bool high) { return high ? "~~" : "__"; };
  std::string scsn = "SCSn  ~~", sclk = "SCLK  __", mosi = "MOSI  __", miso = "MISO  zz";
  front.set_timing({.sclk = Frequency{8'000'000}, .mode = 0, .select = 100ns, .deselect = 100ns});
  front.select();
  for (const std::uint8_t byte : Octets{0x00, 0x39, 0x00, 0x00}) {
    board.advance(1us);
    front.begin_byte();
    for (int bit = 7; bit >= 0; --bit) {
      const bool out = (byte >> bit & 1) != 0;
      scsn += "__";
      sclk += "_~";
      mosi += level(out);
      miso += level(front.clock_bit(bit, out));
    }
    front.end_byte();
  }
  front.deselect();
  const std::string drawn = scsn + "~~\n" + sclk + "__\n" + mosi + "__\n" + miso + "zz\n";
  std::ifstream file{WIZLOOP_SOURCE_DIR "/sim/rtl/README.md"};
  const std::string readme{std::istreambuf_iterator<char>{file}, {}};
  EXPECT_NE(readme.find(drawn), std::string::npos) << drawn;
}

}  // namespace
}  // namespace wizloop::rtl
