// What a run consists of: a board, a driver and its path, a network, parameters and a seed. A scenario is one file in
// catalogue/; world.hpp brings the parts to life and runner.cpp runs it.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/bus/profile.hpp"
#include "sim/chip/pin_front.hpp"
#include "sim/core/account.hpp"
#include "sim/core/fault.hpp"
#include "sim/core/finding.hpp"
#include "sim/core/result.hpp"

namespace wizloop::scenario {

// A parameter is a whole number with a unit and a range, or one of several words.
struct Parameter {
  std::string_view name;  // a number's unit last: "payload_bytes"
  std::string_view default_value;
  std::string_view meaning;
  std::int64_t least = 0;
  std::int64_t most = 0;
  std::vector<std::string_view> choices = {};  // words; empty for a number
};

struct Figure {
  std::string name;  // "throughput"
  double value = 0;
  std::string unit;  // "Mbit/s"
};

struct RunRequest {
  std::string scenario;
  std::filesystem::path board_file;
  std::string path = "byte";  // "byte", "burst" or "dma"
  std::string library;        // empty: the board's own; "wizloop": the project's driver
  std::uint64_t seed = 1;
  std::map<std::string, std::string> parameters;  // overrides, and settings of the testbed: board.KEY, fault.NAME, ...
  std::optional<std::filesystem::path> pcap_file;
  std::optional<std::filesystem::path> trace_file;
  std::optional<std::filesystem::path> transcript_file;  // of the SPI, for a replay
  std::optional<std::filesystem::path> wave_file;        // of the chip's pins
  std::string wave_window;                               // as WaveWindow::parse() has it; empty: all of the run
  std::string front = "cpp";                             // the chip's SPI front: "cpp", "rtl", or "both" in lock-step
  std::filesystem::path mismatch_file;                   // the waveform where both fronts differ; empty: none
  chip::FrontMaker front_maker{};                        // in place of what `front` names
  const std::atomic<bool>* interrupted = nullptr;        // set from outside, it ends a run with a `wave_file`
};

// An open question about the chip that came up in a run, and what the run took for its answer: chip.quirk.NAME and a
// word, or chip.latency.NAME_ns and a number.
struct Assumption {
  std::string name;
  std::string choice;
  std::string trust;  // how far to trust the default: "datasheet", "observed", "sibling", "inferred" or "unverified"
};

struct RunResult {
  std::string scenario;
  std::string board;
  std::string path;
  std::string library;
  std::uint64_t seed = 0;
  std::map<std::string, std::string> parameters;  // all of them, defaults included
  std::vector<Figure> figures;                    // the first is the scenario's own; empty if the run is void
  AccountTotals budget;                           // of the measured window; sums to `measured`
  Duration measured{};
  Duration virtual_time{};  // of the whole run
  std::uint64_t spi_bytes = 0;
  std::uint64_t frames_on_wire = 0;
  std::uint64_t sends = 0;  // SEND commands, and the bytes that they sent
  std::uint64_t send_bytes = 0;
  std::uint64_t rx_bytes_read = 0;   // from the RX memory, by SPI
  std::uint64_t rx_bytes_taken = 0;  // by the program, as payload; the library read the others for itself or nobody
  std::vector<Finding> findings;
  std::vector<Announcement> announced;     // those that the findings met
  std::vector<std::string> unannounced;    // ids of the findings that nobody announced; with chip.preset=strict of all
  std::vector<std::string> broken_limits;  // at the pins of an RTL front: "TCS"; the findings say each in words
  std::vector<Assumption> assumptions;
  std::vector<StruckFault> faults;  // each that was planned
  std::uint64_t fingerprint = 0;
  double supply_current_ma = 0;        // of the chip while the figure was measured, from its PHY state
  std::optional<Instant> wave_cut_at;  // the waveform ends here, because a file may not hold more
  std::string failure;                 // why the run failed or is void; empty: it passed
};

// What a user may also give by the same name, which then takes its place: fault.NAME, finding.ID, board.KEY, ...
struct Setting {
  std::string_view name;
  std::string_view value;
};

struct ScenarioInfo {
  std::string_view name;
  std::string_view what;    // one line
  std::string_view figure;  // name of its first figure
  std::string_view unit;    // and its unit
  std::vector<Parameter> parameters;
  std::vector<Setting> settings = {};  // what the scenario is about: its faults, the findings that it is known to earn
};

// A board file, and whether its figures name scenarios that there are.
Result<bus::BoardProfile> load_board(const std::filesystem::path& file);

// All scenarios, by name.
std::vector<ScenarioInfo> catalogue();

// The error is the user's: an unknown scenario, parameter, path, library or a bad board file. A run that fails is a
// result with a failure.
Result<RunResult> run(const RunRequest& request);

}  // namespace wizloop::scenario
