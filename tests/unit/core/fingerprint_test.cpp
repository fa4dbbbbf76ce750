#include "sim/core/fingerprint.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>

namespace wizloop {
namespace {

template <typename... Parts>
std::uint64_t fingerprint_of(const Parts&... parts) {
  Fingerprint fingerprint;
  (fingerprint.add(parts), ...);
  return fingerprint.value();
}

// The literals were computed apart from this code.
TEST(FingerprintTest, IsTheSameOnEveryMachine) {
  EXPECT_EQ(fingerprint_of(), 0xE7037ED1A0B428DB);
  EXPECT_EQ(fingerprint_of(std::uint64_t{1}), 0xC6EF7E52B4A7F08F);
  EXPECT_EQ(fingerprint_of(std::uint64_t{1}, std::string_view{"w5500.s0 SEND"}), 0x378F0328661604E1u);
}

TEST(FingerprintTest, DependsOnTheOrder) {
  EXPECT_NE(fingerprint_of(std::uint64_t{1}, std::uint64_t{2}), fingerprint_of(std::uint64_t{2}, std::uint64_t{1}));
}

TEST(FingerprintTest, TellsWhereOnePieceEnds) {
  using namespace std::string_view_literals;
  EXPECT_NE(fingerprint_of("ab"sv, "c"sv), fingerprint_of("a"sv, "bc"sv));
  EXPECT_NE(fingerprint_of("abc"sv), fingerprint_of("abc"sv, ""sv));
  EXPECT_NE(fingerprint_of("\0\0"sv), fingerprint_of("\0\0\0"sv));
  EXPECT_NE(fingerprint_of("12345678"sv), fingerprint_of("12345678\0"sv));
}

TEST(FingerprintTest, SeesEachByteAndEachPicosecond) {
  std::array<std::uint8_t, 60> frame{};
  std::set<std::uint64_t> seen{fingerprint_of(Bytes{frame})};
  for (std::uint8_t& byte : frame) {
    byte = 1;
    seen.insert(fingerprint_of(Bytes{frame}));
    byte = 0;
  }
  seen.insert(fingerprint_of(Instant{}));
  seen.insert(fingerprint_of(Instant{} + picoseconds(1)));
  EXPECT_EQ(seen.size(), 63u);
}

}  // namespace
}  // namespace wizloop
