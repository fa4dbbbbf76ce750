// The SPI wires between bus and chip when something is wrong with them: bits that flip or slip, a stuck or contended
// MISO, a select that is lost, a counter torn at will. Exists only in a run that plans such a fault, so that healthy
// wires cost nothing; until a fault strikes, the chip sees the same bytes at the same instants as without it.
//
//   FaultySpi wires{chip, chip.spi(), faults};
//   SpiBus bus{queue, budget, wires, ...};
//
// Works bit by bit in SPI mode 0: a chip that misses a clock, or sees one too many, is a bit out of step with the
// controller until SCSn rises. What the controller and the chip make of it is theirs. A front that has pins of its own
// is given single edges, in whichever mode the host clocks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>

#include "sim/chip/chip.hpp"
#include "sim/chip/spi_pins.hpp"
#include "sim/core/fault.hpp"

namespace wizloop::bus {

class FaultySpi final : public chip::SpiTarget {
 public:
  // `target` is the chip's, or stands in front of it; `pins` are its pins, where it has single ones.
  FaultySpi(chip::Chip& chip, chip::SpiTarget& target, Faults& faults, chip::SpiPins* pins = nullptr);

  // Whether a run with these faults needs it.
  static bool wanted(Faults& faults);

  // Told when the other device that drives MISO is selected and let go: an analyser would see its select.
  void on_other_device(std::function<void(bool selected)> listener) { other_device_ = std::move(listener); }

  void select() override;
  void deselect() override;
  std::uint8_t exchange(std::uint8_t mosi) override;
  std::uint8_t next_miso() const override { return target_.next_miso(); }
  // Each byte is looked at.
  std::size_t quiet_bytes() const override { return 0; }
  void exchange_quiet(const std::uint8_t* mosi, std::uint8_t* miso, std::size_t count) override;

 private:
  static constexpr std::size_t header_bytes = 3;

  void lose_select();
  std::uint8_t shift_byte(std::uint8_t mosi);
  void clock(bool mosi);
  bool clock_pins(int bit, bool mosi, bool missed, bool doubled);
  bool miso_level() const;
  std::uint8_t torn(std::uint8_t miso);

  chip::Chip& chip_;
  chip::SpiTarget& target_;
  chip::SpiPins* pins_;
  FaultPoint* flip_;
  FaultPoint* miso_stuck_;
  FaultPoint* miso_contention_;
  FaultPoint* clock_missed_;
  FaultPoint* clock_extra_;
  FaultPoint* select_lost_;
  FaultPoint* torn_read_;
  FaultPoint* half_clock_;
  FaultPoint* brown_out_;
  std::function<void(bool)> other_device_;

  bool selected_ = false;  // SCSn as the chip sees it
  // The chip's input, and how many bits of its byte are in.
  std::uint8_t shift_ = 0;
  int bits_in_ = 0;
  // In this frame a line is half a clock off and shows the bit before; of the byte before, the last bit is needed.
  bool late_mosi_ = false;
  bool late_miso_ = false;
  std::uint8_t mosi_before_ = 0;
  std::uint8_t miso_before_ = 0;
  std::size_t frame_bytes_ = 0;
  std::array<std::uint8_t, header_bytes> header_{};
};

}  // namespace wizloop::bus
