// The PC connects to a server on the board, like an iperf client, and sends the pattern 0..255.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/scenario/firmware.hpp"
#include "sim/net/services/pattern.hpp"
#include "sim/net/services/tcp_source.hpp"

namespace wizloop::scenario {
namespace {

class TcpRecv final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {"tcp_recv",
            "the board receives a TCP stream from the PC and checks every byte",
            "throughput",
            "Mbit/s",
            {{"total_bytes", "1048576", "length of the stream", 1, 1LL << 32},
             {"read_bytes", "2048", "bytes asked for per read call", 1, 16384}}};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override {
    World& world = worlds.make();
    const auto total = static_cast<std::uint64_t>(parameters.number("total_bytes"));
    const auto read_bytes = static_cast<std::uint16_t>(parameters.number("read_bytes"));
    net::TcpSource source{world.pc(), {.bytes = total}};
    patterns::SocketLibrary& library = world.library();
    if (!world.start_firmware()) return Outcome::failed("the library found no W5500");
    if (!library.tcp_listen(measurement_port)) return Outcome::failed("the board could not listen");
    source.connect(board_ip, measurement_port);
    if (!wait_until(world, [&] { return library.tcp_connected(); })) {
      return Outcome::failed("no connection from the PC: " + source.counters().failure);
    }

    std::array<std::uint8_t, 16384> buffer;
    std::uint64_t received = 0;
    std::uint64_t wrong = 0;
    world.begin_measurement();
    while (received < total) {
      std::uint16_t got = 0;
      const bool progress = wait_until(world, [&] {
        if (library.tcp_available() > 0) got = library.tcp_read(buffer.data(), read_bytes);
        return got > 0;
      });
      if (!progress) {
        return Outcome::failed(
            fmt::format("nothing came for {} s after byte {} of {}", patience / 1s, received, total));
      }
      wrong += net::pattern_mismatches(received, Bytes{buffer}.first(got));
      received += got;
    }
    const Measurement measurement = world.end_measurement();
    const bool acknowledged = wait_until(world, [&] {
      world.idle_until(world.now() + 1ms);
      return source.counters().bytes_acknowledged == total;
    });
    library.tcp_stop();

    if (wrong != 0 || !acknowledged) {
      return Outcome::failed(fmt::format("the PC had {} bytes acknowledged, the board received {}, {} of them wrong",
                                         source.counters().bytes_acknowledged, received, wrong));
    }
    return {{{"throughput", megabits_per_second(total, measurement.elapsed), "Mbit/s"}}, measurement, ""};
  }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<TcpRecv>(); }};

}  // namespace
}  // namespace wizloop::scenario
