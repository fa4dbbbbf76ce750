// A line to the agent firmware (boards/agent/README.md) over a serial port or TCP, from the host's side: one request at
// a time, each with a checksum and a deadline.
//
//   Result<std::unique_ptr<AgentChannel>> channel = AgentChannel::open("serial:/dev/ttyACM0@115200");
//   Result<Reply> greeting = channel.value()->ask("hello", 1s);
//   greeting.value().text("board");
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/core/result.hpp"

namespace wizloop::spi_bridge {

// What follows "#N ok": its keys and values.
class Reply {
 public:
  explicit Reply(std::string_view words);

  // Empty if the key is not there.
  std::string_view text(std::string_view key) const;
  // 0 if the key is not there or no number.
  std::uint64_t number(std::string_view key) const;

 private:
  std::vector<std::pair<std::string, std::string>> values_;
};

class AgentChannel {
 public:
  using Timeout = std::chrono::milliseconds;

  struct Counters {
    std::uint64_t requests = 0;  // answered ones
    std::uint64_t retries = 0;
    std::uint64_t damaged = 0;  // lines whose checksum was wrong, in either direction
    std::uint64_t lost = 0;     // requests without an answer in time
  };

  // "serial:PORT[@BAUD]" (115200) or "tcp:HOST:PORT". The error says what is wrong with the address, or which port
  // could not be opened and why; a serial port that another program holds is left to it. A gateway that asks for a
  // token is reached through a tunnel (ssh -L).
  static Result<std::unique_ptr<AgentChannel>> open(std::string_view address);
  virtual ~AgentChannel() = default;

  // `request` without its number. Asked again, up to three times in all, where the agent says that it did not do it
  // because the line was damaged on its way; and, only if `repeatable`, where the answer was damaged or did not come,
  // since nobody knows then whether it was done. A board that starts anew meanwhile answers nothing any more: that is
  // an error at once. The error is the agent's code and words, or what happened to the line.
  Result<Reply> ask(std::string_view request, Timeout timeout, bool repeatable = false);

  const Counters& counters() const { return counters_; }

 protected:
  enum class Io : std::uint8_t { done, timeout, closed };
  // What the transports are: bytes out and a line in, until a deadline.
  virtual Io send(std::string_view bytes, std::chrono::steady_clock::time_point deadline) = 0;
  virtual Io read_line(std::string& line, std::chrono::steady_clock::time_point deadline) = 0;

 private:
  enum class Outcome : std::uint8_t { answered, refused, not_done, unknown };
  Outcome ask_once(std::string_view request, Timeout timeout, std::string& answer);

  Counters counters_;
  std::uint32_t sequence_ = 0;
};

}  // namespace wizloop::spi_bridge
