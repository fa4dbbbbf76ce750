// A console on a pseudo terminal, as a serial port that programs open by name: raw from the start, and again after each
// client, whatever that one has set.
//
// Like a serial port it keeps nothing for a client that is not there: what the board says while nobody has it open is
// not waiting for the next one. Whether somebody has, the kernel tells only when the last one closes; for the next one
// this looks 20 times a second. Opening it raises DTR, closing it drops DTR (termios has no such line on a pty).
// Several programs that have it open at once are one client: the kernel does not tell them apart.
//
//   Result<std::unique_ptr<PtyPort>> pty = PtyPort::create(io, console, "/tmp/board");
#pragma once

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/gateway/backlog.hpp"
#include "harness/gateway/console.hpp"
#include "harness/gateway/serial_link.hpp"
#include "sim/core/result.hpp"

namespace wizloop::gateway {

class PtyPort final : private ConsoleClient {
 public:
  // Without a link, device() is all that tells where it is. The io_context does not run any more once a port is gone.
  static Result<std::unique_ptr<PtyPort>> create(boost::asio::io_context& io, Console& console,
                                                 const std::optional<std::filesystem::path>& link);
  ~PtyPort() override;

  const std::string& device() const { return device_; }

 private:
  PtyPort(boost::asio::io_context& io, Console& console, int master, int openings, std::string device);

  const std::string& name() const override { return name_; }
  void show(std::span<const std::uint8_t> bytes) override;
  void go_on() override;
  void drop_typed() override;
  void board_is(bool /*powered*/) override {}

  std::optional<Error> make_ready() const;
  void look();
  void read();
  void write();
  void gone();

  boost::asio::posix::stream_descriptor master_;
  boost::asio::posix::stream_descriptor openings_;  // inotify: a client opens the pty
  Console* console_;
  std::string device_;
  std::string name_;
  std::optional<SerialLink> link_;
  bool open_ = false;
  std::uint64_t opening_ = 0;  // tells operations apart that were begun for a client that has gone
  bool reading_ = false;
  bool writing_ = false;
  std::array<std::uint8_t, 4096> input_{};
  std::vector<std::uint8_t> typed_;
  Backlog backlog_{backlog_bytes};
};

}  // namespace wizloop::gateway
