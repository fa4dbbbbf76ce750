// What the conformance suite needs of a device under test: the pins of a W5500, its power, its cable, and a scripted
// peer at the cable's far end. The chip model is one (model_target); RTL behind the same pins and a real chip over an
// SPI bridge are others. Nothing here reaches behind the pins.
//
//   std::unique_ptr<Target> target = make_target();  // the one named by --target or WIZLOOP_CONFORMANCE_TARGET
//   target->select();
//   target->exchange(mosi, miso);
//   target->deselect();
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/bytes.hpp"
#include "sim/core/time.hpp"
#include "sim/net/scripted_peer.hpp"

namespace wizloop::conformance {

// What a target may lack. A test that needs one says so (REQUIRES in fixture.hpp) and is skipped without it.
enum class Feature : std::uint8_t {
  peer,           // peer(): a scripted host on the wire
  exact_time,     // instants are exact, jitter() is 0
  bit_clock,      // clock_bits(): single SCLK periods
  reset_pin,      // set_rstn()
  interrupt_pin,  // intn()
  power_switch,   // set_power()
  cable_switch,   // set_cable()
  current_meter,  // supply_current_ma()
  spi_timing,     // set_spi_timing(), sclk_periods()
  mode_pins,      // set_pmode_pins()
  judge,          // broken_rules()
  link_partner,   // set_link_partner()
  bare_clocks,    // exchange() without select(): SCLK runs while SCSn is high
};
std::string_view name_of(Feature feature);

// What a host does on its SPI, edge by edge.
struct SpiTiming {
  Frequency sclk{1};
  int mode = 0;
  Duration select_setup{};  // SCSn low until the first edge of SCLK
  Duration select_hold{};   // the last edge of SCLK until SCSn rises
  Duration select_high{};   // SCSn high between two frames, at least
};

class Target {
 public:
  virtual ~Target() = default;

  virtual std::string_view name() const = 0;
  virtual bool has(Feature feature) const = 0;

  // SPI, mode 0, at a rate within the rating unless set_spi_timing() says otherwise. A frame is select(), any number of
  // exchange(), deselect(), with waits wherever a test likes. `miso` is as long as `mosi`.
  virtual void select() = 0;
  virtual void exchange(Bytes mosi, MutableBytes miso) = 0;
  virtual void clock_bits(std::uint8_t mosi, int bits) = 0;  // the first 1 to 7 bits of a byte
  virtual void deselect() = 0;
  virtual void set_spi_timing(const SpiTiming& timing) = 0;
  virtual std::uint64_t sclk_periods() const = 0;  // since set_spi_timing()

  virtual void set_rstn(bool high) = 0;
  virtual bool intn() const = 0;  // true: high
  // Off, then on again: registers at reset values, the memory undefined, no SPI for TPL.
  virtual void set_power(bool on) = 0;
  virtual void set_cable(bool plugged) = 0;
  virtual void set_pmode_pins(std::uint8_t code) = 0;  // PMODE2..0, read at the next RSTn
  // What the far end of the cable can do, from the next time on that it is plugged in; by default it negotiates all.
  virtual void set_link_partner(const wire::LinkAbilities& partner) = 0;
  virtual double supply_current_ma() const = 0;

  // The ids of the datasheet's rules that were broken so far (README of sim/core), each once.
  virtual std::vector<std::string> broken_rules() const = 0;

  virtual Instant now() const = 0;
  virtual void wait(Duration duration) = 0;
  // How far an instant at the peer may be off, either way.
  virtual Duration jitter() const = 0;

  virtual net::ScriptedPeer& peer() = 0;
};

// Powered up and reset, registers at reset values, linked to the peer at 100 Mbit/s full duplex for long. Names:
// "model"; "model-spi", which is the model with its SPI pins and the time alone; "rtl:BOARD" and "both:BOARD", the
// model behind the SPI front as RTL, alone and beside its own; "bridge:..." (README.md). Ends the program with a
// message if there is no such target.
std::unique_ptr<Target> make_target();
void choose_target(std::string_view name);

}  // namespace wizloop::conformance
