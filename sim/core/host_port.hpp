// HOST:PORT as a user types it, taken apart in one way wherever it is read: the port is behind the last colon, 0 to
// 65535 in decimal digits; an IPv6 address stands in brackets. What a host may be, a name or a number, is the reader's
// matter.
//
//   if (const auto at = split_host_port("[::1]:7000")) ...  // "::1", 7000
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace wizloop {

struct HostPort {
  std::string_view host;  // without brackets; empty if there was none
  std::uint16_t port = 0;
};

// Nothing if it is none: no colon, no port, or more colons than one outside of brackets.
inline std::optional<HostPort> split_host_port(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  HostPort parts{text.substr(0, colon)};
  const std::string_view digits = text.substr(colon + 1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parts.port);
  if (error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  if (parts.host.starts_with('[') && parts.host.ends_with(']')) {
    parts.host = parts.host.substr(1, parts.host.size() - 2);
    if (parts.host.empty()) return std::nullopt;
  } else if (parts.host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  return parts;
}

}  // namespace wizloop
