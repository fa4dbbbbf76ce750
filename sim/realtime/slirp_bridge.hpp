// User-mode networking by libslirp: a NAT in this process, between the simulated wire and ordinary sockets of the host.
// Needs no privilege. The board reaches whatever the host reaches; the host reaches the ports that are forwarded.
//
//   SlirpConfig config;                                      // 10.0.2.0/24, the board at 10.0.2.15
//   config.forwards.push_back({.protocol = SlirpForward::Protocol::tcp, .host_port = 5001, .guest_port = 5001});
//   Result<std::unique_ptr<Bridge>> bridge = open_slirp_bridge(config, site);
//
// On its network .2 is the host (its loopback), .3 a DNS server that asks the host's, and both have the MAC
// 52:55 and their address. Peers see the host's address, and a forwarded connection reaches the board from .2.
//
// libslirp's clock is the queue's, so that its TCP times out in the board's time at any speed. It writes to sockets
// with send(), so SIGPIPE is ignored in this process from the first bridge on, unless the process handles it.
#pragma once

#include <memory>
#include <vector>

#include "sim/core/result.hpp"
#include "sim/realtime/bridge.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::realtime {

struct SlirpForward {
  enum class Protocol : std::uint8_t { tcp, udp };

  Protocol protocol = Protocol::tcp;
  wire::Ipv4Address host_address = wire::ipv4(127, 0, 0, 1);
  std::uint16_t host_port = 0;
  wire::Ipv4Address guest_address = 0;  // 0: the board of SlirpConfig
  std::uint16_t guest_port = 0;
};

struct SlirpConfig {
  wire::Ipv4Address network = wire::ipv4(10, 0, 2, 0);
  unsigned prefix_bits = 24;    // 8 to 27
  wire::Ipv4Address guest = 0;  // the first address that its DHCP server gives; 0: .15 of the network
  bool dhcp = true;
  bool dns = true;
  std::vector<SlirpForward> forwards{};

  wire::Ipv4Address mask() const { return ~wire::Ipv4Address{0} << (32 - prefix_bits); }
  wire::Ipv4Address host() const { return network + 2; }
  wire::Ipv4Address nameserver() const { return network + 3; }
  wire::Ipv4Address board() const { return guest != 0 ? guest : network + 15; }
};

// The error says which address cannot be, or which port the host refuses and why.
Result<std::unique_ptr<Bridge>> open_slirp_bridge(const SlirpConfig& config, const BridgeSite& site);

}  // namespace wizloop::realtime
