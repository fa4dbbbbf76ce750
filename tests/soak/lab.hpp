// What a soak is about: boards of several kinds that run the agent, at one switch with a PC that serves them.
#pragma once

#include <memory>
#include <vector>

#include "sim/net/services/dhcp_server.hpp"
#include "sim/net/services/dns_server.hpp"
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/udp_echo.hpp"
#include "sim/net/switch.hpp"
#include "tests/soak/board_on_switch.hpp"

namespace wizloop::soak {

class Lab {
 public:
  static constexpr wire::Ipv4Address pc_ip = wire::ipv4(192, 168, 1, 10);
  static constexpr std::uint16_t sink_port = 5001;
  static constexpr std::uint16_t echo_port = 7;
  static constexpr std::uint32_t lease_s = 3600;
  static constexpr std::string_view known_name = "broker.lan";

  explicit Lab(std::uint64_t seed);
  Lab(const Lab&) = delete;
  Lab& operator=(const Lab&) = delete;
  ~Lab();

  Instant now() const { return queue_.now(); }
  void run_until(Instant until) { queue_.advance_to(until); }

  std::size_t size() const { return boards_.size(); }
  BoardOnSwitch& board(std::size_t number) { return *boards_[number]; }
  net::LwipHost& pc() { return *pc_; }

  const net::TcpSink& sink() const { return *sink_; }

  // Frames that were made so far, in all pools.
  std::size_t frames_made();
  // Where the counters of the two ends of a cable contradict each other; empty: nowhere. On a quiet net.
  std::vector<std::string> contradictions();

 private:
  void add_board(std::string_view file, std::uint64_t seed);

  wire::FramePool frames_;
  EventQueue queue_;
  net::Switch lan_;
  std::vector<std::unique_ptr<BoardOnSwitch>> boards_;
  net::Link pc_cable_;
  std::unique_ptr<net::LwipHost> pc_;
  std::unique_ptr<net::TcpSink> sink_;
  std::unique_ptr<net::TcpEcho> echo_;
  std::unique_ptr<net::UdpEcho> udp_echo_;
  std::unique_ptr<net::DhcpServer> dhcp_;
  std::unique_ptr<net::DnsServer> dns_;
};

}  // namespace wizloop::soak
