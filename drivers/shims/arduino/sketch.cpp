// What runs a sketch: the driver_test() that a test may replace by its own.
#include <regex.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "Arduino.h"
#include "board.hpp"
#include "terminal.hpp"

using wizloop_arduino::Board;
using wizloop_arduino::Terminal;

// A test that goes straight to a library has neither.
extern "C" __attribute__((weak)) void setup(void);
extern "C" __attribute__((weak)) void loop(void);

namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000;

// A POSIX extended regular expression, line by line.
class Pattern {
 public:
  explicit Pattern(const char* text) {
    if (regcomp(&compiled_, text, REG_EXTENDED | REG_NEWLINE | REG_NOSUB) == 0) return;
    std::printf("\"%s\" is not a regular expression\n", text);
    std::abort();
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() { regfree(&compiled_); }
  bool is_in(const std::string& text) const { return regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t compiled_;
};

std::optional<Pattern> stop;
bool stopped;

void stop_at(const std::string& line) {
  if (!stop || stopped || !stop->is_in(line)) return;
  stopped = true;
  wizloop_arduino::end_sketch(0);
}

int attach_as_configured(wizloop_t* bed) {
  const wizloop_arduino_config& config = wizloop_arduino_configuration;
  if (setup == nullptr && loop == nullptr) {
    std::puts("there is neither setup() nor loop(): name a sketch in SOURCES, or define driver_test()");
    return 1;
  }
  const int code = wizloop_arduino_attach(bed, config.scsn_pin, config.rstn_pin, config.intn_pin);
  if (code < 0) return code;
  wizloop_arduino_other_device(config.other_pin);
  return 0;
}

int call(void (*part)(void)) {
  try {
    if (part != nullptr) part();
    return 0;
  } catch (const wizloop_arduino::SketchEnds& end) {
    return end.result;
  }
}

// A call of setup() or loop() that has gone on for more than half of the time when it is over has hung.
int run(std::uint64_t run_ms) {
  Board& board = Board::it();
  const char* running = "setup";
  std::uint64_t began_ms = 0;
  try {
    board.end_after(run_ms * ns_per_ms);
    if (setup != nullptr) setup();
    running = "loop";
    while (true) {
      began_ms = board.since_boot_ns() / ns_per_ms;
      if (loop != nullptr) loop();
      board.pay_loop();
    }
  } catch (const wizloop_arduino::SketchEnds& end) {
    board.never_end();
    const std::uint64_t gone_ms = board.since_boot_ns() / ns_per_ms - began_ms;
    if (!end.time_is_over || gone_ms <= run_ms / 2) return end.result;
    const char* const polled = board.polled();
    std::printf("%s() has not returned for %llu ms%s%s\n", running, static_cast<unsigned long long>(gone_ms),
                *polled != '\0' ? ": it reads " : "", polled);
    return 1;
  }
}

}  // namespace

extern "C" {

int wizloop_arduino_attach(wizloop_t* bed, int scsn_pin, int rstn_pin, int intn_pin) {
  return Board::it().attach(bed, scsn_pin, rstn_pin, intn_pin);
}

void wizloop_arduino_other_device(int scsn_pin) { Board::it().set_other_device(scsn_pin); }

void wizloop_arduino_detach(void) {
  Board::it().detach();
  Terminal::it() = {};
  Serial = {};
}

void wizloop_arduino_end(int result) { wizloop_arduino::end_sketch(result); }

void wizloop_arduino_drive(int pin, int level) { Board::it().drive(pin, level); }

int wizloop_arduino_begin(wizloop_t* bed) {
  const int code = attach_as_configured(bed);
  return code != 0 ? code : call(setup);
}

int wizloop_arduino_once(void) {
  const int code = call(loop);
  Board::it().pay_loop();
  return code;
}

int wizloop_arduino_run(wizloop_t* bed) {
  const wizloop_arduino_config& config = wizloop_arduino_configuration;
  const int code = attach_as_configured(bed);
  if (code != 0) return code;
  if (config.input != nullptr) wizloop_arduino_type(config.input);

  stopped = false;
  if (config.stop != nullptr) stop.emplace(config.stop);
  Terminal::it().on_line = stop_at;
  int result = run(config.run_ms);
  Terminal::it().on_line = nullptr;
  if (result == 0 && config.stop != nullptr && !stopped) {
    std::printf("Serial has printed no line like \"%s\" in %llu ms\n", config.stop,
                static_cast<unsigned long long>(config.run_ms));
    result = 1;
  }
  for (const char* const* text = config.expect; *text != nullptr; ++text) {
    if (Pattern{*text}.is_in(Terminal::it().printed)) continue;
    std::printf("Serial has printed nothing like \"%s\"\n", *text);
    result = result != 0 ? result : 1;
  }
  Board::it().detach();
  return result;
}

__attribute__((weak)) int driver_test(wizloop_t* bed) { return wizloop_arduino_run(bed); }

}  // extern "C"
