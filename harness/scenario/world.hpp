// Everything that one run consists of, brought to life: the board with its chip and bus, the driver, the cable, the PC.
//
//   std::unique_ptr<World> world = World::create(setup).value();
//   world->start_firmware();  // reset, addresses, buffers
//   world->begin_measurement(); ...
//   const Measurement measurement = world->end_measurement();
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "drivers/patterns/socket_library.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/bus.hpp"
#include "harness/scenario/priced_library.hpp"
#include "harness/scenario/scenario.hpp"
#include "sim/bus/faulty_intn.hpp"
#include "sim/bus/faulty_spi.hpp"
#include "sim/bus/profile.hpp"
#include "sim/bus/spi_bus.hpp"
#include "sim/chip/chip.hpp"
#include "sim/core/fingerprint.hpp"
#include "sim/net/faulty_peer.hpp"
#include "sim/net/link.hpp"
#include "sim/net/lwip_host.hpp"
#include "sim/net/observers.hpp"
#include "sim/wire/pcapng.hpp"

namespace wizloop::scenario {

struct Setup {
  bus::BoardProfile board;
  std::string path;     // "byte", "burst" or "dma"
  std::string library;  // as in board files, or "wizloop"
  std::uint64_t seed = 1;
  std::uint8_t buffer_kib = 2;
  chip::ChipConfig chip;
  FaultPlan faults;
  std::optional<std::filesystem::path> pcap_file;
  std::optional<std::filesystem::path> trace_file;
};

// With faults nobody knows when a run ends by itself, so it ends here.
inline constexpr Duration longest_run_with_faults = 600s;

// What a measured window came to.
struct Measurement {
  AccountTotals budget;
  Duration elapsed{};
  double supply_current_ma = 0;
};

// The addresses of every run.
inline constexpr wire::Ipv4Address pc_ip = wire::ipv4(192, 168, 1, 10);
inline constexpr wire::Ipv4Address board_ip = wire::ipv4(192, 168, 1, 20);

class World final : private bus::AwaitedSource {
 public:
  // The error is the user's (a path that the board does not price, an unknown library, a file that cannot be written)
  // or the machine's (no lwIP).
  static Result<std::unique_ptr<World>> create(const Setup& setup);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  EventQueue& queue() { return queue_; }
  net::LwipHost& pc() { return *pc_; }
  // The library under test, each call priced.
  patterns::SocketLibrary& library() { return *priced_; }
  bus::SpiBus& bus() { return *bus_; }
  Instant now() const { return queue_.now(); }

  // The library's begin() with the addresses of every run; false if the library does not find its chip.
  bool start_firmware();
  // Firmware does nothing until `until`.
  void idle_until(Instant until);

  void begin_measurement();
  Measurement end_measurement();

  const chip::Quirks& quirks() const { return chip_->quirks(); }
  const Findings& findings() const { return findings_; }
  std::vector<StruckFault> faults() const { return faults_->struck(); }
  Fingerprint& fingerprint() { return fingerprint_; }
  std::uint64_t frames_on_wire() const;
  // By the chip, because the RX buffer had no room.
  std::uint64_t records_dropped() const { return chip_->records_dropped(); }
  // Flushes captures and traces. The error says which file could not be written.
  std::optional<Error> finish_files();

 private:
  class TextTrace;

  explicit World(const Setup& setup);
  std::optional<Error> build();
  std::optional<Error> build_bus();
  std::optional<Error> build_library();
  Account awaited() const override;

  Setup setup_;
  wire::FramePool frames_;
  EventQueue queue_;  // may end with frames in flight
  Random random_;
  Trace trace_;
  Findings findings_;
  Budget budget_;
  Fingerprint fingerprint_;
  std::optional<Faults> faults_;
  std::optional<net::FaultyPeer> faulty_peer_;
  std::optional<net::Link> link_;
  std::optional<chip::Chip> chip_;
  std::optional<bus::FaultySpi> faulty_spi_;
  std::optional<bus::FaultyIntn> faulty_intn_;
  std::optional<bus::SpiBus> bus_;
  std::optional<SimPort> port_;
  std::unique_ptr<net::LwipHost> pc_;
  std::shared_ptr<w5500::Bus> register_bus_;
  std::shared_ptr<w5500::Bus> data_bus_;
  std::shared_ptr<patterns::SocketLibrary> library_;
  std::optional<PricedLibrary> priced_;
  net::FingerprintObserver fingerprint_observer_{fingerprint_};
  std::unique_ptr<wire::PcapngWriter> pcap_;
  std::optional<net::CaptureObserver> capture_;
  std::unique_ptr<TextTrace> text_trace_;

  Instant measured_from_{};
  AccountTotals budget_before_;
  std::uint64_t board_frames_before_ = 0;
};

}  // namespace wizloop::scenario
