#include "tests/unit/realtime/own_network.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "tests/unit/realtime/program.hpp"

namespace wizloop::test {
namespace {

std::string why_not;  // NOLINT: one process, one namespace

bool write_file(const char* path, const std::string& text) {
  std::ofstream file{path};
  return static_cast<bool>(file << text << std::flush);
}

}  // namespace

std::string enter_own_network() {
  const std::string user = std::to_string(geteuid());
  const std::string group = std::to_string(getegid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0) {
    // Without a map it is nobody's, and a program that it starts has no capability.
    if (!write_file("/proc/self/setgroups", "deny") || !write_file("/proc/self/uid_map", "0 " + user + " 1") ||
        !write_file("/proc/self/gid_map", "0 " + group + " 1")) {
      return why_not = "the ids of a user namespace may not be mapped here";
    }
  } else if (unshare(CLONE_NEWNET) != 0) {  // root may, even where user namespaces are forbidden
    return why_not = std::string{"no network namespace (unshare -Urn): "} + std::strerror(errno);
  }
  return why_not = "";
}

void InOwnNetwork::SetUp() {
  if (why_not.empty()) return;
  ASSERT_EQ(std::getenv("CI"), nullptr) << why_not << ": in CI there must be one";
  GTEST_SKIP() << why_not;
}

void InOwnNetwork::command(const std::string& line) {
  std::FILE* pipe = popen((line + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string output;
  char chunk[4096];
  while (const std::size_t count = std::fread(chunk, 1, sizeof chunk, pipe)) output.append(chunk, count);
  ASSERT_EQ(pclose(pipe), 0) << line << ": " << output;
}

}  // namespace wizloop::test

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  wizloop::test::enter_own_network();
  return RUN_ALL_TESTS();
}
