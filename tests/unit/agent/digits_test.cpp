#include "boards/agent/digits.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "boards/agent/crc16.hpp"

namespace wizloop::test {
namespace {

std::optional<std::uint32_t> number(const std::string& text) {
  std::uint32_t value = 0;
  if (!agent::parse_number(text.data(), static_cast<std::uint16_t>(text.size()), &value)) return std::nullopt;
  return value;
}

std::optional<std::vector<std::uint8_t>> ip(const std::string& text) {
  std::uint8_t raw[4];
  if (!agent::parse_ip(text.data(), static_cast<std::uint16_t>(text.size()), raw)) return std::nullopt;
  return std::vector<std::uint8_t>(raw, raw + 4);
}

bool is_mac(const std::string& text) {
  std::uint8_t raw[6];
  return agent::parse_mac(text.data(), static_cast<std::uint16_t>(text.size()), raw);
}

std::string decimal(std::uint64_t value) {
  char digits[agent::max_decimal_digits];
  return {digits, agent::write_decimal(value, digits)};
}

TEST(Digits, NumbersAreDecimalOrHexadecimal) {
  EXPECT_EQ(number("0"), 0U);
  EXPECT_EQ(number("4294967295"), 0xFFFFFFFFU);
  EXPECT_EQ(number("0x39"), 0x39U);
  EXPECT_EQ(number("0XfF"), 0xFFU);
}

TEST(Digits, WhatIsNoNumberIsRefused) {
  for (const char* text : {"", "-1", "+1", "1a", "0x", "0xg", "4294967296", "99999999999999999999999999", " 1", "1."}) {
    EXPECT_EQ(number(text), std::nullopt) << text;
  }
}

TEST(Digits, AddressesAreDotted) {
  EXPECT_EQ(ip("192.168.1.20"), (std::vector<std::uint8_t>{192, 168, 1, 20}));
  for (const char* text : {"", "1.2.3", "1.2.3.4.5", "1.2.3.256", "1..3.4", "1.2.3.4 ", "1.2.3.0004", "a.b.c.d"}) {
    EXPECT_EQ(ip(text), std::nullopt) << text;
  }
}

TEST(Digits, MacsAreSixPairs) {
  EXPECT_TRUE(is_mac("02:00:00:00:0a:FF"));
  for (const char* text : {"", "02:00:00:00:00", "02-00-00-00-00-01", "02:00:00:00:00:0g", "02:00:00:00:00:001"}) {
    EXPECT_FALSE(is_mac(text)) << text;
  }
}

TEST(Digits, WritesAllThatFitsInto64Bits) {
  EXPECT_EQ(decimal(0), "0");
  EXPECT_EQ(decimal(1000), "1000");
  EXPECT_EQ(decimal(0xFFFFFFFFFFFFFFFF), "18446744073709551615");
}

TEST(Crc16, CheckValueOfItsDefinition) {
  std::uint16_t crc = agent::crc16_start;
  for (const char c : std::string{"123456789"}) crc = agent::crc16(crc, static_cast<std::uint8_t>(c));
  EXPECT_EQ(crc, 0x29B1);
}

}  // namespace
}  // namespace wizloop::test
