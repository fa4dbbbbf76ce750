// Ways to end badly, or not at all.
#include <SPI.h>
#include <wizloop_arduino.h>

void setup() {
  Serial.println(F("hello"));
  if (WAY == 1) wizloop_arduino_end(7);
  if (WAY == 2) exit(0);
  if (WAY == 3) SPI.transfer(0x39);
  if (WAY == 4) wait_for_a_pin();
}

void loop() {
  if (WAY == 5) wait_for_a_pin();
  if (WAY == 7) wait_for_a_register();
  if (WAY == 6 && Serial.available() == 0) delay(20);
  if (WAY == 6 && Serial.available() > 0) {
    const long first = Serial.readStringUntil(' ').toInt();
    const long second = Serial.parseInt();
    if (Serial.read() == '.') Serial.println(first + second);
  }
}

// VERSIONR, until it is 5.
void wait_for_a_register() {
  pinMode(SS, OUTPUT);
  uint8_t version;
  do {
    digitalWrite(SS, LOW);
    SPI.transfer16(0x0039);
    SPI.transfer(0);
    version = SPI.transfer(0);
    digitalWrite(SS, HIGH);
  } while (version != 5);
}

void wait_for_a_pin() {
  while (digitalRead(2) == HIGH) continue;
}
