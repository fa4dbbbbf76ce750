#include "sim/core/random.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace wizloop {
namespace {

using testing::ElementsAre;

std::vector<std::uint64_t> draws(RandomStream stream, int count) {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(stream.next());
  return numbers;
}

std::vector<std::uint64_t> draws_below(RandomStream stream, std::uint64_t bound, int count) {
  std::vector<std::uint64_t> numbers;
  for (int i = 0; i < count; ++i) numbers.push_back(stream.below(bound));
  return numbers;
}

// The literals were computed apart from this code, from the published description of the generator.
TEST(RandomStreamTest, GivesTheNumbersOfXoshiro256StarStar) {
  EXPECT_THAT(draws(RandomStream{0}, 4),
              ElementsAre(0x99EC5F36CB75F2B4, 0xBF6E1F784956452A, 0x1A5F849D4933E6E0, 0x6AA594F1262D2D2C));
  EXPECT_THAT(draws(RandomStream{1}, 3), ElementsAre(0xB3F2AF6D0FC710C5, 0x853B559647364CEA, 0x92F89756082A4514));
}

TEST(RandomStreamTest, GivesTheSameDrawsBelowABoundOnEveryMachine) {
  EXPECT_THAT(draws_below(Random{1}.stream("link.loss"), 1'000'000, 6),
              ElementsAre(904212, 334298, 51613, 232980, 667332, 683326));
  EXPECT_THAT(draws_below(Random{2}.stream("link.loss"), 1'000'000, 6),
              ElementsAre(108085, 809526, 287772, 438335, 994344, 963995));
}

TEST(RandomStreamTest, StaysBelowTheBound) {
  RandomStream stream{7};
  for (const std::uint64_t bound : {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{1460},
                                    std::uint64_t{1} << 63, (std::uint64_t{1} << 63) + 1, ~std::uint64_t{0}}) {
    for (int i = 0; i < 200; ++i) ASSERT_LT(stream.below(bound), bound);
  }
}

TEST(RandomStreamTest, HitsEachValueAboutAsOften) {
  constexpr int rounds = 60'000;
  RandomStream stream{42};
  std::array<int, 6> hits{};
  for (int i = 0; i < rounds; ++i) ++hits[stream.below(hits.size())];
  for (const int count : hits) EXPECT_NEAR(count, rounds / 6, 400);  // over four standard deviations
}

// A bound of 3/4 of the range shows a modulo that merely wraps: the lower third would come up twice as often.
TEST(RandomStreamTest, IsUnbiasedForABoundNearTheWholeRange) {
  constexpr int rounds = 30'000;
  constexpr std::uint64_t bound = std::uint64_t{3} << 62;
  RandomStream stream{42};
  std::array<int, 3> thirds{};
  for (int i = 0; i < rounds; ++i) ++thirds[stream.below(bound) / (bound / 3)];
  for (const int count : thirds) EXPECT_NEAR(count, rounds / 3, 400);
}

TEST(RandomTest, AStreamIsKnownByItsName) {
  const Random random{5};
  EXPECT_EQ(random.seed(), 5u);
  EXPECT_EQ(draws(random.stream("link.loss"), 8), draws(random.stream("link.loss"), 8));
  EXPECT_NE(draws(random.stream("link.loss"), 8), draws(random.stream("link.delay"), 8));
  EXPECT_NE(draws(random.stream("link.loss"), 8), draws(Random{6}.stream("link.loss"), 8));
}

TEST(RandomTest, DrawsFromOneStreamLeaveTheOthersAlone) {
  const Random random{5};
  const std::vector<std::uint64_t> undisturbed = draws(random.stream("chip.iss"), 8);
  RandomStream other = random.stream("link.loss");
  RandomStream stream = random.stream("chip.iss");
  std::vector<std::uint64_t> interleaved;
  for (int i = 0; i < 8; ++i) {
    other.next();
    interleaved.push_back(stream.next());
    other.below(10);
  }
  EXPECT_EQ(interleaved, undisturbed);
}

TEST(RandomDeathTest, NothingIsBelowZero) { EXPECT_DEATH(RandomStream{1}.below(0), "bound != 0"); }

}  // namespace
}  // namespace wizloop
