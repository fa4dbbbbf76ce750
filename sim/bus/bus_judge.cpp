#include "sim/bus/bus_judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/bus/judged_registers.hpp"
#include "sim/bus/version_read.hpp"

namespace wizloop::bus {
namespace {

using namespace judged;

// What the value would be had it been sampled one bit earlier or later.
std::string explain_bits(std::uint8_t value, std::uint8_t never_set) {
  if (value == 0xFF) return "MISO stays high";
  const int later = value >> 1;
  if (later != 0 && (later & never_set) == 0) return fmt::format("0x{:02X} sampled one bit late", later);
  const int earlier = value << 1 & 0xFF;
  if (earlier != 0 && (earlier & never_set) == 0) return fmt::format("0x{:02X} sampled one bit early", earlier);
  return "bits lost on MISO";
}

}  // namespace

BusJudge::BusJudge(EventQueue& queue, Findings& findings, const BoardProfile& profile, bool sees_chip)
    : queue_{queue},
      findings_{findings},
      select_cost_{profile.select},
      deselect_cost_{profile.deselect},
      sees_chip_{sees_chip} {
  set_clock(profile.sclk, profile.spi_mode);
}

// Mode 0 begins with half a period before the first edge, mode 3 ends with half a period after the last.
void BusJudge::note_costs() {
  const Duration leads = spi_mode_ == 0 ? half_period_ : Duration{};
  const Duration trails = spi_mode_ == 0 ? Duration{} : half_period_;
  setup_ = select_cost_ + leads;
  setup_too_short_ = setup_ < limits::select_setup;
  setup_taken_ = std::clamp<Duration>(limits::select_setup - leads, Duration{}, select_cost_);
  hold_ = deselect_cost_ + trails;
  least_after_last_bit_ = limits::select_hold - hold_;
  const Duration most_hold_taken = std::clamp<Duration>(limits::select_hold - trails, Duration{}, deselect_cost_);
  gap_may_be_too_short_ = select_cost_ + deselect_cost_ - setup_taken_ - most_hold_taken < limits::select_high;
  note_edges();
}

void BusJudge::set_select_cost(Duration select, Duration deselect) {
  select_cost_ = select;
  deselect_cost_ = deselect;
  note_costs();
}

void BusJudge::set_clock(Frequency sclk, int spi_mode) {
  spi_mode_ = spi_mode;
  half_period_ = sclk.periods(1) / 2;
  note_costs();
  if (!mode_works(spi_mode)) {
    add(Rule::spi_mode_unsupported, fmt::format("SPI mode {}, expected 0 or 3", spi_mode));
  }
  const std::int64_t hz = sclk.hz();
  if (hz > limits::theoretical_sclk.hz()) {
    add(Rule::sclk_above_limit, fmt::format("SCLK {} Hz, at most {} Hz", hz, limits::theoretical_sclk.hz()));
  } else if (hz > limits::guaranteed_sclk.hz()) {
    add(Rule::sclk_above_rating, fmt::format("SCLK {} Hz, guaranteed {} Hz", hz, limits::guaranteed_sclk.hz()));
  }
}

void BusJudge::add(Rule rule, std::string_view seen, const SeenFrame* frame) {
  Evidence evidence;
  for (std::size_t i = 0; frame != nullptr && i < std::min(frame->bytes, SeenFrame::kept_bytes); ++i) {
    evidence.spi += fmt::format("{}{:02x}", i == 0 ? "" : " ", frame->mosi[i]);
  }
  findings_.add(queue_.now(), rule, seen, std::move(evidence));
}

void BusJudge::note_edges() {
  watches_select_ = setup_too_short_ || gap_may_be_too_short_ || other_selected_ || queue_.now() < may_select_at_;
  const bool watches_deselect = gap_may_be_too_short_ || least_after_last_bit_ > Duration{} || !sees_chip_;
  passing_bits_ = watches_deselect ? 0 : ~length_bits;
}

void BusJudge::on_watched_select() {
  if (other_selected_) add(Rule::two_selects_low, "SCSn of the W5500 fell while another device was selected");
  if (const Instant falls = queue_.now() - setup_taken_; falls < may_select_at_) {
    const Duration high = falls - (may_select_at_ - limits::select_high);
    add(Rule::select_high_too_short,
        fmt::format("SCSn high for {} ps, at least {} ps", high.count(), Duration{limits::select_high}.count()));
  }
  if (setup_too_short_) {
    add(Rule::select_setup_too_short, fmt::format("SCLK {} ps after SCSn fell, at least {} ps", setup_.count(),
                                                  Duration{limits::select_setup}.count()));
  }
  note_edges();
}

void BusJudge::on_watched_deselect(const PollWatch& watch, Duration after_last_bit) {
  if (!watch.in_frame()) return;
  if (gap_may_be_too_short_) {
    const Duration trails = hold_ - deselect_cost_;
    const Duration hold_taken = limits::select_hold - trails - after_last_bit;
    may_select_at_ = queue_.now() + std::clamp<Duration>(hold_taken, Duration{}, deselect_cost_) + limits::select_high;
  }
  if (after_last_bit < least_after_last_bit_ && watch.frame().bytes != 0) {
    add(Rule::select_hold_too_short,
        fmt::format("SCSn rose {} ps after the last SCLK edge, at least {} ps", (after_last_bit + hold_).count(),
                    Duration{limits::select_hold}.count()));
  }
  judge_values(watch.frame());
}

void BusJudge::add_broken_limits(chip::PinLimits broken) {
  constexpr std::array<Rule, chip::pin_limit_names.size()> rules = {
      Rule::select_high_too_short, Rule::select_setup_too_short, Rule::select_hold_too_short, Rule::sclk_above_limit,
      Rule::sclk_above_limit,      Rule::sclk_above_limit,       Rule::sclk_above_limit};
  const chip::PinLimits before = std::exchange(broken_, broken);
  if (!mode_works(spi_mode_)) return;  // its edges are not where the host has them
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto limit = static_cast<chip::PinLimit>(i);
    if (!broken.has(limit) || before.has(limit)) continue;
    const bool is_known = std::ranges::find(findings_.all(), rules[i], &Finding::rule) != findings_.all().end();
    if (!is_known) add(rules[i], fmt::format("{} is broken at the pins of the RTL", chip::pin_limit_names[i]));
  }
}

// What came back on MISO ---------------------------------------------------------------------------------------------

void BusJudge::judge_values(const SeenFrame& frame) {
  const std::size_t bytes = std::min(frame.bytes, SeenFrame::kept_bytes);
  if (bytes == SeenFrame::header_bytes + 1) {
    if (wants_a_look(frame, 0)) judge_value(frame, 0);
    return;
  }
  if (!may_want_a_look(frame)) return;
  for (std::size_t i = 0; SeenFrame::header_bytes + i < bytes; ++i) {
    if (wants_a_look(frame, i)) judge_value(frame, i);
  }
}

void BusJudge::judge_value(const SeenFrame& frame, std::size_t i) {
  const std::size_t at = frame.offset() + i;
  const std::uint8_t value = frame.miso[SeenFrame::header_bytes + i];
  if (!frame.reads_registers) return judge_version(frame, value);
  if (frame.bsb() != 0) {
    add_odd_socket_value(frame, frame.bsb() / 4, value, at == Sn_SR);
  } else if (at == VERSIONR) {
    if (i == 0) judge_version(frame, value);
  } else if (at == MR) {
    add_bits(frame, "common MR", value, never_in_mr);
  } else {
    add_bits(frame, "common IR", value, never_in_ir);
  }
}

void BusJudge::add_odd_socket_value(const SeenFrame& frame, int socket, std::uint8_t value, bool is_state) {
  if (!is_state) return add_bits(frame, fmt::format("S{} Sn_IR", socket), value, never_in_sn_ir);
  add(Rule::reserved_bits_read, fmt::format("S{} Sn_SR = 0x{:02X}, which is no state", socket, value), &frame);
}

void BusJudge::judge_version(const SeenFrame& frame, std::uint8_t value) {
  const FourBytes mosi = {frame.mosi[0], frame.mosi[1], frame.mosi[2], frame.mosi[3]};
  const FourBytes miso = {frame.miso[0], frame.miso[1], frame.miso[2], frame.miso[3]};
  if (!is_version_read(mosi)) return;
  const std::string cause = explain_version_read(mosi, miso);
  // A chip that is still waking answers 0 behind a good header; drivers rightly poll until it is done.
  if (cause.empty() || (value == 0x00 && miso == FourBytes{0x01, 0x02, 0x03, 0x00})) return;
  add(Rule::wrong_version, fmt::format("VERSIONR = 0x{:02X}, MISO {:02x}: {}", value, fmt::join(miso, " "), cause),
      &frame);
}

void BusJudge::add_bits(const SeenFrame& frame, std::string_view name, std::uint8_t value, std::uint8_t never_set) {
  add(Rule::reserved_bits_read, fmt::format("{} = 0x{:02X}: {}", name, value, explain_bits(value, never_set)), &frame);
}

}  // namespace wizloop::bus
