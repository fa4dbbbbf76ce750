#include "sim/net/scripted_peer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "sim/wire/ipv4_text.hpp"

namespace wizloop::net {
namespace {

using wire::TcpHeader;
using Kind = SeenFrame::Kind;

constexpr std::string_view name_of(Kind kind) {
  constexpr std::string_view names[] = {"arp", "tcp", "udp", "icmp", "igmp", "ip", "frame"};
  return names[static_cast<std::size_t>(kind)];
}

std::string flags_text(std::uint8_t flags) {
  std::string text;
  constexpr std::pair<std::uint8_t, std::string_view> names[] = {{TcpHeader::syn, "SYN"}, {TcpHeader::fin, "FIN"},
                                                                 {TcpHeader::rst, "RST"}, {TcpHeader::psh, "PSH"},
                                                                 {TcpHeader::ack, "ACK"}, {TcpHeader::urg, "URG"}};
  for (const auto& [flag, name] : names) {
    if ((flags & flag) != 0) text += fmt::format("{}{}", text.empty() ? "" : " ", name);
  }
  return text;
}

std::string instant_text(Instant at) {
  const std::int64_t ps = at.time_since_epoch().count();
  return fmt::format("{}.{:012}", ps / 1'000'000'000'000, ps % 1'000'000'000'000);
}

}  // namespace

// SeenFrame ----------------------------------------------------------------------------------------------------------

Kind SeenFrame::kind() const {
  const std::uint16_t type = ethernet().type;
  if (type == wire::type_arp && wire::Arp::parse(body())) return Kind::arp;
  if (type != wire::type_ipv4) return Kind::other;
  const auto header = wire::Ipv4Header::parse(body());
  if (!header) return Kind::other;
  switch (header->protocol) {
    case wire::protocol_tcp:
      return TcpHeader::parse(*header, ip_payload()) ? Kind::tcp : Kind::other_ip;
    case wire::protocol_udp:
      return wire::UdpHeader::parse(*header, ip_payload()) ? Kind::udp : Kind::other_ip;
    case wire::protocol_icmp:
      return wire::IcmpHeader::parse(ip_payload()) ? Kind::icmp : Kind::other_ip;
    case wire::protocol_igmp:
      return Kind::igmp;
    default:
      return Kind::other_ip;
  }
}

Bytes SeenFrame::ip_payload() const {
  const wire::Ipv4Header header = ip();
  return body().first(header.total_length).subspan(header.header_bytes);
}

std::vector<std::uint8_t> SeenFrame::data() const {
  Bytes payload;
  switch (kind()) {
    case Kind::tcp:
      payload = ip_payload().subspan(tcp().header_bytes);
      break;
    case Kind::udp:
      payload = ip_payload().subspan(wire::UdpHeader::bytes);
      break;
    case Kind::icmp:
      payload = ip_payload().subspan(wire::IcmpHeader::bytes);
      break;
    case Kind::igmp:
    case Kind::other_ip:
      payload = ip_payload();
      break;
    case Kind::arp:
    case Kind::other:
      payload = body();
  }
  return {payload.begin(), payload.end()};
}

std::string SeenFrame::text() const {
  const Kind what = kind();
  std::string line = fmt::format("{} {}", instant_text(at), name_of(what));
  if (what == Kind::tcp) {
    const TcpHeader header = tcp();
    return line + fmt::format(" {}>{} [{}] seq={} ack={} win={} mss={} data={}", header.source_port,
                              header.destination_port, flags_text(header.flags), header.sequence, header.acknowledgment,
                              header.window, header.mss, data().size());
  }
  if (what == Kind::udp) {
    return line + fmt::format(" {}>{} data={}", udp().source_port, udp().destination_port, data().size());
  }
  if (what == Kind::arp) {
    const bool asks = arp().operation == wire::Arp::Operation::request;
    return line + fmt::format(" {} for {} from {}", asks ? "request" : "reply", wire::to_text(arp().target_ip),
                              wire::to_text(arp().sender_ip));
  }
  if (what == Kind::icmp) return line + fmt::format(" type={} data={}", ip_payload()[0], data().size());
  return line + fmt::format(" {} bytes", bytes.size());
}

// ScriptedPeer -------------------------------------------------------------------------------------------------------

ScriptedPeer::ScriptedPeer(EventQueue& queue, wire::FramePool& frames, const HostConfig& config)
    : queue_{queue}, frames_{frames}, config_{config}, script_{queue, [this](wire::FramePtr frame) {
                                                                 send(frame->data(), frame->fcs_good);
                                                               }} {}

void ScriptedPeer::plug_into(Link& link, End end) {
  link.attach(end, *this);
  cable_ = &link.transmitter(end);
  link_ = &link;
}

void ScriptedPeer::accept(wire::FramePtr frame, Instant at) {
  ++counters_.received;
  if (!frame->fcs_good) {
    ++counters_.bad_fcs;
    return;
  }
  const Bytes bytes = frame->data();
  seen_.push_back({at - wire::time_on_wire(frame->size, link_->bit_rate()), at, {bytes.begin(), bytes.end()}});
  const SeenFrame& seen = seen_.back();
  if (answers_arp_ && seen.kind() == Kind::arp && seen.arp().operation == wire::Arp::Operation::request &&
      seen.arp().target_ip == config_.ip) {
    const wire::Arp asked = seen.arp();
    Octets body(wire::Arp::bytes);
    wire::Arp{wire::Arp::Operation::reply, config_.mac, config_.ip, asked.sender_mac, asked.sender_ip}.emit(
        body.data());
    send_at(at + config_.profile.turnaround, ethernet(asked.sender_mac, wire::type_arp, body));
  }
}

void ScriptedPeer::send_at(Instant first_bit, Bytes frame, bool fcs_good) {
  wire::FramePtr held = frames_.copy(frame);
  held->fcs_good = fcs_good;
  script_.hold(std::move(held), first_bit);
}

Instant ScriptedPeer::send(Bytes frame, bool fcs_good) {
  wire::FramePtr copy = frames_.copy(frame);
  if (fcs_good) copy->pad();
  copy->fcs_good = fcs_good;
  return put_on_cable(std::move(copy));
}

Instant ScriptedPeer::send_runt(Bytes frame) {
  WIZ_ASSERT(frame.size() < wire::min_frame_bytes);
  return put_on_cable(frames_.copy(frame));
}

Instant ScriptedPeer::put_on_cable(wire::FramePtr frame) {
  WIZ_ASSERT(cable_ != nullptr);
  const Instant start = std::max(queue_.now(), line_free_at_);
  const Instant last_bit = start + wire::time_on_wire(frame->size, link_->bit_rate());
  line_free_at_ = last_bit + wire::inter_packet_gap(link_->bit_rate());
  ++counters_.sent;
  cable_->accept(std::move(frame), start);
  return last_bit;
}

ScriptedPeer::Octets ScriptedPeer::ethernet(const wire::MacAddress& destination, std::uint16_t type,
                                            Bytes payload) const {
  Octets frame(wire::ethernet_header_bytes);
  wire::EthernetHeader{destination, config_.mac, type}.emit(frame.data());
  frame.insert(frame.end(), payload.begin(), payload.end());
  return frame;
}

ScriptedPeer::Octets ScriptedPeer::arp(wire::Arp::Operation operation, wire::Ipv4Address target) const {
  return arp(operation, Station{config_.mac, config_.ip}, target);
}

ScriptedPeer::Octets ScriptedPeer::arp(wire::Arp::Operation operation, const Station& sender,
                                       wire::Ipv4Address target) const {
  Octets body(wire::Arp::bytes);
  const bool asks = operation == wire::Arp::Operation::request;
  wire::Arp{operation, sender.mac, sender.ip, asks ? wire::MacAddress{} : board_.mac, target}.emit(body.data());
  Octets frame = ethernet(asks ? wire::broadcast_mac : board_.mac, wire::type_arp, body);
  std::copy(sender.mac.begin(), sender.mac.end(), frame.begin() + 6);
  return frame;
}

ScriptedPeer::Octets ScriptedPeer::ip(std::uint8_t protocol, Bytes payload, const IpOptions& options) const {
  wire::Ipv4Header header;
  header.protocol = protocol;
  header.source = options.source.value_or(config_.ip);
  header.destination = options.destination.value_or(board_.ip);
  header.flags_and_fragment = options.flags_and_fragment;
  header.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::bytes + options.option_bytes + payload.size());
  Octets packet(wire::Ipv4Header::bytes);
  header.emit(packet.data());
  if (options.option_bytes > 0) {
    packet.resize(wire::Ipv4Header::bytes + options.option_bytes, 0x01);
    packet[0] = static_cast<std::uint8_t>(0x40 | packet.size() / 4);
    store16(&packet[10], 0);
    store16(&packet[10], wire::internet_checksum(packet));
  }
  packet.insert(packet.end(), payload.begin(), payload.end());
  return ethernet(options.destination_mac.value_or(board_.mac), wire::type_ipv4, packet);
}

ScriptedPeer::Octets ScriptedPeer::udp(std::uint16_t source_port, std::uint16_t destination_port, Bytes data) const {
  return udp(source_port, destination_port, data, {});
}

ScriptedPeer::Octets ScriptedPeer::udp(std::uint16_t source_port, std::uint16_t destination_port, Bytes data,
                                       const IpOptions& options) const {
  Octets message(wire::UdpHeader::bytes);
  message.insert(message.end(), data.begin(), data.end());
  wire::UdpHeader{source_port, destination_port, 0}.emit(options.source.value_or(config_.ip),
                                                         options.destination.value_or(board_.ip), message);
  return ip(wire::protocol_udp, message, options);
}

ScriptedPeer::Octets ScriptedPeer::tcp(const TcpHeader& header, Bytes data) const {
  Octets segment(header.emitted_header_bytes());
  segment.insert(segment.end(), data.begin(), data.end());
  header.emit(config_.ip, board_.ip, segment);
  return ip(wire::protocol_tcp, segment, {});
}

ScriptedPeer::Octets ScriptedPeer::ping(std::uint16_t identifier, std::uint16_t sequence, Bytes data) const {
  Octets message(wire::IcmpHeader::bytes);
  message.insert(message.end(), data.begin(), data.end());
  wire::IcmpHeader{wire::IcmpHeader::echo_request, 0, identifier, sequence}.emit(message);
  return ip(wire::protocol_icmp, message, {});
}

void ScriptedPeer::forget() {
  seen_.clear();
  taken_ = 0;
}

const SeenFrame* ScriptedPeer::next() { return taken_ < seen_.size() ? &seen_[taken_++] : nullptr; }

std::string ScriptedPeer::differences(const SeenFrame& frame, const FramePattern& pattern) {
  if (frame.kind() != pattern.kind) return fmt::format("expected {}, got {}", name_of(pattern.kind), frame.text());
  std::string text;
  const auto check = [&](std::string_view what, const auto& expected, auto actual) {
    if (expected && static_cast<std::uint64_t>(*expected) != static_cast<std::uint64_t>(actual)) {
      text += fmt::format("expected {} {}, got {}; ", what, *expected, actual);
    }
  };
  if (pattern.kind == Kind::tcp) {
    const TcpHeader header = frame.tcp();
    if (pattern.flags && *pattern.flags != header.flags) {
      text += fmt::format("expected [{}]; ", flags_text(*pattern.flags));
    }
    check("sequence", pattern.sequence, header.sequence);
    check("acknowledgment", pattern.acknowledgment, header.acknowledgment);
    check("window", pattern.window, header.window);
    check("mss", pattern.mss, header.mss);
    check("source port", pattern.source_port, header.source_port);
    check("destination port", pattern.destination_port, header.destination_port);
  } else if (pattern.kind == Kind::udp) {
    check("source port", pattern.source_port, frame.udp().source_port);
    check("destination port", pattern.destination_port, frame.udp().destination_port);
  } else if (pattern.kind == Kind::arp) {
    check("target", pattern.target, frame.arp().target_ip);
  }
  check("data bytes", pattern.data_bytes, frame.data().size());
  return text.empty() ? text : text + frame.text();
}

std::string ScriptedPeer::expect(const FramePattern& pattern) {
  const SeenFrame* frame = next();
  if (frame == nullptr) return fmt::format("expected {}, but no frame has come", name_of(pattern.kind));
  return differences(*frame, pattern);
}

std::string ScriptedPeer::expect(Instant at, const FramePattern& pattern, Duration tolerance) {
  std::string text = expect(pattern);
  if (!text.empty() || taken_ == 0) return text;
  const SeenFrame& frame = seen_[taken_ - 1];
  if (frame.at < at - tolerance || frame.at > at + tolerance) {
    return fmt::format("expected at {}, got {}", instant_text(at), frame.text());
  }
  return text;
}

std::string ScriptedPeer::expect_silence() const {
  if (taken_ == seen_.size()) return {};
  return fmt::format("expected silence, got {}", seen_[taken_].text());
}

// ScriptedConnection -------------------------------------------------------------------------------------------------

TcpHeader ScriptedConnection::header(std::uint8_t flags, std::uint32_t acknowledgment) const {
  TcpHeader header;
  header.source_port = own_port_;
  header.destination_port = board_port_;
  header.sequence = seq;
  header.acknowledgment = acknowledgment;
  header.flags = flags;
  header.window = window;
  return header;
}

Instant ScriptedConnection::segment(const TcpHeader& header, Bytes data) { return peer_.send(peer_.tcp(header, data)); }

Instant ScriptedConnection::syn(std::uint16_t mss) {
  TcpHeader syn = header(TcpHeader::syn, 0);
  syn.sequence = iss_;
  syn.mss = mss;
  return segment(syn);
}

Instant ScriptedConnection::syn_ack(std::uint16_t mss) {
  learn_board_iss();
  TcpHeader answer = header(TcpHeader::syn | TcpHeader::ack, board_iss + 1);
  answer.sequence = iss_;
  answer.mss = mss;
  return segment(answer);
}

Instant ScriptedConnection::ack() { return ack(board_next()); }

Instant ScriptedConnection::ack(std::uint32_t up_to) { return segment(header(TcpHeader::ack, up_to)); }

Instant ScriptedConnection::data(Bytes bytes) {
  const Instant last_bit = segment(header(TcpHeader::ack | TcpHeader::psh, board_next()), bytes);
  seq += static_cast<std::uint32_t>(bytes.size());
  return last_bit;
}

Instant ScriptedConnection::fin() {
  const Instant last_bit = segment(header(TcpHeader::ack | TcpHeader::fin, board_next()));
  ++seq;
  return last_bit;
}

Instant ScriptedConnection::rst() { return segment(header(TcpHeader::rst, 0)); }

std::uint32_t ScriptedConnection::board_next() const {
  std::uint32_t next = board_iss + 1;
  for (const SeenFrame& frame : peer_.seen()) {
    if (frame.kind() != SeenFrame::Kind::tcp) continue;
    const TcpHeader tcp = frame.tcp();
    if (tcp.source_port != board_port_ || tcp.destination_port != own_port_) continue;
    const std::uint32_t end = tcp.sequence + static_cast<std::uint32_t>(frame.data().size()) +
                              (tcp.has(TcpHeader::fin) || tcp.has(TcpHeader::syn) ? 1U : 0U);
    if (wire::seq_before(next, end)) next = end;
  }
  return next;
}

bool ScriptedConnection::learn_board_iss() {
  for (auto frame = peer_.seen().rbegin(); frame != peer_.seen().rend(); ++frame) {
    if (frame->kind() != SeenFrame::Kind::tcp || !frame->tcp().has(TcpHeader::syn)) continue;
    board_iss = frame->tcp().sequence;
    return true;
  }
  return false;
}

bool ScriptedConnection::establish_to_listener(const Wait& wait, std::uint16_t mss) {
  syn(mss);
  wait(1ms);
  if (!learn_board_iss()) return false;
  ack(board_iss + 1);
  wait(1ms);
  peer_.forget();
  return true;
}

bool ScriptedConnection::establish_from_client(const Wait& wait, std::uint16_t mss) {
  wait(1ms);
  if (!learn_board_iss()) return false;
  syn_ack(mss);
  wait(1ms);
  peer_.forget();
  return true;
}

}  // namespace wizloop::net
