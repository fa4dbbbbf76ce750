// What may go wrong inside the chip of a run that plans it (core/fault.hpp): each is null in a healthy one.
#pragma once

#include "sim/core/fault.hpp"

namespace wizloop::chip {

struct ChipFaults {
  FaultPoint* command_slow = nullptr;
  FaultPoint* reset_late = nullptr;
  FaultPoint* version_zero = nullptr;
  FaultPoint* sendok_lost = nullptr;
  FaultPoint* sendok_late = nullptr;

  static ChipFaults of(Faults& faults) {
    return {faults.point(Fault::chip_command_slow), faults.point(Fault::chip_reset_late),
            faults.point(Fault::chip_version_zero), faults.point(Fault::chip_sendok_lost),
            faults.point(Fault::chip_sendok_late)};
  }
};

}  // namespace wizloop::chip
