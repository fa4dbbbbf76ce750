// How much firmware has moved through the chip's buffers, as the judge counts it.
//
//   chip.buffer_use().send_bytes
#pragma once

#include <cstdint>

namespace wizloop::chip {

// What firmware did with the buffers so far, of all sockets.
struct BufferUse {
  std::uint64_t sends = 0;       // SEND and SEND_MAC that were taken
  std::uint64_t send_bytes = 0;  // by how much they advanced the pointer
  std::uint64_t rx_bytes_read = 0;
};

}  // namespace wizloop::chip
