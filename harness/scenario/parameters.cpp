#include "harness/scenario/parameters.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace wizloop::scenario {
namespace {

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Error> check(const Parameter& parameter, const std::string& value) {
  if (!parameter.choices.empty()) {
    if (std::ranges::find(parameter.choices, value) != parameter.choices.end()) return std::nullopt;
    return Error{fmt::format("parameter {} is \"{}\", expected one of {}", parameter.name, value,
                             fmt::join(parameter.choices, ", "))};
  }
  const auto number = to_number(value);
  if (number && *number >= parameter.least && *number <= parameter.most) return std::nullopt;
  return Error{fmt::format("parameter {} is \"{}\", expected a whole number from {} to {}", parameter.name, value,
                           parameter.least, parameter.most)};
}

}  // namespace

Result<Parameters> Parameters::make(std::span<const Parameter> declared,
                                    const std::map<std::string, std::string>& given) {
  Parameters parameters;
  for (const Parameter& parameter : declared) {
    const auto found = given.find(std::string{parameter.name});
    const std::string value = found != given.end() ? found->second : std::string{parameter.default_value};
    if (const auto error = check(parameter, value)) return *error;
    parameters.values_.emplace(parameter.name, value);
  }
  for (const auto& [name, value] : given) {
    if (parameters.values_.contains(name)) continue;
    std::vector<std::string_view> names;
    for (const Parameter& parameter : declared) names.push_back(parameter.name);
    return Error{fmt::format("unknown parameter {}, expected one of {}, or a setting as board.KEY", name,
                             fmt::join(names, ", "))};
  }
  return parameters;
}

std::int64_t Parameters::number(std::string_view name) const {
  const auto value = to_number(values_.at(std::string{name}));
  WIZ_ASSERT(value.has_value());
  return *value;
}

const std::string& Parameters::choice(std::string_view name) const { return values_.at(std::string{name}); }

}  // namespace wizloop::scenario
