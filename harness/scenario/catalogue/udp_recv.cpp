// The PC sends UDP datagrams at a rate, like `iperf -u -b`; the board reads what its buffer has not lost.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "harness/scenario/firmware.hpp"
#include "sim/net/services/udp_source.hpp"

namespace wizloop::scenario {
namespace {

// What came of one stream of datagrams.
struct Stream {
  std::uint32_t received = 0;
  std::uint32_t out_of_order = 0;  // a number that is not above the last one
  std::uint32_t wrong_size = 0;
  Measurement measurement;  // from the first datagram's arrival in the library to the end of the last read
  std::string failure;
};

class UdpRecv final : public Experiment {
 public:
  ScenarioInfo info() const override {
    return {"udp_recv",
            "the board receives UDP datagrams from the PC",
            "throughput",
            "Mbit/s",
            {{"datagrams", "1000", "datagrams that the PC sends", 2, 100'000},
             {"payload_bytes", "1470", "UDP payload of each", 8, 1472},
             {"offered_bps", "10000000", "payload bits per second that the PC offers", 10'000, 100'000'000},
             {"search",
              "offered",
              "the rate received of what is offered, or the largest without any loss",
              0,
              0,
              {"offered", "lossless"}}}};
  }

  Outcome run(Worlds& worlds, const Parameters& parameters) override {
    const auto datagrams = static_cast<std::uint32_t>(parameters.number("datagrams"));
    const auto payload_bytes = static_cast<std::uint16_t>(parameters.number("payload_bytes"));
    const std::int64_t payload_bits = std::int64_t{payload_bytes} * 8;
    Duration interval = Frequency{parameters.number("offered_bps")}.periods(payload_bits);
    const bool lossless = parameters.choice("search") == "lossless";
    if (lossless) {
      interval = shortest_lossless_interval(worlds, datagrams, payload_bytes);
    }
    const Stream stream = receive(worlds.make(), datagrams, payload_bytes, interval);
    if (!stream.failure.empty()) return Outcome::failed(stream.failure);
    if (lossless && stream.received < datagrams) {
      return Outcome::failed(fmt::format("{} of {} datagrams are lost even with one every {} ms",
                                         datagrams - stream.received, datagrams, longest_interval / 1ms));
    }
    if (stream.received < 2 || stream.wrong_size != 0 || stream.out_of_order != 0) {
      return Outcome::failed(fmt::format("the board received {} of {} datagrams, {} of a wrong size, {} out of order",
                                         stream.received, datagrams, stream.wrong_size, stream.out_of_order));
    }
    return {
        {{"throughput", megabits_per_second(std::uint64_t{stream.received} * payload_bytes, stream.measurement.elapsed),
          "Mbit/s"},
         {"lost", static_cast<double>(datagrams - stream.received), "datagrams"},
         {"interval", static_cast<double>(interval.count()) / 1e6, "us"}},
        stream.measurement,
        ""};
  }

 private:
  using Buffer = std::array<std::uint8_t, 2048>;

  // Ten times what any board here needs.
  static constexpr Duration longest_interval = 20ms;

  // To the microsecond, by bisection; the longest if none is lossless.
  static Duration shortest_lossless_interval(Worlds& worlds, std::uint32_t datagrams, std::uint16_t payload_bytes) {
    std::int64_t too_short_us = 0;
    std::int64_t enough_us = longest_interval / 1us;
    while (enough_us - too_short_us > 1) {
      const std::int64_t middle_us = (enough_us + too_short_us) / 2;
      const Stream stream = receive(worlds.make(), datagrams, payload_bytes, microseconds(middle_us));
      (stream.received == datagrams ? enough_us : too_short_us) = middle_us;
    }
    return microseconds(enough_us);
  }

  static Stream receive(World& world, std::uint32_t datagrams, std::uint16_t payload_bytes, Duration interval) {
    patterns::SocketLibrary& library = world.library();
    if (!world.start_firmware()) return {.measurement = {}, .failure = "the library found no W5500"};
    if (!library.udp_open(measurement_port)) {
      return {.measurement = {}, .failure = "the board could not open a UDP socket"};
    }
    world.pc().resolve(board_ip);
    // ARP takes two turnarounds of the PC; the datagrams come after it.
    const Instant start = world.now() + 20ms + 4 * world.pc().config().profile.turnaround;
    net::UdpSource source{world.pc(),
                          {.to = {board_ip, measurement_port},
                           .payload_bytes = payload_bytes,
                           .interval = interval,
                           .count = datagrams,
                           .start = start}};
    world.idle_until(start - 1ms);

    // The last datagram may be one that is lost, so the board listens until well after it.
    const Instant over = start + interval * std::int64_t{datagrams} + 50ms + world.pc().config().profile.timer_tick;
    Stream stream;
    std::uint32_t next_number = 0;
    Buffer buffer{};
    while (world.now() < over && stream.received < datagrams) {
      const std::uint16_t size = library.udp_parse();
      if (size == 0) {
        world.rest();
        continue;
      }
      if (stream.received == 0) world.begin_measurement();
      const std::uint16_t got = read(library, buffer, size);
      ++stream.received;
      if (got != payload_bytes) ++stream.wrong_size;
      if (load32(buffer.data()) < next_number) ++stream.out_of_order;
      next_number = load32(buffer.data()) + 1;
      stream.measurement = world.end_measurement();
    }
    // Both ends agree: what the PC sent came in here or was dropped by the chip for want of room.
    world.idle_until(over);
    world.settle_background();
    const std::uint64_t accounted = stream.received + library_left(library, buffer) + world.records_dropped();
    if (source.counters().failed != 0 || source.counters().datagrams != accounted) {
      stream.failure = fmt::format("the PC sent {} datagrams, the board received or dropped {}",
                                   source.counters().datagrams, accounted);
    }
    return stream;
  }

  // A record header that came in corrupted may announce up to 65535 bytes.
  static std::uint16_t read(patterns::SocketLibrary& library, Buffer& buffer, std::uint16_t announced) {
    return library.udp_read(buffer.data(), std::min(announced, static_cast<std::uint16_t>(buffer.size())));
  }

  // Datagrams that still wait in the chip's buffer.
  static std::uint32_t library_left(patterns::SocketLibrary& library, Buffer& buffer) {
    std::uint32_t left = 0;
    while (const std::uint16_t size = library.udp_parse()) {
      read(library, buffer, size);
      ++left;
    }
    return left;
  }
};

const Registration registration{[]() -> std::unique_ptr<Experiment> { return std::make_unique<UdpRecv>(); }};

}  // namespace
}  // namespace wizloop::scenario
