#include "sim/net/faulty_peer.hpp"

#include <algorithm>

namespace wizloop::net {
namespace {

using wire::TcpHeader;

constexpr std::size_t ip_at = wire::ethernet_header_bytes;
constexpr std::size_t tcp_checksum_at = 16;
constexpr std::size_t udp_checksum_at = 6;
constexpr std::size_t icmp_checksum_at = 2;
constexpr std::size_t ip_checksum_at = 10;

// Where the value of the MSS option stands in a TCP header, or null.
std::uint8_t* mss_option(MutableBytes header) {
  for (std::size_t i = TcpHeader::bytes; i + 1 < header.size();) {
    const std::uint8_t kind = header[i];
    if (kind == 0) return nullptr;
    if (kind == 1) {
      ++i;
      continue;
    }
    const std::size_t length = header[i + 1];
    if (kind == 2 && length == TcpHeader::mss_option_bytes && i + length <= header.size()) return &header[i + 2];
    i += std::max<std::size_t>(length, 2);
  }
  return nullptr;
}

}  // namespace

FaultyPeer::FaultyPeer(EventQueue& queue, wire::FramePool& frames, Faults& faults, const Target& board)
    : queue_{queue},
      frames_{frames},
      board_{board},
      rst_{faults.point(Fault::peer_rst)},
      silence_{faults.point(Fault::peer_silence)},
      zero_window_{faults.point(Fault::peer_zero_window)},
      tiny_mss_{faults.point(Fault::peer_tiny_mss)},
      bad_checksum_{faults.point(Fault::peer_bad_checksum)},
      syn_flood_{faults.point(Fault::peer_syn_flood)},
      no_arp_{faults.point(Fault::peer_no_arp)},
      flood_timer_{queue} {
  if (syn_flood_ != nullptr) flood_timer_.start_at(std::max(syn_flood_->from(), queue.now()), [this] { flood(); });
}

wire::FrameSink& FaultyPeer::before_station(wire::FrameSink& station) {
  station_ = &station;
  return hearing_;
}

wire::FrameSink& FaultyPeer::before_cable(wire::FrameSink& cable, const Link& link) {
  cable_ = &cable;
  link_ = &link;
  return speaking_;
}

void FaultyPeer::hear(wire::FramePtr frame, Instant at) {
  if (silence_ != nullptr && silence_->strikes()) return;
  if (rst_ != nullptr && frame->fcs_good) {
    const auto ethernet = wire::EthernetHeader::parse(frame->data());
    if (ethernet && ethernet->type == wire::type_ipv4) {
      const Bytes packet = frame->data().subspan(ip_at);
      const auto ip = wire::Ipv4Header::parse(packet);
      if (ip && ip->protocol == wire::protocol_tcp && !ip->is_fragment()) {
        const Bytes segment = packet.subspan(ip->header_bytes, ip->total_length - ip->header_bytes);
        const auto tcp = TcpHeader::parse(*ip, segment);
        if (tcp && !tcp->has(TcpHeader::rst) && rst_->strikes()) {
          reset(*ethernet, *ip, *tcp, segment.size() - tcp->header_bytes);
          return;
        }
      }
    }
  }
  station_->accept(std::move(frame), at);
}

void FaultyPeer::speak(wire::FramePtr frame, Instant start) {
  if (silence_ != nullptr && silence_->strikes()) return;
  const auto ethernet = wire::EthernetHeader::parse(frame->data());
  if (ethernet && ethernet->type == wire::type_arp && no_arp_ != nullptr && no_arp_->strikes()) return;
  if (ethernet && ethernet->type == wire::type_ipv4) {
    const MutableBytes packet = frame->data().subspan(ip_at);
    const auto ip = wire::Ipv4Header::parse(packet);
    if (ip && !ip->is_fragment()) {
      if (ip->protocol == wire::protocol_tcp) change_tcp(packet, *ip);
      if (bad_checksum_ != nullptr && bad_checksum_->strikes()) break_checksum(packet, *ip);
    }
  }
  put_on_cable(std::move(frame), start);
}

void FaultyPeer::change_tcp(MutableBytes packet, const wire::Ipv4Header& ip) {
  const MutableBytes segment = packet.subspan(ip.header_bytes, ip.total_length - ip.header_bytes);
  const auto header = TcpHeader::parse(ip, segment);
  if (!header) return;
  bool changed = false;
  if (zero_window_ != nullptr && zero_window_->strikes()) {
    store16(&segment[14], 0);
    changed = true;
  }
  std::uint8_t* mss = header->has(TcpHeader::syn) ? mss_option(segment.first(header->header_bytes)) : nullptr;
  if (mss != nullptr && tiny_mss_ != nullptr && tiny_mss_->strikes()) {
    store16(mss, static_cast<std::uint16_t>(tiny_mss_->number("mss")));
    changed = true;
  }
  if (!changed) return;
  store16(&segment[tcp_checksum_at], 0);
  store16(&segment[tcp_checksum_at], wire::transport_checksum(ip.source, ip.destination, ip.protocol, segment));
}

void FaultyPeer::break_checksum(MutableBytes packet, const wire::Ipv4Header& ip) {
  std::size_t at = ip_checksum_at;
  if (bad_checksum_->is("which", "transport")) {
    at = ip.header_bytes + (ip.protocol == wire::protocol_tcp   ? tcp_checksum_at
                            : ip.protocol == wire::protocol_udp ? udp_checksum_at
                                                                : icmp_checksum_at);
  }
  if (at + 1 >= packet.size()) return;
  // 0 would mean that a UDP datagram has no checksum.
  const std::uint16_t right = load16(&packet[at]);
  store16(&packet[at], right == 0x5555 ? std::uint16_t{0xAAAA} : static_cast<std::uint16_t>(right ^ 0x5555));
}

void FaultyPeer::reset(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, const TcpHeader& segment,
                       std::size_t payload_bytes) {
  TcpHeader answer;
  answer.source_port = segment.destination_port;
  answer.destination_port = segment.source_port;
  answer.flags = TcpHeader::rst;
  if (segment.has(TcpHeader::ack)) {
    answer.sequence = segment.acknowledgment;
  } else {
    const std::uint32_t taken = (segment.has(TcpHeader::syn) ? 1U : 0U) + (segment.has(TcpHeader::fin) ? 1U : 0U);
    answer.acknowledgment = segment.sequence + static_cast<std::uint32_t>(payload_bytes) + taken;
    answer.flags |= TcpHeader::ack;
  }
  send({ethernet.source, ethernet.destination, wire::type_ipv4}, ip.destination, ip.source, answer);
}

void FaultyPeer::flood() {
  flood_timer_.stop();
  if (queue_.now() >= syn_flood_->until() || syn_flood_->struck() >= syn_flood_->number("count")) return;
  syn_flood_->strike();
  constexpr wire::Ipv4Address host_part = 0xFF;
  const auto station = static_cast<std::uint8_t>(100 + syn_flood_->draw(150));
  TcpHeader syn;
  syn.source_port = static_cast<std::uint16_t>(1024 + syn_flood_->draw(60000));
  syn.destination_port = static_cast<std::uint16_t>(syn_flood_->number("port"));
  syn.sequence = static_cast<std::uint32_t>(syn_flood_->draw(std::uint64_t{1} << 32));
  syn.flags = TcpHeader::syn;
  syn.window = 65535;
  syn.mss = 1460;
  const wire::MacAddress mac = {0x02, 0x00, 0x00, 0x00, 0xFF, station};
  send({board_.mac, mac, wire::type_ipv4}, (board_.ip & ~host_part) | station, board_.ip, syn);
  flood_timer_.start(std::max<Duration>(syn_flood_->time("interval"), 1us), [this] { flood(); });
}

void FaultyPeer::send(const wire::EthernetHeader& ethernet, wire::Ipv4Address source, wire::Ipv4Address destination,
                      const TcpHeader& segment) {
  wire::FramePtr frame = frames_.take();
  const std::size_t segment_bytes = segment.emitted_header_bytes();
  frame->size = std::max(ip_at + wire::Ipv4Header::bytes + segment_bytes, wire::min_frame_bytes);
  std::fill_n(frame->bytes.begin(), frame->size, std::uint8_t{0});
  ethernet.emit(frame->bytes.data());
  wire::Ipv4Header ip;
  ip.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::bytes + segment_bytes);
  ip.protocol = wire::protocol_tcp;
  ip.source = source;
  ip.destination = destination;
  ip.emit(&frame->bytes[ip_at]);
  segment.emit(source, destination, {&frame->bytes[ip_at + wire::Ipv4Header::bytes], segment_bytes});
  put_on_cable(std::move(frame), queue_.now());
}

void FaultyPeer::put_on_cable(wire::FramePtr frame, Instant start) {
  WIZ_ASSERT(cable_ != nullptr);
  const Instant first_bit = std::max(start, cable_free_);
  const Frequency bit_rate = link_->bit_rate();
  cable_free_ = first_bit + wire::time_on_wire(frame->size, bit_rate) + wire::inter_packet_gap(bit_rate);
  cable_->accept(std::move(frame), first_bit);
}

}  // namespace wizloop::net
