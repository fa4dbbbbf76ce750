#include "Stream.h"

#include <string>

#include "Arduino.h"

namespace {

// Between two looks at a stream that has nothing: short beside any wait for a network, long enough for this computer.
constexpr unsigned look_again_us = 5;

}  // namespace

int Stream::timedRead() {
  const unsigned long start = millis();
  do {
    const int c = read();
    if (c >= 0) return c;
    delayMicroseconds(look_again_us);
  } while (millis() - start < _timeout);
  return -1;
}

int Stream::timedPeek() {
  const unsigned long start = millis();
  do {
    const int c = peek();
    if (c >= 0) return c;
    delayMicroseconds(look_again_us);
  } while (millis() - start < _timeout);
  return -1;
}

// The text may begin within a false start ("aab" in "aaab"), so what was read is compared as a whole.
bool Stream::findUntil(const char* target, size_t length, const char* terminator, size_t terminator_length) {
  const std::string wanted{target, length};
  const std::string end = terminator_length > 0 ? std::string{terminator, terminator_length} : std::string{};
  if (wanted.empty()) return true;
  const size_t longest = std::max(wanted.size(), end.size());
  std::string seen;
  const auto has = [&seen](const std::string& text) {
    return seen.size() >= text.size() && seen.compare(seen.size() - text.size(), text.size(), text) == 0;
  };
  for (int c = timedRead(); c >= 0; c = timedRead()) {
    seen += static_cast<char>(c);
    if (seen.size() > longest) seen.erase(0, 1);
    if (has(wanted)) return true;
    if (!end.empty() && has(end)) return false;
  }
  return false;
}

int Stream::peek_next_digit(LookaheadMode lookahead, bool detect_decimal) {
  while (true) {
    const int c = timedPeek();
    if (c < 0 || c == '-' || isDigit(c) || (detect_decimal && c == '.')) return c;
    const bool space = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (lookahead == SKIP_NONE || (lookahead == SKIP_WHITESPACE && !space)) return -1;
    read();
  }
}

long Stream::parseInt(LookaheadMode lookahead, char ignore) {
  int c = peek_next_digit(lookahead, false);
  if (c < 0) return 0;
  bool negative = false;
  unsigned long value = 0;
  do {
    if (c == '-') negative = true;
    if (isDigit(c)) value = value * 10 + static_cast<unsigned long>(c - '0');
    read();
    c = timedPeek();
  } while (c >= 0 && (isDigit(c) || c == ignore));
  return static_cast<long>(negative ? 0 - value : value);
}

float Stream::parseFloat(LookaheadMode lookahead, char ignore) {
  int c = peek_next_digit(lookahead, true);
  if (c < 0) return 0;
  bool negative = false, in_fraction = false;
  double value = 0, scale = 1;
  do {
    if (c == '-') negative = true;
    if (c == '.') in_fraction = true;
    if (isDigit(c)) {
      value = value * 10 + (c - '0');
      if (in_fraction) scale *= 0.1;
    }
    read();
    c = timedPeek();
  } while (c >= 0 && (isDigit(c) || (c == '.' && !in_fraction) || c == ignore));
  return static_cast<float>((negative ? -value : value) * scale);
}

size_t Stream::readBytes(char* buffer, size_t length) {
  size_t count = 0;
  for (; count < length; ++count) {
    const int c = timedRead();
    if (c < 0) break;
    buffer[count] = static_cast<char>(c);
  }
  return count;
}

size_t Stream::readBytesUntil(char terminator, char* buffer, size_t length) {
  size_t count = 0;
  while (count < length) {
    const int c = timedRead();
    if (c < 0 || static_cast<char>(c) == terminator) break;
    buffer[count++] = static_cast<char>(c);
  }
  return count;
}

String Stream::readString() {
  String text;
  for (int c = timedRead(); c >= 0; c = timedRead()) text += static_cast<char>(c);
  return text;
}

String Stream::readStringUntil(char terminator) {
  String text;
  for (int c = timedRead(); c >= 0 && static_cast<char>(c) != terminator; c = timedRead()) text += static_cast<char>(c);
  return text;
}
