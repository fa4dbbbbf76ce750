// The agent as an Arduino sketch: firmware that does on its W5500 what it is asked over Serial. In wizloop's repository,
// boards/README.md has wiring, build and flash steps, and boards/agent/README.md what it answers.
#include <wizloop_agent.h>

#include "arduino_port.hpp"
#include "pins.hpp"
#include "serial_console.hpp"

#ifndef AGENT_BOARD
#define AGENT_BOARD agent::board_name
#endif

namespace {

char line_memory[1025];      // 1024 characters and their end
uint8_t data_memory[4352];  // two segments of TCP, and what the pattern of a transfer needs

agent::ArduinoPort port;
agent::SerialConsole console;
const agent::Identity identity = {AGENT_BOARD, AGENT_VERSION, agent::first_network(), nullptr};

// Made when setup() asks for it: before that the clock of a core may stand still.
agent::Agent& firmware() {
  static agent::Agent it(console, port, identity, {line_memory, sizeof line_memory, data_memory, sizeof data_memory});
  return it;
}

}  // namespace

void setup() {
  Serial.begin(AGENT_BAUD);
  // A serial port over USB is there once somebody has opened it; the greeting waits for that, but not for ever.
  const uint32_t start = static_cast<uint32_t>(millis());
  while (!Serial && static_cast<uint32_t>(millis()) - start < 2000) {
  }
  port.begin();
  firmware().boot();
}

// Returns each millisecond while nothing is asked: cores do work of their own in between.
void loop() { firmware().run_once(1000); }
