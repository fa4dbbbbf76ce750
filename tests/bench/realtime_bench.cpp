// What keeping real time costs, and how late it is: boards on fibers, paced by the wall clock. Noisy by nature, so
// nothing here is asserted.
//
//   build/release/tests/bench/realtime_bench                                  two seconds of wall time for each row
//   WIZLOOP_BENCH_SECONDS=10 build/release/tests/bench/realtime_bench --benchmark_filter=busy
//
// cpu is CPU seconds per wall second; wakes is wake-ups per second; late_* is in microseconds, slipped in milliseconds.
#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <vector>

#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "drivers/w5500/chip.hpp"
#include "sim/core/fiber.hpp"
#include "sim/net/switch.hpp"
#include "sim/realtime/pacer.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop {
namespace {

Duration length_of_run() {
  const char* const given = std::getenv("WIZLOOP_BENCH_SECONDS");
  return microseconds(static_cast<std::int64_t>(1e6 * (given != nullptr ? std::atof(given) : 2.0)));
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

// A board at a switch whose firmware does one thing for ever.
class Board {
 public:
  Board(EventQueue& queue, net::SwitchPort& port, void (Board::*firmware)())
      : bed_{testbed::Testbed::create(
                 {.board =
                      bus::load_board(std::filesystem::path{WIZLOOP_BOARDS_DIR} / "stm32f405-arduino.toml").value(),
                  .queue = &queue,
                  .switch_port = &port})
                 .value()},
        fiber_{queue, [this, firmware] { (this->*firmware)(); }} {}

  void sleep() {
    for (;;) port_.wait_for_interrupt(1'000'000);
  }
  void poll() {
    std::uint8_t value = 0;
    for (;;) benchmark::DoNotOptimize(chip_.read(0, w5500::SocketRegister::Sn_SR, &value, 1));
  }

 private:
  std::unique_ptr<testbed::Testbed> bed_;
  SimPort port_{bed_->queue(), bed_->bus(), bed_->chip(), bed_->board(), false};
  w5500::ByteBus bus_{port_};
  w5500::Chip chip_{bus_, port_};
  Fiber fiber_;
};

void pace(benchmark::State& state, void (Board::*firmware)()) {
  for (auto _ : state) {
    boost::asio::io_context io;
    EventQueue queue;
    wire::FramePool frames;
    net::Switch lan{queue, frames, {.ports = static_cast<std::size_t>(state.range(0))}};
    std::vector<std::unique_ptr<Board>> boards;
    for (std::size_t i = 0; i < lan.ports(); ++i) {
      boards.push_back(std::make_unique<Board>(queue, lan.port(i), firmware));
    }
    queue.set_lookahead(net::Switch::shortest_passage);
    realtime::Pacer pacer{queue, io};
    const Duration length = length_of_run();
    queue.schedule(length, [&] { pacer.stop(); });
    const double before = cpu_seconds();
    const auto started = std::chrono::steady_clock::now();
    pacer.run();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
    state.counters["cpu"] = (cpu_seconds() - before) / seconds;
    state.counters["wakes"] = static_cast<double>(pacer.wake_ups()) / seconds;
    state.counters["late_max"] = std::chrono::duration<double, std::micro>(pacer.lateness().max).count();
    state.counters["slipped"] = std::chrono::duration<double, std::milli>(pacer.lateness().slipped).count();
  }
}
BENCHMARK_CAPTURE(pace, asleep, &Board::sleep)->Arg(1)->Arg(8)->Iterations(1)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pace, busy, &Board::poll)->Arg(1)->Arg(8)->Iterations(1)->Unit(benchmark::kMillisecond);

// How late events come that are a millisecond apart, with nothing else to do.
void wake_up(benchmark::State& state) {
  std::vector<double> late_us;
  for (auto _ : state) {
    boost::asio::io_context io;
    EventQueue queue;
    realtime::Pacer pacer{queue, io};
    const Instant end = queue.now() + length_of_run();
    Timer timer{queue};
    std::function<void()> tick = [&] {
      late_us.push_back(std::chrono::duration<double, std::micro>(pacer.lateness().last).count());
      if (queue.now() >= end) return pacer.stop();
      timer.start(1ms, [&] { tick(); });
    };
    timer.start(1ms, [&] { tick(); });
    pacer.run();
  }
  std::ranges::sort(late_us);
  state.counters["late_median"] = late_us[late_us.size() / 2];
  state.counters["late_p99"] = late_us[late_us.size() * 99 / 100];
  state.counters["late_max"] = late_us.back();
}
BENCHMARK(wake_up)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace wizloop

BENCHMARK_MAIN();
