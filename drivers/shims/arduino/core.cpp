// The functions of Arduino.h.
#include "Arduino.h"

#include <array>

#include "board.hpp"

using wizloop_arduino::Board;

namespace {

constexpr std::uint64_t ns_per_us = 1000, ns_per_ms = 1'000'000;
constexpr double analog_read_us = 10;  // estimate: a conversion of a 10-bit converter at about 1.3 MHz
constexpr int analog_top = 1023;

// xorshift64*: small, and the same on every computer.
std::uint64_t random_state = 0x9E3779B97F4A7C15u;
std::uint32_t next_random() {
  random_state ^= random_state >> 12;
  random_state ^= random_state << 25;
  random_state ^= random_state >> 27;
  return static_cast<std::uint32_t>((random_state * 0x2545F4914F6CDD1Du) >> 33);
}

std::array<int, NUM_DIGITAL_PINS>& analog_values() {
  static std::array<int, NUM_DIGITAL_PINS> values = [] {
    std::array<int, NUM_DIGITAL_PINS> none{};
    none.fill(-1);
    return none;
  }();
  return values;
}

std::size_t analog_pin(int pin) {
  const int number = pin < NUM_ANALOG_INPUTS ? pin + A0 : pin;
  return static_cast<std::size_t>(constrain(number, 0, NUM_DIGITAL_PINS - 1));
}

}  // namespace

extern "C" {

void pinMode(uint8_t pin, uint8_t mode) { Board::it().set_mode(pin, mode); }
void digitalWrite(uint8_t pin, uint8_t level) { Board::it().write(pin, level); }
int digitalRead(uint8_t pin) { return Board::it().read(pin); }

int analogRead(uint8_t pin) {
  Board::it().spend(static_cast<std::uint64_t>(analog_read_us * ns_per_us));
  const int value = analog_values()[analog_pin(pin)];
  return value >= 0 ? value : static_cast<int>(next_random() & analog_top);
}
void analogReference(uint8_t) {}
void analogWrite(uint8_t pin, int value) { Board::it().write(pin, value > 127 ? HIGH : LOW); }

unsigned long millis(void) { return Board::it().read_clock() / ns_per_ms; }
unsigned long micros(void) { return Board::it().read_clock() / ns_per_us; }
void delay(unsigned long ms) { Board::it().sleep(ms * ns_per_ms); }
void delayMicroseconds(unsigned int us) { Board::it().sleep(us * ns_per_us); }
void yield(void) { Board::it().read_clock(); }

void attachInterrupt(uint8_t interrupt, void (*handler)(void), int mode) {
  Board::it().attach_interrupt(interrupt, handler, mode);
}
void detachInterrupt(uint8_t interrupt) { Board::it().detach_interrupt(interrupt); }
void wizloop_arduino_interrupts(bool enabled) { Board::it().enable_interrupts(enabled); }

void wizloop_arduino_analog(int pin, int value) { analog_values()[analog_pin(pin)] = constrain(value, 0, analog_top); }

}  // extern "C"

long random(long end) { return end <= 0 ? 0 : static_cast<long>(next_random()) % end; }
long random(long begin, long end) { return begin >= end ? begin : begin + random(end - begin); }
void randomSeed(unsigned long seed) {
  if (seed != 0) random_state = seed;
}

long map(long value, long from_low, long from_high, long to_low, long to_high) {
  return from_high == from_low ? -1 : (value - from_low) * (to_high - to_low) / (from_high - from_low) + to_low;
}

uint16_t makeWord(uint16_t w) { return w; }
uint16_t makeWord(uint8_t high, uint8_t low) { return static_cast<uint16_t>(high << 8 | low); }

uint8_t shiftIn(uint8_t data_pin, uint8_t clock_pin, uint8_t bit_order) {
  uint8_t value = 0;
  for (int i = 0; i < 8; ++i) {
    digitalWrite(clock_pin, HIGH);
    const int place = bit_order == LSBFIRST ? i : 7 - i;
    value = static_cast<uint8_t>(value | digitalRead(data_pin) << place);
    digitalWrite(clock_pin, LOW);
  }
  return value;
}

void shiftOut(uint8_t data_pin, uint8_t clock_pin, uint8_t bit_order, uint8_t value) {
  for (int i = 0; i < 8; ++i) {
    const int place = bit_order == LSBFIRST ? i : 7 - i;
    digitalWrite(data_pin, static_cast<uint8_t>(value >> place & 1));
    digitalWrite(clock_pin, HIGH);
    digitalWrite(clock_pin, LOW);
  }
}
