// One UDP port of an LwipHost.
//
//   UdpPort port{host, 7, [&](const UdpPort::Address& from, Bytes payload) { port.send(from, payload); }};
#pragma once

#include <cstdint>
#include <functional>

#include "sim/core/bytes.hpp"
#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"

struct udp_pcb;

namespace wizloop::net {

class LwipHost;

class UdpPort {
 public:
  struct Address {
    wire::Ipv4Address ip = 0;
    std::uint16_t port = 0;
  };
  // The payload is valid during the call only. From a station without an address, `from.ip` is 0.
  using Receive = std::function<void(const Address& from, Bytes payload)>;

  static constexpr std::size_t max_payload_bytes = 1472;  // in one frame: datagrams are never cut into fragments here

  // Port 0: one that lwIP chooses.
  UdpPort(LwipHost& host, std::uint16_t port, Receive receive);
  UdpPort(const UdpPort&) = delete;
  UdpPort& operator=(const UdpPort&) = delete;
  ~UdpPort();

  // False if there is no route, as to the host itself; lwIP drops a datagram silently if too many wait for the
  // neighbour's MAC. Broadcast addresses need no permission.
  bool send(const Address& to, Bytes payload);

  // To a neighbour that cannot answer ARP because it does not have the address yet (RFC 2131 4.1).
  void send_to(const wire::MacAddress& neighbour, const Address& to, Bytes payload);

  std::uint16_t number() const;

 private:
  friend class LwipHost;

  LwipHost& host_;
  udp_pcb* pcb_;
  Receive receive_;
};

}  // namespace wizloop::net
