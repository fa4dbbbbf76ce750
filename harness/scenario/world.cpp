#include "harness/scenario/world.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <optional>
#include <utility>

#include "drivers/patterns/ethernet2.hpp"
#include "drivers/patterns/ethernet3.hpp"
#include "drivers/patterns/iolibrary.hpp"
#include "drivers/patterns/pjrc_ethernet.hpp"
#include "drivers/patterns/wizloop_library.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "drivers/w5500/dma_bus.hpp"

namespace wizloop::scenario {
namespace {

constexpr wire::MacAddress pc_mac = {0x02, 0x00, 0x00, 0x00, 0x00, 0x10};
constexpr patterns::NetConfig board_network = {
    {0x02, 0x00, 0x00, 0x00, 0x00, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}, 2};

std::shared_ptr<w5500::Bus> make_bus(const std::string& path, w5500::Port& port) {
  if (path == "byte") return std::make_shared<w5500::ByteBus>(port);
  if (path == "burst") return std::make_shared<w5500::BurstBus>(port);
  return std::make_shared<w5500::DmaBus>(port);
}

}  // namespace

// One line of text per event.
class World::TextTrace final : public TraceSink {
 public:
  static Result<std::unique_ptr<TextTrace>> open(const std::filesystem::path& path) {
    std::FILE* file = std::fopen(path.c_str(), "w");
    if (file == nullptr) {
      const int error_number = errno;
      return Error{fmt::format("{}: cannot be written: {}", path.string(), std::strerror(error_number)),
                   kind_of(error_number)};
    }
    return std::unique_ptr<TextTrace>{new TextTrace{path, file}};
  }
  TextTrace(const TextTrace&) = delete;
  TextTrace& operator=(const TextTrace&) = delete;
  ~TextTrace() {
    if (file_ != nullptr) std::fclose(file_);
  }

  void on_event(const TraceEvent& event) override {
    const std::string line = to_text(event) + '\n';
    if (std::fwrite(line.data(), 1, line.size(), file_) != line.size()) fail();
  }

  std::optional<Error> close() {
    if (std::fclose(std::exchange(file_, nullptr)) != 0) fail();
    return error_;
  }

 private:
  TextTrace(std::filesystem::path path, std::FILE* file) : path_{std::move(path)}, file_{file} {}

  void fail() {
    if (error_) return;
    error_ = Error{fmt::format("{}: the trace could not be written whole: {}", path_.string(), std::strerror(errno)),
                   ErrorKind::machine};
  }

  std::filesystem::path path_;
  std::FILE* file_;
  std::optional<Error> error_;
};

World::World(const Setup& setup) : setup_{setup}, random_{setup.seed} {}
World::~World() = default;

Result<std::unique_ptr<World>> World::create(const Setup& setup) {
  std::unique_ptr<World> world{new World{setup}};
  if (const auto error = world->build()) return *error;
  return world;
}

std::optional<Error> World::build() {
  for (const bus::Announcement& announcement : setup_.board.announced) {
    findings_.announce(rule_of(announcement.rule).value(), announcement.reason);
  }
  if (setup_.trace_file) {
    auto trace = TextTrace::open(*setup_.trace_file);
    if (!trace) return trace.error();
    text_trace_ = std::move(trace).value();
    trace_.add(*text_trace_);
  }
  faults_.emplace(setup_.faults, queue_, random_, trace_);
  link_.emplace(queue_, random_, net::LinkProfile{});
  if (net::LinkFaults::wanted(*faults_)) {
    link_->on_change([this](bool up) { chip_->plug(up); });
    link_->inject(*faults_, frames_);
  }
  if (net::FaultyPeer::wanted(*faults_)) {
    const net::FaultyPeer::Target board{wire::load_mac(board_network.mac), board_ip};
    faulty_peer_.emplace(queue_, frames_, *faults_, board);
    link_->filter_host(*faulty_peer_);
  }
  chip_.emplace(queue_, frames_, trace_, findings_, random_, setup_.chip);
  link_->attach(net::End::board, *chip_);
  chip_->connect(link_->transmitter(net::End::board));
  chip_->plug_in_settled();
  chip_->inject(*faults_);

  auto pc = net::LwipHost::create(queue_, frames_,
                                  {.mac = pc_mac, .ip = pc_ip, .profile = setup_.board.peer, .seed = setup_.seed});
  if (!pc) return pc.error();
  pc_ = std::move(pc).value();
  pc_->plug_into(*link_, net::End::host);

  link_->observe(fingerprint_observer_);
  if (setup_.pcap_file) {
    auto pcap = wire::PcapngWriter::open(
        *setup_.pcap_file, "cable", fmt::format("wizloop {} {} seed={}", setup_.board.name, setup_.path, setup_.seed));
    if (!pcap) return pcap.error();
    pcap_ = std::move(pcap).value();
    capture_.emplace(*pcap_);
    link_->observe(*capture_);
  }

  return build_bus();
}

std::optional<Error> World::build_bus() {
  if (bus::FaultySpi::wanted(*faults_)) faulty_spi_.emplace(*chip_, *faults_);
  chip::SpiTarget& target = faulty_spi_ ? *faulty_spi_ : chip_->spi();
  bus_.emplace(queue_, budget_, target, setup_.board, findings_, static_cast<const bus::AwaitedSource&>(*this));
  bus_->inject(*faults_);
  if (!setup_.faults.empty()) bus_->end_run_at(Instant{longest_run_with_faults});
  constexpr bool reset_wired = false;  // shields leave RSTn to the power-up reset
  port_.emplace(queue_, *bus_, *chip_, setup_.board, reset_wired);
  if (bus::FaultyIntn::wanted(*faults_)) {
    faulty_intn_.emplace(queue_, *chip_, *faults_);
    port_->connect_intn(*faulty_intn_);
  }
  return build_library();
}

std::optional<Error> World::build_library() {
  const bus::BoardProfile& board = setup_.board;
  if (setup_.path != "byte" && setup_.path != "burst" && setup_.path != "dma") {
    return Error{fmt::format("unknown path \"{}\", expected byte, burst or dma", setup_.path)};
  }
  if ((setup_.path == "burst" && !board.burst) || (setup_.path == "dma" && !board.dma)) {
    return Error{fmt::format("board {} prices no {} path", board.name, setup_.path)};
  }
  data_bus_ = make_bus(setup_.path, *port_);
  if (setup_.library == "wizloop") {
    library_ = std::make_shared<patterns::WizloopLibrary>(*data_bus_, *port_);
  } else if (setup_.library == "pjrc_ethernet") {
    library_ = std::make_shared<patterns::PjrcEthernet>(*data_bus_, *port_);
  } else if (setup_.library == "iolibrary") {
    // Its single registers go through callbacks of their own, by burst where the platform has one.
    register_bus_ = make_bus(board.burst ? "burst" : "byte", *port_);
    library_ = std::make_shared<patterns::IoLibrary>(*register_bus_, *data_bus_, *port_);
  } else if (setup_.library == "ethernet2" || setup_.library == "ethernet3") {
    // Single registers always go byte by byte; the burst and DMA variants changed the buffer functions only.
    register_bus_ = make_bus("byte", *port_);
    if (setup_.library == "ethernet2") {
      library_ = std::make_shared<patterns::Ethernet2>(*register_bus_, *data_bus_, *port_);
    } else {
      library_ = std::make_shared<patterns::Ethernet3>(*register_bus_, *data_bus_, *port_);
    }
  } else {
    return Error{fmt::format(
        "unknown library \"{}\", expected ethernet2, ethernet3, pjrc_ethernet, iolibrary or wizloop", setup_.library)};
  }
  priced_.emplace(*library_, *bus_, board.call);
  return std::nullopt;
}

Account World::awaited() const {
  if (link_->busy(queue_.now())) return Account::wire;
  return chip_->busy() ? Account::chip : Account::peer;
}

bool World::start_firmware() {
  patterns::NetConfig network = board_network;
  network.buffer_kib = setup_.buffer_kib;
  return priced_->begin(network);
}

void World::idle_until(Instant until) {
  bus_->stop_watchdog();
  if (until > queue_.now()) bus_->spend(until - queue_.now(), Account::idle);
}

void World::begin_measurement() {
  bus_->settle();
  measured_from_ = queue_.now();
  budget_before_ = budget_.totals();
  board_frames_before_ = link_->counters(net::End::board).transmitted;
}

Measurement World::end_measurement() {
  bus_->settle();
  const bool transmitted = link_->counters(net::End::board).transmitted > board_frames_before_;
  Measurement measurement{budget_.totals() - budget_before_, queue_.now() - measured_from_,
                          chip_->supply_current_ma(transmitted)};
  WIZ_ASSERT(measurement.budget.sum() == measurement.elapsed);
  return measurement;
}

std::uint64_t World::frames_on_wire() const {
  return link_->counters(net::End::board).transmitted + link_->counters(net::End::host).transmitted;
}

std::optional<Error> World::finish_files() {
  if (pcap_) {
    if (const auto error = pcap_->close()) return error;
  }
  if (text_trace_) return text_trace_->close();
  return std::nullopt;
}

}  // namespace wizloop::scenario
