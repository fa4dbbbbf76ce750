// The SPI front as RTL (spi_front.sv), verilated: a chip::Front like chip::SpiFront, which it stands in for. Each byte
// becomes its sixteen edges at the pins, each at its own virtual time.
//
//   rtl::VerilatedFront front{queue, chip.behind_front()};
//   chip.set_front(front);                       // from now on chip.spi() is the RTL
//   bus.on_timing(front);                        // from now on it knows when edges fall
//
// The bus gives the time of a byte's end, when its eight periods of SCLK have passed. In modes 0 and 3 alike the eighth
// rising edge lies half a period before: RTL takes the byte there, and what is behind it acts at the byte's end, as it
// does behind the C++ front. A host in mode 1 or 2 is driven as one in mode 0 or 3 and earns its finding.
//
// A board file prices what surrounds SCSn whole. Its edges lie where they do least harm: it falls as late as the set-up
// time allows, and rises as early as the hold time does.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "sim/chip/pin_front.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/core/result.hpp"

namespace wizloop::rtl {

// Levels of the pins from an instant on.
struct PinEvent {
  Instant at;
  bool rst_n, scsn, sclk, mosi;
  std::uint8_t fetched;  // what the chip has made ready for MISO
};

// The straps of spi_front.sv: how chip.quirk.* decide what nobody knows.
struct Straps {
  bool header_miso_counts;
  std::uint8_t write_data_miso;
  std::uint8_t fdm_under_select;
  bool address_sticks;
  std::uint8_t upsets = 0;  // of spi_front_bench.sv

  static Straps of(const chip::Quirks& quirks);
};

// One byte at pins, without a fault: the eight bits of MOSI to those of MISO, the first in bit 7.
std::uint8_t clock_byte(chip::SpiPins& pins, std::uint8_t mosi);

class VerilatedFront final : public chip::PinFront {
 public:
  VerilatedFront(const EventQueue& queue, chip::Chip::BehindFront behind);
  // With straps that are not those of the quirks: what lock-step is there to notice.
  VerilatedFront(const EventQueue& queue, chip::Chip::BehindFront behind, const Straps& straps);
  ~VerilatedFront() override;

  void select() override;
  void deselect() override;
  std::uint8_t exchange(std::uint8_t mosi) override;
  std::uint8_t next_miso() const override;
  // Each byte has its edges.
  std::size_t quiet_bytes() const override { return 0; }
  void exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) override;

  void let_select_go() override;
  void set_held_in_reset(bool held) override;
  chip::FrameLog& frame_log() override { return log_; }

  void set_timing(const chip::PinTiming& timing) override;
  void begin_byte() override;
  bool clock_bit(int bit, bool mosi) override;
  void repeat_edge() override;
  bool miss_bit(int bit) override;
  void end_byte() override;
  // As spi_pin_checks.sv has it.
  chip::PinLimits broken_limits() const override;

  // For comparison with another front.
  chip::FramePhase phase() const;
  chip::Block block() const;
  bool is_write() const;
  std::uint16_t address() const;
  std::uint16_t taken_address() const;  // of the last byte
  bool drives_miso() const;
  // How often each strobe has moved, and when RTL took its last byte.
  struct Strobes {
    std::uint64_t bytes = 0, headers = 0, registers = 0, buffers = 0;
    bool operator==(const Strobes&) const = default;
  };
  const Strobes& strobes() const { return strobes_; }
  Instant taken_at() const { return taken_at_; }
  bool mosi() const;  // the level at the pin
  Duration sclk_periods(std::int64_t count) const { return timing_.sclk.periods(count); }

  // Keeps the last edges at the pins, so many at most, for write_waveform().
  void keep_edges(std::size_t most);
  // The edges kept from `from` on, and those of the frame that goes on then, as an FST file of all signals of the RTL.
  std::optional<Error> write_waveform(const std::filesystem::path& file, Instant from) const;

 private:
  class Model;

  struct Pending {
    chip::Ring* ring;  // null: a register
    std::uint16_t address;
    std::uint8_t value;
  };

  Instant instant_of(std::size_t half_period) const { return byte_ends_ - before_end_[half_period]; }
  void finish_byte();
  void take_level(bool sclk, Instant at);
  void drive(Instant at);
  void take_byte();
  void count_strobes();
  void take_data(std::uint8_t mosi);
  void begin_data(std::uint8_t control);
  void finish_data();
  void commit_pending();
  void raise_select(bool is_let_go);
  void ignore_bit(bool mosi);
  void log(std::uint8_t mosi) {
    if (log_.count < log_.mosi.size()) log_.mosi[log_.count++] = mosi;
  }

  const EventQueue& queue_;
  chip::BlockAccess& access_;
  chip::Quirks& quirks_;
  Straps straps_;
  std::unique_ptr<Model> model_;

  static constexpr std::size_t half_periods = 16;  // of a byte
  chip::PinTiming timing_{.sclk = Frequency{1'000'000}};
  bool idles_high_ = false;
  // From where a half period begins to the end of its byte.
  std::array<Duration, half_periods + 1> before_end_{};

  Instant moved_at_ = Instant::min();  // the last edge at any pin
  Instant byte_ends_{};
  std::size_t half_period_ = 0;  // within a byte: how far it is
  bool in_byte_ = false;
  // Mode 0: the falling edge that ends a byte has yet to come, and when.
  bool falls_last_ = false;
  Instant falls_at_{};
  bool selected_ = false;
  bool select_toggles_ = false;
  bool held_in_reset_ = false;
  std::size_t ignored_bytes_ = 0;
  std::uint8_t ignored_ = 0;
  int ignored_bits_ = 0;

  bool commits_late_ = false;
  std::optional<Pending> pending_;
  bool is_write_ = false;
  bool is_buffer_ = false;
  chip::Block block_;
  chip::Ring* ring_ = nullptr;
  std::size_t data_bytes_ = 0;
  std::size_t bytes_before_ = 0;
  chip::FrameLog log_;
  Strobes strobes_;
  // Of the strobes, which move once for each byte.
  bool header_level_ = false, register_level_ = false, buffer_level_ = false;
  Instant taken_at_ = Instant::min();

  std::vector<PinEvent> kept_;  // a ring, once it is full
  std::size_t most_kept_ = 0;
  std::size_t next_kept_ = 0;
};

}  // namespace wizloop::rtl
