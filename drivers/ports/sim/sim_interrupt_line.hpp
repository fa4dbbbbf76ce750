// INTn of the simulated board for drivers that tell its level from its edges.
#pragma once

#include <utility>

#include "drivers/patterns/interrupt_line.hpp"
#include "sim/bus/faulty_intn.hpp"
#include "sim/chip/chip.hpp"

namespace wizloop {

class SimInterruptLine final : public patterns::InterruptLine, private chip::InterruptPin::Listener {
 public:
  // `wire` is null where it is sound.
  SimInterruptLine(chip::Chip& chip, bus::FaultyIntn* wire) : wire_{wire}, low_{!chip.intn()} {
    if (wire_ != nullptr) {
      wire_->connect(*this);
    } else {
      chip.connect_intn(*this);
    }
  }

  bool low() override { return wire_ != nullptr ? wire_->low() : low_; }
  bool take_fall() override { return std::exchange(fallen_, false); }

 private:
  void on_intn(bool high) override {
    low_ = !high;
    fallen_ = fallen_ || low_;
  }

  bus::FaultyIntn* wire_;
  bool low_;
  bool fallen_ = false;
};

}  // namespace wizloop
