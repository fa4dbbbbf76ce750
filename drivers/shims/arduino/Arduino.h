// The Arduino language on this computer: what a sketch or an Arduino library includes, over a W5500 on a simulated
// board. Names and signatures are those of the public API (docs.arduino.cc/language-reference); Uno pin numbers.
//
// Time is virtual. delay() costs nothing on this computer; each call costs what the board file says that it costs
// (boards/README.md, table [arduino]), and where the file says nothing an estimate in cycles of cpu_hz (board.hpp).
// Interrupts run when SCSn is high and the call that they interrupt is done with the chip: never inside a frame.
//
// long has 64 bits here, so millis() and micros() do not wrap; int has 32.
#ifndef Arduino_h
#define Arduino_h

#ifndef ARDUINO
#define ARDUINO 10819
#endif
#ifndef F_CPU
#define F_CPU 16000000UL
#endif

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "avr/pgmspace.h"
#include "pins_arduino.h"

#define HIGH 0x1
#define LOW 0x0
#define CHANGE 1
#define FALLING 2
#define RISING 3

#define INPUT 0x0
#define OUTPUT 0x1
#define INPUT_PULLUP 0x2

#define LSBFIRST 0
#define MSBFIRST 1

#define DEFAULT 1
#define EXTERNAL 0
#define INTERNAL 3

#ifndef PI
#define PI 3.1415926535897932384626433832795
#endif
#define HALF_PI 1.5707963267948966192313216916398
#define TWO_PI 6.283185307179586476925286766559
#define DEG_TO_RAD 0.017453292519943295769236907684886
#define RAD_TO_DEG 57.295779513082320876798154814105
#define EULER 2.718281828459045235360287471352

#define constrain(amt, low, high) ((amt) < (low) ? (low) : ((amt) > (high) ? (high) : (amt)))
#define radians(deg) ((deg)*DEG_TO_RAD)
#define degrees(rad) ((rad)*RAD_TO_DEG)
#define sq(x) ((x) * (x))

#define lowByte(w) ((uint8_t)((w)&0xff))
#define highByte(w) ((uint8_t)(((w) >> 8) & 0xff))
#define bit(b) (1UL << (b))
#define bitRead(value, bit) (((value) >> (bit)) & 0x01)
#define bitSet(value, bit) ((value) |= (1UL << (bit)))
#define bitClear(value, bit) ((value) &= ~(1UL << (bit)))
#define bitToggle(value, bit) ((value) ^= (1UL << (bit)))
#define bitWrite(value, bit, bitvalue) ((bitvalue) ? bitSet(value, bit) : bitClear(value, bit))
#define _BV(bit) (1 << (bit))

#define clockCyclesPerMicrosecond() (F_CPU / 1000000L)
#define clockCyclesToMicroseconds(a) ((a) / clockCyclesPerMicrosecond())
#define microsecondsToClockCycles(a) ((a)*clockCyclesPerMicrosecond())

// Each pin is its own interrupt, as on most boards that are not AVRs.
#define NOT_AN_INTERRUPT (-1)
#define digitalPinToInterrupt(pin) (pin)

typedef bool boolean;
typedef uint8_t byte;
typedef uint16_t word;

#ifdef __cplusplus
extern "C" {
#endif

void pinMode(uint8_t pin, uint8_t mode);
void digitalWrite(uint8_t pin, uint8_t level);
int digitalRead(uint8_t pin);
// What wizloop_arduino_analog() has set for the pin; otherwise the pin floats, and reads noise.
int analogRead(uint8_t pin);
void analogReference(uint8_t mode);
void analogWrite(uint8_t pin, int value);

unsigned long millis(void);
unsigned long micros(void);
void delay(unsigned long ms);
void delayMicroseconds(unsigned int us);
void yield(void);

void attachInterrupt(uint8_t interrupt, void (*handler)(void), int mode);
void detachInterrupt(uint8_t interrupt);
void wizloop_arduino_interrupts(bool enabled);
// Macros, as in other cores, that are a syntax error where a driver has a function of that name.
#define interrupts() ((void)wizloop_arduino_interrupts(true))
#define noInterrupts() ((void)wizloop_arduino_interrupts(false))

void setup(void);
void loop(void);

#ifdef __cplusplus
}

#include <algorithm>

#include "WString.h"
// The others follow at the end: they need what is declared here.

template <typename A, typename B>
constexpr auto min(const A& a, const B& b) -> decltype(a < b ? a : b) {
  return b < a ? b : a;
}
template <typename A, typename B>
constexpr auto max(const A& a, const B& b) -> decltype(a < b ? b : a) {
  return a < b ? b : a;
}

long random(long end);
long random(long begin, long end);
void randomSeed(unsigned long seed);
long map(long value, long from_low, long from_high, long to_low, long to_high);

uint16_t makeWord(uint16_t w);
uint16_t makeWord(uint8_t high, uint8_t low);
#define word(...) makeWord(__VA_ARGS__)

uint8_t shiftIn(uint8_t data_pin, uint8_t clock_pin, uint8_t bit_order);
void shiftOut(uint8_t data_pin, uint8_t clock_pin, uint8_t bit_order, uint8_t value);

inline bool isAlphaNumeric(int c) { return isalnum(c) != 0; }
inline bool isAlpha(int c) { return isalpha(c) != 0; }
inline bool isAscii(int c) { return c >= 0 && c < 128; }
inline bool isWhitespace(int c) { return c == ' ' || c == '\t'; }
inline bool isControl(int c) { return iscntrl(c) != 0; }
inline bool isDigit(int c) { return isdigit(c) != 0; }
inline bool isGraph(int c) { return isgraph(c) != 0; }
inline bool isLowerCase(int c) { return islower(c) != 0; }
inline bool isPrintable(int c) { return isprint(c) != 0; }
inline bool isPunct(int c) { return ispunct(c) != 0; }
inline bool isSpace(int c) { return isspace(c) != 0; }
inline bool isUpperCase(int c) { return isupper(c) != 0; }
inline bool isHexadecimalDigit(int c) { return isxdigit(c) != 0; }

#include "HardwareSerial.h"
#include "IPAddress.h"
#endif

#endif
