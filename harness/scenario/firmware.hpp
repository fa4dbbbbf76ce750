// The small programs that run on the simulated board: what a benchmark sketch does with its socket library.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

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

// The board blasts datagrams at a sink on the PC, the first of which waits for ARP and is not timed. Without figures:
// what the time means is the scenario's.
std::vector<Parameter> datagram_parameters(std::string_view datagrams, std::string_view payload_bytes);
Outcome send_datagrams(Worlds& worlds, const Parameters& parameters);

// The board connects to a sink on the PC and sends the pattern 0..255, as the transfer sketches of the published
// measurements do. Figures: throughput and duration.
std::vector<Parameter> stream_parameters();
Outcome send_stream(Worlds& worlds, const Parameters& parameters);

double megabits_per_second(std::uint64_t bytes, Duration elapsed);

}  // namespace wizloop::scenario
