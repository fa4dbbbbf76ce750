// The access pattern of the raw-Ethernet driver under lwIP in the Arduino core for the RP2040 (arduino-pico, libraries
// lwIP_w5500 and lwIP_w55rp20, which make the same frames): socket 0 in MACRAW mode with all 16 KiB, whole Ethernet
// frames in and out. README.md has the frame counts; lwip_macraw.hpp puts lwIP on top.
//
//   ByteBus bus(port);
//   patterns::PicoMacraw device(bus, port);
//   device.begin(mac);
//   const uint16_t bytes = device.frame_size();
//   if (bytes != 0) device.read_frame(buffer, bytes);
//
// Kept as they are: the length before a frame and the frame itself are given back by a RECV each; the MAC filter stays
// off; each send waits for free space and then for SENDOK; the other seven sockets keep their 2 KiB, 30 KiB in all.
#ifndef WIZLOOP_PATTERNS_PICO_MACRAW_HPP
#define WIZLOOP_PATTERNS_PICO_MACRAW_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/raw_driver.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class PicoMacraw final : public RawDriver {
 public:
  PicoMacraw(w5500::Bus& bus, w5500::Port& port) : chip_(bus, bus), port_(port) {}

  // Software reset, one read of MR, SHAR, buffers, OPEN. It identifies the chip by nothing but Sn_SR: false if that is
  // not SOCK_MACRAW.
  bool begin(const uint8_t (&mac)[6]) override;

  // Clears RECV and takes the length of the next frame out of the chip; 0 if there is none. The frame itself must then
  // be read or discarded.
  uint16_t frame_size();
  bool read_frame(uint8_t* data, uint16_t count);
  void discard_frame(uint16_t count);

  // False on TIMEOUT or if the socket is closed.
  bool send_frame(const uint8_t* data, uint16_t count) override;

  // The core's timer: at most nine frames, every 20 ms.
  uint32_t run(Receiver& receiver) override;

 private:
  ChipAccess chip_;
  w5500::Port& port_;
};

}  // namespace patterns

#endif
