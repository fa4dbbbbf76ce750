// Serial, and what runs a sketch: the driver_test() that a test may replace by its own.
#include <regex.h>

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <optional>
#include <string>
#include <utility>

#include "Arduino.h"
#include "board.hpp"

using wizloop_arduino::Board;

// A test that goes straight to a library has neither.
extern "C" __attribute__((weak)) void setup(void);
extern "C" __attribute__((weak)) void loop(void);

HardwareSerial Serial;

namespace {

constexpr std::uint64_t ns_per_ms = 1'000'000, ps_per_second = 1'000'000'000'000, ps_per_ns = 1000;
constexpr std::uint64_t bits_of_byte = 10, serial_buffer_bytes = 64;

// A POSIX extended regular expression, line by line.
class Pattern {
 public:
  explicit Pattern(const char* text) {
    if (regcomp(&compiled_, text, REG_EXTENDED | REG_NEWLINE | REG_NOSUB) != 0) {
      std::printf("\"%s\" is not a regular expression\n", text);
      std::abort();
    }
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;
  ~Pattern() { regfree(&compiled_); }
  bool is_in(const std::string& text) const { return regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0; }

 private:
  regex_t compiled_;
};

struct Terminal {
  std::string printed;
  std::string line;
  std::deque<char> typed;
  std::optional<Pattern> stop;
  bool stopped = false;
};
Terminal terminal;

void show(char c) {
  std::fputc(c, stdout);
  if (c == '\r') return;
  terminal.printed += c;
  if (c != '\n') {
    terminal.line += c;
    return;
  }
  const std::string line = std::exchange(terminal.line, {});
  if (terminal.stop && !terminal.stopped && terminal.stop->is_in(line)) {
    terminal.stopped = true;
    wizloop_arduino::end_sketch(0);
  }
}

int sketch(std::uint64_t run_ms) {
  Board& board = Board::it();
  try {
    board.end_after(run_ms * ns_per_ms);
    if (setup != nullptr) setup();
    while (true) {
      if (loop != nullptr) loop();
      board.pay_loop();
    }
  } catch (const wizloop_arduino::SketchEnds& end) {
    board.never_end();
    return end.result;
  }
}

}  // namespace

// Serial -------------------------------------------------------------------------------------------------------------

void HardwareSerial::begin(unsigned long baud, uint8_t) {
  byte_ps_ = baud > 0 ? bits_of_byte * ps_per_second / baud : 0;
}

int HardwareSerial::available() {
  Board::it().read_clock();
  return static_cast<int>(terminal.typed.size());
}

int HardwareSerial::peek() { return terminal.typed.empty() ? -1 : static_cast<unsigned char>(terminal.typed.front()); }

int HardwareSerial::read() {
  Board::it().read_clock();
  const int c = peek();
  if (c >= 0) terminal.typed.pop_front();
  return c;
}

uint64_t HardwareSerial::waiting_ps() const {
  const uint64_t now = Board::it().now_ps();
  return idle_from_ > now ? idle_from_ - now : 0;
}

size_t HardwareSerial::write(uint8_t value) {
  Board& board = Board::it();
  const uint64_t room_for_one_ps = (serial_buffer_bytes - 1) * byte_ps_;
  if (waiting_ps() > room_for_one_ps) board.spend((waiting_ps() - room_for_one_ps + ps_per_ns - 1) / ps_per_ns);
  idle_from_ = std::max(idle_from_, board.now_ps()) + byte_ps_;
  show(static_cast<char>(value));
  return 1;
}

int HardwareSerial::availableForWrite() {
  if (byte_ps_ == 0) return static_cast<int>(serial_buffer_bytes);
  return static_cast<int>(serial_buffer_bytes - (waiting_ps() + byte_ps_ - 1) / byte_ps_);
}

void HardwareSerial::flush() {
  if (waiting_ps() > 0) Board::it().spend((waiting_ps() + ps_per_ns - 1) / ps_per_ns);
}

// For tests ----------------------------------------------------------------------------------------------------------

extern "C" {

int wizloop_arduino_attach(wizloop_t* bed, int scsn_pin, int rstn_pin, int intn_pin) {
  return Board::it().attach(bed, scsn_pin, rstn_pin, intn_pin);
}

void wizloop_arduino_other_device(int scsn_pin) { Board::it().set_other_device(scsn_pin); }

void wizloop_arduino_detach(void) {
  Board::it().detach();
  terminal.printed.clear();
  terminal.line.clear();
  terminal.typed.clear();
  Serial = {};
}

void wizloop_arduino_end(int result) { wizloop_arduino::end_sketch(result); }

const char* wizloop_arduino_serial(void) { return terminal.printed.c_str(); }

void wizloop_arduino_type(const char* text) { terminal.typed.insert(terminal.typed.end(), text, text + strlen(text)); }

void wizloop_arduino_drive(int pin, int level) { Board::it().drive(pin, level); }

int wizloop_arduino_run(wizloop_t* bed) {
  const wizloop_arduino_config& config = wizloop_arduino_configuration;
  if (setup == nullptr && loop == nullptr) {
    std::puts("there is neither setup() nor loop(): name a sketch in SOURCES, or define driver_test()");
    return 1;
  }
  if (const int code = wizloop_arduino_attach(bed, config.scsn_pin, config.rstn_pin, config.intn_pin); code < 0)
    return code;
  wizloop_arduino_other_device(config.other_pin);
  if (config.input != nullptr) wizloop_arduino_type(config.input);

  if (config.stop != nullptr) terminal.stop.emplace(config.stop);
  int result = sketch(config.run_ms);
  if (result == 0 && config.stop != nullptr && !terminal.stopped) {
    std::printf("Serial has printed no line like \"%s\" in %llu ms\n", config.stop,
                static_cast<unsigned long long>(config.run_ms));
    result = 1;
  }
  for (const char* const* text = config.expect; *text != nullptr; ++text) {
    if (Pattern{*text}.is_in(terminal.printed)) continue;
    std::printf("Serial has printed nothing like \"%s\"\n", *text);
    result = result != 0 ? result : 1;
  }
  Board::it().detach();
  return result;
}

__attribute__((weak)) int driver_test(wizloop_t* bed) { return wizloop_arduino_run(bed); }

}  // extern "C"
