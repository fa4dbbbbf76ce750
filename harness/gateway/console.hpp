// One board's console, offered to any number of clients at once: ptys, TCP connections, RFC 2217 connections.
//
// All clients see what the board says. One at a time may type: the first that does holds the console until it goes, or
// until the control port takes it away. A client that connects and says nothing holds nothing. What another client
// types meanwhile is dropped, and it is told so line by line, with who holds the console: "#7 err busy holder=..." to
// a request of the agent's protocol (boards/agent/README.md), "! busy holder=..." to any other line.
//
//   Console console{board};
//   PtyPort pty{...}; TcpPort tcp{...};      // attach themselves
//   console.show(bytes_from_the_board);
//
// A client whose reading lags loses bytes (backlog.hpp); it holds up neither the board nor the others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace wizloop::gateway {

// The board's end of the line.
class ConsoleBoard {
 public:
  virtual ~ConsoleBoard() = default;
  // Takes as many as there is room for and says how many; Console::has_room() tells when there is more. A board without
  // power takes all: they are lost on the line.
  virtual std::size_t type(std::span<const std::uint8_t> bytes) = 0;
  // Data Terminal Ready, as a board sees it that resets when a terminal is opened.
  virtual void set_dtr(bool on) = 0;
};

class ConsoleClient {
 public:
  virtual ~ConsoleClient() = default;
  virtual const std::string& name() const = 0;
  // Neither waits nor detaches.
  virtual void show(std::span<const std::uint8_t> bytes) = 0;
  // The board takes more of what type() has left.
  virtual void go_on() = 0;
  // What type() has left is not wanted any more.
  virtual void drop_typed() = 0;
  // The board's power has come or gone.
  virtual void board_is(bool powered) = 0;
};

// What an RFC 2217 client may set. As with the USB port of a board, none of it changes how the board's bytes travel;
// the numbers are those of RFC 2217.
struct LineSettings {
  std::uint32_t baud = 115'200;
  std::uint8_t data_bits = 8;
  std::uint8_t parity = 1;  // none
  std::uint8_t stop_bits = 1;
  std::uint8_t flow_control = 1;  // none
  bool break_on = false;
  bool dtr = false;
  bool rts = false;
};

class Console {
 public:
  explicit Console(ConsoleBoard& board) : board_{&board} {}
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  void attach(ConsoleClient& client);
  // What it held is free again, and DTR and RTS drop with it.
  void detach(ConsoleClient& client);

  // From a client: how many bytes it need not offer again. Takes the console if nobody holds it.
  std::size_t type(ConsoleClient& client, std::span<const std::uint8_t> bytes);
  // True if the client may change the line: it holds the console, now at least.
  bool take(ConsoleClient& client);
  const LineSettings& line() const { return line_; }
  LineSettings& line() { return line_; }
  // The caller has taken the console.
  void set_dtr(ConsoleClient& client, bool on);
  // A terminal was opened, which raises DTR unless somebody else holds the console, and was closed.
  void opened(ConsoleClient& client);
  void closed(ConsoleClient& client);

  // From the board.
  void show(std::span<const std::uint8_t> bytes);
  void show(std::string_view text);
  void has_room();
  void set_powered(bool on);
  bool powered() const { return powered_; }

  // Empty: nobody holds it.
  std::string_view holder() const { return holder_ == nullptr ? std::string_view{} : holder_->name(); }
  // Takes it away from whoever holds it; false if nobody does. The client stays connected.
  bool release();
  std::size_t clients() const { return clients_.size(); }

 private:
  struct RefusedLine {
    std::string start;  // as much as tells a request from any other line
    std::string end;    // as much as a checksum takes
    std::size_t length = 0;
    bool told = false;
  };
  void refuse(ConsoleClient& client, std::span<const std::uint8_t> bytes);
  void tell_busy(ConsoleClient& client, RefusedLine& line) const;
  void drop_lines_of(const ConsoleClient& client);

  ConsoleBoard* board_;
  std::vector<ConsoleClient*> clients_;
  std::unordered_map<const ConsoleClient*, RefusedLine> refused_;
  ConsoleClient* holder_ = nullptr;
  const ConsoleClient* dtr_of_ = nullptr;
  LineSettings line_;
  bool powered_ = false;
};

}  // namespace wizloop::gateway
