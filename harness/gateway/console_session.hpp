// One TCP connection to a console, as it is or as RFC 2217.
#pragma once

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/gateway/access.hpp"
#include "harness/gateway/backlog.hpp"
#include "harness/gateway/console.hpp"
#include "harness/gateway/listener.hpp"
#include "harness/gateway/rfc2217.hpp"

namespace wizloop::gateway {

enum class Protocol : std::uint8_t { raw, rfc2217 };

class ConsoleSession final : public Session,
                             public std::enable_shared_from_this<ConsoleSession>,
                             private ConsoleClient,
                             private Rfc2217::Line {
 public:
  ConsoleSession(Listener::Socket socket, Console& console, Protocol protocol, const Token* token);

  void start() override;
  void close() override;
  bool is_open() const override { return socket_.is_open(); }

 private:
  const std::string& name() const override { return name_; }
  void show(std::span<const std::uint8_t> bytes) override;
  void go_on() override;
  void drop_typed() override;
  void board_is(bool powered) override;

  void typed(std::span<const std::uint8_t> bytes) override;
  void answer(std::span<const std::uint8_t> bytes) override;
  std::uint32_t baud(std::uint32_t wanted) override;
  std::uint8_t data_bits(std::uint8_t wanted) override;
  std::uint8_t parity(std::uint8_t wanted) override;
  std::uint8_t stop_bits(std::uint8_t wanted) override;
  std::uint8_t control(std::uint8_t wanted) override;
  void purge(std::uint8_t what) override;
  void suspend(bool on) override;
  bool powered() const override { return console_->powered(); }

  template <typename T>
  T set(T LineSettings::*setting, T wanted, T least, T most);
  void admit();
  void read();
  void received(std::span<const std::uint8_t> bytes);
  void hand_over();
  void write();
  void fill_sending();

  Listener::Socket socket_;
  boost::asio::steady_timer patience_;
  Console* console_;
  std::string name_;
  Admission admission_;
  bool attached_ = false;
  std::optional<Rfc2217> telnet_;
  bool suspended_ = false;

  std::array<std::uint8_t, 4096> input_{};
  bool reading_ = false;
  std::vector<std::uint8_t> typed_;  // not taken by the board yet; nothing is read as long as there is some

  Backlog backlog_{backlog_bytes};
  std::vector<std::uint8_t> answers_;
  std::vector<std::uint8_t> sending_;
  bool writing_ = false;
};

}  // namespace wizloop::gateway
