#include "sim/bus/profile.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <span>
#include <system_error>
#include <utility>

#include "sim/core/descriptor.hpp"
#include "sim/core/finding.hpp"
#include "sim/core/nearest.hpp"

namespace wizloop::bus {
namespace {

using Names = std::span<const std::string_view>;

// Far above what a person writes. The TOML parser recurses into dotted keys as deep as they go, and so do its tables
// when they end: beyond these limits a file could run it out of stack.
constexpr std::size_t most_file_bytes = 256 * 1024;
constexpr std::ptrdiff_t most_marks_in_a_line = 100;  // dots and opening brackets

constexpr std::size_t most_fits = 2;  // more, and a board would describe its figures instead of predicting them

// A double holds every decimal that a person writes closely enough for its nearest picosecond to be the one meant.
Duration from_ns(double ns) { return picoseconds(std::llround(ns * 1e3)); }
Duration from_us(double us) { return picoseconds(std::llround(us * 1e6)); }
Duration from_ms(double ms) { return picoseconds(std::llround(ms * 1e9)); }
Frequency from_hz(double hz) { return Frequency{std::llround(hz)}; }

template <typename Cost>
Cost& present(std::optional<Cost>& path) {
  return path ? *path : path.emplace();
}

// The numbers of a board file. All keys of one path come together or not at all, and so do those of [arduino].
enum class Presence : std::uint8_t { required, optional, burst, dma, arduino };

struct NumberKey {
  std::string_view name;
  double min;
  double max;
  double step;  // 0: any value in the range
  Presence presence;
  void (*store)(BoardProfile&, double);
};

constexpr NumberKey number_keys[] = {
    {"cpu_hz", 1e6, 2e9, 1, Presence::required, [](BoardProfile& p, double v) { p.cpu = from_hz(v); }},
    {"sclk_hz", 1e5, 80e6, 1, Presence::required, [](BoardProfile& p, double v) { p.sclk = from_hz(v); }},
    {"spi_mode", 0, 3, 3, Presence::required, [](BoardProfile& p, double v) { p.spi_mode = static_cast<int>(v); }},
    {"byte_gap_ns", 0, 1e5, 0, Presence::required, [](BoardProfile& p, double v) { p.byte.gap = from_ns(v); }},
    {"burst_gap_ns", 0, 1e5, 0, Presence::burst, [](BoardProfile& p, double v) { present(p.burst).gap = from_ns(v); }},
    {"burst_setup_ns", 0, 1e6, 0, Presence::burst,
     [](BoardProfile& p, double v) { present(p.burst).setup = from_ns(v); }},
    {"dma_gap_ns", 0, 1e4, 0, Presence::dma, [](BoardProfile& p, double v) { present(p.dma).gap = from_ns(v); }},
    {"dma_setup_ns", 0, 1e6, 0, Presence::dma, [](BoardProfile& p, double v) { present(p.dma).setup = from_ns(v); }},
    {"dma_complete_ns", 0, 1e6, 0, Presence::dma,
     [](BoardProfile& p, double v) { present(p.dma).complete = from_ns(v); }},
    {"select_ns", 0, 1e6, 0, Presence::required, [](BoardProfile& p, double v) { p.select = from_ns(v); }},
    {"deselect_ns", 0, 1e6, 0, Presence::required, [](BoardProfile& p, double v) { p.deselect = from_ns(v); }},
    {"call_cpu_ns", 0, 1e7, 0, Presence::required, [](BoardProfile& p, double v) { p.call = from_ns(v); }},
    {"interrupt_latency_ns", 0, 1e7, 0, Presence::required,
     [](BoardProfile& p, double v) { p.interrupt_latency = from_ns(v); }},
    {"lwip_packet_ns", 0, 1e7, 0, Presence::optional, [](BoardProfile& p, double v) { p.lwip.packet = from_ns(v); }},
    {"lwip_byte_ns", 0, 1e5, 0, Presence::optional, [](BoardProfile& p, double v) { p.lwip.byte = from_ns(v); }},
    {"supply_current_ma", 1, 1000, 0, Presence::optional, [](BoardProfile& p, double v) { p.supply_current_ma = v; }},
    {"arduino.digital_write_ns", 0, 1e6, 0, Presence::arduino,
     [](BoardProfile& p, double v) { present(p.arduino).digital_write = from_ns(v); }},
    {"arduino.begin_transaction_ns", 0, 1e6, 0, Presence::arduino,
     [](BoardProfile& p, double v) { present(p.arduino).begin_transaction = from_ns(v); }},
    {"arduino.end_transaction_ns", 0, 1e6, 0, Presence::arduino,
     [](BoardProfile& p, double v) { present(p.arduino).end_transaction = from_ns(v); }},
    {"arduino.millis_ns", 0, 1e6, 0, Presence::arduino,
     [](BoardProfile& p, double v) { present(p.arduino).millis = from_ns(v); }},
    {"peer.delayed_ack_ms", 0, 500, 0, Presence::required,
     [](BoardProfile& p, double v) { p.peer.delayed_ack = from_ms(v); }},
    {"peer.turnaround_us", 0, 1e6, 0, Presence::required,
     [](BoardProfile& p, double v) { p.peer.turnaround = from_us(v); }},
    {"peer.timer_tick_us", 0, 1e5, 0, Presence::required,
     [](BoardProfile& p, double v) { p.peer.timer_tick = from_us(v); }},
};

// The words of a board file that are chosen from a list; those of the remote host stand in the order of their enum.
constexpr std::string_view libraries[] = {"ethernet2", "ethernet3",   "pjrc_ethernet",
                                          "iolibrary", "lwip_macraw", "wizloop"};
constexpr std::string_view chips[] = {"W5500"};
constexpr std::string_view bases[] = {"given", "fit"};
constexpr std::string_view ack_policies[] = {"immediate", "every_second", "delayed"};
constexpr std::string_view segment_rules[] = {"half_window", "full_mss"};
constexpr std::string_view paths[] = {"byte", "burst", "dma"};
constexpr std::string_view units[] = {"Mbit/s", "ms", "us", "packets/s"};

struct WordKey {
  std::string_view name;
  Names allowed;
  void (*store)(BoardProfile&, std::size_t);
};

constexpr WordKey word_keys[] = {
    {"chip", chips, [](BoardProfile& p, std::size_t i) { p.chip = chips[i]; }},
    {"library", libraries, [](BoardProfile& p, std::size_t i) { p.library = libraries[i]; }},
    {"peer.ack_policy", ack_policies,
     [](BoardProfile& p, std::size_t i) { p.peer.ack_policy = static_cast<net::AckPolicy>(i); }},
    {"peer.segment_rule", segment_rules,
     [](BoardProfile& p, std::size_t i) { p.peer.segment_rule = static_cast<net::SegmentRule>(i); }},
};

struct TextKey {
  std::string_view name;
  std::string_view meaning;
  std::string& (*at)(BoardProfile&);
};

constexpr TextKey text_keys[] = {
    {"title", "what a person calls the board", [](BoardProfile& p) -> std::string& { return p.title; }},
    {"mcu", "the microcontroller", [](BoardProfile& p) -> std::string& { return p.mcu; }},
    {"peer.system", "the remote host as the source names it",
     [](BoardProfile& p) -> std::string& { return p.peer.system; }},
};

std::string expected_number(const NumberKey& key) {
  if (key.step == key.max - key.min) return fmt::format("{} or {}", key.min, key.max);
  return fmt::format("a {}number from {} to {}", key.step == 1 ? "whole " : "", key.min, key.max);
}

bool in_range(const NumberKey& key, double value) {
  if (!(value >= key.min && value <= key.max)) return false;  // in this form NaN is out of range too
  return key.step == 0 || std::fmod(value - key.min, key.step) == 0;
}

std::string expected_word(Names allowed) {
  if (allowed.size() == 1) return std::string{allowed.front()};
  return fmt::format("one of {}", fmt::join(allowed, ", "));
}

// "turnaround_us" of "peer.turnaround_us", and which table it stands in: "" or "peer".
std::string_view table_of(std::string_view name) {
  const std::size_t dot = name.find('.');
  return dot == std::string_view::npos ? std::string_view{} : name.substr(0, dot);
}
std::string_view leaf_of(std::string_view name) { return name.substr(name.rfind('.') + 1); }

std::optional<std::size_t> index_in(Names names, std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names.begin());
}

// A value as its author wrote it, or what kind of thing it is.
std::string show(const toml::node& node) {
  if (auto text = node.value_exact<std::string>()) {
    for (std::size_t at = 0; (at = text->find('\n', at)) != std::string::npos; at += 2) text->replace(at, 1, "\\n");
    return fmt::format("\"{}\"", *text);
  }
  if (const auto integer = node.value_exact<std::int64_t>()) return fmt::format("{}", *integer);
  if (const auto number = node.value_exact<double>()) return fmt::format("{}", *number);
  if (const auto truth = node.value_exact<bool>()) return *truth ? "true" : "false";
  if (node.is_table()) return "a table";
  return node.is_array() ? "an array" : "a date or time";
}

std::optional<double> number_in(const toml::node& node) {
  if (const auto integer = node.value_exact<std::int64_t>()) return static_cast<double>(*integer);
  return node.value_exact<double>();
}

// Reads the tables of one file and collects whatever is wrong with them.
class BoardReader {
 public:
  BoardReader(std::string file, const toml::table& root) : file_{std::move(file)}, root_{root} {}

  BoardProfile read() {
    BoardProfile profile;
    const toml::table* peer = peer_table();
    read_keys(profile, "", root_);
    if (peer != nullptr) read_keys(profile, "peer", *peer);
    if (const toml::table* arduino = arduino_table()) read_keys(profile, "arduino", *arduino);
    require_whole_groups();
    read_announcements(profile);
    read_figures(profile);
    check_fits(profile);
    return profile;
  }

  // One line for each thing that is wrong, in the order of the file; empty if nothing is.
  std::string errors() {
    std::stable_sort(errors_.begin(), errors_.end(), [](const auto& a, const auto& b) { return a.line < b.line; });
    std::string all;
    for (const auto& [line, text] : errors_) {
      all += fmt::format("{}{}:{}: {}", all.empty() ? "" : "\n", file_, line, text);
    }
    return all;
  }

 private:
  struct LineError {
    toml::source_index line;
    std::string text;
  };

  void fail(const toml::node& at, std::string_view key, std::string_view is, std::string_view expected) {
    errors_.push_back({at.source().begin.line, fmt::format("{} is {}, expected {}", key, is, expected)});
  }

  const toml::table* peer_table() {
    const toml::node* node = root_.get("peer");
    if (node != nullptr && node->is_table()) return node->as_table();
    if (node == nullptr) {
      fail(root_, "peer", "missing", "a table [peer] that says how the remote host behaves");
    } else {
      fail(*node, "peer", show(*node), "a table [peer]");
    }
    return nullptr;
  }

  const toml::table* arduino_table() {
    const toml::node* node = root_.get("arduino");
    if (node != nullptr && !node->is_table()) fail(*node, "arduino", show(*node), "a table [arduino]");
    return node != nullptr ? node->as_table() : nullptr;
  }

  static std::vector<std::string_view> known_keys(std::string_view table) {
    std::vector<std::string_view> known;
    const auto add = [&](const auto& keys) {
      for (const auto& key : keys) {
        if (table_of(key.name) == table) known.push_back(leaf_of(key.name));
      }
    };
    add(text_keys);
    add(word_keys);
    add(number_keys);
    if (table.empty()) known.insert(known.end(), {"peer", "arduino", "announce", "figure"});
    return known;
  }

  void refuse_unknown(const toml::table& table, std::string_view prefix, Names known) {
    for (const auto& [key, node] : table) {
      if (index_in(known, key.str())) continue;
      const std::string name = prefix.empty() ? std::string{key.str()} : fmt::format("{}.{}", prefix, key.str());
      errors_.push_back({key.source().begin.line,
                         fmt::format("{} is not a known key, the nearest is {}", name, nearest(key.str(), known))});
    }
  }

  void read_keys(BoardProfile& profile, std::string_view name, const toml::table& table) {
    refuse_unknown(table, name, known_keys(name));
    for (const TextKey& key : text_keys) {
      if (table_of(key.name) == name) key.at(profile) = text(table, key.name, key.meaning);
    }
    for (const WordKey& key : word_keys) {
      if (table_of(key.name) != name) continue;
      if (const auto index = word(table, key.name, key.allowed)) key.store(profile, *index);
    }
    for (const NumberKey& key : number_keys) {
      if (table_of(key.name) == name) read_constant(profile, table, key);
    }
  }

  // One line of text; "" after an error.
  std::string text(const toml::table& table, std::string_view name, std::string_view meaning) {
    const toml::node* node = table.get(leaf_of(name));
    const std::string expected = fmt::format("one line of text: {}", meaning);
    if (node == nullptr) {
      fail(table, name, "missing", expected);
      return {};
    }
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty() || value->find('\n') != std::string::npos) fail(*node, name, show(*node), expected);
    return value.value_or("");
  }

  // Which of the allowed words it is.
  std::optional<std::size_t> word(const toml::table& table, std::string_view name, Names allowed) {
    const toml::node* node = table.get(leaf_of(name));
    if (node == nullptr) {
      fail(table, name, "missing", expected_word(allowed));
      return std::nullopt;
    }
    const auto index = index_in(allowed, node->value_exact<std::string_view>().value_or(""));
    if (!index) fail(*node, name, show(*node), expected_word(allowed));
    return index;
  }

  void read_constant(BoardProfile& profile, const toml::table& table, const NumberKey& key) {
    const toml::node* node = table.get(leaf_of(key.name));
    if (node == nullptr) {
      if (key.presence == Presence::required || key.presence == Presence::arduino)
        fail(table, key.name, "missing", expected_number(key));
      return;
    }
    const toml::table* entry = node->as_table();
    if (entry == nullptr) {
      fail(*node, key.name, show(*node), "{ value = a number, basis = \"given\" or \"fit\", source = \"...\" }");
      return;
    }
    static constexpr std::string_view parts[] = {"value", "basis", "source", "figure"};
    refuse_unknown(*entry, key.name, parts);

    Constant constant;
    const auto part = [&key](std::string_view name) { return fmt::format("{}.{}", key.name, name); };
    if (const toml::node* value = entry->get("value"); value == nullptr) {
      fail(*entry, part("value"), "missing", expected_number(key));
    } else if (const auto number = number_in(*value); !number || !in_range(key, *number)) {
      fail(*value, key.name, show(*value), expected_number(key));
    } else {
      constant.value = *number;
      key.store(profile, *number);
    }
    constant.source = text(*entry, part("source"), "where the number comes from");
    if (const auto basis = word(*entry, part("basis"), bases)) {
      constant.basis = static_cast<Basis>(*basis);
      if (constant.basis == Basis::fit) {
        constant.figure = text(*entry, part("figure"), "the id of the figure that the number is fitted to");
      } else if (const toml::node* figure = entry->get("figure")) {
        fail(*figure, part("figure"), show(*figure), "no figure beside basis = \"given\"");
      }
    }
    profile.constants.emplace(key.name, std::move(constant));
  }

  void require_whole_groups() {
    for (const Presence group : {Presence::burst, Presence::dma}) {
      const toml::node* present_one = nullptr;
      for (const NumberKey& key : number_keys) {
        if (key.presence == group && present_one == nullptr) present_one = root_.get(key.name);
      }
      if (present_one == nullptr) continue;
      for (const NumberKey& key : number_keys) {
        if (key.presence != group || root_.contains(key.name)) continue;
        fail(*present_one, key.name, "missing",
             fmt::format("{}, since the other {}_ keys are there", expected_number(key),
                         group == Presence::burst ? "burst" : "dma"));
      }
    }
  }

  // Each table of [[name]], if there is any.
  template <typename Visit>
  void for_each_table(std::string_view name, const Visit& visit) {
    const toml::node* node = root_.get(name);
    if (node == nullptr) return;
    const toml::array* array = node->as_array();
    const bool tables_only =
        array != nullptr && std::all_of(array->begin(), array->end(), [](const auto& item) { return item.is_table(); });
    if (!tables_only) {
      fail(*node, name, show(*node), fmt::format("tables headed [[{}]]", name));
      return;
    }
    for (const toml::node& item : *array) visit(*item.as_table());
  }

  void read_announcements(BoardProfile& profile) {
    std::array<std::string_view, rule_count> rules;
    for (std::size_t i = 0; i < rule_count; ++i) rules[i] = text_of(static_cast<Rule>(i)).id;
    static constexpr std::string_view parts[] = {"rule", "reason"};
    for_each_table("announce", [&](const toml::table& table) {
      refuse_unknown(table, "announce", parts);
      const auto rule = word(table, "announce.rule", rules);
      std::string reason = text(table, "announce.reason", "why the finding is accepted on this board");
      if (rule) profile.announced.push_back({static_cast<Rule>(*rule), std::move(reason), Origin::board});
    });
  }

  void read_figures(BoardProfile& profile) {
    static constexpr std::string_view parts[] = {"id",   "scenario",   "path", "published",
                                                 "unit", "parameters", "why",  "decided"};
    for_each_table("figure", [&](const toml::table& table) {
      refuse_unknown(table, "figure", parts);
      PublishedFigure figure;
      figure.id = text(table, "figure.id", "the id in the table of published figures");
      const auto same_id = [&figure](const PublishedFigure& other) { return other.id == figure.id; };
      if (!figure.id.empty() && std::any_of(profile.figures.begin(), profile.figures.end(), same_id)) {
        fail(*table.get("id"), "figure.id", show(*table.get("id")), "an id that no other figure of the file has");
      }
      figure.scenario = text(table, "figure.scenario", "a scenario, as `wizloop list` names them");
      if (const auto path = word(table, "figure.path", paths)) {
        figure.path = paths[*path];
        if ((figure.path == "burst" && !profile.burst) || (figure.path == "dma" && !profile.dma)) {
          fail(*table.get("path"), "figure.path", show(*table.get("path")),
               fmt::format("a path that the board prices: it has no {}_ keys", figure.path));
        }
      }
      figure.published = published(table);
      if (const auto unit = word(table, "figure.unit", units)) figure.unit = units[*unit];
      if (table.contains("why")) figure.why = text(table, "figure.why", "why the prediction is off");
      if (table.contains("decided")) figure.decided = text(table, "figure.decided", "what this figure decided");
      read_parameters(figure, table);
      profile.figures.push_back(std::move(figure));
    });
  }

  double published(const toml::table& table) {
    static constexpr std::string_view expected = "the published number, from 0.001 to 1e9";
    const toml::node* node = table.get("published");
    if (node == nullptr) {
      fail(table, "figure.published", "missing", expected);
      return 0;
    }
    const double value = number_in(*node).value_or(0);
    const bool plausible = value >= 1e-3 && value <= 1e9;  // outside, an error in percent may not be a number
    if (!plausible) fail(*node, "figure.published", show(*node), expected);
    return value;
  }

  void read_parameters(PublishedFigure& figure, const toml::table& table) {
    const toml::node* node = table.get("parameters");
    if (node == nullptr) return;
    if (!node->is_table()) {
      fail(*node, "figure.parameters", show(*node), "{ name = value, ... } with parameters of the scenario");
      return;
    }
    for (const auto& [key, value] : *node->as_table()) {
      if (const auto word = value.value_exact<std::string>()) {
        figure.parameters.emplace(key.str(), *word);
      } else if (number_in(value)) {
        figure.parameters.emplace(key.str(), show(value));
      } else {
        fail(value, fmt::format("figure.parameters.{}", key.str()), show(value), "a number or a text");
      }
    }
  }

  void check_fits(const BoardProfile& profile) {
    std::vector<std::string_view> fitted;
    std::vector<std::string_view> figures;
    for (const NumberKey& key : number_keys) {
      const auto found = profile.constants.find(std::string{key.name});
      if (found == profile.constants.end() || found->second.basis != Basis::fit) continue;
      const toml::node& entry = *root_.at_path(key.name).node();
      if (fitted.size() == most_fits) {
        fail(entry, key.name, "a fit",
             fmt::format("\"given\": at most {} numbers of a board may be fitted, and {} are already", most_fits,
                         fmt::join(fitted, " and ")));
        continue;
      }
      fitted.push_back(key.name);

      const std::string& id = found->second.figure;
      if (id.empty()) continue;  // refused when it was read
      const auto same_id = [&id](const PublishedFigure& figure) { return figure.id == id; };
      if (std::none_of(profile.figures.begin(), profile.figures.end(), same_id)) {
        refuse_fit(entry, key, "the id of a figure in this file");
      } else if (index_in(figures, id)) {
        refuse_fit(entry, key, "a figure that no other number is fitted to");
      }
      figures.push_back(id);
    }
  }

  void refuse_fit(const toml::node& entry, const NumberKey& key, std::string_view expected) {
    const toml::node& figure = *entry.as_table()->get("figure");
    fail(figure, fmt::format("{}.figure", key.name), show(figure), expected);
  }

  std::string file_;
  const toml::table& root_;
  std::vector<LineError> errors_;
};

// The text of a board file, if it is of a size and shape that the parser can take.
Result<std::string> contents_of(const std::filesystem::path& file) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(file, unknown)) {
    return Error{fmt::format("{}: not a file, expected a board file such as boards/NAME.toml", file.string())};
  }
  // Not a stream: those read by functions that a driver under test may define (sim/core/descriptor.hpp).
  const int stream = descriptor::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  std::string content(most_file_bytes + 1, '\0');
  std::size_t size = 0;
  ssize_t count = stream < 0 ? -1 : 1;
  while (count > 0 && size < content.size()) {
    count = descriptor::read(stream, content.data() + size, content.size() - size);
    if (count > 0) size += static_cast<std::size_t>(count);
  }
  const int error_number = errno;
  if (stream >= 0) descriptor::close(stream);
  if (count < 0) return Error{fmt::format("{}: cannot be read: {}", file.string(), std::strerror(error_number))};
  content.resize(size);
  if (content.size() > most_file_bytes) {
    return Error{
        fmt::format("{}: too large, expected a board file of at most {} KiB", file.string(), most_file_bytes / 1024)};
  }
  std::size_t line_number = 0;
  for (std::size_t begin = 0; begin < content.size(); ++line_number) {
    const std::string_view rest = std::string_view{content}.substr(begin);
    const std::string_view line = rest.substr(0, rest.find('\n'));
    const auto marks = std::count_if(line.begin(), line.end(), [](char c) { return c == '.' || c == '[' || c == '{'; });
    if (marks > most_marks_in_a_line) {
      return Error{fmt::format("{}:{}: {} dots and brackets in one line, expected at most {}", file.string(),
                               line_number + 1, marks, most_marks_in_a_line)};
    }
    begin += line.size() + 1;
  }
  return content;
}

}  // namespace

Result<BoardProfile> load_board(const std::filesystem::path& file) {
  const Result<std::string> content = contents_of(file);
  if (!content) return content.error();
  try {
    const toml::table root = toml::parse(std::string_view{content.value()}, file.string());
    BoardReader reader{file.string(), root};
    BoardProfile profile = reader.read();
    if (std::string errors = reader.errors(); !errors.empty()) return Error{std::move(errors)};
    profile.name = file.stem().string();
    return profile;
  } catch (const toml::parse_error& error) {
    return Error{
        fmt::format("{}:{}: not valid TOML: {}", file.string(), error.source().begin.line, error.description())};
  }
}

Result<std::monostate> apply_override(BoardProfile& profile, std::string_view key, std::string_view value) {
  const auto refuse = [&](std::string_view expected) {
    return Error{fmt::format("board.{} is {}, expected {}", key, value.empty() ? "empty" : value, expected)};
  };
  std::vector<std::string_view> known;
  for (const NumberKey& number_key : number_keys) {
    known.push_back(number_key.name);
    if (number_key.name != key) continue;
    if (number_key.presence == Presence::arduino && !profile.arduino) {
      return refuse(fmt::format("a board whose file has [arduino]; {} has none", profile.name));
    }
    if ((number_key.presence == Presence::burst && !profile.burst) ||
        (number_key.presence == Presence::dma && !profile.dma)) {
      return refuse(fmt::format("a board that has this path; {} has not", profile.name));
    }
    double number = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
    if (error != std::errc{} || end != value.data() + value.size() || !in_range(number_key, number)) {
      return refuse(expected_number(number_key));
    }
    number_key.store(profile, number);
    profile.constants[std::string{key}] = {number, Basis::given, "override", ""};
    return std::monostate{};
  }
  for (const WordKey& word_key : word_keys) {
    known.push_back(word_key.name);
    if (word_key.name != key) continue;
    const auto index = index_in(word_key.allowed, value);
    if (!index) return refuse(expected_word(word_key.allowed));
    word_key.store(profile, *index);
    return std::monostate{};
  }
  return Error{fmt::format("board.{} is not a known key, the nearest is board.{}", key, nearest(key, known))};
}

}  // namespace wizloop::bus
