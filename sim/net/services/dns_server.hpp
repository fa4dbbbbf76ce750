// A DNS server (RFC 1035) that knows the addresses in a table, and that no other name exists. It can be told to keep
// silent, to fail, to cut its answers short or to be slow, so that a client shows how it recovers.
//
//   DnsServer dns{pc, {.names = {{"broker.lan", pc_ip}, {"www.example.com", ipv4(10, 0, 0, 1)}}}};
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/net/services/unreliable.hpp"
#include "sim/net/udp_port.hpp"
#include "sim/wire/dns.hpp"

namespace wizloop::net {

class DnsServer {
 public:
  struct Entry {
    std::string name;
    wire::Ipv4Address ip = 0;
  };
  struct Config {
    std::vector<Entry> names{};  // a name given several times has several addresses, in this order
    std::uint32_t ttl_s = 300;

    std::uint64_t ignored_queries = 0;    // the first so many, or `always`, get no answer
    std::uint64_t failed_queries = 0;     // the first so many of those not ignored get SERVFAIL
    std::uint64_t truncated_queries = 0;  // the first so many of those left get TC instead of addresses
    Duration answer_delay{};
  };
  struct Counters {
    std::uint64_t queries = 0;
    std::uint64_t answered = 0;         // with an address
    std::uint64_t without_address = 0;  // the name is known, but not what was asked about it
    std::uint64_t unknown = 0;          // NXDOMAIN
    std::uint64_t not_served = 0;       // another operation than a query, another class than the Internet
    std::uint64_t ignored = 0;          // as configured
    std::uint64_t failed = 0;           // as configured
    std::uint64_t truncated = 0;        // as configured, or because the answer was too long
    std::uint64_t malformed = 0;        // answered with FORMERR, if the header could be read
    std::uint64_t lost_answers = 0;     // too many were late at once
  };

  DnsServer(LwipHost& host, const Config& config);

  const Counters& counters() const { return counters_; }

 private:
  struct Known {
    wire::DnsName name;
    wire::Ipv4Address ip;
  };

  void on_datagram(const UdpPort::Address& from, Bytes payload);
  void look_up(wire::Dns& answer);
  void send(const UdpPort::Address& to, wire::Dns answer);

  Config config_;  // what is left of *_queries
  Counters counters_;
  std::vector<Known> table_;
  UdpPort port_;
  LateAnswers late_;
};

}  // namespace wizloop::net
