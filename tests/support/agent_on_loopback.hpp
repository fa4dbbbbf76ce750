// A simulated board that runs the agent, behind a TCP port of this process: the board's time is virtual and goes on
// whenever something is asked of it. What goes over the line can be damaged on its way.
#pragma once

#include <atomic>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "harness/board/sim_board.hpp"

namespace wizloop::test {

class AgentOnLoopback {
 public:
  // Changes a line that passes; an empty one is lost. Called by the board's thread.
  using Damage = std::function<std::string(std::string line)>;

  explicit AgentOnLoopback(board::BoardSetup setup, Damage to_board = {}, Damage from_board = {})
      : to_board_{std::move(to_board)}, from_board_{std::move(from_board)} {
    acceptor_ = std::make_unique<Tcp::acceptor>(io_, Tcp::endpoint{boost::asio::ip::address_v4::loopback(), 0});
    thread_ = std::thread{[this, setup = std::move(setup)]() mutable { serve(std::move(setup)); }};
  }
  AgentOnLoopback(const AgentOnLoopback&) = delete;
  AgentOnLoopback& operator=(const AgentOnLoopback&) = delete;
  ~AgentOnLoopback() {
    // Whether or not somebody has connected: the thread then sees the end of its client.
    Tcp::socket last{io_};
    boost::system::error_code ignored;
    if (!connected_) last.connect(acceptor_->local_endpoint(), ignored);
    last.close(ignored);
    thread_.join();
  }

  std::string address() const { return "tcp:127.0.0.1:" + std::to_string(acceptor_->local_endpoint().port()); }

 private:
  using Tcp = boost::asio::ip::tcp;

  void serve(board::BoardSetup setup) {
    auto board = board::SimBoard::create(std::move(setup));
    WIZ_ASSERT(static_cast<bool>(board));
    Tcp::socket client{io_};
    acceptor_->accept(client);
    connected_ = true;
    board.value()->boot();
    boost::system::error_code error;
    std::string received;
    for (;;) {
      std::array<char, 4096> piece;
      const std::size_t count = client.read_some(boost::asio::buffer(piece), error);
      if (error) return;
      received.append(piece.data(), count);
      for (std::size_t end; (end = received.find('\n')) != std::string::npos;) {
        std::string line = received.substr(0, end + 1);
        received.erase(0, end + 1);
        if (to_board_) line = to_board_(std::move(line));
        board.value()->console().type(line);
        // What is said of its own accord may come before the answer.
        bool answered = line.size() <= 1;
        while (auto said = board.value()->run_until_line(answered ? 1ms : 20s)) {
          answered = answered || said->starts_with('#');
          std::string answer = *said + "\r\n";
          if (from_board_) answer = from_board_(std::move(answer));
          boost::asio::write(client, boost::asio::buffer(answer), error);
        }
      }
    }
  }

  Damage to_board_;
  Damage from_board_;
  boost::asio::io_context io_;
  std::unique_ptr<Tcp::acceptor> acceptor_;
  std::atomic<bool> connected_{false};
  std::thread thread_;
};

}  // namespace wizloop::test
