#include "sim/core/inplace_function.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <utility>

namespace wizloop {
namespace {

// Counts the objects that own something: one that was moved from owns nothing.
struct Counters {
  int calls = 0;
  int destroyed = 0;
};

class Callee {
 public:
  explicit Callee(Counters& counters) : counters_{&counters} {}
  Callee(Callee&& other) noexcept : counters_{std::exchange(other.counters_, nullptr)} {}
  Callee& operator=(Callee&&) = delete;
  ~Callee() {
    if (counters_ != nullptr) ++counters_->destroyed;
  }
  void operator()() { ++counters_->calls; }

 private:
  Counters* counters_;
};

using Function = InplaceFunction<64>;

TEST(InplaceFunctionTest, CallsWhatItHoldsAndDestroysItOnce) {
  Counters counters;
  {
    Function function{Callee{counters}};
    EXPECT_TRUE(function);
    function();
    function();
    EXPECT_EQ(counters.calls, 2);
    EXPECT_EQ(counters.destroyed, 0);
  }
  EXPECT_EQ(counters.destroyed, 1);
}

TEST(InplaceFunctionTest, AMoveLeavesTheSourceEmptyAndDestroysNothing) {
  Counters counters;
  {
    Function from{Callee{counters}};
    Function to{std::move(from)};
    EXPECT_FALSE(from);  // NOLINT: what a moved-from function is, is the point
    EXPECT_TRUE(to);
    to();
    EXPECT_EQ(counters.calls, 1);
    EXPECT_EQ(counters.destroyed, 0);
  }
  EXPECT_EQ(counters.destroyed, 1);
}

TEST(InplaceFunctionTest, AssignmentDestroysTheOldAndTakesTheNew) {
  Counters old_one;
  Counters new_one;
  {
    Function function{Callee{old_one}};
    function = Function{Callee{new_one}};
    EXPECT_EQ(old_one.destroyed, 1);
    EXPECT_EQ(new_one.destroyed, 0);
    function();
    EXPECT_EQ(old_one.calls, 0);
    EXPECT_EQ(new_one.calls, 1);
  }
  EXPECT_EQ(old_one.destroyed, 1);
  EXPECT_EQ(new_one.destroyed, 1);
}

TEST(InplaceFunctionTest, AssignmentToItselfKeepsTheCallee) {
  Counters counters;
  Function function{Callee{counters}};
  Function& same = function;
  function = std::move(same);
  EXPECT_TRUE(function);
  EXPECT_EQ(counters.destroyed, 0);
}

TEST(InplaceFunctionTest, ResetDestroysOnceAndEmpties) {
  Counters counters;
  Function function{Callee{counters}};
  function.reset();
  EXPECT_FALSE(function);
  function.reset();
  EXPECT_EQ(counters.destroyed, 1);
}

TEST(InplaceFunctionTest, HoldsMoveOnlyCapturesAndKeepsTheirState) {
  int seen = 0;
  Function function = [owned = std::make_unique<int>(40), &seen]() mutable { seen = ++*owned; };
  function();
  Function moved = std::move(function);
  moved();
  EXPECT_EQ(seen, 42);
}

TEST(InplaceFunctionTest, StartsEmpty) { EXPECT_FALSE(Function{}); }

TEST(InplaceFunctionDeathTest, AnEmptyOneCannotBeCalled) {
  Function function;
  EXPECT_DEATH(function(), "operations_ != nullptr");
}

}  // namespace
}  // namespace wizloop
