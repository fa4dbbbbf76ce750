// The board on a TAP interface: an Ethernet interface of the host whose other end is this process
// (Documentation/networking/tuntap of the kernel). Needs access to /dev/net/tun, and CAP_NET_ADMIN to make an
// interface; one that an administrator has made for a user ("ip tuntap add dev wiz0 mode tap user NAME") needs no
// privilege.
//
//   Result<std::unique_ptr<Bridge>> bridge = open_tap_bridge("wiz0", site);
//
// An interface that was not there is made and brought up, and vanishes with the bridge. Its address is the user's to
// give. Its offloads are off.
#pragma once

#include <memory>
#include <string>

#include "sim/core/result.hpp"
#include "sim/realtime/bridge.hpp"

namespace wizloop::realtime {

// The error says what is missing and what to do.
Result<std::unique_ptr<Bridge>> open_tap_bridge(const std::string& interface, const BridgeSite& site);

}  // namespace wizloop::realtime
