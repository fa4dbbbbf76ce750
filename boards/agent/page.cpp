#include "page.hpp"

#include "digits.hpp"

namespace agent {

void Page::text(Text text) {
  for (uint16_t i = 0; text[i] != 0; ++i) character(text[i]);
}

void Page::characters(const char* text) {
  while (*text != 0) character(*text++);
}

void Page::number(uint64_t value) {
  char digits[max_decimal_digits];
  const uint8_t count = write_decimal(value, digits);
  for (uint8_t i = 0; i < count; ++i) character(digits[i]);
}

void Page::ip(const uint8_t* ip) {
  for (uint8_t i = 0; i < 4; ++i) {
    if (i > 0) character('.');
    number(ip[i]);
  }
}

}  // namespace agent
