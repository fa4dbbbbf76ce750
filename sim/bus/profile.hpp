// A board as data: what SPI transfers and firmware cost on it, which remote host it was measured against, and the
// figures published for it. One TOML file per board in boards/; boards/README.md lists every key.
//
//   Result<BoardProfile> board = load_board("boards/stm32f405-arduino.toml");
//   if (!board) return board.error();  // boards/x.toml:8: byte_gap_ns is -5, expected a number from 0 to 100000
//   Result<std::monostate> done = apply_override(board.value(), "byte_gap_ns", "1200");
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/core/finding.hpp"
#include "sim/core/result.hpp"
#include "sim/core/time.hpp"
#include "sim/net/peer_profile.hpp"

namespace wizloop::bus {

// The chip knows modes 0 and 3 (datasheet 2.1).
constexpr bool mode_works(int spi_mode) { return spi_mode == 0 || spi_mode == 3; }

// Where a number comes from.
enum class Basis : std::uint8_t {
  given,  // a manual, a measurement of the part alone, or a stated estimate
  fit,    // chosen so that the simulation meets one published figure
};

struct Constant {
  double value = 0;  // in the unit that ends the key
  Basis basis = Basis::given;
  std::string source;  // one line
  std::string figure;  // fit only: the id of the figure that it was fitted to
};

// What each way of moving bytes costs.
struct ByteCost {
  Duration gap{};  // after each byte
};
struct BurstCost {
  Duration gap{};
  Duration setup{};  // once per call
};
struct DmaCost {
  Duration gap{};
  Duration setup{};
  Duration complete{};  // from the last bit until firmware goes on
};

// What a network stack on the board costs the CPU, for firmware that brings its own: for each frame that passes
// through, in or out, and for each of its bytes.
struct LwipCost {
  Duration packet{};
  Duration byte{};
};

// What calls of the Arduino core cost, for firmware that makes them by itself (drivers/shims/arduino).
struct ArduinoCost {
  Duration digital_write{};  // an edge of SCSn is one too
  Duration begin_transaction{};
  Duration end_transaction{};
  Duration millis{};
};

struct PublishedFigure {
  std::string id;        // names the measurement
  std::string scenario;  // in harness/scenario/catalogue
  std::string path;      // "byte", "burst" or "dma"
  double published = 0;
  std::string unit;                               // "Mbit/s", "ms", "us", "packets/s"
  std::map<std::string, std::string> parameters;  // of the scenario
  std::string why;      // one line on what the source leaves open, or why the prediction is off
  std::string decided;  // what the chip model was given because of this figure, which is then no prediction
};

struct BoardProfile {
  std::string name;  // the file's stem
  std::string title;
  std::string mcu;
  std::string library;  // the access pattern that the figures were measured with
  std::string chip;     // "W5500"

  Frequency cpu{1};
  Frequency sclk{1};
  int spi_mode = 0;
  ByteCost byte;
  std::optional<BurstCost> burst;  // absent: the board cannot do it
  std::optional<DmaCost> dma;
  Duration select{};    // before the first byte of a frame: transaction begin, SCSn low
  Duration deselect{};  // after the last byte: SCSn high, transaction end
  Duration call{};      // CPU time of one socket call outside its SPI frames
  Duration interrupt_latency{};
  LwipCost lwip;
  std::optional<ArduinoCost> arduino;
  std::optional<double> supply_current_ma;  // published module current

  net::PeerProfile peer;
  std::vector<Announcement> announced;  // findings that this board is known to earn
  std::vector<PublishedFigure> figures;

  // Every number of the file by its key, with its provenance; those of the remote host as "peer.turnaround_us".
  std::map<std::string, Constant> constants;
};

// Reads one board file. The error has one line for each thing that is wrong: file, line, key, value, what was expected.
Result<BoardProfile> load_board(const std::filesystem::path& file);

// Replaces one value of a loaded profile by its key in the file ("byte_gap_ns", "peer.segment_rule"), within the range
// that the file is held to. For what-if runs and for calibration: the constant loses its provenance.
Result<std::monostate> apply_override(BoardProfile& profile, std::string_view key, std::string_view value);

}  // namespace wizloop::bus
