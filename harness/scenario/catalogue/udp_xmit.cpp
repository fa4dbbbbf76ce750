// The board blasts large datagrams at a sink on the PC; their bits are counted.
#include "harness/scenario/firmware.hpp"

namespace wizloop::scenario {
namespace {

class UdpXmit final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {"udp_xmit", "the board sends large UDP datagrams as fast as it can", "throughput", "Mbit/s",
            datagram_parameters("20", "1000")};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override {
    Outcome outcome = send_datagrams(worlds, parameters);
    if (!outcome.failure.empty()) return outcome;
    const auto bytes = static_cast<std::uint64_t>(parameters.number("datagrams") * parameters.number("payload_bytes"));
    outcome.figures = {{"throughput", megabits_per_second(bytes, outcome.measurement.elapsed), "Mbit/s"}};
    return outcome;
  }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<UdpXmit>(); }};

}  // namespace
}  // namespace wizloop::scenario
