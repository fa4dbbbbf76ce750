// Serial: out to standard output, in from the test (wizloop_arduino_type()). At `baud` a byte takes ten bits; up to 64
// bytes wait in a buffer, and who writes more waits too.
#ifndef HardwareSerial_h
#define HardwareSerial_h

#include "Stream.h"

#define SERIAL_8N1 0x06
#define SERIAL_8E1 0x26
#define SERIAL_8O1 0x36
#define SERIAL_8N2 0x0E
#define SERIAL_7E1 0x24

class HardwareSerial : public Stream {
 public:
  void begin(unsigned long baud) { begin(baud, SERIAL_8N1); }
  void begin(unsigned long baud, uint8_t config);
  void end() {}
  int available() override;
  int read() override;
  int peek() override;
  size_t write(uint8_t value) override;
  // A bare number is a byte, not a pointer to text.
  size_t write(int value) { return write((uint8_t)value); }
  size_t write(unsigned int value) { return write((uint8_t)value); }
  size_t write(long value) { return write((uint8_t)value); }
  size_t write(unsigned long value) { return write((uint8_t)value); }
  using Print::write;
  int availableForWrite() override;
  void flush() override;
  explicit operator bool() const { return true; }

 private:
  uint64_t waiting_ps() const;  // until the last byte is out

  uint64_t byte_ps_ = 0;    // 0: before begin(), or a port that is not a UART
  uint64_t idle_from_ = 0;  // ps: the last byte is out
};

extern HardwareSerial Serial;

#endif
