#include "sim/core/time.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <type_traits>

namespace wizloop {
namespace {

// SPI clocks as boards have them, and rates that do not divide a second.
constexpr std::array<std::int64_t, 9> rates_hz = {1,          3,          7'000'001,  8'000'000,  12'571'429,
                                                  20'000'000, 33'300'000, 42'000'000, 999'999'937};

TEST(FrequencyTest, TurnsPeriodsIntoTheNearestPicosecond) {
  EXPECT_EQ(Frequency{8'000'000}.periods(8), 1us);
  EXPECT_EQ(Frequency{42'000'000}.periods(1), picoseconds(23'810));  // 23809.52
  EXPECT_EQ(Frequency{42'000'000}.periods(8), picoseconds(190'476));
  EXPECT_EQ(Frequency{33'300'000}.periods(8), picoseconds(240'240));
  EXPECT_EQ(Frequency{3}.periods(1), picoseconds(333'333'333'333));
  EXPECT_EQ(Frequency{3}.periods(2), picoseconds(666'666'666'667));
  EXPECT_EQ(Frequency{1}.periods(0), Duration::zero());
}

TEST(FrequencyTest, DoesNotOverflowOverDaysOfClocks) {
  EXPECT_EQ(Frequency{80'000'000}.periods(80'000'000LL * 86'400 * 100), 24h * 100);
}

TEST(FrequencyTest, KnowsItsHertz) {
  EXPECT_EQ(Frequency{12'571'429}.hz(), 12'571'429);
  EXPECT_EQ(Frequency{5}, Frequency{5});
  EXPECT_FALSE(Frequency{5} == Frequency{6});
}

TEST(PeriodStepsTest, NeverDriftFromTheExactTime) {
  for (const std::int64_t hz : rates_hz) {
    for (const std::int64_t periods : {1, 8, 24}) {
      PeriodSteps steps{Frequency{hz}, periods};
      Duration total{};
      for (std::int64_t n = 1; n <= 5'000; ++n) {
        total += steps.next();
        const int128 exact = static_cast<int128>(n * periods) * 1'000'000'000'000 / hz;
        ASSERT_EQ(total.count(), static_cast<std::int64_t>(exact)) << hz << " Hz, step " << n;
        const Duration rounded = Frequency{hz}.periods(n * periods);
        ASSERT_TRUE(rounded == total || rounded == total + picoseconds(1)) << hz << " Hz, step " << n;
      }
    }
  }
}

TEST(PeriodStepsTest, TakeManyStepsAtOnceAsIfOneByOne) {
  for (const std::int64_t hz : rates_hz) {
    PeriodSteps one_by_one{Frequency{hz}, 8};
    PeriodSteps together{Frequency{hz}, 8};
    for (const std::int64_t count : {1, 2, 0, 3, 1460, 2048, 7, 65'535}) {
      Duration sum{};
      for (std::int64_t i = 0; i < count; ++i) sum += one_by_one.next();
      ASSERT_EQ(together.next(count), sum) << hz << " Hz, " << count << " steps";
    }
  }
}

TEST(PeriodStepsTest, AreNeverShorterThanTheShortest) {
  for (const std::int64_t hz : rates_hz) {
    PeriodSteps steps{Frequency{hz}, 8};
    for (int i = 0; i < 1'000; ++i) {
      const Duration step = steps.next();
      ASSERT_GE(step, steps.shortest());
      ASSERT_LE(step, steps.shortest() + picoseconds(1));
    }
  }
}

TEST(TimeTest, WholeLiteralsConvertExactly) {
  EXPECT_EQ(Duration{1ns}.count(), 1'000);
  EXPECT_EQ(Duration{200ms}.count(), 200'000'000'000);
  EXPECT_EQ(nanoseconds(-3).count(), -3'000);
  EXPECT_EQ(microseconds(7), 7us);
  static_assert(!std::is_convertible_v<decltype(1.5us), Duration>, "a fraction of a literal must not round in silence");
  static_assert(!std::is_convertible_v<std::chrono::steady_clock::time_point, Instant>);
}

}  // namespace
}  // namespace wizloop
