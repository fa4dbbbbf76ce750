// tcp_xmit over a cable that loses one frame in a hundred, in either direction: what retransmission costs.
#include "harness/scenario/firmware.hpp"

namespace wizloop::scenario {
namespace {

class TcpLossy final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {"tcp_lossy",         "the board sends a TCP stream over a cable that loses one frame in a hundred",
            "throughput",        "Mbit/s",
            stream_parameters(), {{"fault.link_loss", "ppm=10000"}}};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override { return send_stream(worlds, parameters); }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<TcpLossy>(); }};

}  // namespace
}  // namespace wizloop::scenario
