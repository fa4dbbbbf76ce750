#include "tests/conformance/bridge_target.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "sim/core/assert.hpp"
#include "tests/conformance/w5500.hpp"

namespace wizloop::conformance {
namespace {

constexpr Duration reset_low = 600us;      // TRC is at least 500 us
constexpr Duration pll_lock = 2ms;         // TPL is at most 1 ms
constexpr Duration software_reset = 20ms;  // some units show VERSIONR as 0 for so long
constexpr std::uint8_t MR = 0x00, PHYCFGR = 0x2E;
constexpr Duration longest_negotiation = 10s;
constexpr Duration look_again = 50ms;

}  // namespace

void BridgeTarget::bring_up() {
  if (std::exchange(is_up_, true)) return;
  if (has(Feature::reset_pin)) {
    reset_by_pin();
  } else {
    reset_by_registers();
  }
  constexpr std::uint8_t LNK = 0x01;
  for (Duration waited{}; waited < longest_negotiation; waited += look_again) {
    if ((byte_frame(PHYCFGR, false, 0x00) & LNK) != 0) return;
    wait(look_again);
  }
  fmt::print(stderr, "no link at board {}: plug its cable in\n", bridge_.board());
  std::exit(5);
}

void BridgeTarget::reset_by_pin() {
  set_rstn(false);
  wait(reset_low);
  set_rstn(true);
  wait(pll_lock);
}

// MR.RST leaves the PHY as the test before has left it, perhaps without power: it is reset by PHYCFGR, its mode taken
// from the pins again. A frame of fixed length that was cut short does not matter, as SCSn is high now.
void BridgeTarget::reset_by_registers() {
  constexpr std::uint8_t RST = 0x80, phy_held = 0x38, phy_released = 0xB8;
  byte_frame(MR, true, RST);
  wait(software_reset);
  byte_frame(PHYCFGR, true, phy_held);
  byte_frame(PHYCFGR, true, phy_released);
}

std::uint8_t BridgeTarget::byte_frame(std::uint8_t common_register, bool write, std::uint8_t byte) {
  const std::array<std::uint8_t, 4> mosi = {0x00, common_register, static_cast<std::uint8_t>(write ? 0x04 : 0x00),
                                            byte};
  std::array<std::uint8_t, 4> miso{};
  select();
  exchange(mosi, miso);
  deselect();
  return miso[3];
}

BridgeTarget::~BridgeTarget() { bridge_.release_select(); }

void BridgeTarget::lacks() {
  fmt::print(stderr, "a test uses what it did not say that it needs\n");
  std::abort();
}

bool BridgeTarget::has(Feature feature) const {
  if (feature == Feature::reset_pin) return bridge_.has("rst");
  return feature == Feature::interrupt_pin && bridge_.has("intn");
}

void BridgeTarget::stop_if_failed() const {
  if (!bridge_.failure()) return;
  fmt::print(stderr, "the bridge to board {} failed: {}\n", bridge_.board(), bridge_.failure()->message);
  std::exit(5);
}

void BridgeTarget::select() {
  bring_up();
  begun_ = false;
}

void BridgeTarget::exchange(Bytes mosi, MutableBytes miso) {
  if (mosi.empty()) return;  // the agent has no frames without bytes
  bridge_.exchange(mosi, miso, begun_, true);
  begun_ = true;
  stop_if_failed();
}

void BridgeTarget::set_rstn(bool high) {
  WIZ_ASSERT(has(Feature::reset_pin));
  bring_up();
  bridge_.set_reset_pin(high);
  stop_if_failed();
}

bool BridgeTarget::intn() const {
  WIZ_ASSERT(has(Feature::interrupt_pin));
  const auto low = bridge_.intn_low(0);
  stop_if_failed();
  return !*low;
}

void BridgeTarget::wait(Duration duration) {
  bring_up();
  const auto us = (duration + microseconds(1) - picoseconds(1)) / microseconds(1);
  bridge_.wait(static_cast<std::uint32_t>(us));
  stop_if_failed();
}

}  // namespace wizloop::conformance
