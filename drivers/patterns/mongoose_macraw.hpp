// The access pattern of the W5500 driver built into Mongoose (cesanta/mongoose, src/drivers/w5500.c). README.md has its
// frame counts.
//
//   BurstBus bus(port);
//   patterns::MongooseMacraw driver(bus, port);
//   driver.begin(mac);
//
// Kept as they are: no command is polled, and Sn_SR is read in the very next frame after OPEN; SENDOK is looked for 40
// times, and a send that has not seen it by then succeeds all the same; each look clears whatever Sn_IR shows, RECV
// too; SHAR is never written, so the MAC filter stays off; seven sockets keep their 2 KiB, 30 KiB in all.
#ifndef WIZLOOP_PATTERNS_MONGOOSE_MACRAW_HPP
#define WIZLOOP_PATTERNS_MONGOOSE_MACRAW_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/raw_driver.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class MongooseMacraw final : public RawDriver {
 public:
  MongooseMacraw(w5500::Bus& bus, w5500::Port& port) : chip_(bus, bus), port_(port) {}

  // False if Sn_SR is not SOCK_MACRAW in the frame after OPEN: the chip took longer.
  bool begin(const uint8_t (&mac)[6]) override;

  // False on TIMEOUT, and while the link was down when PHYCFGR was last read.
  bool send_frame(const uint8_t* data, uint16_t count) override;

  bool link_up() const override { return up_; }

  // A turn of the event loop: PHYCFGR once a second, and while the link is up one frame.
  uint32_t run(Receiver& receiver) override;

 private:
  void look_at_link();
  void take_frame(Receiver& receiver);

  ChipAccess chip_;
  w5500::Port& port_;
  bool up_ = false;
  uint32_t looked_us_ = 0;  // at the link
};

}  // namespace patterns

#endif
