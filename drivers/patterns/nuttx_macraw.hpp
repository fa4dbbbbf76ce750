// The access pattern of the W5500 driver in NuttX (apache/nuttx, drivers/net/w5500.c). README.md has its frame counts.
//
//   BurstBus bus(port);
//   patterns::NuttxMacraw driver(bus, port, line);
//   driver.begin(mac);
//
// Kept as they are: the only reset is RSTn; Sn_SR is read in the very next frame after OPEN, and no command is polled;
// the transmit pointer is counted from 0 and never read; up to ten frames wait in the chip, and each is sent when the
// SENDOK of the one before it interrupts; IR, IMR and SIR are one read; a cause that cannot be, or a frame longer than
// Sn_RX_RSR, ends it all: RSTn goes low, and only begin() brings the interface back. A minute without SENDOK begins it
// anew. INTn counts by its level, as the boards in the tree wire it.
#ifndef WIZLOOP_PATTERNS_NUTTX_MACRAW_HPP
#define WIZLOOP_PATTERNS_NUTTX_MACRAW_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/interrupt_line.hpp"
#include "drivers/patterns/raw_driver.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class NuttxMacraw final : public RawDriver {
 public:
  NuttxMacraw(w5500::Bus& bus, w5500::Port& port, InterruptLine& intn) : chip_(bus, bus), port_(port), intn_(intn) {}

  // ifup. False if Sn_SR is not SOCK_MACRAW in the frame after OPEN, or without a link after ten seconds.
  bool begin(const uint8_t (&mac)[6]) override;

  // Copies into the chip, and sends if nothing is under way. False if ten frames are.
  bool send_frame(const uint8_t* data, uint16_t count) override;

  // Whether the interface is up: begun, and not fenced since.
  bool link_up() const override { return up_; }

  // The worker that INTn starts, and the watchdog of a send.
  uint32_t run(Receiver& receiver) override;

 private:
  static constexpr uint8_t slots = 10;  // frames of the largest size in 16 KiB

  bool unfence();
  void fence();
  bool interrupt(Receiver& receiver);
  void sent();
  bool receive(Receiver& receiver);
  bool settled_received(uint16_t& value);
  uint8_t pending() const { return static_cast<uint8_t>((write_slot_ + slots + 1 - read_slot_) % (slots + 1)); }
  void start_send();

  ChipAccess chip_;
  w5500::Port& port_;
  InterruptLine& intn_;
  uint8_t mac_[6] = {};
  bool up_ = false;
  uint16_t starts_[slots + 1] = {};  // of the frames in the TX buffer
  uint8_t read_slot_ = 0;
  uint8_t write_slot_ = 0;
  uint32_t send_began_us_ = 0;
};

}  // namespace patterns

#endif
