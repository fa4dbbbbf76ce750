// WString.h and IPAddress.h.
#include <strings.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "IPAddress.h"
#include "Print.h"
#include "WString.h"

namespace {

std::string digits_of(unsigned long long value, unsigned base) {
  if (base < 2 || base > 36) base = 10;
  std::string text;
  do {
    text += "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % base];
    value /= base;
  } while (value != 0);
  std::reverse(text.begin(), text.end());
  return text;
}

}  // namespace

String::String(unsigned long long value, unsigned char base) : text_{digits_of(value, base)} {}
String::String(unsigned long value, unsigned char base) : text_{digits_of(value, base)} {}
String::String(unsigned int value, unsigned char base) : text_{digits_of(value, base)} {}
String::String(unsigned char value, unsigned char base) : text_{digits_of(value, base)} {}
String::String(long long value, unsigned char base)
    : text_{value < 0 && base == 10 ? "-" + digits_of(0 - static_cast<unsigned long long>(value), base)
                                    : digits_of(static_cast<unsigned long long>(value), base)} {}
// Of negative numbers in another base, the 32 bits that a board's int and long have.
String::String(long value, unsigned char base)
    : String{base == 10 ? static_cast<long long>(value)
                        : (value < 0 ? static_cast<long long>(static_cast<uint32_t>(value)) : value),
             base} {}
String::String(int value, unsigned char base) : String{static_cast<long>(value), base} {}

String::String(double value, unsigned char digits) {
  char buffer[400];
  snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(digits), value);
  text_ = buffer;
}

bool String::equalsIgnoreCase(const String& other) const {
  return length() == other.length() && strcasecmp(c_str(), other.c_str()) == 0;
}

bool String::startsWith(const String& prefix, unsigned int offset) const {
  return offset <= length() && text_.compare(offset, prefix.length(), prefix.text_) == 0;
}

bool String::endsWith(const String& suffix) const {
  return length() >= suffix.length() && text_.compare(length() - suffix.length(), suffix.length(), suffix.text_) == 0;
}

char& String::operator[](unsigned int index) {
  static char outside;
  outside = '\0';
  return index < length() ? text_[index] : outside;
}

void String::getBytes(unsigned char* buffer, unsigned int size, unsigned int index) const {
  if (buffer == nullptr || size == 0) return;
  const unsigned int count = index < length() ? std::min(size - 1, length() - index) : 0;
  if (count > 0) memcpy(buffer, c_str() + index, count);
  buffer[count] = '\0';
}

String String::substring(unsigned int begin, unsigned int end) const {
  if (begin > end) std::swap(begin, end);
  if (begin >= length()) return String{};
  String part;
  part.text_ = text_.substr(begin, end - begin);
  return part;
}

void String::replace(char find, char with) { std::replace(text_.begin(), text_.end(), find, with); }

void String::replace(const String& find, const String& with) {
  if (find.isEmpty()) return;
  for (size_t at = 0; (at = text_.find(find.text_, at)) != std::string::npos; at += with.length()) {
    text_.replace(at, find.length(), with.text_);
  }
}

void String::remove(unsigned int index, unsigned int count) {
  if (index < length()) text_.erase(index, count);
}

void String::toLowerCase() {
  for (char& c : text_) c = static_cast<char>(tolower(static_cast<unsigned char>(c)));
}
void String::toUpperCase() {
  for (char& c : text_) c = static_cast<char>(toupper(static_cast<unsigned char>(c)));
}

void String::trim() {
  const char* const spaces = " \t\n\v\f\r";
  const size_t first = text_.find_first_not_of(spaces);
  text_ = first == std::string::npos ? "" : text_.substr(first, text_.find_last_not_of(spaces) - first + 1);
}

long String::toInt() const { return strtol(c_str(), nullptr, 10); }
double String::toDouble() const { return strtod(c_str(), nullptr); }

const IPAddress INADDR_NONE(0, 0, 0, 0);

IPAddress::IPAddress(uint8_t first, uint8_t second, uint8_t third, uint8_t fourth) {
  const uint8_t bytes[] = {first, second, third, fourth};
  memcpy(_address.bytes, bytes, sizeof bytes);
}
IPAddress::IPAddress(const uint8_t* address) { *this = address; }

bool IPAddress::fromString(const char* text) {
  uint8_t bytes[4];
  for (int i = 0; i < 4; ++i) {
    if (i > 0 && *text++ != '.') return false;
    unsigned value = 0;
    int digits = 0;
    for (; isdigit(static_cast<unsigned char>(*text)) && digits < 4; ++digits) value = value * 10 + (*text++ - '0');
    if (digits == 0 || value > 255) return false;
    bytes[i] = static_cast<uint8_t>(value);
  }
  if (*text != '\0') return false;
  *this = bytes;
  return true;
}

String IPAddress::toString() const {
  char text[16];
  snprintf(text, sizeof text, "%u.%u.%u.%u", _address.bytes[0], _address.bytes[1], _address.bytes[2],
           _address.bytes[3]);
  return text;
}

bool IPAddress::operator==(const uint8_t* address) const { return memcmp(_address.bytes, address, 4) == 0; }

IPAddress& IPAddress::operator=(const uint8_t* address) {
  memcpy(_address.bytes, address, sizeof _address.bytes);
  return *this;
}
IPAddress& IPAddress::operator=(uint32_t address) {
  _address.dword = address;
  return *this;
}

size_t IPAddress::printTo(Print& to) const { return to.print(toString()); }
