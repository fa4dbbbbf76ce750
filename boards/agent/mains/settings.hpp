// What differs from unit to unit of one board, to be given to the compiler with -D.
#ifndef WIZLOOP_AGENT_SETTINGS_HPP
#define WIZLOOP_AGENT_SETTINGS_HPP

#include "drivers/w5500/chip.hpp"

#ifndef AGENT_VERSION
#define AGENT_VERSION "0.1.0"
#endif
// Of the console.
#ifndef AGENT_BAUD
#define AGENT_BAUD 115200
#endif
// 1: INTn is wired, or its solder jumper closed.
#ifndef AGENT_INTN_WIRED
#define AGENT_INTN_WIRED 0
#endif
// The last byte of the locally administered MAC 02:00:00:00:00:xx and of the first IP 192.168.1.xx: one number for each
// board of a rack.
#ifndef AGENT_NUMBER
#define AGENT_NUMBER 20
#endif

namespace agent {

inline w5500::Network first_network() {
  return {{2, 0, 0, 0, 0, AGENT_NUMBER}, {192, 168, 1, AGENT_NUMBER}, {255, 255, 255, 0}, {192, 168, 1, 1}};
}

}  // namespace agent

#endif
