// The agent firmware: answers requests that come over a console with what it does and measures on its W5500. README.md
// has the protocol.
//
//   agent::Agent agent(console, port, identity, buffers);
//   agent.boot();
//   for (;;) agent.run_once(1000000);
#ifndef WIZLOOP_AGENT_AGENT_HPP
#define WIZLOOP_AGENT_AGENT_HPP

#include "device.hpp"

namespace agent {

class Agent {
 public:
  // All of it outlives the agent.
  Agent(Console& console, w5500::Port& port, const Identity& identity, const Buffers& buffers)
      : device_(console, port, identity, buffers) {}

  // Starts the chip and says "! hello ...", with chip=none where there is no W5500.
  void boot();
  // Answers one request, or sleeps until something comes, at most timeout_us, which must be below an hour.
  void run_once(uint32_t timeout_us);

 private:
  void answer_line();

  Device device_;
};

}  // namespace agent

#endif
