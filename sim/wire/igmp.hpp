// IGMP versions 1 and 2 (RFC 1112, RFC 2236): eight bytes.
#pragma once

#include <optional>

#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::wire {

inline constexpr Ipv4Address all_routers = ipv4(224, 0, 0, 2);

// 01:00:5e and the low 23 bits of the group (RFC 1112 6.4).
inline MacAddress multicast_mac(Ipv4Address group) {
  return {0x01,
          0x00,
          0x5E,
          static_cast<std::uint8_t>(group >> 16 & 0x7F),
          static_cast<std::uint8_t>(group >> 8),
          static_cast<std::uint8_t>(group)};
}

struct Igmp {
  static constexpr std::size_t bytes = 8;
  static constexpr std::uint8_t query = 0x11;
  static constexpr std::uint8_t report_v1 = 0x12;
  static constexpr std::uint8_t report_v2 = 0x16;
  static constexpr std::uint8_t leave = 0x17;

  bool is_report() const { return type == report_v1 || type == report_v2; }
  // How long a query gives its answerers (RFC 2236 2.2, and 4 for version 1).
  Duration max_response() const { return response_time == 0 ? Duration{10s} : 100ms * std::int64_t{response_time}; }

  std::uint8_t type = 0;
  std::uint8_t response_time = 0;  // of a query, in 100 ms; 0 in version 1
  Ipv4Address group = 0;

  // Nothing if too short or with a wrong checksum.
  static std::optional<Igmp> parse(Bytes message) {
    if (message.size() < bytes || internet_checksum(message) != 0) return std::nullopt;
    return Igmp{message[0], message[1], load32(&message[4])};
  }

  void emit(std::uint8_t* at) const {
    at[0] = type;
    at[1] = response_time;
    store16(at + 2, 0);
    store32(at + 4, group);
    store16(at + 2, internet_checksum({at, bytes}));
  }
};

}  // namespace wizloop::wire
