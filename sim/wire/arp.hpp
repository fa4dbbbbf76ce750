// ARP for IPv4 over Ethernet (RFC 826).
#pragma once

#include <optional>

#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::wire {

struct Arp {
  static constexpr std::size_t bytes = 28;
  enum class Operation : std::uint16_t { request = 1, reply = 2 };

  Operation operation;
  MacAddress sender_mac;
  Ipv4Address sender_ip;
  MacAddress target_mac;
  Ipv4Address target_ip;

  static std::optional<Arp> parse(Bytes payload) {
    if (payload.size() < bytes || load16(&payload[0]) != 1 || load16(&payload[2]) != type_ipv4 || payload[4] != 6 ||
        payload[5] != 4) {
      return std::nullopt;
    }
    const std::uint16_t operation = load16(&payload[6]);
    if (operation != 1 && operation != 2) return std::nullopt;
    return Arp{static_cast<Operation>(operation), load_mac(&payload[8]), load32(&payload[14]), load_mac(&payload[18]),
               load32(&payload[24])};
  }

  void emit(std::uint8_t* at) const {
    store16(at, 1);
    store16(at + 2, type_ipv4);
    at[4] = 6;
    at[5] = 4;
    store16(at + 6, static_cast<std::uint16_t>(operation));
    std::copy(sender_mac.begin(), sender_mac.end(), at + 8);
    store32(at + 14, sender_ip);
    std::copy(target_mac.begin(), target_mac.end(), at + 18);
    store32(at + 24, target_ip);
  }
};

}  // namespace wizloop::wire
