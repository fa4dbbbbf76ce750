// A finding says that firmware broke a rule of the datasheet (or met something that the model does not do yet). The
// model itself behaves as silicon would; whoever runs the test passes judgement.
//
//   findings.announce({Rule::sclk_above_rating, "the board is known to work at 42 MHz"});
//   findings.add(queue.now(), Rule::illegal_command, "S0 Sn_CR = 0x20", {.spi = "00 01 0c 20", .state =
//   "SOCK_CLOSED"}); if (!findings.failing(strict).empty()) ...
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/rules.hpp"
#include "sim/core/time.hpp"

namespace wizloop {

// What stood around a finding.
struct Evidence {
  std::string spi;    // MOSI of the frame so far, header and data, in hex: "00 01 0c 20"; empty outside of a frame
  std::string state;  // the socket's, e.g. "SOCK_ESTABLISHED"; empty if no socket is concerned
};

struct Finding {
  Instant at;  // of the first occurrence
  Rule rule;
  std::string seen;  // e.g. "SCLK 42000000 Hz, guaranteed 33300000 Hz"
  Evidence evidence;
  std::uint64_t count = 1;
};

// Who accepts that a rule is broken.
enum class Origin : std::uint8_t { test, board, library, scenario, command };
std::string_view name_of(Origin origin);  // "test", "board", ...

// Somebody knows of this rule being broken, and why that is accepted: the findings no longer fail a run. Those that are
// suppressed are left out of the report as well, but still counted.
struct Announcement {
  Rule rule;
  std::string reason;
  Origin origin = Origin::test;
  bool suppressed = false;
};

class Findings {
 public:
  // So many kinds of one rule are told apart; what comes after them counts with the last. Bounds the list whatever
  // firmware does.
  static constexpr std::size_t kept_per_rule = 16;

  // Keeps the first occurrence of each (rule, seen) and counts the others.
  void add(Instant at, Rule rule, std::string_view seen, Evidence evidence = {});

  // In place of what was announced for this rule before.
  void announce(Announcement announcement);
  // Null if nobody announced the rule.
  const Announcement* announced(Rule rule) const {
    const auto& announcement = announced_[static_cast<std::size_t>(rule)];
    return announcement ? &*announcement : nullptr;
  }

  // The broken rules that fail a run, each once, in the order in which they were first broken: errors and warnings that
  // nobody announced; when `strict` all of them, notes and announced ones too.
  std::vector<Rule> failing(bool strict = false) const;

  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
  std::array<std::optional<Announcement>, rule_count> announced_;
};

}  // namespace wizloop
