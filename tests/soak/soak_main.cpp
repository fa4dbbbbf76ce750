// Boards at one switch, in virtual time as fast as it goes: `ci/soak`, and the README of this folder.
//
//   build/release/tests/soak/soak --hours 24 --seed 1
//
// Exit codes: 0 all was well, 1 it was not, 2 usage.
#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <string_view>

#include "tests/soak/soak.hpp"

int main(int count, char** arguments) {
  wizloop::soak::SoakPlan plan;
  for (int i = 1; i < count; ++i) {
    const std::string_view name = arguments[i];
    if (name == "--quiet") {
      plan.quiet = true;
    } else if (name == "--hours" && i + 1 < count) {
      plan.hours = std::atof(arguments[++i]);
    } else if (name == "--seed" && i + 1 < count) {
      plan.seed = std::strtoull(arguments[++i], nullptr, 10);
    } else {
      fmt::print(stderr, "usage: soak [--hours H] [--seed N] [--quiet]\n");
      return 2;
    }
  }
  if (!(plan.hours > 0)) {
    fmt::print(stderr, "--hours wants a number above 0\n");
    return 2;
  }
  const auto started = std::chrono::steady_clock::now();
  wizloop::soak::Soak soak{plan};
  soak.run();
  soak.print_summary(std::chrono::steady_clock::now() - started);
  return soak.complaints().empty() ? 0 : 1;
}
