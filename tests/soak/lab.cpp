#include "tests/soak/lab.hpp"

#include <fmt/format.h>

#include <filesystem>

namespace wizloop::soak {
namespace {

// One of each way to drive the chip: a slow and a fast DMA, a PIO state machine, and SPI behind a bus of its own.
constexpr std::string_view board_files[] = {"stm32f405-arduino", "w55rp20", "teensy40-w5500", "esp32-usr-es1"};
constexpr std::uint8_t first_station = 20;
constexpr wire::MacAddress pc_mac = {0x02, 0, 0, 0, 0, 0x10};

}  // namespace

Lab::Lab(std::uint64_t seed)
    : lan_{queue_, frames_, {.ports = std::size(board_files) + 1}}, pc_cable_{queue_, Random{seed}, {}} {
  queue_.set_lookahead(net::Switch::shortest_passage);
  for (const std::string_view file : board_files) add_board(file, seed);
  auto pc = net::LwipHost::create(queue_, frames_, {.mac = pc_mac, .ip = pc_ip, .seed = seed});
  WIZ_ASSERT(pc);
  pc_ = std::move(pc).value();
  lan_.port(boards_.size()).plug_into(pc_cable_, net::End::board);
  pc_->plug_into(pc_cable_, net::End::host);
  sink_ = std::make_unique<net::TcpSink>(*pc_, sink_port);
  echo_ = std::make_unique<net::TcpEcho>(*pc_, echo_port);
  udp_echo_ = std::make_unique<net::UdpEcho>(*pc_, echo_port);
  dhcp_ = std::make_unique<net::DhcpServer>(*pc_, net::DhcpServer::Config{.first = wire::ipv4(192, 168, 1, 100),
                                                                          .addresses = 50,
                                                                          .routers = {pc_ip},
                                                                          .dns_servers = {pc_ip},
                                                                          .lease_s = lease_s});
  dns_ = std::make_unique<net::DnsServer>(*pc_, net::DnsServer::Config{.names = {{std::string{known_name}, pc_ip}}});
}

Lab::~Lab() {
  for (const auto& board : boards_) board->set_power(false);
  lan_.port(boards_.size()).unplug();  // its cable goes first
}

void Lab::add_board(std::string_view file, std::uint64_t seed) {
  auto profile = bus::load_board(std::filesystem::path{WIZLOOP_BOARDS_DIR} / fmt::format("{}.toml", file));
  WIZ_ASSERT(profile);
  const auto number = static_cast<std::uint8_t>(boards_.size());
  const auto station = static_cast<std::uint8_t>(first_station + number);
  board::BoardSetup setup{.testbed = {.board = std::move(profile).value(), .seed = seed + number}};
  setup.network =
      w5500::Network{{0x02, 0, 0, 0, 1, station}, {192, 168, 1, station}, {255, 255, 255, 0}, {192, 168, 1, 1}};
  boards_.push_back(std::make_unique<BoardOnSwitch>(queue_, lan_.port(number), std::move(setup)));
}

std::size_t Lab::frames_made() {
  std::size_t made = frames_.made();
  for (const auto& board : boards_) made += board->bed().frames().made();
  return made;
}

std::vector<std::string> Lab::contradictions() {
  std::vector<std::string> found;
  const auto compare = [&](std::string_view where, std::string_view what, std::uint64_t one, std::uint64_t other) {
    if (one != other) found.push_back(fmt::format("{}: {}: {} and {}", where, what, one, other));
  };
  const auto compare_cable = [&](std::string_view where, const net::Link& cable, net::SwitchPort& port,
                                 net::End station) {
    const net::End far = station == net::End::board ? net::End::host : net::End::board;
    const net::LinkCounters& out = cable.counters(station);
    const net::LinkCounters& in = cable.counters(far);
    compare(where, "sent, and arrived or lost", out.transmitted, out.delivered + out.lost + out.unplugged);
    compare(where, "came to, and arrived or lost", in.transmitted, in.delivered + in.lost + in.unplugged);
    compare(where, "arrived at the switch, and counted there", out.delivered, port.counters().received);
    compare(where, "left the switch, and on the cable", port.counters().sent, in.transmitted);
  };
  for (std::size_t i = 0; i < boards_.size(); ++i) {
    compare_cable(board_files[i], boards_[i]->bed().link(), lan_.port(i), net::End::board);
  }
  compare_cable("PC", pc_cable_, lan_.port(boards_.size()), net::End::host);
  compare("PC", "sent, and on the cable", pc_->counters().sent, pc_cable_.counters(net::End::host).transmitted);
  compare("PC", "on the cable, and received", pc_cable_.counters(net::End::board).delivered, pc_->counters().received);
  compare("PC", "bytes of its sink that are not the pattern's, and none", sink_->counters().mismatches, 0);
  return found;
}

}  // namespace wizloop::soak
