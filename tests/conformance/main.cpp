// The suite's own main: the target comes from --target NAME, else from WIZLOOP_CONFORMANCE_TARGET, else it is the
// model.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "tests/conformance/target.hpp"

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (const char* name = std::getenv("WIZLOOP_CONFORMANCE_TARGET")) wizloop::conformance::choose_target(name);
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::string_view{argv[i]} == "--target") wizloop::conformance::choose_target(argv[i + 1]);
  }
  return RUN_ALL_TESTS();
}
