// UDP (RFC 768).
#pragma once

#include <optional>

#include "sim/wire/ipv4.hpp"

namespace wizloop::wire {

struct UdpHeader {
  static constexpr std::size_t bytes = 8;

  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint16_t length = 0;  // header included

  // Nothing if too short or with a wrong checksum; a checksum of 0 means none. The payload is message[8, length).
  static std::optional<UdpHeader> parse(const Ipv4Header& ip, Bytes message) {
    if (message.size() < bytes) return std::nullopt;
    const UdpHeader header{load16(&message[0]), load16(&message[2]), load16(&message[4])};
    if (header.length < bytes || header.length > message.size()) return std::nullopt;
    if (load16(&message[6]) != 0 &&
        transport_checksum(ip.source, ip.destination, protocol_udp, message.first(header.length)) != 0) {
      return std::nullopt;
    }
    return header;
  }

  // Writes the header in front of a payload that is already in place; `message` holds both.
  void emit(Ipv4Address source, Ipv4Address destination, MutableBytes message) const {
    store16(&message[0], source_port);
    store16(&message[2], destination_port);
    store16(&message[4], static_cast<std::uint16_t>(message.size()));
    store16(&message[6], 0);
    const std::uint16_t checksum = transport_checksum(source, destination, protocol_udp, message);
    store16(&message[6], checksum == 0 ? 0xFFFF : checksum);
  }
};

}  // namespace wizloop::wire
