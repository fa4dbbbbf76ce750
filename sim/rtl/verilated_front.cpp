#include "sim/rtl/verilated_front.hpp"

#include <fmt/format.h>
#include <verilated.h>
#include <verilated_fst_c.h>
#ifdef WIZLOOP_RTL_COVERAGE
#include <unistd.h>
#include <verilated_cov.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#endif

#include <pthread.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <memory>
#include <utility>

#include "Vspi_front_bench.h"
#include "sim/core/limits.hpp"
#include "sim/rtl/fst_disk.hpp"

namespace wizloop::rtl {
namespace {

std::uint64_t ticks(Instant at) { return static_cast<std::uint64_t>(at.time_since_epoch().count()); }

// Whoever ends this process waits until the file is whole that it is writing.
class EndingHeldBack {
 public:
  EndingHeldBack() {
    sigset_t ending;
    sigemptyset(&ending);
    for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&ending, number);
    pthread_sigmask(SIG_BLOCK, &ending, &before_);
  }
  EndingHeldBack(const EndingHeldBack&) = delete;
  EndingHeldBack& operator=(const EndingHeldBack&) = delete;
  ~EndingHeldBack() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_{};
};

}  // namespace

class VerilatedFront::Model {
 public:
  explicit Model(const Straps& straps) : top_{without_threads(context_)} {
    top_.header_miso_counts = straps.header_miso_counts ? 1 : 0;
    top_.write_data_miso = straps.write_data_miso;
    top_.fdm_under_select = straps.fdm_under_select;
    top_.address_sticks = straps.address_sticks ? 1 : 0;
    top_.upsets = straps.upsets;
    top_.rst_n = 1;
    top_.scsn = 1;
    top_.eval();
  }
  ~Model() {
    top_.final();
#ifdef WIZLOOP_RTL_COVERAGE
    write_coverage();
#endif
  }

  void eval(Instant at) {
    context_.time(ticks(at));
    top_.eval();
  }

  Vspi_front_bench& top() { return top_; }
  const Vspi_front_bench& top() const { return top_; }

  void apply(const PinEvent& event) {
    top_.rst_n = event.rst_n ? 1 : 0;
    top_.scsn = event.scsn ? 1 : 0;
    top_.sclk = event.sclk ? 1 : 0;
    top_.mosi = event.mosi ? 1 : 0;
    top_.fetched = event.fetched;
    eval(event.at);
  }
  void trace(VerilatedFstC& file) {
    context_.traceEverOn(true);
    top_.trace(&file, 99);
  }

 private:
#ifdef WIZLOOP_RTL_COVERAGE
  // What this one has been through, into a file of its own.
  void write_coverage() {
    const char* const folder = std::getenv("WIZLOOP_RTL_COVERAGE_DIR");
    static std::atomic<int> written = 0;
    if (folder == nullptr) return;
    const std::string file = fmt::format("{}/{}-{}", folder, getpid(), ++written);
    context_.coveragep()->write((file + ".dat").c_str());
    std::ofstream frames{file + ".frames"};
    const auto write_bits = [&](std::string_view kind, std::size_t count, auto has) {
      frames << kind << ' ';
      for (std::size_t i = 0; i < count; ++i) frames << (has(i) ? '1' : '0');
      frames << '\n';
    };
    write_bits("vdm", 768, [this](std::size_t i) { return (top_.vdm_met[i / 32] >> i % 32 & 1) != 0; });
    write_bits("fdm", 384, [this](std::size_t i) { return (top_.fdm_met[i / 32] >> i % 32 & 1) != 0; });
    write_bits("broken", 10, [this](std::size_t i) { return (top_.broken_met >> i & 1) != 0; });
  }
#endif
  // Those that it would start have nothing to do here, and would take the signals that EndingHeldBack holds back.
  static VerilatedContext* without_threads(VerilatedContext& context) {
    context.threads(1);
    return &context;
  }

  VerilatedContext context_;
  Vspi_front_bench top_;
};

Straps Straps::of(const chip::Quirks& quirks) {
  using chip::Quirk;
  return {
      .header_miso_counts = quirks.peek<chip::HeaderMiso>(Quirk::header_miso) == chip::HeaderMiso::counts,
      .write_data_miso = static_cast<std::uint8_t>(quirks.peek<chip::WriteDataMiso>(Quirk::write_data_miso)),
      .fdm_under_select = static_cast<std::uint8_t>(quirks.peek<chip::FdmUnderSelect>(Quirk::fdm_under_select)),
      .address_sticks = quirks.peek<chip::AddressWrap>(Quirk::address_wrap) == chip::AddressWrap::sticks,
  };
}

VerilatedFront::VerilatedFront(const EventQueue& queue, chip::Chip::BehindFront behind)
    : VerilatedFront{queue, behind, Straps::of(behind.quirks)} {}

VerilatedFront::VerilatedFront(const EventQueue& queue, chip::Chip::BehindFront behind, const Straps& straps)
    : queue_{queue},
      access_{behind.blocks},
      quirks_{behind.quirks},
      straps_{straps},
      model_{std::make_unique<Model>(straps)},
      commits_late_{behind.quirks.peek<chip::ByteCommit>(chip::Quirk::byte_commit) == chip::ByteCommit::next_byte} {
  set_timing(timing_);
}

VerilatedFront::~VerilatedFront() = default;

// Edges --------------------------------------------------------------------------------------------------------------

void VerilatedFront::set_timing(const chip::PinTiming& timing) {
  finish_byte();
  timing_ = timing;
  for (std::size_t half = 0; half <= half_periods; ++half) {
    before_end_[half] = timing.sclk.periods(8) * static_cast<std::int64_t>(half_periods - half) /
                        static_cast<std::int64_t>(half_periods);
  }
  idles_high_ = timing.mode >= 2;
  if (!selected_) take_level(idles_high_, queue_.now());
}

// All pins are as the model's inputs say from `at` on; what comes too early for its predecessor comes with it.
void VerilatedFront::drive(Instant at) {
  moved_at_ = std::max(moved_at_, at);
  model_->eval(moved_at_);
  if (most_kept_ == 0) return;
  const Vspi_front_bench& top = model_->top();
  const PinEvent event{moved_at_, top.rst_n != 0, top.scsn != 0, top.sclk != 0, top.mosi != 0, top.fetched};
  if (kept_.size() < most_kept_) {
    kept_.push_back(event);
  } else {
    kept_[next_kept_] = event;
    next_kept_ = (next_kept_ + 1) % most_kept_;
  }
}

void VerilatedFront::take_level(bool sclk, Instant at) {
  model_->top().sclk = sclk ? 1 : 0;
  drive(at);
}

// The falling edge that a byte of mode 0 ends with may be that with which the next one begins.
void VerilatedFront::finish_byte() {
  if (std::exchange(falls_last_, false)) take_level(false, falls_at_);
}

void VerilatedFront::select() {
  finish_byte();
  Instant at = queue_.now();
  if (in_byte_) {
    at = instant_of(half_period_) + timing_.sclk.periods(1) / 4;  // lost and back again within a byte
  } else {
    const Duration to_first_edge = idles_high_ ? Duration{} : before_end_[0] - before_end_[1];
    at -= std::clamp<Duration>(limits::select_setup - to_first_edge, Duration{}, timing_.select);
  }
  data_bytes_ = ignored_bits_ = 0;
  log_.count = 0;
  selected_ = true;
  model_->top().scsn = 0;
  drive(at);
  access_.note_select();
}

void VerilatedFront::deselect() { raise_select(false); }

void VerilatedFront::let_select_go() { raise_select(true); }

void VerilatedFront::raise_select(bool is_let_go) {
  finish_byte();
  const chip::FramePhase at_phase = phase();
  const Instant now = queue_.now();
  const Instant at =
      in_byte_ ? instant_of(half_period_) : std::clamp(moved_at_ + limits::select_hold, now, now + timing_.deselect);
  model_->top().scsn = 1;
  drive(at);
  if ((model_->top().sclk != 0) != idles_high_ && !in_byte_) take_level(idles_high_, at);
  commit_pending();
  if (selected_ && at_phase == chip::FramePhase::data) finish_data();
  if (selected_ && !is_let_go) {
    access_.note_deselect(std::min<std::size_t>(static_cast<std::size_t>(at_phase), 3), data_bytes_);
  }
  selected_ = false;
  select_toggles_ = true;
  log_.count = 0;
}

void VerilatedFront::set_held_in_reset(bool held) {
  finish_byte();
  held_in_reset_ = held;
  ignored_bytes_ = log_.count = 0;
  ignored_bits_ = 0;
  pending_.reset();
  select_toggles_ = false;
  model_->top().rst_n = held ? 0 : 1;
  drive(queue_.now());
}

void VerilatedFront::begin_byte() {
  if (falls_at_ < queue_.now() - before_end_[0]) finish_byte();
  byte_ends_ = queue_.now();
  half_period_ = 0;
  in_byte_ = true;
}

bool VerilatedFront::clock_bit(int bit, bool mosi) {
  Vspi_front_bench& top = model_->top();
  half_period_ = 2 * static_cast<std::size_t>(7 - bit);
  top.mosi = mosi ? 1 : 0;
  falls_last_ = false;
  take_level(false, instant_of(half_period_));
  const bool miso = top.miso != 0 && top.miso_oe != 0;
  const vluint8_t strobe = top.byte_strobe;
  take_level(true, instant_of(++half_period_));
  if (top.byte_strobe != strobe) take_byte();
  if (held_in_reset_ && selected_) ignore_bit(mosi);
  return miso;
}

// A spike of a quarter of the half period that SCLK is high for.
void VerilatedFront::repeat_edge() {
  Vspi_front_bench& top = model_->top();
  const Duration spike = timing_.sclk.periods(1) / 8;
  const Instant rose = instant_of(half_period_);
  const vluint8_t strobe = top.byte_strobe;
  take_level(false, rose + spike);
  take_level(true, rose + 2 * spike);
  if (top.byte_strobe != strobe) take_byte();
  if (held_in_reset_ && selected_) ignore_bit(top.mosi != 0);
}

bool VerilatedFront::miss_bit(int bit) {
  const Vspi_front_bench& top = model_->top();
  half_period_ = 2 * static_cast<std::size_t>(7 - bit);
  falls_last_ = false;
  take_level(false, instant_of(half_period_++));
  return top.miso != 0 && top.miso_oe != 0;
}

void VerilatedFront::end_byte() {
  in_byte_ = false;
  falls_last_ = !idles_high_ && model_->top().sclk != 0;
  falls_at_ = byte_ends_;
}

std::uint8_t clock_byte(chip::SpiPins& pins, std::uint8_t mosi) {
  pins.begin_byte();
  std::uint8_t miso = 0;
  for (int bit = 7; bit >= 0; --bit) {
    miso = static_cast<std::uint8_t>(miso << 1 | (pins.clock_bit(bit, (mosi >> bit & 1) != 0) ? 1 : 0));
  }
  pins.end_byte();
  return miso;
}

std::uint8_t VerilatedFront::exchange(std::uint8_t mosi) { return clock_byte(*this, mosi); }

void VerilatedFront::exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint8_t in = exchange(mosi != nullptr ? mosi[i] : std::uint8_t{0});
    if (miso != nullptr) miso[i] = in;
  }
}

std::uint8_t VerilatedFront::next_miso() const {
  model_->eval(moved_at_);
  return selected_ && !held_in_reset_ ? model_->top().shown : std::uint8_t{0};
}

// Bytes --------------------------------------------------------------------------------------------------------------

// RTL in reset takes no bit: these are counted for whoever judges the host.
void VerilatedFront::ignore_bit(bool mosi) {
  constexpr std::size_t shortest_frame = 4;
  ignored_ = static_cast<std::uint8_t>(ignored_ << 1 | (mosi ? 1 : 0));
  if (++ignored_bits_ < 8) return;
  ignored_bits_ = 0;
  log(ignored_);
  if (++ignored_bytes_ == shortest_frame) access_.note_ignored();
}

void VerilatedFront::take_byte() {
  Vspi_front_bench& top = model_->top();
  const std::uint8_t mosi = top.byte_mosi;
  taken_at_ = moved_at_;
  ++strobes_.bytes;
  count_strobes();
  const auto taken = static_cast<chip::FramePhase>(top.taken_phase);
  if (taken == chip::FramePhase::data) return take_data(mosi);
  if (taken == chip::FramePhase::address_high) commit_pending();  // of the frame before, where SCSn is tied low
  log(mosi);
  if (taken == chip::FramePhase::control) begin_data(mosi);
}

void VerilatedFront::count_strobes() {
  const Vspi_front_bench& top = model_->top();
  if (std::exchange(header_level_, top.header_strobe != 0) != header_level_) ++strobes_.headers;
  if (std::exchange(register_level_, top.reg_strobe != 0) != register_level_) ++strobes_.registers;
  if (std::exchange(buffer_level_, top.buf_strobe != 0) != buffer_level_) ++strobes_.buffers;
}

void VerilatedFront::begin_data(std::uint8_t control) {
  Vspi_front_bench& top = model_->top();
  block_ = chip::Block{static_cast<std::uint8_t>(top.block)};
  is_write_ = top.rwb != 0;
  if ((control & 0x03) != 0 && select_toggles_) quirks_.touch(chip::Quirk::fdm_under_select);
  is_buffer_ = block_.is_tx_buffer() || block_.is_rx_buffer();
  ring_ = is_buffer_ ? &access_.ring(block_) : nullptr;
  access_.note_data_begins(block_, top.address, is_write_);
  bytes_before_ = data_bytes_;
  if (!is_write_) top.fetched = is_buffer_ ? ring_->read(top.address) : access_.fetch_register(block_, top.address);
}

void VerilatedFront::take_data(std::uint8_t mosi) {
  Vspi_front_bench& top = model_->top();
  const std::uint16_t address = top.taken_address;
  if (!is_buffer_) log(mosi);
  commit_pending();
  ++data_bytes_;
  if (address == 0xFFFF) quirks_.touch(chip::Quirk::address_wrap);
  if (!is_write_) {
    top.fetched =
        is_buffer_ ? ring_->read(top.address) : access_.read_register(block_, address, top.fetched, top.address);
  } else if (commits_late_) {
    pending_ = Pending{ring_, address, mosi};
  } else if (is_buffer_) {
    ring_->write(address, mosi);
  } else {
    access_.write_register(block_, address, mosi);
  }
  if (is_write_ && !is_buffer_) quirks_.touch(chip::Quirk::byte_commit);
  const chip::FramePhase next = phase();
  if (next == chip::FramePhase::data) return;
  finish_data();
  if (next == chip::FramePhase::spent) {
    commit_pending();
  } else {
    log_.count = 0;
  }
}

void VerilatedFront::finish_data() {
  if (is_buffer_) access_.note_data_ends(data_bytes_ - bytes_before_);
}

void VerilatedFront::commit_pending() {
  if (!pending_) return;
  const Pending byte = *std::exchange(pending_, std::nullopt);
  if (byte.ring != nullptr) {
    byte.ring->write(byte.address, byte.value);
  } else {
    access_.write_register(block_, byte.address, byte.value);
  }
}

chip::FramePhase VerilatedFront::phase() const { return static_cast<chip::FramePhase>(model_->top().phase); }
chip::Block VerilatedFront::block() const { return chip::Block{static_cast<std::uint8_t>(model_->top().block)}; }
std::uint16_t VerilatedFront::taken_address() const { return model_->top().taken_address; }
bool VerilatedFront::drives_miso() const { return model_->top().miso_oe != 0; }
bool VerilatedFront::mosi() const { return model_->top().mosi != 0; }
bool VerilatedFront::is_write() const { return model_->top().rwb != 0; }
std::uint16_t VerilatedFront::address() const { return model_->top().address; }

chip::PinLimits VerilatedFront::broken_limits() const { return chip::PinLimits{model_->top().broken}; }

// Waveforms ----------------------------------------------------------------------------------------------------------

void VerilatedFront::keep_edges(std::size_t most) {
  kept_.clear();
  kept_.reserve(most);
  most_kept_ = most;
  next_kept_ = 0;
}

std::optional<Error> VerilatedFront::write_waveform(const std::filesystem::path& file, Instant from) const {
  std::vector<PinEvent> events(kept_.begin() + static_cast<std::ptrdiff_t>(next_kept_), kept_.end());
  events.insert(events.end(), kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(next_kept_));
  // RTL that has not seen the beginning of a frame would not know where in it it is.
  auto first = std::find_if(events.begin(), events.end(), [&](const PinEvent& event) { return event.at >= from; });
  while (first != events.begin() && (first == events.end() || !first->scsn)) --first;
  // What was long before is shown as of just before.
  constexpr Duration idle = microseconds(1);
  if (first != events.end() && first->scsn && first + 1 != events.end()) {
    first->at = std::max(first->at, std::min(from, (first + 1)->at - idle));
  }

  const EndingHeldBack whole;
  Model model{straps_};
  // On the heap, to be left to itself where it cannot be closed.
  auto fst = std::make_unique<VerilatedFstC>();
  model.trace(*fst);
  fst->set_time_unit("1ps");
  fst->set_time_resolution("1ps");
  errno = 0;
  fst->open(file.c_str());
  if (!fst->isOpen()) {
    const int error_number = errno;
    return Error{fmt::format("{}: cannot be written: {}", file.string(), std::strerror(error_number)),
                 kind_of(error_number)};
  }
  std::uint64_t at = 0;  // edges at one instant are a picosecond apart, to be seen
  for (; first != events.end(); ++first) {
    model.apply(*first);
    at = std::max(at + 1, ticks(first->at));
    fst->dump(at);
  }
  if (auto error = no_room_to_close_fst(file)) {
    static_cast<void>(fst.release());
    return error;
  }
  fst->close();
  return fst_cut_short(file, at);
}

}  // namespace wizloop::rtl
