// The SPI against time: facts sections 1.1 (modes and AC timing, datasheet 2.1, 2.2, 5.5.4) and 1.5 (counts of clocks).
#include <gmock/gmock.h>

#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

using testing::Contains;
using testing::IsEmpty;
using testing::Not;

class TimingTest : public ConformanceTest {
 protected:
  // As fast as the datasheet guarantees.
  static constexpr SpiTiming at_the_limits = {
      .sclk = Frequency{33'300'000}, .mode = 0, .select_setup = 5ns, .select_hold = 5ns, .select_high = 30ns};

  void expect_it_works() {
    EXPECT_EQ(spi({0x00, 0x39, 0x00, 0x00}), (Octets{1, 2, 3, 4}));
    write(tx_of(0), 0, counting(300));
    EXPECT_EQ(read(tx_of(0), 0, 300), counting(300));
  }
  // After two frames under that timing.
  std::vector<std::string> broken_by(const SpiTiming& timing) {
    target().set_spi_timing(timing);
    get("VERSIONR");
    get("VERSIONR");
    return target().broken_rules();
  }
};

#define EXPECT_BROKEN(id, timing) EXPECT_THAT(broken_by(timing), Contains(id))
#define EXPECT_NOT_BROKEN(id, timing) EXPECT_THAT(broken_by(timing), Not(Contains(id)))

// 1.1 -----------------------------------------------------------------------------------------------------------------

TEST_F(TimingTest, ModesZeroAndThreeWorkAtTheLimitsOfTheDatasheet) {
  REQUIRES(spi_timing);
  for (const int mode : {0, 3}) {
    SpiTiming timing = at_the_limits;
    timing.mode = mode;
    target().set_spi_timing(timing);
    expect_it_works();
  }
  REQUIRES(judge);
  EXPECT_THAT(target().broken_rules(), IsEmpty());
}

TEST_F(TimingTest, SlowClocksWork) {
  REQUIRES(spi_timing);
  for (const int hz : {100, 290'000, 1'000'000}) {
    target().set_spi_timing({.sclk = Frequency{hz}, .select_setup = 1us, .select_hold = 1us, .select_high = 1us});
    EXPECT_EQ(spi({0x00, 0x39, 0x00, 0x00}), (Octets{1, 2, 3, 4}));
  }
}

// 1.3: no dummy clocks between the control byte and the data, whatever the rate.
TEST_F(TimingTest, DataFollowsTheHeaderWithoutDummyClocks) {
  REQUIRES(spi_timing);
  target().set_spi_timing(at_the_limits);
  set("RTR", 0x1234);
  const std::uint64_t before = target().sclk_periods();
  EXPECT_EQ(spi({0x00, 0x19, 0x00, 0, 0}), (Octets{1, 2, 3, 0x12, 0x34}));
  EXPECT_EQ(target().sclk_periods() - before, 40U);
}

TEST_F(TimingTest, ModesOneAndTwoAreNotSupported) {
  REQUIRES(spi_timing);
  REQUIRES(judge);
  for (const int mode : {1, 2}) {
    SpiTiming timing = at_the_limits;
    timing.mode = mode;
    EXPECT_BROKEN("spi-mode-unsupported", timing) << mode;
  }
}

TEST_F(TimingTest, ClocksAreGuaranteedUpTo33MegahertzAndPossibleUpTo80) {
  REQUIRES(spi_timing);
  REQUIRES(judge);
  SpiTiming timing = at_the_limits;
  timing.sclk = Frequency{33'300'000};
  EXPECT_NOT_BROKEN("sclk-above-rating", timing);
  timing.sclk = Frequency{80'000'000};
  EXPECT_BROKEN("sclk-above-rating", timing);
  EXPECT_NOT_BROKEN("sclk-above-limit", timing);
  timing.sclk = Frequency{80'000'001};
  EXPECT_BROKEN("sclk-above-limit", timing);
}

TEST_F(TimingTest, SelectHasToBeHigh30Nanoseconds) {
  REQUIRES(spi_timing);
  REQUIRES(judge);
  SpiTiming timing = at_the_limits;
  timing.select_high = 29ns;
  EXPECT_BROKEN("select-high-too-short", timing);
}

TEST_F(TimingTest, SelectHasToBeLow5NanosecondsBeforeTheFirstEdge) {
  REQUIRES(spi_timing);
  REQUIRES(judge);
  SpiTiming timing = at_the_limits;
  timing.mode = 3;
  timing.select_setup = 4ns;
  EXPECT_BROKEN("select-setup-too-short", timing);
}

TEST_F(TimingTest, SelectHasToBeHeld5NanosecondsAfterTheLastEdge) {
  REQUIRES(spi_timing);
  REQUIRES(judge);
  SpiTiming timing = at_the_limits;
  timing.select_hold = 4ns;
  EXPECT_BROKEN("select-hold-too-short", timing);
}

// MISO is high impedance while SCSn is high: nothing of the chip shows, whatever level the board gives the line.
TEST_F(TimingTest, DeselectedTheChipDoesNotDriveMiso) {
  REQUIRES(bare_clocks);
  for (int i = 0; i < 2; ++i) {
    const Octets miso = exchange({0x00, 0x39, 0x00, 0x00});
    EXPECT_EQ(miso, Octets(4, miso[0]));
    EXPECT_EQ(get("VERSIONR"), 0x04U);
  }
}

// 1.5 -----------------------------------------------------------------------------------------------------------------

struct CountedAccess {
  const char* name;
  std::size_t frames;
  std::size_t bytes;  // of data in each
  std::uint64_t clocks;
  Duration at_33_3_mhz, at_14_mhz;  // rounded as in the table
};
void PrintTo(const CountedAccess& access, std::ostream* out) { *out << access.name; }

class ClockCountTest : public TimingTest, public testing::WithParamInterface<CountedAccess> {};

TEST_P(ClockCountTest, AccessTakesTheClocksOfTheTable) {
  REQUIRES(spi_timing);
  const CountedAccess& access = GetParam();
  const std::pair<Frequency, Duration> rates[] = {{Frequency{33'300'000}, access.at_33_3_mhz},
                                                  {Frequency{14'000'000}, access.at_14_mhz}};
  for (const auto& [sclk, expected] : rates) {
    SpiTiming timing = at_the_limits;
    timing.sclk = sclk;
    target().set_spi_timing(timing);
    Duration clocked{};
    for (std::size_t i = 0; i < access.frames; ++i) {
      target().select();
      const Instant start = now();
      exchange(Octets(3 + access.bytes));
      clocked += now() - start;
      target().deselect();
    }
    EXPECT_EQ(target().sclk_periods(), access.clocks);
    if (!target().has(Feature::exact_time)) continue;
    EXPECT_LE(std::chrono::abs(clocked - sclk.periods(static_cast<std::int64_t>(access.clocks))), picoseconds(4));
    EXPECT_LE(std::chrono::abs(clocked - expected), expected / 200);
  }
}

constexpr CountedAccess accesses[] = {
    {"OneByteRegister", 1, 1, 32, 960ns, 2290ns},
    {"TwoByteRegisterInOneFrame", 1, 2, 40, 1200ns, 2860ns},
    {"TwoByteRegisterTheIolibraryWay", 2, 1, 64, 1920ns, 4570ns},
    {"StableReadOfACounterTheIolibraryWay", 4, 1, 128, 3840ns, 9100ns},
    {"Burst64", 1, 64, 536, 16100ns, 38300ns},
    {"Burst1460", 1, 1460, 11704, 351500ns, 836us},
    {"Burst1516", 1, 1516, 12152, 364900ns, 868us},
};
INSTANTIATE_TEST_SUITE_P(Table, ClockCountTest, testing::ValuesIn(accesses),
                         [](const auto& of) { return std::string{of.param.name}; });

}  // namespace
}  // namespace wizloop::conformance
