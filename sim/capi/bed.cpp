#include "sim/capi/bed.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "sim/bus/seen_frame.hpp"
#include "sim/chip/register_map.hpp"
#include "sim/core/vcd_file.hpp"

namespace wizloop::capi {
namespace {

// "S0 Sn_CR" of the header of a frame.
std::string register_of(const bus::SeenFrame& frame) {
  const chip::Block block{static_cast<std::uint8_t>(frame.mosi[2] >> 3)};
  const auto offset = static_cast<std::uint16_t>(frame.mosi[0] << 8 | frame.mosi[1]);
  if (block.is_common()) {
    const chip::RegisterSpec* spec = chip::common_register_at(offset);
    return spec != nullptr ? std::string{spec->name} : fmt::format("common block, offset 0x{:04X}", offset);
  }
  if (block.is_socket_registers()) {
    const chip::RegisterSpec* spec = chip::socket_register_at(offset);
    return spec != nullptr ? fmt::format("S{} {}", block.socket(), spec->name)
                           : fmt::format("S{}, offset 0x{:04X}", block.socket(), offset);
  }
  return fmt::format("block {}, offset 0x{:04X}", block.bsb, offset);
}

double in_seconds(Duration duration) { return static_cast<double>(duration / 1ms) / 1000; }

}  // namespace

class Bed::TraceLines final : public TraceSink {
 public:
  void on_event(const TraceEvent& event) override {
    if (callback != nullptr) callback(context, to_text(event).c_str());
  }

  wizloop_trace_fn callback = nullptr;
  void* context = nullptr;
};

Bed::Bed(std::unique_ptr<Station> station, std::unique_ptr<testbed::Testbed> testbed, std::string name,
         const BedLimits& limits)
    : station_{std::move(station)},
      testbed_{std::move(testbed)},
      name_{std::move(name)},
      limits_{limits},
      board_sclk_{testbed_->board().sclk} {
  if (station_ == nullptr) pc_.emplace(testbed_->pc());
  end_run_at(Instant{limits_.run});
  testbed_->bus().end_polls_after(limits_.poll);
  half_clock_off_ = !bus::mode_works(testbed_->board().spi_mode);
}

Bed::~Bed() = default;

// Pins and SPI -------------------------------------------------------------------------------------------------------

void Bed::set_scsn(bool high, const void* thread) {
  if (high != in_frame_) return;
  if (!high) {
    testbed_->bus().select();
    in_frame_ = true;
    frame_thread_ = thread;
    last_mosi_ = 0;
    return;
  }
  note_clocks(thread);
  testbed_->bus().deselect();
  in_frame_ = false;
  check_polling();
}

void Bed::set_spi_clock(Frequency sclk, int mode) {
  half_clock_off_ = !bus::mode_works(mode);
  testbed_->bus().set_clock(sclk.hz() < board_sclk_.hz() ? sclk : board_sclk_, mode);
}

// The lock that a driver with several threads needs is around the frame, not around the byte.
void Bed::note_clocks(const void* thread) {
  if (!in_frame_ || thread == frame_thread_) [[likely]]
    return;
  frame_thread_ = thread;
  testbed_->findings().add(testbed_->now(), Rule::frame_of_two_threads,
                           "a thread clocked bytes into a frame that another thread had begun");
}

std::uint8_t Bed::exchange(std::uint8_t mosi, const void* thread) {
  note_clocks(thread);
  return testbed_->bus().exchange(*as_clocked(&mosi, 1));
}

void Bed::exchange(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t bytes, const void* thread) {
  note_clocks(thread);
  testbed_->bus().exchange(as_clocked(mosi, bytes), miso, bytes);
}

bool Bed::start_dma(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t bytes, const void* thread) {
  if (!testbed_->bus().has_dma()) return false;
  note_clocks(thread);
  testbed_->bus().start_dma(as_clocked(mosi, bytes), miso, bytes);
  dma_runs_ = true;
  return true;
}

bool Bed::wait_dma(Duration timeout) {
  if (testbed_->bus().wait_dma(timeout)) dma_runs_ = false;
  return !dma_runs_;
}

void Bed::abort_dma() {
  testbed_->bus().abort_dma();
  dma_runs_ = false;
}

// In modes 1 and 2 the controller changes MOSI at the edge at which the chip samples it: the chip sees the bit before.
const std::uint8_t* Bed::as_clocked(const std::uint8_t* mosi, std::size_t bytes) {
  if (!half_clock_off_) [[likely]]
    return mosi;
  shifted_.resize(std::max<std::size_t>(bytes, 1));
  for (std::size_t i = 0; i < bytes; ++i) {
    const std::uint8_t byte = mosi != nullptr ? mosi[i] : std::uint8_t{0};
    shifted_[i] = static_cast<std::uint8_t>(last_mosi_ << 7 | byte >> 1);
    last_mosi_ = byte;
  }
  return shifted_.data();
}

// Time ---------------------------------------------------------------------------------------------------------------

// The next instant at which a callback may become due.
Instant Bed::next_stop() const {
  if (in_frame_ || delivering) return Instant::max();
  const Instant event = callbacks.on_intn != nullptr ? testbed_->queue().next_deadline() : Instant::max();
  return std::min(event, callbacks.on_tick != nullptr ? next_tick_ : Instant::max());
}

bus::SpiWires& Bed::wires() {
  if (!wires_) wires_.emplace(testbed_->queue(), testbed_->chip(), testbed_->pins(), testbed_->findings());
  return *wires_;
}

std::optional<Error> Bed::draw_wires(const char* file) {
  auto opened = VcdFile::open(file, bus::PinWave::signals, name_);
  if (!opened) return opened.error();
  wave_ = std::make_unique<bus::PinWave>(std::move(opened).value(), WaveWindow{});
  wires().draw(*wave_);
  return std::nullopt;
}

std::optional<Error> Bed::finish_files() {
  auto first = testbed_->finish_files();
  if (wave_) {
    auto error = wave_->close(testbed_->now());
    if (!first) first = std::move(error);
  }
  return first;
}

bool Bed::pass(Duration& duration, Account account) {
  const Instant until = testbed_->now() + duration;
  do {
    const Instant stop = std::max(std::min(until, next_stop()), testbed_->now());
    testbed_->bus().spend(stop - testbed_->now(), account);
    testbed_->queue().advance_to(testbed_->now());
  } while (testbed_->now() < until && !stops());
  duration = std::max(until - testbed_->now(), Duration{});
  return duration == Duration{};
}

Bed::Waited Bed::wait_intn(Instant deadline) {
  testbed_->chip().note_intn_awaited();
  bus::FaultyIntn* const faulty = testbed_->faulty_intn();
  if (faulty != nullptr && !faulty->low() && faulty->spikes()) return Waited::low;
  while (!testbed_->intn_low() && testbed_->now() < deadline) {
    const Instant stop = std::min(deadline, std::max(next_stop(), testbed_->now()));
    testbed_->bus().sleep_until(stop, [this] { return testbed_->intn_low() || stops(); });
    if (!testbed_->intn_low() && stops()) return Waited::callback;
  }
  return testbed_->intn_low() ? Waited::low : Waited::timeout;
}

void Bed::pay_interrupt_latency() { testbed_->bus().spend(testbed_->board().interrupt_latency, Account::cpu); }

// Callbacks ----------------------------------------------------------------------------------------------------------

void Bed::call_on_intn(wizloop_level_fn callback, void* context) {
  if (callback != nullptr) testbed_->chip().note_intn_awaited();
  callbacks.on_intn = callback;
  callbacks.intn_context = context;
  intn_told_ = !testbed_->intn_low();
}

void Bed::call_on_tick(Duration period, wizloop_tick_fn callback, void* context) {
  callbacks.on_tick = callback;
  callbacks.tick_context = context;
  tick_period_ = period;
  next_tick_ = period < Instant::max() - testbed_->now() ? testbed_->now() + period : Instant::max();
}

void Bed::call_on_trace(wizloop_trace_fn callback, void* context) {
  if (trace_lines_ == nullptr) {
    if (callback == nullptr) return;
    trace_lines_ = std::make_unique<TraceLines>();
    testbed_->trace().add(*trace_lines_);
  }
  trace_lines_->callback = callback;
  trace_lines_->context = context;
}

Bed::Due Bed::due() const {
  if (callbacks.on_finding != nullptr && findings_told_ < testbed_->findings().all().size()) return Due::finding;
  if (in_frame_) return Due::nothing;
  if (callbacks.on_intn != nullptr && testbed_->intn_low() == intn_told_)
    return intn_told_ ? Due::intn_low : Due::intn_high;
  if (callbacks.on_tick != nullptr && testbed_->now() >= next_tick_) return Due::tick;
  return Due::nothing;
}

Bed::Due Bed::take_due() {
  const Due taken = due();
  switch (taken) {
    case Due::finding:
      ++findings_told_;
      break;
    case Due::intn_high:
    case Due::intn_low:
      intn_told_ = !intn_told_;
      break;
    case Due::tick:
      next_tick_ += tick_period_;
      break;
    case Due::nothing:
      break;
  }
  return taken;
}

// The guard ----------------------------------------------------------------------------------------------------------

std::string Bed::polled_register() const {
  const bus::SeenFrame& frame = testbed_->bus().frame();
  std::string value;
  for (std::size_t i = bus::SeenFrame::header_bytes; i < std::min(frame.bytes, bus::SeenFrame::kept_bytes); ++i) {
    value += fmt::format("{:02X}", frame.miso[i]);
  }
  return fmt::format("{} = 0x{}", register_of(frame), value);
}

std::string Bed::polled() const {
  const Duration duration = testbed_->bus().polled_for();
  return duration == Duration{} ? "" : fmt::format("{} for {} s", polled_register(), in_seconds(duration));
}

void Bed::check_polling() {
  if (testbed_->bus().polled_for() <= limits_.poll || hang_) return;
  testbed_->findings().add(
      testbed_->now(), Rule::endless_poll,
      fmt::format("{}, read without a change for {} s", polled_register(), in_seconds(limits_.poll)));
  hang_ = fmt::format("{}: firmware hangs: it has read {} without a change, until {} s", name_, polled(),
                      in_seconds(testbed_->now().time_since_epoch()));
}

void Bed::note_watchdog() {
  check_polling();
  if (hang_) return;
  hang_ = fmt::format("{}: firmware hangs: the run has not ended after {} s of virtual time", name_,
                      testbed_->now().time_since_epoch() / 1s);
}

void Bed::end_run_at(Instant end) {
  run_ends_at_ = end;
  testbed_->bus().end_run_at(end);
}

void Bed::forget_hang() {
  hang_.reset();
  hang_told = false;
  testbed_->bus().settle();
  if (testbed_->now() >= run_ends_at_) end_run_at(testbed_->now() + limits_.run);
}

// What it comes to ---------------------------------------------------------------------------------------------------

wizloop_finding Bed::describe(std::size_t index) const {
  const Finding& finding = testbed_->findings().all()[index];
  const RuleText& rule = text_of(finding.rule);
  return {rule.id.data(),
          name_of(rule.severity).data(),
          finding.seen.c_str(),
          finding.evidence.spi.c_str(),
          finding.evidence.state.c_str(),
          static_cast<std::uint64_t>(finding.at.time_since_epoch().count()),
          finding.count};
}

Result<std::uint64_t> Bed::counter(std::string_view name) {
  testbed_->bus().settle();
  const net::Link& link = testbed_->link();
  const chip::BufferUse& use = testbed_->chip().buffer_use();
  std::vector<std::pair<std::string, std::uint64_t>> counters = {
      {"spi_bytes", spi_bytes()},
      {"spi_frames", spi_frames()},
      {"frames_sent", link.counters(net::End::board).transmitted},
      {"frames_received", link.counters(net::End::host).delivered},
      {"records_dropped", testbed_->chip().records_dropped()},
      {"sends", use.sends},
      {"send_bytes", use.send_bytes},
      {"rx_bytes_read", use.rx_bytes_read},
      {"fingerprint", testbed_->fingerprint().value()},
  };
  const AccountTotals& totals = testbed_->budget().totals();
  for (std::size_t i = 0; i < account_count; ++i) {
    counters.emplace_back(fmt::format("{}_ns", account_names[i]), totals.of[i] / nanoseconds(1));
  }
  std::vector<std::string> names;
  for (const auto& [known, value] : counters) {
    if (known == name) return value;
    names.push_back(known);
  }
  return Error{fmt::format("there is no counter \"{}\", expected one of {}", name, fmt::join(names, ", "))};
}

std::string Bed::report() {
  testbed_->bus().settle();
  std::string lines = fmt::format("{}: {} s of virtual time on {}, {} SPI bytes in {} frames\n", name_,
                                  to_text(testbed_->now()), testbed_->board().name, spi_bytes(), spi_frames());
  const AccountTotals& totals = testbed_->budget().totals();
  const double sum = static_cast<double>(totals.sum().count());
  if (sum > 0) {
    lines += "budget:";
    for (std::size_t i = 0; i < account_count; ++i) {
      if (totals.of[i] == Duration{}) continue;
      lines += fmt::format(" {} {:.1f} %", account_names[i], 100 * static_cast<double>(totals.of[i].count()) / sum);
    }
    lines += '\n';
  }
  for (const Finding& finding : testbed_->findings().all()) {
    const Announcement* announced = testbed_->findings().announced(finding.rule);
    if (announced != nullptr && announced->suppressed && !limits_.strict) {
      lines += fmt::format("{} suppressed, x{}\n", text_of(finding.rule).id, finding.count);
      continue;
    }
    lines += fmt::format("{} {}: {} at {} s, {} x{}\n", name_of(text_of(finding.rule).severity),
                         text_of(finding.rule).id, finding.seen, to_text(finding.at), finding.count,
                         announced == nullptr ? std::string{} : fmt::format(", announced: {}", announced->reason));
  }
  lines += fmt::format("fingerprint {:016x}\n", testbed_->fingerprint().value());
  return lines;
}

}  // namespace wizloop::capi
