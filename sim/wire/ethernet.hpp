// The Ethernet II header: destination, source, type (IEEE 802.3 clause 3).
#pragma once

#include <algorithm>
#include <array>
#include <optional>

#include "sim/wire/frame.hpp"

namespace wizloop::wire {

using MacAddress = std::array<std::uint8_t, 6>;

inline constexpr MacAddress broadcast_mac = {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF};
inline constexpr std::uint16_t type_ipv4 = 0x0800;
inline constexpr std::uint16_t type_arp = 0x0806;
inline constexpr std::uint16_t type_ipv6 = 0x86DD;

constexpr bool is_multicast(const MacAddress& mac) { return (mac[0] & 0x01) != 0; }  // broadcast included

inline MacAddress load_mac(const std::uint8_t* at) {
  MacAddress mac;
  std::copy_n(at, mac.size(), mac.begin());
  return mac;
}

struct EthernetHeader {
  MacAddress destination;
  MacAddress source;
  std::uint16_t type;

  static std::optional<EthernetHeader> parse(Bytes frame) {
    if (frame.size() < ethernet_header_bytes) return std::nullopt;
    return EthernetHeader{load_mac(frame.data()), load_mac(frame.data() + 6), load16(frame.data() + 12)};
  }
  void emit(std::uint8_t* at) const {
    std::copy(destination.begin(), destination.end(), at);
    std::copy(source.begin(), source.end(), at + 6);
    store16(at + 12, type);
  }
};

}  // namespace wizloop::wire
