// The pins of an Uno, by their numbers.
#ifndef Pins_Arduino_h
#define Pins_Arduino_h

#include <stdint.h>

#define NUM_DIGITAL_PINS 70
#define NUM_ANALOG_INPUTS 8
#define LED_BUILTIN 13

static const uint8_t SS __attribute__((unused)) = 10;
static const uint8_t MOSI __attribute__((unused)) = 11;
static const uint8_t MISO __attribute__((unused)) = 12;
static const uint8_t SCK __attribute__((unused)) = 13;
static const uint8_t A0 __attribute__((unused)) = 14;
static const uint8_t A1 __attribute__((unused)) = 15;
static const uint8_t A2 __attribute__((unused)) = 16;
static const uint8_t A3 __attribute__((unused)) = 17;
static const uint8_t A4 __attribute__((unused)) = 18;
static const uint8_t A5 __attribute__((unused)) = 19;
static const uint8_t A6 __attribute__((unused)) = 20;
static const uint8_t A7 __attribute__((unused)) = 21;

#endif
