#include "sim/core/account.hpp"

#include <gtest/gtest.h>

namespace wizloop {
namespace {

TEST(AccountTest, EachHasItsName) {
  EXPECT_EQ(name_of(Account::spi_clock), "spi_clock");
  EXPECT_EQ(name_of(Account::byte_gap), "byte_gap");
  EXPECT_EQ(name_of(Account::select), "select");
  EXPECT_EQ(name_of(Account::dma_setup), "dma_setup");
  EXPECT_EQ(name_of(Account::cpu), "cpu");
  EXPECT_EQ(name_of(Account::chip), "chip");
  EXPECT_EQ(name_of(Account::wire), "wire");
  EXPECT_EQ(name_of(Account::peer), "peer");
  EXPECT_EQ(name_of(Account::idle), "idle");
}

TEST(BudgetTest, BooksAsWorkWhatWasDone) {
  Budget budget;
  budget.charge(Account::spi_clock, 7us);
  budget.charge(Account::byte_gap, 3us);
  budget.charge(Account::spi_clock, picoseconds(1));
  EXPECT_EQ(budget.totals().sum(), Duration::zero());  // pending until it is settled
  budget.settle();
  EXPECT_EQ(budget.totals()[Account::spi_clock], 7us + picoseconds(1));
  EXPECT_EQ(budget.totals()[Account::byte_gap], 3us);
  EXPECT_EQ(budget.totals().sum(), 10us + picoseconds(1));
}

TEST(BudgetTest, ASecondSettleBooksNothingTwice) {
  Budget budget;
  budget.charge(Account::cpu, 5us);
  budget.settle();
  budget.settle();
  EXPECT_EQ(budget.totals().sum(), 5us);
}

TEST(BudgetTest, BooksAPollLoopAsWaitingForWhatWasAwaited) {
  Budget budget;
  budget.set_awaited(Account::chip);
  budget.charge(Account::cpu, 1us);  // before the loop: work
  const Budget::Mark from = budget.mark();
  for (int poll = 0; poll < 10; ++poll) {
    budget.charge(Account::select, 100ns);
    budget.charge(Account::spi_clock, 400ns);
  }
  const Budget::Mark to = budget.mark();
  budget.charge(Account::spi_clock, 400ns);  // the answer that ended it: work
  budget.settle_wait(from, to);
  EXPECT_EQ(budget.totals()[Account::cpu], 1us);
  EXPECT_EQ(budget.totals()[Account::chip], 5us);
  EXPECT_EQ(budget.totals()[Account::select], Duration::zero());
  EXPECT_EQ(budget.totals()[Account::spi_clock], 400ns);
}

TEST(BudgetTest, SplitsALoopByWhatWasAwaitedAtEachTime) {
  Budget budget;
  budget.set_awaited(Account::chip);
  const Budget::Mark from = budget.mark();
  budget.charge(Account::spi_clock, 2us);
  budget.set_awaited(Account::wire);
  budget.charge(Account::spi_clock, 30us);
  budget.set_awaited(Account::peer);
  EXPECT_EQ(budget.awaited(), Account::peer);
  budget.charge(Account::spi_clock, 50us);
  budget.charge(Account::byte_gap, 4us);
  budget.settle_wait(from, budget.mark());
  EXPECT_EQ(budget.totals()[Account::chip], 2us);
  EXPECT_EQ(budget.totals()[Account::wire], 30us);
  EXPECT_EQ(budget.totals()[Account::peer], 54us);
  EXPECT_EQ(budget.totals()[Account::spi_clock], Duration::zero());
}

TEST(BudgetTest, SleepIsWaitingWithoutALoop) {
  Budget budget;
  budget.set_awaited(Account::wire);
  budget.charge_wait(9us);
  budget.settle();
  EXPECT_EQ(budget.totals()[Account::wire], 9us);
}

TEST(BudgetTest, KeepsTheSumExactWhateverIsSettledHow) {
  Budget budget;
  Duration charged{};
  constexpr Account awaited[] = {Account::chip, Account::wire, Account::peer};
  constexpr Account work[] = {Account::spi_clock, Account::byte_gap, Account::select,
                              Account::dma_setup, Account::cpu,      Account::idle};
  Budget::Mark from = budget.mark();
  Budget::Mark to = budget.mark();
  for (int i = 0; i < 10'000; ++i) {
    const Duration span = picoseconds(i * 7919 % 100'003);
    budget.set_awaited(awaited[i % 3]);
    budget.charge(work[i % 6], span);
    charged += span;
    if (i % 17 == 3) from = budget.mark();
    if (i % 17 == 11) to = budget.mark();
    if (i % 34 == 16) {
      budget.settle_wait(from, to);
      ASSERT_EQ(budget.totals().sum(), charged);
    } else if (i % 34 == 33) {
      budget.settle();
      ASSERT_EQ(budget.totals().sum(), charged);
    }
  }
  budget.settle();
  EXPECT_EQ(budget.totals().sum(), charged);
  EXPECT_GT(budget.totals()[Account::chip], Duration::zero());
}

TEST(AccountTotalsTest, SubtractToTheShareOfAWindow) {
  Budget budget;
  budget.charge(Account::cpu, 5us);
  budget.settle();
  const AccountTotals before = budget.totals();
  budget.charge(Account::cpu, 3us);
  budget.charge(Account::idle, 2us);
  budget.settle();
  const AccountTotals window = budget.totals() - before;
  EXPECT_EQ(window[Account::cpu], 3us);
  EXPECT_EQ(window[Account::idle], 2us);
  EXPECT_EQ(window.sum(), 5us);
}

TEST(BudgetDeathTest, WorkIsNothingToWaitFor) {
  Budget budget;
  EXPECT_DEATH(budget.set_awaited(Account::cpu), "awaited >=");
}

}  // namespace
}  // namespace wizloop
