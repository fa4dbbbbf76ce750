// What all peers of one process share: the event loop, the report, how much they serve before they end, and how long a
// silent client may keep them waiting.
#pragma once

#include <utility>  // first: Boost 1.74's awaitable.hpp uses std::exchange without it

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <string>

#include "harness/gateway/peers/endpoint.hpp"
#include "harness/gateway/peers/report.hpp"

namespace wizloop::peers {

using Tcp = boost::asio::ip::tcp;
using Udp = boost::asio::ip::udp;
using WallClock = std::chrono::steady_clock;

class Session {
 public:
  Session(boost::asio::io_context& loop, Report& into) : io{loop}, report{into} {}

  boost::asio::io_context& io;
  Report& report;
  std::uint64_t transfers_left = UINT64_MAX;   // of all services; with the last one the process ends
  std::chrono::milliseconds patience{60'000};  // how long a transfer may stand still

  bool failed = false;  // a transfer that had to be whole was not

  void transfer_ended() {
    if (transfers_left > 0) --transfers_left;
    end_if_all_are_over();
  }
  // A part of a transfer that goes on by itself.
  void part_begins() { ++parts_under_way_; }
  void part_ended() {
    --parts_under_way_;
    end_if_all_are_over();
  }

 private:
  void end_if_all_are_over() {
    if (transfers_left == 0 && parts_under_way_ == 0) io.stop();
  }

  int parts_under_way_ = 0;
};

// From the first byte to the last, by the wall clock.
class Stopwatch {
 public:
  void mark() {
    last_ = WallClock::now();
    if (first_ == WallClock::time_point{}) first_ = last_;
  }
  std::uint64_t us() const {
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(last_ - first_).count());
  }

 private:
  WallClock::time_point first_{};
  WallClock::time_point last_{};
};

// How a transfer ended, for the report: "closed" in good order, "silent" when nothing moved any more, or the error.
inline std::string ending(const boost::system::error_code& error, bool out_of_patience) {
  if (out_of_patience) return "silent";
  return !error || error == boost::asio::error::eof ? "closed" : error.message();
}

inline double mbit_s(std::uint64_t bytes, std::uint64_t us) {
  return us == 0 ? 0.0 : 8.0 * static_cast<double>(bytes) / static_cast<double>(us);
}

// Cancels what a socket waits for once nothing has moved for the session's patience.
template <typename Socket>
class Patience {
 public:
  Patience(Session& session, Socket& socket) : socket_{socket}, timer_{session.io}, span_{session.patience} { renew(); }
  Patience(const Patience&) = delete;
  Patience& operator=(const Patience&) = delete;

  // Something has moved. The timer itself is touched at most once a span, not for each piece.
  void renew() {
    expires_ = WallClock::now() + span_;
    if (!waiting_) wait();
  }
  bool over() const { return over_; }

 private:
  void wait() {
    waiting_ = true;
    timer_.expires_at(expires_);
    timer_.async_wait([this](const boost::system::error_code& error) {
      if (error) return;  // this object is gone: touch nothing
      waiting_ = false;
      if (WallClock::now() < expires_) return wait();
      over_ = true;
      boost::system::error_code ignored;
      socket_.cancel(ignored);
    });
  }

  Socket& socket_;
  boost::asio::steady_timer timer_;
  std::chrono::milliseconds span_;
  WallClock::time_point expires_{};
  bool waiting_ = false;
  bool over_ = false;
};

}  // namespace wizloop::peers
