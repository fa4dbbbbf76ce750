// Draws the pins of a chip while a bus talks to it: a SpiTarget in front of the chip that makes edges out of bytes, at
// the clock, in the mode and with the costs of select that the bus runs at. Right at the chip, behind whatever faults
// the wires have. Exists only in a run that is drawn; what happens in the run is the same with it.
//
//   PinProbe probe{queue, chip, chip.spi(), std::move(file).value(), window};
//   SpiBus bus{queue, budget, probe, ...};
//   probe.follow(bus);
//
// The bus ends a byte with its last edge (mode 0: the eighth falling one) or half a period later (mode 3). A board's
// file prices select and deselect whole and does not say where in them SCSn moves: it is drawn in the middle. Wires
// that break single bits find pins here, in front of either front: what they do to SCSn, SCLK and MOSI is drawn bit by
// bit.
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

class PinProbe final : public chip::SpiTarget, public chip::SpiPins, private chip::PinWitness {
 public:
  // `target` is the chip's, or stands in front of it; `pins` are its pins, where it has single ones.
  PinProbe(EventQueue& queue, chip::Chip& chip, chip::SpiTarget& target, std::unique_ptr<WaveFile> file,
           WaveWindow window, chip::SpiPins* pins = nullptr);

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

  void set_timing(const chip::PinTiming&) override {}  // the bus that it follows has it
  void begin_byte() override;
  bool clock_bit(int bit, bool mosi) override;
  void repeat_edge() override;
  bool miss_bit(int bit) override;
  void end_byte() override;
  chip::PinLimits broken_limits() const override { return {}; }

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

  // The byte whose eight periods of SCLK end now, and its half periods from 0 on.
  struct Byte {
    Instant end{};
    Frequency half_periods{1};
    bool idle_high = false;
    int first_edge = 0;  // the half period that it begins

    Instant at(int half_period) const;
  };

  void note_byte();
  void draw_bit(int bit, bool mosi, bool miso);
  void draw_edges(int bit);
  void draw_end();
  bool miso_level() const;
  void shift(bool mosi, bool miso);
  void add(Instant at, PinWave::Pin pin, bool high, bool driven = true);
  // SCSn rises, with its cost yet to come.
  void end_select(Duration cost);
  // Draws all edges up to this instant.
  void draw_until(Instant at);

  EventQueue& queue_;
  chip::SpiTarget& target_;
  chip::SpiPins* pins_;
  PinWave wave_;
  const SpiBus* bus_ = nullptr;
  const std::atomic<bool>* interrupted_ = nullptr;
  std::vector<Edge> edges_;  // by their instants, not yet drawn: edges of SPI are known later than they happen
  Instant drawn_{};
  Instant last_clock_{};  // edge
  bool selected_ = false;

  Byte byte_;
  bool in_byte_ = false;  // bit by bit
  int bit_ = 0;           // the first is 0
  bool mosi_ = false;
  // What the chip has of its byte, and those that it has got since the last one of the host's ended.
  std::uint8_t mosi_in_ = 0;
  std::uint8_t miso_out_ = 0;
  int bits_in_ = 0;
  struct Passed {
    std::uint8_t mosi, miso;
  };
  std::vector<Passed> passed_;
};

}  // namespace wizloop::bus
