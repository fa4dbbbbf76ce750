// ICMP echo (RFC 792) to a host, with what is to be known about the round trips. No buffer: requests are made and
// replies are checked in pieces of 64 bytes in the chip's memory.
//
//   Ping ping(chip, 5);
//   const Result<PingStats> stats = ping.run({192, 168, 1, 10}, options);   // all of it
// or in steps, where other things go on meanwhile:
//   ping.start({192, 168, 1, 10}, options);
//   while (!ping.poll().value()) ...  ping.stats()
//
// A reply counts if it comes from that host with the number of the last request, and if checksum, size and payload
// (0, 1, 2 ... 255, 0 ...) are right. The round trip reaches from the SEND to the poll that finds the reply, so it is
// as exact as the polls are frequent.
#ifndef WIZLOOP_W5500_PING_HPP
#define WIZLOOP_W5500_PING_HPP

#include "chip.hpp"
#include "ipraw_socket.hpp"

namespace w5500 {

struct PingOptions {
  uint32_t count = 4;              // 0: until stop()
  uint16_t payload_bytes = 32;     // up to 1472, and what fits the socket's rings: 22 bytes less
  uint16_t identifier = 0x5750;    // tells these replies from those to anybody else
  uint32_t interval_us = 1000000;  // from request to request, unless the reply takes longer
  uint32_t timeout_us = 1000000;   // of each request
};

struct PingStats {
  uint32_t sent;
  uint32_t received;
  uint32_t timeouts;  // requests without a reply in time: nobody there, lost on the way, too late
  uint32_t damaged;   // replies that do not repeat the request; they end its wait
  uint32_t min_us;    // of those received
  uint32_t max_us;
  uint64_t sum_us;

  uint32_t mean_us() const { return received == 0 ? 0 : static_cast<uint32_t>(sum_us / received); }
};

class Ping {
 public:
  static constexpr uint16_t max_payload = IprawSocket::max_payload - 8;

  Ping(Chip& chip, uint8_t socket) : port_(chip.port()), socket_(chip, socket) {}

  Result<void> start(const uint8_t (&ip)[4], const PingOptions& options = PingOptions());

  // Looks for a reply or waits up to wait_us for one, and sends what is due. True when the last request has its reply
  // or has timed out; the socket is closed then. An error is the bus's or the chip's.
  Result<bool> poll(uint32_t wait_us = 0);
  const PingStats& stats() const { return stats_; }

  // Closes the socket; the statistics stay.
  Result<void> stop();

  // start() and as many polls as it takes; ends after `count` times the longer of interval and timeout at the latest.
  Result<PingStats> run(const uint8_t (&ip)[4], const PingOptions& options = PingOptions());

 private:
  Error send();
  Error await(uint32_t wait_us);
  Error take(const Datagram& datagram, uint32_t rtt_us);

  Port& port_;
  IprawSocket socket_;
  PingOptions options_;
  PingStats stats_ = {};
  uint8_t target_[4] = {};
  bool active_ = false;
  bool awaiting_ = false;  // a reply
  uint32_t sent_us_ = 0;
};

}  // namespace w5500

#endif
