// Firmware on a stack of its own (Boost.Context), so that the firmware of several boards runs in one simulation. It
// calls the event queue as it would on the main stack and gets the same instants: where it would run events itself, it
// gives way to the main stack, which alone runs them, and goes on when its time has come. Fibers whose time comes at
// one instant go on in the order in which they gave way.
//
//   Fiber a{queue, [&] { firmware(board_a); }};  // begins at queue.now(), once the main stack moves time
//   Fiber b{queue, [&] { firmware(board_b); }};
//   queue.advance_to(queue.now() + 1s);
//   if (a.failure() != nullptr) std::rethrow_exception(a.failure());
//
// All of it happens on one thread. Everything here is called on the main stack, events included.
#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <memory>

#include "sim/core/event_queue.hpp"

namespace wizloop {

// Thrown out of the call in which firmware waits when it is stopped; firmware lets it pass. Destructors on its way find
// time standing still.
struct FiberStopped {};

class Fiber final : private EventQueue::Foreground {
 public:
  // Firmware that is written for a host may print and format; pages that are never touched cost nothing. Past its end
  // lies a page that nobody may touch.
  static constexpr std::size_t usual_stack_bytes = 512 * 1024;

  // The queue outlives the fiber.
  Fiber(EventQueue& queue, std::function<void()> firmware, std::size_t stack_bytes = usual_stack_bytes);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  // Takes the power away: unwinds firmware from where it waits, at the present instant.
  void stop();

  // It has returned, failed or been stopped.
  bool ended() const { return stage_ == Stage::ended; }
  // What firmware threw; null if it threw nothing. Being stopped is no failure.
  std::exception_ptr failure() const { return failure_; }

 private:
  enum class Stage { fresh, waiting, running, stopping, ended };
  struct Stack;

  void wait_until(Instant to) override;
  void wait_for_events(Instant deadline) override;
  void go_on() override;
  void give_way();
  void make_stack();
  void sleep_no_more();
  void run_firmware() noexcept;

  EventQueue& queue_;
  std::function<void()> firmware_;
  std::size_t stack_bytes_;
  std::unique_ptr<Stack> stack_;
  Stage stage_ = Stage::fresh;
  std::exception_ptr failure_;
};

}  // namespace wizloop
