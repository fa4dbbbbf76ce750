// What the raw-Ethernet drivers of this folder have in common beyond ChipAccess: socket 0, the only one that can be in
// MACRAW mode, and the length before each frame in its receive buffer.
#ifndef WIZLOOP_PATTERNS_MACRAW_HPP
#define WIZLOOP_PATTERNS_MACRAW_HPP

#include <stdint.h>

#include "drivers/patterns/chip_access.hpp"

namespace patterns {

constexpr uint8_t raw_socket = 0;
constexpr uint16_t raw_length_bytes = 2;                              // before each frame, and counted by it
constexpr uint8_t raw_mode_filtered = 0x80 | uint8_t{Sn_MR::MACRAW};  // MFEN: frames for SHAR and to groups only

// Sn_RXBUF_SIZE and Sn_TXBUF_SIZE of socket 0 at 16 KiB: two frames.
void claim_all_memory(ChipAccess& chip);
// The same of the other seven sockets at 0: fourteen frames.
void empty_other_sockets(ChipAccess& chip);

// The length at this address of the receive buffer: one frame.
uint16_t read_raw_length(ChipAccess& chip, uint16_t address);

}  // namespace patterns

#endif
