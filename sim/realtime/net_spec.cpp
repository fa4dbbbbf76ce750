#include "sim/realtime/net_spec.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "sim/realtime/packet_bridge.hpp"
#include "sim/realtime/tap_bridge.hpp"
#include "sim/wire/ipv4_text.hpp"

namespace wizloop::realtime {
namespace {

constexpr std::string_view forward_form = "hostfwd=PROTO:[ADDRESS:]PORT:[ADDRESS:]PORT, such as hostfwd=tcp:5001:5001";

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<std::uint32_t> number(std::string_view text, std::uint32_t max) {
  std::uint32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size() || value > max) return std::nullopt;
  return value;
}

std::optional<std::uint16_t> port_of(std::string_view text) {
  const auto port = number(text, 65535);
  if (!port || *port == 0) return std::nullopt;
  return static_cast<std::uint16_t>(*port);
}

// [ADDRESS:]PORT off the front of `parts`.
bool take_endpoint(std::vector<std::string_view>& parts, wire::Ipv4Address& address, std::uint16_t& port) {
  if (!parts.empty() && parts.front().find('.') != std::string_view::npos) {
    const auto given = wire::ipv4_of(parts.front());
    if (!given) return false;
    address = *given;
    parts.erase(parts.begin());
  }
  if (parts.empty()) return false;
  const auto given = port_of(parts.front());
  if (!given) return false;
  port = *given;
  parts.erase(parts.begin());
  return true;
}

std::optional<SlirpForward> forward_of(std::string_view text) {
  auto parts = split(text, ':');
  SlirpForward forward;
  if (parts.front() == "udp") {
    forward.protocol = SlirpForward::Protocol::udp;
  } else if (parts.front() != "tcp") {
    return std::nullopt;
  }
  parts.erase(parts.begin());
  if (!take_endpoint(parts, forward.host_address, forward.host_port)) return std::nullopt;
  if (!take_endpoint(parts, forward.guest_address, forward.guest_port) || !parts.empty()) return std::nullopt;
  return forward;
}

std::optional<Error> set_switch(bool& which, std::string_view key, std::string_view value) {
  if (value != "on" && value != "off") return Error{fmt::format("{}={} of slirp, expected on or off", key, value)};
  which = value == "on";
  return std::nullopt;
}

std::optional<Error> set_network(SlirpConfig& config, std::string_view value) {
  const auto parts = split(value, '/');
  const auto network = wire::ipv4_of(parts.front());
  const auto bits = parts.size() == 2 ? number(parts.back(), 32) : std::nullopt;
  if (!network || !bits) return Error{fmt::format("net={} of slirp, expected such as net=10.0.2.0/24", value)};
  config.network = *network;
  config.prefix_bits = *bits;
  return std::nullopt;
}

std::optional<Error> set_option(SlirpConfig& config, std::string_view option) {
  const std::size_t equals = option.find('=');
  const std::string_view key = option.substr(0, equals);
  const std::string_view value = equals == std::string_view::npos ? std::string_view{} : option.substr(equals + 1);
  if (key == "dhcp") return set_switch(config.dhcp, key, value);
  if (key == "dns") return set_switch(config.dns, key, value);
  if (key == "net") return set_network(config, value);
  if (key == "guest") {
    const auto guest = wire::ipv4_of(value);
    if (!guest) return Error{fmt::format("guest={} of slirp, expected such as guest=10.0.2.15", value)};
    config.guest = *guest;
    return std::nullopt;
  }
  if (key == "hostfwd") {
    const auto forward = forward_of(value);
    if (!forward) return Error{fmt::format("hostfwd={} of slirp, expected {}", value, forward_form)};
    config.forwards.push_back(*forward);
    return std::nullopt;
  }
  return Error{fmt::format("unknown option \"{}\" of slirp, expected hostfwd, net, guest, dhcp or dns", option)};
}

Result<NetSpec> parse_slirp(std::string_view options) {
  SlirpConfig config;
  for (const std::string_view option : split(options, ',')) {
    if (auto error = set_option(config, option)) return *error;
  }
  return NetSpec{std::move(config)};
}

}  // namespace

Result<NetSpec> parse_net(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  const std::string_view rest = colon == std::string_view::npos ? std::string_view{} : text.substr(colon + 1);
  if (text == "none") return NetSpec{NoNet{}};
  if (text == "slirp") return NetSpec{SlirpConfig{}};
  if (kind == "slirp") return parse_slirp(rest);
  if (kind == "veth" || kind == "tap") {
    // What the kernel allows in a name, which is at most 15 characters.
    if (rest.empty() || rest.size() > 15 || rest.find_first_of("/: \t\n") != std::string_view::npos) {
      return Error{fmt::format("{}, expected {}:IF, IF the name of an interface, such as {}:wiz0", text, kind, kind)};
    }
    if (kind == "veth") return NetSpec{PacketNet{std::string{rest}}};
    return NetSpec{TapNet{std::string{rest}}};
  }
  return Error{fmt::format("unknown network \"{}\", expected slirp[:{}], veth:IF, tap:IF or none", text, forward_form)};
}

Result<std::unique_ptr<Bridge>> open_bridge(const NetSpec& spec, const BridgeSite& site) {
  if (const auto* slirp = std::get_if<SlirpConfig>(&spec)) return open_slirp_bridge(*slirp, site);
  if (const auto* packet = std::get_if<PacketNet>(&spec)) return open_packet_bridge(packet->interface, site);
  if (const auto* tap = std::get_if<TapNet>(&spec)) return open_tap_bridge(tap->interface, site);
  return std::unique_ptr<Bridge>{};
}

}  // namespace wizloop::realtime
