// The board blasts datagrams at a sink on the PC: udp_xmit counts their bits, udp_pps the datagrams.
#include <fmt/format.h>

#include <vector>

#include "harness/scenario/firmware.hpp"
#include "sim/net/services/udp_sink.hpp"

namespace wizloop::scenario {
namespace {

class UdpBlast : public Experiment {
 public:
  Outcome run(Worlds& worlds, const Parameters& parameters) override {
    World& world = worlds.make();
    const auto datagrams = static_cast<std::uint32_t>(parameters.number("datagrams"));
    const auto payload_bytes = static_cast<std::uint16_t>(parameters.number("payload_bytes"));
    net::UdpSink sink{world.pc(), measurement_port};
    patterns::SocketLibrary& library = world.library();
    if (!world.start_firmware()) return Outcome::failed("the library found no W5500");
    if (!library.udp_open(board_port)) return Outcome::failed("the board could not open a UDP socket");

    std::vector<std::uint8_t> payload(payload_bytes, std::uint8_t{0x55});
    const auto send = [&](std::uint32_t number) {
      store32(payload.data(), number);
      return library.udp_send(endpoint(pc_ip, measurement_port), payload.data(), payload_bytes);
    };
    // The first datagram waits for ARP, which the published figures do not count.
    std::uint32_t sent = send(0) ? 1 : 0;
    world.settle_background();
    world.begin_measurement();
    for (std::uint32_t number = 1; number <= datagrams; ++number) sent += send(number) ? 1 : 0;
    const Measurement measurement = world.end_measurement();
    const auto& counters = sink.counters();
    wait_until(world, [&] {
      world.idle_until(world.now() + 1ms);
      return counters.datagrams >= sent;
    });
    if (sent != datagrams + 1 || counters.datagrams != sent || counters.missing != 0 || counters.late != 0) {
      return Outcome::failed(fmt::format(
          "the board sent {} datagrams of {}, the PC received {}; numbers skipped: {}, out of order or twice: {}", sent,
          datagrams + 1, counters.datagrams, counters.missing, counters.late));
    }
    return {figures(datagrams, payload_bytes, measurement.elapsed), measurement, ""};
  }

 protected:
  static std::vector<Parameter> parameters(std::string_view datagrams, std::string_view payload_bytes) {
    return {{"datagrams", datagrams, "datagrams that are timed, after a first one that waits for ARP", 1, 1'000'000},
            {"payload_bytes", payload_bytes, "UDP payload of each", 4, 1472}};
  }
  virtual std::vector<Figure> figures(std::uint32_t datagrams, std::uint16_t payload_bytes, Duration elapsed) const = 0;
};

class UdpXmit final : public UdpBlast {
 public:
  ScenarioInfo info() const override {
    return {"udp_xmit", "the board sends large UDP datagrams as fast as it can", "throughput", "Mbit/s",
            parameters("20", "1000")};
  }

 private:
  std::vector<Figure> figures(std::uint32_t datagrams, std::uint16_t payload_bytes, Duration elapsed) const override {
    return {{"throughput", megabits_per_second(std::uint64_t{datagrams} * payload_bytes, elapsed), "Mbit/s"}};
  }
};

class UdpPps final : public UdpBlast {
 public:
  ScenarioInfo info() const override {
    return {"udp_pps", "the board sends small UDP datagrams as fast as it can", "rate", "packets/s",
            parameters("1000", "8")};
  }

 private:
  std::vector<Figure> figures(std::uint32_t datagrams, std::uint16_t /*payload_bytes*/,
                              Duration elapsed) const override {
    return {{"rate", datagrams / (static_cast<double>(elapsed.count()) / 1e12), "packets/s"}};
  }
};

const Registration xmit{[]() -> std::unique_ptr<Experiment> { return std::make_unique<UdpXmit>(); }};
const Registration pps{[]() -> std::unique_ptr<Experiment> { return std::make_unique<UdpPps>(); }};

}  // namespace
}  // namespace wizloop::scenario
