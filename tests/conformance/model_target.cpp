#include "tests/conformance/model_target.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace wizloop::conformance {

constexpr wire::MacAddress peer_mac = {0x02, 0, 0, 0, 0, 0x10};
constexpr wire::Ipv4Address peer_ip = wire::ipv4(192, 168, 1, 10);

ModelTarget::ModelTarget(bool has_features)
    : link_{queue_, random_, {}},
      peer_{queue_, frames_, {.mac = peer_mac, .ip = peer_ip}},
      has_features_{has_features} {
  peer_.plug_into(link_, net::End::host);
  power_up();
  chip().plug_in_settled();
}

void ModelTarget::power_up() {
  const Random random{random_.seed() + chips_.size()};
  chips_.push_back(std::make_unique<chip::Chip>(queue_, frames_, trace_, findings_, random));
  link_.attach(net::End::board, chip());
  chip().connect(link_.transmitter(net::End::board));
}

void ModelTarget::select() {
  bits_ = 0;
  if (powered_) chip().spi().select();
}

// A byte at a time where it is a single one, in bulk where the front takes bulk: both ways in get their share.
void ModelTarget::exchange(Bytes mosi, MutableBytes miso) {
  WIZ_ASSERT(mosi.size() == miso.size());
  if (!powered_) {
    std::fill(miso.begin(), miso.end(), std::uint8_t{0});
    return;
  }
  chip::SpiTarget& spi = chip().spi();
  std::size_t done = 0;
  while (done < mosi.size()) {
    const std::size_t quiet = std::min(spi.quiet_bytes(), mosi.size() - done);
    if (quiet > 1) {
      spi.exchange_quiet(&mosi[done], &miso[done], quiet);
      done += quiet;
    } else {
      miso[done] = spi.exchange(mosi[done]);
      ++done;
    }
  }
}

// The face of the model takes whole bytes, at the eighth edge: bits that never become one do not reach it.
void ModelTarget::clock_bits(std::uint8_t /*mosi*/, int bits) {
  WIZ_ASSERT(has(Feature::bit_clock));
  bits_ += bits;
  WIZ_ASSERT(bits_ < 8);
}

void ModelTarget::deselect() {
  if (powered_) chip().spi().deselect();
}

void ModelTarget::set_rstn(bool high) {
  WIZ_ASSERT(has(Feature::reset_pin));
  chip().set_rstn(high);
}

bool ModelTarget::intn() const {
  WIZ_ASSERT(has(Feature::interrupt_pin));
  return chips_.back()->intn();
}

double ModelTarget::supply_current_ma() const {
  WIZ_ASSERT(has(Feature::current_meter));
  return chips_.back()->supply_current_ma(false);
}

net::ScriptedPeer& ModelTarget::peer() {
  WIZ_ASSERT(has(Feature::peer));
  return peer_;
}

void ModelTarget::set_power(bool on) {
  WIZ_ASSERT(has(Feature::power_switch));
  if (on == powered_) return;
  powered_ = on;
  if (!on) {
    chip().plug(false);
    chip().connect(unpowered_);
    link_.attach(net::End::board, unpowered_);
    return;
  }
  power_up();
  chip().set_rstn(false);
  chip().set_rstn(true);
  chip().plug(plugged_);
}

void ModelTarget::set_cable(bool plugged) {
  WIZ_ASSERT(has(Feature::cable_switch));
  plugged_ = plugged;
  link_.set_up(plugged);
  if (powered_) chip().plug(plugged);
}

namespace {
std::string chosen = "model";
}

void choose_target(std::string_view name) { chosen = name; }

std::unique_ptr<Target> make_target() {
  if (chosen == "model" || chosen == "model-spi") return std::make_unique<ModelTarget>(chosen == "model");
  fmt::print(stderr, "no conformance target '{}'; there are: model, model-spi\n", chosen);
  std::exit(2);
}

std::string_view name_of(Feature feature) {
  constexpr std::string_view names[] = {"a scripted peer",  "exact time",     "single SCLK periods", "a reset pin",
                                        "an interrupt pin", "a power switch", "a cable switch",      "a current meter"};
  return names[static_cast<std::size_t>(feature)];
}

}  // namespace wizloop::conformance
