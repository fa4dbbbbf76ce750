// Faults to inject into a run, as data: which, when, with which parameters; and the account of those that struck.
//
//   FaultPlan plan;
//   plan.add("spi_flip", "nth=3,line=mosi");           // an Error says what was expected
//   Faults faults{plan, queue, random, trace};
//   FaultPoint* flip = faults.point(Fault::spi_flip);  // null unless planned: a healthy run pays nothing
//   if (flip != nullptr && flip->strikes()) ...
//
// A fault has occasions: each SPI byte, each command, each frame (FaultSpec::occasion). When it strikes is said by
// comma-separated words, which with the fault's own parameters make up its text:
//
//   always          each occasion (also if only the words below are given)
//   nth=N every=N   the Nth occasion alone; each Nth
//   ppm=N           by chance, N in a million, drawn from the random stream "fault.NAME"
//   times=N         at most N times
//   from=T until=T  only the occasions in between; a time is a whole number and ps, ns, us, ms or s
//   at=T            the first occasion from T on: from=T,times=1
//
// A fault without occasions (a cable that is pulled) lasts from `from` until `until` and is scheduled by its layer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/event_queue.hpp"
#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "sim/core/trace.hpp"

namespace wizloop {

enum class Fault : std::uint8_t {
  spi_flip,
  spi_miso_stuck,
  spi_miso_contention,
  spi_clock_missed,
  spi_clock_extra,
  spi_select_lost,
  spi_torn_read,
  spi_half_clock,
  dma_late,
  dma_short,
  dma_never,
  intn_lost,
  intn_late,
  intn_glitch,
  intn_stuck,
  chip_command_slow,
  chip_reset_late,
  chip_version_zero,
  chip_sendok_lost,
  chip_sendok_late,
  chip_brown_out,
  link_loss,
  link_duplicate,
  link_reorder,
  link_corrupt,
  link_corrupt_silent,
  link_delay,
  link_jitter,
  link_unplug,
  link_flap,
  peer_rst,
  peer_silence,
  peer_zero_window,
  peer_tiny_mss,
  peer_bad_checksum,
  peer_syn_flood,
  peer_no_arp,
  host_restart,
};
inline constexpr std::size_t fault_count = 38;

// A whole number, a time, or one of several words.
struct FaultParameter {
  enum class Kind : std::uint8_t { number, time, choice };

  std::string_view name;
  Kind kind = Kind::number;
  std::string_view default_value;  // "any": drawn anew at each strike, from `least` to `most`
  std::string_view meaning;
  std::int64_t least = 0;  // of a number
  std::int64_t most = 0;
  std::vector<std::string_view> choices = {};
};

struct FaultSpec {
  Fault fault;
  std::string_view name;      // as in fault.NAME
  std::string_view layer;     // spi, dma, intn, chip, link, peer, host
  std::string_view occasion;  // what it may strike: "SPI byte"; empty: it is scheduled
  std::string_view meaning;
  std::vector<FaultParameter> parameters = {};
};

// What a parameter takes: "0..7", "T" (a time), "miso|mosi".
std::string form_of(const FaultParameter& parameter);

std::span<const FaultSpec> fault_table();  // indexed by Fault
const FaultSpec& spec_of(Fault fault);

struct PlannedFault {
  enum class Selection : std::uint8_t { always, nth, every, chance };

  Fault fault;
  Selection selection = Selection::always;
  std::uint64_t count = 0;  // of nth and every; parts per million of chance
  std::uint64_t times = UINT64_MAX;
  Instant from = Instant::min();
  Instant until = Instant::max();
  std::vector<std::int64_t> values{};  // of the parameters in the order of the table: number, picoseconds, choice
};

class FaultPlan {
 public:
  // `text` as above. The error names the nearest known fault, or the word that is wrong and what was expected.
  Result<std::monostate> add(std::string_view name, std::string_view text);

  const PlannedFault* find(Fault fault) const;
  bool empty() const { return planned_.empty(); }
  const std::vector<PlannedFault>& all() const { return planned_; }

 private:
  std::vector<PlannedFault> planned_;  // by Fault, one each
};

// One planned fault in a run: decides at each occasion whether it strikes.
class FaultPoint {
 public:
  FaultPoint(const PlannedFault& planned, EventQueue& queue, const Random& random, Trace& trace);

  // An occasion has come. True: the fault strikes; traced and counted.
  bool strikes() {
    const Instant now = queue_.now();
    if (now < planned_.from || now >= planned_.until || struck_ == planned_.times) return false;
    ++occasions_;
    if (!selected()) return false;
    strike();
    return true;
  }
  // A scheduled fault strikes now.
  void strike();

  Instant from() const { return planned_.from; }
  Instant until() const { return planned_.until; }
  std::uint64_t struck() const { return struck_; }

  // Of a parameter; a number that is "any" is drawn anew by each call.
  std::uint64_t number(std::string_view parameter);
  Duration time(std::string_view parameter) const { return Duration{value(parameter)}; }
  bool is(std::string_view parameter, std::string_view choice) const;
  // 0 to bound - 1, from the fault's own stream.
  std::uint64_t draw(std::uint64_t bound) { return chance_.below(bound); }

 private:
  bool selected();
  std::int64_t value(std::string_view parameter) const { return planned_.values[index_of(parameter)]; }
  std::size_t index_of(std::string_view parameter) const;

  PlannedFault planned_;
  const FaultSpec& spec_;
  EventQueue& queue_;
  Trace& trace_;
  RandomStream chance_;
  std::uint64_t occasions_ = 0;
  std::uint64_t struck_ = 0;
};

struct StruckFault {
  std::string_view name;
  std::uint64_t struck = 0;
};

// All faults of a run.
class Faults {
 public:
  Faults(const FaultPlan& plan, EventQueue& queue, const Random& random, Trace& trace);
  Faults(const Faults&) = delete;
  Faults& operator=(const Faults&) = delete;

  // Null unless planned.
  FaultPoint* point(Fault fault) {
    auto& point = points_[static_cast<std::size_t>(fault)];
    return point ? &*point : nullptr;
  }
  bool planned(std::string_view layer) const;

  // Each planned fault with how often it struck.
  std::vector<StruckFault> struck() const;

 private:
  std::array<std::optional<FaultPoint>, fault_count> points_;
};

}  // namespace wizloop
