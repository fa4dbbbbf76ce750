#include "drivers/w5500/deadline.hpp"

#include <gtest/gtest.h>

#include "tests/support/fake_w5500.hpp"

namespace wizloop::test {
namespace {

TEST(DeadlineTest, PassesWhenItsTimeIsUp) {
  FakeW5500 port;
  const w5500::Deadline deadline{port, 100};
  port.delay_us(99);
  EXPECT_FALSE(deadline.passed());
  EXPECT_EQ(deadline.left_us(), 1u);
  port.delay_us(1);
  EXPECT_TRUE(deadline.passed());
  EXPECT_EQ(deadline.left_us(), 0u);
}

TEST(DeadlineTest, KeepsRightAcrossTheWrapOfTheCounter) {
  FakeW5500 port;
  port.set_now_us(0xFFFFFFF0);
  const w5500::Deadline deadline{port, 100};
  port.delay_us(50);
  ASSERT_LT(port.now_us(), 0x100u);  // it has wrapped
  EXPECT_FALSE(deadline.passed());
  EXPECT_EQ(deadline.elapsed_us(), 50u);
  port.delay_us(50);
  EXPECT_TRUE(deadline.passed());
}

TEST(DeadlineTest, OfNoTimeHasPassedAtOnce) {
  FakeW5500 port;
  EXPECT_TRUE((w5500::Deadline{port, 0}).passed());
}

}  // namespace
}  // namespace wizloop::test
