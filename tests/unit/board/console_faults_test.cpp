// Noise on the console of the simulated board, and bytes that its UART loses.
#include <random>

#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::StartsWith;

class ConsoleFaults : public SimBoardTest {};

TEST_F(ConsoleFaults, ConsoleFloodedWithNoiseAtFullRateStaysUsable) {
  std::mt19937 random{1};
  std::string noise(200'000, 0);
  for (char& byte : noise) byte = static_cast<char>(random());
  sim.console().type(noise);  // two seconds of it
  board->run_until(board->now() + 2100ms);
  sim.console().type("\n");
  board->run_until(board->now() + 1s);
  while (board->run_until_line(1ms)) {
  }
  EXPECT_THAT(ask("hello"), StartsWith("ok agent=1 "));
  EXPECT_GT(number_of(ask("stats"), "bad_lines"), 100U);
}

TEST_F(ConsoleFaults, FloodOfRequestsIsAnsweredOrToldToBeLost) {
  std::string flood;
  for (int i = 1; i <= 2000; ++i) flood += "#" + std::to_string(i) + " hello\n";  // answers are ten times longer
  sim.console().type(flood);
  board->run_until(board->now() + 3s);
  std::size_t answered = 0;
  std::size_t overruns = 0;
  while (const auto line = board->run_until_line(1ms)) {
    answered += line->find(" ok agent=1 ") != std::string::npos ? 1 : 0;
    overruns += *line == "! overrun" ? 1 : 0;
  }
  EXPECT_GT(answered, 50U);
  EXPECT_GT(overruns, 0U);
  EXPECT_THAT(ask("hello"), testing::AnyOf(StartsWith("ok agent=1 "), "err overrun"));
  EXPECT_THAT(ask("hello"), StartsWith("ok agent=1 "));
}

TEST_F(ConsoleFaults, BytesLostInsideALineNeverJoinTwoRequests) {
  // 3000 bytes while the firmware waits for the link: the receive FIFO of 1024 overflows in the middle of some line.
  board->testbed().chip().plug(false);
  board->run_until(board->now() + 1s);
  std::string burst = "#900 selftest\n";
  for (int i = 1; i <= 200; ++i) burst += "#" + std::to_string(i) + " reg block=s7 offset=4 data=0001\n";
  sim.console().type(burst);
  board->run_until(board->now() + 2s);
  std::vector<std::string> wrong;
  while (const auto line = board->run_until_line(1ms)) {
    if (!line->ends_with(" ok count=2") && !line->starts_with("#900 ok ") && *line != "! overrun" &&
        !line->ends_with(" err overrun")) {
      wrong.push_back(*line);
    }
  }
  EXPECT_THAT(wrong, testing::IsEmpty());
  EXPECT_THAT(ask("hello"), testing::AnyOf(StartsWith("ok agent=1 "), "err overrun"));
  EXPECT_EQ(number_of(ask("stats"), "overruns"), 1U);
}

}  // namespace
}  // namespace wizloop::test
