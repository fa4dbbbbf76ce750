// Who this board is, as its main says: what the agent cannot find out by itself.
#ifndef WIZLOOP_AGENT_IDENTITY_HPP
#define WIZLOOP_AGENT_IDENTITY_HPP

#include <stdint.h>

#include "drivers/w5500/chip.hpp"

namespace agent {

// Further lines of the verb stats, for a board that has something to tell: how late a simulated one runs, for example.
class StatsSource {
 public:
  // The number `index` and its key, which ends with its unit; false behind the last one. The key stays valid.
  virtual bool stat(uint8_t index, const char** key, uint64_t* value) = 0;

 protected:
  ~StatsSource() = default;
};

struct Identity {
  const char* board;        // the name of its file in boards/
  const char* firmware;     // its version: a word
  w5500::Network network;   // from boot on, until the verb net says otherwise
  StatsSource* more_stats;  // may be null
};

}  // namespace agent

#endif
