#include "sim/core/result.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

namespace wizloop {
namespace {

Result<int> half_of(int number) {
  if (number % 2 != 0) return Error{"the number is odd, expected an even one"};
  return number / 2;
}

TEST(ResultTest, HoldsAValue) {
  Result<int> result = half_of(8);
  ASSERT_TRUE(result);
  EXPECT_EQ(result.value(), 4);
  result.value() = 5;
  EXPECT_EQ(std::as_const(result).value(), 5);
}

TEST(ResultTest, HoldsTheErrorInstead) {
  const Result<int> result = half_of(7);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "the number is odd, expected an even one");
}

TEST(ResultTest, AnErrorIsTheUsersFaultUnlessItSaysOtherwise) {
  EXPECT_EQ(half_of(7).error().kind, ErrorKind::user);
  const Error missing{"a library is missing", ErrorKind::machine};
  EXPECT_EQ(Result<int>{missing}.error().kind, ErrorKind::machine);
}

TEST(ResultTest, TellsBySystemErrorWhoseFaultItIs) {
  for (const int of_user : {ENOENT, EACCES, EISDIR, ENOTDIR, EROFS}) EXPECT_EQ(kind_of(of_user), ErrorKind::user);
  for (const int of_machine : {ENOSPC, EDQUOT, EFBIG, EIO, EMFILE, ENFILE, ENOMEM}) {
    EXPECT_EQ(kind_of(of_machine), ErrorKind::machine);
  }
}

TEST(ResultTest, GivesAMoveOnlyValueAway) {
  Result<std::unique_ptr<std::string>> result{std::make_unique<std::string>("moved")};
  const std::unique_ptr<std::string> taken = std::move(result).value();
  EXPECT_EQ(*taken, "moved");
}

TEST(ResultDeathTest, HasNoValueBesideAnError) { EXPECT_DEATH(static_cast<void>(half_of(1).value()), "does not hold"); }

TEST(ResultDeathTest, HasNoErrorBesideAValue) { EXPECT_DEATH(static_cast<void>(half_of(2).error()), "does not hold"); }

}  // namespace
}  // namespace wizloop
