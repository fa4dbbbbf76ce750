#include "sim/realtime/pacer.hpp"

#include <algorithm>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/steady_timer.hpp>
#include <utility>

#include "sim/core/assert.hpp"

namespace wizloop::realtime {
namespace {

class Descriptors final : public Outside {
 public:
  explicit Descriptors(boost::asio::io_context& io) : io_{io}, work_{io.get_executor()}, timer_{io} {}
  ~Descriptors() override { *alive_ = false; }

  WallInstant now() override { return std::chrono::steady_clock::now(); }
  void poll() override { io_.poll(); }
  bool over() override { return io_.stopped(); }

  // By a timer of the io_context, which is good to a microsecond: io_context::run_one_until() counts in milliseconds.
  void wait_until(WallInstant until) override {
    if (until != armed_for_) arm(until);
    do {
      stale_ = false;
      if (io_.run_one() == 0) return;
    } while (stale_);
  }

 private:
  // The handler of a timer that was armed anew runs too: that is no reason to wake.
  void arm(WallInstant until) {
    armed_for_ = until;
    if (until == WallInstant::max()) {
      timer_.cancel();
      return;
    }
    timer_.expires_at(until);
    timer_.async_wait([this, alive = alive_](const boost::system::error_code& error) {
      if (!*alive) return;
      if (error) {
        stale_ = true;
      } else {
        armed_for_ = WallInstant::max();
      }
    });
  }

  boost::asio::io_context& io_;
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
  boost::asio::steady_timer timer_;
  WallInstant armed_for_ = WallInstant::max();
  bool stale_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);  // handlers may outlive this
};

// Credit has no use for a speed when none is asked for.
double credit_speed(double speed) { return speed > 0 ? speed : 1; }

}  // namespace

Pacer::Pacer(EventQueue& queue, boost::asio::io_context& io, const PacerConfig& config)
    : Pacer{queue, std::make_unique<Descriptors>(io), config} {}

Pacer::Pacer(EventQueue& queue, std::unique_ptr<Outside> outside, const PacerConfig& config)
    : queue_{queue},
      outside_{std::move(outside)},
      config_{config},
      credit_{queue.now(), outside_->now(), credit_speed(config.speed)} {
  WIZ_ASSERT(config.speed >= 0);
}

void Pacer::run() {
  stopped_ = false;
  while (!stopped_ && !outside_->over()) turn();
}

void Pacer::turn() {
  outside_->poll();
  if (stopped_) return;
  const Instant next = queue_.next_deadline();
  if (next == Instant::max()) {
    outside_->wait_until(WallInstant::max());
    ++wake_ups_;
    return;
  }
  if (is_free()) return go_as_far_as(Instant::max());
  const WallInstant wall = outside_->now();
  credit_.note(next, wall, config_.longest_arrears);
  if (next <= credit_.at(wall)) return go_as_far_as(credit_.at(wall + config_.ahead));
  outside_->wait_until(credit_.due(next));
  ++wake_ups_;
}

// A slice of what there is to do. Idle time before it is no part of it.
void Pacer::go_as_far_as(Instant limit) { queue_.advance_to(std::min(queue_.next_deadline() + config_.slice, limit)); }

Instant Pacer::catch_up() {
  if (!is_free()) {
    const Instant quiet = std::min(credit_.at(outside_->now()), queue_.quiet_until() - picoseconds(1));
    if (quiet > queue_.now()) queue_.advance_to(quiet);
  }
  return queue_.now();
}

void Pacer::set_speed(double speed) {
  WIZ_ASSERT(speed >= 0);
  catch_up();
  config_.speed = speed;
  credit_.restart(queue_.now(), outside_->now(), credit_speed(speed));
}

}  // namespace wizloop::realtime
