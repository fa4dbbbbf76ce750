#include "harness/scenario/firmware.hpp"

namespace wizloop::scenario {

patterns::Endpoint endpoint(wire::Ipv4Address ip, std::uint16_t port) {
  patterns::Endpoint endpoint{{}, port};
  store32(endpoint.ip, ip);
  return endpoint;
}

double megabits_per_second(std::uint64_t bytes, Duration elapsed) {
  return static_cast<double>(bytes) * 8 / static_cast<double>(elapsed.count()) * 1e6;
}

}  // namespace wizloop::scenario
