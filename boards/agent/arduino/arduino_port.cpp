#include "arduino_port.hpp"

#include <string.h>

#include "pins.hpp"

namespace agent {
namespace {

template <int pin>  // a constant fits whatever type a core has for pins
void drive_high() {
  digitalWrite(pin, HIGH);  // first, so that the pin is never low
  pinMode(pin, OUTPUT);
  digitalWrite(pin, HIGH);  // again, for cores that forget the level of a pin that is no output
}

void put(uint8_t* to, const uint8_t* mosi, size_t count) {
  if (mosi == nullptr) {
    memset(to, 0, count);
  } else {
    memmove(to, mosi, count);
  }
}

}  // namespace

void ArduinoPort::begin() {
  drive_high<scsn>();
  if (rstn >= 0) drive_high<rstn>();
  if (intn_wired) pinMode(intn, INPUT_PULLUP);
  w5500_spi().begin();
}

void ArduinoPort::select() {
  w5500_spi().beginTransaction(SPISettings(sclk_hz, MSBFIRST, SPI_MODE0));
  digitalWrite(scsn, LOW);
}

void ArduinoPort::deselect() {
  digitalWrite(scsn, HIGH);
  w5500_spi().endTransaction();
}

uint8_t ArduinoPort::exchange(uint8_t mosi) { return w5500_spi().transfer(mosi); }

// The call that all cores share works in place: what is to stay as it is goes out of a copy, piece by piece.
void ArduinoPort::exchange(const uint8_t* mosi, uint8_t* miso, size_t count) {
  if (miso != nullptr) {
    put(miso, mosi, count);
    w5500_spi().transfer(miso, count);
    return;
  }
  uint8_t piece[256];
  while (count > 0) {
    const size_t now = count < sizeof piece ? count : sizeof piece;
    put(piece, mosi, now);
    w5500_spi().transfer(piece, now);
    if (mosi != nullptr) mosi += now;
    count -= now;
  }
}

uint32_t ArduinoPort::now_us() { return static_cast<uint32_t>(micros()); }

// delayMicroseconds() takes no more than 16383 on some cores.
void ArduinoPort::delay_us(uint32_t us) {
  if (us >= 1000) delay(us / 1000);
  delayMicroseconds(us % 1000);
}

bool ArduinoPort::set_reset_pin(bool high) {
  if (rstn < 0) return false;
  digitalWrite(rstn, high ? HIGH : LOW);
  return true;
}

bool ArduinoPort::wait_for_interrupt(uint32_t timeout_us) {
  if (!intn_wired) return false;
  const uint32_t start = now_us();
  while (digitalRead(intn) != LOW) {
    if (now_us() - start >= timeout_us) return false;
  }
  return true;
}

}  // namespace agent
