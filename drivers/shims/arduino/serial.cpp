#include <cstdio>
#include <utility>

#include "Arduino.h"
#include "board.hpp"
#include "terminal.hpp"

using wizloop_arduino::Board;
using wizloop_arduino::Terminal;

HardwareSerial Serial;

Terminal& Terminal::it() {
  static Terminal terminal;
  return terminal;
}

namespace {

constexpr std::uint64_t ps_per_second = 1'000'000'000'000, ps_per_ns = 1000;
constexpr std::uint64_t bits_of_byte = 10, serial_buffer_bytes = 64;

// The carriage returns that println() sends go to the screen alone.
void show(char c) {
  Terminal& terminal = Terminal::it();
  if (terminal.on_byte != nullptr) return terminal.on_byte(terminal.on_byte_context, static_cast<std::uint8_t>(c));
  std::fputc(c, stdout);
  if (c == '\r') return;
  if (c == '\n' && terminal.on_line != nullptr) {
    const std::string line = terminal.printed.substr(terminal.printed.rfind('\n') + 1);
    terminal.printed += c;
    terminal.on_line(line);
  } else {
    terminal.printed += c;
  }
}

}  // namespace

void HardwareSerial::begin(unsigned long baud, uint8_t) {
  byte_ps_ = baud > 0 ? bits_of_byte * ps_per_second / baud : 0;
}

int HardwareSerial::available() {
  Board::it().read_clock();
  return static_cast<int>(Terminal::it().typed.size());
}

int HardwareSerial::peek() {
  return Terminal::it().typed.empty() ? -1 : static_cast<unsigned char>(Terminal::it().typed.front());
}

int HardwareSerial::read() {
  Board::it().read_clock();
  const int c = peek();
  if (c >= 0) Terminal::it().typed.pop_front();
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

extern "C" {

const char* wizloop_arduino_serial(void) { return Terminal::it().printed.c_str(); }

void wizloop_arduino_on_serial(wizloop_arduino_serial_fn callback, void* context) {
  Terminal::it().on_byte = callback;
  Terminal::it().on_byte_context = context;
}

void wizloop_arduino_type(const char* text) {
  Terminal::it().typed.insert(Terminal::it().typed.end(), text, text + strlen(text));
}

}  // extern "C"
