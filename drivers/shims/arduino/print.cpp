#include "Print.h"

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <string>

size_t Print::write(const uint8_t* buffer, size_t size) {
  size_t count = 0;
  while (count < size && write(buffer[count]) == 1) ++count;
  return count;
}

size_t Print::print(unsigned long long value, int base) {
  if (base == 0) return write(static_cast<uint8_t>(value));
  const String text{value, static_cast<unsigned char>(base)};
  return print(text);
}

size_t Print::print_signed(long long value, unsigned long long as_unsigned, int base) {
  if (base != DEC || value >= 0) return print(as_unsigned, base);
  const size_t sign = print('-');
  return sign + print(0 - static_cast<unsigned long long>(value), DEC);
}

size_t Print::print(double value, int digits) {
  if (std::isnan(value)) return write("nan");
  if (std::isinf(value)) return write("inf");
  if (std::fabs(value) > 4294967040.0) return write("ovf");  // what an integer part of 32 bits holds
  return print(String{value, static_cast<unsigned char>(digits < 0 ? 2 : digits)});
}

size_t Print::printf(const char* format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(nullptr, 0, format, arguments);
  va_end(arguments);
  std::string text(length > 0 ? static_cast<size_t>(length) : 0, '\0');
  vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return write(text.data(), text.size());
}
