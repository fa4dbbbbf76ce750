// A simulated board that runs the agent firmware: a testbed (chip, bus, cable, PC), the driver's port to it, a UART and
// the agent. In virtual time, on the caller's stack: the board runs while somebody waits for it.
//
//   Result<std::unique_ptr<SimBoard>> board = SimBoard::create({.testbed = {.board = profile}});
//   board.value()->console().type("#1 hello\n");
//   board.value()->run_until_line(1s);                       // "#1 ok agent=1 ..."
//   std::string answer = board.value()->ask("link wait_ms=5000", 10s).value();
//
// A verb runs to its end once it has begun, whatever run_until() was asked for: with a stack of its own it would not,
// and nothing else here would change. Input for a verb that is under way is typed beforehand, by an event of the queue.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "boards/agent/agent.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "harness/board/sim_console.hpp"
#include "harness/board/talking_board.hpp"

namespace wizloop::board {

struct BoardSetup {
  testbed::TestbedSetup testbed;
  UartSetup uart{};
  bool reset_wired = true;
  std::uint16_t line_bytes = 1025;  // a line of 1024 characters and its end
  std::uint16_t data_bytes = 2304;
  std::string firmware = "0.1.0";
  std::optional<w5500::Network> network{};   // that firmware starts with; none: that of every testbed
  agent::StatsSource* more_stats = nullptr;  // outlives the board
};

class SimBoard final : public TalkingBoard {
 public:
  static Result<std::unique_ptr<SimBoard>> create(BoardSetup setup);
  SimBoard(const SimBoard&) = delete;
  SimBoard& operator=(const SimBoard&) = delete;

  testbed::Testbed& testbed() override { return *testbed_; }
  SimConsole& console() { return console_; }
  SimPort& port() { return port_; }

  // What the main of the firmware does: greets, and then answers for ever. On the stack that firmware runs on: it looks
  // at the clock, which may move time.
  void boot() override;
  void type(std::string_view text) override { console_.type(text); }
  // What a reset of the microcontroller does: firmware has forgotten all, UART and SPI are idle. The chip keeps what it
  // has; boot() comes next. What is typed in between waits in the UART.
  void restart();
  void run_once(Duration at_most) override;

 private:
  SimBoard(std::unique_ptr<testbed::Testbed> bed, BoardSetup setup);

  BoardSetup setup_;
  std::unique_ptr<testbed::Testbed> testbed_;
  SimPort port_;
  SimConsole console_;
  std::vector<char> line_memory_;
  std::vector<std::uint8_t> data_memory_;
  agent::Identity identity_;
  std::optional<agent::Agent> agent_;
};

}  // namespace wizloop::board
