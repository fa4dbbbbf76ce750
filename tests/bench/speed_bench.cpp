// Host speed: how fast the simulator is, in wall time. Noisy by nature, so nothing here is asserted; run it repeated
// and read minimum and median:
//
//   build/release/tests/bench/speed_bench --benchmark_repetitions=9 --benchmark_report_aggregates_only=true
//
// Figures in virtual time are exact and live elsewhere (tests/golden).
#include <benchmark/benchmark.h>

#include <filesystem>
#include <functional>
#include <vector>

#include "drivers/patterns/wizloop_library.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "drivers/w5500/dma_bus.hpp"
#include "harness/scenario/scenario.hpp"
#include "sim/bus/spi_bus.hpp"
#include "sim/capi/wizloop.h"
#include "sim/chip/chip.hpp"

namespace wizloop {
namespace {

const std::filesystem::path boards{WIZLOOP_BOARDS_DIR};

// A board without a network: the SPI side alone.
class Bench final : private bus::AwaitedSource {
 public:
  Bench() : profile_{bus::load_board(boards / "stm32f405-arduino.toml").value()} {}

  SimPort& port() { return port_; }

 private:
  Account awaited() const override { return Account::peer; }

  bus::BoardProfile profile_;
  wire::FramePool frames_;
  EventQueue queue_;
  Trace trace_;
  Findings findings_;
  Budget budget_;
  chip::Chip chip_{queue_, frames_, trace_, findings_, Random{1}};
  bus::SpiBus bus_{queue_, budget_, chip_.spi(), profile_, findings_, *this};
  SimPort port_{queue_, bus_, chip_, profile_, false};
};

// SPI bytes per second through driver bus, port, SPI bus, front and rings: frames of 2 KiB of buffer data.
template <typename DriverBus>
void spi_bytes(benchmark::State& state) {
  Bench bench;
  DriverBus bus{bench.port()};
  std::vector<std::uint8_t> data(2048);
  constexpr std::uint8_t socket0_tx = 2;
  std::uint16_t offset = 0;
  for (auto _ : state) {
    benchmark::DoNotOptimize(bus.write(socket0_tx, offset, data.data(), 2048));
    benchmark::DoNotOptimize(bus.read(socket0_tx, offset, data.data(), 2048));
    offset = static_cast<std::uint16_t>(offset + 2048);
  }
  state.SetBytesProcessed(state.iterations() * 2 * (3 + 2048));
}
BENCHMARK(spi_bytes<w5500::ByteBus>)->Name("spi_bytes/byte");
BENCHMARK(spi_bytes<w5500::BurstBus>)->Name("spi_bytes/burst");
BENCHMARK(spi_bytes<w5500::DmaBus>)->Name("spi_bytes/dma");

// Register frames per second: polls of Sn_SR, one data byte each.
void register_frames(benchmark::State& state) {
  Bench bench;
  w5500::ByteBus bus{bench.port()};
  std::uint8_t value = 0;
  for (auto _ : state) benchmark::DoNotOptimize(bus.read(1, 0x0003, &value, 1));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(register_frames);

// As spi_bytes/byte through the C ABI, one call per byte. ns_per_byte minus that of spi_bytes/byte is what a shim pays.
void capi_bytes(benchmark::State& state) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.board = "stm32f405-arduino";
  wizloop_t* const bed = wizloop_create(&config);
  constexpr int frame_bytes = 3 + 2048;
  for (auto _ : state) {
    for (const std::uint8_t control : {std::uint8_t{0x14}, std::uint8_t{0x10}}) {
      wizloop_scsn(bed, 0);
      wizloop_spi_byte(bed, 0);
      wizloop_spi_byte(bed, 0);
      wizloop_spi_byte(bed, control);
      for (int i = 3; i < frame_bytes; ++i) benchmark::DoNotOptimize(wizloop_spi_byte(bed, 0x55));
      wizloop_scsn(bed, 1);
    }
  }
  wizloop_destroy(bed);
  state.SetBytesProcessed(state.iterations() * 2 * frame_bytes);
}
BENCHMARK(capi_bytes)->Name("capi_bytes/byte");

// Payload bytes per second from the application on the board to the application on the PC, or back: driver, SPI, chip,
// cable, lwIP and the check of every byte, set-up of the run included.
void end_to_end(benchmark::State& state, const char* name, const char* path) {
  scenario::RunRequest request;
  request.scenario = name;
  request.board_file = boards / "stm32f405-cubeide.toml";
  request.path = path;
  request.library = "wizloop";
  constexpr std::int64_t payload_bytes = 16 << 20;
  request.parameters = {{"total_bytes", std::to_string(payload_bytes)}, {"buffer_kib", "16"}};
  request.parameters.emplace(std::string{name} == "tcp_recv" ? "read_bytes" : "write_bytes", "16384");
  for (auto _ : state) {
    const auto result = scenario::run(request);
    if (!result || !result.value().failure.empty()) {
      state.SkipWithError("the run failed");
      return;
    }
  }
  state.SetBytesProcessed(state.iterations() * payload_bytes);
}
BENCHMARK_CAPTURE(end_to_end, xmit_byte, "tcp_xmit", "byte")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(end_to_end, xmit_dma, "tcp_xmit", "dma")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(end_to_end, recv_byte, "tcp_recv", "byte")->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(end_to_end, recv_dma, "tcp_recv", "dma")->Unit(benchmark::kMillisecond);

// Events per second of the queue, with a steady number of them pending.
void event_queue(benchmark::State& state) {
  EventQueue queue;
  RandomStream random = Random{1}.stream("bench");
  std::function<void()> again = [&] {
    queue.schedule(nanoseconds(static_cast<std::int64_t>(random.below(100'000)) + 1), [&] { again(); });
  };
  for (std::int64_t i = 0; i < state.range(0); ++i) again();
  for (auto _ : state) queue.run_next();
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(event_queue)->Arg(16)->Arg(256);

}  // namespace
}  // namespace wizloop

BENCHMARK_MAIN();
