// A driver that uses no socket of the chip but MACRAW (datasheet 4.2, Sn_MR): whole Ethernet frames in and out for a
// network stack above it. One class in this folder for each well-known one, with the SPI frames, the waits and the
// recovery of the original; lwip_macraw.hpp puts lwIP on any of them.
//
//   patterns::MongooseMacraw driver(bus, port);
//   if (!driver.begin(mac)) return;
//   for (;;) {
//     const uint32_t due_us = driver.run(receiver);   // frames that came in go to the receiver
//     port.delay_us(due_us);
//   }
//
// Originals that have threads of their own have turns here: run() does what thread, task or timer would do by now.
#ifndef WIZLOOP_PATTERNS_RAW_DRIVER_HPP
#define WIZLOOP_PATTERNS_RAW_DRIVER_HPP

#include <stdint.h>

namespace patterns {

class RawDriver {
 public:
  // Where frames go. A driver asks for memory, fills it, and then says once whether the frame is in it.
  class Receiver {
   public:
    // Null: there is none for so many bytes.
    virtual uint8_t* memory_for(uint16_t bytes) = 0;
    virtual void accept() = 0;
    virtual void drop() = 0;

   protected:
    ~Receiver() = default;
  };

  // Resets, identifies and opens, as far as the original does these. False where it would report a failure.
  virtual bool begin(const uint8_t (&mac)[6]) = 0;

  // False where the original would report a failure, or would not have sent because it holds the link to be down.
  virtual bool send_frame(const uint8_t* data, uint16_t count) = 0;

  // As the driver last saw it; one that never looks takes it to be up.
  virtual bool link_up() const { return true; }

  // One turn; returns after how many microseconds, at least 1, the next is due.
  virtual uint32_t run(Receiver& receiver) = 0;

 protected:
  ~RawDriver() = default;
};

}  // namespace patterns

#endif
