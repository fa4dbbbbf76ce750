// The SPI fronts that a run can have, by the names that a user types: "cpp", the chip's own; "rtl"; "both", the two in
// lock-step. Here whether or not there was a Verilator to build them with.
//
//   auto front = rtl::front_maker("both", "mismatch.fst");
//   if (!front) return front.error();   // "there is no RTL in this build: ..."
//   setup.front = front.value();
#pragma once

#include <filesystem>
#include <string_view>

#include "sim/chip/pin_front.hpp"
#include "sim/core/result.hpp"

namespace wizloop::rtl {

// Empty for "cpp". `waveform` is written where "both" differ; empty: none.
Result<chip::FrontMaker> front_maker(std::string_view name, const std::filesystem::path& waveform = {});

// Whether "rtl" and "both" can be had.
bool available();

}  // namespace wizloop::rtl
