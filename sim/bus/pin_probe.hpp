// Draws the pins of a chip while a bus talks to it: a SpiTarget in front of the chip that makes edges out of bytes, at
// the clock, in the mode and with the costs of select that the bus runs at. Right at the chip, behind whatever faults
// the wires have. Exists only in a run that is drawn; what happens in the run is the same with it.
//
//   PinProbe probe{queue, chip, chip.spi(), std::move(file).value(), window};
//   SpiBus bus{queue, budget, probe, ...};
//   probe.follow(bus);
//
// The bus ends a byte with its last edge (mode 0: the eighth falling one) or half a period later (mode 3). A board's
// file prices select and deselect whole and does not say where in them SCSn moves: it is drawn in the middle.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "sim/bus/pin_wave.hpp"
#include "sim/bus/spi_bus.hpp"
#include "sim/chip/chip.hpp"

namespace wizloop::bus {

// Thrown out of firmware whose run is told from outside to end: what has been drawn is then closed, and can be read.
struct RunInterrupted {};

class PinProbe final : public chip::SpiTarget, private chip::PinWitness {
 public:
  // `target` is the chip's, or stands in front of it.
  PinProbe(EventQueue& queue, chip::Chip& chip, chip::SpiTarget& target, std::unique_ptr<WaveFile> file,
           WaveWindow window);

  // Another thread, or a signal, sets it: the next frame throws RunInterrupted. It outlives the probe.
  void heed(const std::atomic<bool>& interrupted) { interrupted_ = &interrupted; }

  // The bus whose clock and costs are drawn. It outlives the probe's use.
  void follow(const SpiBus& bus);

  void select() override;
  void deselect() override;
  std::uint8_t exchange(std::uint8_t mosi) override;
  bool is_chip() const override { return target_.is_chip(); }
  std::uint8_t next_miso() const override { return target_.next_miso(); }
  // Each byte is drawn at its own instant.
  std::size_t quiet_bytes() const override { return 0; }
  void exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) override;

  // Once, at the end of the run. The first thing that went wrong, if anything did.
  std::optional<Error> close();
  std::optional<Instant> cut_at() const { return wave_.cut_at(); }

 private:
  struct Edge {
    Instant at;
    PinWave::Pin pin;
    bool high;
    bool driven;
  };

  void on_reset_pin(bool high) override { add(queue_.now(), PinWave::RSTn, high); }
  void on_supply(bool) override {}
  void on_cable(bool) override {}
  void on_select_let_go() override;
  void on_intn(bool high) override;

  void add(Instant at, PinWave::Pin pin, bool high, bool driven = true);
  // SCSn rises, with its cost yet to come.
  void end_select(Duration cost);
  // Draws all edges up to this instant.
  void draw_until(Instant at);

  EventQueue& queue_;
  chip::SpiTarget& target_;
  PinWave wave_;
  const SpiBus* bus_ = nullptr;
  const std::atomic<bool>* interrupted_ = nullptr;
  std::vector<Edge> edges_;  // by their instants, not yet drawn: edges of SPI are known later than they happen
  Instant drawn_{};
  Instant last_clock_{};  // edge
  bool selected_ = false;
};

}  // namespace wizloop::bus
