// The access pattern of the W5500 driver in Zephyr (drivers/ethernet/eth_w5500.c), with its interrupt pin. README.md
// has its frame counts.
//
//   BurstBus bus(port);
//   patterns::ZephyrMacraw driver(bus, port, line);
//   driver.begin(mac);
//
// Kept as they are: the chip is known by RTR alone; free space is never looked at; a semaphore that starts at one lets
// each send go once the SENDOK of the one before it was seen, and fails it after 10 ms; a frame is read in fragments of
// 128 bytes, and twice at the end of the ring; one frame for each RECV. INTn wakes the thread by its falling edge; from
// then on it goes by the level. A lost edge is never made up for: without one the thread only looks at the link.
#ifndef WIZLOOP_PATTERNS_ZEPHYR_MACRAW_HPP
#define WIZLOOP_PATTERNS_ZEPHYR_MACRAW_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"
#include "drivers/patterns/interrupt_line.hpp"
#include "drivers/patterns/raw_driver.hpp"
#include "drivers/w5500/port.hpp"

namespace patterns {

class ZephyrMacraw final : public RawDriver {
 public:
  ZephyrMacraw(w5500::Bus& bus, w5500::Port& port, InterruptLine& intn) : chip_(bus, bus), port_(port), intn_(intn) {}

  // RSTn if it is wired, a software reset and 5 ms, SHAR, the memory, RTR, the mode; then OPEN and SIMR.
  bool begin(const uint8_t (&mac)[6]) override;

  // False without SENDOK, its own or that of the send before it, within 10 ms.
  bool send_frame(const uint8_t* data, uint16_t count) override;

  bool link_up() const override { return up_; }

  // The driver's thread.
  uint32_t run(Receiver& receiver) override;

 private:
  bool command(Sn_CR command);
  void look_at_link();
  void serve_interrupts(Receiver& receiver);
  void let_thread_run();
  void receive(Receiver& receiver);
  bool read_ring(uint16_t address, uint8_t* data, uint16_t count);
  bool write_ring(uint16_t address, const uint8_t* data, uint16_t count);

  ChipAccess chip_;
  w5500::Port& port_;
  InterruptLine& intn_;
  Receiver* receiver_ = nullptr;  // of the last turn; a send that waits lets the thread run
  bool up_ = false;
  uint32_t sends_done_ = 1;  // the semaphore
  uint32_t woken_us_ = 0;    // the thread
};

}  // namespace patterns

#endif
