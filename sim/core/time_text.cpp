#include "sim/core/time_text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

namespace wizloop {

std::optional<Duration> time_of(std::string_view text) {
  struct Unit {
    std::string_view name;
    Duration length;
  };
  constexpr Unit units[] = {{"ps", picoseconds(1)}, {"ns", 1ns}, {"us", 1us}, {"ms", 1ms}, {"s", 1s}};
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + digits, count);
  if (error != std::errc{} || end != text.data() + digits) return std::nullopt;
  for (const Unit& unit : units) {
    if (text.substr(digits) != unit.name) continue;
    if (count > longest_time / unit.length) return std::nullopt;
    return unit.length * count;
  }
  return std::nullopt;
}

}  // namespace wizloop
