// The board connects to a sink on the PC and sends the pattern 0..255, as the transfer sketches of the published
// measurements do.
#include <fmt/format.h>

#include <algorithm>

#include "harness/scenario/firmware.hpp"
#include "sim/net/services/pattern.hpp"
#include "sim/net/services/tcp_sink.hpp"

namespace wizloop::scenario {
namespace {

class TcpXmit final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {
        "tcp_xmit",
        "the board sends a TCP stream to the PC, which checks every byte",
        "throughput",
        "Mbit/s",
        {{"total_bytes", "1048576", "length of the stream", 1, 1LL << 32},
         {"write_bytes", "2048", "bytes per write call", 1, 16384},
         {"timed", "data", "what the time covers: the writes, or connect and stop too", 0, 0, {"data", "connection"}}}};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override {
    World& world = worlds.make();
    const auto total = static_cast<std::uint64_t>(parameters.number("total_bytes"));
    const auto write_bytes = static_cast<std::uint64_t>(parameters.number("write_bytes"));
    const bool whole_connection = parameters.choice("timed") == "connection";
    net::TcpSink sink{world.pc(), measurement_port};
    patterns::SocketLibrary& library = world.library();
    if (!world.start_firmware()) return Outcome::failed("the library found no W5500");

    if (whole_connection) world.begin_measurement();
    if (!library.tcp_connect(endpoint(pc_ip, measurement_port), board_port)) {
      return Outcome::failed("the board could not connect to the PC");
    }
    if (!whole_connection) world.begin_measurement();
    std::uint64_t accepted = 0;
    const bool sent = wait_for_all(world, total, accepted, [&](std::uint64_t left) {
      const Bytes data = net::pattern(accepted, std::min(left, write_bytes));
      return library.tcp_write(data.data(), static_cast<std::uint16_t>(data.size()));
    });
    Measurement measurement;
    if (!whole_connection) measurement = world.end_measurement();
    library.tcp_stop();
    if (whole_connection) measurement = world.end_measurement();
    const bool arrived = wait_until(world, [&] {
      world.idle_until(world.now() + 1ms);
      return sink.counters().bytes >= accepted;
    });

    if (!sent) return Outcome::failed(fmt::format("the board stopped sending at byte {} of {}", accepted, total));
    if (!arrived || sink.counters().bytes != total || sink.counters().mismatches != 0) {
      return Outcome::failed(fmt::format("the board wrote {} bytes, the PC received {}, {} of them wrong", accepted,
                                         sink.counters().bytes, sink.counters().mismatches));
    }
    return {{{"throughput", megabits_per_second(total, measurement.elapsed), "Mbit/s"},
             {"duration", static_cast<double>(measurement.elapsed.count()) / 1e9, "ms"}},
            measurement,
            ""};
  }

 private:
  // Writes until all of `total` is accepted; false without progress for too long.
  template <typename Write>
  static bool wait_for_all(World& world, std::uint64_t total, std::uint64_t& accepted, Write write) {
    while (accepted < total) {
      const bool progress = wait_until(world, [&] {
        const std::uint64_t taken = write(total - accepted);
        accepted += taken;
        return taken > 0;
      });
      if (!progress) return false;
    }
    return true;
  }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<TcpXmit>(); }};

}  // namespace
}  // namespace wizloop::scenario
