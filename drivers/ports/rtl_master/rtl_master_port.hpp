// The driver's platform on an SPI master in RTL (sim/rtl/spi_master_dma.sv), verilated: a CPU that reads and writes the
// master's registers, one clock each, and its memory, which DMA moves bytes from and to. Each clock of it is simulated;
// a CPU that sleeps or computes stops the master's clock.
//
//   bus::SpiWires wires{queue, chip, chip.spi(), findings};
//   RtlMasterPort port{queue, chip, wires, {.clock = Frequency{84'000'000}, .divider = 1}};   // SCLK 42 MHz
//   w5500::DmaBus bus{port};
//
// prices() is the same master as a board file would state it, for a bus that prices bytes instead of moving wires.
#pragma once

#include <cstdint>
#include <memory>

#include "drivers/w5500/port.hpp"
#include "sim/bus/profile.hpp"
#include "sim/bus/spi_wires.hpp"
#include "sim/chip/chip.hpp"
#include "sim/core/event_queue.hpp"

namespace wizloop {

struct RtlMasterClock {
  Frequency clock{84'000'000};
  std::uint16_t divider = 1;  // clocks in half a period of SCLK

  Frequency sclk() const { return Frequency{clock.hz() / (2 * divider)}; }
};

class RtlMasterPort final : public w5500::Port {
 public:
  RtlMasterPort(EventQueue& queue, chip::Chip& chip, bus::SpiWires& wires, const RtlMasterClock& clock);
  ~RtlMasterPort();

  static bus::BoardProfile prices(const RtlMasterClock& clock);

  void select() override;
  void deselect() override;
  uint8_t exchange(uint8_t mosi) override;
  void exchange(const uint8_t* mosi, uint8_t* miso, size_t count) override;

  bool start_dma(const uint8_t* mosi, uint8_t* miso, size_t count) override;
  bool wait_dma(uint32_t timeout_us) override;
  void abort_dma() override;

  uint32_t now_us() override;
  void delay_us(uint32_t us) override;

  // RSTn is left to the power-up reset, as on most shields.
  bool set_reset_pin(bool) override { return false; }
  bool wait_for_interrupt(uint32_t timeout_us) override;

  std::uint64_t clocks() const { return clocks_; }

 private:
  struct Model;

  void tick();
  void write(std::uint8_t address, std::uint32_t value);
  std::uint32_t read(std::uint8_t address);

  EventQueue& queue_;
  chip::Chip& chip_;
  bus::SpiWires& wires_;
  PeriodSteps period_;
  int clocks_of_select_high_;
  std::unique_ptr<Model> model_;
  std::uint64_t clocks_ = 0;
  std::uint8_t* dma_miso_ = nullptr;
  std::size_t dma_bytes_ = 0;
};

}  // namespace wizloop
