// A server for clients of iperf 2 (2.0 to 2.1): TCP sink, with the back transfers of -r and -d and the reverse of -R,
// and UDP sink with the server report. What boards under test and `iperf -c` can be measured against where no iperf is
// installed, and the second implementation beside the board agent's own.
//
// The formats were observed on iperf 2.1.8; all words are big-endian. A client's header: flags, threads, port, buffer
// length, window or bandwidth, amount (below 0: time in units of 10 ms; otherwise bytes). It opens a TCP stream, and
// stands at offset 16 of each datagram, behind the id (32 low bits), the time of sending (s, us) and the 32 high bits
// of the id. A negative id ends the transfer and is answered with the report.
#pragma once

#include <optional>

#include "harness/gateway/peers/session.hpp"
#include "sim/core/bytes.hpp"

namespace wizloop::peers::iperf2 {

inline constexpr std::uint16_t default_port = 5001;

struct ClientHeader {
  static constexpr std::size_t size = 24;
  static constexpr std::uint32_t version1 = 0x80000000;  // wants a transfer back over a connection of its own
  static constexpr std::uint32_t reverse = 0x04000000;   // wants one back on this connection
  static constexpr std::uint32_t run_now = 0x00000001;   // back at once (-d), not after the forward one (-r)

  std::uint32_t flags = 0;
  std::uint16_t port = 0;  // where the client awaits the transfer back
  std::int32_t amount = 0;

  bool wants_back() const { return (flags & version1) != 0; }
  bool at_once() const { return (flags & run_now) != 0; }
  bool wants_reverse() const { return (flags & reverse) != 0; }

  // Of the first bytes of a stream or of what follows a datagram's own header.
  static std::optional<ClientHeader> parse(Bytes data);
};

// What a UDP server knows of one client's transfer (jitter as RFC 3550, 6.4.1).
class UdpTransfer {
 public:
  static constexpr std::size_t header_size = 16;
  static constexpr std::size_t report_size = 128;

  // A datagram that came at this instant. True if it ends the transfer: answer with report().
  bool take(Bytes datagram, WallClock::time_point at);

  // The server's answer to the last datagram.
  std::array<std::uint8_t, report_size> report() const;

  bool ended() const { return ended_; }
  std::uint64_t datagrams() const { return datagrams_; }
  std::uint64_t bytes() const { return bytes_; }
  std::uint64_t out_of_order() const { return out_of_order_; }
  // Ids begin at 0 or 1, by client: what never came between the first id and the last.
  std::uint64_t lost() const;
  std::uint64_t jitter_us() const { return static_cast<std::uint64_t>(jitter_us_); }
  std::uint64_t us() const { return watch_.us(); }

 private:
  Stopwatch watch_;
  bool ended_ = false;
  std::uint64_t datagrams_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t out_of_order_ = 0;
  std::int64_t first_id_ = 0;
  std::int64_t last_id_ = -1;
  double jitter_us_ = 0;
  std::optional<double> last_transit_us_;
};

boost::asio::awaitable<void> serve_tcp(Session& session, Tcp::acceptor acceptor);
boost::asio::awaitable<void> serve_udp(Session& session, Udp::socket socket);

}  // namespace wizloop::peers::iperf2
