#include "sim/chip/receiver.hpp"

#include <algorithm>

#include "sim/wire/icmp.hpp"
#include "sim/wire/udp.hpp"

namespace wizloop::chip {
namespace {

using wire::TcpHeader;

constexpr std::size_t ip_payload_at = wire::ethernet_header_bytes + wire::Ipv4Header::bytes;
constexpr std::uint8_t reply_ttl = 128;
constexpr std::uint16_t dont_fragment = 0x4000;

}  // namespace

void Receiver::on_frame(Bytes frame, Instant arrived, bool room_for_datagram) {
  room_for_datagram_ = room_for_datagram;
  const auto ethernet = wire::EthernetHeader::parse(frame);
  if (!ethernet) return;
  if (ethernet->destination != context_.common.shar() && ethernet->destination != wire::broadcast_mac) return;
  const Bytes payload = frame.subspan(wire::ethernet_header_bytes);
  if (ethernet->type == wire::type_arp) {
    on_arp(*ethernet, payload, arrived);
  } else if (ethernet->type == wire::type_ipv4) {
    on_ipv4(*ethernet, payload, arrived);
  }
}

void Receiver::on_frame_begins(Bytes frame, Instant at) {
  constexpr std::size_t headers = ip_payload_at + wire::UdpHeader::bytes;
  room_at_header_ = true;
  if (frame.size() < headers || load16(&frame[12]) != wire::type_ipv4) return;
  const auto ip = wire::Ipv4Header::parse(frame.subspan(wire::ethernet_header_bytes));
  if (!ip || ip->protocol != wire::protocol_udp ||
      frame.size() < headers + ip->header_bytes - wire::Ipv4Header::bytes) {
    return;
  }
  const std::uint8_t* udp = &frame[wire::ethernet_header_bytes + ip->header_bytes];
  const std::uint16_t port = load16(udp + 2);
  if (load16(udp + 4) < wire::UdpHeader::bytes) return;
  const std::size_t payload_bytes = load16(udp + 4) - wire::UdpHeader::bytes;
  const bool to_broadcast = context_.common.is_own_broadcast(ip->destination);
  const Instant header_in = at + engine_.bit_rate().periods(8 * (wire::preamble_bytes + headers));
  context_.queue.schedule_at(header_in, [this, to_broadcast, port, payload_bytes] {
    const Socket* socket = socket_for_datagram(to_broadcast, port);
    room_at_header_ = socket == nullptr || engine_.has_room(*socket, payload_bytes);
  });
}

void Receiver::on_arp(const wire::EthernetHeader& ethernet, Bytes payload, Instant arrived) {
  const auto arp = wire::Arp::parse(payload);
  if (!arp) return;
  const wire::Ipv4Address own_ip = context_.common.sipr();
  const wire::MacAddress own_mac = context_.common.shar();
  if (own_ip != 0 && arp->sender_ip == own_ip && arp->sender_mac != own_mac) {
    context_.common[common::IR] |= ir::CONFLICT;
    listener_.on_interrupts_changed();
    return;
  }
  if (arp->operation == wire::Arp::Operation::reply) {
    engine_.on_arp_reply(*arp);
  } else if (own_ip != 0 && arp->target_ip == own_ip) {
    wire::FramePtr reply = context_.frames.take();
    wire::EthernetHeader{ethernet.source, own_mac, wire::type_arp}.emit(reply->bytes.data());
    wire::Arp{wire::Arp::Operation::reply, own_mac, own_ip, arp->sender_mac, arp->sender_ip}.emit(
        &reply->bytes[wire::ethernet_header_bytes]);
    reply->size = wire::ethernet_header_bytes + wire::Arp::bytes;
    engine_.queue_reply(std::move(reply), arrived + context_.latencies.arp_to_reply);
  }
}

void Receiver::on_ipv4(const wire::EthernetHeader& ethernet, Bytes packet, Instant arrived) {
  const auto ip = wire::Ipv4Header::parse(packet);
  if (!ip || ip->is_fragment()) return;
  const bool to_broadcast = context_.common.is_own_broadcast(ip->destination);
  const wire::Ipv4Address own_ip = context_.common.sipr();
  if (!to_broadcast && (own_ip == 0 || ip->destination != own_ip)) return;
  packet = packet.first(ip->total_length);
  const Bytes payload = packet.subspan(ip->header_bytes);
  switch (ip->protocol) {
    case wire::protocol_icmp:
      if (!to_broadcast) on_icmp(ethernet, *ip, payload, arrived);
      break;
    case wire::protocol_udp:
      on_udp(ethernet, *ip, packet, arrived);
      break;
    case wire::protocol_tcp:
      if (!to_broadcast) on_tcp(ethernet, *ip, payload, arrived);
      break;
    default:
      break;
  }
}

void Receiver::on_icmp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes message,
                       Instant arrived) {
  const auto icmp = wire::IcmpHeader::parse(message);
  if (!icmp) return;
  if (icmp->type == wire::IcmpHeader::echo_request && icmp->code == 0 && !context_.common.mode(mr::PB)) {
    wire::FramePtr reply = context_.frames.take();
    const MutableBytes answer{&reply->bytes[ip_payload_at], message.size()};
    std::copy(message.begin(), message.end(), answer.begin());
    wire::IcmpHeader{wire::IcmpHeader::echo_reply, 0, icmp->identifier, icmp->sequence}.emit(answer);
    const Duration latency = context_.latencies.ping_to_reply +
                             context_.latencies.ping_to_reply_per_byte * static_cast<std::int64_t>(ip.total_length);
    send_reply(std::move(reply), ethernet, ip, wire::protocol_icmp, message.size(), arrived + latency);
  } else if (icmp->type == wire::IcmpHeader::destination_unreachable &&
             icmp->code == wire::IcmpHeader::code_port_unreachable) {
    // The destination of the datagram that caused it, quoted behind the ICMP header: IP header and eight bytes.
    const Bytes quoted = message.subspan(wire::IcmpHeader::bytes);
    if (quoted.size() < wire::Ipv4Header::bytes + 4) return;
    const std::size_t transport_at = static_cast<std::size_t>(quoted[0] & 0x0F) * 4;
    if (transport_at < wire::Ipv4Header::bytes || quoted.size() < transport_at + 4) return;
    std::copy_n(&quoted[16], 4, &context_.common[common::UIPR]);
    std::copy_n(&quoted[transport_at + 2], 2, &context_.common[common::UPORTR]);
    context_.common[common::IR] |= ir::UNREACH;
    listener_.on_interrupts_changed();
  }
}

void Receiver::on_udp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes packet, Instant arrived) {
  const Bytes message = packet.subspan(ip.header_bytes);
  const auto udp = wire::UdpHeader::parse(ip, message);
  if (!udp) return;
  const bool to_broadcast = context_.common.is_own_broadcast(ip.destination);
  if (Socket* socket = socket_for_datagram(to_broadcast, udp->destination_port)) {
    engine_.on_datagram(*socket, ip.source, udp->source_port,
                        message.subspan(wire::UdpHeader::bytes, udp->length - wire::UdpHeader::bytes),
                        room_for_datagram_);
  } else if (!to_broadcast) {
    reply_unreachable(ethernet, ip, packet, arrived);
  }
}

Socket* Receiver::socket_for_datagram(bool to_broadcast, std::uint16_t port) {
  for (int n = 0; n < socket_count; ++n) {
    Socket& socket = engine_.socket(n);
    if (socket.status() != sn_sr::UDP || socket.port() != port) continue;
    if (!to_broadcast || !socket.mode(sn_mr::BCASTB)) return &socket;
  }
  return nullptr;
}

void Receiver::on_tcp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes segment,
                      Instant arrived) {
  const auto tcp = TcpHeader::parse(ip, segment);
  if (!tcp) return;
  const Bytes payload = segment.subspan(tcp->header_bytes);
  Socket* listener = nullptr;
  for (int n = 0; n < socket_count; ++n) {
    Socket& socket = engine_.socket(n);
    const std::uint8_t status = socket.tcp.status();
    if (socket.port() != tcp->destination_port || status < sn_sr::LISTEN) continue;
    if (status == sn_sr::LISTEN) {
      if (listener == nullptr) listener = &socket;
    } else if (socket.dipr() == ip.source && socket.dport() == tcp->source_port) {
      if (!engine_.on_tcp_segment(socket, *tcp, payload, arrived)) refuse(ethernet, ip, *tcp, payload.size(), arrived);
      return;
    }
  }
  if (listener != nullptr && (tcp->flags & (TcpHeader::syn | TcpHeader::ack | TcpHeader::rst)) == TcpHeader::syn) {
    engine_.on_syn(*listener, *tcp, ip.source, ethernet.source, arrived);
  } else {
    refuse(ethernet, ip, *tcp, payload.size(), arrived);
  }
}

void Receiver::refuse(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, const TcpHeader& segment,
                      std::size_t payload_bytes, Instant arrived) {
  if (segment.has(TcpHeader::rst)) return;
  TcpHeader reset;  // RFC 9293 3.10.7.1
  reset.source_port = segment.destination_port;
  reset.destination_port = segment.source_port;
  if (segment.has(TcpHeader::ack)) {
    reset.flags = TcpHeader::rst;
    reset.sequence = segment.acknowledgment;
  } else {
    reset.flags = TcpHeader::rst | TcpHeader::ack;
    reset.acknowledgment = segment.sequence + static_cast<std::uint32_t>(payload_bytes) +
                           (segment.has(TcpHeader::syn) ? 1U : 0U) + (segment.has(TcpHeader::fin) ? 1U : 0U);
  }
  wire::FramePtr frame = context_.frames.take();
  reset.emit(ip.destination, ip.source, {&frame->bytes[ip_payload_at], TcpHeader::bytes});
  send_reply(std::move(frame), ethernet, ip, wire::protocol_tcp, TcpHeader::bytes,
             arrived + context_.latencies.segment_to_ack);
}

void Receiver::reply_unreachable(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes packet,
                                 Instant arrived) {
  wire::FramePtr frame = context_.frames.take();
  const std::size_t quoted = std::min(packet.size(), ip.header_bytes + 8);
  const MutableBytes message{&frame->bytes[ip_payload_at], wire::IcmpHeader::bytes + quoted};
  std::copy_n(packet.begin(), quoted, message.begin() + wire::IcmpHeader::bytes);
  wire::IcmpHeader{wire::IcmpHeader::destination_unreachable, wire::IcmpHeader::code_port_unreachable, 0, 0}.emit(
      message);
  send_reply(std::move(frame), ethernet, ip, wire::protocol_icmp, message.size(),
             arrived + context_.latencies.ping_to_reply);
}

void Receiver::send_reply(wire::FramePtr frame, const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip,
                          std::uint8_t protocol, std::size_t payload_bytes, Instant ready) {
  // To the MAC that the packet came from: no ARP (sibling, F4245).
  wire::EthernetHeader{ethernet.source, context_.common.shar(), wire::type_ipv4}.emit(frame->bytes.data());
  wire::Ipv4Header header;
  header.ttl = reply_ttl;
  header.flags_and_fragment = dont_fragment;
  header.identification = context_.ip_identification++;
  header.protocol = protocol;
  header.source = ip.destination;
  header.destination = ip.source;
  header.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::bytes + payload_bytes);
  header.emit(&frame->bytes[wire::ethernet_header_bytes]);
  frame->size = ip_payload_at + payload_bytes;
  engine_.queue_reply(std::move(frame), ready);
}

}  // namespace wizloop::chip
