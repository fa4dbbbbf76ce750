// Stands in for sim/chip/judge.hpp in a build that judges nothing (WIZLOOP_JUDGES=OFF): what the chip tells goes
// nowhere. For measuring what judging costs; see tests/bench/README.md.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/chip/buffer_use.hpp"
#include "sim/chip/byte_map.hpp"
#include "sim/chip/context.hpp"
#include "sim/chip/socket.hpp"
#include "sim/chip/spi_front.hpp"
#include "sim/core/limits.hpp"
#include "sim/core/timer.hpp"
#include "sim/wire/link_mode.hpp"

// The judge that this one stands in for, to leave room for it: where in its page the rest of the chip lies costs more
// than judging, and is not what is measured.
#define Judge JudgeLeftOut
#include "../../../../../sim/chip/judge.hpp"
#undef Judge

namespace wizloop::chip {

class Judge {
 public:
  explicit Judge(Context&) {}
  Judge(const Judge&) = delete;
  Judge& operator=(const Judge&) = delete;

  void watch(FrameLog&) {}
  void watch(const Socket&) {}

  void on_reset_pin(bool) {}
  void on_host_restart() {}
  void on_reset() {}
  void on_interrupts(std::uint8_t, bool) {}
  void on_intn_awaited(std::uint8_t) {}

  void on_deselect(std::size_t, std::size_t) {}
  void on_ignored_bytes() {}
  void on_data_begins(Block, std::uint16_t, bool) {}
  void on_data_ends(std::size_t) {}

  bool on_poll(Block, std::uint16_t, std::uint8_t) { return false; }
  void on_register_read(Block, std::uint16_t, std::uint8_t) {}
  void on_wide_fetch(std::uint16_t) {}
  void on_reserved_read(Block, std::uint16_t) {}
  void on_register_write(Block, std::uint16_t, std::uint8_t) {}

  void on_illegal_command(const Socket&, std::uint8_t) {}
  void on_send(const Socket&, std::uint16_t, std::uint16_t) {}
  void on_send_while_sending(const Socket&) {}
  void on_pppoe_framing() {}
  void on_collision(const wire::LinkModes&) {}
  void on_duplex_mismatch(const wire::LinkModes&, std::uint8_t) {}

  void on_connected(const Socket&, std::uint16_t) {}
  void on_received(const Socket&) {}
  void on_receive_blocked(const Socket&) {}
  void on_datagram(const Socket&, Bytes) {}

  const BufferUse& buffer_use() const { return nothing_; }

 private:
  BufferUse nothing_;
  alignas(JudgeLeftOut) std::array<std::byte, sizeof(JudgeLeftOut) - sizeof(BufferUse)> room_;
};
static_assert(sizeof(Judge) == sizeof(JudgeLeftOut));

}  // namespace wizloop::chip
