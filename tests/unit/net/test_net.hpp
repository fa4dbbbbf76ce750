// What the tests of this layer share: two PCs joined by a cable, and a station made by hand whose frames are given byte
// for byte.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "sim/core/fingerprint.hpp"
#include "sim/net/lwip_host.hpp"
#include "sim/net/observers.hpp"
#include "sim/net/udp_port.hpp"
#include "sim/wire/arp.hpp"
#include "sim/wire/tcp.hpp"
#include "sim/wire/udp.hpp"

namespace wizloop::net {

inline constexpr wire::MacAddress board_mac = {0x02, 0, 0, 0, 0, 0x01};
inline constexpr wire::MacAddress pc_mac = {0x02, 0, 0, 0, 0, 0x02};
inline constexpr wire::Ipv4Address board_ip = wire::ipv4(192, 168, 1, 2);
inline constexpr wire::Ipv4Address pc_ip = wire::ipv4(192, 168, 1, 10);
inline constexpr Frequency fast_ethernet{100'000'000};

inline std::unique_ptr<LwipHost> make_host(EventQueue& queue, wire::FramePool& pool, const HostConfig& config) {
  auto host = LwipHost::create(queue, pool, config);
  if (!host) {
    ADD_FAILURE() << host.error().message;
    std::abort();
  }
  return std::move(host).value();
}

// Keeps when each frame started, from which end, and its bytes.
class FrameLog final : public LinkObserver {
 public:
  struct Entry {
    End from;
    Instant start;
    std::vector<std::uint8_t> bytes;
  };
  void on_frame(End from, Instant start, const wire::Frame& frame) override {
    entries.push_back({from, start, {frame.data().begin(), frame.data().end()}});
  }
  std::vector<Entry> entries;
};

struct TcpSegment {
  wire::TcpHeader header;
  std::size_t payload_bytes;
};

inline std::optional<TcpSegment> tcp_in(Bytes frame) {
  const auto ethernet = wire::EthernetHeader::parse(frame);
  if (!ethernet || ethernet->type != wire::type_ipv4) return std::nullopt;
  const Bytes packet = frame.subspan(wire::ethernet_header_bytes);
  const auto ip = wire::Ipv4Header::parse(packet);
  if (!ip || ip->protocol != wire::protocol_tcp) return std::nullopt;
  const Bytes segment = packet.subspan(ip->header_bytes, ip->total_length - ip->header_bytes);
  const auto tcp = wire::TcpHeader::parse(*ip, segment);
  if (!tcp) return std::nullopt;
  return TcpSegment{*tcp, segment.size() - tcp->header_bytes};
}

struct UdpDatagram {
  wire::MacAddress destination;
  wire::Ipv4Header ip;
  wire::UdpHeader header;
  std::vector<std::uint8_t> payload;
};

inline std::optional<UdpDatagram> udp_in(Bytes frame) {
  const auto ethernet = wire::EthernetHeader::parse(frame);
  if (!ethernet || ethernet->type != wire::type_ipv4) return std::nullopt;
  const Bytes packet = frame.subspan(wire::ethernet_header_bytes);
  const auto ip = wire::Ipv4Header::parse(packet);
  if (!ip || ip->protocol != wire::protocol_udp) return std::nullopt;
  const Bytes message = packet.subspan(ip->header_bytes, ip->total_length - ip->header_bytes);
  const auto udp = wire::UdpHeader::parse(*ip, message);
  if (!udp) return std::nullopt;
  const Bytes payload = message.subspan(wire::UdpHeader::bytes, udp->length - wire::UdpHeader::bytes);
  return UdpDatagram{ethernet->destination, *ip, *udp, {payload.begin(), payload.end()}};
}

// Two PCs on one cable: `board` at the board's end, `pc` at the host's end.
struct TwoHosts {
  explicit TwoHosts(const PeerProfile& pc_profile = {}, const LinkProfile& link_profile = {},
                    const PeerProfile& board_profile = {.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms})
      : link{queue, Random{7}, link_profile},
        board{make_host(queue, pool, {.mac = board_mac, .ip = board_ip, .profile = board_profile, .seed = 1})},
        pc{make_host(queue, pool, {.mac = pc_mac, .ip = pc_ip, .profile = pc_profile, .seed = 2})} {
    board->plug_into(link, End::board);
    pc->plug_into(link, End::host);
    link.observe(fingerprinter);
  }

  void run(Duration duration) { queue.advance_to(queue.now() + duration); }

  wire::FramePool pool;
  EventQueue queue;
  Fingerprint fingerprint;
  FingerprintObserver fingerprinter{fingerprint};
  Link link;
  std::unique_ptr<LwipHost> board;
  std::unique_ptr<LwipHost> pc;
};

// A PC, and at the board's end a station that answers ARP and otherwise does what the test tells it.
struct HostAndStation : wire::FrameSink {
  explicit HostAndStation(const PeerProfile& pc_profile, std::uint64_t pc_seed = 2)
      : link{queue, Random{7}, {}},
        pc{make_host(queue, pool, {.mac = pc_mac, .ip = pc_ip, .profile = pc_profile, .seed = pc_seed})} {
    link.attach(End::board, *this);
    pc->plug_into(link, End::host);
    link.observe(log);
  }

  void accept(wire::FramePtr frame, Instant /*at*/) override {
    const auto ethernet = wire::EthernetHeader::parse(frame->data());
    if (ethernet->type == wire::type_arp) {
      const auto arp = wire::Arp::parse(frame->data().subspan(wire::ethernet_header_bytes));
      if (arp->operation == wire::Arp::Operation::request && arp->target_ip == board_ip) {
        send_arp({wire::Arp::Operation::reply, board_mac, board_ip, arp->sender_mac, arp->sender_ip});
      }
    } else if (const auto segment = tcp_in(frame->data())) {
      segments.push_back({*segment, queue.now()});
      if (on_segment) on_segment(*segment);
    } else if (auto datagram = udp_in(frame->data())) {
      datagrams.push_back({std::move(*datagram), queue.now()});
    }
  }

  void run(Duration duration) { queue.advance_to(queue.now() + duration); }

  Instant send(wire::FramePtr frame) {
    const Instant start = std::max(queue.now(), free_at_);
    free_at_ = start + wire::time_on_wire(frame->size, fast_ethernet) + wire::inter_packet_gap(fast_ethernet);
    link.transmitter(End::board).accept(std::move(frame), start);
    return start;
  }

  void send_arp(const wire::Arp& arp) {
    wire::FramePtr frame = pool.take();
    frame->size = wire::ethernet_header_bytes + wire::Arp::bytes;
    const bool request = arp.operation == wire::Arp::Operation::request;
    wire::EthernetHeader{request ? wire::broadcast_mac : arp.target_mac, board_mac, wire::type_arp}.emit(
        frame->bytes.data());
    arp.emit(frame->bytes.data() + wire::ethernet_header_bytes);
    send(std::move(frame));
  }

  // Returns when its last bit is in.
  Instant send_tcp(const wire::TcpHeader& header, std::size_t payload_bytes = 0) {
    wire::FramePtr frame = pool.take();
    const std::size_t segment_bytes = header.emitted_header_bytes() + payload_bytes;
    frame->size = wire::ethernet_header_bytes + wire::Ipv4Header::bytes + segment_bytes;
    std::uint8_t* at = frame->bytes.data();
    wire::EthernetHeader{pc_mac, board_mac, wire::type_ipv4}.emit(at);
    at += wire::ethernet_header_bytes;
    wire::Ipv4Header{.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::bytes + segment_bytes),
                     .protocol = wire::protocol_tcp,
                     .source = board_ip,
                     .destination = pc_ip}
        .emit(at);
    at += wire::Ipv4Header::bytes;
    std::fill_n(at + header.emitted_header_bytes(), payload_bytes, std::uint8_t{0});
    header.emit(board_ip, pc_ip, {at, segment_bytes});
    const std::size_t size = frame->size;
    return send(std::move(frame)) + wire::time_on_wire(size, fast_ethernet);
  }

  // To the PC's MAC if `to.ip` is its address, else as a broadcast. Returns when its last bit is in.
  Instant send_udp(const UdpPort::Address& from, const UdpPort::Address& to, Bytes payload) {
    wire::FramePtr frame = pool.take();
    const std::size_t message_bytes = wire::UdpHeader::bytes + payload.size();
    frame->size = wire::ethernet_header_bytes + wire::Ipv4Header::bytes + message_bytes;
    std::uint8_t* at = frame->bytes.data();
    wire::EthernetHeader{to.ip == pc_ip ? pc_mac : wire::broadcast_mac, board_mac, wire::type_ipv4}.emit(at);
    at += wire::ethernet_header_bytes;
    wire::Ipv4Header{.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::bytes + message_bytes),
                     .protocol = wire::protocol_udp,
                     .source = from.ip,
                     .destination = to.ip}
        .emit(at);
    at += wire::Ipv4Header::bytes;
    std::copy(payload.begin(), payload.end(), at + wire::UdpHeader::bytes);
    wire::UdpHeader{.source_port = from.port, .destination_port = to.port}.emit(from.ip, to.ip, {at, message_bytes});
    const std::size_t size = frame->size;
    return send(std::move(frame)) + wire::time_on_wire(size, fast_ethernet);
  }

  struct Seen {
    TcpSegment segment;
    Instant at;  // its last bit
  };
  struct SeenDatagram {
    UdpDatagram datagram;
    Instant at;  // its last bit
  };

  wire::FramePool pool;
  EventQueue queue;
  FrameLog log;
  Link link;
  std::unique_ptr<LwipHost> pc;
  std::vector<Seen> segments;           // from the PC
  std::vector<SeenDatagram> datagrams;  // from the PC
  std::function<void(const TcpSegment&)> on_segment;

 private:
  Instant free_at_{};
};

}  // namespace wizloop::net
