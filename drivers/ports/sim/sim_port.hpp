// The simulated board, seen through the driver's platform interface. Time moves with every call, so that a loop that
// only looks at the clock ends too.
#pragma once

#include "drivers/w5500/port.hpp"
#include "sim/bus/faulty_intn.hpp"
#include "sim/bus/spi_bus.hpp"
#include "sim/chip/chip.hpp"

namespace wizloop {

class SimPort final : public w5500::Port {
 public:
  // The board's RSTn is wired to the chip only if `reset_wired`; most shields leave it to the power-up reset.
  SimPort(EventQueue& queue, bus::SpiBus& bus, chip::Chip& chip, const bus::BoardProfile& profile, bool reset_wired)
      : queue_{queue}, bus_{bus}, chip_{chip}, profile_{profile}, reset_wired_{reset_wired} {}

  // INTn reaches the board through this wire from now on.
  void connect_intn(bus::FaultyIntn& wire) { intn_ = &wire; }

  void select() override { bus_.select(); }
  void deselect() override { bus_.deselect(); }
  uint8_t exchange(uint8_t mosi) override { return bus_.exchange(mosi); }
  void exchange(const uint8_t* mosi, uint8_t* miso, size_t count) override { bus_.exchange(mosi, miso, count); }

  bool start_dma(const uint8_t* mosi, uint8_t* miso, size_t count) override;
  bool wait_dma(uint32_t timeout_us) override { return bus_.wait_dma(microseconds(timeout_us)); }
  void abort_dma() override { bus_.abort_dma(); }

  uint32_t now_us() override;
  void delay_us(uint32_t us) override { bus_.spend(microseconds(us), Account::idle); }

  bool set_reset_pin(bool high) override;
  bool wait_for_interrupt(uint32_t timeout_us) override;

 private:
  bool intn_low() { return intn_ != nullptr ? intn_->low() : !chip_.intn(); }

  EventQueue& queue_;
  bus::SpiBus& bus_;
  chip::Chip& chip_;
  const bus::BoardProfile& profile_;
  bool reset_wired_;
  bus::FaultyIntn* intn_ = nullptr;
};

}  // namespace wizloop
