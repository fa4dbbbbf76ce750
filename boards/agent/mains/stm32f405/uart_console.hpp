// USART1 (TX PA9, RX PA10) of an STM32F405 as the agent's console: received by interrupt into a ring, sent by polling.
// No flow control.
#ifndef WIZLOOP_AGENT_STM32F405_UART_CONSOLE_HPP
#define WIZLOOP_AGENT_STM32F405_UART_CONSOLE_HPP

#include "../../console.hpp"
#include "drivers/ports/stm32f405/stm32f405_port.hpp"

namespace agent {

class UartConsole final : public Console {
 public:
  explicit UartConsole(stm32f405::Stm32f405Port& port) : port_(port) {}

  // 8N1, from 84 MHz: 115200 is off by less than 0.1 %, 1000000 exact.
  void begin(uint32_t baud);

  size_t read(uint8_t* data, size_t count) override;
  void write(const uint8_t* data, size_t count) override;
  bool take_overrun() override;
  void wait(uint32_t timeout_us) override;

 private:
  stm32f405::Stm32f405Port& port_;
};

}  // namespace agent

#endif
