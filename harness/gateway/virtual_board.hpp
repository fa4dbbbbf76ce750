// One virtual rack board: a simulated board that runs the agent firmware on a stack of its own, with what a rack has
// around it: a console for the outside world, a switch for its power, a reset button, a cable that can be pulled.
//
//   RackSite site{io, queue, pacer, say};
//   auto board = VirtualBoard::create(site, options, addresses, lan.port(0), seed);
//   board.value()->set_power(true);
//
// Everything here is called by handlers of the io_context, on the main stack.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "harness/board/sim_board.hpp"
#include "harness/gateway/console.hpp"
#include "harness/gateway/pty_port.hpp"
#include "harness/gateway/serve_options.hpp"
#include "harness/gateway/tcp_port.hpp"
#include "sim/core/fiber.hpp"
#include "sim/core/timer.hpp"
#include "sim/net/switch.hpp"
#include "sim/realtime/pacer.hpp"

namespace wizloop::gateway {

// Where the boards of one process live; all of it outlives them.
struct RackSite {
  boost::asio::io_context& io;
  EventQueue& queue;
  realtime::Pacer& pacer;
  const Token* token = nullptr;
  std::function<void(const std::string&)> say{};  // one line, to whoever started the process
};

// What the firmware of a board starts with.
struct BoardAddresses {
  wire::MacAddress mac{};
  wire::Ipv4Address ip = 0;
  wire::Ipv4Address mask = 0;
  wire::Ipv4Address gateway = 0;
};

class VirtualBoard final : private ConsoleBoard, private agent::StatsSource {
 public:
  static Result<std::unique_ptr<VirtualBoard>> create(const RackSite& site, const BoardOptions& options,
                                                      const BoardAddresses& addresses, net::SwitchPort& port,
                                                      std::uint64_t seed);
  VirtualBoard(const VirtualBoard&) = delete;
  VirtualBoard& operator=(const VirtualBoard&) = delete;
  ~VirtualBoard() override;

  const BoardOptions& options() const { return options_; }
  const BoardAddresses& addresses() const { return addresses_; }
  const std::string& pty() const { return pty_->device(); }
  std::optional<Endpoint> tcp() const { return tcp_ ? std::optional{tcp_->endpoint()} : std::nullopt; }
  std::optional<Endpoint> rfc2217() const { return rfc2217_ ? std::optional{rfc2217_->endpoint()} : std::nullopt; }

  void set_power(bool on);
  // False: it has no power.
  bool reset();
  void plug(bool in);
  // Takes the console away from whoever holds it; false if nobody does.
  bool release() { return console_.release(); }
  // "key=value ...".
  std::string status();

  // What there is to be said at the end; files are written out.
  void finish();

 private:
  VirtualBoard(const RackSite& site, BoardOptions options, const BoardAddresses& addresses);
  std::optional<Error> open_ports();
  void start_firmware();
  void run_firmware();
  void crash(std::string_view why);
  void tell_news();

  std::size_t type(std::span<const std::uint8_t> bytes) override;
  void set_dtr(bool on) override;
  bool stat(std::uint8_t index, const char** key, std::uint64_t* value) override;

  RackSite site_;
  BoardOptions options_;
  BoardAddresses addresses_;
  Console console_;
  std::unique_ptr<board::SimBoard> board_;
  std::unique_ptr<Fiber> firmware_;
  Timer button_;  // the finger that is on it
  Timer room_;    // on the line to the board
  Duration byte_time_;
  Instant line_busy_until_{};
  Instant powered_since_{};
  bool plugged_ = true;
  bool crashed_ = false;  // the firmware, until it starts again
  std::size_t findings_told_ = 0;
  bool file_error_told_ = false;
  bool drops_told_ = false;
  std::optional<TcpPort> tcp_;
  std::optional<TcpPort> rfc2217_;
  std::unique_ptr<PtyPort> pty_;
};

}  // namespace wizloop::gateway
