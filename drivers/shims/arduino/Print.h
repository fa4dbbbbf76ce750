// Text out: everything that Serial, clients and UDP packets have in common.
#ifndef Print_h
#define Print_h

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "Printable.h"
#include "WString.h"

#define DEC 10
#define HEX 16
#define OCT 8
#define BIN 2

class Print {
 public:
  virtual ~Print() = default;

  int getWriteError() { return write_error_; }
  void clearWriteError() { setWriteError(0); }

  virtual size_t write(uint8_t byte) = 0;
  virtual size_t write(const uint8_t* buffer, size_t size);
  size_t write(const char* text) { return text == nullptr ? 0 : write((const uint8_t*)text, strlen(text)); }
  size_t write(const char* buffer, size_t size) { return write((const uint8_t*)buffer, size); }
  virtual int availableForWrite() { return 0; }
  virtual void flush() {}

  size_t print(const __FlashStringHelper* text) { return write((const char*)text); }
  size_t print(const String& text) { return write((const uint8_t*)text.c_str(), text.length()); }
  size_t print(const char* text) { return write(text); }
  size_t print(char c) { return write((uint8_t)c); }
  size_t print(unsigned char value, int base = DEC) { return print((unsigned long long)value, base); }
  size_t print(int value, int base = DEC) { return print_signed(value, (unsigned int)value, base); }
  size_t print(unsigned int value, int base = DEC) { return print((unsigned long long)value, base); }
  // 32 bits in every base but ten: a long of the board has no more.
  size_t print(long value, int base = DEC) { return print_signed(value, (uint32_t)value, base); }
  size_t print(unsigned long value, int base = DEC) { return print((unsigned long long)value, base); }
  size_t print(long long value, int base = DEC) { return print_signed(value, (unsigned long long)value, base); }
  // Base 0 writes the low byte itself.
  size_t print(unsigned long long value, int base = DEC);
  size_t print(double value, int digits = 2);
  size_t print(const Printable& value) { return value.printTo(*this); }

  size_t println() { return write("\r\n"); }
  template <typename Value>
  size_t println(const Value& value) {
    const size_t count = print(value);
    return count + println();
  }
  template <typename Value>
  size_t println(const Value& value, int how) {
    const size_t count = print(value, how);
    return count + println();
  }

  size_t printf(const char* format, ...) __attribute__((format(printf, 2, 3)));

 protected:
  void setWriteError(int error = 1) { write_error_ = error; }

 private:
  size_t print_signed(long long value, unsigned long long as_unsigned, int base);

  int write_error_ = 0;
};

#endif
