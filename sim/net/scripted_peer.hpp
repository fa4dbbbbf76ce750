// A remote host without a stack: it sends the frames of a script at stated instants, and keeps what comes, with the
// instant of each first bit, so that a test can expect frames at instants, and silence. Beside that it can answer ARP
// and play one side of a TCP connection (ScriptedConnection), so that a test begins where it matters.
//
//   ScriptedPeer peer{queue, frames, {.mac = ..., .ip = ...}};
//   peer.plug_into(link, End::host);
//   peer.talk_to({board_mac, board_ip});
//   peer.send_at(Instant{5ms}, peer.udp(1111, 5000, {1, 2, 3}));
//   queue.advance_to(Instant{10ms});
//   EXPECT_EQ(peer.expect(Instant{6ms}, {.kind = Kind::udp, .destination_port = 1111}), "");
//   EXPECT_EQ(peer.expect_silence(), "");
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/net/host.hpp"
#include "sim/wire/arp.hpp"
#include "sim/wire/icmp.hpp"
#include "sim/wire/tcp.hpp"
#include "sim/wire/udp.hpp"

namespace wizloop::net {

// A frame that reached the peer. The views hold only for frames of their kind.
struct SeenFrame {
  Instant at;  // first preamble bit, at the peer's end of the cable
  Instant last_bit;
  std::vector<std::uint8_t> bytes;  // padding included

  enum class Kind : std::uint8_t { arp, tcp, udp, icmp, igmp, other_ip, other };
  Kind kind() const;

  wire::EthernetHeader ethernet() const { return wire::EthernetHeader::parse(bytes).value(); }
  wire::Arp arp() const { return wire::Arp::parse(body()).value(); }
  wire::Ipv4Header ip() const { return wire::Ipv4Header::parse(body()).value(); }
  Bytes ip_payload() const;
  wire::TcpHeader tcp() const { return wire::TcpHeader::parse(ip(), ip_payload()).value(); }
  wire::UdpHeader udp() const { return wire::UdpHeader::parse(ip(), ip_payload()).value(); }
  // The data of a TCP segment, a UDP datagram or an ICMP message.
  std::vector<std::uint8_t> data() const;

  // One line: "0.000012340000 tcp 5000>40000 [SYN ACK] seq=1 ack=1001 win=2048 mss=1460 data=0".
  std::string text() const;

 private:
  Bytes body() const { return Bytes{bytes}.subspan(wire::ethernet_header_bytes); }
};

// What a frame should look like; what is left out may be anything.
struct FramePattern {
  SeenFrame::Kind kind;
  std::optional<std::uint8_t> flags{};  // TCP: all of them
  std::optional<std::uint32_t> sequence{};
  std::optional<std::uint32_t> acknowledgment{};
  std::optional<std::uint16_t> window{};
  std::optional<std::uint16_t> mss{};               // TCP: the option; 0: none
  std::optional<std::uint16_t> source_port{};       // TCP, UDP
  std::optional<std::uint16_t> destination_port{};  // TCP, UDP
  std::optional<std::size_t> data_bytes{};          // TCP, UDP, ICMP
  std::optional<wire::Ipv4Address> target{};        // ARP: whom it asks for
};

// The other end as the peer's frames address it.
struct Station {
  wire::MacAddress mac{};
  wire::Ipv4Address ip = 0;
};

class ScriptedPeer final : public Host, private wire::FrameSink {
 public:
  ScriptedPeer(EventQueue& queue, wire::FramePool& frames, const HostConfig& config);
  ScriptedPeer(const ScriptedPeer&) = delete;
  ScriptedPeer& operator=(const ScriptedPeer&) = delete;

  void plug_into(Link& link, End end) override;
  const HostConfig& config() const override { return config_; }
  const HostCounters& counters() const override { return counters_; }

  // Whom udp(), tcp() and so on are for.
  void talk_to(const Station& board) { board_ = board; }
  // Answers requests for its own address from now on, the profile's turnaround after their last bit; or no longer.
  void answer_arp(bool answers) { answers_arp_ = answers; }

  // What goes out. A frame starts at `first_bit`, or as soon after it as the line is free. One with a bad FCS is not
  // padded: a short one is what a collision leaves of a frame.
  void send_at(Instant first_bit, Bytes frame, bool fcs_good = true);
  // Now; returns the instant at which its last bit will have gone out.
  Instant send(Bytes frame, bool fcs_good = true);
  // The same for a frame that is too short, as it is and with a good FCS: what no MAC that works sends.
  Instant send_runt(Bytes frame);

  // Frames of the peer's own for the station that it talks to.
  using Octets = std::vector<std::uint8_t>;
  struct IpOptions {
    std::optional<wire::Ipv4Address> source{}, destination{};
    std::optional<wire::MacAddress> destination_mac{};
    std::uint16_t flags_and_fragment = 0x4000;
    std::size_t option_bytes = 0;  // no-operation options, a multiple of 4
  };
  Octets ethernet(const wire::MacAddress& destination, std::uint16_t type, Bytes payload) const;
  Octets arp(wire::Arp::Operation operation, wire::Ipv4Address target) const;
  Octets arp(wire::Arp::Operation operation, const Station& sender, wire::Ipv4Address target) const;
  Octets ip(std::uint8_t protocol, Bytes payload, const IpOptions& options) const;
  Octets udp(std::uint16_t source_port, std::uint16_t destination_port, Bytes data) const;
  Octets udp(std::uint16_t source_port, std::uint16_t destination_port, Bytes data, const IpOptions& options) const;
  Octets tcp(const wire::TcpHeader& header, Bytes data = {}) const;
  Octets ping(std::uint16_t identifier, std::uint16_t sequence, Bytes data) const;

  // What came in: everything since forget(), and what no expectation has taken yet.
  const std::vector<SeenFrame>& seen() const { return seen_; }
  void forget();
  // Takes the next frame; null if none has come.
  const SeenFrame* next();
  // Takes the next frame and says how it differs; empty if it does not. `tolerance` either way, for what cannot be
  // exact.
  std::string expect(const FramePattern& pattern);
  std::string expect(Instant at, const FramePattern& pattern, Duration tolerance = {});
  // Empty if no frame is left.
  std::string expect_silence() const;

  Instant now() const { return queue_.now(); }

 private:
  void accept(wire::FramePtr frame, Instant at) override;
  Instant put_on_cable(wire::FramePtr frame);
  static std::string differences(const SeenFrame& frame, const FramePattern& pattern);

  EventQueue& queue_;
  wire::FramePool& frames_;
  HostConfig config_;
  HostCounters counters_;
  Station board_;
  wire::FrameSink* cable_ = nullptr;
  const Link* link_ = nullptr;
  Instant line_free_at_ = Instant::min();
  bool answers_arp_ = false;
  DelayLine script_;  // frames that wait for their instant
  std::vector<SeenFrame> seen_;
  std::size_t taken_ = 0;
};

// The peer's end of one TCP connection (RFC 9293): numbers its segments and knows what the board has sent so far, but
// does nothing by itself.
class ScriptedConnection {
 public:
  static constexpr std::uint32_t default_iss = 1000;

  ScriptedConnection(ScriptedPeer& peer, std::uint16_t own_port, std::uint16_t board_port,
                     std::uint32_t iss = default_iss)
      : seq{iss + 1}, peer_{peer}, own_port_{own_port}, board_port_{board_port}, iss_{iss} {}

  std::uint32_t seq;             // what the peer sends next
  std::uint16_t window = 65535;  // what the peer advertises
  std::uint32_t board_iss = 0;   // from the board's SYN

  std::uint32_t iss() const { return iss_; }
  // The header of a segment that acknowledges `acknowledgment`.
  wire::TcpHeader header(std::uint8_t flags, std::uint32_t acknowledgment) const;

  // Each sends one segment now and returns the instant of its last bit.
  Instant syn(std::uint16_t mss = 1460);
  Instant syn_ack(std::uint16_t mss = 1460);  // to the SYN that came last
  Instant ack();                              // of everything that the board has sent
  Instant ack(std::uint32_t up_to);
  Instant data(Bytes bytes);  // advances seq
  Instant fin();              // advances seq
  Instant rst();
  Instant segment(const wire::TcpHeader& header, Bytes data = {});

  // What the board will send next, by what has come.
  std::uint32_t board_next() const;
  // Takes board_iss from the last SYN that came; false if there was none.
  bool learn_board_iss();

  // State builders. `wait` lets time pass. The board listens; or has just been told to connect, ARP included. True when
  // the handshake went through; leaves nothing to expect.
  using Wait = std::function<void(Duration)>;
  bool establish_to_listener(const Wait& wait, std::uint16_t mss = 1460);
  bool establish_from_client(const Wait& wait, std::uint16_t mss = 1460);

 private:
  ScriptedPeer& peer_;
  std::uint16_t own_port_;
  std::uint16_t board_port_;
  std::uint32_t iss_;
};

}  // namespace wizloop::net
