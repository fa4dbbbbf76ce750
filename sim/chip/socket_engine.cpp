#include "sim/chip/socket_engine.hpp"

#include <algorithm>
#include <utility>

#include "sim/wire/udp.hpp"

namespace wizloop::chip {
namespace {

using wire::TcpHeader;

constexpr std::size_t udp_record_header = 8;  // source IP, source port, length (WIZnet UDP page)

constexpr std::string_view place_of[socket_count] = {"chip.s0", "chip.s1", "chip.s2", "chip.s3",
                                                     "chip.s4", "chip.s5", "chip.s6", "chip.s7"};

std::string_view place(const Socket& socket) { return place_of[socket.number]; }

// What OPEN makes of Sn_MR (datasheet 4.2, Sn_MR); CLOSED: nothing.
std::uint8_t status_after_open(std::uint8_t mode, int number) {
  switch (mode & sn_mr::protocol) {
    case sn_mr::TCP:
      return sn_sr::INIT;
    case sn_mr::UDP:
      return sn_sr::UDP;
    case sn_mr::IPRAW:
      return sn_sr::IPRAW;
    case sn_mr::MACRAW:
      return number == 0 ? sn_sr::MACRAW : sn_sr::CLOSED;
    default:
      return sn_sr::CLOSED;
  }
}

constexpr std::size_t ip_payload_at = wire::ethernet_header_bytes + wire::Ipv4Header::bytes;

}  // namespace

SocketEngine::SocketEngine(Context& context, Judge& judge, Transmitter& transmitter, InterruptListener& listener)
    : context_{context}, judge_{judge}, transmitter_{transmitter}, listener_{listener}, pump_timer_{context.queue} {
  for (int n = 0; n < socket_count; ++n) {
    auto& socket = sockets_[static_cast<std::size_t>(n)];
    socket = std::make_unique<Socket>(context.queue);
    socket->number = n;
    judge.watch(*socket);
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
  socket.command_accepted = context_.queue.now() + context_.latencies.use(&Latencies::command_accepted);
  if (context_.trace.wanted()) {
    context_.trace.emit(context_.queue.now(), place(socket), "command", {{"Sn_CR", RegisterValue{code}}});
  }
  const std::uint8_t before = socket.status();
  execute(socket, code);
  if (socket.status() != before) {
    socket.stale_status = before;
    socket.status_shown = context_.queue.now() + context_.latencies.use(&Latencies::command_to_status);
  }
}

void SocketEngine::command_late(Socket& socket, std::uint8_t code, Duration delay) {
  socket.command = code;
  socket.command_accepted = context_.queue.now() + delay;
  context_.events.schedule(delay, [this, &socket, code, epoch = socket.epoch] {
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
      return keep_alive(socket);
    default:
      return illegal(socket, code);
  }
}

void SocketEngine::illegal(Socket& socket, std::uint8_t code) {
  judge_.on_illegal_command(socket, code);
  if (context_.quirks.choice<IllegalCommand>(Quirk::illegal_command) == IllegalCommand::stuck) {
    socket.command_accepted = Instant::max();  // until another command is legal
  }
}

void SocketEngine::open(Socket& socket) {
  if (socket.status() != sn_sr::CLOSED) {
    illegal(socket, sn_cr::OPEN);
    if (context_.quirks.choice<OpenOnOpenSocket>(Quirk::open_on_open_socket) == OpenOnOpenSocket::ignored) return;
    close(socket);
  }
  const std::uint8_t mode = socket.bytes[socket::Sn_MR];
  const std::uint8_t status = status_after_open(mode, socket.number);
  if (status == sn_sr::CLOSED) return illegal(socket, sn_cr::OPEN);
  ++socket.epoch;
  if (socket.interrupts != 0 && context_.quirks.choice<SnIrAtOpen>(Quirk::sn_ir_at_open) == SnIrAtOpen::cleared) {
    socket.interrupts = 0;
    listener_.on_interrupts_changed();
  }
  socket.open_mode = mode;
  socket.tx_rd = socket.tx_wr = socket.tx_wr_written = 0;
  socket.rx_rd = socket.rx_rd_written = socket.rx_wr = 0;
  socket.stop_sending();
  const std::uint16_t mss = socket.largest_payload();
  const bool loads =
      mss != socket.own_mss && context_.quirks.choice<MssrAfterOpen>(Quirk::mssr_after_open) == MssrAfterOpen::loaded;
  store16(&socket.bytes[socket::Sn_MSSR], loads ? mss : socket.own_mss);
  if (status == sn_sr::INIT) {
    socket.tcp.open();
    socket.plain_status = sn_sr::CLOSED;
    return note_status(socket, sn_sr::CLOSED);
  }
  set_status(socket, status);
  if (status == sn_sr::UDP && socket.mode(sn_mr::MULTI)) {
    socket.group.join(socket.dipr(), socket.dhar(), socket.mode(sn_mr::MC), context_.queue.now() + preparation(0));
    pump();
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
  say_goodbye(socket);
  ++socket.epoch;
  socket.tcp.close();
  socket.stop_sending();
  socket.timer.stop();
  socket.plain_status = sn_sr::CLOSED;
  note_status(socket, before);
}

// What CLOSE tells the network: a multicast group is left; a TCP peer hears nothing, or RST.
void SocketEngine::say_goodbye(Socket& socket) {
  const Instant ready = context_.queue.now() + preparation(0);
  if (socket.group.member() && !socket.group.version_1()) {
    constexpr std::uint8_t leave = wire::Igmp::leave;
    queue_reply(igmp_frame(socket, leave, wire::all_routers, wire::multicast_mac(wire::all_routers)), ready);
  }
  const std::uint8_t status = socket.tcp.status();
  const bool is_connection = status == sn_sr::SYNRECV || status == sn_sr::ESTABLISHED || status == sn_sr::CLOSE_WAIT;
  if (is_connection &&
      context_.quirks.choice<CloseOfConnection>(Quirk::close_of_connection) == CloseOfConnection::rst) {
    queue_reply(segment_frame(socket, socket.tcp.reset(), 0), ready);
  }
}

void SocketEngine::send(Socket& socket, std::uint8_t code) {
  const std::uint8_t status = socket.status();
  const bool tcp_sends = status == sn_sr::ESTABLISHED || status == sn_sr::CLOSE_WAIT;
  const bool allowed = socket.sends_datagrams() || ((tcp_sends || status == sn_sr::MACRAW) && code == sn_cr::SEND);
  if (!allowed) return illegal(socket, code);
  if (socket.sending) {
    judge_.on_send_while_sending(socket);
    const auto choice = context_.quirks.choice<SendDuringSend>(Quirk::send_during_send);
    if (choice == SendDuringSend::queued) socket.send_again = code;
    return;
  }
  start_send(socket, code == sn_cr::SEND);
}

void SocketEngine::start_send(Socket& socket, bool with_arp) {
  const Instant now = context_.queue.now();
  const std::size_t size = context_.tx_memory.ring(socket.number).size();
  // As if Sn_TX_WR had not been written, whichever way tx_fsr_falls goes.
  const auto free = static_cast<std::uint16_t>(size - socket.tx_used());
  const std::uint16_t from = socket.tx_rd;
  auto length = static_cast<std::uint16_t>(socket.tx_wr_written - from);
  judge_.on_send(socket, length, free);
  if (length > size && context_.quirks.choice<StaleTxWr>(Quirk::stale_tx_wr) == StaleTxWr::clamped) {
    length = static_cast<std::uint16_t>(size);
    socket.tx_wr_written = static_cast<std::uint16_t>(from + length);
  }
  const bool sendok_stood = (socket.interrupts & sn_ir::SENDOK) != 0;
  socket.tx_wr = socket.tx_wr_written;
  socket.sending = true;
  if (length == 0) {
    const auto choice = context_.quirks.choice<EmptySend>(Quirk::empty_send);
    if (choice == EmptySend::silent) socket.sending = false;
    if (choice == EmptySend::sendok || (choice == EmptySend::empty_datagram && !socket.sends_datagrams())) {
      finish_send(socket, sn_ir::SENDOK);
    }
    if (!socket.sending) return;
  }
  if (socket.is_tcp()) {
    socket.tcp.send(length, tcp_settings(socket), now + preparation(std::min(length, socket.tcp.mss())));
  } else if (socket.sends_datagrams()) {
    start_datagrams(socket, from, length, with_arp);
  } else if (!sendok_stood ||
             context_.quirks.choice<LateSendokClear>(Quirk::late_sendok_clear) == LateSendokClear::harmless) {
    socket.raw.start(from, length, now + context_.latencies.use(&Latencies::macraw_to_frame));
  }
  arm(socket);
  pump();
}

void SocketEngine::start_datagrams(Socket& socket, std::uint16_t from, std::uint16_t length, bool with_arp) {
  const wire::Ipv4Address destination = socket.dipr();
  socket.datagrams.start(from, length, destination, socket.dport());
  if (with_arp && context_.common.is_own_broadcast(destination)) socket.set_dhar(wire::broadcast_mac);
  if (with_arp && !knows_mac(socket, destination)) return resolve(socket);
  socket.datagrams.set_ready(context_.queue.now() + preparation(std::min(length, socket.largest_payload())));
}

bool SocketEngine::knows_mac(const Socket& socket, wire::Ipv4Address destination) {
  if (socket.group.member() || context_.common.is_own_broadcast(destination)) return true;
  if (socket.known_destination != destination || context_.common.mode(mr::FARP)) return false;
  return context_.quirks.choice<ArpBeforeSend>(Quirk::arp_before_send) == ArpBeforeSend::on_change;
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

void SocketEngine::keep_alive(Socket& socket) {
  if (socket.status() != sn_sr::ESTABLISHED ||
      !socket.tcp.send_keepalive(tcp_settings(socket), context_.queue.now() + preparation(0))) {
    return illegal(socket, sn_cr::SEND_KEEP);
  }
  arm(socket);
  pump();
}

void SocketEngine::on_keepalive_period(Socket& socket) {
  socket.tcp.set_keepalive(tcp_settings(socket).keepalive, context_.queue.now());
  arm(socket);
}

void SocketEngine::receive(Socket& socket) {
  const std::uint8_t status = socket.status();
  if (status == sn_sr::CLOSED) return illegal(socket, sn_cr::RECV);
  const std::uint16_t old_window = tcp_settings(socket).window;
  socket.rx_rd = socket.rx_rd_written;
  if (socket.is_tcp()) {
    socket.tcp.on_received(old_window, tcp_settings(socket), context_.queue.now());
    arm(socket);
    pump();
  }
  if (socket.received_size() != 0 &&
      context_.quirks.choice<RecvRaisedAgain>(Quirk::recv_raised_again) == RecvRaisedAgain::yes) {
    raise(socket, sn_ir::RECV);
  }
}

std::uint16_t SocketEngine::tx_free_size(const Socket& socket) {
  const std::size_t size = context_.tx_memory.ring(socket.number).size();
  const bool at_write = context_.quirks.peek<TxFsrFalls>(Quirk::tx_fsr_falls) == TxFsrFalls::at_write;
  const std::uint32_t written = at_write ? static_cast<std::uint16_t>(socket.tx_wr_written - socket.tx_wr) : 0;
  return static_cast<std::uint16_t>(size - socket.tx_used() - written);
}

std::uint32_t SocketEngine::new_isn() {
  switch (context_.quirks.choice<IsnSource>(Quirk::isn_source)) {
    case IsnSource::seeded:
      return static_cast<std::uint32_t>(context_.isn.next());
    case IsnSource::clock:
      return static_cast<std::uint32_t>(context_.queue.now().time_since_epoch() / 4us);  // RFC 9293 3.4.1
    case IsnSource::zero:
      break;
  }
  return 0;
}

// ARP ----------------------------------------------------------------------------------------------------------------

void SocketEngine::resolve(Socket& socket) {
  socket.arp_for = socket.dipr();
  socket.arp.start(context_.common.next_hop(socket.arp_for), context_.queue.now() + preparation(0));
}

void SocketEngine::on_arp_reply(const wire::Arp& reply) {
  for (auto& socket : sockets_) {
    if (socket->arp.asking() && socket->arp.target() == reply.sender_ip) {
      socket->set_dhar(reply.sender_mac);
      socket->arp.stop();
      on_resolved(*socket, context_.queue.now());
    } else if (socket->known_destination == reply.sender_ip && socket->dhar() != reply.sender_mac &&
               context_.quirks.choice<UnaskedArp>(Quirk::unasked_arp) == UnaskedArp::updates) {
      socket->set_dhar(reply.sender_mac);
    }
  }
}

void SocketEngine::on_resolved(Socket& socket, Instant at) {
  socket.known_destination = socket.arp_for;
  if (socket.connecting) {
    socket.tcp.connect(new_isn(), tcp_settings(socket), at + preparation(0));
    socket.connecting = false;
  } else {
    socket.datagrams.set_ready(at + preparation(std::min(socket.datagrams.left(), socket.largest_payload())));
  }
  pump();
}

void SocketEngine::on_arp_timeout(Socket& socket) {
  if (socket.connecting) {
    close(socket);
    raise(socket, sn_ir::TIMEOUT);
  } else {
    socket.datagrams.stop();
    socket.known_destination.reset();
    const std::uint16_t unsent = socket.tx_rd;
    finish_send(socket, sn_ir::TIMEOUT);
    // The datagram is lost; otherwise the next SEND sends both.
    if (context_.quirks.choice<UdpDataAfterArpTimeout>(Quirk::udp_data_after_arp_timeout) ==
        UdpDataAfterArpTimeout::kept) {
      socket.tx_rd = unsent;
    }
  }
}

// Reception ----------------------------------------------------------------------------------------------------------

TcpSettings SocketEngine::tcp_settings(const Socket& socket) {
  const std::size_t size = context_.rx_memory.ring(socket.number).size();
  std::size_t used = socket.received_size();
  if (socket.rx_rd != socket.rx_rd_written &&
      context_.quirks.choice<AdvertisedWindow>(Quirk::advertised_window) == AdvertisedWindow::by_pointer) {
    used = static_cast<std::uint16_t>(socket.rx_wr - socket.rx_rd_written);
  }
  return {context_.common.rtr(),
          context_.common.rcr(),
          socket.mode(sn_mr::ND),
          socket.largest_payload(),
          static_cast<std::uint16_t>(used < size ? size - used : 0),
          5s * std::int64_t{socket.bytes[socket::Sn_KPALVTR]},
          context_.latencies,
          context_.quirks};
}

void SocketEngine::on_syn(Socket& listener, const TcpHeader& syn, wire::Ipv4Address source, const wire::MacAddress& mac,
                          Instant arrived) {
  const std::uint8_t before = listener.status();
  store32(&listener.bytes[socket::Sn_DIPR], source);
  store16(&listener.bytes[socket::Sn_DPORT], syn.source_port);
  listener.set_dhar(mac);
  listener.tcp.accept(syn, new_isn(), tcp_settings(listener), arrived);
  store16(&listener.bytes[socket::Sn_MSSR], listener.tcp.peer_mss());
  note_status(listener, before);
  arm(listener);
  pump();
}

bool SocketEngine::on_tcp_segment(Socket& socket, const TcpHeader& segment, Bytes payload, Instant arrived) {
  const std::uint8_t before = socket.status();
  const TcpReaction reaction =
      socket.tcp.on_segment(segment, static_cast<std::uint16_t>(payload.size()), tcp_settings(socket), arrived);
  apply(socket, reaction, payload);
  note_status(socket, before);
  arm(socket);
  pump();
  return !reaction.refused;
}

void SocketEngine::start_pointers(Socket& socket) {
  const std::uint32_t first = socket.tcp.end_of_data();  // the first data byte's sequence number
  const bool from_isn =
      context_.quirks.choice<TxPointersAtConnection>(Quirk::tx_pointers_at_connection) == TxPointersAtConnection::isn;
  socket.tx_sequence_base = from_isn ? 0 : first;
  socket.tx_rd = socket.tx_wr = socket.tx_wr_written = socket.tx_pointer(first);
  if (context_.quirks.choice<RxPointersAtConnection>(Quirk::rx_pointers_at_connection) == RxPointersAtConnection::irs) {
    socket.rx_rd = socket.rx_rd_written = socket.rx_wr = static_cast<std::uint16_t>(socket.tcp.first_received());
  }
}

void SocketEngine::apply(Socket& socket, const TcpReaction& reaction, Bytes payload) {
  if (reaction.established) {
    judge_.on_connected(socket, socket.tx_wr);
    start_pointers(socket);
  }
  if (reaction.payload_taken > 0) {
    const Bytes fresh = payload.subspan(reaction.payload_skip, reaction.payload_taken);
    context_.rx_memory.ring(socket.number).write(socket.rx_wr, fresh.data(), fresh.size());
    socket.rx_wr = static_cast<std::uint16_t>(socket.rx_wr + fresh.size());
    judge_.on_received(socket);
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
  if (!had_room) return note_dropped(socket, payload.size());
  judge_.on_datagram(socket, payload);
  std::uint8_t header[udp_record_header];
  store32(header, source);
  store16(header + 4, source_port);
  store16(header + 6, static_cast<std::uint16_t>(payload.size()));
  store_record(socket, header, payload);
}

void SocketEngine::on_ip_packet(Socket& socket, wire::Ipv4Address source, Bytes payload) {
  std::uint8_t header[6];
  store32(header, source);
  store16(header + 4, static_cast<std::uint16_t>(payload.size()));
  store_record(socket, header, payload);
}

void SocketEngine::on_raw_frame(Socket& socket, Bytes frame) {
  std::uint8_t header[2];
  store16(header, static_cast<std::uint16_t>(frame.size() + sizeof header));  // its own two bytes count
  store_record(socket, header, frame);
}

void SocketEngine::store_record(Socket& socket, Bytes header, Bytes payload) {
  Ring& ring = context_.rx_memory.ring(socket.number);
  if (socket.received_size() + header.size() + payload.size() > ring.size())
    return note_dropped(socket, payload.size());
  ring.write(socket.rx_wr, header.data(), header.size());
  ring.write(static_cast<std::uint16_t>(socket.rx_wr + header.size()), payload.data(), payload.size());
  socket.rx_wr = static_cast<std::uint16_t>(socket.rx_wr + header.size() + payload.size());
  raise(socket, sn_ir::RECV);
}

// A record that does not fit is dropped whole; older records stay.
void SocketEngine::note_dropped(const Socket& socket, std::size_t bytes) {
  ++records_dropped_;
  judge_.on_receive_blocked(socket);
  if (!context_.trace.wanted()) return;
  context_.trace.emit(context_.queue.now(), place(socket), "datagram_dropped",
                      {{"bytes", static_cast<std::int64_t>(bytes)}});
}

void SocketEngine::on_group_message(const wire::Igmp& message, Instant arrived) {
  const bool delays =
      context_.quirks.peek<GroupQueryAnswer>(Quirk::group_query_answer) == GroupQueryAnswer::random_delay;
  const Duration longest = message.max_response();
  for (auto& socket : sockets_) {
    if (delays && message.is_report()) socket->group.on_report_heard(message.group);
    if (!socket->group.is_asked_by(message)) continue;
    context_.quirks.touch(Quirk::group_query_answer);
    const Instant earliest = arrived + context_.latencies.use(&Latencies::query_to_report);
    if (delays) {
      const auto drawn = context_.group_reports.below(static_cast<std::uint64_t>(longest.count()) + 1);
      const Duration delay = picoseconds(static_cast<std::int64_t>(drawn));
      socket->group.report_by(arrived + longest, std::max(earliest, arrived + delay));
    } else {
      socket->group.report_at(earliest);
    }
  }
  pump();
}

void SocketEngine::queue_reply(wire::FramePtr frame, Instant ready) {
  transmitter_.queue_reply(std::move(frame), ready);
  pump();
}

void SocketEngine::raise(Socket& socket, std::uint8_t causes) {
  const std::uint8_t mask = socket.bytes[socket::Sn_IMR];
  if ((causes & ~mask) != 0 && context_.quirks.choice<SnIrMasking>(Quirk::sn_ir_masking) == SnIrMasking::masked) {
    causes &= mask;
  }
  if (causes == 0) return;
  socket.interrupts |= causes;
  socket.latest_causes.set(causes, context_.queue.now());
  if (context_.trace.wanted()) {
    context_.trace.emit(context_.queue.now(), place(socket), "interrupt", {{"Sn_IR", RegisterValue{causes}}});
  }
  listener_.on_interrupts_changed();
}

void SocketEngine::raise_sendok(Socket& socket) {
  FaultPoint* lost = context_.faults.sendok_lost;
  FaultPoint* late = context_.faults.sendok_late;
  if (lost != nullptr && lost->strikes()) return;
  if (late == nullptr || !late->strikes()) return raise(socket, sn_ir::SENDOK);
  context_.events.schedule(late->time("delay"), [this, &socket, epoch = socket.epoch] {
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
                      {{"from", RegisterValue{before}}, {"to", RegisterValue{socket.status()}}});
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

Duration SocketEngine::preparation(std::uint16_t payload_bytes) {
  const Duration headers = context_.latencies.use(&Latencies::send_to_frame);
  if (payload_bytes == 0) return headers;
  return headers + context_.latencies.use(&Latencies::send_to_frame_per_byte) * std::int64_t{payload_bytes};
}

Instant SocketEngine::next_output(const Socket& socket) const {
  return std::min({socket.arp.next_output(), socket.tcp.next_output(), socket.datagrams.next_output(),
                   socket.raw.next_output(), socket.group.next_output()});
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
    if (candidate.status() == sn_sr::CLOSED) continue;  // has nothing to send
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
  } else if (socket.group.next_output() <= now) {
    transmit_group_report(socket);
  } else if (socket.raw.next_output() <= now) {
    transmit_raw_frame(socket);
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
  if (context_.common.mode(mr::PPPoE)) judge_.on_pppoe_framing();
  wire::EthernetHeader{socket.dhar(), context_.common.shar(), wire::type_ipv4}.emit(frame.bytes.data());
  wire::Ipv4Header ip;
  ip.tos = socket.bytes[socket::Sn_TOS];
  ip.ttl = socket.bytes[socket::Sn_TTL];
  ip.flags_and_fragment = load16(&socket.bytes[socket::Sn_FRAG]);
  ip.identification = context_.next_identification(socket.ip_identification);
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

  const Instant last_bit = transmitter_.send(segment_frame(socket, segment, settings.window));
  socket.tcp.on_segment_left(transmitter_.free_at() + context_.latencies.use(&Latencies::between_segments));

  if (segment.length == 0 || segment.is_keepalive) return;
  if (socket.sending && socket.tcp.all_sent()) {
    complete_after(socket, last_bit);
  } else {
    socket.tx_rd = socket.tx_pointer(socket.tcp.sent_once_up_to());
  }
}

wire::FramePtr SocketEngine::segment_frame(Socket& socket, const TcpSegment& segment, std::uint16_t window) {
  wire::FramePtr frame = context_.frames.take();
  TcpHeader header;
  header.source_port = socket.port();
  header.destination_port = socket.dport();
  header.sequence = segment.sequence;
  header.acknowledgment = segment.acknowledgment;
  header.flags = segment.flags;
  header.window = window;
  header.mss = segment.mss_option;
  const std::size_t header_bytes = header.emitted_header_bytes();
  context_.tx_memory.ring(socket.number)
      .read(socket.tx_pointer(segment.sequence), &frame->bytes[ip_payload_at + header_bytes], segment.length);
  header.emit(context_.common.sipr(), socket.dipr(), {&frame->bytes[ip_payload_at], header_bytes + segment.length});
  finish_ip_frame(*frame, socket, socket.dipr(), wire::protocol_tcp, header_bytes + segment.length);
  return frame;
}

void SocketEngine::complete_after(Socket& socket, Instant last_bit) {
  ++pending_completions_;
  context_.events.schedule_at(last_bit + context_.latencies.use(&Latencies::frame_to_sendok),
                              [this, &socket, epoch = socket.epoch] {
                                --pending_completions_;
                                if (socket.epoch == epoch && socket.sending) finish_send(socket, sn_ir::SENDOK);
                              });
}

void SocketEngine::transmit_datagram(Socket& socket) {
  const DatagramSend::Datagram datagram = socket.datagrams.take(socket.largest_payload());
  wire::FramePtr frame = context_.frames.take();
  const bool is_udp = socket.plain_status == sn_sr::UDP;
  const std::size_t header_bytes = is_udp ? wire::UdpHeader::bytes : 0;
  context_.tx_memory.ring(socket.number)
      .read(datagram.offset, &frame->bytes[ip_payload_at + header_bytes], datagram.length);
  const std::size_t message_bytes = header_bytes + datagram.length;
  if (is_udp) {
    wire::UdpHeader{socket.port(), socket.datagrams.port(), 0}.emit(context_.common.sipr(), socket.datagrams.address(),
                                                                    {&frame->bytes[ip_payload_at], message_bytes});
  }
  finish_ip_frame(*frame, socket, socket.datagrams.address(),
                  is_udp ? wire::protocol_udp : socket.bytes[socket::Sn_PROTO], message_bytes);
  const Instant last_bit = transmitter_.send(std::move(frame));
  if (socket.datagrams.active()) {
    socket.datagrams.set_ready(transmitter_.free_at() + context_.latencies.use(&Latencies::between_segments));
  } else {
    complete_after(socket, last_bit);
  }
}

// MACRAW: the whole range is one frame; the MAC adds the FCS, and pads.
void SocketEngine::transmit_raw_frame(Socket& socket) {
  const std::uint16_t length = socket.raw.length();
  const std::uint16_t offset = socket.raw.offset();
  socket.raw.stop();
  if (length > wire::max_frame_bytes) return finish_send(socket, sn_ir::SENDOK);  // the host's fault: not sent
  if (!transmitter_.has_link() &&
      context_.quirks.choice<MacrawWithoutLink>(Quirk::macraw_without_link) == MacrawWithoutLink::no_sendok) {
    return;  // the frame waits for ever
  }
  wire::FramePtr frame = context_.frames.take();
  context_.tx_memory.ring(socket.number).read(offset, frame->bytes.data(), length);
  frame->size = length;
  const bool pads = length >= wire::min_frame_bytes ||
                    context_.quirks.choice<MacrawPadding>(Quirk::macraw_padding) == MacrawPadding::zeros;
  complete_after(socket,
                 transmitter_.send(std::move(frame), pads ? Transmitter::Padding::zeros : Transmitter::Padding::none));
}

void SocketEngine::transmit_group_report(Socket& socket) {
  socket.group.on_report_leaves();
  const std::uint8_t type = socket.group.version_1() ? wire::Igmp::report_v1 : wire::Igmp::report_v2;
  transmitter_.send(igmp_frame(socket, type, socket.group.group(), socket.group.mac()));
}

wire::FramePtr SocketEngine::igmp_frame(Socket& socket, std::uint8_t type, wire::Ipv4Address to,
                                        const wire::MacAddress& mac) {
  wire::FramePtr frame = context_.frames.take();
  wire::EthernetHeader{mac, context_.common.shar(), wire::type_ipv4}.emit(frame->bytes.data());
  wire::Ipv4Header ip;
  ip.ttl = 1;
  ip.identification = context_.next_identification(socket.ip_identification);
  ip.protocol = wire::protocol_igmp;
  ip.source = context_.common.sipr();
  ip.destination = to;
  ip.total_length = wire::Ipv4Header::bytes + wire::Igmp::bytes;
  ip.emit(&frame->bytes[wire::ethernet_header_bytes]);
  wire::Igmp{type, 0, socket.group.group()}.emit(&frame->bytes[ip_payload_at]);
  frame->size = ip_payload_at + wire::Igmp::bytes;
  return frame;
}

}  // namespace wizloop::chip
