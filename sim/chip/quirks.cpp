#include "sim/chip/quirks.hpp"

#include <algorithm>

namespace wizloop::chip {
namespace {

const std::array<QuirkSpec, quirk_count> table = {{
    {Quirk::tx_wr_readback,
     "tx_wr_readback",
     {"latched", "plain"},
     Trust::observed,
     "three users' sightings; four Arduino libraries rely on it",
     "what a read of Sn_TX_WR gives: the value of the last SEND, or the value just written"},
}};

}  // namespace

std::string_view name_of(Trust trust) {
  constexpr std::string_view names[] = {"datasheet", "observed", "sibling", "inferred", "unverified"};
  return names[static_cast<std::size_t>(trust)];
}

std::span<const QuirkSpec> quirk_table() { return table; }

bool Quirks::set(std::string_view name, std::string_view choice) {
  const auto spec = std::ranges::find(table, name, &QuirkSpec::name);
  if (spec == table.end()) return false;
  const auto found = std::ranges::find(spec->choices, choice);
  if (found == spec->choices.end()) return false;
  chosen_[static_cast<std::size_t>(spec->quirk)] = static_cast<std::uint8_t>(found - spec->choices.begin());
  return true;
}

std::string_view Quirks::chosen(Quirk quirk) const {
  const auto index = static_cast<std::size_t>(quirk);
  return table[index].choices[chosen_[index]];
}

std::vector<Quirk> Quirks::touched() const {
  std::vector<Quirk> quirks;
  for (const QuirkSpec& spec : table) {
    if ((touched_ >> static_cast<std::size_t>(spec.quirk) & 1) != 0) quirks.push_back(spec.quirk);
  }
  return quirks;
}

}  // namespace wizloop::chip
