// The driver's platform on an AVR: ATmega2560 (Arduino Mega) or ATmega328P (Uno, Nano) at 16 MHz, SPI at 8 MHz, time
// from timer 1. Wiring of the usual W5500 shields:
//
//   pin   ATmega2560   ATmega328P   Arduino
//   SCSn  PB4          PB2          D10
//   SCLK  PB1          PB5          ICSP 3
//   MOSI  PB2          PB3          ICSP 4
//   MISO  PB3          PB4          ICSP 1
//   INTn  PE4          PD2          D2 (a solder jumper on most shields)
//
// RSTn hangs on the board's reset there, so firmware resets the chip by MR.RST.
#ifndef WIZLOOP_AVR_PORT_HPP
#define WIZLOOP_AVR_PORT_HPP

#include "drivers/w5500/port.hpp"

#if F_CPU != 16000000
#error "timer 1 and the UART are set for F_CPU = 16000000"
#endif

namespace avr {

class AvrPort final : public w5500::Port {
 public:
  // `interrupt_wired`: INTn reaches D2.
  explicit AvrPort(bool interrupt_wired) : interrupt_wired_(interrupt_wired) {}

  // Pins, SPI in mode 0 and timer 1; interrupts must be on afterwards, for the clock.
  void begin();

  void select() override;
  void deselect() override;
  uint8_t exchange(uint8_t mosi) override;
  void exchange(const uint8_t* mosi, uint8_t* miso, size_t count) override;

  bool start_dma(const uint8_t*, uint8_t*, size_t) override { return false; }
  bool wait_dma(uint32_t) override { return false; }
  void abort_dma() override {}

  uint32_t now_us() override;
  void delay_us(uint32_t us) override;

  bool set_reset_pin(bool) override { return false; }
  bool wait_for_interrupt(uint32_t timeout_us) override;

 private:
  bool interrupt_wired_;
};

}  // namespace avr

#endif
