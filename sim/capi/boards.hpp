// Where a board comes from that a caller names.
#pragma once

#include <string>

#include "sim/bus/profile.hpp"
#include "sim/core/result.hpp"

namespace wizloop::capi {

// A path to a board file, or the name of one: looked for in the folder WIZLOOP_BOARDS of the environment, else in the
// boards that were installed with the library, else in those of the source tree that it was built from. The error says
// where it was looked for.
Result<bus::BoardProfile> load_named_board(const std::string& name);

// A board that spends no time but that of the SPI clock, and of SCSn as the datasheet asks for it (5.5.4).
bus::BoardProfile free_board(Frequency sclk);

}  // namespace wizloop::capi
