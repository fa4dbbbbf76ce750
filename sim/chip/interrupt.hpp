// INTn (datasheet 4.1: IR, IMR, SIR, SIMR, INTLEVEL): low while (IR & IMR) or (SIR & SIMR) is not 0. With INTLEVEL = L
// > 0 the pin, once high, stays high for (L + 1) x 4 clocks of the 150 MHz PLL before it may fall again. Between two
// pending sources of which one is cleared it stays low (observed, Zephyr PR 45765); pulse() is what the datasheet
// draws.
#pragma once

#include <cstdint>

#include "sim/chip/latencies.hpp"
#include "sim/core/timer.hpp"

namespace wizloop::chip {

class InterruptPin {
 public:
  // Told of edges, at the instant of the edge.
  class Listener {
   public:
    virtual void on_intn(bool high) = 0;

   protected:
    ~Listener() = default;
  };

  InterruptPin(EventQueue& queue, LatenciesInUse& latencies) : queue_{queue}, latencies_{latencies}, timer_{queue} {}

  void connect(Listener& listener) { listener_ = &listener; }
  bool high() const { return high_; }

  // One of several pending sources was cleared: high for the pause of INTLEVEL, then low again.
  void pulse(std::uint16_t intlevel) {
    if (high_ || timer_.deadline() != Instant::max()) return;
    intlevel_ = intlevel;
    move_at(soonest());
  }

  // INTLEVEL is 0 again: a pause that goes on is over.
  void reset() { may_fall_at_ = Instant::min(); }

  // What the registers ask for from now on.
  void update(bool asserted, std::uint16_t intlevel) {
    asserted_ = asserted;
    intlevel_ = intlevel;
    if (asserted_ != high_) {  // the pin already shows it, or is about to
      timer_.stop();
      return;
    }
    if (timer_.deadline() == Instant::max()) move_at(next_move());
  }

 private:
  static constexpr Frequency pll{150'000'000};

  Instant soonest() { return queue_.now() + latencies_.use(&Latencies::event_to_intn); }
  Instant next_move() { return std::max(soonest(), asserted_ ? may_fall_at_ : Instant::min()); }
  void move_at(Instant at) {
    timer_.start_at(at, [this] {
      timer_.stop();
      high_ = !high_;
      if (high_ && intlevel_ > 0) may_fall_at_ = queue_.now() + pll.periods(4 * (std::int64_t{intlevel_} + 1));
      if (listener_ != nullptr) listener_->on_intn(high_);
      if (asserted_ == high_ && timer_.deadline() == Instant::max()) move_at(next_move());
    });
  }

  EventQueue& queue_;
  LatenciesInUse& latencies_;
  Timer timer_;
  Listener* listener_ = nullptr;
  bool high_ = true;
  bool asserted_ = false;
  std::uint16_t intlevel_ = 0;
  Instant may_fall_at_ = Instant::min();
};

}  // namespace wizloop::chip
