// The board blasts small datagrams at a sink on the PC; the datagrams are counted.
#include "harness/scenario/firmware.hpp"

namespace wizloop::scenario {
namespace {

class UdpPps final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {"udp_pps", "the board sends small UDP datagrams as fast as it can", "rate", "packets/s",
            datagram_parameters("1000", "8")};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override {
    Outcome outcome = send_datagrams(worlds, parameters);
    if (!outcome.failure.empty()) return outcome;
    const double elapsed_s = static_cast<double>(outcome.measurement.elapsed.count()) / 1e12;
    outcome.figures = {{"rate", static_cast<double>(parameters.number("datagrams")) / elapsed_s, "packets/s"}};
    return outcome;
  }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<UdpPps>(); }};

}  // namespace
}  // namespace wizloop::scenario
