// Numbers as text and back: decimal, hexadecimal, dotted addresses.
#ifndef WIZLOOP_AGENT_DIGITS_HPP
#define WIZLOOP_AGENT_DIGITS_HPP

#include <stdint.h>

namespace agent {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// 0 to 15, or -1.
inline int8_t hex_value(char c) {
  if (is_digit(c)) return static_cast<int8_t>(c - '0');
  if (c >= 'A' && c <= 'F') return static_cast<int8_t>(c - 'A' + 10);
  if (c >= 'a' && c <= 'f') return static_cast<int8_t>(c - 'a' + 10);
  return -1;
}

inline char hex_digit(uint8_t value) {
  return static_cast<char>((value & 0x0F) < 10 ? '0' + (value & 0x0F) : 'A' + (value & 0x0F) - 10);
}

// Of two digits that hex_value() takes.
inline uint8_t hex_byte(const char* digits) {
  return static_cast<uint8_t>((hex_value(digits[0]) << 4) | hex_value(digits[1]));
}

// All of text[0..length) as a number, decimal or 0x with hexadecimal digits; false if it is none or above 2^32 - 1.
bool parse_number(const char* text, uint16_t length, uint32_t* number);
// The same for 2^64 - 1.
bool parse_number(const char* text, uint16_t length, uint64_t* number);
// Four numbers with dots, six pairs of hexadecimal digits with colons.
bool parse_ip(const char* text, uint16_t length, uint8_t (&ip)[4]);
bool parse_mac(const char* text, uint16_t length, uint8_t (&mac)[6]);

constexpr uint8_t max_decimal_digits = 20;
// Returns how many digits there are.
uint8_t write_decimal(uint64_t number, char (&digits)[max_decimal_digits]);

}  // namespace agent

#endif
