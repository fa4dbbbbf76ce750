// The agent between a console of strings and a fake chip.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "boards/agent/agent.hpp"
#include "tests/support/fake_w5500.hpp"
#include "tests/unit/agent/fake_console.hpp"

namespace wizloop::test {

// The checksum, written down anew: bit by bit.
inline std::string with_crc(std::string_view text) {
  unsigned crc = 0xFFFF;
  for (const char c : text) {
    crc ^= static_cast<unsigned>(static_cast<unsigned char>(c)) << 8;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 0x8000) != 0 ? (crc << 1) ^ 0x1021 : crc << 1;
    crc &= 0xFFFF;
  }
  std::array<char, 8> digits{};
  std::snprintf(digits.data(), digits.size(), " *%04X", crc);
  return std::string{text} + digits.data();
}

class AgentTest : public testing::Test {
 protected:
  static constexpr std::uint16_t line_bytes = 201;

  AgentTest() {
    agent.boot();
    greeting = std::exchange(console.output, {});
  }

  void TearDown() override { EXPECT_THAT(chip.violations(), testing::IsEmpty()); }

  // All that the agent says to this input.
  std::string say(std::string_view input) {
    console.input.append(input);
    // Twice more than there is input, since one round may only drop something.
    for (int i = 0; i < 20 || !console.input.empty(); ++i) agent.run_once(1000);
    return std::exchange(console.output, {});
  }

  FakeConsole console;
  FakeW5500 chip;
  std::array<char, line_bytes> line{};
  std::array<std::uint8_t, 2304> data{};
  agent::Identity identity{
      "testboard", "1.2", {{2, 0, 0, 0, 0, 7}, {10, 0, 0, 2}, {255, 0, 0, 0}, {10, 0, 0, 1}}, nullptr};
  agent::Agent agent{console, chip, identity, {line.data(), line_bytes, data.data(), 2304}};
  std::string greeting;
};

}  // namespace wizloop::test
