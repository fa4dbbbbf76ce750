#include "harness/scenario/firmware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "sim/net/services/pattern.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/udp_sink.hpp"

namespace wizloop::scenario {
namespace {

// Writes until all of `total` is accepted; false without progress for too long.
template <typename Write>
bool wait_for_all(World& world, std::uint64_t total, std::uint64_t& accepted, Write write) {
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

}  // namespace

patterns::Endpoint endpoint(wire::Ipv4Address ip, std::uint16_t port) {
  patterns::Endpoint endpoint{{}, port};
  store32(endpoint.ip, ip);
  return endpoint;
}

double megabits_per_second(std::uint64_t bytes, Duration elapsed) {
  return static_cast<double>(bytes) * 8 / static_cast<double>(elapsed.count()) * 1e6;
}

std::vector<Parameter> datagram_parameters(std::string_view datagrams, std::string_view payload_bytes) {
  return {{"datagrams", datagrams, "datagrams that are timed, after a first one that waits for ARP", 1, 1'000'000},
          {"payload_bytes", payload_bytes, "UDP payload of each", 4, 1472}};
}

Outcome send_datagrams(Worlds& worlds, const Parameters& parameters) {
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
  return {{}, measurement, ""};
}

std::vector<Parameter> stream_parameters() {
  return {{"total_bytes", "1048576", "length of the stream", 1, 1LL << 32},
          {"write_bytes", "2048", "bytes per write call", 1, 16384},
          {"timed", "data", "what the time covers: the writes, or connect and stop too", 0, 0, {"data", "connection"}}};
}

Outcome send_stream(Worlds& worlds, const Parameters& parameters) {
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

}  // namespace wizloop::scenario
