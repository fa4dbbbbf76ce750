// Which network of the host a board is joined to, as a user types it.
//
//   none                                                  a cable with nobody at the far end
//   slirp[:KEY=VALUE,...]                                 user-mode networking (slirp_bridge.hpp)
//       hostfwd=PROTO:[ADDRESS:]PORT:[ADDRESS:]PORT       tcp or udp; of the host, then of the board; may be repeated
//       net=10.0.2.0/24  guest=10.0.2.15  dhcp=on|off  dns=on|off
//   veth:IF                                               an Ethernet interface, by packet socket (packet_bridge.hpp)
//   tap:IF                                                a TAP interface (tap_bridge.hpp)
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <variant>

#include "sim/core/result.hpp"
#include "sim/realtime/bridge.hpp"
#include "sim/realtime/slirp_bridge.hpp"

namespace wizloop::realtime {

struct NoNet {};
struct PacketNet {
  std::string interface;
};
struct TapNet {
  std::string interface;
};
using NetSpec = std::variant<NoNet, SlirpConfig, PacketNet, TapNet>;

// The error says what was expected.
Result<NetSpec> parse_net(std::string_view text);

// Null for NoNet.
Result<std::unique_ptr<Bridge>> open_bridge(const NetSpec& spec, const BridgeSite& site);

}  // namespace wizloop::realtime
