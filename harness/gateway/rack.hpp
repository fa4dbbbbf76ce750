// The boards of one process, their switch and what joins it to the host, and the control port: `wizloop serve`.
//
//   Rack rack{options, say};
//   if (const auto failed = rack.set_up()) ...
//   rack.serve();                                     // until SIGTERM, SIGINT or SIGHUP
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/gateway/control_port.hpp"
#include "harness/gateway/ready_file.hpp"
#include "harness/gateway/serve_options.hpp"
#include "harness/gateway/virtual_board.hpp"
#include "sim/core/random.hpp"
#include "sim/net/switch.hpp"
#include "sim/realtime/bridge.hpp"
#include "sim/realtime/pacer.hpp"

namespace wizloop::gateway {

// What the board with this number starts with, where its options leave it open.
BoardAddresses addresses_of(const ServeOptions& options, std::size_t number);

class Rack final : private ControlledRack {
 public:
  using Say = std::function<void(const std::string&)>;

  Rack(ServeOptions options, Say say);
  Rack(const Rack&) = delete;
  Rack& operator=(const Rack&) = delete;
  ~Rack() override;

  // Opens all ports, and switches the boards on. The error leaves nothing behind.
  std::optional<Error> set_up();
  // One line for each board and one for all of them, and the ready file.
  std::optional<Error> say_ready();
  void serve();

 private:
  std::vector<std::string> boards() const override;
  Result<std::string> command(std::size_t board, BoardCommand command) override;
  std::optional<Error> open_bridge();

  ServeOptions options_;
  std::optional<ReadyFile> ready_file_;
  Say say_;
  boost::asio::io_context io_;
  boost::asio::signal_set signals_{io_, SIGTERM, SIGINT, SIGHUP};  // from before there is anything to be left behind
  wire::FramePool frames_;                                         // outlives what is under way in the queue
  EventQueue queue_;
  realtime::Pacer pacer_;
  std::optional<Token> token_;
  net::Switch lan_;
  std::optional<net::Link> bridge_link_;
  std::unique_ptr<realtime::Bridge> bridge_;
  std::vector<std::unique_ptr<VirtualBoard>> boards_;
  std::optional<ControlPort> control_;
};

}  // namespace wizloop::gateway
