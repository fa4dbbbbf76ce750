// What a platform supplies so that the driver can reach its W5500: SPI bytes, a DMA channel if there is one, time, and
// the pins. One subclass per platform; see drivers/ports/.
//
// C++14, <stdint.h> and <stddef.h> only: no heap, no exceptions, no standard library.
#ifndef WIZLOOP_W5500_PORT_HPP
#define WIZLOOP_W5500_PORT_HPP

#include <stddef.h>
#include <stdint.h>

namespace w5500 {

// Asked by every wait of the driver at least once between two looks at the chip; true ends the wait as if its deadline
// had passed. For firmware that has to hear something else meanwhile.
class Patience {
 public:
  virtual bool over() = 0;

 protected:
  ~Patience() = default;
};

class Port {
 public:
  // SCSn low, and whatever the platform's SPI transaction needs around it.
  virtual void select() = 0;
  virtual void deselect() = 0;

  // One byte each way, by the platform's byte-wise call.
  virtual uint8_t exchange(uint8_t mosi) = 0;

  // `count` bytes by the platform's buffer call. `mosi` may be null: zeros go out. `miso` may be null: input is
  // dropped.
  virtual void exchange(const uint8_t* mosi, uint8_t* miso, size_t count) = 0;

  // Starts a DMA transfer of `count` bytes; false if the platform has no DMA or cannot do this one. The buffers must
  // stay until wait_dma() has returned true or abort_dma() was called.
  virtual bool start_dma(const uint8_t* mosi, uint8_t* miso, size_t count) = 0;
  // Returns at completion or after timeout_us, whichever is first; true if the transfer is complete.
  virtual bool wait_dma(uint32_t timeout_us) = 0;
  virtual void abort_dma() = 0;

  // A free-running microsecond counter that wraps at 2^32.
  virtual uint32_t now_us() = 0;
  virtual void delay_us(uint32_t us) = 0;

  // Drives RSTn. False if the platform has not wired it.
  virtual bool set_reset_pin(bool high) = 0;

  // Sleeps until INTn is low, at most timeout_us; true if it is low. A platform without the wire returns false at once.
  virtual bool wait_for_interrupt(uint32_t timeout_us) = 0;

  // From now on; null, as at first: deadlines alone end a wait.
  void set_patience(Patience* patience) { patience_ = patience; }
  bool out_of_patience() { return patience_ != nullptr && patience_->over(); }

 protected:
  ~Port() = default;

 private:
  Patience* patience_ = nullptr;
};

}  // namespace w5500

#endif
