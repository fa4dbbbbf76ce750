// Everything that one run consists of, brought to life: a testbed and the library under test on its board.
//
//   std::unique_ptr<World> world = World::create(setup).value();
//   world->start_firmware();  // reset, addresses, buffers
//   world->begin_measurement(); ...
//   const Measurement measurement = world->end_measurement();
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "drivers/patterns/raw_driver.hpp"
#include "drivers/patterns/socket_library.hpp"
#include "drivers/ports/sim/sim_interrupt_line.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/bus.hpp"
#include "harness/scenario/priced_library.hpp"
#include "harness/scenario/scenario.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop::scenario {

struct Setup {
  testbed::TestbedSetup testbed;
  std::string path;     // "byte", "burst" or "dma"
  std::string library;  // as in board files, or "wizloop"
  std::uint8_t buffer_kib = 2;
  bool use_intn = false;
};

// What a measured window came to.
struct Measurement {
  AccountTotals budget;
  Duration elapsed{};
  double supply_current_ma = 0;
};

using testbed::board_ip;
using testbed::pc_ip;

class World final {
 public:
  // The error is the user's (a path that the board does not price, an unknown library, a file that cannot be written)
  // or the machine's (no lwIP).
  static Result<std::unique_ptr<World>> create(const Setup& setup);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  EventQueue& queue() { return bed_->queue(); }
  net::LwipHost& pc() { return bed_->pc(); }
  // The library under test, each call priced.
  patterns::SocketLibrary& library() { return *priced_; }
  bus::SpiBus& bus() { return bed_->bus(); }
  Instant now() const { return bed_->now(); }

  // The library's begin() with the addresses of every run; false if the library does not find its chip.
  bool start_firmware();
  // Firmware has found nothing to do. Where it is driven by interrupts it sleeps until INTn is low, for a while at
  // most, as one of them may be lost; where it polls it looks again at once.
  void rest();
  // The host starts anew with a library that knows nothing; chip, cable and PC go on.
  void restart_host(const Setup& setup, Duration boot);
  // Firmware does nothing until `until`.
  void idle_until(Instant until);
  // For a library with a stack of its own: what it has begun gets time to come to an end in the background, ARP above
  // all. With the others nothing happens.
  void settle_background();

  void begin_measurement();
  Measurement end_measurement();

  const testbed::Testbed& testbed() const { return *bed_; }
  Fingerprint& fingerprint() { return bed_->fingerprint(); }
  std::uint64_t frames_on_wire() const;
  // By the chip, because the RX buffer had no room.
  std::uint64_t records_dropped() const { return bed_->chip().records_dropped(); }
  // By the program, from its library: payload that it asked for and got.
  std::uint64_t bytes_taken() const { return bytes_taken_; }
  // Flushes captures and traces. The error says which file could not be written.
  std::optional<Error> finish_files() { return bed_->finish_files(); }

 private:
  World(std::unique_ptr<testbed::Testbed> bed, const Setup& setup);
  std::optional<Error> build_library(const Setup& setup);
  std::shared_ptr<patterns::RawDriver> make_raw_driver(std::string_view library);

  std::unique_ptr<testbed::Testbed> bed_;
  std::uint8_t buffer_kib_;
  bool use_intn_;
  SimPort port_;
  std::optional<SimInterruptLine> intn_;  // for drivers that need to know its edges
  std::shared_ptr<w5500::Bus> register_bus_;
  std::shared_ptr<w5500::Bus> data_bus_;
  std::shared_ptr<patterns::RawDriver> raw_driver_;  // null: the library uses sockets of the chip
  std::shared_ptr<patterns::SocketLibrary> library_;
  std::optional<PricedLibrary> priced_;
  std::uint64_t bytes_taken_ = 0;

  Instant measured_from_{};
  AccountTotals budget_before_;
  std::uint64_t board_frames_before_ = 0;
};

}  // namespace wizloop::scenario
