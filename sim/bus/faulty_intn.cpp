#include "sim/bus/faulty_intn.hpp"

namespace wizloop::bus {

FaultyIntn::FaultyIntn(EventQueue& queue, chip::Chip& chip, Faults& faults)
    : lost_{faults.point(Fault::intn_lost)},
      late_{faults.point(Fault::intn_late)},
      glitch_{faults.point(Fault::intn_glitch)},
      stuck_{faults.point(Fault::intn_stuck)},
      late_edge_{queue},
      low_{!chip.intn()} {
  chip.connect_intn(*this);
}

bool FaultyIntn::low() {
  if (stuck_ != nullptr && stuck_->strikes()) return stuck_->is("level", "low");
  return low_;
}

void FaultyIntn::on_intn(bool high) {
  late_edge_.stop();
  if (high || (lost_ != nullptr && lost_->strikes())) {
    move(false);
  } else if (late_ != nullptr && late_->strikes()) {
    late_edge_.start(late_->time("delay"), [this] { move(true); });
  } else {
    move(true);
  }
}

void FaultyIntn::move(bool low) {
  if (low_ == low) return;
  low_ = low;
  if (listener_ != nullptr) listener_->on_intn(!low);
}

}  // namespace wizloop::bus
