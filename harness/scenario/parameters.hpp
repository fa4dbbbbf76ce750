// The parameters of one run: what the scenario declares, with the caller's values in place of its defaults.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "harness/scenario/scenario.hpp"

namespace wizloop::scenario {

class Parameters {
 public:
  // The error names the parameter, its value, and what was expected.
  static Result<Parameters> make(std::span<const Parameter> declared, const std::map<std::string, std::string>& given);

  // A declared parameter that is a whole number, by its range or by its choices.
  std::int64_t number(std::string_view name) const;
  // A declared parameter with choices.
  const std::string& choice(std::string_view name) const;

  const std::map<std::string, std::string>& all() const { return values_; }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace wizloop::scenario
