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

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "boards/agent/agent.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "harness/board/sim_console.hpp"
#include "sim/testbed/testbed.hpp"

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

class SimBoard final {
 public:
  static Result<std::unique_ptr<SimBoard>> create(BoardSetup setup);
  SimBoard(const SimBoard&) = delete;
  SimBoard& operator=(const SimBoard&) = delete;

  testbed::Testbed& testbed() { return *testbed_; }
  SimConsole& console() { return console_; }
  SimPort& port() { return port_; }
  EventQueue& queue() { return testbed_->queue(); }
  Instant now() const { return testbed_->now(); }

  // What the main of the firmware does: greets, and then answers for ever.
  void boot() { agent_->boot(); }
  // What a reset of the microcontroller does: firmware has forgotten all, UART and SPI are idle. The chip keeps what it
  // has; boot() comes next.
  void restart();
  void run_once(Duration at_most);

  // Runs the firmware until then, or longer if a verb does.
  void run_until(Instant until);
  // Runs the firmware until it has sent a whole line, and takes it; nothing if it has not by then.
  std::optional<std::string> run_until_line(Duration within);
  // Types "#N request" and returns the answer without its "#N "; other lines are kept in heard().
  std::optional<std::string> ask(std::string_view request, Duration within);

  // Lines that nobody waited for: events, log.
  const std::deque<std::string>& heard() const { return heard_; }
  void forget_heard() { heard_.clear(); }

 private:
  SimBoard(std::unique_ptr<testbed::Testbed> bed, BoardSetup setup);
  void start_agent();
  void on_output(Bytes bytes);

  BoardSetup setup_;
  std::unique_ptr<testbed::Testbed> testbed_;
  SimPort port_;
  SimConsole console_;
  std::vector<char> line_memory_;
  std::vector<std::uint8_t> data_memory_;
  agent::Identity identity_;
  std::optional<agent::Agent> agent_;
  std::string partial_;
  std::deque<std::string> lines_;
  std::deque<std::string> heard_;
  std::uint32_t sequence_ = 0;
};

}  // namespace wizloop::board
