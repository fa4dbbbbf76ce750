#include "harness/board/bridge_replay.hpp"

#include <algorithm>
#include <array>

namespace wizloop::board {
namespace {

using Kind = testbed::TranscriptEvent::Kind;

// A request to the board takes longer than shorter pauses do.
constexpr Duration shortest_pause = 1ms;
constexpr Duration longest_pause = 1000s;

}  // namespace

std::optional<Error> BridgeReplay::reset() {
  constexpr std::array<std::uint8_t, 4> set_RST = {0x00, 0x00, 0x04, 0x80};
  constexpr std::uint32_t reset_low_us = 600, settled_us = 2000;
  if (bridge_.has("rst")) {
    bridge_.set_reset_pin(false);
    bridge_.wait(reset_low_us);
    bridge_.set_reset_pin(true);
    bridge_.wait(settled_us);
  }
  bridge_.exchange(set_RST, {}, false, false);
  bridge_.wait(settled_us);
  return bridge_.failure();
}

std::optional<Error> BridgeReplay::play(const testbed::TranscriptEvent& event, std::vector<std::uint8_t>& miso) {
  const Duration pause = std::min(event.at - played_until_, longest_pause);
  if (event.kind == Kind::select && pause >= shortest_pause) {
    bridge_.wait(static_cast<std::uint32_t>(pause / microseconds(1)));
  }
  if (event.kind == Kind::supply && used_) {
    return Error{"the transcript has a power cycle, and a board's supply cannot be switched from here"};
  }
  if (event.kind == Kind::reset_pin) {
    if (!bridge_.has("rst")) return Error{"the transcript has a reset by RSTn, which this board has not wired"};
    bridge_.wait(static_cast<std::uint32_t>(pause / microseconds(1)));
    bridge_.set_reset_pin(event.good);
  }
  used_ = used_ || event.kind == Kind::select || event.kind == Kind::reset_pin;
  if (event.kind == Kind::select) begun_ = false;
  if (event.kind == Kind::deselect) bridge_.release_select();
  if (event.kind == Kind::bytes) {
    miso.resize(event.mosi.size());
    bridge_.exchange(event.mosi, miso, begun_, true);
    begun_ = true;
  }
  played_until_ = event.kind == Kind::bytes ? event.last : event.at;
  return bridge_.failure();
}

}  // namespace wizloop::board
