// Five ways to end badly, or not at all.
#include <SPI.h>
#include <wizloop_arduino.h>

void setup() {
  Serial.println(F("hello"));
  if (WAY == 1) wizloop_arduino_end(7);
  if (WAY == 2) exit(0);
  if (WAY == 3) SPI.transfer(0x39);
  if (WAY == 4) {
    Serial.println(F("waiting"));
    while (digitalRead(2) == HIGH) continue;
  }
}

void loop() {}
