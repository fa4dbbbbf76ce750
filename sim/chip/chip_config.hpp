// What can be set about a chip before power-up, by the names that a user types: chip.quirk.NAME (quirks.hpp),
// chip.latency.NAME_ns (latencies.hpp) and chip.preset.
//
//   ChipConfig config;
//   const auto set = set_chip_option(config, "chip.quirk.tx_wr_readback", "plain");
//   if (!set) return set.error();
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/chip/latencies.hpp"
#include "sim/chip/quirks.hpp"
#include "sim/core/result.hpp"

namespace wizloop::chip {

struct ChipConfig {
  Latencies latencies;
  Quirks quirks;
  bool strict = false;  // chip.preset=strict: a finding fails the run even if somebody announced it
};

// As a user types them: a name with its prefix, and whole nanoseconds with up to three decimals.
std::string option_name(const QuirkSpec& spec);
std::string option_name(const LatencySpec& spec);
std::string in_ns(Duration duration);

// `name` with its prefix. The error names the nearest known option, or the values that this one takes.
Result<std::monostate> set_chip_option(ChipConfig& config, std::string_view name, std::string_view value);

// One line of the catalogue of everything that the datasheet leaves open.
struct ChipOption {
  enum class Kind : std::uint8_t { quirk, latency };

  std::string name;  // as a user types it
  Kind kind;
  std::vector<std::string_view> choices;  // of a quirk
  std::string default_value;              // of a latency in ns
  Trust trust;
  std::string_view source;
  std::string_view question;
};
std::vector<ChipOption> chip_options();

}  // namespace wizloop::chip
