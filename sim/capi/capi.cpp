// The C functions: arguments checked, one turn at a time, callbacks made when the chip is free. What they do is in
// bed.cpp.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/capi/bed.hpp"
#include "sim/capi/boards.hpp"
#include "sim/capi/wizloop.h"
#include "sim/core/nearest.hpp"

using namespace wizloop;
using namespace wizloop::capi;

// A handle outlives what it stands for, so that one that was destroyed is known again: 40 bytes stay for each.
struct wizloop_testbed {
  std::atomic<const void*> turn_of = nullptr;  // the thread that is inside
  std::unique_ptr<Bed> bed;
};

namespace {

constexpr std::int64_t default_sclk_hz = 33'300'000;
constexpr std::size_t least_frame_bytes = wire::ethernet_header_bytes;

thread_local std::string last_error;
thread_local int last_error_code = WIZLOOP_OK;
thread_local const char this_thread = 0;

const void* thread_token() { return &this_thread; }

int fail(int code, std::string message) {
  last_error = std::move(message);
  last_error_code = code;
  return code;
}
int fail(const Error& error) {
  return fail(error.kind == ErrorKind::machine ? WIZLOOP_E_MACHINE : WIZLOOP_E_ARGUMENT, error.message);
}

// Handles that were made, never freed.
class Handles {
 public:
  static Handles& all() {
    static Handles* const handles = new Handles;
    return *handles;
  }
  wizloop_t* make(std::unique_ptr<Bed> bed) {
    const std::lock_guard lock{mutex_};
    handles_.push_back(std::make_unique<wizloop_testbed>());
    handles_.back()->bed = std::move(bed);
    return handles_.back().get();
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<wizloop_testbed>> handles_;
};

}  // namespace

wizloop_t* wizloop::capi::handle_for(std::unique_ptr<Bed> bed) { return Handles::all().make(std::move(bed)); }

namespace {

// A thread's turn on one handle.
class Turn {
 public:
  explicit Turn(wizloop_t* handle) : handle_{handle} { take(); }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (mine_) give();
  }

  // Null, and wizloop_error() says why: this thread is inside already.
  bool mine() const { return mine_; }
  void take() {
    const void* const me = thread_token();
    while (true) {
      const void* nobody = nullptr;
      if (handle_->turn_of.compare_exchange_strong(nobody, me, std::memory_order_acquire)) break;
      if (nobody == me) return;
      handle_->turn_of.wait(nobody, std::memory_order_relaxed);
    }
    mine_ = true;
  }
  void give() {
    mine_ = false;
    handle_->turn_of.store(nullptr, std::memory_order_release);
    handle_->turn_of.notify_one();
  }

 private:
  wizloop_t* handle_;
  bool mine_ = false;
};

int say_hang(Bed& bed) { return fail(WIZLOOP_E_HANG, *bed.hang()); }

// Firmware has hung: whoever runs it decides what becomes of it.
int end_firmware(Bed& bed, Turn& turn) {
  if (bed.runs > 0 && bed.runner == thread_token()) {
    // Should a destructor or a noexcept function stand in the way, this is the last that is heard.
    if (!std::exchange(bed.hang_told, true)) std::fputs(fmt::format("{}\n", *bed.hang()).c_str(), stderr);
    fail(WIZLOOP_E_HANG, *bed.hang());
    turn.give();
    throw FirmwareUnwinds{};
  }
  if (bed.hang_returns()) return say_hang(bed);
  std::fputs(fmt::format("{}\n{}", *bed.hang(), bed.report()).c_str(), stderr);
  std::abort();
}

void call_back(Bed& bed, Bed::Due due, Turn& turn) {
  const Bed::Callbacks calls = bed.callbacks;
  const bool is_interrupt = due != Bed::Due::finding;
  if (is_interrupt) bed.pay_interrupt_latency();
  const wizloop_finding finding = due == Bed::Due::finding ? bed.describe(bed.finding_taken()) : wizloop_finding{};
  bed.delivering = true;
  turn.give();
  struct Back {
    Bed& of;
    Turn& taken;
    ~Back() {
      taken.take();
      of.delivering = false;
    }
  };
  const Back back{bed, turn};
  switch (due) {
    case Bed::Due::finding:
      calls.on_finding(calls.finding_context, &finding);
      break;
    case Bed::Due::intn_high:
      calls.on_intn(calls.intn_context, 1);
      break;
    case Bed::Due::intn_low:
      calls.on_intn(calls.intn_context, 0);
      break;
    case Bed::Due::tick:
      calls.on_tick(calls.tick_context);
      break;
    case Bed::Due::nothing:
      break;
  }
}

void make_callbacks(Bed& bed, Turn& turn) {
  if (bed.delivering) return;
  for (Bed::Due due = bed.take_due(); due != Bed::Due::nothing; due = bed.take_due()) call_back(bed, due, turn);
}

// What all functions on a handle have in common: `action(bed, turn)` gives the result. `is_firmware`: a call that
// stands for something firmware does.
template <typename Action>
int act(wizloop_t* handle, bool is_firmware, Action action) {
  if (handle == nullptr) return fail(WIZLOOP_E_HANDLE, "the handle is NULL");
  Turn turn{handle};
  if (!turn.mine()) {
    return fail(WIZLOOP_E_STATE, "a callback from within the model must not call in, except for wizloop_deliver()");
  }
  if (handle->bed == nullptr) return fail(WIZLOOP_E_HANDLE, "the handle was destroyed");
  Bed& bed = *handle->bed;
  if (is_firmware && bed.hang() != nullptr) {
    // A catch (...) of the firmware has swallowed the first attempt.
    const bool again = bed.runs > 0 && bed.runner == thread_token() && std::uncaught_exceptions() == 0;
    return again ? end_firmware(bed, turn) : say_hang(bed);
  }
  try {
    const int result = action(bed, turn);
    if (bed.hang() != nullptr && is_firmware) return end_firmware(bed, turn);
    return result;
  } catch (const bus::FirmwareHangs&) {
    bed.note_watchdog();
    return end_firmware(bed, turn);
  }
}

template <typename Action>
int firmware(wizloop_t* handle, Action action) {
  return act(handle, true, action);
}
template <typename Action>
int outside(wizloop_t* handle, Action action) {
  return act(handle, false, [&](Bed& bed, Turn&) { return action(bed); });
}

int no_dma_now(Bed& bed) {
  if (!bed.dma_runs()) return WIZLOOP_OK;
  return fail(WIZLOOP_E_STATE, "a DMA transfer is under way: wizloop_dma_wait() or wizloop_dma_abort() first");
}

// How long firmware may wait: until the run is over at the most.
Duration patience(Bed& bed, std::uint64_t ns) {
  const Duration left = bed.left();
  return ns >= static_cast<std::uint64_t>(left / nanoseconds(1)) ? left : nanoseconds(static_cast<std::int64_t>(ns));
}

// No frame is longer than the address space of a block a few times over.
int too_much(std::size_t bytes) {
  constexpr std::size_t most = 16 << 20;
  if (bytes <= most) return WIZLOOP_OK;
  return fail(WIZLOOP_E_ARGUMENT, fmt::format("a transfer of {} bytes, expected at most {}", bytes, most));
}

int sleep_for(Bed& bed, Turn& turn, Duration left, Account account) {
  while (true) {
    const Instant before = bed.testbed().now();
    const Duration whole = left;
    if (bed.pass(left, account)) break;
    const Duration passed = bed.testbed().now() - before;
    make_callbacks(bed, turn);
    // Sleep ends when it would have ended; computing goes on where it was interrupted.
    if (account == Account::idle) left = std::max(before + whole - bed.testbed().now(), Duration{});
    if (account != Account::idle) left = whole - passed;
  }
  make_callbacks(bed, turn);
  return WIZLOOP_OK;
}

int sleep(Bed& bed, Turn& turn, std::uint64_t ns, Account account) {
  if (ns > static_cast<std::uint64_t>(INT64_MAX / 1000)) {
    return fail(WIZLOOP_E_ARGUMENT, fmt::format("{} ns is more than 106 days", ns));
  }
  return sleep_for(bed, turn, patience(bed, ns), account);
}

int sleep_ps(Bed& bed, Turn& turn, std::uint64_t ps, Account account) {
  if (ps > static_cast<std::uint64_t>(INT64_MAX)) {
    return fail(WIZLOOP_E_ARGUMENT, fmt::format("{} ps is more than 106 days", ps));
  }
  return sleep_for(bed, turn, std::min(picoseconds(static_cast<std::int64_t>(ps)), bed.left()), account);
}

int bad_level(int level, std::string_view pin) {
  return fail(WIZLOOP_E_ARGUMENT, fmt::format("{}: level {}, expected 0 or 1", pin, level));
}

// Settings, from the configuration or the environment, applied to what create() builds.
std::optional<Failure> apply(testbed::TestbedSetup& setup, std::string_view setting) {
  const std::size_t equals = setting.find('=');
  if (equals == std::string_view::npos) {
    return Failure{WIZLOOP_E_ARGUMENT, fmt::format("setting \"{}\", expected NAME=VALUE", setting)};
  }
  const auto applied = testbed::apply_setting(setup, setting.substr(0, equals), setting.substr(equals + 1));
  if (applied) return std::nullopt;
  return Failure{WIZLOOP_E_ARGUMENT, applied.error().message};
}

Duration limit(std::uint64_t ns, Duration otherwise) {
  return ns == 0 || ns > static_cast<std::uint64_t>(INT64_MAX / 1000) ? otherwise
                                                                      : nanoseconds(static_cast<std::int64_t>(ns));
}

Result<wizloop_t*> create(const wizloop_config& config) {
  if (config.size != sizeof(wizloop_config) || config.abi != WIZLOOP_ABI) {
    return Error{fmt::format("wizloop_config of size {} and ABI {}, expected {} and {}: start from WIZLOOP_CONFIG_INIT",
                             config.size, config.abi, sizeof(wizloop_config), WIZLOOP_ABI)};
  }
  if (config.on_hang != WIZLOOP_HANG_ABORT && config.on_hang != WIZLOOP_HANG_RETURN) {
    return Error{fmt::format("on_hang is {}, expected WIZLOOP_HANG_ABORT or WIZLOOP_HANG_RETURN", config.on_hang)};
  }
  if (config.setting_count > 0 && config.settings == nullptr) return Error{"settings is NULL"};
  testbed::TestbedSetup setup;
  if (config.board != nullptr) {
    auto board = load_named_board(config.board);
    if (!board) return board.error();
    setup.board = std::move(board).value();
  } else {
    setup.board = free_board(Frequency{default_sclk_hz});
  }
  setup.seed = config.seed;
  for (std::size_t i = 0; i < config.setting_count; ++i) {
    if (config.settings[i] == nullptr) return Error{fmt::format("settings[{}] is NULL", i)};
    if (const auto failure = apply(setup, config.settings[i])) return Error{failure->message};
  }
  if (config.pcap_file != nullptr) setup.pcap_file = config.pcap_file;
  if (config.trace_file != nullptr) setup.trace_file = config.trace_file;
  const std::string name = config.name != nullptr ? config.name : "wizloop";
  setup.write_through = true;
  setup.note = fmt::format("{} on {} seed={}", name, setup.board.name, setup.seed);

  std::unique_ptr<Station> station;
  if (config.station != nullptr) {
    if (config.station->transmit == nullptr) return Error{"station->transmit is NULL"};
    station = std::make_unique<Station>(*config.station);
    setup.station = station.get();
  }
  const bool strict = setup.chip.strict;
  auto testbed = testbed::Testbed::create(std::move(setup));
  if (!testbed) return testbed.error();
  const BedLimits limits{limit(config.poll_limit_ns, BedLimits{}.poll), limit(config.run_limit_ns, BedLimits{}.run),
                         config.on_hang == WIZLOOP_HANG_RETURN, strict};
  return Handles::all().make(std::make_unique<Bed>(std::move(station), std::move(testbed).value(), name, limits));
}

// One frame of variable data length to a block.
int access(wizloop_t* handle, std::uint8_t block, std::uint16_t offset, bool is_write, const std::uint8_t* mosi,
           std::uint8_t* miso, std::size_t bytes) {
  if (block > 31) return fail(WIZLOOP_E_ARGUMENT, fmt::format("block {}, expected 0 to 31", block));
  if (mosi == nullptr && miso == nullptr && bytes > 0) return fail(WIZLOOP_E_ARGUMENT, "data is NULL");
  return firmware(handle, [&](Bed& bed, Turn& turn) {
    if (const int busy = no_dma_now(bed); busy != WIZLOOP_OK) return busy;
    if (bed.in_frame()) return fail(WIZLOOP_E_STATE, "SCSn is low already");
    if (const int code = too_much(bytes); code != WIZLOOP_OK) return code;
    const std::uint8_t header[] = {static_cast<std::uint8_t>(offset >> 8), static_cast<std::uint8_t>(offset),
                                   static_cast<std::uint8_t>(block << 3 | (is_write ? 4 : 0))};
    bed.set_scsn(false, thread_token());
    bed.exchange(header, nullptr, sizeof header, thread_token());
    bed.exchange(mosi, miso, bytes, thread_token());
    bed.set_scsn(true, thread_token());
    make_callbacks(bed, turn);
    return WIZLOOP_OK;
  });
}

template <typename Action>
int with_pc(wizloop_t* handle, Action action) {
  return outside(handle, [&](Bed& bed) {
    if (bed.pc() == nullptr) return fail(WIZLOOP_E_STATE, "a station of your own stands in place of the PC");
    return action(*bed.pc(), bed);
  });
}
template <typename Action>
int with_stream(wizloop_t* handle, int socket, Action action) {
  return with_pc(handle, [&](PcServices& pc, Bed&) {
    PcStream* const stream = pc.stream(socket);
    if (stream == nullptr) return fail(WIZLOOP_E_ARGUMENT, fmt::format("{} is not a TCP socket of the PC", socket));
    return action(*stream);
  });
}
template <typename Action>
int with_port(wizloop_t* handle, int socket, Action action) {
  return with_pc(handle, [&](PcServices& pc, Bed&) {
    PcPort* const port = pc.port(socket);
    if (port == nullptr) return fail(WIZLOOP_E_ARGUMENT, fmt::format("{} is not a UDP socket of the PC", socket));
    return action(*port);
  });
}

int as_int(std::size_t count) { return static_cast<int>(std::min<std::size_t>(count, INT32_MAX)); }

int to_result(const Result<int>& result) { return result ? result.value() : fail(result.error()); }

// The handle of wizloop_default().
class Default {
 public:
  static Default& it() {
    static Default* const only = new Default;
    return *only;
  }
  wizloop_t* get() {
    const std::lock_guard lock{mutex_};
    if (handle_ == nullptr) make();
    return handle_;
  }
  void set(wizloop_t* handle) {
    const std::lock_guard lock{mutex_};
    handle_ = handle;
  }

 private:
  void make() {
    wizloop_config config = WIZLOOP_CONFIG_INIT;
    config.board = std::getenv("WIZLOOP_BOARD");
    config.pcap_file = std::getenv("WIZLOOP_PCAP");
    config.trace_file = std::getenv("WIZLOOP_TRACE");
    if (const char* const seed = std::getenv("WIZLOOP_SEED")) {
      char* end = nullptr;
      config.seed = std::strtoull(seed, &end, 0);
      if (*seed == '\0' || *seed == '-' || *end != '\0') {
        fail(WIZLOOP_E_ARGUMENT, fmt::format("WIZLOOP_SEED is \"{}\", expected a whole number", seed));
        return;
      }
    }
    std::vector<std::string> words;
    std::string_view rest = std::getenv("WIZLOOP_SET") != nullptr ? std::getenv("WIZLOOP_SET") : "";
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
      if (!word.empty()) words.emplace_back(word);
    }
    std::vector<const char*> settings;
    for (const std::string& word : words) settings.push_back(word.c_str());
    config.settings = settings.data();
    config.setting_count = settings.size();
    handle_ = wizloop_create(&config);
  }

  std::mutex mutex_;
  wizloop_t* handle_ = nullptr;
};

}  // namespace

extern "C" {

// Life ---------------------------------------------------------------------------------------------------------------

uint32_t wizloop_abi(void) { return WIZLOOP_ABI; }

const char* wizloop_error(void) { return last_error.c_str(); }

int wizloop_error_code(void) { return last_error_code; }

wizloop_t* wizloop_create(const wizloop_config* config) {
  const wizloop_config defaults = WIZLOOP_CONFIG_INIT;
  const auto made = create(config != nullptr ? *config : defaults);
  if (made) return made.value();
  fail(made.error());
  return nullptr;
}

int wizloop_destroy(wizloop_t* handle) {
  if (handle == nullptr) return fail(WIZLOOP_E_HANDLE, "the handle is NULL");
  Turn turn{handle};
  if (!turn.mine()) return fail(WIZLOOP_E_STATE, "a callback from within the model must not destroy it");
  if (handle->bed == nullptr) return fail(WIZLOOP_E_HANDLE, "the handle was destroyed");
  if (handle->bed->delivering || handle->bed->runs > 0) {
    return fail(WIZLOOP_E_STATE, "firmware or a callback is still running");
  }
  const auto error = handle->bed->finish_files();
  handle->bed.reset();
  return error ? fail(*error) : WIZLOOP_OK;
}

wizloop_t* wizloop_default(void) { return Default::it().get(); }

int wizloop_set_default(wizloop_t* handle) {
  Default::it().set(handle);
  return WIZLOOP_OK;
}

int wizloop_run(wizloop_t* handle, void (*program)(void* context), void* context) {
  if (program == nullptr) return fail(WIZLOOP_E_ARGUMENT, "firmware is NULL");
  const int entered = outside(handle, [](Bed& bed) {
    if (bed.runs > 0 && bed.runner != thread_token()) return fail(WIZLOOP_E_STATE, "another thread runs firmware");
    ++bed.runs;
    bed.runner = thread_token();
    return WIZLOOP_OK;
  });
  if (entered != WIZLOOP_OK) return entered;
  const auto leave = [&](bool hung) {
    return outside(handle, [&](Bed& bed) {
      --bed.runs;
      if (!hung) return WIZLOOP_OK;
      const int code = say_hang(bed);
      bed.forget_hang();
      return code;
    });
  };
  try {
    program(context);
  } catch (const FirmwareUnwinds&) {
    return leave(true);
  } catch (...) {
    leave(false);
    throw;
  }
  return leave(false);
}

// Pins ---------------------------------------------------------------------------------------------------------------

int wizloop_scsn(wizloop_t* handle, int level) {
  if (level != 0 && level != 1) return bad_level(level, "SCSn");
  return firmware(handle, [&](Bed& bed, Turn& turn) {
    if (const int busy = no_dma_now(bed); busy != WIZLOOP_OK) return busy;
    bed.set_scsn(level != 0, thread_token());
    if (level != 0) make_callbacks(bed, turn);
    return WIZLOOP_OK;
  });
}

int wizloop_scsn_price(wizloop_t* handle, uint64_t select_ps, uint64_t deselect_ps) {
  constexpr std::uint64_t most_ps = 1'000'000'000;  // as in a board file
  if (select_ps > most_ps || deselect_ps > most_ps) {
    return fail(WIZLOOP_E_ARGUMENT, fmt::format("{} and {} ps, expected at most 1 ms", select_ps, deselect_ps));
  }
  return outside(handle, [&](Bed& bed) {
    if (bed.in_frame()) return fail(WIZLOOP_E_STATE, "SCSn is low");
    bed.testbed().bus().set_select_cost(picoseconds(static_cast<std::int64_t>(select_ps)),
                                        picoseconds(static_cast<std::int64_t>(deselect_ps)));
    return WIZLOOP_OK;
  });
}

int wizloop_rstn(wizloop_t* handle, int level) {
  if (level != 0 && level != 1) return bad_level(level, "RSTn");
  return firmware(handle, [&](Bed& bed, Turn& turn) {
    bed.testbed().chip().set_rstn(level != 0);
    make_callbacks(bed, turn);
    return WIZLOOP_OK;
  });
}

int wizloop_intn(wizloop_t* handle) {
  return outside(handle, [](Bed& bed) { return bed.testbed().intn_low() ? 0 : 1; });
}

int wizloop_pmode(wizloop_t* handle, int code) {
  if (code < 0 || code > 7) return fail(WIZLOOP_E_ARGUMENT, fmt::format("PMODE {}, expected 0 to 7", code));
  return outside(handle, [&](Bed& bed) {
    bed.testbed().chip().set_pmode_pins(static_cast<std::uint8_t>(code));
    return WIZLOOP_OK;
  });
}

int wizloop_on_intn(wizloop_t* handle, wizloop_level_fn callback, void* context) {
  return outside(handle, [&](Bed& bed) {
    bed.call_on_intn(callback, context);
    return WIZLOOP_OK;
  });
}

// SPI ----------------------------------------------------------------------------------------------------------------

int wizloop_spi_levels(wizloop_t* handle, int scsn, int sclk, int mosi) {
  if (scsn != 0 && scsn != 1) return bad_level(scsn, "SCSn");
  if (sclk != 0 && sclk != 1) return bad_level(sclk, "SCLK");
  if (mosi != 0 && mosi != 1) return bad_level(mosi, "MOSI");
  return firmware(handle, [&](Bed& bed, Turn& turn) {
    if (bed.dma_runs() || bed.in_frame()) return fail(WIZLOOP_E_STATE, "SCSn is low by wizloop_scsn()");
    bus::SpiWires& wires = bed.wires();
    wires.drive(scsn != 0, sclk != 0, mosi != 0);
    if (scsn != 0) make_callbacks(bed, turn);
    return (wires.miso() ? WIZLOOP_MISO : 0) | (bed.testbed().intn_low() ? 0 : WIZLOOP_INTN);
  });
}

int wizloop_spi_wave(wizloop_t* handle, const char* file) {
  if (file == nullptr) return fail(WIZLOOP_E_ARGUMENT, "file is NULL");
  return outside(handle, [&](Bed& bed) {
    if (bed.draws_wires()) return fail(WIZLOOP_E_STATE, "the pins are being drawn already");
    const auto error = bed.draw_wires(file);
    return error ? fail(*error) : WIZLOOP_OK;
  });
}

int wizloop_spi_clock(wizloop_t* handle, uint32_t hz, int mode) {
  if (hz == 0) return fail(WIZLOOP_E_ARGUMENT, "SCLK of 0 Hz");
  if (mode < 0 || mode > 3) return fail(WIZLOOP_E_ARGUMENT, fmt::format("SPI mode {}, expected 0 to 3", mode));
  return firmware(handle, [&](Bed& bed, Turn&) {
    if (const int busy = no_dma_now(bed); busy != WIZLOOP_OK) return busy;
    bed.set_spi_clock(Frequency{hz}, mode);
    return WIZLOOP_OK;
  });
}

int wizloop_spi_byte(wizloop_t* handle, uint8_t mosi) {
  return firmware(handle, [&](Bed& bed, Turn&) {
    if (const int busy = no_dma_now(bed); busy != WIZLOOP_OK) return busy;
    return int{bed.exchange(mosi, thread_token())};
  });
}

int wizloop_spi_transfer(wizloop_t* handle, const uint8_t* mosi, uint8_t* miso, size_t bytes) {
  return firmware(handle, [&](Bed& bed, Turn&) {
    if (const int busy = no_dma_now(bed); busy != WIZLOOP_OK) return busy;
    if (const int code = too_much(bytes); code != WIZLOOP_OK) return code;
    if (bytes > 0) bed.exchange(mosi, miso, bytes, thread_token());
    return WIZLOOP_OK;
  });
}

int wizloop_dma_start(wizloop_t* handle, const uint8_t* mosi, uint8_t* miso, size_t bytes) {
  return firmware(handle, [&](Bed& bed, Turn&) {
    if (const int busy = no_dma_now(bed); busy != WIZLOOP_OK) return busy;
    if (const int code = too_much(bytes); code != WIZLOOP_OK) return code;
    if (bed.start_dma(mosi, miso, bytes, thread_token())) return WIZLOOP_OK;
    return fail(WIZLOOP_E_PRICE, fmt::format("board {} prices no DMA", bed.testbed().board().name));
  });
}

int wizloop_dma_wait(wizloop_t* handle, uint64_t timeout_ns) {
  return firmware(handle, [&](Bed& bed, Turn&) { return bed.wait_dma(patience(bed, timeout_ns)) ? 1 : 0; });
}

int wizloop_dma_abort(wizloop_t* handle) {
  return firmware(handle, [](Bed& bed, Turn&) {
    bed.abort_dma();
    return WIZLOOP_OK;
  });
}

int wizloop_spi_transaction(wizloop_t* handle, const wizloop_segment* segments, size_t count) {
  if (segments == nullptr && count > 0) return fail(WIZLOOP_E_ARGUMENT, "segments is NULL");
  return firmware(handle, [&](Bed& bed, Turn& turn) {
    if (const int busy = no_dma_now(bed); busy != WIZLOOP_OK) return busy;
    if (bed.in_frame()) return fail(WIZLOOP_E_STATE, "SCSn is low already");
    for (size_t i = 0; i < count; ++i) {
      if (const int code = too_much(segments[i].bytes); code != WIZLOOP_OK) return code;
    }
    bed.set_scsn(false, thread_token());
    for (size_t i = 0; i < count; ++i) {
      if (segments[i].bytes > 0) bed.exchange(segments[i].mosi, segments[i].miso, segments[i].bytes, thread_token());
    }
    bed.set_scsn(true, thread_token());
    make_callbacks(bed, turn);
    return WIZLOOP_OK;
  });
}

int wizloop_other_select(wizloop_t* handle, int selected) {
  if (selected != 0 && selected != 1) return bad_level(selected, "other select");
  return firmware(handle, [&](Bed& bed, Turn&) {
    bed.testbed().bus().other_select(selected != 0);
    return WIZLOOP_OK;
  });
}

// Registers ----------------------------------------------------------------------------------------------------------

int wizloop_read(wizloop_t* handle, uint8_t block, uint16_t offset, void* data, size_t bytes) {
  return access(handle, block, offset, false, nullptr, static_cast<std::uint8_t*>(data), bytes);
}

int wizloop_write(wizloop_t* handle, uint8_t block, uint16_t offset, const void* data, size_t bytes) {
  return access(handle, block, offset, true, static_cast<const std::uint8_t*>(data), nullptr, bytes);
}

int wizloop_peek(wizloop_t* handle, uint8_t block, uint16_t offset, void* data, size_t bytes) {
  if (block > 31) return fail(WIZLOOP_E_ARGUMENT, fmt::format("block {}, expected 0 to 31", block));
  if (data == nullptr && bytes > 0) return fail(WIZLOOP_E_ARGUMENT, "data is NULL");
  return outside(handle, [&](Bed& bed) {
    auto* const out = static_cast<std::uint8_t*>(data);
    for (size_t i = 0; i < bytes; ++i) {
      out[i] = bed.testbed().chip().peek(chip::Block{block}, static_cast<std::uint16_t>(offset + i));
    }
    return WIZLOOP_OK;
  });
}

// Time ---------------------------------------------------------------------------------------------------------------

uint64_t wizloop_now_ps(wizloop_t* handle) {
  std::uint64_t now = 0;
  if (handle != nullptr && handle->turn_of.load(std::memory_order_relaxed) == thread_token() && handle->bed) {
    return static_cast<std::uint64_t>(handle->bed->testbed().now().time_since_epoch().count());  // from a station
  }
  outside(handle, [&](Bed& bed) {
    now = static_cast<std::uint64_t>(bed.testbed().now().time_since_epoch().count());
    return WIZLOOP_OK;
  });
  return now;
}

uint64_t wizloop_now_ns(wizloop_t* handle) { return wizloop_now_ps(handle) / 1000; }

int wizloop_advance_ns(wizloop_t* handle, uint64_t ns) {
  return firmware(handle, [&](Bed& bed, Turn& turn) { return sleep(bed, turn, ns, Account::idle); });
}

int wizloop_advance_ps(wizloop_t* handle, uint64_t ps) {
  return firmware(handle, [&](Bed& bed, Turn& turn) { return sleep_ps(bed, turn, ps, Account::idle); });
}

int wizloop_spend_ns(wizloop_t* handle, uint64_t ns) {
  return firmware(handle, [&](Bed& bed, Turn& turn) { return sleep(bed, turn, ns, Account::cpu); });
}

int wizloop_wait_intn(wizloop_t* handle, uint64_t timeout_ns) {
  return firmware(handle, [&](Bed& bed, Turn& turn) {
    const Instant deadline = bed.testbed().now() + patience(bed, timeout_ns);
    while (true) {
      const Bed::Waited waited = bed.wait_intn(deadline);
      make_callbacks(bed, turn);
      if (waited == Bed::Waited::timeout) return 0;
      if (waited == Bed::Waited::low) {
        bed.pay_interrupt_latency();
        return 1;
      }
    }
  });
}

uint64_t wizloop_next_event_ns(wizloop_t* handle) {
  std::uint64_t next = UINT64_MAX;
  outside(handle, [&](Bed& bed) {
    const Instant deadline = bed.testbed().queue().next_deadline();
    if (deadline != Instant::max()) next = static_cast<std::uint64_t>(deadline.time_since_epoch().count()) / 1000;
    return WIZLOOP_OK;
  });
  return next;
}

int wizloop_on_tick(wizloop_t* handle, uint64_t period_ns, wizloop_tick_fn callback, void* context) {
  if (callback != nullptr && (period_ns == 0 || period_ns > static_cast<std::uint64_t>(INT64_MAX / 1000))) {
    return fail(WIZLOOP_E_ARGUMENT, fmt::format("a period of {} ns, expected more than 0", period_ns));
  }
  return outside(handle, [&](Bed& bed) {
    const Duration latency = bed.testbed().board().interrupt_latency;
    if (callback != nullptr && nanoseconds(static_cast<std::int64_t>(period_ns)) <= latency) {
      return fail(WIZLOOP_E_ARGUMENT,
                  fmt::format("a period of {} ns, expected more than the {} ns that an interrupt takes", period_ns,
                              latency / nanoseconds(1)));
    }
    bed.call_on_tick(nanoseconds(static_cast<std::int64_t>(period_ns)), callback, context);
    return WIZLOOP_OK;
  });
}

int wizloop_price(wizloop_t* handle, const char* key, double* value) {
  if (key == nullptr || value == nullptr) return fail(WIZLOOP_E_ARGUMENT, "key or value is NULL");
  return outside(handle, [&](Bed& bed) {
    const auto& constants = bed.testbed().board().constants;
    const auto found = constants.find(key);
    if (found == constants.end()) return 0;
    *value = found->second.value;
    return 1;
  });
}

// Cable and station --------------------------------------------------------------------------------------------------

int wizloop_link(wizloop_t* handle, int plugged) {
  if (plugged != 0 && plugged != 1) return bad_level(plugged, "link");
  return outside(handle, [&](Bed& bed) {
    bed.testbed().link().set_up(plugged != 0);
    bed.testbed().chip().plug(plugged != 0);
    return WIZLOOP_OK;
  });
}

int wizloop_deliver(wizloop_t* handle, const uint8_t* frame, size_t bytes) {
  if (handle == nullptr) return fail(WIZLOOP_E_HANDLE, "the handle is NULL");
  if (frame == nullptr) return fail(WIZLOOP_E_ARGUMENT, "frame is NULL");
  if (bytes < least_frame_bytes || bytes > wire::max_frame_bytes) {
    return fail(WIZLOOP_E_ARGUMENT,
                fmt::format("a frame of {} bytes, expected {} to {}", bytes, least_frame_bytes, wire::max_frame_bytes));
  }
  const auto deliver = [&](Bed& bed) {
    testbed::Testbed& of = bed.testbed();
    bed.station()->send({frame, bytes}, of.queue(), of.frames(), of.link());
    return WIZLOOP_OK;
  };
  const bool inside = handle->turn_of.load(std::memory_order_relaxed) == thread_token();
  if (inside && handle->bed && handle->bed->station() != nullptr && handle->bed->station()->calling()) {
    return deliver(*handle->bed);
  }
  return outside(handle, [&](Bed& bed) {
    if (bed.station() != nullptr) return deliver(bed);
    return fail(WIZLOOP_E_STATE, "the simulated PC is at the far end, not a station of your own");
  });
}

// The PC -------------------------------------------------------------------------------------------------------------

int wizloop_pc_serve(wizloop_t* handle, const char* service, const char* options) {
  if (service == nullptr) return fail(WIZLOOP_E_ARGUMENT, "service is NULL");
  return with_pc(handle,
                 [&](PcServices& pc, Bed&) { return to_result(pc.serve(service, options != nullptr ? options : "")); });
}

int wizloop_pc_count(wizloop_t* handle, int service, const char* counter, uint64_t* value) {
  if (counter == nullptr || value == nullptr) return fail(WIZLOOP_E_ARGUMENT, "counter or value is NULL");
  return with_pc(handle, [&](PcServices& pc, Bed&) {
    const Service* const of = pc.service(service);
    if (of == nullptr) return fail(WIZLOOP_E_ARGUMENT, fmt::format("there is no service {}", service));
    std::vector<std::string_view> names;
    for (const auto& [name, count] : of->counts()) {
      if (name == counter) {
        *value = count;
        return WIZLOOP_OK;
      }
      names.push_back(name);
    }
    return fail(WIZLOOP_E_ARGUMENT,
                fmt::format("service {} has no counter \"{}\", expected {}", service, counter, fmt::join(names, ", ")));
  });
}

int wizloop_pc_tcp_connect(wizloop_t* handle, uint32_t ip, uint16_t port) {
  return with_pc(handle, [&](PcServices& pc, Bed&) { return to_result(pc.connect(ip, port)); });
}

int wizloop_pc_tcp_listen(wizloop_t* handle, uint16_t port) {
  if (port == 0) return fail(WIZLOOP_E_ARGUMENT, "port 0, expected 1 to 65535");
  return with_pc(handle, [&](PcServices& pc, Bed&) { return to_result(pc.listen(port)); });
}

int wizloop_pc_udp_open(wizloop_t* handle, uint16_t port) {
  return with_pc(handle, [&](PcServices& pc, Bed&) { return to_result(pc.open_udp(port)); });
}

int wizloop_pc_state(wizloop_t* handle, int socket) {
  return with_pc(handle, [&](PcServices& pc, Bed&) {
    if (const PcStream* const stream = pc.stream(socket)) return static_cast<int>(stream->state());
    if (pc.port(socket) != nullptr) return WIZLOOP_PC_CONNECTED;
    if (pc.exists(socket)) return WIZLOOP_PC_CLOSED;
    return fail(WIZLOOP_E_ARGUMENT, fmt::format("{} is not a socket of the PC", socket));
  });
}

int wizloop_pc_send(wizloop_t* handle, int socket, const void* data, size_t bytes) {
  if (data == nullptr && bytes > 0) return fail(WIZLOOP_E_ARGUMENT, "data is NULL");
  return with_stream(handle, socket, [&](PcStream& stream) {
    return as_int(stream.send({static_cast<const std::uint8_t*>(data), std::min<size_t>(bytes, INT32_MAX)}));
  });
}

int wizloop_pc_receive(wizloop_t* handle, int socket, void* data, size_t bytes) {
  if (data == nullptr && bytes > 0) return fail(WIZLOOP_E_ARGUMENT, "data is NULL");
  return with_stream(handle, socket, [&](PcStream& stream) {
    return as_int(stream.receive(static_cast<std::uint8_t*>(data), std::min<size_t>(bytes, INT32_MAX)));
  });
}

int wizloop_pc_send_to(wizloop_t* handle, int socket, uint32_t ip, uint16_t port, const void* data, size_t bytes) {
  if (data == nullptr && bytes > 0) return fail(WIZLOOP_E_ARGUMENT, "data is NULL");
  if (bytes > net::UdpPort::max_payload_bytes) {
    return fail(WIZLOOP_E_ARGUMENT,
                fmt::format("a datagram of {} bytes, expected at most {}", bytes, net::UdpPort::max_payload_bytes));
  }
  return with_port(handle, socket, [&](PcPort& of) {
    return of.send({ip, port}, {static_cast<const std::uint8_t*>(data), bytes}) ? as_int(bytes) : 0;
  });
}

int wizloop_pc_receive_from(wizloop_t* handle, int socket, uint32_t* ip, uint16_t* port, void* data, size_t bytes) {
  if (data == nullptr && bytes > 0) return fail(WIZLOOP_E_ARGUMENT, "data is NULL");
  return with_port(handle, socket, [&](PcPort& of) {
    const auto datagram = of.receive();
    if (!datagram) return 0;
    if (ip != nullptr) *ip = datagram->from.ip;
    if (port != nullptr) *port = datagram->from.port;
    const size_t kept = std::min(bytes, datagram->payload.size());
    std::copy_n(datagram->payload.begin(), kept, static_cast<std::uint8_t*>(data));
    return as_int(datagram->payload.size());
  });
}

int wizloop_pc_close(wizloop_t* handle, int socket) {
  return with_pc(handle, [&](PcServices& pc, Bed&) {
    if (!pc.exists(socket)) return fail(WIZLOOP_E_ARGUMENT, fmt::format("{} is not a socket of the PC", socket));
    pc.close(socket);
    return WIZLOOP_OK;
  });
}

// What it comes to ---------------------------------------------------------------------------------------------------

const char* wizloop_polled(wizloop_t* handle) {
  const char* text = "";
  outside(handle, [&](Bed& bed) {
    bed.text = bed.polled();
    text = bed.text.c_str();
    return WIZLOOP_OK;
  });
  return text;
}

int wizloop_finding_count(wizloop_t* handle) {
  return outside(handle, [](Bed& bed) { return as_int(bed.testbed().findings().all().size()); });
}

int wizloop_finding_get(wizloop_t* handle, int index, wizloop_finding* finding) {
  if (finding == nullptr) return fail(WIZLOOP_E_ARGUMENT, "finding is NULL");
  return outside(handle, [&](Bed& bed) {
    const size_t count = bed.testbed().findings().all().size();
    if (index < 0 || static_cast<size_t>(index) >= count) {
      return fail(WIZLOOP_E_ARGUMENT, fmt::format("finding {} of {}", index, count));
    }
    *finding = bed.describe(static_cast<size_t>(index));
    return WIZLOOP_OK;
  });
}

int wizloop_failing(wizloop_t* handle) {
  return outside(handle, [](Bed& bed) { return as_int(bed.failing()); });
}

namespace {

int no_such_rule(std::string_view id) {
  std::vector<std::string_view> known;
  for (std::size_t i = 0; i < rule_count; ++i) known.push_back(text_of(static_cast<Rule>(i)).id);
  return fail(WIZLOOP_E_ARGUMENT, fmt::format("there is no rule \"{}\"; the nearest is {}", id, nearest(id, known)));
}

}  // namespace

int wizloop_announce(wizloop_t* handle, const char* rule, const char* reason) {
  if (rule == nullptr || reason == nullptr) return fail(WIZLOOP_E_ARGUMENT, "rule or reason is NULL");
  if (*reason == '\0') return fail(WIZLOOP_E_ARGUMENT, "an announcement wants a reason");
  const auto known = rule_of(rule);
  if (!known) return no_such_rule(rule);
  return outside(handle, [&](Bed& bed) {
    bed.testbed().findings().announce({*known, reason});
    return WIZLOOP_OK;
  });
}

const char* wizloop_announced(wizloop_t* handle, const char* rule) {
  const char* reason = nullptr;
  outside(handle, [&](Bed& bed) {
    const auto known = rule != nullptr ? rule_of(rule) : std::nullopt;
    if (!known) return no_such_rule(rule != nullptr ? rule : "");
    const Announcement* const announcement = bed.testbed().findings().announced(*known);
    if (announcement == nullptr) return WIZLOOP_OK;
    bed.text = announcement->reason;
    reason = bed.text.c_str();
    return WIZLOOP_OK;
  });
  return reason;
}

int wizloop_on_finding(wizloop_t* handle, wizloop_finding_fn callback, void* context) {
  return outside(handle, [&](Bed& bed) {
    bed.callbacks.on_finding = callback;
    bed.callbacks.finding_context = context;
    return WIZLOOP_OK;
  });
}

int wizloop_on_trace(wizloop_t* handle, wizloop_trace_fn callback, void* context) {
  return outside(handle, [&](Bed& bed) {
    bed.call_on_trace(callback, context);
    return WIZLOOP_OK;
  });
}

int wizloop_counter(wizloop_t* handle, const char* name, uint64_t* value) {
  if (name == nullptr || value == nullptr) return fail(WIZLOOP_E_ARGUMENT, "name or value is NULL");
  return outside(handle, [&](Bed& bed) {
    const auto count = bed.counter(name);
    if (!count) return fail(count.error());
    *value = count.value();
    return WIZLOOP_OK;
  });
}

const char* wizloop_report(wizloop_t* handle) {
  const char* text = "";
  outside(handle, [&](Bed& bed) {
    bed.text = bed.report();
    text = bed.text.c_str();
    return WIZLOOP_OK;
  });
  return text;
}

}  // extern "C"
