// The access pattern of QNEthernet's driver for the W5500 (ssilverman/QNEthernet, drivers/driver_w5500.cpp), without
// its interrupt pin. README.md has its frame counts.
//
//   BurstBus bus(port);
//   patterns::QnEthernetMacraw driver(bus, port);
//   driver.begin(mac);
//
// Kept as they are: a send is over when the next one finds Sn_TX_RD at the Sn_TX_WR that it left; received frames are
// read in one burst as long as Sn_RX_RSR says, up to 16 KiB, and wait in memory; a length below 2 closes and opens the
// socket. Sn_IMR is written and SIMR never: with an interrupt pin INTn could not fall either.
#ifndef WIZLOOP_PATTERNS_QNETHERNET_MACRAW_HPP
#define WIZLOOP_PATTERNS_QNETHERNET_MACRAW_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/raw_driver.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class QnEthernetMacraw final : public RawDriver {
 public:
  QnEthernetMacraw(w5500::Bus& bus, w5500::Port& port) : chip_(bus, bus), port_(port) {}

  // 560 ms of delay, a reset that may take 20 ms, MR as 08, 10 and 00, VERSIONR, the PHY set to negotiate and reset,
  // and the state after OPEN.
  bool begin(const uint8_t (&mac)[6]) override;

  // Waits for the send before it, but not for its own end.
  bool send_frame(const uint8_t* data, uint16_t count) override;

  bool link_up() const override { return up_; }

  // A turn of the sketch's loop: all that is there, then the link, every 125 ms.
  uint32_t run(Receiver& receiver) override;

 private:
  static constexpr uint16_t rx_bytes = 16 * 1024;
  static constexpr uint16_t waiting_limit = 2 * rx_bytes;

  bool reset();
  void reset_phy();
  bool open();
  bool read_counter(SocketRegister from, uint16_t& value);
  bool read_and_scan();
  void pass_on(Receiver& receiver);

  ChipAccess chip_;
  w5500::Port& port_;
  bool up_ = false;
  uint32_t looked_us_ = 0;  // at the link
  bool sent_ = false;
  uint16_t sent_to_ = 0;  // Sn_TX_WR after the last send
  uint8_t rx_[rx_bytes];
  uint8_t waiting_[waiting_limit];  // frames with their lengths, from the start on
  uint16_t waiting_bytes_ = 0;
};

}  // namespace patterns

#endif
