// Writes down what passes a chip's pins and comes from its cable (spi_transcript.hpp). Sits right at the chip, behind
// whatever faults the wires have, so that a replay meets what the chip met. Exists only in a run that is recorded.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/chip/chip.hpp"
#include "sim/testbed/spi_transcript.hpp"

namespace wizloop::testbed {

class SpiRecorder final : public chip::SpiTarget, public wire::FrameSink, public chip::PinWitness {
 public:
  SpiRecorder(EventQueue& queue, chip::Chip& chip, std::unique_ptr<TranscriptWriter> writer)
      : queue_{queue}, chip_{chip}, target_{chip.spi()}, writer_{std::move(writer)} {}

  void select() override;
  void deselect() override;
  std::uint8_t exchange(std::uint8_t mosi) override;
  bool is_chip() const override { return target_.is_chip(); }
  std::uint8_t next_miso() const override { return target_.next_miso(); }
  std::size_t quiet_bytes() const override { return target_.quiet_bytes(); }
  void exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) override;

  void accept(wire::FramePtr frame, Instant at) override;
  void announce(const wire::Frame& frame, Instant at) override;

  void on_reset_pin(bool high) override;
  void on_supply(bool on) override;
  void on_cable(bool in) override;
  void on_select_let_go() override;
  void on_intn(bool) override {}  // the chip's own doing

  // Once, at the end of the run. The error says that the file is not whole.
  std::optional<Error> close();

 private:
  // Bytes at even distances, so far as anybody can tell who counts in picoseconds.
  struct Run {
    std::vector<std::uint8_t> mosi;
    std::vector<std::uint8_t> miso;
    Instant first{};
    Instant last{};
    Duration step{};
  };

  void flush();

  EventQueue& queue_;
  chip::Chip& chip_;
  chip::SpiTarget& target_;
  std::unique_ptr<TranscriptWriter> writer_;
  Run run_;
  // Frames under way, in the order of their first bits, and which number each has. A pulled cable loses some.
  std::deque<std::pair<const wire::Frame*, std::uint64_t>> under_way_;
  std::uint64_t announced_ = 0;
};

}  // namespace wizloop::testbed
