#include "sim/wire/checksum.hpp"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

namespace wizloop::wire {
namespace {

Bytes bytes_of(std::string_view text) { return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()}; }

TEST(InternetChecksum, IsThatOfTheExampleInRfc1071) {
  const std::uint8_t example[] = {0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7};
  EXPECT_EQ(internet_checksum(example), 0x220D);  // the complement of the sum DDF2 given there
}

TEST(InternetChecksum, IsThatOfACapturedIpv4Header) {
  const std::uint8_t header[] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                                 0x00, 0x00, 0xC0, 0xA8, 0x00, 0x01, 0xC0, 0xA8, 0x00, 0xC7};
  EXPECT_EQ(internet_checksum(header), 0xB861);
}

TEST(InternetChecksum, PadsAnOddLengthWithZero) {
  const std::uint8_t odd[] = {0x12, 0x34, 0x56};
  EXPECT_EQ(internet_checksum(odd), static_cast<std::uint16_t>(~(0x1234 + 0x5600)));
}

TEST(InternetChecksum, AgreesWithTheDefinitionAtEveryLength) {
  std::vector<std::uint8_t> data;
  for (std::size_t length = 0; length < 70; ++length) {
    std::uint32_t sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += i % 2 == 0 ? static_cast<std::uint32_t>(data[i]) << 8 : data[i];
    while (sum > 0xFFFF) sum = (sum & 0xFFFF) + (sum >> 16);
    EXPECT_EQ(internet_checksum(data), static_cast<std::uint16_t>(~sum)) << length;
    data.push_back(static_cast<std::uint8_t>(0xFF - 37 * length));
  }
}

TEST(InternetChecksum, CarriesAroundBeyondSixtyFourBits) {
  const std::vector<std::uint8_t> ones(65536, 0xFF);
  EXPECT_EQ(internet_checksum(ones), 0x0000);
}

TEST(InternetChecksum, MayBeSummedInPartsOfEvenLength) {
  const std::uint8_t data[] = {0x00, 0x01, 0xF2, 0x03, 0xF4, 0xF5, 0xF6, 0xF7};
  const Bytes all{data};
  EXPECT_EQ(ChecksumSum{}.add(all.first(2)).add(all.subspan(2, 4)).add16(0xF6F7).finish(), 0x220D);
}

TEST(Crc32, IsThatOfTheCheckString) { EXPECT_EQ(crc32(bytes_of("123456789")), 0xCBF43926); }

TEST(Crc32, OfNothingIsZero) { EXPECT_EQ(crc32({}), 0u); }

}  // namespace
}  // namespace wizloop::wire
