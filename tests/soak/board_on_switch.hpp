// A simulated board that runs the agent on a stack of its own at a switch, and what a rack has around it: a console
// whose lines are kept, power, a reset button, a cable. Everything here is called on the main stack, between events.
//
//   BoardOnSwitch board{queue, lan.port(0), std::move(setup)};
//   board.set_power(true);
//   const int request = board.send("link wait_ms=5000");
//   queue.advance_to(queue.now() + 6s);
//   board.answer(request)                                   // "ok up=1 ..."
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/board/sim_board.hpp"
#include "sim/core/fiber.hpp"
#include "sim/core/timer.hpp"

namespace wizloop::soak {

// The value of key= in an answer; nothing if it is not there or no number.
std::optional<std::uint64_t> number_of(std::string_view answer, std::string_view key);
std::string_view text_of(std::string_view answer, std::string_view key);

class BoardOnSwitch {
 public:
  BoardOnSwitch(EventQueue& queue, net::SwitchPort& port, board::BoardSetup setup);
  BoardOnSwitch(const BoardOnSwitch&) = delete;
  BoardOnSwitch& operator=(const BoardOnSwitch&) = delete;

  // Types a request; its number. What the board has answered to the one before is forgotten.
  int send(std::string_view request);
  void type(std::string_view text) { board_->console().type(text); }
  // Empty: none yet.
  std::string_view answer(int request) const { return request == answered_ ? std::string_view{answer_} : ""; }
  bool has_answered(int request) const { return request == answered_; }

  void set_power(bool on);
  void press_reset();
  void plug(bool in);

  testbed::Testbed& bed() { return board_->testbed(); }
  // The firmware ended, which it never should.
  bool hangs() const { return hangs_; }

 private:
  void start_firmware();
  void take(Bytes output);
  void take_line();

  EventQueue& queue_;
  std::unique_ptr<board::SimBoard> board_;
  std::unique_ptr<Fiber> firmware_;
  Timer button_;
  bool powered_ = false;
  bool hangs_ = false;
  std::string line_;
  std::string answer_;
  int requests_ = 0;
  int answered_ = 0;
};

}  // namespace wizloop::soak
