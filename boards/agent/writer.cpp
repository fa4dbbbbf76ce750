#include "writer.hpp"

#include "digits.hpp"

namespace agent {

void Writer::character(char c) {
  if (count_ == sizeof buffer_) flush();
  buffer_[count_++] = static_cast<uint8_t>(c);
  crc_ = crc16(crc_, static_cast<uint8_t>(c));
}

void Writer::text(Text text) {
  for (uint16_t i = 0; text[i] != 0; ++i) character(text[i]);
}

void Writer::characters(const char* text) {
  while (*text != 0) character(*text++);
}

void Writer::characters(const char* text, uint16_t length) {
  for (uint16_t i = 0; i < length; ++i) character(text[i]);
}

void Writer::decimal(uint64_t number) {
  char digits[max_decimal_digits];
  characters(digits, write_decimal(number, digits));
}

void Writer::hex(const uint8_t* data, uint16_t count) {
  for (uint16_t i = 0; i < count; ++i) {
    character(hex_digit(static_cast<uint8_t>(data[i] >> 4)));
    character(hex_digit(data[i]));
  }
}

void Writer::ip(const uint8_t* ip) {
  for (uint8_t i = 0; i < 4; ++i) {
    if (i > 0) character('.');
    decimal(ip[i]);
  }
}

void Writer::mac(const uint8_t* mac) {
  for (uint8_t i = 0; i < 6; ++i) {
    if (i > 0) character(':');
    hex(mac + i, 1);
  }
}

void Writer::key(Text key) {
  character(' ');
  text(key);
  character('=');
}

void Writer::end(bool with_crc) {
  if (with_crc) {
    const uint8_t raw[2] = {static_cast<uint8_t>(crc_ >> 8), static_cast<uint8_t>(crc_ & 0xFF)};
    character(' ');
    character('*');
    hex(raw, sizeof raw);
  }
  character('\r');
  character('\n');
  flush();
  crc_ = crc16_start;
}

void Writer::flush() {
  console_.write(buffer_, count_);
  count_ = 0;
}

}  // namespace agent
