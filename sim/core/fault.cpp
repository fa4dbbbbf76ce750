#include "sim/core/fault.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "sim/core/time_text.hpp"

namespace wizloop {
namespace {

using Kind = FaultParameter::Kind;

constexpr std::int64_t any = -1;  // the value of a parameter that is drawn at each strike

FaultParameter number(std::string_view name, std::string_view default_value, std::int64_t least, std::int64_t most,
                      std::string_view meaning) {
  return {name, Kind::number, default_value, meaning, least, most};
}
FaultParameter time(std::string_view name, std::string_view default_value, std::string_view meaning) {
  return {name, Kind::time, default_value, meaning};
}
FaultParameter choice(std::string_view name, std::vector<std::string_view> choices, std::string_view meaning) {
  return {name, Kind::choice, choices.front(), meaning, 0, 0, choices};
}
FaultParameter sender() { return choice("sender", {"both", "board", "peer"}, "whose frames are meant"); }

const std::array<FaultSpec, fault_count>& table() {
  static const std::array<FaultSpec, fault_count> specs = {{
      {Fault::spi_flip,
       "spi_flip",
       "spi",
       "SPI byte",
       "one bit of the byte is read wrongly",
       {choice("line", {"miso", "mosi"}, "which line"), number("bit", "any", 0, 7, "which bit, 7 is sent first")}},
      {Fault::spi_miso_stuck,
       "spi_miso_stuck",
       "spi",
       "SPI byte",
       "MISO stays at one level",
       {number("level", "0", 0, 1, "which level")}},
      {Fault::spi_miso_contention,
       "spi_miso_contention",
       "spi",
       "SPI byte",
       "another device drives MISO too; where the two differ, low wins",
       {number("byte", "any", 0, 255, "what the other device sends")}},
      {Fault::spi_clock_missed,
       "spi_clock_missed",
       "spi",
       "SPI byte",
       "the chip misses one SCLK pulse: bits slip until SCSn rises",
       {number("bit", "any", 0, 7, "at which bit, 7 is sent first")}},
      {Fault::spi_clock_extra,
       "spi_clock_extra",
       "spi",
       "SPI byte",
       "the chip sees one SCLK pulse too many: bits slip until SCSn rises",
       {number("bit", "any", 0, 7, "after which bit, 7 is sent first")}},
      {Fault::spi_select_lost,
       "spi_select_lost",
       "spi",
       "SPI byte",
       "SCSn rises before this byte, in the middle of the frame; MISO floats high",
       {choice("back", {"no", "yes"}, "whether it falls again at once, so that the chip takes the rest for a frame")}},
      {Fault::spi_torn_read,
       "spi_torn_read",
       "spi",
       "16-bit counter read, where it shows",
       "Sn_TX_FSR or Sn_RX_RSR grows between the reads of its two bytes: the high byte is still the old one",
       {number("growth", "256", 1, 65535, "by how many bytes it grows")}},
      {Fault::spi_half_clock,
       "spi_half_clock",
       "spi",
       "SPI frame",
       "controller and chip sample half a clock apart: each sees the bits of the other one bit late",
       {choice("line", {"both", "mosi", "miso"}, "which line")}},

      {Fault::dma_late,
       "dma_late",
       "dma",
       "DMA transfer",
       "the completion interrupt comes late",
       {time("delay", "1ms", "how late")}},
      {Fault::dma_short,
       "dma_short",
       "dma",
       "DMA transfer",
       "the transfer ends early and reports success",
       {number("missing", "1", 1, 65535, "bytes that never move")}},
      {Fault::dma_never,
       "dma_never",
       "dma",
       "DMA transfer",
       "the channel stalls and never completes",
       {number("moved", "0", 0, 65535, "bytes that still move")}},

      {Fault::intn_lost, "intn_lost", "intn", "falling edge of INTn", "the board never sees this edge"},
      {Fault::intn_late,
       "intn_late",
       "intn",
       "falling edge of INTn",
       "the board sees the edge late",
       {time("delay", "10ms", "how late")}},
      {Fault::intn_glitch, "intn_glitch", "intn", "wait for INTn", "a spike on the line wakes the board for nothing"},
      {Fault::intn_stuck,
       "intn_stuck",
       "intn",
       "look at INTn",
       "the line stays at one level",
       {choice("level", {"high", "low"}, "which level")}},

      {Fault::chip_command_slow,
       "chip_command_slow",
       "chip",
       "write to Sn_CR",
       "the command takes effect late, and Sn_CR reads it until then",
       {time("delay", "1ms", "how late")}},
      {Fault::chip_reset_late,
       "chip_reset_late",
       "chip",
       "reset by MR.RST or RSTn",
       "MR.RST stays set, other registers read 0 and writes are lost",
       {time("delay", "5ms", "for how long")}},
      {Fault::chip_version_zero, "chip_version_zero", "chip", "read of VERSIONR", "VERSIONR reads 0"},
      {Fault::chip_sendok_lost, "chip_sendok_lost", "chip", "SENDOK", "Sn_IR.SENDOK never sets"},
      {Fault::chip_sendok_late,
       "chip_sendok_late",
       "chip",
       "SENDOK",
       "Sn_IR.SENDOK sets late",
       {time("delay", "5ms", "how late")}},
      {Fault::chip_brown_out,
       "chip_brown_out",
       "chip",
       "SPI byte",
       "the supply dips before this byte: the chip starts anew, with everything at reset values and no link",
       {time("down", "100us", "how long the supply is down; then the PLL locks")}},

      {Fault::link_loss, "link_loss", "link", "frame", "the frame is lost", {sender()}},
      {Fault::link_duplicate, "link_duplicate", "link", "frame", "the frame arrives twice", {sender()}},
      {Fault::link_reorder,
       "link_reorder",
       "link",
       "frame",
       "the frame arrives behind the next one of its direction",
       {sender(), time("wait", "1ms", "how long it waits for a next one")}},
      {Fault::link_corrupt, "link_corrupt", "link", "frame", "bits change and the FCS shows it", {sender()}},
      {Fault::link_corrupt_silent,
       "link_corrupt_silent",
       "link",
       "frame",
       "a byte changes behind the back of the FCS, as in a faulty switch",
       {sender(), number("byte", "any", 0, 1513, "which byte, modulo the length of the frame")}},
      {Fault::link_delay,
       "link_delay",
       "link",
       "frame",
       "the frame is late, and those behind it wait",
       {sender(), time("delay", "1ms", "how late")}},
      {Fault::link_jitter,
       "link_jitter",
       "link",
       "frame",
       "the frame is late by chance, and those behind it wait",
       {sender(), time("most", "1ms", "how late at most")}},
      {Fault::link_unplug, "link_unplug", "link", "", "the cable is out from `from` until `until`"},
      {Fault::link_flap,
       "link_flap",
       "link",
       "",
       "the cable goes out and in again",
       {time("down", "100ms", "how long it is out"), time("up", "3s", "how long it is in")}},

      {Fault::peer_rst, "peer_rst", "peer", "TCP segment from the board",
       "the PC answers with RST instead of taking the segment"},
      {Fault::peer_silence, "peer_silence", "peer", "frame to or from the PC", "the PC neither hears nor speaks"},
      {Fault::peer_zero_window, "peer_zero_window", "peer", "TCP segment from the PC",
       "the PC advertises a window of 0"},
      {Fault::peer_tiny_mss,
       "peer_tiny_mss",
       "peer",
       "TCP SYN from the PC",
       "the PC announces a tiny MSS",
       {number("mss", "64", 1, 1460, "in bytes")}},
      {Fault::peer_bad_checksum,
       "peer_bad_checksum",
       "peer",
       "IP packet from the PC",
       "a checksum is wrong",
       {choice("which", {"transport", "ip"}, "that of TCP, UDP or ICMP, or that of the IP header")}},
      {Fault::peer_syn_flood,
       "peer_syn_flood",
       "peer",
       "",
       "SYNs from addresses that never answer",
       {number("count", "1000", 1, 1'000'000, "how many"), time("interval", "100us", "between two"),
        number("port", "5001", 1, 65535, "to which port of the board")}},
      {Fault::peer_no_arp, "peer_no_arp", "peer", "ARP frame from the PC", "the PC keeps its MAC address to itself"},

      {Fault::host_restart,
       "host_restart",
       "host",
       "library call",
       "the board's host starts anew before this call and the chip does not notice: what was open stays open; firmware "
       "and the PC's program begin again",
       {time("boot", "100ms", "until firmware runs again, 10 ms at least")}},
  }};
  return specs;
}

std::optional<std::int64_t> to_number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

Error expected_time() {
  return Error{fmt::format("a whole number and its unit, ps, ns, us, ms or s, at most {}s", longest_time / 1s)};
}

// How many letters to change, add or drop to get from one word to the other.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

std::string forms_of(const FaultSpec& spec) {
  std::vector<std::string> forms;
  if (!spec.occasion.empty()) forms = {"always", "nth=N", "every=N", "ppm=N", "times=N"};
  for (const char* form : {"at=T", "from=T", "until=T"}) forms.emplace_back(form);
  for (const FaultParameter& parameter : spec.parameters) {
    forms.push_back(fmt::format("{}={}", parameter.name, form_of(parameter)));
  }
  return fmt::format("{}", fmt::join(forms, ", "));
}

Result<std::int64_t> parse_value(const FaultParameter& parameter, std::string_view text) {
  switch (parameter.kind) {
    case Kind::number: {
      if (text == "any" && parameter.default_value == "any") return any;
      const auto value = to_number(text);
      if (value && *value >= parameter.least && *value <= parameter.most) return *value;
      return Error{fmt::format("a whole number from {} to {}", parameter.least, parameter.most)};
    }
    case Kind::time: {
      const auto value = time_of(text);
      if (value) return value->count();
      return expected_time();
    }
    case Kind::choice: {
      const auto found = std::ranges::find(parameter.choices, text);
      if (found != parameter.choices.end()) return found - parameter.choices.begin();
      return Error{fmt::format("one of {}", fmt::join(parameter.choices, ", "))};
    }
  }
  return Error{"a value"};
}

// Takes in one word of a fault's text. The error is what was expected in the place of `value`; "" if the word itself is
// unknown or does not suit this fault.
std::optional<Error> take_word(const FaultSpec& spec, PlannedFault& planned, std::string_view word,
                               std::string_view value, bool has_value) {
  using Selection = PlannedFault::Selection;
  for (std::size_t i = 0; i < spec.parameters.size(); ++i) {
    if (spec.parameters[i].name != word) continue;
    const auto parsed = parse_value(spec.parameters[i], value);
    if (!parsed) return parsed.error();
    planned.values[i] = parsed.value();
    return std::nullopt;
  }
  const bool has_occasions = !spec.occasion.empty();
  if (word == "always" && !has_value && has_occasions) return std::nullopt;
  if ((word == "nth" || word == "every" || word == "times" || word == "ppm") && has_occasions) {
    const auto count = to_number(value);
    const std::int64_t least = word == "ppm" ? 0 : 1;
    if (!count || *count < least || (word == "ppm" && *count > 1'000'000)) {
      return Error{word == "ppm" ? "a whole number from 0 to 1000000" : "a whole number from 1"};
    }
    if (word == "times") {
      planned.times = static_cast<std::uint64_t>(*count);
    } else {
      planned.selection = word == "nth" ? Selection::nth : word == "every" ? Selection::every : Selection::chance;
      planned.count = static_cast<std::uint64_t>(*count);
    }
    return std::nullopt;
  }
  if (word == "at" || word == "from" || word == "until") {
    const auto time = time_of(value);
    if (!time) return expected_time();
    (word == "until" ? planned.until : planned.from) = Instant{*time};
    if (word == "at" && has_occasions) planned.times = 1;
    return std::nullopt;
  }
  return Error{""};
}

}  // namespace

std::string form_of(const FaultParameter& parameter) {
  switch (parameter.kind) {
    case Kind::number:
      return fmt::format("{}..{}", parameter.least, parameter.most);
    case Kind::time:
      return "T";
    case Kind::choice:
      return fmt::format("{}", fmt::join(parameter.choices, "|"));
  }
  return "";
}

std::span<const FaultSpec> fault_table() { return table(); }

const FaultSpec& spec_of(Fault fault) { return table()[static_cast<std::size_t>(fault)]; }

Result<std::monostate> FaultPlan::add(std::string_view name, std::string_view text) {
  const auto spec = std::ranges::find(table(), name, &FaultSpec::name);
  if (spec == table().end()) {
    const auto nearest = std::ranges::min_element(
        table(), {}, [name](const FaultSpec& known) { return edits_between(name, known.name); });
    return Error{fmt::format("unknown fault.{}; the nearest is fault.{}", name, nearest->name)};
  }
  PlannedFault planned{.fault = spec->fault};
  for (const FaultParameter& parameter : spec->parameters) {
    planned.values.push_back(parse_value(parameter, parameter.default_value).value());
  }
  const auto wrong = [&](std::string_view what) {
    return Error{fmt::format("fault.{} is \"{}\": {}; it takes {}", name, text, what, forms_of(*spec))};
  };
  std::vector<std::string_view> seen;
  for (std::string_view rest = text;;) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    const std::string_view item = rest.substr(0, comma);
    const std::size_t equals = std::min(item.find('='), item.size());
    const std::string_view word = item.substr(0, equals);
    const bool has_value = equals < item.size();
    const std::string_view value = has_value ? item.substr(equals + 1) : std::string_view{};
    if (std::ranges::find(seen, word) != seen.end()) return wrong(fmt::format("{} is given twice", word));
    seen.push_back(word);
    if (const auto error = take_word(*spec, planned, word, value, has_value)) {
      if (error->message.empty()) return wrong(fmt::format("\"{}\" is none of its words", item));
      return wrong(fmt::format("{} is \"{}\", expected {}", word, value, error->message));
    }
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  const auto selections = std::ranges::count_if(seen, [](std::string_view word) {
    return word == "always" || word == "nth" || word == "every" || word == "ppm" || word == "at";
  });
  if (selections > 1) return wrong("always, nth, every, ppm and at exclude each other");
  const auto given = [&seen](std::string_view word) { return std::ranges::find(seen, word) != seen.end(); };
  if (given("at") && given("from")) return wrong("at is a from of its own");
  if (planned.until <= planned.from) return wrong("until is not after from");

  std::erase_if(planned_, [&](const PlannedFault& other) { return other.fault == planned.fault; });
  planned_.push_back(std::move(planned));
  std::ranges::sort(planned_, {}, &PlannedFault::fault);
  return std::monostate{};
}

const PlannedFault* FaultPlan::find(Fault fault) const {
  const auto found = std::ranges::find(planned_, fault, &PlannedFault::fault);
  return found == planned_.end() ? nullptr : &*found;
}

FaultPoint::FaultPoint(const PlannedFault& planned, EventQueue& queue, const Random& random, Trace& trace)
    : planned_{planned},
      spec_{spec_of(planned.fault)},
      queue_{queue},
      trace_{trace},
      chance_{random.stream(fmt::format("fault.{}", spec_.name))} {}

bool FaultPoint::selected() {
  switch (planned_.selection) {
    case PlannedFault::Selection::always:
      return true;
    case PlannedFault::Selection::nth:
      return occasions_ == planned_.count;
    case PlannedFault::Selection::every:
      return occasions_ % planned_.count == 0;
    case PlannedFault::Selection::chance:
      return chance_.below(1'000'000) < planned_.count;
  }
  return false;
}

void FaultPoint::strike() {
  ++struck_;
  if (!trace_.wanted()) return;
  trace_.emit(queue_.now(), "fault", spec_.name,
              {{"occasion", static_cast<std::int64_t>(occasions_)}, {"strike", static_cast<std::int64_t>(struck_)}});
}

std::uint64_t FaultPoint::number(std::string_view parameter) {
  const std::int64_t planned = value(parameter);
  if (planned != any) return static_cast<std::uint64_t>(planned);
  const FaultParameter& spec = spec_.parameters[index_of(parameter)];
  return static_cast<std::uint64_t>(spec.least) + draw(static_cast<std::uint64_t>(spec.most - spec.least + 1));
}

bool FaultPoint::is(std::string_view parameter, std::string_view choice) const {
  return spec_.parameters[index_of(parameter)].choices[static_cast<std::size_t>(value(parameter))] == choice;
}

std::size_t FaultPoint::index_of(std::string_view parameter) const {
  const auto found = std::ranges::find(spec_.parameters, parameter, &FaultParameter::name);
  WIZ_ASSERT(found != spec_.parameters.end());
  return static_cast<std::size_t>(found - spec_.parameters.begin());
}

Faults::Faults(const FaultPlan& plan, EventQueue& queue, const Random& random, Trace& trace) {
  for (const PlannedFault& planned : plan.all()) {
    points_[static_cast<std::size_t>(planned.fault)].emplace(planned, queue, random, trace);
  }
}

bool Faults::planned(std::string_view layer) const {
  return std::ranges::any_of(table(), [&](const FaultSpec& spec) {
    return spec.layer == layer && points_[static_cast<std::size_t>(spec.fault)].has_value();
  });
}

std::vector<StruckFault> Faults::struck() const {
  std::vector<StruckFault> struck;
  for (std::size_t i = 0; i < fault_count; ++i) {
    if (points_[i]) struck.push_back({table()[i].name, points_[i]->struck()});
  }
  return struck;
}

}  // namespace wizloop
