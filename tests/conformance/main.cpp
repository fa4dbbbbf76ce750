// The suite's own main: the target comes from --target NAME, else from WIZLOOP_CONFORMANCE_TARGET, else it is the
// model. At the end it says how many tests the target has run, and why it has not run the others; with --at-least N a
// target that ran fewer fails, for a suite that skips itself whole would pass otherwise.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <charconv>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <string_view>

#include "tests/conformance/target.hpp"

namespace {

// The suite is run at every change, so none of its tests may take long where time is virtual. What counts is the
// processor's time: a busy machine makes no test fail.
class TimeLimit final : public testing::EmptyTestEventListener {
 public:
  explicit TimeLimit(double limit_s) : limit_s_{limit_s} {}

 private:
  void OnTestStart(const testing::TestInfo& /*test*/) override { begun_ = std::clock(); }
  void OnTestEnd(const testing::TestInfo& /*test*/) override {
    const double taken_s = static_cast<double>(std::clock() - begun_) / CLOCKS_PER_SEC;
    EXPECT_LT(taken_s, limit_s_) << "seconds of processor time";
  }

  double limit_s_;
  std::clock_t begun_ = 0;
};

// Counts the tests that ran, and those that did not by what the target lacks.
class Coverage final : public testing::EmptyTestEventListener {
 public:
  int ran() const { return ran_; }
  void print(std::string_view target) const {
    fmt::print("{} tests ran on target '{}', {} were skipped\n", ran_, target, skipped_);
    for (const auto& [reason, count] : reasons_) fmt::print("{:6} skipped: {}\n", count, reason);
  }

 private:
  void OnTestStart(const testing::TestInfo& /*test*/) override { reason_.clear(); }
  void OnTestPartResult(const testing::TestPartResult& part) override {
    if (part.skipped() && reason_.empty()) reason_ = part.message();
  }
  void OnTestEnd(const testing::TestInfo& test) override {
    if (!test.result()->Skipped()) {
      ++ran_;
      return;
    }
    ++skipped_;
    while (reason_.ends_with('\n')) reason_.pop_back();
    ++reasons_[reason_];
  }

  int ran_ = 0, skipped_ = 0;
  std::string reason_;  // of the test that runs
  std::map<std::string, int> reasons_;
};

int number_or_exit(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error == std::errc{} && end == text.data() + text.size()) return number;
  fmt::print(stderr, "--at-least takes a number of tests, not '{}'\n", text);
  std::exit(2);
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* name = std::getenv("WIZLOOP_CONFORMANCE_TARGET")) wizloop::conformance::choose_target(name);
  int least = 0;
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view{argv[i]} == "--target") wizloop::conformance::choose_target(argv[i + 1]);
    if (std::string_view{argv[i]} == "--at-least") least = number_or_exit(argv[i + 1]);
  }
  const std::string target{wizloop::conformance::make_target()->name()};
  const bool time_is_virtual = !target.starts_with("bridge");
  const double limit_s = target.starts_with("model") ? 0.050 : 0.500;  // RTL has sixteen edges for a byte
  if (time_is_virtual)
    testing::UnitTest::GetInstance()->listeners().Append(new TimeLimit{limit_s});  // which owns it from now on
  auto* const coverage = new Coverage;
  testing::UnitTest::GetInstance()->listeners().Append(coverage);
  const int result = RUN_ALL_TESTS();
  if (testing::GTEST_FLAG(list_tests)) return result;
  coverage->print(target);
  if (coverage->ran() >= least) return result;
  fmt::print("[  FAILED  ] at least {} tests have to run on this target\n", least);
  return 1;
}
