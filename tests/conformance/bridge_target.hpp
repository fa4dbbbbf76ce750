// A W5500 behind an SPI bridge as a target (drivers/ports/spi_bridge): a real chip on a board that runs the agent, or a
// simulated one. It has its SPI, RSTn and INTn where the board wires them, and time that passes by itself. Nothing of
// what needs a scripted peer, a supply or a cable of ours.
#pragma once

#include "drivers/ports/spi_bridge/spi_bridge.hpp"
#include "tests/conformance/target.hpp"

namespace wizloop::conformance {

class BridgeTarget final : public Target {
 public:
  // What a test does first resets the chip, by RSTn where the board wires it, else by MR.RST, and waits for its link: a
  // test that is skipped costs nothing. Ends the program where the board does not answer: no later test would be worth
  // its while.
  explicit BridgeTarget(spi_bridge::SpiBridge& bridge) : bridge_{bridge} {}
  ~BridgeTarget() override;

  std::string_view name() const override { return "bridge"; }
  bool has(Feature feature) const override;

  void select() override;
  void exchange(Bytes mosi, MutableBytes miso) override;
  void deselect() override { bridge_.release_select(); }
  void set_rstn(bool high) override;
  bool intn() const override;

  // What the board itself has measured: never more than what has passed.
  Instant now() const override { return Instant{microseconds(static_cast<std::int64_t>(bridge_.counters().board_us))}; }
  void wait(Duration duration) override;
  Duration jitter() const override { return 1s; }

  // Not on this target: has() says so.
  void clock_bits(std::uint8_t, int) override { lacks(); }
  void set_spi_timing(const SpiTiming&) override { lacks(); }
  std::uint64_t sclk_periods() const override { lacks(); }
  void set_power(bool) override { lacks(); }
  void set_cable(bool) override { lacks(); }
  void set_pmode_pins(std::uint8_t) override { lacks(); }
  void set_link_partner(const wire::LinkAbilities&) override { lacks(); }
  double supply_current_ma() const override { lacks(); }
  std::vector<std::string> broken_rules() const override { lacks(); }
  net::ScriptedPeer& peer() override { lacks(); }

 private:
  [[noreturn]] static void lacks();
  void bring_up();
  void reset_by_pin();
  void reset_by_registers();
  // A frame of one data byte to a common register; what MISO showed with it.
  std::uint8_t byte_frame(std::uint8_t common_register, bool write, std::uint8_t byte);
  void stop_if_failed() const;

  spi_bridge::SpiBridge& bridge_;
  bool is_up_ = false;
  bool begun_ = false;  // the frame, on the board
};

}  // namespace wizloop::conformance
