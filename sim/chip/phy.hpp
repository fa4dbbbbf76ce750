// The PHY behind PHYCFGR (datasheet 4.1): link, speed, duplex, and the modes of OPMDC. No MDIO, no auto-MDIX, and no
// interrupt on link change: firmware has to poll.
#pragma once

#include <cstdint>

#include "sim/chip/latencies.hpp"
#include "sim/chip/quirks.hpp"
#include "sim/core/timer.hpp"

namespace wizloop::chip {

class Phy {
 public:
  Phy(EventQueue& queue, const Latencies& latencies, const Quirks& quirks)
      : latencies_{latencies}, quirks_{quirks}, timer_{queue} {}

  // PHYCFGR as the host reads it.
  std::uint8_t phycfgr() const {
    if (link_) return static_cast<std::uint8_t>(written_ | LNK | (is_10m() ? 0 : SPD) | (is_half() ? 0 : DPX));
    const bool shows_speed =
        quirks_.peek<PhycfgrWithoutLink>(Quirk::phycfgr_without_link) == PhycfgrWithoutLink::code_010;
    return static_cast<std::uint8_t>(written_ | (shows_speed ? SPD : 0));
  }

  void write_phycfgr(std::uint8_t value) {
    const bool was_running = (written_ & RST) != 0;
    written_ = value & (RST | OPMD | OPMDC);
    const bool runs = (written_ & RST) != 0;
    if (!runs) {
      timer_.stop();
      link_ = false;
    } else if (!was_running) {
      mode_ = (written_ & OPMD) != 0 ? (written_ & OPMDC) >> 3 : mode_of_pins();
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
    mode_ = mode_of_pins();
    link_ = false;
    negotiate();
  }

  // The pins PMODE2..0, all ones when open; read at the next hardware reset (datasheet 1). OPMDC does not mirror them
  // (observed: 0xBD).
  void set_pmode_pins(std::uint8_t code) { pmode_pins_ = code & 7; }

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
    link_ = plugged_ && can_link();
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
  static constexpr int forced_100_half_negotiating = 4, unused = 5, power_down = 6, all_capable = 7;  // codes of OPMDC

  // As pins, 101 and 110 are not used; nobody says what they do: no link.
  int mode_of_pins() const { return pmode_pins_ == power_down ? unused : pmode_pins_; }
  bool can_link() const { return mode_ != power_down && mode_ != unused; }
  bool is_10m() const { return mode_ == 0 || mode_ == 1; }
  bool is_half() const { return mode_ == 0 || mode_ == 2 || mode_ == forced_100_half_negotiating; }

  void negotiate() {
    timer_.stop();
    if (!plugged_ || !can_link() || (written_ & RST) == 0) return;
    const bool negotiates = mode_ >= forced_100_half_negotiating;
    timer_.start(negotiates ? latencies_.link_negotiated : latencies_.link_forced, [this] { link_ = true; });
  }

  const Latencies& latencies_;
  const Quirks& quirks_;
  Timer timer_;
  std::uint8_t written_ = reset_value;
  std::uint8_t pmode_pins_ = all_capable;
  int mode_ = all_capable;
  bool plugged_ = false;
  bool link_ = false;
};

}  // namespace wizloop::chip
