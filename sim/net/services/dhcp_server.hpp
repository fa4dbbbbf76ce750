// A DHCP server (RFC 2131 4.3) that gives addresses out of a pool: the same client gets the same address again while it
// is free. It is the only server of its network, and can be told to keep silent, to refuse or to be slow, so that a
// client shows how it recovers.
//
//   DhcpServer dhcp{pc, {.first = ipv4(192, 168, 1, 100), .addresses = 20, .routers = {pc_ip}, .dns_servers =
//   {pc_ip}}};
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/net/services/unreliable.hpp"
#include "sim/net/udp_port.hpp"
#include "sim/wire/dhcp.hpp"

namespace wizloop::net {

class DhcpServer {
 public:
  static constexpr std::uint32_t infinite = 0xFFFFFFFF;  // of a lease
  static constexpr Duration offer_hold = std::chrono::seconds{60};
  static constexpr Duration decline_hold = std::chrono::minutes{10};  // what another station uses is not offered

  struct Config {
    wire::Ipv4Address first = 0;  // of the pool, which leaves out the server's own address and those of the subnet
    std::uint32_t addresses = 1;  // up to 65536
    wire::Ipv4Address mask = 0;   // 0: the host's own
    std::vector<wire::Ipv4Address> routers{};
    std::vector<wire::Ipv4Address> dns_servers{};
    std::vector<wire::Ipv4Address> ntp_servers{};
    std::string domain_name{};
    std::uint32_t lease_s = 3600;
    std::uint32_t renewal_s = 0;    // T1; 0: half the lease
    std::uint32_t rebinding_s = 0;  // T2; 0: seven eighths of the lease

    std::uint64_t ignored_discovers = 0;  // the first so many, or `always`, get no answer
    std::uint64_t ignored_requests = 0;
    std::uint64_t refused_requests = 0;  // the first so many of those not ignored get a NAK
    Duration answer_delay{};
  };
  struct Counters {
    std::uint64_t discovers = 0;
    std::uint64_t requests = 0;
    std::uint64_t declines = 0;
    std::uint64_t releases = 0;
    std::uint64_t informs = 0;
    std::uint64_t offers = 0;
    std::uint64_t acks = 0;
    std::uint64_t naks = 0;
    std::uint64_t ignored = 0;       // as configured
    std::uint64_t not_for_us = 0;    // for another server, or about an address of which nothing is known here
    std::uint64_t no_address = 0;    // of the discovers: the pool was empty
    std::uint64_t malformed = 0;     // not DHCP from a client, or without what its type needs
    std::uint64_t lost_answers = 0;  // too many were late at once
  };

  DhcpServer(LwipHost& host, const Config& config);

  const Counters& counters() const { return counters_; }

 private:
  using Client = std::vector<std::uint8_t>;  // its identifier (RFC 2131 4.2)
  struct Address {
    Client client{};                 // who had it last, or has it
    Instant until = Instant::min();  // not free before
  };

  void on_datagram(Bytes payload);
  void on_discover(const wire::Dhcp& request);
  void on_request(const wire::Dhcp& request);
  void on_inform(const wire::Dhcp& request);
  Address* choose(const Client& client, const wire::Dhcp& request);
  Address* at(wire::Ipv4Address ip);
  wire::Ipv4Address ip_of(const Address& address) const;
  bool is_free(const Address& address) const;
  Instant end_of_lease() const;
  wire::Dhcp answer_to(const wire::Dhcp& request, wire::Dhcp::Type type) const;
  void add_lease(wire::Dhcp& answer) const;
  void add_network(wire::Dhcp& answer, const wire::Dhcp& request) const;
  void ack(const wire::Dhcp& request, Address& address);
  void nak(const wire::Dhcp& request, std::string_view why);
  void send(const wire::Dhcp& answer);

  LwipHost& host_;
  Config config_;  // what is left of ignored_* and refused_*
  Counters counters_;
  std::vector<Address> pool_;
  UdpPort port_;
  LateAnswers late_;
};

}  // namespace wizloop::net
