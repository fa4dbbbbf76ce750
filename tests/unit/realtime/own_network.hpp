// A network namespace of this process's own, without privilege: as "unshare -Urn", in which it may make interfaces that
// vanish with it.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace wizloop::test {

// Once, before there is a second thread. Empty, or why there is none.
std::string enter_own_network();

// The base of all tests that need it: they are skipped where it is forbidden, and fail there in CI.
class InOwnNetwork : public testing::Test {
 protected:
  void SetUp() override;
  // A command that has to succeed.
  static void command(const std::string& line);
};

}  // namespace wizloop::test
