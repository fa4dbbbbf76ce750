// Serial as the agent's console, with the receive buffer that the core has. Bytes that it loses are not told by any
// call that cores share: a request that must not be misread brings its checksum.
#ifndef WIZLOOP_AGENT_SERIAL_CONSOLE_HPP
#define WIZLOOP_AGENT_SERIAL_CONSOLE_HPP

#include <wizloop_agent.h>

namespace agent {

class SerialConsole final : public Console {
 public:
  size_t read(uint8_t* data, size_t count) override;
  void write(const uint8_t* data, size_t count) override;
  bool take_overrun() override { return false; }
  void wait(uint32_t timeout_us) override;
};

}  // namespace agent

#endif
