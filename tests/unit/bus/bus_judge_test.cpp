#include "sim/bus/bus_judge.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "sim/bus/spi_bus.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::bus {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// A target whose MISO the test dictates; the header is answered as a W5500 does unless told otherwise.
class ScriptedTarget final : public chip::SpiTarget {
 public:
  std::vector<std::uint8_t> miso;
  std::size_t at = 0;
  bool chip = false;

  bool is_chip() const override { return chip; }
  void select() override { at = 0; }
  void deselect() override {}
  std::uint8_t exchange(std::uint8_t) override { return at < miso.size() ? miso[at++] : std::uint8_t{0}; }
  std::uint8_t next_miso() const override { return at < miso.size() ? miso[at] : std::uint8_t{0}; }
  std::size_t quiet_bytes() const override { return 0; }
  void exchange_quiet(const std::uint8_t*, std::uint8_t*, std::size_t) override {}
};

class BusJudgeTest : public testing::Test, protected AwaitedSource {
 protected:
  BusJudgeTest() {
    profile.sclk = Frequency{10'000'000};
    profile.select = 500ns;
    profile.deselect = 300ns;
  }
  Account awaited() const override { return Account::peer; }

  SpiBus& bus() {
    if (!bus_) bus_.emplace(queue, budget, target, profile, findings, static_cast<const AwaitedSource&>(*this));
    return *bus_;
  }
  void frame(const std::vector<std::uint8_t>& mosi, const std::vector<std::uint8_t>& miso) {
    target.miso = miso;
    bus().select();
    for (const std::uint8_t byte : mosi) bus().exchange(byte);
    bus().deselect();
  }
  std::vector<std::string> seen(Rule rule) const {
    std::vector<std::string> all;
    for (const Finding& finding : findings.all()) {
      if (finding.rule == rule) all.push_back(finding.seen);
    }
    return all;
  }

  EventQueue queue;
  Budget budget;
  ScriptedTarget target;
  BoardProfile profile;
  Findings findings;

 private:
  std::optional<SpiBus> bus_;
};

TEST_F(BusJudgeTest, ClocksWithinTheRatingAreFree) {
  profile.sclk = Frequency{33'300'000};
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(findings.all(), IsEmpty());
}

TEST_F(BusJudgeTest, ClocksAboveTheRatingAreAWarning) {
  profile.sclk = Frequency{33'300'001};
  bus();
  EXPECT_THAT(seen(Rule::sclk_above_rating), ElementsAre("SCLK 33300001 Hz, guaranteed 33300000 Hz"));
}

TEST_F(BusJudgeTest, ClocksAboveTheLimitAreAnError) {
  profile.sclk = Frequency{80'000'001};
  bus();
  EXPECT_THAT(seen(Rule::sclk_above_limit), ElementsAre("SCLK 80000001 Hz, at most 80000000 Hz"));
  EXPECT_THAT(seen(Rule::sclk_above_rating), IsEmpty());
}

TEST_F(BusJudgeTest, ModesOneAndTwoCannotWork) {
  for (const int mode : {0, 1, 2, 3}) {
    Findings found;
    profile.spi_mode = mode;
    const BusJudge judge{queue, found, profile, false};
    EXPECT_EQ(found.all().empty(), mode == 0 || mode == 3) << mode;
  }
}

TEST_F(BusJudgeTest, TheModeIsNamed) {
  profile.spi_mode = 1;
  bus();
  EXPECT_THAT(seen(Rule::spi_mode_unsupported), ElementsAre("SPI mode 1, expected 0 or 3"));
}

TEST_F(BusJudgeTest, SelectHighBelow30NanosecondsIsTooShort) {
  profile.select = 20ns;
  profile.deselect = 14ns;  // 5 ns of it hold
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_high_too_short), ElementsAre("SCSn high for 29000 ps, at least 30000 ps"));
}

TEST_F(BusJudgeTest, SelectHighOf30NanosecondsIsLongEnough) {
  profile.select = 20ns;
  profile.deselect = 15ns;
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(findings.all(), IsEmpty());
}

TEST_F(BusJudgeTest, NeitherSetUpNorHoldCountAsSelectHigh) {
  profile.select = 20ns;
  profile.deselect = 14ns;
  profile.spi_mode = 3;  // which holds by itself
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_high_too_short), ElementsAre("SCSn high for 29000 ps, at least 30000 ps"));
}

TEST_F(BusJudgeTest, AGapBehindTheLastByteIsTheHoldAndLeavesSelectHigh) {
  profile.select = 20ns;
  profile.deselect = 10ns;
  profile.byte.gap = 5ns;
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(findings.all(), IsEmpty());
}

TEST_F(BusJudgeTest, SetUpAndHoldAreThoseOfTheCostsThatFirmwareHasSet) {
  profile.spi_mode = 3;
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  bus().set_select_cost(4ns, 100ns);
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_setup_too_short), ElementsAre("SCLK 4000 ps after SCSn fell, at least 5000 ps"));
}

// Pins that say what a test wants.
class AssertingPins final : public chip::SpiPins {
 public:
  chip::PinLimits broken;

  chip::PinLimits broken_limits() const override { return broken; }
  void set_timing(const chip::PinTiming&) override {}
  void begin_byte() override {}
  bool clock_bit(int, bool) override { return false; }
  void repeat_edge() override {}
  bool miss_bit(int) override { return false; }
  void end_byte() override {}
};

TEST_F(BusJudgeTest, ALimitBrokenAtThePinsIsAFindingOnce) {
  AssertingPins pins;
  bus().heed_limits(pins);
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(findings.all(), IsEmpty());
  pins.broken = chip::PinLimits{0x2A};  // TCSS, TWH, TDS
  for (int i = 0; i < 2; ++i) frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_setup_too_short), ElementsAre("TCSS is broken at the pins of the RTL"));
  EXPECT_THAT(seen(Rule::sclk_above_limit), ElementsAre("TWH is broken at the pins of the RTL"));
  EXPECT_THAT(findings.all(), SizeIs(2));
}

TEST_F(BusJudgeTest, ALimitBrokenAtThePinsIsNoNewsWhereTheJudgeHasFoundIt) {
  AssertingPins pins;
  pins.broken = chip::PinLimits{0x04};  // TCSH
  profile.deselect = 4ns;
  bus().heed_limits(pins);
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_hold_too_short),
              ElementsAre("SCSn rose 4000 ps after the last SCLK edge, at least 5000 ps"));
}

TEST_F(BusJudgeTest, SelectHighIsWatchedOnceFirmwareSelectsFaster) {
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  bus().set_select_cost(20ns, 14ns);
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(findings.all(), IsEmpty());
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_high_too_short), ElementsAre("SCSn high for 29000 ps, at least 30000 ps"));
  bus().set_select_cost(20ns, 15ns);  // SCSn has been high for 9 ns
  for (int i = 0; i < 3; ++i) frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_EQ(findings.all()[0].count, 2U);
}

TEST_F(BusJudgeTest, SetUpOfSelectCountsTheHalfPeriodOfModeZero) {
  profile.select = {};
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_setup_too_short), IsEmpty());
}

TEST_F(BusJudgeTest, SetUpBelow5NanosecondsIsTooShort) {
  profile.select = 4ns;
  profile.spi_mode = 3;
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_setup_too_short), ElementsAre("SCLK 4000 ps after SCSn fell, at least 5000 ps"));
}

TEST_F(BusJudgeTest, HoldBelow5NanosecondsIsTooShort) {
  profile.deselect = 4ns;
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_hold_too_short),
              ElementsAre("SCSn rose 4000 ps after the last SCLK edge, at least 5000 ps"));
}

TEST_F(BusJudgeTest, HoldCountsTheGapBehindTheLastByte) {
  profile.deselect = 4ns;
  profile.byte.gap = 1ns;
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(findings.all(), IsEmpty());
}

TEST_F(BusJudgeTest, HoldCountsTheHalfPeriodOfModeThree) {
  profile.deselect = {};
  profile.spi_mode = 3;
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(seen(Rule::select_hold_too_short), IsEmpty());
}

TEST_F(BusJudgeTest, ClocksWithoutSelectAreFoundForBytesAndBursts) {
  bus().exchange(0x00);
  const std::uint8_t bytes[4] = {};
  bus().exchange(bytes, nullptr, sizeof bytes);
  ASSERT_THAT(seen(Rule::clocks_without_select), ElementsAre("SCLK runs while SCSn is high"));
  EXPECT_EQ(findings.all()[0].count, 5U);
}

TEST_F(BusJudgeTest, ClocksForAnotherDeviceAreFree) {
  bus().other_select(true);
  bus().exchange(0x00);
  bus().other_select(false);
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(findings.all(), IsEmpty());
}

TEST_F(BusJudgeTest, TwoSelectsLowAreFoundWhicheverFellLast) {
  bus().other_select(true);
  bus().select();
  EXPECT_THAT(seen(Rule::two_selects_low), ElementsAre("SCSn of the W5500 fell while another device was selected"));
  bus().other_select(false);
  bus().other_select(true);
  EXPECT_THAT(seen(Rule::two_selects_low), SizeIs(2));
  EXPECT_EQ(seen(Rule::two_selects_low)[1], "another device was selected while SCSn of the W5500 was low");
}

TEST_F(BusJudgeTest, OfTheChipItselfOnlyVersionrIsLookedAt) {
  target.chip = true;
  frame({0x00, 0x39, 0x01, 0x00}, {0x00, 0x00, 0x00, 0x00});
  frame({0x00, 0x00, 0x39, 0x00}, {0x01, 0x02, 0x03, 0x55});
  EXPECT_THAT(seen(Rule::wrong_version), SizeIs(2));
  frame({0x00, 0x03, 0x08, 0x00}, {0x01, 0x02, 0x03, 0xFF});
  EXPECT_THAT(seen(Rule::reserved_bits_read), IsEmpty());
}

TEST_F(BusJudgeTest, AWrongVersionIsDecodedToItsCause) {
  frame({0x00, 0x39, 0x00, 0x00}, {0x02, 0x04, 0x06, 0x08});
  ASSERT_THAT(seen(Rule::wrong_version), SizeIs(1));
  EXPECT_EQ(seen(Rule::wrong_version)[0],
            "VERSIONR = 0x08, MISO 02 04 06 08: MISO sampled one bit late: a clock missed or the wrong clock phase "
            "(SPI mode)");
  EXPECT_EQ(findings.all()[0].evidence.spi, "00 39 00 00");
}

TEST_F(BusJudgeTest, AnAddressOf24BitsIsDecodedThoughItReadsAnotherBlock) {
  frame({0x00, 0x00, 0x39, 0x00}, {0x01, 0x02, 0x03, 0xF6});
  EXPECT_THAT(seen(Rule::wrong_version), SizeIs(1));
}

TEST_F(BusJudgeTest, TheRightVersionAndAChipThatStillWakesAreFree) {
  frame({0x00, 0x39, 0x00, 0x00}, {1, 2, 3, 0});
  frame({0x00, 0x39, 0x01, 0x00}, {1, 2, 3, 4});
  EXPECT_THAT(findings.all(), IsEmpty());
}

// B43.
TEST_F(BusJudgeTest, ReservedBitsThatAreReadBlameTheSampling) {
  frame({0x00, 0x02, 0x08, 0x00}, {1, 2, 3, 0x20});
  frame({0x00, 0x02, 0x28, 0x00}, {1, 2, 3, 0xFF});
  frame({0x00, 0x15, 0x00, 0x00}, {1, 2, 3, 0x08});
  frame({0x00, 0x00, 0x00, 0x00}, {1, 2, 3, 0x40});
  EXPECT_THAT(
      seen(Rule::reserved_bits_read),
      ElementsAre("S0 Sn_IR = 0x20: 0x10 sampled one bit late", "S1 Sn_IR = 0xFF: MISO stays high",
                  "common IR = 0x08: 0x10 sampled one bit early", "common MR = 0x40: 0x20 sampled one bit late"));
}

TEST_F(BusJudgeTest, AStateThatDoesNotExistBlamesTheSampling) {
  frame({0x00, 0x03, 0x08, 0x00}, {1, 2, 3, 0x2E});
  EXPECT_THAT(seen(Rule::reserved_bits_read), ElementsAre("S0 Sn_SR = 0x2E, which is no state"));
}

TEST_F(BusJudgeTest, ValuesThatTheChipGivesAreFree) {
  for (const int state : {0x00, 0x01, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0x1A, 0x1B, 0x1C, 0x1D, 0x22, 0x32, 0x42}) {
    frame({0x00, 0x02, 0x08, 0x00, 0x00}, {1, 2, 3, 0x1F, static_cast<std::uint8_t>(state)});
  }
  frame({0x00, 0x15, 0x00, 0x00}, {1, 2, 3, 0xF0});
  frame({0x00, 0x00, 0x00, 0x00}, {1, 2, 3, 0xBA});
  EXPECT_THAT(findings.all(), IsEmpty());
}

// Behind the data of a fixed length come the header and the data of another frame.
TEST_F(BusJudgeTest, AFixedLengthEndsWhatIsRead) {
  frame({0x00, 0x01, 0x09, 0x00, 0x00, 0x04, 0x09, 0x00}, {1, 2, 3, 0x00, 1, 2, 3, 0x20});
  frame({0x00, 0x00, 0x0A, 0x00, 0x00, 0x00, 0x04, 0x0A, 0x00}, {1, 2, 3, 0x01, 0x00, 1, 2, 3, 0x20});
  frame({0x00, 0x12, 0x03, 0, 0, 0, 0, 0x00, 0x01, 0x03, 0x00}, {1, 2, 3, 0, 0, 0, 0x10, 1, 2, 3, 0xFF});
  frame({0x00, 0x14, 0x01, 0x00, 0x00, 0x01, 0x01, 0x00}, {1, 2, 3, 0x00, 1, 2, 3, 0xFF});
  EXPECT_THAT(findings.all(), IsEmpty());
  frame({0x00, 0x02, 0x0A, 0x00, 0x00, 0x00, 0x04, 0x09, 0x00}, {1, 2, 3, 0x20, 0x12, 1, 2, 3, 0xFF});
  EXPECT_THAT(seen(Rule::reserved_bits_read), SizeIs(2));
}

TEST_F(BusJudgeTest, WritesAndBuffersHaveNoReservedBitsToRead) {
  frame({0x00, 0x02, 0x0C, 0xFF}, {1, 2, 3, 0xFF});
  frame({0x00, 0x02, 0x18, 0x00}, {1, 2, 3, 0xFF});
  EXPECT_THAT(findings.all(), IsEmpty());
}

}  // namespace
}  // namespace wizloop::bus
