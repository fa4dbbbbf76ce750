#include "sim/core/host_port.hpp"

#include <gtest/gtest.h>

#include <string>

namespace wizloop {
namespace {

TEST(HostPort, IsTakenApartAtItsLastColon) {
  const auto parts = [](std::string_view text) {
    const auto at = split_host_port(text);
    return at ? std::string{at->host} + " " + std::to_string(at->port) : "none";
  };
  EXPECT_EQ(parts("127.0.0.1:7000"), "127.0.0.1 7000");
  EXPECT_EQ(parts("lab.example:0"), "lab.example 0");
  EXPECT_EQ(parts("[fe80::1]:65535"), "fe80::1 65535");
  EXPECT_EQ(parts(":7"), " 7");
  for (const char* wrong :
       {"", "7000", "a:", "a:65536", "a:-1", "a:+1", "a: 1", "a:1 ", "a:0x10", "::1:7", "[]:7", "a:b:7"}) {
    EXPECT_EQ(parts(wrong), "none") << wrong;
  }
}

}  // namespace
}  // namespace wizloop
