// What the tests of the judge share: a chip on a bench, and a look at what was found.
//
//   TEST_F(JudgeTest, ...) {
//     open_udp();
//     ...
//     EXPECT_THAT(seen(Rule::send_while_sending), ElementsAre("S0 Sn_CR = 0x20 before SENDOK"));
//     EXPECT_THAT(broken(), IsEmpty());
//   }
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/chip/judge.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::test {

using Octets = std::vector<std::uint8_t>;

class JudgeTest : public testing::Test {
 protected:
  std::vector<std::string> seen(Rule rule) const {
    std::vector<std::string> all;
    for (const Finding& finding : board.findings.all()) {
      if (finding.rule == rule) all.push_back(finding.seen);
    }
    return all;
  }
  const Finding& first(Rule rule) const {
    for (const Finding& finding : board.findings.all()) {
      if (finding.rule == rule) return finding;
    }
    throw std::runtime_error{std::string{text_of(rule).id} + " was not found"};
  }
  // Without notes: most tests begin with a chip as power-up leaves it.
  std::vector<std::string_view> broken() const {
    std::vector<std::string_view> ids;
    for (const Rule rule : board.findings.failing()) ids.push_back(text_of(rule).id);
    return ids;
  }

  // An open UDP socket whose peer's MAC is known.
  void open_udp(int n = 0, std::uint16_t port = 7) {
    board.configure();
    board.set8(n, chip::socket::Sn_MR, chip::sn_mr::UDP);
    board.set16(n, chip::socket::Sn_PORT, port);
    board.set32(n, chip::socket::Sn_DIPR, 0xFFFFFFFF);
    board.set16(n, chip::socket::Sn_DPORT, 9);
    board.command(n, chip::sn_cr::OPEN);
  }
  void finish_send(int n = 0) {
    board.advance(1ms);
    board.set8(n, chip::socket::Sn_IR, 0xFF);
  }
  void resize_all(std::uint16_t offset, std::uint8_t kib) {
    for (int n = 0; n < 8; ++n) board.set8(n, offset, kib);
  }

  TestBoard board;
  TestConnection tcp{board};
};

}  // namespace wizloop::test
