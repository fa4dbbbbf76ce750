// The agent on an STM32F405 with a W5500 on SPI1 (wiring: stm32f405_port.hpp) and a USB serial adapter on USART1.
#include "../../agent.hpp"
#include "../free_stack.hpp"
#include "../settings.hpp"
#include "drivers/ports/stm32f405/stm32f405_port.hpp"
#include "uart_console.hpp"

// MHz of the board's crystal; 0: none.
#ifndef AGENT_CRYSTAL_MHZ
#define AGENT_CRYSTAL_MHZ 12
#endif
// half, quarter or eighth of 84 MHz.
#ifndef AGENT_SCLK
#define AGENT_SCLK quarter
#endif

namespace {

char line[2049];
uint8_t data[16384 + 256];

}  // namespace

// By startup.cpp, once static data are there.
[[noreturn]] void firmware();

void firmware() {
  stm32f405::start_clocks(AGENT_CRYSTAL_MHZ);
  agent::FreeStack stack;
  stm32f405::Stm32f405Port port(AGENT_INTN_WIRED != 0);
  port.begin(stm32f405::Sclk::AGENT_SCLK);
  agent::UartConsole console(port);
  console.begin(AGENT_BAUD);
  const agent::Identity identity = {"stm32f405-agent", AGENT_VERSION, agent::first_network(), &stack};
  agent::Agent agent(console, port, identity, {line, sizeof line, data, sizeof data});
  agent.boot();
  for (;;) agent.run_once(1000000);
}
