// The PHY behind PHYCFGR (datasheet 4.1): link, speed, duplex, and the modes of OPMDC. No MDIO, no auto-MDIX, and no
// interrupt on link change: firmware has to poll.
#pragma once

#include <cstdint>

#include "sim/chip/latencies.hpp"
#include "sim/core/timer.hpp"

namespace wizloop::chip {

class Phy {
 public:
  Phy(EventQueue& queue, const Latencies& latencies) : latencies_{latencies}, timer_{queue} {}

  // PHYCFGR as the host reads it.
  std::uint8_t phycfgr() const {
    // Without link SPD reads 1 and DPX 0 (observed: 0xBA).
    const std::uint8_t status =
        link_ ? static_cast<std::uint8_t>(LNK | (is_10m() ? 0 : SPD) | (is_half() ? 0 : DPX)) : SPD;
    return static_cast<std::uint8_t>(written_ | status);
  }

  void write_phycfgr(std::uint8_t value) {
    const bool was_running = (written_ & RST) != 0;
    written_ = value & (RST | OPMD | OPMDC);
    const bool runs = (written_ & RST) != 0;
    if (!runs) {
      timer_.stop();
      link_ = false;
    } else if (!was_running) {
      mode_ = (written_ & OPMD) != 0 ? (written_ & OPMDC) >> 3 : all_capable;
      negotiate();
    }
  }

  // The register goes back to its reset value and the link stays (assumption; nobody says what MR.RST does here).
  void reset_register() {
    const bool was_running = (written_ & RST) != 0;
    written_ = reset_value;
    if (!was_running) negotiate();
  }
  // RSTn is low: no link, whatever the cable does.
  void hold_in_reset() {
    timer_.stop();
    written_ &= static_cast<std::uint8_t>(~RST);
    link_ = false;
  }
  void hardware_reset() {
    written_ = reset_value;
    mode_ = all_capable;
    link_ = false;
    negotiate();
  }

  // A cable to a partner that negotiates 100 Mbit/s full duplex goes in or out.
  void set_cable(bool plugged) {
    plugged_ = plugged;
    if (plugged_) {
      negotiate();
    } else if (link_) {
      timer_.start(latencies_.link_lost, [this] { link_ = false; });
    } else {
      timer_.stop();
    }
  }
  // As if everything had been on for long: for runs that begin with a live link.
  void settle() {
    timer_.stop();
    link_ = plugged_ && mode_ != power_down;
  }

  bool link() const { return link_; }
  Frequency bit_rate() const { return Frequency{is_10m() ? 10'000'000 : 100'000'000}; }

  // Typical supply current of the chip in mA (datasheet 5.4).
  double supply_current_ma(bool transmitting) const {
    if (mode_ == power_down) return 13;
    if (!link_) return 65;
    if (is_10m()) return transmitting ? 79 : 75;
    return transmitting ? 132 : 128;
  }

 private:
  static constexpr std::uint8_t RST = 0x80, OPMD = 0x40, OPMDC = 0x38, DPX = 0x04, SPD = 0x02, LNK = 0x01;
  static constexpr std::uint8_t reset_value = 0xB8;
  static constexpr int forced_100_half_negotiating = 4, power_down = 6, all_capable = 7;  // codes of OPMDC

  bool is_10m() const { return mode_ == 0 || mode_ == 1; }
  bool is_half() const { return mode_ == 0 || mode_ == 2 || mode_ == forced_100_half_negotiating; }

  void negotiate() {
    timer_.stop();
    if (!plugged_ || mode_ == power_down || (written_ & RST) == 0) return;
    const bool negotiates = mode_ >= forced_100_half_negotiating;
    timer_.start(negotiates ? latencies_.link_negotiated : latencies_.link_forced, [this] { link_ = true; });
  }

  const Latencies& latencies_;
  Timer timer_;
  std::uint8_t written_ = reset_value;
  int mode_ = all_capable;
  bool plugged_ = false;
  bool link_ = false;
};

}  // namespace wizloop::chip
