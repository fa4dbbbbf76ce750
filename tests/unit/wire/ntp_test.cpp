#include "sim/wire/ntp.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace wizloop::wire {
namespace {

using testing::ElementsAre;

TEST(Ntp, IsLaidOutAsInRfc5905AndReadBack) {
  const auto bytes = Ntp{.leap = 3,
                         .version = 4,
                         .mode = Ntp::server,
                         .stratum = 2,
                         .poll = 6,
                         .precision = -20,
                         .root_delay = 0x01020304,
                         .root_dispersion = 0x05060708,
                         .reference_identifier = 0x090A0B0C,
                         .reference = 0x1112131415161718,
                         .origin = 0x2122232425262728,
                         .receive = 0x3132333435363738,
                         .transmit = 0x4142434445464748}
                         .emit();
  EXPECT_THAT(bytes, ElementsAre(0xE4, 2, 6, 0xEC, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12,  //
                                 0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,           //
                                 0x21, 0x22, 0x23, 0x24, 0x25, 0x26, 0x27, 0x28,           //
                                 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38,           //
                                 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47, 0x48));
  const auto parsed = Ntp::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->leap, 3);
  EXPECT_EQ(parsed->precision, -20);
  EXPECT_EQ(parsed->emit(), bytes);
  EXPECT_FALSE(Ntp::parse(Bytes{bytes}.first(47)));
}

TEST(Ntp, KeepsWhateverBytesItIsGiven) {
  std::array<std::uint8_t, Ntp::bytes> bytes;
  for (int first = 0; first < 256; ++first) {
    bytes.fill(static_cast<std::uint8_t>(255 - first));
    bytes[0] = static_cast<std::uint8_t>(first);
    EXPECT_EQ(Ntp::parse(bytes)->emit(), bytes);
  }
}

TEST(Ntp, CountsFrom1900AndWrapsIn2036) {
  EXPECT_EQ(Ntp::timestamp(0, 0s), 0x83AA7E80'00000000);  // 1970
  EXPECT_EQ(Ntp::timestamp(0, 1500ms), 0x83AA7E81'80000000);
  EXPECT_EQ(Ntp::timestamp(0, 250ms), 0x83AA7E80'40000000);
  EXPECT_EQ(Ntp::timestamp(0, picoseconds(999'999'999'999)), 0x83AA7E80'FFFFFFFF);
  EXPECT_EQ(Ntp::timestamp(2'085'978'495, 0s), 0xFFFFFFFF'00000000);  // 2036-02-07T06:28:15Z
  EXPECT_EQ(Ntp::timestamp(2'085'978'495, 1s), 0u);
}

}  // namespace
}  // namespace wizloop::wire
