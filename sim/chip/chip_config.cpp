#include "sim/chip/chip_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "sim/core/nearest.hpp"

namespace wizloop::chip {
namespace {

constexpr std::string_view quirk_prefix = "chip.quirk.";
constexpr std::string_view latency_prefix = "chip.latency.";
constexpr std::string_view latency_suffix = "_ns";
constexpr std::string_view preset_name = "chip.preset";
constexpr std::string_view presets[] = {"silicon", "strict"};
constexpr Duration longest_latency = 1000s;

std::optional<std::int64_t> digits(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
  if (error != std::errc{} || end != text.data() + text.size() || !plain) return std::nullopt;
  return value;
}

std::optional<Duration> from_ns(std::string_view text) {
  const std::size_t point = text.find('.');
  const auto whole = digits(text.substr(0, point));
  if (!whole || *whole > longest_latency / 1ns) return std::nullopt;
  if (point == std::string_view::npos) return *whole * 1ns;
  std::string decimals{text.substr(point + 1)};
  if (decimals.empty() || decimals.size() > 3) return std::nullopt;
  decimals.resize(3, '0');
  const auto ps = digits(decimals);
  if (!ps) return std::nullopt;
  return *whole * 1ns + picoseconds(*ps);
}

Error unknown(std::string_view name) {
  std::vector<std::string> known{std::string{preset_name}};
  for (const QuirkSpec& spec : quirk_table()) known.push_back(option_name(spec));
  for (const LatencySpec& spec : latency_table()) known.push_back(option_name(spec));
  return Error{fmt::format("unknown chip option {}; the nearest is {}", name, nearest(name, known))};
}

Error wrong_value(std::string_view name, std::string_view value, std::string_view expected) {
  return Error{fmt::format("{} is \"{}\", expected {}", name, value, expected)};
}

Result<std::monostate> set_latency(Latencies& latencies, std::string_view name, std::string_view value) {
  const auto spec = std::ranges::find_if(latency_table(), [&](const auto& of) { return option_name(of) == name; });
  if (spec == latency_table().end()) return unknown(name);
  const auto duration = from_ns(value);
  if (!duration) {
    return wrong_value(name, value,
                       fmt::format("nanoseconds from 0 to {}, with up to three decimals", longest_latency / 1ns));
  }
  latencies.*(spec->member) = *duration;
  return std::monostate{};
}

}  // namespace

std::string option_name(const QuirkSpec& spec) { return fmt::format("{}{}", quirk_prefix, spec.name); }

std::string option_name(const LatencySpec& spec) {
  return fmt::format("{}{}{}", latency_prefix, spec.name, latency_suffix);
}

std::string in_ns(Duration duration) {
  const std::int64_t ps = duration.count() % 1000;
  if (ps == 0) return fmt::format("{}", duration.count() / 1000);
  return fmt::format("{}.{:03}", duration.count() / 1000, ps);
}

Result<std::monostate> set_chip_option(ChipConfig& config, std::string_view name, std::string_view value) {
  if (name == preset_name) {
    const auto preset = std::ranges::find(presets, value);
    if (preset == std::end(presets)) {
      return wrong_value(name, value, fmt::format("one of {}", fmt::join(presets, ", ")));
    }
    config.strict = value == "strict";
    return std::monostate{};
  }
  if (name.starts_with(latency_prefix)) return set_latency(config.latencies, name, value);
  if (!name.starts_with(quirk_prefix)) return unknown(name);
  const auto spec = std::ranges::find(quirk_table(), name.substr(quirk_prefix.size()), &QuirkSpec::name);
  if (spec == quirk_table().end()) return unknown(name);
  if (!config.quirks.set(spec->name, value)) {
    return wrong_value(name, value, fmt::format("one of {}", fmt::join(spec->choices, ", ")));
  }
  return std::monostate{};
}

std::vector<ChipOption> chip_options() {
  std::vector<ChipOption> options;
  for (const QuirkSpec& spec : quirk_table()) {
    options.push_back({option_name(spec), ChipOption::Kind::quirk, spec.choices, std::string{spec.choices.front()},
                       spec.trust, spec.source, spec.question});
  }
  const Latencies defaults;
  for (const LatencySpec& spec : latency_table()) {
    options.push_back({option_name(spec),
                       ChipOption::Kind::latency,
                       {},
                       in_ns(defaults.*(spec.member)),
                       spec.trust,
                       spec.source,
                       spec.question});
  }
  return options;
}

}  // namespace wizloop::chip
