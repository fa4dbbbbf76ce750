#include "sim/wire/ipv4_text.hpp"

#include <gtest/gtest.h>

namespace wizloop::wire {
namespace {

TEST(Ipv4Text, IsReadAsItIsWritten) {
  for (const Ipv4Address address : {ipv4(0, 0, 0, 0), ipv4(192, 168, 1, 20), ipv4(10, 0, 200, 9), broadcast_ipv4}) {
    EXPECT_EQ(ipv4_of(to_text(address)), address);
  }
  EXPECT_EQ(to_text(ipv4(192, 168, 1, 20)), "192.168.1.20");
}

TEST(Ipv4Text, ThatIsNoAddressIsNone) {
  for (const char* text : {"", "1.2.3", "1.2.3.", "1.2.3.4.", "1.2.3.4.5", "1.2.3.256", "1..3.4", "1.2.3.-4",
                           "1.2.3.4 ", " 1.2.3.4", "010.2.3.4", "1.2.3.0x4", "one.2.3.4"}) {
    EXPECT_FALSE(ipv4_of(text)) << text;
  }
}

}  // namespace
}  // namespace wizloop::wire
