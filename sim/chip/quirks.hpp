// What the datasheet leaves open, or gets wrong, as named switches: chip.quirk.NAME. Each has a default, alternatives,
// and a source that says how far to trust the default. The chip asks through choice(), which remembers that the
// question came up: so a run can tell which assumptions its figures rest on.
//
//   if (quirks.choice(Quirk::tx_wr_readback) == TxWrReadback::plain) ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sim/chip/trust.hpp"

namespace wizloop::chip {

enum class Quirk : std::uint8_t {
  tx_wr_readback,
};
inline constexpr std::size_t quirk_count = 1;

struct QuirkSpec {
  Quirk quirk;
  std::string_view name;                  // as in chip.quirk.NAME
  std::vector<std::string_view> choices;  // the first is the default
  Trust trust;
  std::string_view source;
  std::string_view question;  // one line
};

std::span<const QuirkSpec> quirk_table();  // indexed by Quirk

// The choices of each quirk in the order of the table.
enum class TxWrReadback : std::uint8_t { latched, plain };

class Quirks {
 public:
  // What the switch stands at; the question counts as touched from now on.
  template <typename Choice>
  Choice choice(Quirk quirk) {
    touched_ |= std::uint64_t{1} << static_cast<std::size_t>(quirk);
    return static_cast<Choice>(chosen_[static_cast<std::size_t>(quirk)]);
  }

  // False if there is no such quirk or choice.
  bool set(std::string_view name, std::string_view choice);

  // The choice that a quirk stands at, as a word; without touching it.
  std::string_view chosen(Quirk quirk) const;

  std::vector<Quirk> touched() const;

 private:
  std::array<std::uint8_t, quirk_count> chosen_{};
  std::uint64_t touched_ = 0;
};

}  // namespace wizloop::chip
