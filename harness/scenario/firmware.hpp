// The small programs that run on the simulated board: what a benchmark sketch does with its socket library.
#pragma once

#include <cstdint>
#include <string>

#include "harness/scenario/experiment.hpp"
#include "harness/scenario/world.hpp"

namespace wizloop::scenario {

// The ports that every scenario uses.
inline constexpr std::uint16_t measurement_port = 5001;  // iperf's
inline constexpr std::uint16_t board_port = 50001;

// Without any progress for so long a program gives up.
inline constexpr Duration patience = 60s;

patterns::Endpoint endpoint(wire::Ipv4Address ip, std::uint16_t port);

// Repeats `step` until it returns true; false if that takes longer than `patience`.
template <typename Step>
bool wait_until(World& world, Step step) {
  const Instant deadline = world.now() + patience;
  while (world.now() < deadline) {
    if (step()) return true;
    world.rest();
  }
  return false;
}

double megabits_per_second(std::uint64_t bytes, Duration elapsed);

}  // namespace wizloop::scenario
