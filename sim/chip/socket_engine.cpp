#include "sim/chip/socket_engine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "sim/wire/udp.hpp"

namespace wizloop::chip {
namespace {

using wire::TcpHeader;

constexpr std::uint16_t largest_tcp_mss = 1460;
constexpr std::uint16_t largest_udp_payload = 1472;
constexpr std::size_t udp_record_header = 8;  // source IP, source port, length (WIZnet UDP page)

constexpr std::string_view place_of[socket_count] = {"chip.s0", "chip.s1", "chip.s2", "chip.s3",
                                                     "chip.s4", "chip.s5", "chip.s6", "chip.s7"};

std::string_view place(const Socket& socket) { return place_of[socket.number]; }

std::uint16_t largest_payload(const Socket& socket) { return socket.is_tcp() ? largest_tcp_mss : largest_udp_payload; }

// Sn_MSSR within what a frame can carry: the host may write anything there after OPEN too.
std::uint16_t segment_size(const Socket& socket) {
  const std::uint16_t mssr = socket.mssr();
  return mssr == 0 || mssr > largest_payload(socket) ? largest_payload(socket) : mssr;
}

constexpr std::size_t ip_payload_at = wire::ethernet_header_bytes + wire::Ipv4Header::bytes;

}  // namespace

SocketEngine::SocketEngine(Context& context, Judge& judge, Transmitter& transmitter, InterruptListener& listener)
    : context_{context}, judge_{judge}, transmitter_{transmitter}, listener_{listener}, pump_timer_{context.queue} {
  for (int n = 0; n < socket_count; ++n) {
    auto& socket = sockets_[static_cast<std::size_t>(n)];
    socket = std::make_unique<Socket>(context.queue);
    socket->number = n;
  }
}

void SocketEngine::reset() {
  for (auto& socket : sockets_) socket->reset();
  transmitter_.drop_replies();
  pump_timer_.stop();
  preparing_ = false;
}

// Commands (datasheet 4.2, Sn_CR) ------------------------------------------------------------------------------------

void SocketEngine::command(Socket& socket, std::uint8_t code) {
  socket.command = code;
  socket.command_accepted = context_.queue.now() + context_.latencies.command_accepted;
  if (context_.trace.wanted()) {
    context_.trace.emit(context_.queue.now(), place(socket), "command", {{"Sn_CR", std::int64_t{code}}});
  }
  const std::uint8_t before = socket.status();
  execute(socket, code);
  if (socket.status() != before) {
    socket.stale_status = before;
    socket.status_shown = context_.queue.now() + context_.latencies.command_to_status;
  }
}

void SocketEngine::command_late(Socket& socket, std::uint8_t code, Duration delay) {
  socket.command = code;
  socket.command_accepted = context_.queue.now() + delay;
  context_.queue.schedule(delay, [this, &socket, code, epoch = socket.epoch] {
    if (socket.epoch != epoch) return;
    command(socket, code);
    socket.command_accepted = context_.queue.now();
  });
}

void SocketEngine::execute(Socket& socket, std::uint8_t code) {
  switch (code) {
    case sn_cr::OPEN:
      return open(socket);
    case sn_cr::LISTEN:
      return listen(socket);
    case sn_cr::CONNECT:
      return connect(socket);
    case sn_cr::DISCON:
      return disconnect(socket);
    case sn_cr::CLOSE:
      return close(socket);
    case sn_cr::SEND:
    case sn_cr::SEND_MAC:
      return send(socket, code);
    case sn_cr::RECV:
      return receive(socket);
    case sn_cr::SEND_KEEP:
      return judge_.on_not_modelled("Sn_CR = SEND_KEEP");
    default:
      return illegal(socket, code);
  }
}

void SocketEngine::illegal(Socket& socket, std::uint8_t code) { judge_.on_illegal_command(socket, code); }

void SocketEngine::open(Socket& socket) {
  if (socket.status() != sn_sr::CLOSED) return illegal(socket, sn_cr::OPEN);
  const std::uint8_t protocol = socket.protocol();
  if (protocol == sn_mr::IPRAW || protocol == sn_mr::MACRAW || socket.mode(sn_mr::MULTI)) {
    return judge_.on_not_modelled(
        fmt::format("S{} OPEN with Sn_MR = 0x{:02X}", socket.number, socket.bytes[socket::Sn_MR]));
  }
  if (protocol != sn_mr::TCP && protocol != sn_mr::UDP) return illegal(socket, sn_cr::OPEN);
  ++socket.epoch;
  socket.tx_rd = socket.tx_wr = socket.tx_wr_written = 0;
  socket.rx_rd = socket.rx_rd_written = socket.rx_wr = 0;
  socket.known_destination.reset();
  socket.sending = socket.connecting = false;
  socket.send_again = 0;
  store16(&socket.bytes[socket::Sn_MSSR], segment_size(socket));
  if (protocol == sn_mr::TCP) {
    socket.tcp.open();
    socket.plain_status = sn_sr::CLOSED;
    note_status(socket, sn_sr::CLOSED);
  } else {
    set_status(socket, sn_sr::UDP);
  }
}

void SocketEngine::listen(Socket& socket) {
  if (socket.status() != sn_sr::INIT || socket.connecting) return illegal(socket, sn_cr::LISTEN);
  socket.tcp.listen();
  note_status(socket, sn_sr::INIT);
}

void SocketEngine::connect(Socket& socket) {
  if (socket.status() != sn_sr::INIT || socket.connecting) return illegal(socket, sn_cr::CONNECT);
  socket.connecting = true;
  resolve(socket);
  arm(socket);
  pump();
}

void SocketEngine::disconnect(Socket& socket) {
  const std::uint8_t status = socket.status();
  if (status == sn_sr::ESTABLISHED || status == sn_sr::CLOSE_WAIT) {
    socket.tcp.disconnect(context_.queue.now() + preparation(0));
    note_status(socket, status);
    pump();
  } else if (status >= sn_sr::INIT && status <= sn_sr::SYNRECV) {
    // ioLibrary issues DISCON in any open TCP state; without a connection there is nothing to say goodbye to.
    close(socket);
  } else {
    illegal(socket, sn_cr::DISCON);
  }
}

void SocketEngine::close(Socket& socket) {
  const std::uint8_t before = socket.status();
  ++socket.epoch;
  socket.tcp.close();
  socket.udp.stop();
  socket.arp.stop();
  socket.timer.stop();
  socket.sending = socket.connecting = false;
  socket.send_again = 0;
  socket.known_destination.reset();
  socket.plain_status = sn_sr::CLOSED;
  note_status(socket, before);
}

void SocketEngine::send(Socket& socket, std::uint8_t code) {
  const std::uint8_t status = socket.status();
  const bool tcp_sends = (status == sn_sr::ESTABLISHED || status == sn_sr::CLOSE_WAIT) && code == sn_cr::SEND;
  if (!tcp_sends && status != sn_sr::UDP) return illegal(socket, code);
  if (socket.sending) {
    judge_.on_send_while_sending(socket);
    socket.send_again = code;
    return;
  }
  start_send(socket, code == sn_cr::SEND);
}

void SocketEngine::start_send(Socket& socket, bool with_arp) {
  const Instant now = context_.queue.now();
  const auto length = static_cast<std::uint16_t>(socket.tx_wr_written - socket.tx_wr);
  judge_.on_send(socket, length, tx_free_size(socket));
  const std::uint16_t from = socket.tx_wr;
  socket.tx_wr = socket.tx_wr_written;
  socket.sending = true;
  if (length == 0) {
    finish_send(socket, sn_ir::SENDOK);
    return;
  }
  if (socket.is_tcp()) {
    socket.tcp.send(length, tcp_settings(socket), now + preparation(std::min(length, segment_size(socket))));
  } else {
    const wire::Ipv4Address destination = socket.dipr();
    socket.udp.start(from, length, destination, socket.dport());
    const bool to_broadcast = context_.common.is_own_broadcast(destination);
    if (with_arp && to_broadcast) {
      socket.set_dhar(wire::broadcast_mac);
      socket.known_destination = destination;
    }
    const bool knows_mac = socket.known_destination == destination && (to_broadcast || !context_.common.mode(mr::FARP));
    if (with_arp && !knows_mac) {
      resolve(socket);
    } else {
      socket.udp.set_ready(now + preparation(std::min(length, segment_size(socket))));
    }
  }
  arm(socket);
  pump();
}

void SocketEngine::finish_send(Socket& socket, std::uint8_t cause) {
  socket.tx_rd = socket.tx_wr;
  socket.sending = false;
  if (cause == sn_ir::SENDOK) {
    raise_sendok(socket);
  } else {
    raise(socket, cause);
  }
  if (socket.send_again != 0) {
    start_send(socket, std::exchange(socket.send_again, std::uint8_t{0}) == sn_cr::SEND);
  }
}

void SocketEngine::receive(Socket& socket) {
  const std::uint8_t status = socket.status();
  if (status == sn_sr::CLOSED) return illegal(socket, sn_cr::RECV);
  const std::uint16_t old_window = tcp_settings(socket).window;
  socket.rx_rd = socket.rx_rd_written;
  if (socket.is_tcp()) {
    socket.tcp.on_received(old_window, tcp_settings(socket),
                           context_.queue.now() + context_.latencies.receive_to_update);
    pump();
  }
  if (socket.received_size() != 0) raise(socket, sn_ir::RECV);
}

std::uint16_t SocketEngine::tx_free_size(const Socket& socket) {
  const std::size_t size = context_.tx_memory.ring(socket.number).size();
  const std::uint32_t used = socket.is_tcp() && socket.tcp.status() >= sn_sr::ESTABLISHED
                                 ? socket.tcp.unacknowledged_bytes()
                                 : static_cast<std::uint16_t>(socket.tx_wr - socket.tx_rd);
  return static_cast<std::uint16_t>(size - used);
}

// ARP ----------------------------------------------------------------------------------------------------------------

void SocketEngine::resolve(Socket& socket) {
  socket.arp_for = socket.dipr();
  socket.arp.start(context_.common.next_hop(socket.arp_for), context_.queue.now() + preparation(0));
}

void SocketEngine::on_arp_reply(const wire::Arp& reply) {
  for (auto& socket : sockets_) {
    if (!socket->arp.asking() || socket->arp.target() != reply.sender_ip) continue;
    socket->set_dhar(reply.sender_mac);
    socket->arp.stop();
    on_resolved(*socket, context_.queue.now());
  }
}

void SocketEngine::on_resolved(Socket& socket, Instant at) {
  socket.known_destination = socket.arp_for;
  if (socket.connecting) {
    socket.tcp.connect(static_cast<std::uint32_t>(context_.isn.next()), tcp_settings(socket), at + preparation(0));
    socket.connecting = false;
  } else {
    socket.udp.set_ready(at + preparation(std::min(socket.udp.left(), segment_size(socket))));
  }
  pump();
}

void SocketEngine::on_arp_timeout(Socket& socket) {
  if (socket.connecting) {
    close(socket);
    raise(socket, sn_ir::TIMEOUT);
  } else {
    socket.udp.stop();  // the datagram is lost; otherwise the next SEND would send both
    socket.known_destination.reset();
    finish_send(socket, sn_ir::TIMEOUT);
  }
}

// Reception ----------------------------------------------------------------------------------------------------------

TcpSettings SocketEngine::tcp_settings(const Socket& socket) {
  const std::size_t size = context_.rx_memory.ring(socket.number).size();
  const std::size_t used = socket.received_size();
  return {context_.common.rtr(),
          context_.common.rcr(),
          socket.mode(sn_mr::ND),
          segment_size(socket),
          static_cast<std::uint16_t>(used < size ? size - used : 0),
          context_.latencies.segment_to_ack,
          context_.latencies.syn_to_syn_ack};
}

void SocketEngine::on_syn(Socket& listener, const TcpHeader& syn, wire::Ipv4Address source, const wire::MacAddress& mac,
                          Instant arrived) {
  const std::uint8_t before = listener.status();
  store32(&listener.bytes[socket::Sn_DIPR], source);
  store16(&listener.bytes[socket::Sn_DPORT], syn.source_port);
  listener.set_dhar(mac);
  listener.tcp.accept(syn, static_cast<std::uint32_t>(context_.isn.next()), tcp_settings(listener), arrived);
  store16(&listener.bytes[socket::Sn_MSSR], listener.tcp.mss());  // shows the smaller of both sides'
  note_status(listener, before);
  arm(listener);
  pump();
}

bool SocketEngine::on_tcp_segment(Socket& socket, const TcpHeader& segment, Bytes payload, Instant arrived) {
  const std::uint8_t before = socket.status();
  const TcpReaction reaction =
      socket.tcp.on_segment(segment, static_cast<std::uint16_t>(payload.size()), tcp_settings(socket), arrived);
  if (reaction.established && before == sn_sr::SYNRECV) {
    store16(&socket.bytes[socket::Sn_MSSR], socket.tcp.mss());  // a passive open shows the peer's (datasheet 1.0)
  }
  apply(socket, reaction, payload);
  note_status(socket, before);
  arm(socket);
  pump();
  return !reaction.refused;
}

void SocketEngine::apply(Socket& socket, const TcpReaction& reaction, Bytes payload) {
  if (reaction.established) {
    // The TX pointers start anew at the first data byte's sequence number; RX pointers stay.
    socket.tx_rd = socket.tx_wr = socket.tx_wr_written = static_cast<std::uint16_t>(socket.tcp.end_of_data());
  }
  if (reaction.payload_taken > 0) {
    const Bytes fresh = payload.subspan(reaction.payload_skip, reaction.payload_taken);
    context_.rx_memory.ring(socket.number).write(socket.rx_wr, fresh.data(), fresh.size());
    socket.rx_wr = static_cast<std::uint16_t>(socket.rx_wr + fresh.size());
  }
  if (socket.tcp.status() == sn_sr::CLOSED) {
    ++socket.epoch;
    socket.sending = false;
    socket.send_again = 0;
    socket.plain_status = sn_sr::CLOSED;
  }
  raise(socket, reaction.causes);
}

bool SocketEngine::has_room(const Socket& socket, std::size_t payload_bytes) {
  return socket.received_size() + udp_record_header + payload_bytes <= context_.rx_memory.ring(socket.number).size();
}

void SocketEngine::on_datagram(Socket& socket, wire::Ipv4Address source, std::uint16_t source_port, Bytes payload,
                               bool had_room) {
  if (!had_room || !has_room(socket, payload.size())) {
    if (context_.trace.wanted()) {
      context_.trace.emit(context_.queue.now(), place(socket), "datagram_dropped",
                          {{"bytes", static_cast<std::int64_t>(payload.size())}});
    }
    return;  // whole; older records stay
  }
  Ring& ring = context_.rx_memory.ring(socket.number);
  std::uint8_t header[udp_record_header];
  store32(header, source);
  store16(header + 4, source_port);
  store16(header + 6, static_cast<std::uint16_t>(payload.size()));
  ring.write(socket.rx_wr, header, sizeof header);
  ring.write(static_cast<std::uint16_t>(socket.rx_wr + sizeof header), payload.data(), payload.size());
  socket.rx_wr = static_cast<std::uint16_t>(socket.rx_wr + sizeof header + payload.size());
  raise(socket, sn_ir::RECV);
}

void SocketEngine::queue_reply(wire::FramePtr frame, Instant ready) {
  transmitter_.queue_reply(std::move(frame), ready);
  pump();
}

void SocketEngine::raise(Socket& socket, std::uint8_t causes) {
  if (causes == 0) return;
  socket.interrupts |= causes;
  if (context_.trace.wanted()) {
    context_.trace.emit(context_.queue.now(), place(socket), "interrupt", {{"Sn_IR", std::int64_t{causes}}});
  }
  listener_.on_interrupts_changed();
}

void SocketEngine::raise_sendok(Socket& socket) {
  FaultPoint* lost = context_.faults.sendok_lost;
  FaultPoint* late = context_.faults.sendok_late;
  if (lost != nullptr && lost->strikes()) return;
  if (late == nullptr || !late->strikes()) return raise(socket, sn_ir::SENDOK);
  context_.queue.schedule(late->time("delay"), [this, &socket, epoch = socket.epoch] {
    if (socket.epoch == epoch) raise(socket, sn_ir::SENDOK);
  });
}

void SocketEngine::set_status(Socket& socket, std::uint8_t status) {
  const std::uint8_t before = socket.status();
  socket.plain_status = status;
  note_status(socket, before);
}

void SocketEngine::note_status(Socket& socket, std::uint8_t before) {
  if (before == socket.status() || !context_.trace.wanted()) return;
  context_.trace.emit(context_.queue.now(), place(socket), "status",
                      {{"from", std::int64_t{before}}, {"to", std::int64_t{socket.status()}}});
}

// Timers -------------------------------------------------------------------------------------------------------------

void SocketEngine::arm(Socket& socket) {
  // A timer that is too early is cheaper than one restarted at each segment: on_timer() looks again.
  const Instant deadline = std::min(socket.tcp.deadline(), socket.arp.deadline());
  if (deadline >= socket.timer.deadline()) return;
  socket.timer.start_at(deadline, [this, &socket] { on_timer(socket); });
}

void SocketEngine::on_timer(Socket& socket) {
  socket.timer.stop();
  const Instant now = context_.queue.now();
  if (socket.arp.deadline() <= now && !socket.arp.on_deadline(context_.common.rcr(), now)) on_arp_timeout(socket);
  if (socket.tcp.deadline() <= now) {
    const std::uint8_t before = socket.status();
    const TcpReaction reaction = socket.tcp.on_deadline(tcp_settings(socket), now);
    if (context_.trace.wanted()) context_.trace.emit(now, place(socket), "timer");
    apply(socket, reaction, {});
    note_status(socket, before);
  }
  arm(socket);
  pump();
}

// Sending ------------------------------------------------------------------------------------------------------------

Duration SocketEngine::preparation(std::uint16_t payload_bytes) const {
  return context_.latencies.send_to_frame + context_.latencies.send_to_frame_per_byte * std::int64_t{payload_bytes};
}

Instant SocketEngine::next_output(const Socket& socket) const {
  return std::min({socket.arp.next_output(), socket.tcp.next_output(), socket.udp.next_output()});
}

void SocketEngine::schedule_pump(Instant at) {
  if (at == pump_timer_.deadline()) return;
  pump_timer_.start_at(at, [this] {
    pump_timer_.stop();
    pump();
  });
}

void SocketEngine::pump() {
  const Instant now = context_.queue.now();
  Instant earliest = transmitter_.next_reply();
  const bool reply_due = earliest <= now;
  Socket* chosen = nullptr;
  for (int i = 0; i < socket_count; ++i) {
    Socket& candidate = socket((turn_ + i) % socket_count);
    const Instant ready = next_output(candidate);
    if (ready <= now && chosen == nullptr) chosen = &candidate;
    earliest = std::min(earliest, ready);
  }
  preparing_ = earliest != Instant::max() && !transmitter_.sending();
  if (earliest == Instant::max()) {
    pump_timer_.stop();
    return;
  }
  if (transmitter_.free_at() > now || earliest > now) {
    schedule_pump(std::max(earliest, transmitter_.free_at()));
    return;
  }
  if (reply_due) {
    transmitter_.send(transmitter_.take_reply());
  } else {
    turn_ = (chosen->number + 1) % socket_count;
    transmit_from(*chosen);
  }
  pump();
}

void SocketEngine::transmit_from(Socket& socket) {
  const Instant now = context_.queue.now();
  if (socket.arp.next_output() <= now) {
    transmit_arp_request(socket);
  } else if (socket.tcp.next_output() <= now) {
    transmit_segment(socket);
  } else {
    transmit_datagram(socket);
  }
  arm(socket);
}

void SocketEngine::transmit_arp_request(Socket& socket) {
  wire::FramePtr frame = context_.frames.take();
  const wire::MacAddress own = context_.common.shar();
  wire::EthernetHeader{wire::broadcast_mac, own, wire::type_arp}.emit(frame->bytes.data());
  wire::Arp{wire::Arp::Operation::request, own, context_.common.sipr(), {}, socket.arp.target()}.emit(
      &frame->bytes[wire::ethernet_header_bytes]);
  frame->size = wire::ethernet_header_bytes + wire::Arp::bytes;
  socket.arp.on_request_leaves(context_.common.rtr(), context_.queue.now());
  transmitter_.send(std::move(frame));
}

void SocketEngine::finish_ip_frame(wire::Frame& frame, Socket& socket, wire::Ipv4Address destination,
                                   std::uint8_t protocol, std::size_t payload_bytes) {
  wire::EthernetHeader{socket.dhar(), context_.common.shar(), wire::type_ipv4}.emit(frame.bytes.data());
  wire::Ipv4Header ip;
  ip.tos = socket.bytes[socket::Sn_TOS];
  ip.ttl = socket.bytes[socket::Sn_TTL];
  ip.flags_and_fragment = load16(&socket.bytes[socket::Sn_FRAG]);
  ip.identification = context_.ip_identification++;
  ip.protocol = protocol;
  ip.source = context_.common.sipr();
  ip.destination = destination;
  ip.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::bytes + payload_bytes);
  ip.emit(&frame.bytes[wire::ethernet_header_bytes]);
  frame.size = ip_payload_at + payload_bytes;
}

void SocketEngine::transmit_segment(Socket& socket) {
  const Instant now = context_.queue.now();
  const std::uint8_t before = socket.status();
  const TcpSettings settings = tcp_settings(socket);
  const TcpSegment segment = socket.tcp.take_output(settings, now);
  note_status(socket, before);

  wire::FramePtr frame = context_.frames.take();
  TcpHeader header;
  header.source_port = socket.port();
  header.destination_port = socket.dport();
  header.sequence = segment.sequence;
  header.acknowledgment = segment.acknowledgment;
  header.flags = segment.flags;
  header.window = settings.window;
  header.mss = segment.mss_option;
  const std::size_t header_bytes = header.emitted_header_bytes();
  context_.tx_memory.ring(socket.number)
      .read(static_cast<std::uint16_t>(segment.sequence), &frame->bytes[ip_payload_at + header_bytes], segment.length);
  header.emit(context_.common.sipr(), socket.dipr(), {&frame->bytes[ip_payload_at], header_bytes + segment.length});
  finish_ip_frame(*frame, socket, socket.dipr(), wire::protocol_tcp, header_bytes + segment.length);
  const Instant last_bit = transmitter_.send(std::move(frame));
  socket.tcp.on_segment_left(transmitter_.free_at() + context_.latencies.between_segments);

  if (segment.length == 0) return;
  const bool completes = socket.sending && socket.tcp.all_sent();
  if (!completes) {
    socket.tx_rd = static_cast<std::uint16_t>(socket.tcp.sent_once_up_to());
    return;
  }
  ++pending_completions_;
  context_.queue.schedule_at(last_bit + context_.latencies.frame_to_sendok, [this, &socket, epoch = socket.epoch] {
    --pending_completions_;
    if (socket.epoch == epoch && socket.sending) finish_send(socket, sn_ir::SENDOK);
  });
}

void SocketEngine::transmit_datagram(Socket& socket) {
  const UdpSend::Datagram datagram = socket.udp.take(segment_size(socket));
  wire::FramePtr frame = context_.frames.take();
  constexpr std::size_t data_at = ip_payload_at + wire::UdpHeader::bytes;
  context_.tx_memory.ring(socket.number).read(datagram.offset, &frame->bytes[data_at], datagram.length);
  const std::size_t message_bytes = wire::UdpHeader::bytes + datagram.length;
  wire::UdpHeader{socket.port(), socket.udp.port(), 0}.emit(context_.common.sipr(), socket.udp.address(),
                                                            {&frame->bytes[ip_payload_at], message_bytes});
  finish_ip_frame(*frame, socket, socket.udp.address(), wire::protocol_udp, message_bytes);
  const Instant last_bit = transmitter_.send(std::move(frame));
  if (socket.udp.left() > 0) {
    socket.udp.set_ready(transmitter_.free_at() + context_.latencies.between_segments);
    return;
  }
  socket.udp.stop();
  ++pending_completions_;
  context_.queue.schedule_at(last_bit + context_.latencies.frame_to_sendok, [this, &socket, epoch = socket.epoch] {
    --pending_completions_;
    if (socket.epoch == epoch) finish_send(socket, sn_ir::SENDOK);
  });
}

}  // namespace wizloop::chip
