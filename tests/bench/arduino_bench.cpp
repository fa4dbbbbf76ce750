// What the Arduino shim adds to a byte: SPI.transfer() here against wizloop_spi_byte() and SpiBus in speed_bench.cpp.
#include <benchmark/benchmark.h>

#include "drivers/shims/arduino/SPI.h"
#include "drivers/shims/arduino/board.hpp"

namespace {

constexpr int frame_bytes = 3 + 2048;

void arduino_bytes(benchmark::State& state) {
  constexpr uint8_t scsn = 10;
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.board = "stm32f405-arduino";
  wizloop_t* const bed = wizloop_create(&config);
  wizloop_arduino::Board::it().attach(bed, scsn, WIZLOOP_ARDUINO_NO_PIN, WIZLOOP_ARDUINO_NO_PIN);
  pinMode(scsn, OUTPUT);
  digitalWrite(scsn, HIGH);
  for (auto _ : state) {
    for (const uint8_t control : {uint8_t{0x14}, uint8_t{0x10}}) {
      digitalWrite(scsn, LOW);
      SPI.transfer(0);
      SPI.transfer(0);
      SPI.transfer(control);
      for (int i = 3; i < frame_bytes; ++i) benchmark::DoNotOptimize(SPI.transfer(0x55));
      digitalWrite(scsn, HIGH);
    }
  }
  wizloop_arduino::Board::it().detach();
  wizloop_destroy(bed);
  state.SetBytesProcessed(state.iterations() * 2 * frame_bytes);
}
BENCHMARK(arduino_bytes)->Name("arduino_bytes/byte");

}  // namespace
