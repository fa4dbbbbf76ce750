// The Python module wizloop._sim: the scenario catalogue, one run, the rules of findings, and a board file, each as
// plain dicts and lists. Python code uses it through wizloop.simulator, which adds types.
//
// Times are integers in picoseconds, so that the budget's accounts still add up exactly in Python. A user's mistake
// (harness/scenario/scenario.hpp) is raised as wizloop.errors.UsageError, a fault of the machine as
// InfrastructureError, with the message unchanged.
#include <nanobind/nanobind.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <fmt/format.h>

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/binding/board.hpp"
#include "harness/binding/circuitpython.hpp"
#include "harness/binding/errors.hpp"
#include "harness/binding/testbed.hpp"
#include "harness/board/bridge_replay.hpp"
#include "harness/scenario/scenario.hpp"
#include "sim/bus/profile.hpp"
#include "sim/chip/chip_config.hpp"
#include "sim/rtl/fronts.hpp"
#include "sim/testbed/replay.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace wizloop {
namespace {

using binding::raise;

std::string_view to_text(bus::Basis basis) { return basis == bus::Basis::fit ? "fit" : "given"; }

std::string_view to_text(net::AckPolicy policy) {
  switch (policy) {
    case net::AckPolicy::immediate:
      return "immediate";
    case net::AckPolicy::every_second:
      return "every_second";
    case net::AckPolicy::delayed:
      return "delayed";
  }
  return "";
}

std::string_view to_text(net::SegmentRule rule) {
  switch (rule) {
    case net::SegmentRule::half_window:
      return "half_window";
    case net::SegmentRule::full_mss:
      return "full_mss";
  }
  return "";
}

// A dict from alternating keys and values; nanobind has no initializer for one.
template <typename... Rest>
nb::dict dict_of(Rest&&... rest) {
  nb::dict made;
  const auto add = [&made](auto&& self, const char* key, auto&& value, auto&&... others) -> void {
    made[key] = std::forward<decltype(value)>(value);
    if constexpr (sizeof...(others) > 0) self(self, std::forward<decltype(others)>(others)...);
  };
  add(add, std::forward<Rest>(rest)...);
  return made;
}

nb::list catalogue() {
  nb::list scenarios;
  for (const scenario::ScenarioInfo& info : scenario::catalogue()) {
    nb::list parameters;
    for (const scenario::Parameter& parameter : info.parameters) {
      parameters.append(dict_of("name", parameter.name, "default", parameter.default_value, "meaning",
                                parameter.meaning, "least", parameter.least, "most", parameter.most, "choices",
                                parameter.choices));
    }
    nb::dict settings;
    for (const scenario::Setting& setting : info.settings) settings[nb::cast(setting.name)] = setting.value;
    scenarios.append(dict_of("name", info.name, "what", info.what, "figure", info.figure, "unit", info.unit,
                             "parameters", parameters, "settings", settings));
  }
  return scenarios;
}

nb::list quirks() {
  nb::list options;
  for (const chip::ChipOption& option : chip::chip_options()) {
    const bool is_quirk = option.kind == chip::ChipOption::Kind::quirk;
    options.append(dict_of("name", option.name, "kind", is_quirk ? "quirk" : "latency", "choices", option.choices,
                           "default", option.default_value, "trust", chip::name_of(option.trust), "source",
                           option.source, "question", option.question));
  }
  return options;
}

// Those that this build has.
std::vector<std::string> fronts() {
  return rtl::available() ? std::vector<std::string>{"cpp", "rtl", "both"} : std::vector<std::string>{"cpp"};
}

nb::list dicts_of(const std::vector<Finding>& findings, const std::vector<Announcement>& announced) {
  nb::list dicts;
  for (const Finding& finding : findings) {
    const RuleText& text = text_of(finding.rule);
    nb::object announcement = nb::none();
    for (const Announcement& met : announced) {
      if (met.rule != finding.rule) continue;
      announcement = dict_of("reason", met.reason, "by", name_of(met.origin), "suppressed", met.suppressed);
    }
    dicts.append(dict_of("rule", text.id, "severity", name_of(text.severity), "section", text.section, "what",
                         text.what, "seen", finding.seen, "spi", finding.evidence.spi, "socket_state",
                         finding.evidence.state, "cause", text.cause, "cure", text.cure, "count", finding.count,
                         "at_ps", finding.at.time_since_epoch().count(), "announced", announcement));
  }
  return dicts;
}

nb::list rules() {
  nb::list dicts;
  for (std::size_t i = 0; i < rule_count; ++i) {
    const RuleText& text = text_of(static_cast<Rule>(i));
    dicts.append(dict_of("id", text.id, "severity", name_of(text.severity), "section", text.section, "what", text.what,
                         "cause", text.cause, "cure", text.cure));
  }
  return dicts;
}

nb::list faults() {
  nb::list dicts;
  for (const FaultSpec& spec : fault_table()) {
    nb::list parameters;
    for (const FaultParameter& parameter : spec.parameters) {
      parameters.append(dict_of("name", parameter.name, "form", form_of(parameter), "default", parameter.default_value,
                                "meaning", parameter.meaning));
    }
    dicts.append(dict_of("name", spec.name, "layer", spec.layer, "occasion", spec.occasion, "meaning", spec.meaning,
                         "parameters", parameters));
  }
  return dicts;
}

std::atomic<bool> interrupted = false;  // for good: the process ends

nb::dict run(std::string scenario, std::filesystem::path board_file, std::string path, std::string library,
             std::uint64_t seed, std::map<std::string, std::string> parameters,
             std::optional<std::filesystem::path> pcap_file, std::optional<std::filesystem::path> trace_file,
             std::optional<std::filesystem::path> transcript_file, std::optional<std::filesystem::path> wave_file,
             std::string wave_window, std::string front, std::optional<std::filesystem::path> mismatch_file) {
  const Result<scenario::RunResult> outcome = [&] {
    const nb::gil_scoped_release without_gil;
    return scenario::run({.scenario = std::move(scenario),
                          .board_file = std::move(board_file),
                          .path = std::move(path),
                          .library = std::move(library),
                          .seed = seed,
                          .parameters = std::move(parameters),
                          .pcap_file = std::move(pcap_file),
                          .trace_file = std::move(trace_file),
                          .transcript_file = std::move(transcript_file),
                          .wave_file = std::move(wave_file),
                          .wave_window = std::move(wave_window),
                          .front = std::move(front),
                          .mismatch_file = mismatch_file.value_or(""),
                          .interrupted = &interrupted});
  }();
  if (!outcome) raise(outcome.error());
  const scenario::RunResult& result = outcome.value();

  nb::list figures;
  for (const scenario::Figure& figure : result.figures) {
    figures.append(dict_of("name", figure.name, "value", figure.value, "unit", figure.unit));
  }
  nb::list assumptions;
  for (const scenario::Assumption& assumption : result.assumptions) {
    assumptions.append(dict_of("name", assumption.name, "choice", assumption.choice, "trust", assumption.trust));
  }
  nb::list struck;
  for (const StruckFault& fault : result.faults) struck.append(dict_of("name", fault.name, "struck", fault.struck));
  nb::dict budget;
  for (std::size_t i = 0; i < account_count; ++i) budget[nb::cast(account_names[i])] = result.budget.of[i].count();

  nb::object wave_cut_ps = nb::none();
  if (result.wave_cut_at) wave_cut_ps = nb::cast(result.wave_cut_at->time_since_epoch().count());
  return dict_of("scenario", result.scenario, "board", result.board, "path", result.path, "library", result.library,
                 "seed", result.seed, "parameters", result.parameters, "figures", figures, "budget_ps", budget,
                 "measured_ps", result.measured.count(), "virtual_ps", result.virtual_time.count(), "spi_bytes",
                 result.spi_bytes, "frames_on_wire", result.frames_on_wire, "sends", result.sends, "send_bytes",
                 result.send_bytes, "rx_bytes_read", result.rx_bytes_read, "rx_bytes_taken", result.rx_bytes_taken,
                 "findings", dicts_of(result.findings, result.announced), "unannounced", result.unannounced,
                 "assumptions", assumptions, "faults", struck, "fingerprint",
                 fmt::format("{:016x}", result.fingerprint), "supply_current_ma", result.supply_current_ma,
                 "wave_cut_ps", wave_cut_ps, "failure", result.failure);
}

Result<testbed::Replay> replay_on_board(testbed::TranscriptReader& transcript, const std::string& dut) {
  auto channel = spi_bridge::AgentChannel::open(dut);
  if (!channel) return channel.error();
  auto bridge = spi_bridge::SpiBridge::attach(*channel.value());
  if (!bridge) return bridge.error();
  board::BridgeReplay chip{*bridge.value()};
  if (const auto error = chip.reset()) return *error;
  return testbed::replay(transcript, chip);
}

nb::dict replay(const std::filesystem::path& file, const std::vector<std::pair<std::string, std::string>>& settings,
                const std::string& dut) {
  auto transcript = testbed::TranscriptReader::open(file);
  if (!transcript) raise(transcript.error());
  const testbed::TranscriptHead& head = transcript.value()->head();
  const Result<testbed::Replay> outcome = [&]() -> Result<testbed::Replay> {
    const nb::gil_scoped_release without_gil;
    if (!dut.empty()) return replay_on_board(*transcript.value(), dut);
    auto model = testbed::ModelReplay::create(head, settings);
    if (!model) return model.error();
    return testbed::replay(*transcript.value(), *model.value());
  }();
  if (!outcome) raise(outcome.error());
  const testbed::Replay& replayed = outcome.value();
  nb::object difference = nb::none();
  if (const auto& found = replayed.difference) {
    difference =
        dict_of("at_ps", found->at.time_since_epoch().count(), "byte", found->byte, "frame", found->frame, "recorded",
                found->recorded, "replayed", found->replayed, "where", found->where, "mosi", found->mosi);
  }
  return dict_of("board", head.board, "seed", head.seed, "note", head.note, "settings", head.settings, "frames",
                 replayed.frames, "bytes", replayed.bytes, "whole", replayed.whole, "difference", difference);
}

nb::dict load_board(const std::filesystem::path& file) {
  const Result<bus::BoardProfile> loaded = scenario::load_board(file);
  if (!loaded) raise(loaded.error());
  const bus::BoardProfile& board = loaded.value();

  std::vector<std::string_view> paths = {"byte"};
  if (board.burst) paths.push_back("burst");
  if (board.dma) paths.push_back("dma");
  nb::list announced;
  for (const Announcement& announcement : board.announced) {
    announced.append(dict_of("rule", text_of(announcement.rule).id, "reason", announcement.reason));
  }
  nb::list figures;
  for (const bus::PublishedFigure& figure : board.figures) {
    figures.append(dict_of("id", figure.id, "scenario", figure.scenario, "path", figure.path, "published",
                           figure.published, "unit", figure.unit, "parameters", figure.parameters, "why", figure.why,
                           "decided", figure.decided));
  }
  nb::dict constants;
  for (const auto& [key, constant] : board.constants) {
    constants[key.c_str()] = dict_of("value", constant.value, "basis", to_text(constant.basis), "source",
                                     constant.source, "figure", constant.figure);
  }
  const nb::dict peer =
      dict_of("system", board.peer.system, "ack_policy", to_text(board.peer.ack_policy), "segment_rule",
              to_text(board.peer.segment_rule), "delayed_ack_ps", board.peer.delayed_ack.count(), "turnaround_ps",
              board.peer.turnaround.count(), "timer_tick_ps", board.peer.timer_tick.count());

  return dict_of("name", board.name, "title", board.title, "mcu", board.mcu, "library", board.library, "chip",
                 board.chip, "cpu_hz", board.cpu.hz(), "sclk_hz", board.sclk.hz(), "spi_mode", board.spi_mode, "paths",
                 paths, "select_ps", board.select.count(), "deselect_ps", board.deselect.count(), "call_ps",
                 board.call.count(), "interrupt_latency_ps", board.interrupt_latency.count(), "supply_current_ma",
                 board.supply_current_ma, "peer", peer, "announced", announced, "figures", figures, "constants",
                 constants);
}

}  // namespace
}  // namespace wizloop

NB_MODULE(_sim, module) {
  module.doc() = "The W5500 simulator: scenario catalogue, runs and board files.";
  module.def("catalogue", &wizloop::catalogue, "Scenarios with their figure and parameters.");
  module.def("quirks", &wizloop::quirks, "Everything that the W5500's datasheet leaves open: switches and latencies.");
  module.def("fronts", &wizloop::fronts, "The SPI fronts that a run can have in this build.");
  module.def("load_board", &wizloop::load_board, "file"_a, "A board file, checked.");
  module.def("faults", &wizloop::faults, "The faults that a run can be given as fault.NAME, with their parameters.");
  module.def("rules", &wizloop::rules, "The rules that firmware is judged by, with their texts.");
  module.def("run", &wizloop::run, "scenario"_a, "board_file"_a, "path"_a, "library"_a, "seed"_a, "parameters"_a,
             "pcap_file"_a = nb::none(), "trace_file"_a = nb::none(), "transcript_file"_a = nb::none(),
             "wave_file"_a = nb::none(), "wave_window"_a = "", "front"_a = "cpp", "mismatch_file"_a = nb::none(),
             "One run. Releases the GIL; a run that fails returns with its reason in 'failure'.");
  module.def(
      "interrupt", [] { wizloop::interrupted = true; },
      "Ends the run of this process, from another thread, if it has a wave_file: all its files are closed then.");
  module.def("replay", &wizloop::replay, "file"_a, "settings"_a, "dut"_a,
             "Holds a recorded SPI transcript against the chip model, or against the chip of the board at the address "
             "`dut`, up to the first difference. Releases the GIL.");
  wizloop::binding::add_testbed(module);
  wizloop::binding::add_circuitpython(module);
  wizloop::binding::add_board(module);
}
