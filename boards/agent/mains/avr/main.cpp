// The agent on an Arduino Mega (ATmega2560), and its reduced set on an Uno or Nano (ATmega328P), with a W5500 shield.
// The USB bridge of the board is the console.
#include <avr/interrupt.h>

#include "../../agent.hpp"
#include "../free_stack.hpp"
#include "../settings.hpp"
#include "drivers/ports/avr/avr_port.hpp"
#include "uart_console.hpp"

namespace {

#if defined(WIZLOOP_AGENT_REDUCED)
constexpr const char* board_name = "atmega328p-w5500";
constexpr uint16_t line_bytes = 161, data_bytes = 384;
#else
constexpr const char* board_name = "atmega2560-w5500";
constexpr uint16_t line_bytes = 513, data_bytes = 2304;
#endif

char line[line_bytes];
uint8_t data[data_bytes];

}  // namespace

int main() {
  agent::FreeStack stack;
  avr::AvrPort port(AGENT_INTN_WIRED != 0);
  port.begin();
  agent::UartConsole console(port);
  console.begin(AGENT_BAUD);
  sei();
  const agent::Identity identity = {board_name, AGENT_VERSION, agent::first_network(), &stack};
  agent::Agent agent(console, port, identity, {line, line_bytes, data, data_bytes});
  agent.boot();
  for (;;) agent.run_once(1000000);
}
