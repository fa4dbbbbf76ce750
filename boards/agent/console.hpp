// The byte stream that the agent talks on: a UART, a USB serial port, a TCP connection. One subclass per platform.
//
// C++14, <stdint.h> and <stddef.h> only: no heap, no exceptions, no standard library.
#ifndef WIZLOOP_AGENT_CONSOLE_HPP
#define WIZLOOP_AGENT_CONSOLE_HPP

#include <stddef.h>
#include <stdint.h>

namespace agent {

class Console {
 public:
  // What has come, up to `count` bytes; never waits.
  virtual size_t read(uint8_t* data, size_t count) = 0;
  // Waits for room where there is none, but not for a reader that has gone away: it may drop output instead.
  virtual void write(const uint8_t* data, size_t count) = 0;
  // Whether received bytes were lost since the last question.
  virtual bool take_overrun() = 0;
  // Sleeps until input is there, at most timeout_us.
  virtual void wait(uint32_t timeout_us) = 0;

 protected:
  ~Console() = default;
};

}  // namespace agent

#endif
