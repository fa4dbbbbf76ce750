// ICMP (RFC 792): type, code, checksum and four bytes that depend on the type.
#pragma once

#include <optional>

#include "sim/core/bytes.hpp"
#include "sim/wire/checksum.hpp"

namespace wizloop::wire {

struct IcmpHeader {
  static constexpr std::size_t bytes = 8;
  static constexpr std::uint8_t echo_reply = 0;
  static constexpr std::uint8_t destination_unreachable = 3;
  static constexpr std::uint8_t echo_request = 8;
  static constexpr std::uint8_t code_port_unreachable = 3;

  std::uint8_t type = 0;
  std::uint8_t code = 0;
  std::uint16_t identifier = 0;  // echo only
  std::uint16_t sequence = 0;    // echo only

  // Nothing if too short or with a wrong checksum.
  static std::optional<IcmpHeader> parse(Bytes message) {
    if (message.size() < bytes || internet_checksum(message) != 0) return std::nullopt;
    return IcmpHeader{message[0], message[1], load16(&message[4]), load16(&message[6])};
  }

  // Writes the header in front of a payload that is already in place; `message` holds both.
  void emit(MutableBytes message) const {
    message[0] = type;
    message[1] = code;
    store16(&message[2], 0);
    store16(&message[4], identifier);
    store16(&message[6], sequence);
    store16(&message[2], internet_checksum(message));
  }
};

}  // namespace wizloop::wire
