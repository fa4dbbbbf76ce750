// UART 0 of an AVR as the agent's console: received by interrupt into a ring, sent by polling. No flow control.
#ifndef WIZLOOP_AGENT_AVR_UART_CONSOLE_HPP
#define WIZLOOP_AGENT_AVR_UART_CONSOLE_HPP

#include "../../console.hpp"
#include "drivers/ports/avr/avr_port.hpp"

namespace agent {

class UartConsole final : public Console {
 public:
  explicit UartConsole(avr::AvrPort& port) : port_(port) {}

  // 8N1. 115200 is 2.1 % fast with a crystal of 16 MHz, which every USB bridge takes; 250000, 500000 and 1000000 are
  // exact.
  void begin(uint32_t baud);

  size_t read(uint8_t* data, size_t count) override;
  void write(const uint8_t* data, size_t count) override;
  bool take_overrun() override;
  void wait(uint32_t timeout_us) override;

 private:
  avr::AvrPort& port_;
};

}  // namespace agent

#endif
