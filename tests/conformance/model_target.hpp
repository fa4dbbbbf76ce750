// The chip model as a target: virtual time, and SPI frames that take none, so that a test places each byte itself,
// until it asks for the timing of a bus. Without its features it stands for a chip of which only the SPI is wired, and
// holds the tests to what they say they need. With another SPI front (sim/rtl) it is that which the tests meet, at the
// edges of its pins.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/bus/spi_bus.hpp"
#include "sim/chip/chip.hpp"
#include "sim/chip/pin_front.hpp"
#include "tests/conformance/target.hpp"

namespace wizloop::conformance {

class ModelTarget final : public Target, private bus::AwaitedSource {
 public:
  explicit ModelTarget(bool has_features);
  ModelTarget(std::string name, chip::FrontMaker front, const chip::PinTiming& timing);
  // Both fronts, where there are two, have to agree to the end.
  ~ModelTarget() override;

  std::string_view name() const override { return name_; }
  bool has(Feature) const override { return has_features_; }

  void select() override;
  void exchange(Bytes mosi, MutableBytes miso) override;
  void clock_bits(std::uint8_t mosi, int bits) override;
  void deselect() override;
  void set_spi_timing(const SpiTiming& timing) override;
  std::uint64_t sclk_periods() const override;

  void set_rstn(bool high) override;
  bool intn() const override;
  void set_power(bool on) override;
  void set_cable(bool plugged) override;
  void set_pmode_pins(std::uint8_t code) override;
  void set_link_partner(const wire::LinkAbilities& partner) override;
  double supply_current_ma() const override;
  std::vector<std::string> broken_rules() const override;

  Instant now() const override { return queue_.now(); }
  void wait(Duration duration) override { queue_.advance_to(queue_.now() + duration); }
  Duration jitter() const override { return Duration::zero(); }

  net::ScriptedPeer& peer() override;

 private:
  // The cable end of a chip without power.
  struct Unpowered final : wire::FrameSink {
    void accept(wire::FramePtr /*frame*/, Instant /*at*/) override {}
  };

  chip::Chip& chip() { return *chips_.back(); }
  void start();
  void power_up();
  Account awaited() const override { return Account::peer; }

  EventQueue queue_;
  wire::FramePool frames_;
  Trace trace_;
  Findings findings_;
  Random random_{1};
  net::Link link_;
  net::ScriptedPeer peer_;
  Unpowered unpowered_;
  chip::FrontMaker front_;  // none: the chip's own
  chip::PinTiming front_timing_;
  // One per power-up, behind its chip.
  std::vector<std::unique_ptr<chip::PinFront>> fronts_;
  // One per power-up. Those before the last are dead, but what they had scheduled may still come due.
  std::vector<std::unique_ptr<chip::Chip>> chips_;
  Budget budget_;
  bus::BoardProfile host_;  // of bus_
  Duration select_high_{};
  std::optional<bus::SpiBus> bus_;  // once there is a timing
  std::string name_;
  bool has_features_;
  bool powered_ = true;
  bool plugged_ = true;
  std::uint8_t pmode_pins_ = 7;
  wire::LinkAbilities partner_;
  int bits_ = 0;  // of a byte that clock_bits() has begun
};

}  // namespace wizloop::conformance
