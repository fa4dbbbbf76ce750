// The board on an Ethernet interface of the host, by packet socket (packet(7)): one end of a veth pair, or an interface
// that leads to a real network. Needs CAP_NET_RAW, which everybody has inside "unshare -Urn".
//
//   Result<std::unique_ptr<Bridge>> bridge = open_packet_bridge("wiz0", site);
//
// The interface is not configured, apart from the offloads of a veth pair, which would leave checksums and segments
// undone: they are switched off. It stays promiscuous for as long as the bridge lives. What the host itself sends out
// of this interface is not seen; on a veth pair the host's address belongs to the other end.
//
// An interface that goes down, comes back, or goes away is reported once; frames meanwhile are counted as refused.
#pragma once

#include <memory>
#include <string>

#include "sim/core/result.hpp"
#include "sim/realtime/bridge.hpp"

namespace wizloop::realtime {

// The error says what is missing and what to do.
Result<std::unique_ptr<Bridge>> open_packet_bridge(const std::string& interface, const BridgeSite& site);

}  // namespace wizloop::realtime
