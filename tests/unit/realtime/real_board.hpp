// A chip on a bench whose cable ends in a bridge, and a loop that lets its time follow the wall clock while sockets and
// programs of the host talk to it. Without firmware: a test gives commands through the SPI, and serves in between.
//
//   RealBoard board;
//   auto bridge = open_bridge(parse_net("slirp:net=192.168.1.0/24,guest=192.168.1.20").value(), board.site());
//   board.plug_in(*bridge.value());
//   EXPECT_TRUE(board.run_until([&] { return client.received() == 3; }));
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "sim/realtime/bridge.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::test {

inline constexpr std::chrono::seconds longest_wait{20};  // a loaded machine takes its time; a test that hangs ends

class RealBoard {
 public:
  using Clock = std::chrono::steady_clock;

  RealBoard() {
    chip.connect(link.transmitter(net::End::board));
    link.attach(net::End::board, chip);
    board.configure();
  }

  TestBoard board;
  chip::Chip& chip = board.chip;
  EventQueue& queue = board.queue;
  net::Link link{queue, board.random, {}};
  boost::asio::io_context io;
  std::vector<std::string> news;  // what a bridge has reported
  Duration longest_pause{1ms};    // between two looks at what a test waits for

  realtime::BridgeSite site() {
    return {io, queue, board.frames, [this](const std::string& sentence) { news.push_back(sentence); },
            [this] { catch_up(); }};
  }
  void plug_in(realtime::Bridge& bridge) { bridge.plug_into(link, net::End::host); }

  // Until `done`, with the virtual clock beside the wall clock; false if it took too long.
  bool run_until(const std::function<bool()>& done, Clock::duration limit = longest_wait) {
    wall_start_ = Clock::now();
    virtual_start_ = queue.now();
    while (!done()) {
      if (Clock::now() - wall_start_ > limit) return false;
      catch_up();
      const Duration pause = std::min<Duration>(queue.next_deadline() - queue.now(), longest_pause);
      alarm_.expires_after(std::chrono::duration_cast<std::chrono::nanoseconds>(pause));  // run_one_for() knows only ms
      alarm_.async_wait([](const boost::system::error_code&) {});
      io.restart();
      io.run_one();
      io.poll();
    }
    alarm_.cancel();
    return true;
  }

  // What firmware would do: a socket that sends back what it receives.
  void listen(int socket, std::uint16_t port) {
    board.set8(socket, chip::socket::Sn_MR, chip::sn_mr::TCP);
    board.set16(socket, chip::socket::Sn_PORT, port);
    board.command(socket, chip::sn_cr::OPEN);
    board.command(socket, chip::sn_cr::LISTEN);
  }
  void open_udp(int socket, std::uint16_t port) {
    board.set8(socket, chip::socket::Sn_MR, chip::sn_mr::UDP);
    board.set16(socket, chip::socket::Sn_PORT, port);
    board.command(socket, chip::sn_cr::OPEN);
  }
  void connect(int socket, wire::Ipv4Address to, std::uint16_t port) {
    board.set8(socket, chip::socket::Sn_MR, chip::sn_mr::TCP);
    board.set16(socket, chip::socket::Sn_PORT, 40000);
    board.command(socket, chip::sn_cr::OPEN);
    board.set32(socket, chip::socket::Sn_DIPR, to);
    board.set16(socket, chip::socket::Sn_DPORT, port);
    board.command(socket, chip::sn_cr::CONNECT);
  }
  std::vector<std::uint8_t> receive(int socket) {
    const std::uint16_t bytes = board.get16(socket, chip::socket::Sn_RX_RSR);
    if (bytes == 0) return {};
    const std::uint16_t at = board.get16(socket, chip::socket::Sn_RX_RD);
    const auto data = board.read(TestBoard::rx_of(socket), at, bytes);
    board.set16(socket, chip::socket::Sn_RX_RD, static_cast<std::uint16_t>(at + bytes));
    board.command(socket, chip::sn_cr::RECV);
    return data;
  }
  void echo_tcp(int socket) {
    if (board.get16(socket, chip::socket::Sn_TX_FSR) != 2048) return;  // the last echo is under way
    const auto data = receive(socket);
    if (!data.empty()) board.send(socket, data);
  }
  void echo_udp(int socket) {
    const auto data = receive(socket);  // address, port, length, then the datagram
    if (data.size() < 8) return;
    board.set32(socket, chip::socket::Sn_DIPR, load32(data.data()));
    board.set16(socket, chip::socket::Sn_DPORT, load16(&data[4]));
    board.send(socket, {data.begin() + 8, data.begin() + 8 + load16(&data[6])});
  }

 private:
  // Commands take time too, so the queue may be ahead.
  void catch_up() { queue.advance_to(std::max<Instant>(queue.now(), virtual_start_ + (Clock::now() - wall_start_))); }

  boost::asio::steady_timer alarm_{io};
  Clock::time_point wall_start_;
  Instant virtual_start_{};
};

}  // namespace wizloop::test
