// The suite's own main: the target comes from --target NAME, else from WIZLOOP_CONFORMANCE_TARGET, else it is the
// model.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string_view>

#include "tests/conformance/target.hpp"

namespace {

// The suite is run at every change, so none of its tests may take long where time is virtual. What counts is the
// processor's time: a busy machine makes no test fail.
class TimeLimit final : public testing::EmptyTestEventListener {
  static constexpr double limit_s = 0.050;

  void OnTestStart(const testing::TestInfo& /*test*/) override { begun_ = std::clock(); }
  void OnTestEnd(const testing::TestInfo& /*test*/) override {
    const double taken_s = static_cast<double>(std::clock() - begun_) / CLOCKS_PER_SEC;
    EXPECT_LT(taken_s, limit_s) << "seconds of processor time";
  }

  std::clock_t begun_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* name = std::getenv("WIZLOOP_CONFORMANCE_TARGET")) wizloop::conformance::choose_target(name);
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view{argv[i]} == "--target") wizloop::conformance::choose_target(argv[i + 1]);
  }
  const bool time_is_virtual = wizloop::conformance::make_target()->name().starts_with("model");
  if (time_is_virtual)
    testing::UnitTest::GetInstance()->listeners().Append(new TimeLimit);  // which owns it from now on
  return RUN_ALL_TESTS();
}
