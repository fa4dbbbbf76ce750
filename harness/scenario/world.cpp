#include "harness/scenario/world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "drivers/patterns/esp_idf_macraw.hpp"
#include "drivers/patterns/ethernet2.hpp"
#include "drivers/patterns/ethernet3.hpp"
#include "drivers/patterns/iolibrary.hpp"
#include "drivers/patterns/lwip_macraw.hpp"
#include "drivers/patterns/mongoose_macraw.hpp"
#include "drivers/patterns/nuttx_macraw.hpp"
#include "drivers/patterns/pico_macraw.hpp"
#include "drivers/patterns/pjrc_ethernet.hpp"
#include "drivers/patterns/qnethernet_macraw.hpp"
#include "drivers/patterns/wizloop_library.hpp"
#include "drivers/patterns/zephyr_macraw.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "drivers/w5500/dma_bus.hpp"
#include "harness/scenario/libraries.hpp"

namespace wizloop::scenario {
namespace {

// Firmware that is driven by interrupts looks by itself after so long.
constexpr Duration longest_sleep = 100ms;

constexpr patterns::NetConfig board_network = {
    {0x02, 0x00, 0x00, 0x00, 0x00, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}, 2};

std::shared_ptr<w5500::Bus> make_bus(const std::string& path, w5500::Port& port) {
  if (path == "byte") return std::make_shared<w5500::ByteBus>(port);
  if (path == "burst") return std::make_shared<w5500::BurstBus>(port);
  return std::make_shared<w5500::DmaBus>(port);
}

}  // namespace

World::World(std::unique_ptr<testbed::Testbed> bed, const Setup& setup)
    : bed_{std::move(bed)},
      buffer_kib_{setup.buffer_kib},
      use_intn_{setup.use_intn},
      // Shields leave RSTn to the power-up reset.
      port_{bed_->queue(), bed_->bus(), bed_->chip(), bed_->board(), /*reset_wired=*/false} {
  if (bed_->faulty_intn() != nullptr) port_.connect_intn(*bed_->faulty_intn());
}

World::~World() = default;

Result<std::unique_ptr<World>> World::create(const Setup& setup) {
  const auto library = find_library(setup.library);
  if (!library) return library.error();
  if (library.value()->fixed_buffers && setup.buffer_kib != 2) {
    return Error{fmt::format("parameter buffer_kib is {}, but library {} knows no layout other than its own",
                             setup.buffer_kib, setup.library)};
  }
  if (setup.use_intn && !library.value()->uses_intn) {
    return Error{fmt::format("parameter wait is interrupt, but library {} never looks at INTn", setup.library)};
  }
  testbed::TestbedSetup around = setup.testbed;
  const std::vector<Announcement>& known = library.value()->announced;
  around.announced.insert(around.announced.begin(), known.begin(), known.end());
  around.note = fmt::format("wizloop {} {} seed={}", around.board.name, setup.path, around.seed);
  auto bed = testbed::Testbed::create(std::move(around));
  if (!bed) return bed.error();
  std::unique_ptr<World> world{new World{std::move(bed).value(), setup}};
  if (const auto error = world->build_library(setup)) return *error;
  return world;
}

// Null: that library is none of the raw drivers.
std::shared_ptr<patterns::RawDriver> World::make_raw_driver(std::string_view library) {
  if (library == "lwip_macraw") return std::make_shared<patterns::PicoMacraw>(*data_bus_, port_);
  if (library == "mongoose") return std::make_shared<patterns::MongooseMacraw>(*data_bus_, port_);
  if (library == "qnethernet") return std::make_shared<patterns::QnEthernetMacraw>(*data_bus_, port_);
  intn_.emplace(bed_->chip(), bed_->faulty_intn());
  if (library == "esp_idf") return std::make_shared<patterns::EspIdfMacraw>(*data_bus_, port_, *intn_);
  if (library == "nuttx") return std::make_shared<patterns::NuttxMacraw>(*data_bus_, port_, *intn_);
  if (library == "zephyr") return std::make_shared<patterns::ZephyrMacraw>(*data_bus_, port_, *intn_);
  return nullptr;
}

std::optional<Error> World::build_library(const Setup& setup) {
  const bus::BoardProfile& board = bed_->board();
  if (setup.path != "byte" && setup.path != "burst" && setup.path != "dma") {
    return Error{fmt::format("unknown path \"{}\", expected byte, burst or dma", setup.path)};
  }
  if ((setup.path == "burst" && !board.burst) || (setup.path == "dma" && !board.dma)) {
    return Error{fmt::format("board {} prices no {} path", board.name, setup.path)};
  }
  data_bus_ = make_bus(setup.path, port_);
  if (setup.library == "pjrc_ethernet") {
    library_ = std::make_shared<patterns::PjrcEthernet>(*data_bus_, port_);
  } else if (setup.library == "iolibrary") {
    // Its single registers go through callbacks of their own, by burst where the platform has one.
    register_bus_ = make_bus(board.burst ? "burst" : "byte", port_);
    library_ = std::make_shared<patterns::IoLibrary>(*register_bus_, *data_bus_, port_);
  } else if (setup.library == "ethernet2" || setup.library == "ethernet3") {
    // Single registers always go byte by byte; the burst and DMA variants changed the buffer functions only.
    register_bus_ = make_bus("byte", port_);
    if (setup.library == "ethernet2") {
      library_ = std::make_shared<patterns::Ethernet2>(*register_bus_, *data_bus_, port_);
    } else {
      library_ = std::make_shared<patterns::Ethernet3>(*register_bus_, *data_bus_, port_);
    }
  } else if (const auto raw = make_raw_driver(setup.library)) {
    raw_driver_ = raw;
    using Core = patterns::LwipMacraw::Core;
    const Core core = setup.library == "lwip_macraw" ? Core::arduino_pico : Core::plain;
    auto library =
        patterns::LwipMacraw::create(*raw_driver_, port_, core, setup.testbed.seed, [this](std::uint16_t frame_bytes) {
          const bus::LwipCost& cost = bed_->board().lwip;
          bus().spend(cost.packet + cost.byte * frame_bytes, Account::cpu);
        });
    if (!library) return library.error();
    library_ = std::move(library).value();
  } else {
    WIZ_ASSERT(setup.library == "wizloop");
    library_ = std::make_shared<patterns::WizloopLibrary>(*data_bus_, port_);
  }
  priced_.emplace(*library_, bed_->bus(), board.call, bed_->fault(Fault::host_restart), bytes_taken_);
  return std::nullopt;
}

bool World::start_firmware() {
  patterns::NetConfig network = board_network;
  network.buffer_kib = buffer_kib_;
  network.use_intn = use_intn_;
  return priced_->begin(network);
}

void World::rest() {
  if (!use_intn_) return;
  bus().stop_watchdog();
  port_.wait_for_interrupt(static_cast<std::uint32_t>(longest_sleep / 1us));
}

void World::restart_host(const Setup& setup, Duration boot) {
  constexpr Duration shortest_boot = 10ms;  // so that restarts at each call end the run too
  bus().abort_dma();
  bed_->chip().note_host_restart();
  idle_until(now() + std::max(boot, shortest_boot));
  const auto error = build_library(setup);
  WIZ_ASSERT(!error);
}

void World::idle_until(Instant until) {
  bus().stop_watchdog();
  while (now() < until) {
    const Duration due = microseconds(library_->run_background());
    if (now() < until) bus().spend(std::min(due, until - now()), Account::idle);
  }
}

void World::settle_background() {
  if (library_->run_background() != patterns::SocketLibrary::never_us) idle_until(now() + 200ms);
}

void World::begin_measurement() {
  bus().settle();
  measured_from_ = now();
  budget_before_ = bed_->budget().totals();
  board_frames_before_ = bed_->link().counters(net::End::board).transmitted;
}

Measurement World::end_measurement() {
  bus().settle();
  const bool transmitted = bed_->link().counters(net::End::board).transmitted > board_frames_before_;
  Measurement measurement{bed_->budget().totals() - budget_before_, now() - measured_from_,
                          bed_->chip().supply_current_ma(transmitted)};
  WIZ_ASSERT(measurement.budget.sum() == measurement.elapsed);
  return measurement;
}

std::uint64_t World::frames_on_wire() const {
  const net::Link& link = bed_->link();
  return link.counters(net::End::board).transmitted + link.counters(net::End::host).transmitted;
}

}  // namespace wizloop::scenario
