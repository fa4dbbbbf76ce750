#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "harness/scenario/experiment.hpp"
#include "harness/scenario/priced_library.hpp"
#include "sim/core/trace.hpp"
#include "sim/rtl/fronts.hpp"
#include "sim/rtl/fst_file.hpp"

namespace wizloop::scenario {
namespace {

// What a world must know before it starts, whatever the scenario.
ScenarioInfo info_of(const Experiment& experiment) {
  ScenarioInfo info = experiment.info();
  info.parameters.push_back({"buffer_kib", "2", "TX and RX buffer of socket 0, in KiB", 0, 0, {"2", "4", "8", "16"}});
  info.parameters.push_back({"wait", "poll", "how firmware waits for the chip", 0, 0, {"poll", "interrupt"}});
  return info;
}

Result<std::unique_ptr<Experiment>> find_experiment(const std::string& name) {
  std::vector<std::string> names;
  for (const ExperimentMaker maker : Registration::all()) {
    std::unique_ptr<Experiment> experiment = maker();
    if (experiment->info().name == name) return experiment;
    names.emplace_back(experiment->info().name);
  }
  std::ranges::sort(names);
  return Error{fmt::format("unknown scenario \"{}\", expected one of {}", name, fmt::join(names, ", "))};
}

// Makes worlds for one request; the experiment sees only that they appear.
class RequestedWorlds final : public Worlds {
 public:
  explicit RequestedWorlds(Setup setup) : setup_{std::move(setup)} {}

  // The first world may fail for a reason of the user's or the machine's; later ones are equal to it.
  std::optional<Error> prepare() {
    auto world = World::create(setup_);
    if (!world) return world.error();
    world_ = std::move(world).value();
    fresh_ = true;
    return std::nullopt;
  }

  World& make() override {
    if (!std::exchange(fresh_, false)) {
      if (!world_->testbed().front_difference().empty()) throw chip::FrontsDiffer{};
      world_.reset();  // its files are closed before the next world opens them again
      const auto error = prepare();
      WIZ_ASSERT(!error);
      fresh_ = false;
    }
    return *world_;
  }

  World& last() { return *world_; }

  // The next world that is asked for is the last one, with its host started anew.
  void restart_host(Duration boot) {
    world_->restart_host(setup_, boot);
    fresh_ = true;
  }

 private:
  Setup setup_;
  std::unique_ptr<World> world_;
  bool fresh_ = false;
};

std::vector<Assumption> assumptions(const chip::Chip& chip) {
  std::vector<Assumption> all;
  for (const chip::Quirk quirk : chip.quirks().touched()) {
    const chip::QuirkSpec& spec = chip::quirk_table()[static_cast<std::size_t>(quirk)];
    all.push_back(
        {chip::option_name(spec), std::string{chip.quirks().chosen(quirk)}, std::string{chip::name_of(spec.trust)}});
  }
  for (const chip::LatencySpec& spec : chip.latencies().touched()) {
    all.push_back({chip::option_name(spec), chip::in_ns(chip.latencies().peek(spec.member)),
                   std::string{chip::name_of(spec.trust)}});
  }
  return all;
}

std::vector<Announcement> announcements(const Findings& findings) {
  std::vector<Announcement> met;
  for (const Finding& finding : findings.all()) {
    const Announcement* announced = findings.announced(finding.rule);
    if (announced == nullptr || std::ranges::find(met, finding.rule, &Announcement::rule) != met.end()) continue;
    met.push_back(*announced);
  }
  return met;
}

void seal(RunResult& result, Fingerprint& fingerprint) {
  for (const Figure& figure : result.figures) fingerprint.add(fmt::format("{} {}", figure.name, figure.value));
  for (const Duration spent : result.budget.of) fingerprint.add(static_cast<std::uint64_t>(spent.count()));
  for (const Finding& finding : result.findings) {
    fingerprint.add(finding.at);
    fingerprint.add(finding.seen);
    fingerprint.add(finding.count);
  }
  for (const StruckFault& fault : result.faults) {
    if (fault.struck > 0) fingerprint.add(fault.struck);
  }
  result.fingerprint = fingerprint.value();
}

// What firmware that hangs waits for, where the chip's judge has seen it: "", or ": S0 Sn_IR = 0x00, read without ...".
std::string polled(const Findings& findings) {
  std::string seen;
  for (const Finding& finding : findings.all()) {
    if (finding.rule == Rule::endless_poll) seen = fmt::format("; it polls {}", finding.seen);
  }
  return seen;
}

// Firmware whose host restarts begins again, in the same world.
Outcome run_through_restarts(Experiment& experiment, RequestedWorlds& worlds, const Parameters& parameters) {
  constexpr int most_restarts = 1000;
  for (int restarts = 0; restarts < most_restarts; ++restarts) {
    try {
      return experiment.run(worlds, parameters);
    } catch (const HostRestarts& restart) {
      worlds.restart_host(restart.boot);
    }
  }
  return Outcome::failed(fmt::format("the host restarted {} times", most_restarts));
}

// Firmware that hangs ends the run as a failure.
Outcome run_to_its_end(Experiment& experiment, RequestedWorlds& worlds, const Parameters& parameters) {
  try {
    return run_through_restarts(experiment, worlds, parameters);
  } catch (const chip::FrontsDiffer&) {
    return {};  // how, the last world knows
  } catch (const bus::RunInterrupted&) {
    return Outcome::failed("interrupted");
  } catch (const bus::FirmwareHangs&) {
    const Duration now = worlds.last().now().time_since_epoch();
    if (now >= testbed::longest_run_with_faults) {
      return Outcome::failed(
          fmt::format("with its faults the run did not end within {} s", testbed::longest_run_with_faults / 1s));
    }
    return Outcome::failed(fmt::format("the library hangs: a call had not returned after {} s, at {} s{}",
                                       call_patience / 1s, static_cast<double>(now / 1ms) / 1000,
                                       polled(worlds.last().testbed().findings())));
  }
}

}  // namespace

std::vector<ExperimentMaker>& Registration::all() {
  static std::vector<ExperimentMaker> makers;
  return makers;
}

Result<bus::BoardProfile> load_board(const std::filesystem::path& file) {
  auto board = bus::load_board(file);
  if (!board) return board;
  std::vector<std::string_view> names;
  for (const ScenarioInfo& info : catalogue()) names.push_back(info.name);
  for (const bus::PublishedFigure& figure : board.value().figures) {
    if (std::ranges::find(names, figure.scenario) != names.end()) continue;
    return Error{fmt::format("{}: figure {} has scenario \"{}\", expected one of {}", file.string(), figure.id,
                             figure.scenario, fmt::join(names, ", "))};
  }
  return board;
}

std::vector<ScenarioInfo> catalogue() {
  std::vector<ScenarioInfo> infos;
  for (const ExperimentMaker maker : Registration::all()) infos.push_back(info_of(*maker()));
  std::ranges::sort(infos, {}, &ScenarioInfo::name);
  const auto twice = std::ranges::adjacent_find(infos, {}, &ScenarioInfo::name);
  WIZ_ASSERT(twice == infos.end());  // two files in catalogue/ register one name
  return infos;
}

Result<RunResult> run(const RunRequest& request) {
  auto experiment = find_experiment(request.scenario);
  if (!experiment) return experiment.error();
  auto board = load_board(request.board_file);
  if (!board) return board.error();
  auto front = request.front_maker ? Result<chip::FrontMaker>{request.front_maker}
                                   : rtl::front_maker(request.front, request.mismatch_file);
  if (!front) return front.error();

  testbed::TestbedSetup around{.board = std::move(board).value(),
                               .seed = request.seed,
                               .front = std::move(front).value(),
                               .pcap_file = request.pcap_file,
                               .trace_file = request.trace_file,
                               .transcript_file = request.transcript_file};
  WaveWindow window;
  if (request.wave_file) {
    around.wave =
        testbed::WaveRequest{.file = *request.wave_file, .open = rtl::open_wave, .interrupted = request.interrupted};
    if (!request.wave_window.empty()) {
      const auto parsed = WaveWindow::parse(request.wave_window);
      if (!parsed) return parsed.error();
      around.wave->window = window = parsed.value();
    }
  }
  const ScenarioInfo info = info_of(*experiment.value());
  std::map<std::string, std::string> given;
  for (const Setting& setting : info.settings) {
    if (request.parameters.contains(std::string{setting.name})) continue;
    const auto applied = testbed::apply_setting(around, setting.name, setting.value, Origin::scenario);
    if (!applied) return applied.error();
  }
  for (const auto& [name, value] : request.parameters) {
    if (testbed::setting_prefix(name).empty()) {
      given.emplace(name, value);
    } else if (const auto applied = testbed::apply_setting(around, name, value); !applied) {
      return applied.error();
    }
  }
  auto parameters = Parameters::make(info.parameters, given);
  if (!parameters) return parameters.error();

  const bool strict = around.chip.strict;
  Setup setup{.testbed = std::move(around),
              .path = request.path,
              .library = request.library,
              .buffer_kib = static_cast<std::uint8_t>(parameters.value().number("buffer_kib")),
              .use_intn = parameters.value().choice("wait") == "interrupt"};
  if (setup.library.empty()) setup.library = setup.testbed.board.library;
  RequestedWorlds worlds{setup};
  if (const auto error = worlds.prepare()) return *error;
  const Outcome outcome = run_to_its_end(*experiment.value(), worlds, parameters.value());

  World& world = worlds.last();
  RunResult result;
  result.scenario = request.scenario;
  result.board = setup.testbed.board.name;
  result.path = request.path;
  result.library = setup.library;
  result.seed = request.seed;
  result.parameters = parameters.value().all();
  for (const auto& [name, value] : request.parameters) result.parameters.emplace(name, value);
  for (const Setting& setting : info.settings) result.parameters.emplace(setting.name, setting.value);
  result.figures = outcome.figures;
  result.budget = outcome.measurement.budget;
  result.measured = outcome.measurement.elapsed;
  result.supply_current_ma = outcome.measurement.supply_current_ma;
  result.virtual_time = world.now().time_since_epoch();
  result.spi_bytes = world.bus().bytes();
  result.frames_on_wire = world.frames_on_wire();
  const chip::BufferUse& use = world.testbed().chip().buffer_use();
  result.sends = use.sends;
  result.send_bytes = use.send_bytes;
  result.rx_bytes_read = use.rx_bytes_read;
  result.rx_bytes_taken = world.bytes_taken();
  const Findings& findings = world.testbed().findings();
  result.findings = findings.all();
  result.announced = announcements(findings);
  for (const Rule rule : findings.failing(strict)) result.unannounced.emplace_back(text_of(rule).id);
  for (const std::string_view limit : world.testbed().broken_limits().names()) result.broken_limits.emplace_back(limit);
  result.assumptions = assumptions(world.testbed().chip());
  result.faults = world.testbed().faults();
  result.wave_cut_at = world.testbed().wave_cut_at();
  result.failure = outcome.failure;
  if (result.failure.empty() && !result.unannounced.empty()) {
    result.failure = fmt::format("findings {}: {}", strict ? "under chip.preset=strict" : "that nobody announced",
                                 fmt::join(result.unannounced, ", "));
  }
  const std::string difference = world.testbed().front_difference();
  seal(result, world.fingerprint());
  const auto unwritten = world.finish_files();
  if (!difference.empty()) {  // matters more than a file that could not be written
    result.failure = fmt::format("the SPI fronts differ {}", difference);
    if (unwritten) {
      result.failure += fmt::format("; {}", unwritten->message);
    } else if (!request.mismatch_file.empty()) {
      result.failure += fmt::format("; {} shows the pins", request.mismatch_file.string());
    }
    return result;
  }
  if (unwritten) return *unwritten;
  if (const Instant end = world.now(); window.from > end && result.failure.empty()) {
    return Error{fmt::format("\"{}\" begins behind the end of the run, at {} s: the waveform is empty",
                             request.wave_window, to_text(end))};
  }
  return result;
}

}  // namespace wizloop::scenario
