// Pins, time, SPI, interrupts and Serial: what reaches the chip, when, and what it costs.
#include <Arduino.h>
#include <SPI.h>

#include <string>

#include "check.hpp"
#include "wizloop_arduino.h"

namespace {

constexpr uint8_t scsn = 10, rstn = 9, intn = 2, other = 4;
constexpr uint8_t common = 0;

wizloop_t* bed;

uint8_t read_version() {
  SPI.transfer16(0x0039);
  SPI.transfer(0);
  return SPI.transfer(0);
}
uint8_t version(uint8_t pin = scsn) {
  digitalWrite(pin, LOW);
  const uint8_t value = read_version();
  digitalWrite(pin, HIGH);
  return value;
}

double price(const char* key) {
  double value = -1;
  wizloop_price(bed, key, &value);
  return value;
}

template <typename Action>
double cost_ns(Action action) {
  const uint64_t before = wizloop_now_ps(bed);
  action();
  return static_cast<double>(wizloop_now_ps(bed) - before) / 1000;
}

bool has_finding(const char* rule) {
  for (int i = 0; i < wizloop_finding_count(bed); ++i) {
    wizloop_finding finding;
    if (wizloop_finding_get(bed, i, &finding) == WIZLOOP_OK && std::string{finding.rule} == rule) return true;
  }
  return false;
}

void selects_by_the_pin() {
  SPI.begin();
  pinMode(scsn, OUTPUT);
  digitalWrite(scsn, HIGH);
  CHECK_EQ(int{version()}, 4);

  // Header and data in one buffer, in two, and in place.
  uint8_t frame[] = {0x00, 0x39, 0x00, 0x00};
  uint8_t answer[4] = {};
  digitalWrite(scsn, LOW);
  SPI.transfer(static_cast<const void*>(frame), answer, sizeof frame);
  digitalWrite(scsn, HIGH);
  CHECK_EQ(int{answer[3]}, 4);
  digitalWrite(scsn, LOW);
  SPI.transfer(frame, sizeof frame);
  digitalWrite(scsn, HIGH);
  CHECK_EQ(int{frame[3]}, 4);

  // The calls of the Due: the controller moves the pin.
  SPI.begin(scsn);
  SPI.transfer(scsn, 0x00, SPI_CONTINUE);
  SPI.transfer(scsn, 0x39, SPI_CONTINUE);
  SPI.transfer(scsn, 0x00, SPI_CONTINUE);
  CHECK_EQ(int{SPI.transfer(scsn, 0x00)}, 4);

  // Least significant bit first: 0x39 is 0x9C the other way round.
  SPI.setBitOrder(LSBFIRST);
  digitalWrite(scsn, LOW);
  SPI.transfer(0x00);
  SPI.transfer(0x9C);
  SPI.transfer(0x00);
  CHECK_EQ(int{SPI.transfer(0x00)}, 0x20);
  digitalWrite(scsn, HIGH);
  uint8_t turned[] = {0x00, 0x9C, 0x00, 0x00};
  digitalWrite(scsn, LOW);
  SPI.transfer(turned, sizeof turned);
  digitalWrite(scsn, HIGH);
  CHECK_EQ(int{turned[3]}, 0x20);
  SPI.setBitOrder(MSBFIRST);
  CHECK_EQ(wizloop_failing(bed), 0);
}

void resets_by_the_pin() {
  const uint8_t ip[] = {10, 0, 0, 1};
  uint8_t read[4] = {};
  wizloop_write(bed, common, 0x0F, ip, sizeof ip);
  pinMode(rstn, OUTPUT);
  digitalWrite(rstn, LOW);
  delay(1);
  digitalWrite(rstn, HIGH);
  delay(60);
  wizloop_peek(bed, common, 0x0F, read, sizeof read);
  CHECK_EQ(int{read[0]}, 0);
}

void costs_what_the_board_file_says() {
  const double pin_ns = price("arduino.digital_write_ns");
  CHECK_EQ(cost_ns([] { digitalWrite(7, HIGH); }), pin_ns);
  CHECK_EQ(cost_ns([] { digitalRead(7); }), pin_ns);
  CHECK_EQ(cost_ns([] { digitalWrite(scsn, LOW); }), pin_ns);
  CHECK_EQ(cost_ns([] { digitalWrite(scsn, LOW); }), pin_ns);  // a call all the same
  read_version();
  CHECK_EQ(cost_ns([] { digitalWrite(scsn, HIGH); }), pin_ns);
  CHECK_EQ(cost_ns([] { millis(); }), price("arduino.millis_ns"));
  CHECK_EQ(cost_ns([] { micros(); }), price("arduino.millis_ns"));
  CHECK_EQ(cost_ns([] { delay(20); }), 20e6);
  CHECK_EQ(cost_ns([] { delayMicroseconds(5); }), 5e3);

  // A frame costs the same as one of firmware that is priced frame by frame.
  const double frame_ns = cost_ns([] {
    SPI.beginTransaction(SPISettings(42000000, MSBFIRST, SPI_MODE0));
    digitalWrite(scsn, LOW);
    digitalWrite(scsn, HIGH);
    SPI.endTransaction();
  });
  CHECK_EQ(frame_ns, price("select_ns") + price("deselect_ns"));

  // SCLK is what the sketch asks for, or what the board can do.
  const auto at = [](uint32_t hz) {
    SPI.beginTransaction(SPISettings(hz, MSBFIRST, SPI_MODE0));
    digitalWrite(scsn, LOW);
    const double ns = cost_ns([] { read_version(); }) / 4;
    digitalWrite(scsn, HIGH);
    SPI.endTransaction();
    return ns - price("byte_gap_ns");
  };
  CHECK(std::fabs(at(8000000) - 1000) < 0.01);
  CHECK(std::fabs(at(80000000) - 8e9 / 42e6) < 0.01);
  SPI.setClockDivider(SPI_CLOCK_DIV128);
  digitalWrite(scsn, LOW);
  CHECK(std::fabs(cost_ns([] { read_version(); }) / 4 - price("byte_gap_ns") - 8e9 * 128 / 168e6) < 0.01);
  digitalWrite(scsn, HIGH);
}

void clock_goes_on() {
  const unsigned long start = millis(), start_us = micros();
  delay(1500);
  CHECK_EQ(millis() - start, 1500u);
  CHECK_EQ((micros() - start_us) / 1000, 1500u);
  // Firmware that only looks at the clock gets on, to the microsecond, and without a look for each 20 cycles.
  const unsigned long from = micros();
  unsigned long looks = 0;
  while (micros() - from < 3000) ++looks;
  CHECK(micros() - from <= 3002);
  CHECK(looks > 2900 && looks < 3200);
  digitalRead(7);
  CHECK_EQ(cost_ns([] { micros(); }), price("arduino.millis_ns"));
}

// Interrupts ---------------------------------------------------------------------------------------------------------

volatile int calls;
volatile int level_in_handler;
void count() { ++calls; }
void count_and_look() {
  ++calls;
  level_in_handler = digitalRead(intn);
}
void edge_handlers() {
  pinMode(7, INPUT);
  wizloop_arduino_drive(7, HIGH);
  calls = 0;
  attachInterrupt(digitalPinToInterrupt(7), count, FALLING);
  wizloop_arduino_drive(7, LOW);
  CHECK_EQ(calls, 1);
  wizloop_arduino_drive(7, LOW);
  wizloop_arduino_drive(7, HIGH);
  CHECK_EQ(calls, 1);
  attachInterrupt(digitalPinToInterrupt(7), count, RISING);
  wizloop_arduino_drive(7, LOW);
  CHECK_EQ(calls, 1);
  wizloop_arduino_drive(7, HIGH);
  CHECK_EQ(calls, 2);
  attachInterrupt(digitalPinToInterrupt(7), count, CHANGE);
  wizloop_arduino_drive(7, LOW);
  wizloop_arduino_drive(7, HIGH);
  CHECK_EQ(calls, 4);

  // One edge is kept while interrupts are off.
  noInterrupts();
  wizloop_arduino_drive(7, LOW);
  wizloop_arduino_drive(7, HIGH);
  CHECK_EQ(calls, 4);
  interrupts();
  CHECK_EQ(calls, 5);

  // A transaction holds back those that it was told of, and only those.
  SPI.usingInterrupt(digitalPinToInterrupt(7));
  SPI.beginTransaction(SPISettings());
  wizloop_arduino_drive(7, LOW);
  CHECK_EQ(calls, 5);
  SPI.endTransaction();
  CHECK_EQ(calls, 6);
  SPI.notUsingInterrupt(digitalPinToInterrupt(7));
  SPI.beginTransaction(SPISettings());
  wizloop_arduino_drive(7, HIGH);
  CHECK_EQ(calls, 7);
  SPI.endTransaction();

  detachInterrupt(digitalPinToInterrupt(7));
  wizloop_arduino_drive(7, LOW);
  CHECK_EQ(calls, 7);
}

void level_handler() {
  calls = 0;
  wizloop_arduino_drive(7, HIGH);
  attachInterrupt(digitalPinToInterrupt(7), count, LOW);
  delay(1);
  CHECK_EQ(calls, 0);
  wizloop_arduino_drive(7, LOW);
  CHECK_EQ(calls, 1);
  millis();
  CHECK_EQ(calls, 2);  // as long as the level lasts
  digitalWrite(scsn, LOW);
  read_version();
  CHECK_EQ(calls, 2);  // never inside a frame
  digitalWrite(scsn, HIGH);
  CHECK_EQ(calls, 3);
  wizloop_arduino_drive(7, HIGH);
  millis();
  CHECK_EQ(calls, 3);
  detachInterrupt(digitalPinToInterrupt(7));
}

// A datagram pulls INTn low; reading it and clearing its cause lets it rise.
void handler_of_intn() {
  constexpr uint8_t registers = 1;
  const auto put = [](uint8_t block, uint16_t offset, uint8_t value) { wizloop_write(bed, block, offset, &value, 1); };
  const uint8_t addresses[] = {0, 0, 0, 0, 255, 255, 255, 0, 2, 0, 0, 0, 0, 0x20, 192, 168, 1, 20};
  wizloop_write(bed, common, 0x01, addresses, sizeof addresses);
  put(common, 0x18, 0x01);     // SIMR
  put(registers, 0x2C, 0x04);  // Sn_IMR: RECV
  put(registers, 0x00, 0x02);  // Sn_MR: UDP
  put(registers, 0x05, 99);    // Sn_PORT
  put(registers, 0x01, 0x01);  // Sn_CR: OPEN

  calls = 0;
  pinMode(intn, INPUT_PULLUP);
  attachInterrupt(digitalPinToInterrupt(intn), count_and_look, FALLING);
  const int pc = wizloop_pc_udp_open(bed, 0);
  CHECK_EQ(wizloop_pc_send_to(bed, pc, 0xC0A80114, 99, "x", 1), 1);
  delay(5);
  CHECK_EQ(calls, 1);
  CHECK_EQ(level_in_handler, LOW);
  put(registers, 0x02, 0x04);  // Sn_IR
  CHECK_EQ(digitalRead(intn), HIGH);
  CHECK_EQ(calls, 1);
  detachInterrupt(digitalPinToInterrupt(intn));
  wizloop_pc_send_to(bed, pc, 0xC0A80114, 99, "y", 1);
  delay(5);
  CHECK_EQ(digitalRead(intn), LOW);
  CHECK_EQ(calls, 1);
}

// The rest -----------------------------------------------------------------------------------------------------------

void serial_takes_its_time() {
  Serial.begin(9600);
  const double byte_ns = 10e9 / 9600;
  const double first =
      cost_ns([] { Serial.print("0123456789012345678901234567890123456789012345678901234567890123"); });
  CHECK_EQ(first, 0);  // the buffer holds them
  CHECK_EQ(Serial.availableForWrite(), 0);
  CHECK(std::fabs(cost_ns([] { Serial.print("abcd"); }) - 4 * byte_ns) < 10);
  CHECK(std::fabs(cost_ns([] { Serial.flush(); }) - 64 * byte_ns) < 10);
  Serial.println();

  wizloop_arduino_type("go 12\n");
  CHECK_EQ(Serial.available(), 6);
  CHECK_EQ(std::string{Serial.readStringUntil(' ').c_str()}, "go");
  CHECK_EQ(Serial.parseInt(), 12);
  CHECK_EQ(Serial.read(), '\n');
  CHECK_EQ(Serial.read(), -1);
  CHECK(std::string{wizloop_arduino_serial()}.find("0123abcd\n") != std::string::npos);
}

void analog_inputs() {
  wizloop_arduino_analog(A0, 700);
  CHECK_EQ(analogRead(A0), 700);
  CHECK_EQ(analogRead(0), 700);
  const int noise = analogRead(A1);
  CHECK(noise >= 0 && noise < 1024);
}

void another_device() {
  wizloop_arduino_other_device(other);
  pinMode(other, OUTPUT);
  digitalWrite(other, HIGH);
  digitalWrite(other, LOW);
  SPI.transfer(0xAA);
  digitalWrite(other, HIGH);
  CHECK_EQ(wizloop_failing(bed), 0);
  digitalWrite(other, LOW);
  digitalWrite(scsn, LOW);
  digitalWrite(scsn, HIGH);
  digitalWrite(other, HIGH);
  CHECK(has_finding("two-selects-low"));
}

void mistakes_are_found() {
  // A pin that is no output selects nothing: its pull-up holds SCSn high.
  pinMode(scsn, INPUT);
  CHECK(version() != 4);
  CHECK(has_finding("clocks-without-select"));
  pinMode(scsn, OUTPUT);
  SPI.beginTransaction(SPISettings(8000000, MSBFIRST, SPI_MODE1));
  CHECK(version() != 4);
  SPI.endTransaction();
  CHECK(has_finding("spi-mode-unsupported"));
  SPI.beginTransaction(SPISettings(8000000, MSBFIRST, SPI_MODE3));
  CHECK_EQ(int{version()}, 4);
  SPI.endTransaction();
  // Numbers that are no pins.
  pinMode(200, OUTPUT);
  digitalWrite(200, LOW);
  CHECK_EQ(digitalRead(200), LOW);
  attachInterrupt(255, count, FALLING);
}

void two_chips() {
  constexpr uint8_t second_scsn = 8;
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.board = "stm32f405-arduino";
  wizloop_t* const second = wizloop_create(&config);
  CHECK(second != nullptr);
  wizloop_advance_ns(second, 1000000);
  CHECK_EQ(wizloop_arduino_attach(second, second_scsn, WIZLOOP_ARDUINO_NO_PIN, WIZLOOP_ARDUINO_NO_PIN), 0);
  pinMode(second_scsn, OUTPUT);
  digitalWrite(second_scsn, HIGH);
  const uint8_t ip[] = {10, 0, 0, 2};
  wizloop_write(second, common, 0x0F, ip, sizeof ip);

  const auto first_byte_of_sipr = [](uint8_t pin) {
    digitalWrite(pin, LOW);
    uint8_t frame[] = {0x00, 0x0F, 0x00, 0x00};
    SPI.transfer(frame, sizeof frame);
    digitalWrite(pin, HIGH);
    return int{frame[3]};
  };
  CHECK_EQ(first_byte_of_sipr(second_scsn), 10);
  CHECK_EQ(first_byte_of_sipr(scsn), 0);
  CHECK_EQ(int{version(second_scsn)}, 4);
  delay(10);
  CHECK(wizloop_now_ns(bed) - wizloop_now_ns(second) < 10);
  CHECK_EQ(wizloop_failing(second), 0);
  wizloop_arduino_detach();
  wizloop_destroy(second);
}

}  // namespace

int driver_test(wizloop_t* first) {
  bed = first;
  wizloop_arduino_attach(bed, scsn, rstn, intn);
  selects_by_the_pin();
  costs_what_the_board_file_says();
  clock_goes_on();
  edge_handlers();
  level_handler();
  handler_of_intn();
  serial_takes_its_time();
  analog_inputs();
  another_device();
  mistakes_are_found();
  resets_by_the_pin();
  two_chips();
  return failures;
}
