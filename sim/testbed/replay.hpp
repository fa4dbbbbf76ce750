// Holds a recorded SPI transcript against a chip: the same bytes at the same instants, and the first byte of MISO that
// is not what was recorded.
//
//   auto reader = TranscriptReader::open("run.spi");
//   auto model = ModelReplay::create(reader.value()->head(), {{"chip.quirk.psh", "last_segment"}});
//   const auto outcome = replay(*reader.value(), *model.value());
//   if (outcome.value().difference) ... // "read of Sn_SR of socket 0: recorded 0x17, replayed 0x14"
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/testbed/spi_transcript.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop::testbed {

// A chip that a transcript is held against. The model is one; a real chip behind a bridge is another, which takes its
// own time and knows nothing of the recorded cable.
class ReplayTarget {
 public:
  virtual ~ReplayTarget() = default;

  // Does what one event says; what MISO showed goes behind `miso`, a byte for each of MOSI.
  virtual std::optional<Error> play(const TranscriptEvent& event, std::vector<std::uint8_t>& miso) = 0;
};

class ModelReplay final : public ReplayTarget {
 public:
  // Settings as a user types them, after those of the transcript: those of the chip alone.
  static Result<std::unique_ptr<ModelReplay>> create(const TranscriptHead& head,
                                                     const std::vector<std::pair<std::string, std::string>>& settings);

  std::optional<Error> play(const TranscriptEvent& event, std::vector<std::uint8_t>& miso) override;

 private:
  // Nothing is at the far end: what it once sent is in the transcript.
  struct Nobody final : wire::FrameSink {
    void accept(wire::FramePtr, Instant) override {}
  };

  ModelReplay() = default;

  Nobody nobody_;
  std::unique_ptr<Testbed> bed_;
  std::vector<std::pair<wire::FramePtr, Instant>> announced_;  // with its first bit's instant
};

struct Difference {
  Instant at{};             // as recorded
  std::uint64_t byte = 0;   // of all SPI bytes, from 0
  std::uint64_t frame = 0;  // of all SPI frames, from 0
  std::uint8_t recorded = 0;
  std::uint8_t replayed = 0;
  std::string where;  // "read of Sn_SR of socket 0"
  std::string mosi;   // the frame up to that byte, its end if it is long
};

struct Replay {
  std::uint64_t frames = 0;
  std::uint64_t bytes = 0;  // that were compared
  bool whole = false;       // the transcript has its end; a recorded run that was killed has none
  std::optional<Difference> difference;
};

// Up to the first difference. The error is the file's or the target's.
Result<Replay> replay(TranscriptReader& transcript, ReplayTarget& target);

}  // namespace wizloop::testbed
