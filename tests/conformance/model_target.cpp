#include "tests/conformance/model_target.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace wizloop::conformance {

constexpr wire::MacAddress peer_mac = {0x02, 0, 0, 0, 0, 0x10};
constexpr wire::Ipv4Address peer_ip = wire::ipv4(192, 168, 1, 10);

ModelTarget::ModelTarget(bool has_features)
    : link_{queue_, random_, {}},
      peer_{queue_, frames_, {.mac = peer_mac, .ip = peer_ip}},
      name_{has_features ? "model" : "model-spi"},
      has_features_{has_features} {
  start();
}

ModelTarget::ModelTarget(std::string name, chip::FrontMaker front, const chip::PinTiming& timing)
    : link_{queue_, random_, {}},
      peer_{queue_, frames_, {.mac = peer_mac, .ip = peer_ip}},
      front_{std::move(front)},
      front_timing_{timing},
      name_{std::move(name)},
      has_features_{true} {
  start();
}

ModelTarget::~ModelTarget() {
  for (const auto& front : fronts_) EXPECT_EQ(front->difference(), "");
}

void ModelTarget::start() {
  peer_.plug_into(link_, net::End::host);
  power_up();
  chip().plug_in_settled();
}

void ModelTarget::power_up() {
  const Random random{random_.seed() + chips_.size()};
  chips_.push_back(std::make_unique<chip::Chip>(queue_, frames_, trace_, findings_, random));
  if (front_) {
    fronts_.push_back(front_(queue_, chip().behind_front()));
    fronts_.back()->set_timing(front_timing_);
    chip().set_front(*fronts_.back());
  }
  link_.attach(net::End::board, chip());
  chip().connect(link_.transmitter(net::End::board));
  chip().set_pmode_pins(pmode_pins_);
  chip().on_link_up([this](const wire::LinkModes& modes) { link_.set_modes(modes); });
  chip().set_link_partner(partner_);
}

void ModelTarget::select() {
  bits_ = 0;
  if (!powered_) return;
  if (!bus_) return chip().spi().select();
  wait(select_high_);
  bus_->select();
}

// A byte at a time where it is a single one, in bulk where the front takes bulk: both ways in get their share.
void ModelTarget::exchange(Bytes mosi, MutableBytes miso) {
  WIZ_ASSERT(mosi.size() == miso.size());
  if (!powered_) {
    std::fill(miso.begin(), miso.end(), std::uint8_t{0});
    return;
  }
  if (bus_) return bus_->exchange(mosi.data(), miso.data(), mosi.size());
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

// The face of the model takes whole bytes, at the eighth edge: bits that never become one reach it only at pins.
void ModelTarget::clock_bits(std::uint8_t mosi, int bits) {
  WIZ_ASSERT(has(Feature::bit_clock));
  bits_ += bits;
  WIZ_ASSERT(bits_ < 8);
  if (fronts_.empty()) return;
  chip::SpiPins& pins = *fronts_.back();
  pins.begin_byte();
  for (int bit = 7; bit > 7 - bits; --bit) pins.clock_bit(bit, (mosi >> bit & 1) != 0);
  pins.end_byte();
}

void ModelTarget::deselect() {
  if (!powered_) return;
  if (!bus_) return chip().spi().deselect();
  bus_->deselect();
}

// A board prices what lies between SCSn and SCLK beyond the half period that the mode puts there anyhow.
void ModelTarget::set_spi_timing(const SpiTiming& timing) {
  WIZ_ASSERT(has(Feature::spi_timing));
  const Duration half_period = timing.sclk.periods(1) / 2;
  host_.sclk = timing.sclk;
  host_.spi_mode = timing.mode;
  host_.select = std::max(Duration{}, timing.select_setup - (timing.mode == 0 ? half_period : Duration{}));
  host_.deselect = std::max(Duration{}, timing.select_hold - (timing.mode == 0 ? Duration{} : half_period));
  select_high_ = timing.select_high;
  bus_.emplace(queue_, budget_, chip().spi(), host_, findings_, static_cast<const bus::AwaitedSource&>(*this));
  if (fronts_.empty()) return;
  bus_->on_timing(*fronts_.back());
  bus_->heed_limits(*fronts_.back());
}

std::uint64_t ModelTarget::sclk_periods() const {
  WIZ_ASSERT(bus_.has_value());
  return 8 * bus_->bytes();
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
  WIZ_ASSERT(!bus_);  // it is on the chip of this power-up
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

void ModelTarget::set_pmode_pins(std::uint8_t code) {
  WIZ_ASSERT(has(Feature::mode_pins));
  pmode_pins_ = code;
  chip().set_pmode_pins(code);
}

std::vector<std::string> ModelTarget::broken_rules() const {
  WIZ_ASSERT(has(Feature::judge));
  std::vector<std::string> ids;
  for (const Rule rule : findings_.failing()) ids.emplace_back(text_of(rule).id);
  return ids;
}

void ModelTarget::set_link_partner(const wire::LinkAbilities& partner) {
  WIZ_ASSERT(has(Feature::link_partner));
  partner_ = partner;
  if (powered_) chip().set_link_partner(partner);
}

}  // namespace wizloop::conformance
