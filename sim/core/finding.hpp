// A finding says that firmware broke a rule of the datasheet (or met something that the model does not do yet). The
// model itself behaves as silicon would; whoever runs the test passes judgement.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/time.hpp"

namespace wizloop {

enum class Rule : std::uint8_t {
  sclk_above_rating,   // faster than the 33.3 MHz that the datasheet guarantees
  reserved_block,      // BSB 4, 8, 12 ... 28
  reserved_register,   // an offset without a register
  write_to_read_only,  //
  illegal_command,     // a command that this socket state does not know
  send_while_sending,  // SEND before SENDOK or TIMEOUT of the last
  write_beyond_free,   // Sn_TX_WR advanced by more than Sn_TX_FSR
  not_modelled,        // the chip would, this model does not yet
};
inline constexpr std::size_t rule_count = 8;

struct RuleText {
  std::string_view id;       // as a person types it, e.g. "sclk-above-rating"
  std::string_view section;  // of the W5500 datasheet v1.1.0
  std::string_view what;
  std::string_view cure;
};

const RuleText& text_of(Rule rule);

struct Finding {
  Instant at;  // of the first occurrence
  Rule rule;
  std::string seen;  // e.g. "SCLK 42000000 Hz, rated 33300000 Hz"
  std::uint64_t count = 1;
};

class Findings {
 public:
  // Keeps the first occurrence of each (rule, seen) and counts the others.
  void add(Instant at, Rule rule, std::string_view seen);

  const std::vector<Finding>& all() const { return all_; }

 private:
  std::vector<Finding> all_;
};

}  // namespace wizloop
