// What a remote host is: a station at the far end of a cable, with an address and a network stack of its own. What it
// does there is the matter of the services that run on it (services/).
#pragma once

#include <cstdint>

#include "sim/net/link.hpp"
#include "sim/net/peer_profile.hpp"
#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::net {

struct HostConfig {
  wire::MacAddress mac{};
  wire::Ipv4Address ip = 0;
  wire::Ipv4Address mask = wire::ipv4(255, 255, 255, 0);
  wire::Ipv4Address gateway = 0;
  PeerProfile profile{};
  std::uint64_t seed = 1;
};

// At the host's network interface.
struct HostCounters {
  std::uint64_t received = 0;
  std::uint64_t sent = 0;
  std::uint64_t bad_fcs = 0;     // received, but damaged: dropped
  std::uint64_t not_for_us = 0;  // received, but for another station: dropped
  std::uint64_t martian = 0;     // received, but from an address that no other station may have: dropped
};

class Host {
 public:
  virtual ~Host() = default;

  // Once, before the first frame; the link outlives the host's last frame.
  virtual void plug_into(Link& link, End end) = 0;

  virtual const HostConfig& config() const = 0;
  virtual const HostCounters& counters() const = 0;
};

}  // namespace wizloop::net
