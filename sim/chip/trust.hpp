// How far to trust a value that the datasheet leaves open.
#pragma once

#include <cstdint>
#include <string_view>

namespace wizloop::chip {

enum class Trust : std::uint8_t {
  datasheet,   // stated by the maker
  observed,    // seen on silicon by users
  sibling,     // stated for a W5100, W5200 or W6100
  inferred,    // follows from drivers that work
  unverified,  // no source, or sources disagree: a proposal
};
std::string_view name_of(Trust trust);

}  // namespace wizloop::chip
