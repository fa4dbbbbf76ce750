// A board with firmware on it that answers lines of text, in virtual time, whatever it is made of: lines out of the
// bytes that it sends, questions and their answers. The board runs while somebody waits for it. SimBoard is one; the
// tests of the agent run on any.
//
//   board.boot();
//   board.type("#1 hello\n");
//   board.run_until_line(1s);                       // "#1 ok agent=1 ..."
//   std::string answer = board.ask("link wait_ms=5000", 10s).value();
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "sim/core/bytes.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop::board {

class TalkingBoard {
 public:
  virtual ~TalkingBoard() = default;

  virtual testbed::Testbed& testbed() = 0;
  // Firmware starts, and greets.
  virtual void boot() = 0;
  // Begins to arrive at the board's console now, or after what was typed before.
  virtual void type(std::string_view text) = 0;
  // Firmware does one thing, or waits for input: for so long, or for as long as its main has it wait if that is less.
  virtual void run_once(Duration at_most) = 0;

  EventQueue& queue() { return testbed().queue(); }
  Instant now() { return testbed().now(); }

  // Runs the firmware until then, or longer if a verb does.
  void run_until(Instant until);
  // Runs the firmware until it has sent a whole line, and takes it; nothing if it has not by then.
  std::optional<std::string> run_until_line(Duration within);
  // Types "#N request" and returns the answer without its "#N "; other lines are kept in heard().
  std::optional<std::string> ask(std::string_view request, Duration within);

  // Lines that nobody waited for: events, log.
  const std::deque<std::string>& heard() const { return heard_; }
  void forget_heard() { heard_.clear(); }

 protected:
  // What the firmware has sent.
  void on_output(Bytes bytes);

 private:
  std::string partial_;
  std::deque<std::string> lines_;
  std::deque<std::string> heard_;
  std::uint32_t sequence_ = 0;
};

}  // namespace wizloop::board
