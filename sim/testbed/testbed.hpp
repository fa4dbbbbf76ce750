// One board with its chip and bus, a cable, and what is at the other end of it: everything around the firmware of a
// run. Whoever brings the firmware (a scenario, the C ABI, the Python module) builds on this.
//
//   TestbedSetup setup{.board = bus::load_board("boards/w55rp20.toml").value()};
//   if (const auto set = apply_setting(setup, "fault.link_loss", "ppm=1000"); !set) return set.error();
//   Result<std::unique_ptr<Testbed>> bed = Testbed::create(setup);
//   bed.value()->bus().select(); ...
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "sim/bus/faulty_intn.hpp"
#include "sim/bus/faulty_spi.hpp"
#include "sim/bus/pin_probe.hpp"
#include "sim/bus/profile.hpp"
#include "sim/bus/spi_bus.hpp"
#include "sim/chip/chip.hpp"
#include "sim/chip/pin_front.hpp"
#include "sim/core/fault.hpp"
#include "sim/core/finding.hpp"
#include "sim/core/fingerprint.hpp"
#include "sim/core/text_trace.hpp"
#include "sim/core/vcd_file.hpp"
#include "sim/net/faulty_peer.hpp"
#include "sim/net/link.hpp"
#include "sim/net/lwip_host.hpp"
#include "sim/net/observers.hpp"
#include "sim/net/switch.hpp"
#include "sim/testbed/spi_recorder.hpp"
#include "sim/wire/link_mode.hpp"
#include "sim/wire/pcapng.hpp"

namespace wizloop::testbed {

// The addresses of every run; a driver that brings its own addresses is free to.
inline constexpr wire::Ipv4Address pc_ip = wire::ipv4(192, 168, 1, 10);
inline constexpr wire::Ipv4Address board_ip = wire::ipv4(192, 168, 1, 20);
inline constexpr wire::MacAddress pc_mac = {0x02, 0x00, 0x00, 0x00, 0x00, 0x10};
inline constexpr wire::MacAddress board_mac = {0x02, 0x00, 0x00, 0x00, 0x00, 0x20};

// With faults nobody knows when a run ends by itself, so it ends here.
inline constexpr Duration longest_run_with_faults = 600s;

struct WaveRequest {
  std::filesystem::path file;
  WaveWindow window{};
  WaveOpener open = VcdFile::open;
  const std::atomic<bool>* interrupted = nullptr;  // bus::PinProbe::heed()
};

struct TestbedSetup {
  bus::BoardProfile board;
  std::uint64_t seed = 1;
  chip::ChipConfig chip{};
  wire::LinkAbilities link_partner{};  // the far end of the cable
  chip::FrontMaker front{};            // of the chip's SPI front (sim/rtl/fronts.hpp); none: its own
  FaultPlan faults{};
  std::vector<Announcement> announced{};  // besides the board's; the later one of a rule counts
  std::optional<std::filesystem::path> pcap_file{};
  std::optional<std::filesystem::path> trace_file{};
  std::optional<std::filesystem::path> transcript_file{};  // of the SPI, for a replay
  std::optional<WaveRequest> wave{};                       // of the chip's pins
  std::string note{};                                      // in the capture and the transcript: what ran
  EventQueue* queue = nullptr;             // shared with other boards, and outlives them; null: the board's own
  net::SwitchPort* switch_port = nullptr;  // at the far end of the cable in place of the PC; outlives the board
  bool in_real_time = false;               // a pipe for the capture whose reader stalls loses frames, and stops nobody
  bool write_through = false;  // captures and traces outlive a process that dies: firmware that is not ours runs here
  wire::FrameSink* station = nullptr;                                // at the far end of the cable in place of the PC
  std::vector<std::pair<std::string, std::string>> chip_settings{};  // by apply_setting(): what a replay repeats
};

// What `name` is about: board.KEY (a number of the board file), chip.OPTION, fault.NAME, link.partner, or the id of a
// finding that is accepted (finding.ID) or even left out of the report (suppress.ID). Empty: none of these.
std::string_view setting_prefix(std::string_view name);

// One setting by the name that a user types; the value of an accepted finding is the reason. The error says what was
// expected.
Result<std::monostate> apply_setting(TestbedSetup& setup, std::string_view name, std::string_view value,
                                     Origin origin = Origin::command);

// Whether this setting, known to apply_setting(), is about what the chip does inside, such as what its PHY negotiates
// with link.partner: a replay of its pins repeats it.
bool is_chip_setting(std::string_view name);

class Testbed final : private bus::AwaitedSource {
 public:
  // The error is the user's (a file that cannot be written) or the machine's (no lwIP). The cable is in, the link is
  // up.
  static Result<std::unique_ptr<Testbed>> create(TestbedSetup setup);
  Testbed(const Testbed&) = delete;
  Testbed& operator=(const Testbed&) = delete;
  ~Testbed();

  const bus::BoardProfile& board() const { return setup_.board; }
  EventQueue& queue() { return queue_; }
  Instant now() const { return queue_.now(); }
  const Random& random() const { return random_; }
  Trace& trace() { return trace_; }
  Findings& findings() { return findings_; }
  const Findings& findings() const { return findings_; }
  Budget& budget() { return budget_; }
  Fingerprint& fingerprint() { return fingerprint_; }
  wire::FramePool& frames() { return frames_; }
  net::Link& link() { return *link_; }
  const net::Link& link() const { return *link_; }
  chip::Chip& chip() { return *chip_; }
  const chip::Chip& chip() const { return *chip_; }
  // How two SPI fronts side by side differ; empty as long as they do not.
  std::string front_difference() const { return front_ ? front_->difference() : std::string{}; }
  // What is broken at the pins of an RTL front; nothing where there are none.
  chip::PinLimits broken_limits() const { return front_ ? front_->broken_limits() : chip::PinLimits{}; }
  bus::SpiBus& bus() { return *bus_; }
  // The chip's pins as the bus sees them, whatever stands in front of them.
  chip::SpiTarget& pins() { return *pins_; }
  // INTn as the board sees it; null: the wire is sound, and INTn is the chip's pin.
  bus::FaultyIntn* faulty_intn() { return faulty_intn_ ? &*faulty_intn_ : nullptr; }
  bool intn_low() { return faulty_intn_ ? faulty_intn_->low() : !chip_->intn(); }
  // Only with neither a `station` nor a `switch_port`.
  net::LwipHost& pc() { return *pc_; }
  // Null unless planned.
  FaultPoint* fault(Fault fault) { return faults_->point(fault); }
  std::vector<StruckFault> faults() const { return faults_->struck(); }

  // Why the capture ends before its time; null as long as it does not.
  const Error* capture_error() const { return pcap_ ? pcap_->error() : nullptr; }
  // Frames that a stalled reader of the capture has missed.
  std::uint64_t capture_dropped() const { return pcap_ ? pcap_->dropped() : 0; }
  // When the limit of what one file may hold cut the waveform off.
  std::optional<Instant> wave_cut_at() const { return probe_ ? probe_->cut_at() : std::nullopt; }
  // Flushes captures, traces and waveforms, all of them, once. The error says which file, the first one, could not be
  // written.
  std::optional<Error> finish_files();

 private:
  explicit Testbed(TestbedSetup setup);
  std::optional<Error> build();
  std::optional<Error> open_files();
  void build_cable_and_chip();
  std::optional<Error> start_transcript();
  std::optional<Error> build_far_end();
  void build_bus();
  Account awaited() const override;

  TestbedSetup setup_;
  wire::FramePool frames_;
  std::optional<EventQueue> own_queue_;  // may end with frames in flight
  EventQueue& queue_;
  Random random_;
  Trace trace_;
  Findings findings_;
  Budget budget_;
  Fingerprint fingerprint_;
  std::optional<Faults> faults_;
  std::optional<net::FaultyPeer> faulty_peer_;
  std::optional<net::Link> link_;
  std::optional<chip::Chip> chip_;
  std::unique_ptr<chip::PinFront> front_;  // null: the chip's own
  std::optional<SpiRecorder> recorder_;
  std::unique_ptr<WaveFile> wave_file_;  // until the probe takes it
  std::optional<bus::PinProbe> probe_;
  std::optional<bus::FaultySpi> faulty_spi_;
  std::optional<bus::FaultyIntn> faulty_intn_;
  chip::SpiTarget* pins_ = nullptr;
  std::optional<bus::SpiBus> bus_;
  std::unique_ptr<net::LwipHost> pc_;
  net::FingerprintObserver fingerprint_observer_{fingerprint_};
  std::unique_ptr<wire::PcapngWriter> pcap_;
  std::optional<net::CaptureObserver> capture_;
  std::unique_ptr<TextTrace> text_trace_;
};

}  // namespace wizloop::testbed
