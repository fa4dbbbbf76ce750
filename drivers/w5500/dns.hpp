// A DNS resolver (RFC 1035) on a UDP socket: the IPv4 addresses of a host name.
//
//   uint8_t buffer[512];                                  // for one message; used during a look-up only
//   DnsResolver dns(chip, 6, buffer, sizeof buffer, seed);
//   const Result<DnsAnswer> found = dns.resolve("broker.lan", dhcp.lease().dns);
//   if (found) socket.connect({{...found.value().ip[0]...}, 1883});
// or in steps, where other things go on meanwhile:
//   dns.start("broker.lan", servers);
//   while (...) { const Result<bool> done = dns.poll(); ... dns.answer() }
//
// One or two servers are asked in turn, each once a round: for one second in the first round, two in the second, four
// in the third and last one. A server that fails, refuses or cuts its answer short is not asked again. Aliases (CNAME)
// are followed within an answer, in any order. Answers count that come from one of the servers and repeat number and
// question; both number and local port are drawn at random (RFC 5452). The socket is open during a look-up only.
#ifndef WIZLOOP_W5500_DNS_HPP
#define WIZLOOP_W5500_DNS_HPP

#include "chip.hpp"
#include "socket.hpp"

namespace w5500 {

struct DnsAnswer {
  static constexpr uint8_t max_addresses = 4;  // what comes behind them is left out

  uint8_t ip[max_addresses][4];
  uint8_t count;  // at least 1
  uint32_t ttl_s;
};

class DnsResolver {
 public:
  static constexpr uint16_t min_buffer = 128;
  static constexpr uint16_t max_message =
      512;  // over UDP (RFC 1035 2.3.4); answers are cut to the buffer if it is less

  DnsResolver(Chip& chip, uint8_t socket, uint8_t* buffer, uint16_t capacity, uint32_t seed = 0)
      : port_(chip.port()), socket_(chip, socket), buffer_(buffer), capacity_(capacity), random_(seed) {}

  // `name` is used where it is until the look-up ends. A server 0.0.0.0 is none. invalid_argument: a name that cannot
  // be one, or is too long for the buffer; no server.
  Result<void> start(const char* name, const uint8_t (&servers)[2][4]);

  // Asks, or looks for an answer: true once answer() holds it, false before. no_such_name, no_address: so the server
  // says. server_failed, answer_truncated: what the last server came to. no_answer: after all rounds. With an error, as
  // with an answer, the look-up has ended.
  Result<bool> poll();
  const DnsAnswer& answer() const { return answer_; }

  // Gives a look-up up.
  Result<void> stop();

  // All of it, at most for so long: no_answer.
  Result<DnsAnswer> resolve(const char* name, const uint8_t (&servers)[2][4], uint32_t timeout_us = 15000000);

 private:
  uint16_t random16();
  Error ask();
  // Whom to ask next; false if there is none left, or no round.
  bool next_server();
  // What a message is worth: none if answer_ holds an answer, no_datagram if it does not count.
  Error judge(const Datagram& datagram);
  Error end(Error outcome);

  Port& port_;
  UdpSocket socket_;
  uint8_t* buffer_;
  uint16_t capacity_;
  uint32_t random_;
  const char* name_ = nullptr;
  uint8_t servers_[2][4] = {};
  uint8_t usable_ = 0;  // bit n: server n may be asked
  uint8_t turn_ = 0;    // how many turns were taken, two a round
  bool active_ = false;
  bool asked_ = false;  // the wait for the server of this turn has begun
  uint16_t local_port_ = 0;
  uint16_t id_ = 0;
  uint32_t asked_us_ = 0;
  Error failure_ = Error::no_answer;  // if nothing better comes
  DnsAnswer answer_ = {};
};

}  // namespace w5500

#endif
