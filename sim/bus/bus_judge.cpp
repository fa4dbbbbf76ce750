#include "sim/bus/bus_judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "sim/bus/version_read.hpp"

namespace wizloop::bus {
namespace {

// Offsets of what is looked at, and the bits that the chip never sets (datasheet 4.1, 4.2).
constexpr std::uint16_t MR = 0x00, IR = 0x15, VERSIONR = 0x39, Sn_IR = 0x02, Sn_SR = 0x03;
constexpr std::uint8_t never_in_mr = 0x45, never_in_ir = 0x0F, never_in_sn_ir = 0xE0;
// 0x01, SOCK_ARP, is that of the older datasheets; see chip.quirk.status_while_resolving.
constexpr std::uint8_t states[] = {0x00, 0x01, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18,
                                   0x1A, 0x1B, 0x1C, 0x1D, 0x22, 0x32, 0x42};
constexpr auto known_states = [] {
  std::array<bool, 256> known{};
  for (const std::uint8_t state : states) known[state] = true;
  return known;
}();

// The same offsets, a bit for each.
constexpr std::uint64_t looked_at_in_common = 1ULL << MR | 1ULL << IR | 1ULL << VERSIONR;
constexpr std::uint64_t looked_at_in_socket = 1ULL << Sn_IR | 1ULL << Sn_SR;

// Whether the value is one that the chip never gives, or VERSIONR's, which has more to be judged by.
bool wants_a_look(bool common, std::size_t at, std::uint8_t value) {
  if (!common) return at == Sn_SR ? !known_states[value] : at == Sn_IR && (value & never_in_sn_ir) != 0;
  if (at == MR) return (value & never_in_mr) != 0;
  return at == IR ? (value & never_in_ir) != 0 : at == VERSIONR;
}

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

BusJudge::BusJudge(EventQueue& queue, Findings& findings, const BoardProfile& profile)
    : queue_{queue}, findings_{findings}, select_cost_{profile.select}, deselect_cost_{profile.deselect} {
  set_clock(profile.sclk, profile.spi_mode);
}

void BusJudge::set_clock(Frequency sclk, int spi_mode) {
  // Mode 0 begins with half a period before the first edge, mode 3 ends with half a period after the last.
  const Duration half_period = sclk.periods(1) / 2;
  setup_ = select_cost_ + (spi_mode == 0 ? half_period : Duration{});
  hold_ = deselect_cost_ + (spi_mode == 0 ? Duration{} : half_period);
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

void BusJudge::on_bad_select() {
  if (other_selected_) add(Rule::two_selects_low, "SCSn of the W5500 fell while another device was selected");
  if (queue_.now() < may_select_at_) {
    const Duration high = queue_.now() - (may_select_at_ - limits::select_high);
    add(Rule::select_high_too_short,
        fmt::format("SCSn high for {} ps, at least {} ps", high.count(), Duration{limits::select_high}.count()));
  }
  if (setup_ < limits::select_setup) {
    add(Rule::select_setup_too_short, fmt::format("SCLK {} ps after SCSn fell, at least {} ps", setup_.count(),
                                                  Duration{limits::select_setup}.count()));
  }
}

void BusJudge::on_bad_deselect(Duration hold) {
  add(Rule::select_hold_too_short, fmt::format("SCSn rose {} ps after the last SCLK edge, at least {} ps", hold.count(),
                                               Duration{limits::select_hold}.count()));
}

// What came back on MISO ---------------------------------------------------------------------------------------------

void BusJudge::judge_values(const SeenFrame& frame) {
  if (!frame.reads_registers) {
    // 00 00 39: a 24-bit address
    if (frame.bsb() == 7 && frame.bytes == 4 && frame.offset() == 0) judge_version(frame, frame.miso[3]);
    return;
  }
  const std::uint16_t offset = frame.offset();
  const bool common = frame.bsb() == 0;
  const std::size_t data_bytes = std::min(frame.bytes, SeenFrame::kept_bytes) - SeenFrame::header_bytes;
  if (data_bytes == 1) {  // most of them: polls
    if (!wants_a_look(common, offset, frame.miso[SeenFrame::header_bytes])) return;
    return judge_value(frame, 0);
  }
  const std::uint64_t read = offset < 64 ? ((1ULL << data_bytes) - 1) << offset : 0;
  if ((read & (common ? looked_at_in_common : looked_at_in_socket)) == 0) return;
  for (std::size_t i = 0; i < data_bytes; ++i) {
    if (wants_a_look(common, offset + i, frame.miso[SeenFrame::header_bytes + i])) [[unlikely]]
      judge_value(frame, i);
  }
}

void BusJudge::judge_value(const SeenFrame& frame, std::size_t i) {
  const std::size_t at = frame.offset() + i;
  const std::uint8_t value = frame.miso[SeenFrame::header_bytes + i];
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
