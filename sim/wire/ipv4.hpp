// IPv4 (RFC 791): the header, with its checksum.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/core/bytes.hpp"
#include "sim/wire/checksum.hpp"

namespace wizloop::wire {

// Host order: 192.168.1.2 is 0xC0A80102.
using Ipv4Address = std::uint32_t;

constexpr Ipv4Address ipv4(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) {
  return static_cast<Ipv4Address>(a) << 24 | static_cast<Ipv4Address>(b) << 16 | static_cast<Ipv4Address>(c) << 8 | d;
}
inline constexpr Ipv4Address broadcast_ipv4 = 0xFFFFFFFF;
constexpr bool is_multicast(Ipv4Address address) { return (address >> 28) == 0xE; }

inline constexpr std::uint8_t protocol_icmp = 1;
inline constexpr std::uint8_t protocol_igmp = 2;
inline constexpr std::uint8_t protocol_tcp = 6;
inline constexpr std::uint8_t protocol_udp = 17;

struct Ipv4Header {
  static constexpr std::size_t bytes = 20;  // as emitted: without options

  std::uint8_t tos = 0;
  std::uint16_t total_length = 0;  // header included; filled by parse, given to emit
  std::uint16_t identification = 0;
  std::uint16_t flags_and_fragment = 0;  // 0x4000 don't fragment, 0x2000 more fragments, 12:0 offset
  std::uint8_t ttl = 128;
  std::uint8_t protocol = 0;
  Ipv4Address source = 0;
  Ipv4Address destination = 0;
  std::size_t header_bytes = bytes;  // 20 to 60 as parsed

  bool is_fragment() const { return (flags_and_fragment & 0x3FFF) != 0; }

  // Nothing if the packet is too short, not version 4, or its header checksum is wrong. The payload is
  // packet[header_bytes, total_length).
  static std::optional<Ipv4Header> parse(Bytes packet) {
    if (packet.size() < bytes || packet[0] >> 4 != 4) return std::nullopt;
    Ipv4Header header;
    header.header_bytes = static_cast<std::size_t>(packet[0] & 0x0F) * 4;
    header.total_length = load16(&packet[2]);
    if (header.header_bytes < bytes || header.total_length < header.header_bytes ||
        header.total_length > packet.size()) {
      return std::nullopt;
    }
    if (internet_checksum(packet.first(header.header_bytes)) != 0) return std::nullopt;
    header.tos = packet[1];
    header.identification = load16(&packet[4]);
    header.flags_and_fragment = load16(&packet[6]);
    header.ttl = packet[8];
    header.protocol = packet[9];
    header.source = load32(&packet[12]);
    header.destination = load32(&packet[16]);
    return header;
  }

  void emit(std::uint8_t* at) const {
    at[0] = 0x45;
    at[1] = tos;
    store16(at + 2, total_length);
    store16(at + 4, identification);
    store16(at + 6, flags_and_fragment);
    at[8] = ttl;
    at[9] = protocol;
    store16(at + 10, 0);
    store32(at + 12, source);
    store32(at + 16, destination);
    store16(at + 10, internet_checksum({at, bytes}));
  }
};

// The checksum of a TCP or UDP message, its pseudo header included (RFC 9293 3.1, RFC 768): the value of the field when
// the field holds 0, or 0 when a received message is intact.
inline std::uint16_t transport_checksum(Ipv4Address source, Ipv4Address destination, std::uint8_t protocol,
                                        Bytes message) {
  std::uint8_t pseudo[12];
  store32(pseudo, source);
  store32(pseudo + 4, destination);
  store16(pseudo + 8, protocol);
  store16(pseudo + 10, static_cast<std::uint16_t>(message.size()));
  return ChecksumSum{}.add(message).add(pseudo).finish();
}

}  // namespace wizloop::wire
