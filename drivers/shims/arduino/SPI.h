// The SPI bus that the chip is on. Both families of calls: one byte at a time, at the board's byte-wise price, and
// buffers, at its burst price where the board file has one.
#ifndef _SPI_H_INCLUDED
#define _SPI_H_INCLUDED

#include "Arduino.h"

#define SPI_HAS_TRANSACTION 1
#define SPI_HAS_NOTUSINGINTERRUPT 1
#define SPI_HAS_TRANSFER_BUF 1  // transfer(const void *, void *, size_t)

#define SPI_MODE0 0
#define SPI_MODE1 1
#define SPI_MODE2 2
#define SPI_MODE3 3

// For setClockDivider(): SCLK is cpu_hz of the board file by this.
#define SPI_CLOCK_DIV2 2
#define SPI_CLOCK_DIV4 4
#define SPI_CLOCK_DIV8 8
#define SPI_CLOCK_DIV16 16
#define SPI_CLOCK_DIV32 32
#define SPI_CLOCK_DIV64 64
#define SPI_CLOCK_DIV128 128

// For the calls of the Due, whose controller drives SCSn itself.
enum SPITransferMode { SPI_CONTINUE, SPI_LAST };

class SPISettings {
 public:
  SPISettings() {}
  SPISettings(uint32_t clock, uint8_t bit_order, uint8_t data_mode)
      : clock_(clock), bit_order_(bit_order), data_mode_(data_mode) {}

 private:
  friend class SPIClass;

  uint32_t clock_ = 4000000;
  uint8_t bit_order_ = MSBFIRST;
  uint8_t data_mode_ = SPI_MODE0;
};

class SPIClass {
 public:
  void begin();
  void end() {}

  void beginTransaction(SPISettings settings);
  void endTransaction();
  // The interrupt waits while a transaction goes on.
  void usingInterrupt(uint8_t interrupt);
  void notUsingInterrupt(uint8_t interrupt);

  uint8_t transfer(uint8_t mosi);
  uint16_t transfer16(uint16_t mosi);
  void transfer(void* buffer, size_t count) { transfer(buffer, buffer, count); }
  // `out` null sends zeros, `in` null drops what comes.
  void transfer(const void* out, void* in, size_t count);

  void setBitOrder(uint8_t bit_order);
  void setDataMode(uint8_t data_mode);
  void setClockDivider(uint8_t divider);

  // As on the Due: `pin` selects the chip, and stays low after SPI_CONTINUE.
  void begin(uint8_t pin);
  void end(uint8_t) {}
  void beginTransaction(uint8_t pin, SPISettings settings);
  uint8_t transfer(uint8_t pin, uint8_t mosi, SPITransferMode mode = SPI_LAST);
  void transfer(uint8_t pin, void* buffer, size_t count, SPITransferMode mode = SPI_LAST);
  void setBitOrder(uint8_t, uint8_t bit_order) { setBitOrder(bit_order); }
  void setDataMode(uint8_t, uint8_t data_mode) { setDataMode(data_mode); }
  void setClockDivider(uint8_t, uint8_t divider) { setClockDivider(divider); }

  void attachInterrupt() {}
  void detachInterrupt() {}

 private:
  void apply();

  SPISettings settings_;
};

extern SPIClass SPI;

#endif
