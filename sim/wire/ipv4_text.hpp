// IPv4 addresses as people write them: four decimal numbers.
//
//   to_text(ipv4(192, 168, 1, 20))       // "192.168.1.20"
//   ipv4_of("192.168.1.20")              // nothing if the text is no address, and for 010.0.0.1, which some read as
//   octal
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>

#include "sim/wire/ipv4.hpp"

namespace wizloop::wire {

inline std::string to_text(Ipv4Address address) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) {
    if (!text.empty()) text += '.';
    text += std::to_string(address >> shift & 0xFF);
  }
  return text;
}

inline std::optional<Ipv4Address> ipv4_of(std::string_view text) {
  Ipv4Address address = 0;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (int part = 0; part < 4; ++part) {
    if (part > 0 && (at == end || *at++ != '.')) return std::nullopt;
    std::uint8_t byte = 0;
    const auto [behind, error] = std::from_chars(at, end, byte);
    if (error != std::errc{} || (*at == '0' && behind != at + 1)) return std::nullopt;
    address = address << 8 | byte;
    at = behind;
  }
  return at == end ? std::optional{address} : std::nullopt;
}

}  // namespace wizloop::wire
