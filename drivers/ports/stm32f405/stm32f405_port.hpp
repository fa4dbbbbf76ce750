// The driver's platform on an STM32F405 at 168 MHz: SPI1 at up to 42 MHz, polled or by DMA2, time from TIM2.
//
//   SCSn PA4   SCLK PA5   MISO PA6   MOSI PA7   RSTn PA3   INTn PA2
#ifndef WIZLOOP_STM32F405_PORT_HPP
#define WIZLOOP_STM32F405_PORT_HPP

#include "drivers/w5500/port.hpp"

namespace stm32f405 {

// SCLK as a fraction of APB2's 84 MHz; the W5500's datasheet guarantees 33.3 MHz, so quarter is the rated one.
enum class Sclk : uint8_t { half = 0, quarter = 1, eighth = 2 };

class Stm32f405Port final : public w5500::Port {
 public:
  explicit Stm32f405Port(bool interrupt_wired) : interrupt_wired_(interrupt_wired) {}

  // Clocks of the peripherals, pins, SPI in mode 0, DMA and TIM2. The CPU's clock is start_clocks()'s matter.
  void begin(Sclk sclk);

  void select() override;
  void deselect() override;
  uint8_t exchange(uint8_t mosi) override;
  void exchange(const uint8_t* mosi, uint8_t* miso, size_t count) override;

  // Buffers must be in SRAM: the DMA does not reach the core-coupled memory at 0x10000000.
  bool start_dma(const uint8_t* mosi, uint8_t* miso, size_t count) override;
  bool wait_dma(uint32_t timeout_us) override;
  void abort_dma() override;

  uint32_t now_us() override;
  void delay_us(uint32_t us) override;

  bool set_reset_pin(bool high) override;
  bool wait_for_interrupt(uint32_t timeout_us) override;

 private:
  bool interrupt_wired_;
};

// From the 16 MHz of the reset to 168 MHz by the PLL; APB2 84 MHz, APB1 42 MHz, its timers 84 MHz. With a crystal of
// `crystal_mhz`, or if it does not start or that is 0, from the internal oscillator, which is off by up to 1 %, and so
// is then the time that the board measures. Returns whether the crystal runs.
bool start_clocks(uint32_t crystal_mhz);

}  // namespace stm32f405

#endif
