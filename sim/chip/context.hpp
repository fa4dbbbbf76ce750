// What the parts of one chip share: the run they live in, the common registers, the two memories.
#pragma once

#include "sim/chip/buffer_memory.hpp"
#include "sim/chip/chip_faults.hpp"
#include "sim/chip/common_registers.hpp"
#include "sim/chip/latencies.hpp"
#include "sim/chip/latest_causes.hpp"
#include "sim/chip/quirks.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/core/event_scope.hpp"
#include "sim/core/finding.hpp"
#include "sim/core/random.hpp"
#include "sim/core/trace.hpp"
#include "sim/wire/frame.hpp"

namespace wizloop::chip {

struct Context {
  EventQueue& queue;
  EventScope events;
  wire::FramePool& frames;
  Trace& trace;
  Findings& findings;
  LatenciesInUse latencies;
  Quirks quirks;
  CommonRegisters common;
  BufferMemory tx_memory;
  BufferMemory rx_memory;
  RandomStream isn;
  RandomStream group_reports;
  ChipFaults faults{};
  Instant frame_began = Instant::min();  // SCSn fell
  LatestCauses latest_causes{};          // of IR
  std::uint16_t ip_identification = 0;

  // Of the next packet; `own` counts those of its socket.
  std::uint16_t next_identification(std::uint16_t& own) {
    switch (quirks.choice<IpIdentification>(Quirk::ip_identification)) {
      case IpIdentification::per_chip:
        return ip_identification++;
      case IpIdentification::per_socket:
        return own++;
      case IpIdentification::zero:
        break;
    }
    return 0;
  }
};

}  // namespace wizloop::chip
