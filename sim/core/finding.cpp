#include "sim/core/finding.hpp"

#include <array>

namespace wizloop {
namespace {

constexpr std::array<RuleText, rule_count> texts = {{
    {"sclk-above-rating", "5.5.4", "SCLK is faster than the guaranteed 33.3 MHz",
     "lower the SPI clock, or announce the finding where the board is known to work"},
    {"reserved-block", "2.2.2", "the control byte selects a reserved block (BSB 4, 8, ... 28)",
     "BSB is 0 for common registers, 4n+1, 4n+2 and 4n+3 for socket n"},
    {"reserved-register", "4.1, 4.2", "an address without a register", "check the offset against the register map"},
    {"write-to-read-only", "4.1, 4.2", "a write to a read-only register has no effect",
     "check the offset; SIR is cleared through Sn_IR"},
    {"illegal-command", "4.2", "Sn_CR was given a command that the socket's state does not know",
     "wait for the state in Sn_SR that the command needs"},
    {"send-while-sending", "4.2", "SEND was issued while the last SEND had not raised SENDOK or TIMEOUT",
     "wait for SENDOK or TIMEOUT in Sn_IR before the next SEND"},
    {"write-beyond-free", "4.2", "Sn_TX_WR was advanced by more than Sn_TX_FSR allowed",
     "read Sn_TX_FSR first and write no more than that; read Sn_TX_WR anew after a connection is made"},
    {"not-modelled", "-", "the chip would react, this model does not yet", "do not rest a verdict on this run"},
}};

}  // namespace

const RuleText& text_of(Rule rule) { return texts[static_cast<std::size_t>(rule)]; }

void Findings::add(Instant at, Rule rule, std::string_view seen) {
  for (Finding& finding : all_) {
    if (finding.rule == rule && finding.seen == seen) {
      ++finding.count;
      return;
    }
  }
  all_.push_back({at, rule, std::string{seen}});
}

}  // namespace wizloop
