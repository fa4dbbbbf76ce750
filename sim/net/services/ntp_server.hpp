// A time server (RFC 5905, mode 4) whose clock is virtual time counted from a chosen moment, so that it is exact and
// every run sees the same date. It can be told to keep silent, to refuse or to be slow.
//
//   NtpServer ntp{pc, {.start_unix_s = 1'767'225'600}};
#pragma once

#include <cstdint>

#include "sim/net/services/unreliable.hpp"
#include "sim/net/udp_port.hpp"
#include "sim/wire/ntp.hpp"

namespace wizloop::net {

class NtpServer {
 public:
  struct Config {
    std::int64_t start_unix_s = 1'767'225'600;  // at Instant{}; 2026-01-01T00:00:00Z

    std::uint64_t ignored_queries = 0;  // the first so many, or `always`, get no answer
    std::uint64_t refused_queries =
        0;  // the first so many of those not ignored are told to slow down, without the time
    Duration answer_delay{};
  };
  struct Counters {
    std::uint64_t queries = 0;
    std::uint64_t answered = 0;      // with the time
    std::uint64_t ignored = 0;       // as configured
    std::uint64_t refused = 0;       // as configured
    std::uint64_t malformed = 0;     // too short, of an unknown version, or not from a client
    std::uint64_t lost_answers = 0;  // too many were late at once
  };

  NtpServer(LwipHost& host, const Config& config);

  const Counters& counters() const { return counters_; }

 private:
  void on_datagram(const UdpPort::Address& from, Bytes payload);
  wire::Ntp::Timestamp now() const;

  LwipHost& host_;
  Config config_;  // what is left of *_queries
  Counters counters_;
  UdpPort port_;
  LateAnswers late_;
};

}  // namespace wizloop::net
