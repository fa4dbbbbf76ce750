// The access pattern of the W5500 driver for ESP-IDF (espressif/esp-eth-drivers, w5500 and wiznet_common), with its
// interrupt pin. README.md has its frame counts.
//
//   BurstBus bus(port);
//   patterns::EspIdfMacraw driver(bus, port, line);
//   driver.begin(mac);
//
// Kept as they are: MR.RST, VERSIONR and commands are polled every 10 ms; a send fails when SENDOK does not come within
// 200 us at 100 Mbit/s (1500 us at 10), and looks at the link before each look; RECV is cleared once, then the buffer
// is drained; the task wakes at a falling edge of INTn, and looks at the level after a second without one; INTLEVEL is
// as long as can be, so that no edge is too short; the PHY is reset twice; a length that cannot be keeps the task where
// it is if more was waiting.
#ifndef WIZLOOP_PATTERNS_ESP_IDF_MACRAW_HPP
#define WIZLOOP_PATTERNS_ESP_IDF_MACRAW_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/interrupt_line.hpp"
#include "drivers/patterns/raw_driver.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class EspIdfMacraw final : public RawDriver {
 public:
  EspIdfMacraw(w5500::Bus& bus, w5500::Port& port, InterruptLine& intn) : chip_(bus, bus), port_(port), intn_(intn) {}

  // esp_eth_driver_install, the MAC address, esp_eth_start. The socket is opened only once the link is up.
  bool begin(const uint8_t (&mac)[6]) override;

  // False without enough room, without SENDOK in time, and while the socket is not open.
  bool send_frame(const uint8_t* data, uint16_t count) override;

  bool link_up() const override { return up_; }

  // The receiving task, and the timer that looks at the link every two seconds.
  uint32_t run(Receiver& receiver) override;

 private:
  bool reset();
  bool identify();
  void reset_phy();
  bool command(Sn_CR command);
  void look_at_link();
  void receive(Receiver& receiver);
  bool receive_one(Receiver& receiver);
  uint16_t settled_counter(SocketRegister from);

  ChipAccess chip_;
  w5500::Port& port_;
  InterruptLine& intn_;
  bool up_ = false;
  uint32_t sendok_limit_us_ = 0;  // by the speed of the link
  uint32_t looked_us_ = 0;        // at the link
  uint32_t woken_us_ = 0;         // the task, or when its second began anew
  bool more_ = false;             // was waiting behind the last frame
};

}  // namespace patterns

#endif
