#include "sim/rtl/fronts.hpp"

#include <fmt/format.h>

#ifdef WIZLOOP_RTL
#include "sim/rtl/lock_step.hpp"
#include "sim/rtl/verilated_front.hpp"
#endif

namespace wizloop::rtl {

#ifdef WIZLOOP_RTL

bool available() { return true; }

namespace {

Result<chip::FrontMaker> pin_front_maker(bool both, const std::filesystem::path& waveform) {
  if (both) {
    return chip::FrontMaker{[waveform](const EventQueue& queue, chip::Chip::BehindFront behind) {
      return std::make_unique<LockStep>(queue, behind, LockStepOptions{.waveform = waveform});
    }};
  }
  return chip::FrontMaker{[](const EventQueue& queue, chip::Chip::BehindFront behind) {
    return std::make_unique<VerilatedFront>(queue, behind);
  }};
}

}  // namespace

#else

bool available() { return false; }

namespace {

Result<chip::FrontMaker> pin_front_maker(bool /*both*/, const std::filesystem::path& /*waveform*/) {
  return Error{"there is no RTL front in this build: Verilator 5.006 or newer was missing when it was configured"};
}

}  // namespace

#endif

Result<chip::FrontMaker> front_maker(std::string_view name, const std::filesystem::path& waveform) {
  if (name == "cpp") return chip::FrontMaker{};
  if (name == "rtl" || name == "both") return pin_front_maker(name == "both", waveform);
  return Error{fmt::format("unknown SPI front \"{}\", expected cpp, rtl or both", name)};
}

}  // namespace wizloop::rtl
