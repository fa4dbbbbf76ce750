// The PHY behind PHYCFGR (datasheet 4.1): link, speed, duplex, and the modes of OPMDC. No MDIO, no auto-MDIX, and no
// interrupt on link change: firmware has to poll.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/chip/latencies.hpp"
#include "sim/chip/quirks.hpp"
#include "sim/core/timer.hpp"
#include "sim/wire/link_mode.hpp"

namespace wizloop::chip {

// Who wants to know that the link has come or gone.
class LinkListener {
 public:
  virtual void on_link_changed() = 0;

 protected:
  ~LinkListener() = default;
};

class Phy {
 public:
  Phy(EventQueue& queue, LatenciesInUse& latencies, const Quirks& quirks, LinkListener& listener)
      : latencies_{latencies}, quirks_{quirks}, listener_{listener}, timer_{queue} {}

  // PHYCFGR as the host reads it.
  std::uint8_t phycfgr() const {
    if (link_) {
      const wire::LinkMode& own = modes_->own;
      return static_cast<std::uint8_t>(written_ | LNK | (own.fast ? SPD : 0) | (own.full_duplex ? DPX : 0));
    }
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
      set_link(false);
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
    set_link(false);
  }
  void hardware_reset() {
    written_ = reset_value;
    mode_ = mode_of_pins();
    set_link(false);
    negotiate();
  }

  // The pins PMODE2..0, all ones when open; read at the next hardware reset (datasheet 1). OPMDC does not mirror them
  // (observed: 0xBD).
  void set_pmode_pins(std::uint8_t code) { pmode_pins_ = code & 7; }

  // What the far end of the cable can do, from the next negotiation on.
  void set_partner(const wire::LinkAbilities& partner) { partner_ = partner; }
  // The cable goes in or out.
  void set_cable(bool plugged) {
    plugged_ = plugged;
    if (plugged_) {
      negotiate();
    } else if (link_) {
      timer_.start(latencies_.use(&Latencies::link_lost), [this] { set_link(false); });
    } else {
      timer_.stop();
    }
  }
  // The cable has been in for long: for runs that begin with a live link.
  void plug_in_settled() {
    plugged_ = true;
    if (agree()) set_link(true);
  }

  bool link() const { return link_; }
  // How both ends use the cable, or will once the link is up; without a common mode, as if alone.
  wire::LinkModes modes() const { return modes_.value_or(wire::LinkModes{}); }
  Frequency bit_rate() const { return modes().own.bit_rate(); }
  // One end at least is.
  bool is_half_duplex() const {
    const wire::LinkModes ends = modes();
    return !ends.own.full_duplex || !ends.partner.full_duplex;
  }
  // PHYCFGR or the pins, and not negotiation, have set the mode.
  bool is_forced() const { return mode_ < forced_100_half_negotiating; }

  // Typical supply current of the chip in mA (datasheet 5.4).
  double supply_current_ma(bool transmitting) const {
    if (mode_ == power_down) return 13;
    if (!link_) return 65;
    if (!modes_->own.fast) return transmitting ? 79 : 75;
    return transmitting ? 132 : 128;
  }

 private:
  static constexpr std::uint8_t RST = 0x80, OPMD = 0x40, OPMDC = 0x38, DPX = 0x04, SPD = 0x02, LNK = 0x01;
  static constexpr std::uint8_t reset_value = 0xB8;
  static constexpr int forced_100_half_negotiating = 4, unused = 5, power_down = 6, all_capable = 7;  // codes of OPMDC

  // As pins, 101 and 110 are not used; nobody says what they do: no link.
  int mode_of_pins() const { return pmode_pins_ == power_down ? unused : pmode_pins_; }
  wire::LinkAbilities abilities() const {
    if (mode_ == all_capable) return {};
    if (mode_ == forced_100_half_negotiating) return {true, wire::LinkAbilities::fast_half};
    if (mode_ == power_down || mode_ == unused) return {false, 0};
    return {false, static_cast<std::uint8_t>(1 << mode_)};  // the four codes are in the order of the abilities
  }

  void negotiate() {
    if (!agree()) return;
    timer_.start(latencies_.use(is_forced() ? &Latencies::link_forced : &Latencies::link_negotiated),
                 [this] { set_link(true); });
  }
  // What a negotiation comes to, but for the time that it takes; false if there can be no link.
  bool agree() {
    timer_.stop();
    if (!plugged_ || (written_ & RST) == 0) return false;
    const auto modes = wire::negotiate(abilities(), partner_);
    if (link_ && modes != modes_) set_link(false);
    modes_ = modes;
    return modes_.has_value();
  }
  void set_link(bool up) {
    timer_.stop();
    if (link_ == up) return;
    link_ = up;
    listener_.on_link_changed();
  }

  LatenciesInUse& latencies_;
  const Quirks& quirks_;
  LinkListener& listener_;
  Timer timer_;
  std::uint8_t written_ = reset_value;
  std::uint8_t pmode_pins_ = all_capable;
  int mode_ = all_capable;
  wire::LinkAbilities partner_;
  std::optional<wire::LinkModes> modes_;  // there is one while there is a link
  bool plugged_ = false;
  bool link_ = false;
};

}  // namespace wizloop::chip
