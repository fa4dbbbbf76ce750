// Sends ICMP echo requests (RFC 792), one at a time, and measures the round trip as `ping` does: from the first bit of
// the request to the moment at which the host has the reply, its turnaround included. A ping that finds the neighbour's
// MAC unknown includes the ARP exchange; LwipHost::resolve() beforehand avoids that.
//
//   Pinger pinger{pc, {.target = board_ip, .count = 10, .interval = 10ms}};
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/timer.hpp"
#include "sim/wire/ipv4.hpp"

struct pbuf;
struct raw_pcb;

namespace wizloop::net {

class LwipHost;

class Pinger {
 public:
  struct Config {
    wire::Ipv4Address target = 0;
    std::size_t payload_bytes = 56;
    std::uint64_t count = 1;
    Duration interval = std::chrono::seconds{1};  // from request to request, unless the reply takes longer
    Duration timeout = std::chrono::seconds{1};
    Instant start{};
  };
  struct Counters {
    std::uint64_t sent = 0;
    std::uint64_t answered = 0;
    std::uint64_t lost = 0;     // no reply before the timeout
    std::uint64_t damaged = 0;  // replies that do not repeat the request: not counted as answers
    std::vector<Duration> rtt;  // of those answered, in order
  };

  Pinger(LwipHost& host, const Config& config);
  Pinger(const Pinger&) = delete;
  Pinger& operator=(const Pinger&) = delete;
  ~Pinger();

  const Counters& counters() const { return counters_; }
  bool finished() const { return counters_.sent == config_.count && !waiting_; }

 private:
  void send();
  bool on_packet(const pbuf* packet);
  void on_timeout();
  void schedule_next();

  LwipHost& host_;
  Config config_;
  Counters counters_;
  raw_pcb* pcb_;
  std::vector<std::uint8_t> request_;  // the ICMP message, header and payload
  std::vector<std::uint8_t> reply_;
  Instant request_start_{};
  bool waiting_ = false;
  Timer timer_;
};

}  // namespace wizloop::net
