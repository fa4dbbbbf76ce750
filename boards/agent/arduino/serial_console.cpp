#include "serial_console.hpp"

#include <Arduino.h>

namespace agent {

size_t SerialConsole::read(uint8_t* data, size_t count) {
  size_t got = 0;
  while (got < count) {
    const int byte = Serial.read();
    if (byte < 0) break;
    data[got++] = static_cast<uint8_t>(byte);
  }
  return got;
}

void SerialConsole::write(const uint8_t* data, size_t count) { Serial.write(data, count); }

void SerialConsole::wait(uint32_t timeout_us) {
  const uint32_t start = static_cast<uint32_t>(micros());
  while (Serial.available() <= 0 && static_cast<uint32_t>(micros()) - start < timeout_us) {
  }
}

}  // namespace agent
