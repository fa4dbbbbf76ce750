#include "request.hpp"

#include "crc16.hpp"
#include "digits.hpp"

namespace agent {
namespace {

uint16_t length_of(const char* text) {
  uint16_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

uint16_t length_of(Text text) {
  uint16_t length = 0;
  while (text[length] != 0) ++length;
  return length;
}

}  // namespace

Request::Request(char* line, uint16_t length) : line_(line), length_(length), faulty_key_(nullptr) {
  uint8_t digits = 0;
  at_ = 1;
  if (length > 0 && line[0] == '#') {
    while (digits < max_sequence_digits && at_ < length && is_digit(line[at_])) sequence_[digits++] = line[at_++];
  }
  has_sequence_ = digits > 0 && at_ < length && line[at_] == ' ';
  if (!has_sequence_) {
    sequence_[0] = '0';
    digits = 1;
  }
  sequence_[digits] = 0;
}

RequestFault Request::parse() {
  if (!parse_checksum()) return RequestFault::crc;
  if (!has_sequence_) return RequestFault::syntax;

  // Each word gets a 0 behind it; several blanks are several.
  uint16_t words = 0;
  uint16_t at = at_;
  while (at < length_) {
    while (at < length_ && line_[at] == ' ') line_[at++] = 0;
    if (at == length_) break;
    char* word = line_ + at;
    bool assigns = false;
    while (at < length_ && line_[at] != ' ') {
      // Only a checksum has a star: one without its blank must not pass for part of a value.
      if (line_[at] == '*') return RequestFault::syntax;
      if (line_[at] == '=' && line_ + at > word) assigns = true;
      ++at;
    }
    if (words == 0) {
      verb_ = word;
    } else if (!assigns) {
      return RequestFault::syntax;
    }
    ++words;
    if (words == 1) words_ = line_ + at;
  }
  line_[length_] = 0;
  return words > 0 ? RequestFault::none : RequestFault::syntax;
}

// Takes " *HHHH" off the end of the line.
bool Request::parse_checksum() {
  uint16_t star = length_;
  while (star > 0 && line_[star - 1] != ' ') --star;
  if (star == 0 || line_[star] != '*') return true;
  checked_ = true;
  if (length_ - star != 5) return false;
  uint16_t wanted = 0;
  for (uint8_t i = 1; i <= 4; ++i) {
    const int8_t digit = hex_value(line_[star + i]);
    if (digit < 0) return false;
    wanted = static_cast<uint16_t>((wanted << 4) | digit);
  }
  length_ = static_cast<uint16_t>(star - 1);
  uint16_t crc = crc16_start;
  for (uint16_t i = 0; i < length_; ++i) crc = crc16(crc, static_cast<uint8_t>(line_[i]));
  return crc == wanted;
}

bool Request::same_sequence(const Request& other) const {
  uint8_t i = 0;
  while (sequence_[i] != 0 && sequence_[i] == other.sequence_[i]) ++i;
  return sequence_[i] == other.sequence_[i];
}

bool Request::is(Text verb) const { return equals(verb, verb_, length_of(verb_)); }

const char* Request::next_key(const char* key, uint16_t* length) const {
  const char* at = key == nullptr ? words_ : key + length_of(key);
  const char* const end = line_ + length_;
  while (at != nullptr && at < end && *at == 0) ++at;
  if (at == nullptr || at >= end) return nullptr;
  *length = 0;
  while (at[*length] != '=') ++*length;
  return at;
}

char* Request::value(Text key, uint16_t* length) {
  uint16_t key_length = 0;
  for (const char* at = next_key(nullptr, &key_length); at != nullptr; at = next_key(at, &key_length)) {
    if (!equals(key, at, key_length)) continue;
    char* const value = line_ + (at - line_) + key_length + 1;
    *length = length_of(value);
    return value;
  }
  return nullptr;
}

bool Request::has(Text key) const {
  uint16_t key_length = 0;
  for (const char* at = next_key(nullptr, &key_length); at != nullptr; at = next_key(at, &key_length)) {
    if (equals(key, at, key_length)) return true;
  }
  return false;
}

void Request::set_fault(ValueFault fault, Text key) {
  if (fault_ != ValueFault::none) return;
  fault_ = fault;
  faulty_key_ = key;
}

uint64_t Request::checked_number(Text key, uint64_t least, uint64_t most, const uint64_t* otherwise) {
  uint16_t length = 0;
  const char* text = value(key, &length);
  uint64_t number = otherwise != nullptr ? *otherwise : least;
  if (text == nullptr) {
    if (otherwise == nullptr) set_fault(ValueFault::missing, key);
    return number;
  }
  if (!parse_number(text, length, &number) || number < least || number > most) {
    set_fault(ValueFault::bad, key);
    return least;
  }
  return number;
}

uint32_t Request::number(Text key, uint32_t least, uint32_t most) {
  return static_cast<uint32_t>(checked_number(key, least, most, nullptr));
}

uint32_t Request::number(Text key, uint32_t least, uint32_t most, uint32_t otherwise) {
  const uint64_t value = otherwise;
  return static_cast<uint32_t>(checked_number(key, least, most, &value));
}

uint16_t Request::number16(Text key, uint16_t least, uint16_t most) {
  return static_cast<uint16_t>(checked_number(key, least, most, nullptr));
}

uint16_t Request::number16(Text key, uint16_t least, uint16_t most, uint16_t otherwise) {
  const uint64_t value = otherwise;
  return static_cast<uint16_t>(checked_number(key, least, most, &value));
}

uint64_t Request::number64(Text key, uint64_t otherwise) {
  return checked_number(key, 0, 0x0FFFFFFFFFFFFFFFu, &otherwise);
}

bool Request::flag(Text key, bool otherwise) { return number16(key, 0, 1, otherwise ? 1 : 0) != 0; }

void Request::ip(Text key, uint8_t (&ip)[4]) {
  if (!has(key)) set_fault(ValueFault::missing, key);
  ip_if_given(key, ip);
}

void Request::ip_if_given(Text key, uint8_t (&ip)[4]) {
  uint16_t length = 0;
  const char* text = value(key, &length);
  if (text != nullptr && !parse_ip(text, length, ip)) set_fault(ValueFault::bad, key);
}

void Request::mac_if_given(Text key, uint8_t (&mac)[6]) {
  uint16_t length = 0;
  const char* text = value(key, &length);
  if (text != nullptr && !parse_mac(text, length, mac)) set_fault(ValueFault::bad, key);
}

uint8_t Request::choice(Text key, Text words, uint8_t otherwise) {
  uint16_t length = 0;
  const char* text = value(key, &length);
  if (text == nullptr) return otherwise;
  const uint16_t end = length_of(words);
  uint8_t index = 0;
  for (uint16_t start = 0; start < end; ++index) {
    uint16_t i = 0;
    while (i < length && words[static_cast<uint16_t>(start + i)] == text[i]) ++i;
    const char after = words[static_cast<uint16_t>(start + i)];
    if (i == length && length > 0 && (after == ' ' || after == 0)) return index;
    while (start < end && words[start] != ' ') ++start;
    ++start;
  }
  set_fault(ValueFault::bad, key);
  return otherwise;
}

}  // namespace agent
