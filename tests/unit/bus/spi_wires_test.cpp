#include "sim/bus/spi_wires.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/support/test_board.hpp"

namespace wizloop::bus {
namespace {

using test::TestBoard;
using testing::ElementsAre;
using testing::IsEmpty;

// A host that moves the wires: SCLK of 10 MHz, half a period of set-up and hold.
class SpiWiresTest : public testing::Test {
 protected:
  void select(Duration setup = 50ns) {
    drive(false, idle);
    board.advance(setup);
  }
  void deselect(Duration high = 100ns) {
    drive(true, idle);
    board.advance(high);
  }
  // In mode 0, or 3 where `idle` is high.
  std::uint8_t byte(std::uint8_t out) {
    std::uint8_t in = 0;
    for (int bit = 7; bit >= 0; --bit) {
      mosi = (out >> bit & 1) != 0;
      drive(false, false);
      board.advance(half_period);
      in = static_cast<std::uint8_t>(in << 1 | (wires.miso() ? 1 : 0));
      drive(false, true);
      board.advance(half_period);
    }
    drive(false, idle);
    return in;
  }
  std::vector<int> frame(std::initializer_list<std::uint8_t> out) {
    std::vector<int> in;
    select();
    for (const std::uint8_t one : out) in.push_back(byte(one));
    board.advance(half_period);
    deselect();
    return in;
  }
  // A frame whose MOSI toggles `after` each edge of SCLK that has the level `edge`.
  void toggle_mosi(bool edge, Duration after, Duration high = 50ns, Duration low = 50ns) {
    select();
    for (int i = 0; i < 64; ++i) {
      const bool sclk = i % 2 == 0;
      const bool moves = sclk == edge;
      if (moves && after == Duration{}) mosi = !mosi;
      drive(false, sclk);
      if (moves && after > Duration{}) {
        board.advance(after);
        mosi = !mosi;
        drive(false, sclk);
      }
      board.advance((sclk ? high : low) - (moves ? after : Duration{}));
    }
    deselect();
  }
  std::vector<std::string> seen(Rule rule) const {
    std::vector<std::string> all;
    for (const Finding& finding : board.findings.all()) {
      if (finding.rule == rule) all.push_back(finding.seen);
    }
    return all;
  }
  void drive(bool scsn, bool sclk) { wires.drive(scsn, sclk, mosi); }
  std::vector<std::string> found() const {
    std::vector<std::string> ids;
    for (const Finding& finding : board.findings.all()) ids.emplace_back(text_of(finding.rule).id);
    return ids;
  }

  Duration half_period = 50ns;
  bool idle = false;
  bool mosi = false;
  TestBoard board;
  SpiWires wires{board.queue, board.chip, board.chip.spi(), board.findings};
};

TEST_F(SpiWiresTest, EdgesMakeBytesInMode0) {
  EXPECT_THAT(frame({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(wires.bytes(), 4U);
  EXPECT_EQ(wires.frames(), 1U);
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(SpiWiresTest, AndInMode3) {
  idle = true;
  drive(true, idle);
  EXPECT_THAT(frame({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(found(), IsEmpty());
}

TEST_F(SpiWiresTest, AWriteTakesEffectAndAByteCutShortTakesNone) {
  frame({0x00, 0x0F, 0x04, 192, 168});  // SIPR
  select();
  for (const int one : {0x00, 0x11, 0x04}) byte(static_cast<std::uint8_t>(one));
  for (int edge = 0; edge < 7; ++edge) {
    mosi = true;
    drive(false, true);
    board.advance(half_period);
    drive(false, false);
    board.advance(half_period);
  }
  deselect();
  EXPECT_EQ(board.chip.peek({}, chip::common::SIPR), 192);
  EXPECT_EQ(board.chip.peek({}, chip::common::SIPR + 1), 168);
  EXPECT_EQ(board.chip.peek({}, chip::common::SIPR + 2), 0);
}

TEST_F(SpiWiresTest, MisoIsPulledUpWhileNobodyDrivesIt) {
  EXPECT_TRUE(wires.miso());
  select();
  EXPECT_FALSE(wires.miso());
  deselect();
  EXPECT_TRUE(wires.miso());
}

TEST_F(SpiWiresTest, JudgesSelect) {
  select(0ns);
  board.advance(4ns);
  drive(false, true);
  board.advance(half_period);
  drive(false, false);
  board.advance(half_period);
  deselect();
  select();
  for (int i = 0; i < 4; ++i) byte(0x00);
  board.advance(4ns);
  deselect(29ns);
  select();
  EXPECT_THAT(found(),
              testing::IsSupersetOf({"select-setup-too-short", "select-hold-too-short", "select-high-too-short"}));
}

TEST_F(SpiWiresTest, JudgesTheShortestPeriodOfSclk) {
  half_period = 12ns;
  frame({0x00, 0x00, 0x00, 0x00});
  EXPECT_THAT(found(), ElementsAre("sclk-above-rating"));
  half_period = 6ns;
  frame({0x00, 0x00, 0x00, 0x00});
  EXPECT_THAT(found(), ElementsAre("sclk-above-rating", "sclk-above-limit"));
}

TEST_F(SpiWiresTest, ClocksWithoutAnyTimeAreTooFastAndNothingWorse) {
  half_period = Duration{};
  EXPECT_THAT(frame({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(found(), testing::Contains("sclk-above-limit"));
}

TEST_F(SpiWiresTest, AMasterOfMode1OrItsLikeIsNamedOnce) {
  toggle_mosi(/*edge=*/true, 0ns);
  EXPECT_THAT(seen(Rule::spi_mode_unsupported),
              ElementsAre("MOSI moved 0 ps before SCLK rose, at least 3000 ps (TDS): a master of mode 1 or 2, "
                          "expected 0 or 3"));
}

TEST_F(SpiWiresTest, SoIsOneOfMode2) {
  idle = true;
  drive(true, idle);
  select();
  for (int i = 0; i < 64; ++i) {
    if (i % 2 == 1) mosi = !mosi;
    drive(false, i % 2 == 1);
    board.advance(half_period);
  }
  deselect();
  EXPECT_EQ(seen(Rule::spi_mode_unsupported).size(), 1U);
}

TEST_F(SpiWiresTest, JudgesHowLongMosiIsSteadyAroundTheRisingEdge) {
  toggle_mosi(/*edge=*/false, 47ns);
  toggle_mosi(/*edge=*/true, 3ns);
  EXPECT_THAT(found(), IsEmpty());
  toggle_mosi(/*edge=*/false, 48ns);
  toggle_mosi(/*edge=*/true, 2ns);
  EXPECT_THAT(seen(Rule::mosi_unsteady), ElementsAre("MOSI moved 2000 ps before SCLK rose, at least 3000 ps (TDS)",
                                                     "MOSI moved 2000 ps after SCLK rose, at least 3000 ps (TDH)"));
}

TEST_F(SpiWiresTest, JudgesHowLongSclkIsHighAndLow) {
  toggle_mosi(/*edge=*/false, 0ns, 6ns, 54ns);
  toggle_mosi(/*edge=*/false, 0ns, 54ns, 6ns);
  EXPECT_THAT(found(), IsEmpty());
  toggle_mosi(/*edge=*/false, 0ns, 5ns, 55ns);
  toggle_mosi(/*edge=*/false, 0ns, 55ns, 5ns);
  EXPECT_THAT(seen(Rule::sclk_pulse_too_short), ElementsAre("SCLK high for 5000 ps, at least 6000 ps (TWH)",
                                                            "SCLK low for 5000 ps, at least 6000 ps (TWL)"));
}

TEST_F(SpiWiresTest, JudgesClocksOutsideOfAFrameAndValuesOnMiso) {
  frame({0x00, 0x00, 0x00, 0x00});
  drive(true, true);
  EXPECT_THAT(found(), ElementsAre("clocks-without-select"));
}

}  // namespace
}  // namespace wizloop::bus
