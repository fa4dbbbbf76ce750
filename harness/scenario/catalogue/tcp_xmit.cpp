// The board sends a TCP stream to a sink on the PC.
#include "harness/scenario/firmware.hpp"

namespace wizloop::scenario {
namespace {

class TcpXmit final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {"tcp_xmit", "the board sends a TCP stream to the PC, which checks every byte", "throughput", "Mbit/s",
            stream_parameters()};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override { return send_stream(worlds, parameters); }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<TcpXmit>(); }};

}  // namespace
}  // namespace wizloop::scenario
