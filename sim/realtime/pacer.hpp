// Virtual time that follows the wall clock, by deadline credit: the wall clock says how far the simulation may go, not
// how long to sleep between two frames. So what one wake-up is late, the next one makes good, and nothing drifts.
//
//   boost::asio::io_context io;                     // sockets, ptys, bridges
//   Pacer pacer{queue, io};
//   Fiber board{queue, [&] { firmware(); }};
//   pacer.run();                                    // until a handler or an event calls pacer.stop()
//
// All of it is one thread, the main stack: handlers of the io_context run between events. A handler that brings input
// first calls catch_up(), since an idle simulation is not woken to be told the time: from then on queue.now() is the
// instant that belongs to the wall instant. README.md says what to expect of it.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstdint>
#include <memory>

#include "sim/core/event_queue.hpp"
#include "sim/realtime/credit.hpp"

namespace wizloop::realtime {

// The wall clock and the host's descriptors, as the pacer needs them. A test brings its own.
class Outside {
 public:
  virtual ~Outside() = default;
  virtual WallInstant now() = 0;
  // Runs the handlers that are ready.
  virtual void poll() = 0;
  // Sleeps until a handler has run, or until then; WallInstant::max() is never.
  virtual void wait_until(WallInstant until) = 0;
  // Nobody wants anything any more.
  virtual bool over() = 0;
};

struct PacerConfig {
  double speed = 1;  // virtual seconds per wall second; 0: as fast as it goes
  // What is due so soon after something that is due is done with it, early: the wake-up would cost more and may well
  // come too late. Busy firmware is woken once in so much time.
  std::chrono::nanoseconds ahead = 200us;
  // Arrears beyond this are given up.
  std::chrono::nanoseconds longest_arrears = 100ms;
  // Handlers get their turn at least once in so much virtual time of busy firmware.
  Duration slice = 1ms;
};

class Pacer {
 public:
  // Queue and io_context outlive the pacer. Virtual time goes on from queue.now().
  Pacer(EventQueue& queue, boost::asio::io_context& io, const PacerConfig& config = {});
  Pacer(EventQueue& queue, std::unique_ptr<Outside> outside, const PacerConfig& config = {});

  // Until stop(), or until the io_context is stopped. May be called again.
  void run();
  void stop() { stopped_ = true; }

  // From a handler: moves queue.now() as far towards the wall clock as it can go without running an event, and returns
  // it. Where an event is late, input comes just before it.
  Instant catch_up();

  double speed() const { return config_.speed; }
  void set_speed(double speed);

  const Lateness& lateness() const { return credit_.lateness(); }
  std::uint64_t wake_ups() const { return wake_ups_; }

 private:
  void turn();
  void go_as_far_as(Instant limit);
  bool is_free() const { return config_.speed == 0; }

  EventQueue& queue_;
  std::unique_ptr<Outside> outside_;
  PacerConfig config_;
  Credit credit_;
  bool stopped_ = false;
  std::uint64_t wake_ups_ = 0;  // ends of a sleep
};

}  // namespace wizloop::realtime
