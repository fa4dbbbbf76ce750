// A W5500 on the SPI of an Arduino core, as pins.hpp says: by SPI.transfer(byte), and by SPI.transfer(buffer, count),
// which every core has. No DMA: there is no call for it that two cores share.
#ifndef WIZLOOP_AGENT_ARDUINO_PORT_HPP
#define WIZLOOP_AGENT_ARDUINO_PORT_HPP

#include <wizloop_agent.h>

namespace agent {

class ArduinoPort final : public w5500::Port {
 public:
  // In setup(), before anything else.
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
  bool set_reset_pin(bool high) override;
  bool wait_for_interrupt(uint32_t timeout_us) override;
};

}  // namespace agent

#endif
