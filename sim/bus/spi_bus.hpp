// The SPI of one board in time: SCLK, the cost of selecting, gaps between bytes, burst set-up, and a DMA channel. All
// firmware time passes through here, so that a DMA transfer goes on while firmware computes.
//
//   SpiBus bus{queue, budget, chip.spi(), prices, findings, world};
//   bus.select();
//   bus.exchange(0x00); ...
//   bus.deselect();
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "sim/bus/bus_judge.hpp"
#include "sim/bus/poll_watch.hpp"
#include "sim/bus/profile.hpp"
#include "sim/chip/spi_pins.hpp"
#include "sim/chip/spi_target.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/core/fault.hpp"
#include "sim/core/finding.hpp"

namespace wizloop::bus {

// What firmware would be waiting for at this moment, if it were waiting.
class AwaitedSource {
 public:
  virtual Account awaited() const = 0;  // chip, wire or peer

 protected:
  ~AwaitedSource() = default;
};

// Thrown out of firmware that is still at it when the watchdog bites: there is no other way out of an endless loop.
struct FirmwareHangs {};

class SpiBus {
 public:
  SpiBus(EventQueue& queue, Budget& budget, chip::SpiTarget& target, const BoardProfile& profile, Findings& findings,
         const AwaitedSource& world);

  void select();
  void deselect();
  // Another device on the same SCLK, MOSI and MISO is selected or let go.
  void other_select(bool low) { judge_.on_other_select(low, watch_.in_frame()); }
  // The platform's byte-wise call.
  std::uint8_t exchange(std::uint8_t mosi);
  // The platform's buffer call. `mosi` may be null (zeros), `miso` may be null (dropped). A board whose file prices no
  // burst does it byte by byte.
  void exchange(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count);

  // From the next byte on.
  void set_clock(Frequency sclk, int spi_mode);
  // From the next frame on, in place of what the board's file says.
  void set_select_cost(Duration select, Duration deselect);
  // A front that takes single edges is told of both, now and at each change; it outlives the bus.
  void on_timing(chip::SpiPins& pins) {
    pins_ = &pins;
    tell_timing();
  }

  // Assertions at those pins are heeded at the end of each frame, for what the judge has not found; the pins outlive
  // the bus. Only where nothing but the host moves them.
  void heed_limits(const chip::SpiPins& pins) { judged_pins_ = &pins; }

  chip::PinTiming timing() const { return {sclk_, spi_mode_, select_cost_, deselect_cost_}; }

  bool has_dma() const { return profile_.dma.has_value(); }
  // Both buffers must stay until the transfer is over or aborted.
  void start_dma(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count);
  // True if the transfer is over by then; firmware sleeps meanwhile.
  bool wait_dma(Duration timeout);
  void abort_dma() { dma_.reset(); }

  // Firmware spends time on something else; a running DMA transfer goes on.
  void spend(Duration duration, Account account);
  // Firmware sleeps until the condition holds, looked at after each event, or until the deadline; true if it holds.
  template <typename Condition>
  bool sleep_until(Instant deadline, Condition condition) {
    while (!condition() && queue_.now() < deadline) {
      check_watchdog();
      note_awaited();
      sleep_one_event(deadline);
    }
    return condition();
  }

  // DMA faults that a run plans; the faults outlive the bus.
  void inject(Faults& faults);

  // The watchdog over firmware: what firmware does once its patience is over, or the run, throws FirmwareHangs.
  void start_watchdog(Duration patience) { bites_at_ = std::min(queue_.now() + patience, run_ends_at_); }
  void stop_watchdog() { bites_at_ = run_ends_at_; }
  void end_run_at(Instant end) { bites_at_ = run_ends_at_ = end; }
  // So does polling for so long where no SCSn ends a frame: with fixed data lengths, at the end of each.
  void end_polls_after(Duration most) { longest_poll_ = most; }

  // Books all charges up to now.
  void settle() { watch_.settle(); }

  // How long firmware has been reading the same registers and found none of them changed; 0 outside of such a loop.
  Duration polled_for() const { return watch_.in_loop() ? queue_.now() - not_in_loop_at_ : Duration{}; }
  // The frame that goes on, or the last one.
  const SeenFrame& frame() const { return watch_.frame(); }

  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t frames() const { return frames_; }

 private:
  struct Dma {
    const std::uint8_t* mosi;
    std::uint8_t* miso;
    std::size_t left;
    bool stalls = false;  // by a fault: never completes
    Duration late{};      // by a fault: from the last byte to its completion
    Instant moved_at = Instant::max();
  };

  void tell_timing();
  void pass_boundary();
  void on_frame_end();
  // As many of `count` bytes as end by `limit`; returns how many. Time is charged to the SPI accounts, or, when DMA
  // runs beside firmware that does something else, to `instead`.
  std::size_t move_bytes(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count, Duration gap, Instant limit,
                         std::optional<Account> instead);
  bool continue_dma(Instant limit, std::optional<Account> instead);
  void charge(Account account, Duration duration, std::optional<Account> instead) {
    budget_.charge(instead.value_or(account), duration);
  }
  void pass(Duration duration, Account account) {
    queue_.advance_to(queue_.now() + duration);
    budget_.charge(account, duration);
  }
  void check_watchdog() const {
    if (queue_.now() >= bites_at_) [[unlikely]]
      throw FirmwareHangs{};
  }
  void note_awaited() { budget_.set_awaited(world_.awaited()); }
  void sleep_one_event(Instant deadline);

  EventQueue& queue_;
  Budget& budget_;
  chip::SpiTarget& target_;
  const BoardProfile& profile_;
  const AwaitedSource& world_;
  PollWatch watch_;
  BusJudge judge_;
  chip::SpiPins* pins_ = nullptr;
  const chip::SpiPins* judged_pins_ = nullptr;
  Frequency sclk_;
  int spi_mode_;
  Duration select_cost_;
  Duration deselect_cost_;
  Duration hold_{};  // from the last bit of a frame until firmware goes on to raise SCSn
  PeriodSteps byte_steps_;
  Instant not_in_loop_at_{};
  std::optional<Dma> dma_;
  Instant bites_at_ = Instant::max();
  Instant run_ends_at_ = Instant::max();
  Duration longest_poll_ = Duration::max();
  FaultPoint* dma_late_ = nullptr;
  FaultPoint* dma_short_ = nullptr;
  FaultPoint* dma_never_ = nullptr;
  std::uint64_t bytes_ = 0;
  std::uint64_t frames_ = 0;
};

}  // namespace wizloop::bus
