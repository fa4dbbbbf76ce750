// A board with the agent on it, booted and with its link up. Every test ends with the question whether the firmware
// broke a rule of the datasheet. The tests of BoardTest run on each kind of board; those of SimBoardTest want what only
// the simulated board has.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>

#include "harness/board/sim_board.hpp"

namespace wizloop::test {

inline bus::BoardProfile profile(std::string_view name) {
  auto profile = bus::load_board(std::filesystem::path{WIZLOOP_BOARDS_DIR} / (std::string{name} + ".toml"));
  WIZ_ASSERT(profile);
  return std::move(profile).value();
}

inline board::BoardSetup setup_of(std::string_view name) { return {.testbed = {.board = profile(name)}}; }

// The value of key= in an answer; empty if it is not there.
inline std::string value_of(std::string_view answer, std::string_view key) {
  const std::string wanted = " " + std::string{key} + "=";
  const std::size_t at = answer.find(wanted);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = answer.substr(at + wanted.size());
  return std::string{rest.substr(0, rest.find(' '))};
}

inline std::uint64_t number_of(std::string_view answer, std::string_view key) {
  const std::string text = value_of(answer, key);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  EXPECT_TRUE(!text.empty() && error == std::errc{} && end == text.data() + text.size())
      << key << " is no number in: " << answer;
  return number;
}

// What sets one kind of board apart from another. A program links one: sim_kind.cpp, or that of the Arduino sketch.
struct BoardKind {
  bool has_dma;
  const char* mac;      // that it has at first, without colons
  const char* gateway;  // likewise; the IP is 192.168.1.20
  std::unique_ptr<board::TalkingBoard> (*make)(board::BoardSetup setup);
};
extern const BoardKind kind;

class BoardTest : public testing::Test {
 protected:
  explicit BoardTest(std::string_view name = "w55rp20") : BoardTest{kind.make(setup_of(name))} {}
  explicit BoardTest(std::unique_ptr<board::TalkingBoard> made) : board{std::move(made)} {
    board->boot();
    greeting = board->run_until_line(1s).value_or("");
    EXPECT_EQ(number_of(ask("link wait_ms=10000"), "up"), 1U);
    board->forget_heard();
  }

  void TearDown() override {
    const Findings& findings = board->testbed().findings();
    for (const Finding& finding : findings.all()) {
      if (findings.announced(finding.rule) == nullptr)
        ADD_FAILURE() << text_of(finding.rule).id << ": " << finding.seen;
    }
  }

  std::string ask(std::string_view request, Duration within = 200s) {
    const auto answer = board->ask(request, within);
    return answer ? *answer : "(no answer)";
  }
  net::LwipHost& pc() { return board->testbed().pc(); }
  void at(Duration delay, std::string text) {
    board->queue().schedule(delay,
                            [this, text = std::make_shared<std::string>(std::move(text))] { board->type(*text); });
  }

  std::unique_ptr<board::TalkingBoard> board;
  std::string greeting;
};

class SimBoardTest : public BoardTest {
 protected:
  explicit SimBoardTest(std::string_view name = "w55rp20") : SimBoardTest{setup_of(name)} {}
  explicit SimBoardTest(board::BoardSetup setup) : SimBoardTest{board::SimBoard::create(std::move(setup))} {}

  board::SimBoard& sim;

 private:
  explicit SimBoardTest(Result<std::unique_ptr<board::SimBoard>> created)
      : BoardTest{std::move(created).value()}, sim{static_cast<board::SimBoard&>(*board)} {}
};

}  // namespace wizloop::test
