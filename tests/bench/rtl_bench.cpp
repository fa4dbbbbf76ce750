// How many SPI bytes per second of the host the verilated front takes, each of them sixteen edges.
#include <benchmark/benchmark.h>

#include <vector>

#include "sim/rtl/verilated_front.hpp"
#include "tests/support/test_board.hpp"

namespace {

using namespace wizloop;

// Frames of 1 KiB to and from a buffer, back to back at 33.3 MHz.
void rtl_front(benchmark::State& state) {
  test::TestBoard board;
  rtl::VerilatedFront front{board.queue, board.chip.behind_front()};
  board.chip.set_front(front);
  const Frequency sclk{33'300'000};
  front.set_timing({.sclk = sclk, .mode = 0, .select = 100ns, .deselect = 100ns});
  if (state.range(0) != 0) front.keep_edges(std::size_t{1} << 16);
  constexpr std::size_t data_bytes = 1024;
  std::vector<std::uint8_t> frame(3 + data_bytes, 0xA5);
  std::int64_t bytes = 0;
  bool writes = false;
  for (auto _ : state) {
    writes = !writes;
    frame[0] = frame[1] = 0;
    frame[2] = writes ? 0x14 : 0x10;
    front.select();
    for (std::uint8_t& byte : frame) {
      board.advance(sclk.periods(8));
      benchmark::DoNotOptimize(front.exchange(byte));
    }
    front.deselect();
    board.advance(200ns);
    bytes += static_cast<std::int64_t>(frame.size());
  }
  state.SetBytesProcessed(bytes);
  state.SetLabel(state.range(0) != 0 ? "edges kept" : "no trace");
}
BENCHMARK(rtl_front)->Arg(0)->Arg(1);

}  // namespace

BENCHMARK_MAIN();
