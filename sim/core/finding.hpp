// A finding says that firmware broke a rule of the datasheet (or met something that the model does not do yet). The
// model itself behaves as silicon would; whoever runs the test passes judgement.
//
//   findings.announce(Rule::sclk_above_rating, "the board is known to work at 42 MHz");
//   findings.add(queue.now(), Rule::illegal_command, "S0 Sn_CR = 0x20", {.spi = "00 01 0c 20", .state =
//   "SOCK_CLOSED"}); if (!findings.failing(strict).empty()) ...
#pragma once

#include <array>
#include <cstdint>
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

class Findings {
 public:
  // So many kinds of one rule are told apart; what comes after them counts with the last. Bounds the list whatever
  // firmware does.
  static constexpr std::size_t kept_per_rule = 16;

  // Keeps the first occurrence of each (rule, seen) and counts the others.
  void add(Instant at, Rule rule, std::string_view seen, Evidence evidence = {});

  // Whoever runs the test knows of this rule being broken, and why that is accepted.
  void announce(Rule rule, std::string_view reason);
  // The reason; empty if nobody announced the rule.
  std::string_view announced(Rule rule) const { return reasons_[static_cast<std::size_t>(rule)]; }

  // The broken rules that fail a run, each once, in the order in which they were first broken: errors and warnings that
  // nobody announced; when `strict` all of them, notes and announced ones too.
  std::vector<Rule> failing(bool strict = false) const;

  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
  std::array<std::string, rule_count> reasons_;
};

}  // namespace wizloop
