#include "digits.hpp"

#include "text.hpp"

namespace agent {

bool equals(Text text, const char* characters, uint16_t length) {
  for (uint16_t i = 0; i < length; ++i) {
    if (text[i] == 0 || text[i] != characters[i]) return false;
  }
  return text[length] == 0;
}

bool parse_number(const char* text, uint16_t length, uint64_t* number) {
  const bool hexadecimal = length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
  const uint8_t base = hexadecimal ? 16 : 10;
  uint16_t at = hexadecimal ? 2 : 0;
  if (at == length) return false;
  uint64_t value = 0;
  for (; at < length; ++at) {
    const int8_t digit = hex_value(text[at]);
    if (digit < 0 || digit >= base) return false;
    const uint64_t before = value;
    value = value * base + static_cast<uint8_t>(digit);
    if (before > 0x0FFFFFFFFFFFFFFFu) return false;  // above 2^60 - 1: near enough to the end
  }
  *number = value;
  return true;
}

bool parse_number(const char* text, uint16_t length, uint32_t* number) {
  uint64_t value = 0;
  if (!parse_number(text, length, &value) || value > 0xFFFFFFFFu) return false;
  *number = static_cast<uint32_t>(value);
  return true;
}

bool parse_ip(const char* text, uint16_t length, uint8_t (&ip)[4]) {
  uint16_t at = 0;
  for (uint8_t part = 0; part < 4; ++part) {
    if (part > 0 && (at == length || text[at++] != '.')) return false;
    uint16_t value = 0;
    uint8_t digits = 0;
    while (at < length && is_digit(text[at]) && digits < 3) {
      value = static_cast<uint16_t>(value * 10 + (text[at++] - '0'));
      ++digits;
    }
    if (digits == 0 || value > 255) return false;
    ip[part] = static_cast<uint8_t>(value);
  }
  return at == length;
}

bool parse_mac(const char* text, uint16_t length, uint8_t (&mac)[6]) {
  if (length != 17) return false;
  for (uint8_t part = 0; part < 6; ++part) {
    const char* pair = text + 3 * part;
    if (hex_value(pair[0]) < 0 || hex_value(pair[1]) < 0 || (part < 5 && pair[2] != ':')) return false;
    mac[part] = hex_byte(pair);
  }
  return true;
}

uint8_t write_decimal(uint64_t number, char (&digits)[max_decimal_digits]) {
  char reversed[max_decimal_digits];
  uint8_t count = 0;
  do {
    reversed[count++] = static_cast<char>('0' + static_cast<uint8_t>(number % 10));
    number /= 10;
  } while (number > 0);
  for (uint8_t i = 0; i < count; ++i) digits[i] = reversed[count - 1 - i];
  return count;
}

}  // namespace agent
