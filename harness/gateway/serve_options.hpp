// The command line of `wizloop serve`. Options of a board belong to the --board before them; those that come before the
// first one belong to the first.
//
//   Result<ServeOptions> options = parse_serve_options(arguments);
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/gateway/access.hpp"
#include "sim/core/result.hpp"
#include "sim/realtime/net_spec.hpp"
#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::gateway {

struct BoardOptions {
  std::filesystem::path file{};
  std::string name{};  // empty: that of the file
  std::optional<std::filesystem::path> serial{};
  std::optional<Endpoint> tcp{};
  std::optional<Endpoint> rfc2217{};
  std::optional<std::filesystem::path> pcap{};
  std::optional<std::filesystem::path> spi{};
  std::vector<std::pair<std::string, std::string>> settings{};
  bool reset_on_dtr = false;
  std::int64_t baud = 1'000'000;
  // What the firmware starts with, before anybody says otherwise.
  std::optional<wire::Ipv4Address> ip{};
  unsigned prefix_bits = 24;
  std::optional<wire::Ipv4Address> gateway{};
  std::optional<wire::MacAddress> mac{};
};

struct ServeOptions {
  std::vector<BoardOptions> boards{};
  realtime::NetSpec net{};
  std::optional<Endpoint> control{};
  double speed = 1;  // of virtual time against the wall clock; 0: as fast as it goes
  std::uint64_t seed = 1;
  std::optional<std::filesystem::path> token_file{};
  std::optional<std::filesystem::path> ready_file{};
  bool help = false;
};

// The error is the user's, and says what was expected.
Result<ServeOptions> parse_serve_options(std::span<const std::string_view> arguments);

std::string_view serve_help();

}  // namespace wizloop::gateway
