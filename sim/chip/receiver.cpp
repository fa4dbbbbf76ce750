#include "sim/chip/receiver.hpp"

#include <algorithm>
#include <array>
#include <tuple>

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
  const bool taken = is_for_stack(ethernet->destination) && offer_to_stack(*ethernet, frame, arrived);
  if (!taken) offer_to_macraw(*ethernet, frame);
}

bool Receiver::is_for_stack(const wire::MacAddress& destination) const {
  return destination == context_.common.shar() || destination == wire::broadcast_mac ||
         (wire::is_multicast(destination) && has_group_member());
}

bool Receiver::has_group_member() const {
  for (int n = 0; n < socket_count; ++n) {
    if (engine_.socket(n).group.member()) return true;
  }
  return false;
}

// A frame that a socket of its own has taken is not given to MACRAW; what the stack answers by itself is.
bool Receiver::offer_to_stack(const wire::EthernetHeader& ethernet, Bytes frame, Instant arrived) {
  const Bytes payload = frame.subspan(wire::ethernet_header_bytes);
  if (ethernet.type == wire::type_arp) on_arp(ethernet, payload, arrived);
  return ethernet.type == wire::type_ipv4 && on_ipv4(ethernet, payload, arrived);
}

void Receiver::offer_to_macraw(const wire::EthernetHeader& ethernet, Bytes frame) {
  Socket* socket = engine_.macraw();
  if (socket == nullptr) return;
  const MacrawFilter filter{socket->macraw_filter(sn_mr::MFEN), socket->macraw_filter(sn_mr::BCASTB),
                            socket->macraw_filter(sn_mr::MMB), socket->macraw_filter(sn_mr::MIP6B)};
  if (filter.passes(ethernet, context_.common.shar(), context_.quirks)) engine_.on_raw_frame(*socket, frame);
}

// Beside an open MACRAW socket the host may well have a stack of its own.
bool Receiver::stack_answers(Answer answer) {
  if (engine_.macraw() == nullptr) return true;
  switch (context_.quirks.choice<StackBesideMacraw>(Quirk::stack_beside_macraw)) {
    case StackBesideMacraw::arp_and_ping:
      return answer == Answer::arp_or_ping;
    case StackBesideMacraw::everything:
      return true;
    case StackBesideMacraw::nothing:
      break;
  }
  return false;
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
  const Instant header_in = at + engine_.bit_rate().periods(8 * (wire::preamble_bytes + headers));
  context_.events.schedule_at(header_in, [this, to = ip->destination, port, payload_bytes] {
    const Socket* socket = socket_for_datagram(to, port);
    room_at_header_ = socket == nullptr || engine_.has_room(*socket, payload_bytes);
  });
}

void Receiver::on_arp(const wire::EthernetHeader& ethernet, Bytes payload, Instant arrived) {
  const auto arp = wire::Arp::parse(payload);
  const wire::Ipv4Address own_ip = context_.common.sipr();
  if (!arp) return;
  const wire::MacAddress own_mac = context_.common.shar();
  if (arp->sender_ip == own_ip && arp->sender_mac != own_mac) {
    if (is_conflict(*arp, own_ip)) raise(ir::CONFLICT);
    return;
  }
  if (arp->operation == wire::Arp::Operation::reply) {
    engine_.on_arp_reply(*arp);
  } else if (own_ip != 0 && arp->target_ip == own_ip && stack_answers(Answer::arp_or_ping)) {
    wire::FramePtr reply = context_.frames.take();
    wire::EthernetHeader{ethernet.source, own_mac, wire::type_arp}.emit(reply->bytes.data());
    wire::Arp{wire::Arp::Operation::reply, own_mac, own_ip, arp->sender_mac, arp->sender_ip}.emit(
        &reply->bytes[wire::ethernet_header_bytes]);
    reply->size = wire::ethernet_header_bytes + wire::Arp::bytes;
    engine_.queue_reply(std::move(reply), arrived + context_.latencies.use(&Latencies::arp_to_reply));
  }
}

bool Receiver::is_conflict(const wire::Arp& arp, wire::Ipv4Address own_ip) {
  if (own_ip == 0 && context_.quirks.choice<ConflictWithoutAddress>(Quirk::conflict_without_address) ==
                         ConflictWithoutAddress::never) {
    return false;
  }
  return arp.operation != wire::Arp::Operation::reply ||
         context_.quirks.choice<ConflictByReply>(Quirk::conflict_by_reply) == ConflictByReply::reported;
}

void Receiver::raise(std::uint8_t cause) {
  context_.common[common::IR] |= cause;
  context_.latest_causes.set(cause, context_.queue.now());
  listener_.on_interrupts_changed();
}

bool Receiver::on_ipv4(const wire::EthernetHeader& ethernet, Bytes packet, Instant arrived) {
  const auto ip = wire::Ipv4Header::parse(packet);
  if (!ip || ip->is_fragment()) return false;
  const wire::Ipv4Address own_ip = context_.common.sipr();
  const bool to_us = own_ip != 0 && ip->destination == own_ip;
  const bool to_many = context_.common.is_own_broadcast(ip->destination) || wire::is_multicast(ip->destination);
  if (!to_us && !to_many && !(ip->protocol == wire::protocol_udp && is_before_address(ethernet, own_ip))) return false;
  packet = packet.first(ip->total_length);
  const Bytes payload = packet.subspan(ip->header_bytes);
  switch (ip->protocol) {
    case wire::protocol_udp:
      return on_udp(ethernet, *ip, packet, to_us, arrived);
    case wire::protocol_tcp:
      return to_us && on_tcp(ethernet, *ip, payload, arrived);
    case wire::protocol_igmp:
      if (const auto igmp = wire::Igmp::parse(payload)) engine_.on_group_message(*igmp, arrived);
      break;
    case wire::protocol_icmp:
      if (to_us) on_icmp(ethernet, *ip, payload, arrived);
      break;
    default:
      break;
  }
  return to_us && offer_to_ipraw(*ip, payload);
}

// A DHCP server answers by unicast, to the address that it offers, unless it was asked to broadcast (RFC 2131, 4.1).
bool Receiver::is_before_address(const wire::EthernetHeader& ethernet, wire::Ipv4Address own_ip) {
  return own_ip == 0 && ethernet.destination == context_.common.shar() &&
         context_.quirks.choice<UnicastWithoutAddress>(Quirk::unicast_without_address) == UnicastWithoutAddress::taken;
}

bool Receiver::offer_to_ipraw(const wire::Ipv4Header& ip, Bytes payload) {
  for (int n = 0; n < socket_count; ++n) {
    Socket& socket = engine_.socket(n);
    if (socket.plain_status != sn_sr::IPRAW || socket.bytes[socket::Sn_PROTO] != ip.protocol) continue;
    engine_.on_ip_packet(socket, ip.source, payload);
    return true;
  }
  return false;
}

void Receiver::on_icmp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes message,
                       Instant arrived) {
  const auto icmp = wire::IcmpHeader::parse(message);
  if (!icmp) return;
  if (icmp->type == wire::IcmpHeader::echo_request && icmp->code == 0) {
    if (context_.common.mode(mr::PB) || !is_answerable(message) || !stack_answers(Answer::arp_or_ping)) return;
    wire::FramePtr reply = context_.frames.take();
    const MutableBytes answer{&reply->bytes[ip_payload_at], message.size()};
    std::copy(message.begin(), message.end(), answer.begin());
    wire::IcmpHeader{wire::IcmpHeader::echo_reply, 0, icmp->identifier, icmp->sequence}.emit(answer);
    const Duration latency =
        context_.latencies.use(&Latencies::ping_to_reply) +
        context_.latencies.use(&Latencies::ping_to_reply_per_byte) * static_cast<std::int64_t>(ip.total_length);
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
    raise(ir::UNREACH);
  }
}

bool Receiver::is_answerable(Bytes echo_request) {
  constexpr std::size_t certain = 512;  // data bytes; the largest that one frame carries is 1472
  return echo_request.size() <= wire::IcmpHeader::bytes + certain ||
         context_.quirks.choice<LargestPing>(Quirk::largest_ping) == LargestPing::data_1472;
}

bool Receiver::on_udp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes packet, bool to_us,
                      Instant arrived) {
  const Bytes message = packet.subspan(ip.header_bytes);
  const auto udp = wire::UdpHeader::parse(ip, message);
  if (!udp) return false;
  const Bytes payload = message.subspan(wire::UdpHeader::bytes, udp->length - wire::UdpHeader::bytes);
  if (context_.common.mode(mr::WOL) && is_magic(payload)) raise(ir::MP);
  if (Socket* socket = socket_for_datagram(ip.destination, udp->destination_port)) {
    engine_.on_datagram(*socket, ip.source, udp->source_port, payload, room_for_datagram_);
    return true;
  }
  if (!to_us) return false;
  if (offer_to_ipraw(ip, message)) return true;
  if (stack_answers(Answer::refusal) &&
      context_.quirks.choice<PortUnreachable>(Quirk::port_unreachable) == PortUnreachable::sent) {
    reply_unreachable(ethernet, ip, packet, arrived);
  }
  return false;
}

// Wake on LAN (datasheet 4.1, MR.WOL): with a UDP socket open, whatever its port, six bytes FF and SHAR sixteen times.
bool Receiver::is_magic(Bytes payload) const {
  constexpr std::size_t lead = 6;
  constexpr std::size_t repeats = 16;
  bool listens = false;
  for (int n = 0; n < socket_count; ++n) listens = listens || engine_.socket(n).plain_status == sn_sr::UDP;
  if (!listens) return false;
  std::array<std::uint8_t, lead + repeats * std::tuple_size_v<wire::MacAddress>> magic;
  const wire::MacAddress own = context_.common.shar();
  std::fill_n(magic.begin(), lead, std::uint8_t{0xFF});
  for (std::size_t i = 0; i < repeats; ++i) std::copy(own.begin(), own.end(), &magic[lead + i * own.size()]);
  return std::search(payload.begin(), payload.end(), magic.begin(), magic.end()) != payload.end();
}

Socket* Receiver::socket_for_datagram(wire::Ipv4Address to, std::uint16_t port) {
  const bool to_broadcast = context_.common.is_own_broadcast(to);
  const bool to_group = !to_broadcast && wire::is_multicast(to);
  for (int n = 0; n < socket_count; ++n) {
    Socket& socket = engine_.socket(n);
    if (socket.plain_status != sn_sr::UDP || socket.port() != port) continue;
    const bool blocked = to_broadcast ? socket.mode(sn_mr::BCASTB)
                         : to_group   ? !socket.group.member() || socket.group.group() != to
                                      : socket.group.member() && socket.mode(sn_mr::UCASTB);
    if (!blocked) return &socket;
  }
  return nullptr;
}

bool Receiver::on_tcp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes segment,
                      Instant arrived) {
  const auto tcp = TcpHeader::parse(ip, segment);
  if (!tcp) return false;
  const Bytes payload = segment.subspan(tcp->header_bytes);
  Socket* listener = nullptr;
  bool is_answering = false;  // a listener that has just answered somebody else's SYN
  for (int n = 0; n < socket_count; ++n) {
    Socket& socket = engine_.socket(n);
    const std::uint8_t status = socket.tcp.status();
    if (socket.port() != tcp->destination_port || status < sn_sr::LISTEN) continue;
    if (status == sn_sr::LISTEN) {
      if (listener == nullptr) listener = &socket;
    } else if (socket.dipr() == ip.source && socket.dport() == tcp->source_port) {
      if (!engine_.on_tcp_segment(socket, *tcp, payload, arrived)) refuse(ethernet, ip, *tcp, payload.size(), arrived);
      return true;
    } else if (status == sn_sr::SYNRECV) {
      is_answering = true;
    }
  }
  const bool opens = (tcp->flags & (TcpHeader::syn | TcpHeader::ack | TcpHeader::rst)) == TcpHeader::syn;
  if (listener != nullptr && opens) {
    engine_.on_syn(*listener, *tcp, ip.source, ethernet.source, arrived);
    return true;
  }
  if (offer_to_ipraw(ip, segment)) return true;
  const bool keeps_silent =
      is_answering && opens &&
      context_.quirks.choice<SecondSynInSynrecv>(Quirk::second_syn_in_synrecv) == SecondSynInSynrecv::ignored;
  if (!keeps_silent && stack_answers(Answer::refusal)) refuse(ethernet, ip, *tcp, payload.size(), arrived);
  return false;
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
             arrived + context_.latencies.use(&Latencies::segment_to_ack));
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
             arrived + context_.latencies.use(&Latencies::ping_to_reply));
}

void Receiver::send_reply(wire::FramePtr frame, const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip,
                          std::uint8_t protocol, std::size_t payload_bytes, Instant ready) {
  // To the MAC that the packet came from: no ARP (sibling W5100, forum.wiznet.io topic 4245).
  wire::EthernetHeader{ethernet.source, context_.common.shar(), wire::type_ipv4}.emit(frame->bytes.data());
  wire::Ipv4Header header;
  header.ttl = reply_ttl;
  header.flags_and_fragment = dont_fragment;
  header.identification = context_.next_identification(context_.ip_identification);
  header.protocol = protocol;
  header.source = ip.destination;
  header.destination = ip.source;
  header.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::bytes + payload_bytes);
  header.emit(&frame->bytes[wire::ethernet_header_bytes]);
  frame->size = ip_payload_at + payload_bytes;
  engine_.queue_reply(std::move(frame), ready);
}

}  // namespace wizloop::chip
