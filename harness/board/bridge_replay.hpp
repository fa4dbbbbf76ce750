// A recorded SPI transcript against a real chip, through its board's agent: the same frames, with at least the pauses
// between them that the recording had. What came from the recorded cable stays out: what the real one brings will be
// the first difference where a register tells of it. So does its supply: a recording in which a chip that has been used
// loses it cannot be repeated.
//
//   auto channel = spi_bridge::AgentChannel::open("serial:/dev/ttyACM0");
//   auto bridge = spi_bridge::SpiBridge::attach(*channel.value());
//   BridgeReplay chip{*bridge.value()};
//   const auto outcome = testbed::replay(*transcript.value(), chip);
#pragma once

#include "drivers/ports/spi_bridge/spi_bridge.hpp"
#include "sim/testbed/replay.hpp"

namespace wizloop::board {

class BridgeReplay final : public testbed::ReplayTarget {
 public:
  explicit BridgeReplay(spi_bridge::SpiBridge& bridge) : bridge_{bridge} {}

  // By RSTn where the board wires it, and by MR.RST: a recording begins with a chip that is fresh.
  std::optional<Error> reset();

  std::optional<Error> play(const testbed::TranscriptEvent& event, std::vector<std::uint8_t>& miso) override;

 private:
  spi_bridge::SpiBridge& bridge_;
  bool begun_ = false;      // the frame, on the board
  bool used_ = false;       // it is not as reset() left it
  Instant played_until_{};  // as recorded
};

}  // namespace wizloop::board
