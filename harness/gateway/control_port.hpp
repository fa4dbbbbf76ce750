// Power, reset and cable of the boards of one process, over TCP: what a relay board and a switched socket are to a
// rack.
//
// A line is a verb and, where more than one board is served, the name of one: "off b1". The answer is one line, "ok
// ..." or "err CODE text", with the codes syntax, unknown, no-board, too-long and failed. Any number of clients may be
// connected; each line is done whole before the next.
//
//   class Rack : public ControlledRack { ... };
//   ControlPort control{io, rack, token};
//   if (const auto failed = control.open(endpoint)) return *failed;
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/gateway/access.hpp"
#include "harness/gateway/listener.hpp"

namespace wizloop::gateway {

enum class BoardCommand : std::uint8_t {
  off,     // no power: the console is silent, the link down
  on,      // the board starts as from cold
  reset,   // the reset button: RSTn, and the firmware starts again
  unplug,  // the network cable
  replug,
  release,  // takes the console away from the client that holds it
  status,
};

// What the control port acts on.
class ControlledRack {
 public:
  virtual ~ControlledRack() = default;
  virtual std::vector<std::string> boards() const = 0;
  // What follows "ok": "key=value ..." or nothing. The error is one line.
  virtual Result<std::string> command(std::size_t board, BoardCommand command) = 0;
};

// The answer to one line, without its end; empty to an empty line, and to a token where none is needed.
std::string answer_control(ControlledRack& rack, std::string_view line);

class ControlPort {
 public:
  static constexpr std::size_t longest_line = 256;

  ControlPort(boost::asio::io_context& io, ControlledRack& rack, const Token* token)
      : listener_{io, "control port"}, rack_{&rack}, token_{token} {}

  std::optional<Error> open(const Endpoint& at);
  Endpoint endpoint() const { return listener_.endpoint(); }

 private:
  Listener listener_;
  ControlledRack* rack_;
  const Token* token_;
};

}  // namespace wizloop::gateway
