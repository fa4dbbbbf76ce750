// The board sends a small datagram, the PC echoes it, the board waits for it: request by request.
#include <fmt/format.h>

#include <array>

#include "harness/scenario/firmware.hpp"
#include "sim/net/services/udp_echo.hpp"

namespace wizloop::scenario {
namespace {

class UdpRtt final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {"udp_rtt",
            "round trip of a UDP datagram that the board sends and the PC echoes",
            "rtt",
            "us",
            {{"pings", "100", "round trips that are timed, after a first one that waits for ARP", 1, 1'000'000},
             {"payload_bytes", "8", "UDP payload", 4, 1472}}};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override {
    World& world = worlds.make();
    const auto pings = static_cast<std::uint32_t>(parameters.number("pings"));
    const auto payload_bytes = static_cast<std::uint16_t>(parameters.number("payload_bytes"));
    net::UdpEcho echo{world.pc(), measurement_port};
    patterns::SocketLibrary& library = world.library();
    if (!world.start_firmware()) return Outcome::failed("the library found no W5500");
    if (!library.udp_open(board_port)) return Outcome::failed("the board could not open a UDP socket");

    std::array<std::uint8_t, 1472> request{};
    std::array<std::uint8_t, 1472> reply{};
    const auto ping = [&](std::uint32_t number) {
      store32(request.data(), number);
      if (!library.udp_send(endpoint(pc_ip, measurement_port), request.data(), payload_bytes)) return false;
      std::uint16_t size = 0;
      if (!wait_until(world, [&] { return (size = library.udp_parse()) > 0; })) return false;
      return size == payload_bytes && library.udp_read(reply.data(), size) == size && load32(reply.data()) == number;
    };
    if (!ping(0)) return Outcome::failed("the first round trip failed");
    world.begin_measurement();
    for (std::uint32_t number = 1; number <= pings; ++number) {
      if (!ping(number)) return Outcome::failed(fmt::format("round trip {} of {} failed", number, pings));
    }
    const Measurement measurement = world.end_measurement();
    if (echo.counters().datagrams != pings + 1) {
      return Outcome::failed(
          fmt::format("the board sent {} datagrams, the PC echoed {}", pings + 1, echo.counters().datagrams));
    }
    return {{{"rtt", static_cast<double>(measurement.elapsed.count()) / 1e6 / pings, "us"}}, measurement, ""};
  }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<UdpRtt>(); }};

}  // namespace
}  // namespace wizloop::scenario
