#include "sim/core/finding.hpp"

#include <algorithm>
#include <utility>

namespace wizloop {

std::string_view name_of(Origin origin) {
  constexpr std::string_view names[] = {"test", "board", "library", "scenario", "command"};
  return names[static_cast<std::size_t>(origin)];
}

void Findings::add(Instant at, Rule rule, std::string_view seen, Evidence evidence) {
  Finding* last_of_rule = nullptr;
  std::size_t kept = 0;
  for (Finding& finding : all_) {
    if (finding.rule != rule) continue;
    if (finding.seen == seen) {
      ++finding.count;
      return;
    }
    last_of_rule = &finding;
    ++kept;
  }
  if (kept == kept_per_rule) {
    ++last_of_rule->count;
    return;
  }
  all_.push_back({at, rule, std::string{seen}, std::move(evidence)});
}

void Findings::announce(Announcement announcement) {
  announced_[static_cast<std::size_t>(announcement.rule)] = std::move(announcement);
}

std::vector<Rule> Findings::failing(bool strict) const {
  std::vector<Rule> rules;
  for (const Finding& finding : all_) {
    const bool excused = text_of(finding.rule).severity == Severity::note || announced(finding.rule) != nullptr;
    if (excused && !strict) continue;
    if (std::ranges::find(rules, finding.rule) == rules.end()) rules.push_back(finding.rule);
  }
  return rules;
}

}  // namespace wizloop
