// The PC pings the board. The chip answers by itself, and firmware and SPI have no part in it, unless the library has a
// stack of its own.
#include <fmt/format.h>

#include <numeric>

#include "harness/scenario/firmware.hpp"
#include "sim/net/services/pinger.hpp"

namespace wizloop::scenario {
namespace {

constexpr Duration interval = 1ms;

class PingRtt final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {"ping_rtt",
            "round trip of an ICMP echo that the PC sends and the board answers",
            "rtt",
            "us",
            {{"pings", "100", "echo requests, 1 ms apart", 1, 1'000'000},
             {"payload_bytes", "56", "ICMP payload", 0, 1472}}};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override {
    World& world = worlds.make();
    const auto pings = static_cast<std::uint64_t>(parameters.number("pings"));
    if (!world.start_firmware()) return Outcome::failed("the library found no W5500");
    world.pc().resolve(board_ip);
    const Instant start = world.now() + 20ms + 4 * world.pc().config().profile.turnaround;  // after ARP
    net::Pinger pinger{world.pc(),
                       {.target = board_ip,
                        .payload_bytes = static_cast<std::size_t>(parameters.number("payload_bytes")),
                        .count = pings,
                        .interval = interval,
                        .start = start}};
    world.idle_until(start);
    world.begin_measurement();
    const bool finished = wait_until(world, [&] {
      world.idle_until(world.now() + interval);
      return pinger.finished();
    });
    const Measurement measurement = world.end_measurement();
    const auto& counters = pinger.counters();
    if (!finished || counters.answered != pings) {
      return Outcome::failed(
          fmt::format("the PC sent {} echo requests, {} were answered", counters.sent, counters.answered));
    }
    const Duration sum = std::accumulate(counters.rtt.begin(), counters.rtt.end(), Duration{});
    return {{{"rtt", static_cast<double>(sum.count()) / 1e6 / static_cast<double>(pings), "us"}}, measurement, ""};
  }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<PingRtt>(); }};

}  // namespace
}  // namespace wizloop::scenario
