// What stands behind a wizloop_t: a testbed, and what firmware in C needs besides it. Turns for threads, callbacks at
// defined points, timer interrupts, the guard over firmware that waits for ever, the SPI mode that the chip does not
// have. capi.cpp holds the C functions themselves.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/bus/spi_wires.hpp"
#include "sim/capi/pc_services.hpp"
#include "sim/capi/station.hpp"
#include "sim/capi/wizloop.h"
#include "sim/testbed/testbed.hpp"

namespace wizloop::capi {

// Unwinds the firmware that wizloop_run() has started.
struct FirmwareUnwinds {};

// A result code, and what wizloop_error() says about it.
struct Failure {
  int code;
  std::string message;
};

// Settings of a wizloop_config that a testbed does not know.
struct BedLimits {
  Duration poll = 60s;
  Duration run = std::chrono::hours{24};
  bool hang_returns = false;
  bool strict = false;
};

class Bed {
 public:
  Bed(std::unique_ptr<Station> station, std::unique_ptr<testbed::Testbed> testbed, std::string name,
      const BedLimits& limits);
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;
  ~Bed();

  const std::string& name() const { return name_; }
  testbed::Testbed& testbed() { return *testbed_; }
  Station* station() { return station_.get(); }
  // Null where a station of the caller's own stands in its place.
  PcServices* pc() { return pc_ ? &*pc_ : nullptr; }

  // Pins and SPI. `thread` tells threads apart.
  void set_scsn(bool high, const void* thread);
  void set_spi_clock(Frequency sclk, int mode);
  std::uint8_t exchange(std::uint8_t mosi, const void* thread);
  void exchange(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t bytes, const void* thread);
  bool start_dma(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t bytes, const void* thread);
  bool wait_dma(Duration timeout);
  void abort_dma();
  bool dma_runs() const { return dma_runs_; }
  // The wires as levels; from the first call on the host moves them by itself.
  bus::SpiWires& wires();
  bool draws_wires() const { return wave_ != nullptr; }
  // The error says why the waveform cannot be written.
  std::optional<Error> draw_wires(const char* file);
  // Once, at the end.
  std::optional<Error> finish_files();
  bool in_frame() const { return in_frame_; }

  // Time passes until `duration` is over, or until a callback is due: then false, and the rest is left in it.
  bool pass(Duration& duration, Account account);
  // Until INTn is low, the deadline is there, or a callback is due.
  enum class Waited : std::uint8_t { low, timeout, callback };
  Waited wait_intn(Instant deadline);

  // Callbacks.
  struct Callbacks {
    wizloop_level_fn on_intn = nullptr;
    void* intn_context = nullptr;
    wizloop_tick_fn on_tick = nullptr;
    void* tick_context = nullptr;
    wizloop_finding_fn on_finding = nullptr;
    void* finding_context = nullptr;
  };
  Callbacks callbacks;
  void call_on_intn(wizloop_level_fn callback, void* context);
  void call_on_tick(Duration period, wizloop_tick_fn callback, void* context);
  void call_on_trace(wizloop_trace_fn callback, void* context);

  // The next callback that is due, taken out; the caller makes it when the chip is free.
  enum class Due : std::uint8_t { nothing, finding, intn_high, intn_low, tick };
  Due take_due();
  // Of the finding taken out last.
  std::size_t finding_taken() const { return findings_told_ - 1; }
  void pay_interrupt_latency();

  // The guard. Null: firmware goes on.
  const std::string* hang() const { return hang_ ? &*hang_ : nullptr; }
  void note_watchdog();
  // "S0 Sn_CR = 0x20 for 0.25 s"; "": firmware is in no such loop.
  std::string polled() const;
  void forget_hang();
  bool hang_returns() const { return limits_.hang_returns; }
  // Until the run is over, and a little more.
  Duration left() const { return std::max(run_ends_at_ - testbed_->now(), Duration{}) + nanoseconds(1); }
  int runs = 0;                  // wizloop_run() within wizloop_run()
  const void* runner = nullptr;  // the thread of the outermost
  bool delivering = false;       // a callback is running
  bool hang_told = false;        // on standard error
  std::string text;              // what a function returned last

  wizloop_finding describe(std::size_t index) const;
  // How many rules fail a test.
  std::size_t failing() const { return testbed_->findings().failing(limits_.strict).size(); }
  // The error names the counters that there are.
  Result<std::uint64_t> counter(std::string_view name);
  std::string report();

 private:
  class TraceLines;

  // By the bus, and by a host that moves the wires by itself.
  std::uint64_t spi_bytes() const { return testbed_->bus().bytes() + (wires_ ? wires_->bytes() : 0); }
  std::uint64_t spi_frames() const { return testbed_->bus().frames() + (wires_ ? wires_->frames() : 0); }
  void note_clocks(const void* thread);
  void check_polling();
  std::string polled_register() const;
  Instant next_stop() const;
  Due due() const;
  bool stops() const { return !delivering && due() != Due::nothing; }
  // The bytes as the chip takes them: half a clock off in modes 1 and 2.
  const std::uint8_t* as_clocked(const std::uint8_t* mosi, std::size_t bytes);

  std::unique_ptr<Station> station_;
  std::unique_ptr<testbed::Testbed> testbed_;
  std::string name_;
  BedLimits limits_;
  Frequency board_sclk_;
  std::optional<PcServices> pc_;
  std::unique_ptr<TraceLines> trace_lines_;

  std::optional<bus::SpiWires> wires_;
  std::unique_ptr<bus::PinWave> wave_;
  bool in_frame_ = false;  // SCSn is low
  const void* frame_thread_ = nullptr;
  bool dma_runs_ = false;
  bool half_clock_off_ = false;
  std::uint8_t last_mosi_ = 0;
  std::vector<std::uint8_t> shifted_;

  bool intn_told_ = true;  // the level that the callback knows
  std::size_t findings_told_ = 0;
  Duration tick_period_{};
  Instant next_tick_ = Instant::max();

  void end_run_at(Instant end);

  Instant run_ends_at_ = Instant::max();
  std::optional<std::string> hang_;
};

// A handle for a bed that was made in C++, whose maker may look behind it while C calls go through it.
// wizloop_destroy() ends it.
wizloop_t* handle_for(std::unique_ptr<Bed> bed);

}  // namespace wizloop::capi
