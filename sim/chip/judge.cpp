#include "sim/chip/judge.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

namespace wizloop::chip {
namespace {

const RegisterSpec* spec_of(Block block, std::uint16_t offset) {
  return block.is_common() ? common_register_at(offset) : socket_register_at(offset);
}

std::string place_of(Block block) {
  return block.is_common() ? std::string{"common"} : fmt::format("S{}", block.socket());
}

std::string_view state_name(std::uint8_t status) {
  switch (status) {
    case sn_sr::CLOSED:
      return "SOCK_CLOSED";
    case sn_sr::INIT:
      return "SOCK_INIT";
    case sn_sr::LISTEN:
      return "SOCK_LISTEN";
    case sn_sr::SYNSENT:
      return "SOCK_SYNSENT";
    case sn_sr::SYNRECV:
      return "SOCK_SYNRECV";
    case sn_sr::ESTABLISHED:
      return "SOCK_ESTABLISHED";
    case sn_sr::FIN_WAIT:
      return "SOCK_FIN_WAIT";
    case sn_sr::CLOSING:
      return "SOCK_CLOSING";
    case sn_sr::TIME_WAIT:
      return "SOCK_TIME_WAIT";
    case sn_sr::CLOSE_WAIT:
      return "SOCK_CLOSE_WAIT";
    case sn_sr::LAST_ACK:
      return "SOCK_LAST_ACK";
    case sn_sr::UDP:
      return "SOCK_UDP";
    case sn_sr::IPRAW:
      return "SOCK_IPRAW";
    case sn_sr::MACRAW:
      return "SOCK_MACRAW";
    default:
      return "";
  }
}

// A state that ends by itself: firmware that looks at it waits for something.
bool is_transient(std::uint8_t status) {
  return status == sn_sr::SYNSENT || status == sn_sr::SYNRECV || status == sn_sr::FIN_WAIT ||
         status == sn_sr::CLOSING || status == sn_sr::TIME_WAIT || status == sn_sr::LAST_ACK;
}

constexpr std::uint16_t dhcp_client_port = 68;

constexpr std::uint8_t chip_version = 0x04;
constexpr std::uint8_t send_results = sn_ir::SENDOK | sn_ir::TIMEOUT;

constexpr std::uint8_t reserved_in_mr = 0x45, reserved_in_imr = 0x0F;

// Bits of Sn_MR that its own protocol leaves undefined (datasheet 4.2).
std::uint8_t reserved_in_sn_mr(std::uint8_t value) {
  switch (value & sn_mr::protocol) {
    case sn_mr::TCP:
      return 0xD0;
    case sn_mr::UDP:
    case sn_mr::MACRAW:
      return 0x00;
    case sn_mr::IPRAW:
    case sn_mr::CLOSED:
      return 0xF0;
    default:
      return 0xFF;
  }
}

bool is_legal_size(std::uint8_t kib) { return kib == 0 || (kib <= 16 && std::has_single_bit(kib)); }

bool is_multicast(wire::Ipv4Address address) { return address >> 28 == 0xE; }

// The type of a DHCP message (RFC 2131) that this client sent, or that is for it: a server that broadcasts its answers
// is heard by all clients. 0 if this is none.
std::uint8_t dhcp_type(Bytes message, std::uint8_t op, const wire::MacAddress& client) {
  constexpr std::size_t chaddr = 28, cookie = 236, options = 240;
  constexpr std::uint8_t pad = 0, end = 255, message_type = 53;
  if (message.size() < options || message[0] != op || load32(&message[cookie]) != 0x63825363) return 0;
  if (!std::ranges::equal(message.subspan(chaddr, client.size()), client)) return 0;
  for (std::size_t at = options; at < message.size() && message[at] != end;) {
    if (message[at] == pad) {
      ++at;
      continue;
    }
    if (at + 2 >= message.size()) return 0;
    if (message[at] == message_type) return message[at + 2];
    at += std::size_t{2} + message[at + 1];
  }
  return 0;
}

// The address that a DHCPACK grants to this client; 0 if this is none.
wire::Ipv4Address granted_by(Bytes message, const wire::MacAddress& client) {
  constexpr std::size_t yiaddr = 16;
  constexpr std::uint8_t reply = 2, ack = 5;
  return dhcp_type(message, reply, client) == ack ? load32(&message[yiaddr]) : 0;
}

// Whether this client gives its address back.
bool gives_back(Bytes message, const wire::MacAddress& client) {
  constexpr std::uint8_t request = 1, decline = 4, release = 7;
  const std::uint8_t type = dhcp_type(message, request, client);
  return type == decline || type == release;
}

// What the network does between a look at Sn_SR and the command that follows from it, no firmware can help. A look
// lasts until a command of the host's own moves Sn_SR.
bool moves_status(std::uint8_t code) {
  return code == sn_cr::OPEN || code == sn_cr::LISTEN || code == sn_cr::CONNECT || code == sn_cr::DISCON ||
         code == sn_cr::CLOSE;
}

// In a socket that read `looked` the command was all right, until RST, FIN or TIMEOUT came.
bool network_may_forestall(std::uint8_t code, std::uint8_t looked) {
  switch (code) {
    case sn_cr::SEND:
      return looked == sn_sr::ESTABLISHED || looked == sn_sr::CLOSE_WAIT;
    case sn_cr::SEND_KEEP:
      return looked == sn_sr::ESTABLISHED;
    case sn_cr::DISCON:
      return (looked >= sn_sr::INIT && looked <= sn_sr::ESTABLISHED) || looked == sn_sr::CLOSE_WAIT;
    case sn_cr::RECV:
      return looked != sn_sr::CLOSED;
    default:
      return false;
  }
}

}  // namespace

// Evidence -----------------------------------------------------------------------------------------------------------

Evidence Judge::evidence(const Socket* socket) const {
  Evidence evidence;
  for (std::size_t i = 0; i < frame_log_->count; ++i) {
    evidence.spi += fmt::format("{}{:02x}", i == 0 ? "" : " ", frame_log_->mosi[i]);
  }
  if (frame_log_->writes_tx_buffer() && access_.is_write) {
    const Ring& ring = context_.tx_memory.ring(static_cast<int>(access_.socket));
    for (std::size_t i = 0; i < std::min<std::size_t>(access_.bytes, 8); ++i) {
      evidence.spi += fmt::format(" {:02x}", ring.read(static_cast<std::uint16_t>(access_.start + i)));
    }
  }
  if (socket != nullptr) evidence.state = state_name(socket->status());
  return evidence;
}

void Judge::add(Rule rule, std::string_view seen, const Socket* socket) {
  context_.findings.add(context_.queue.now(), rule, seen, evidence(socket));
}

// Pins ---------------------------------------------------------------------------------------------------------------

void Judge::on_reset_pin(bool high) {
  const Instant now = context_.queue.now();
  const Duration low_for = now - rstn_changed_at_;
  if (high && rstn_low_ && low_for < limits::reset_low) {
    add(Rule::reset_too_short,
        fmt::format("RSTn low for {} ns, at least {} ns", low_for / 1ns, limits::reset_low / 1ns));
  }
  rstn_low_ = !high;
  rstn_changed_at_ = now;
  no_access_before_ = high ? now + limits::pll_lock : Instant::max();
  early_access_.clear();
  early_access_told_ = false;
  access_ = {};
  frame_log_->tells_each = true;
}

void Judge::on_reset() {
  for (Watched& of : watched_) {
    const Socket* const socket = of.socket;
    of = Watched{};
    of.socket = socket;
  }
  access_ = {};
  torn_.reset();
  was_reset_ = true;
  wants_interrupts_ = false;
  intn_low_since_ = lease_due_ = Instant::max();
  leased_ = 0;
  note_progress();
}

void Judge::on_host_restart() {
  for (Watched& of : watched_) of.leaked = of.socket != nullptr && of.socket->status() != sn_sr::CLOSED;
}

void Judge::on_interrupts(std::uint8_t sir, bool asserted) {
  const Instant now = context_.queue.now();
  if (!asserted) {
    intn_low_since_ = Instant::max();
  } else if (intn_low_since_ == Instant::max()) {
    intn_low_since_ = now;
    arm(now + limits::interrupt_unserved);
  }
  if (wants_interrupts_) watch_masked(sir);
}

// SPI ----------------------------------------------------------------------------------------------------------------

void Judge::on_deselect(std::size_t header_bytes, std::size_t data_bytes) {
  if (context_.queue.now() < no_access_before_) {
    if (!rstn_low_) context_.quirks.touch(Quirk::spi_before_pll);
    if (!std::exchange(early_access_told_, false)) add_early_access();
    return;
  }
  if (header_bytes == 1 || header_bytes == 2) {
    add(Rule::header_cut_short, fmt::format("SCSn rose after {} of 3 header bytes{}", header_bytes,
                                            data_bytes > 0 ? fmt::format(", behind {} data bytes", data_bytes) : ""));
  }
  frame_log_->tells_each = torn_.any() || watches_masked();
}

void Judge::on_ignored_bytes() {
  if (context_.queue.now() >= no_access_before_) return;  // a fault of the chip's own
  add_early_access();
  early_access_told_ = true;
}

void Judge::add_early_access() {
  if (early_access_.empty()) {
    early_access_ =
        rstn_low_ ? "SPI frame while RSTn is low"
                  : fmt::format("SPI frame {} ns after RSTn rose", (context_.queue.now() - rstn_changed_at_) / 1ns);
  }
  add(Rule::access_before_pll_lock, early_access_);
}

// Registers ----------------------------------------------------------------------------------------------------------

void Judge::on_reserved_read(Block block, std::uint16_t offset) {
  if (block.is_reserved()) return;  // has a rule of its own
  add(Rule::reserved_register, fmt::format("read of {} 0x{:04X}", place_of(block), offset));
}

void Judge::on_register_write(Block block, std::uint16_t offset, std::uint8_t value) {
  if (block.is_reserved()) return;
  note_progress();
  const Socket* const socket = block.is_common() ? nullptr : watched_[static_cast<std::size_t>(block.socket())].socket;
  const RegisterSpec* spec = spec_of(block, offset);
  if (spec == nullptr) {
    add(Rule::reserved_register, fmt::format("write to {} 0x{:04X} = 0x{:02X}", place_of(block), offset, value),
        socket);
  } else if (spec->access == Access::read_only) {
    add(Rule::write_to_read_only, fmt::format("{} {} = 0x{:02X}", place_of(block), spec->name, value), socket);
  } else if (block.is_common()) {
    on_common_write(offset, value);
  } else {
    use_counters(static_cast<std::size_t>(socket->number));
    on_socket_write(*socket, offset, value);
  }
}

void Judge::on_common_write(std::uint16_t offset, std::uint8_t value) {
  const auto reserved = [&](std::string_view name, std::uint8_t bits) {
    if ((value & bits) == 0) return;
    add(Rule::reserved_bits_written, fmt::format("common {} = 0x{:02X}, reserved 0x{:02X}", name, value, value & bits));
  };
  switch (offset) {
    case common::MR:
      return reserved("MR", reserved_in_mr);
    case common::IMR:
      if (value != 0) wants_interrupts_ = true;
      return reserved("IMR", reserved_in_imr);
    case common::SIMR:
      if (value != 0) wants_interrupts_ = true;
      return;
    case common::PHYCFGR:
      if ((value >> 3 & 7) == 5) {
        add(Rule::reserved_bits_written, fmt::format("common PHYCFGR = 0x{:02X}, OPMDC 101 is not used", value));
      }
      return;
    default:
      return;
  }
}

void Judge::on_socket_write(const Socket& socket, std::uint16_t offset, std::uint8_t value) {
  switch (offset) {
    case socket::Sn_CR:
      return on_command(socket, value);
    case socket::Sn_IR:
      if ((socket.interrupts & value & send_results) != 0) watched(socket).result_due = false;
      return;
    case socket::Sn_IMR:
      if (value != 0) wants_interrupts_ = true;
      return;
    case socket::Sn_MR:
      if (const int bits = value & reserved_in_sn_mr(value); bits != 0) {
        add(Rule::reserved_bits_written,
            fmt::format("S{} Sn_MR = 0x{:02X}, reserved 0x{:02X}", socket.number, value, bits), &socket);
      }
      return;
    case socket::Sn_RXBUF_SIZE:
    case socket::Sn_TXBUF_SIZE:
      return on_size_write(socket, offset, value);
    default:
      // Who talks to whom: Sn_PORT, Sn_DHAR, Sn_DIPR and Sn_DPORT lie side by side.
      if (offset < socket::Sn_PORT || offset >= socket::Sn_MSSR || socket.bytes[offset] == value) return;
      if (!socket.resolving() && socket.tcp.status() < sn_sr::SYNSENT) return;
      add(Rule::connection_readdressed, fmt::format("S{} {} changed", socket.number, socket_register_at(offset)->name),
          &socket);
  }
}

void Judge::on_size_write(const Socket& socket, std::uint16_t offset, std::uint8_t value) {
  const std::string_view name = socket_register_at(offset)->name;
  const std::string seen = fmt::format("S{} {} = {}", socket.number, name, value);
  if (!is_legal_size(value)) add(Rule::illegal_buffer_size, seen, &socket);
  if (socket.bytes[offset] == value) return;
  for (int n = socket.number; n < socket_count; ++n) {
    const Socket& moved = *watched_[static_cast<std::size_t>(n)].socket;
    if (moved.status() == sn_sr::CLOSED) continue;
    add(Rule::buffer_resized_while_open, fmt::format("{}, was {}, while S{} is open", seen, socket.bytes[offset], n),
        &moved);
    break;
  }
}

// Polls --------------------------------------------------------------------------------------------------------------

void Judge::on_register_read(Block block, std::uint16_t offset, std::uint8_t value) {
  Poll& poll = polls_[block.bsb][offset];
  const bool of_counter = !block.is_common() && is_counter(offset);
  const auto known = [&] {
    return static_cast<std::uint32_t>(poll_epoch_) | (of_counter ? poll_of_counter : 0) | value;
  };
  if (of_counter) {
    on_counter_read(block, offset, value);
    if (poll.known == known() && --poll.reads_to_look != 0) return;
  }
  if (poll.known == known()) return check_poll(block, offset);
  if (poll.value() != value) note_progress();
  poll = {known(), limits::poll_reads - 1};
  began_[block.row()][offset] = {context_.queue.now(), poll_epoch_};
  if (!block.is_common()) note_look(watched_[static_cast<std::size_t>(block.socket())], offset, value);
}

// The first read of a value, and the first one behind a command, begin a poll: nothing that a look tells is missed.
void Judge::note_look(Watched& of, std::uint16_t offset, std::uint8_t value) {
  if (offset == socket::Sn_SR) of.seen_status = value;
  if (offset == socket::Sn_IR && (value & sn_ir::CON) != 0) of.connection_seen = true;
}

void Judge::check_poll(Block block, std::uint16_t offset) {
  constexpr std::uint32_t look_again = 32;  // reads; what nobody relies on may be polled for hours
  Poll& poll = polls_[block.bsb][offset];
  PollBegin& began = began_[block.row()][offset];
  if (began.epoch != poll_epoch_) began = {context_.queue.now(), poll_epoch_};  // an epoch that looks like this one
  poll.reads_to_look = look_again;
  const Duration polled = context_.queue.now() - began.at;
  const std::uint8_t value = poll.value();
  if (polled < limits::poll_time || !is_awaited(block, offset, value)) return;
  const Socket* const socket = block.is_common() ? nullptr : watched_[static_cast<std::size_t>(block.socket())].socket;
  const bool retries = socket != nullptr && std::min(socket->tcp.deadline(), socket->arp.deadline()) != Instant::max();
  if (retries && polled < limits::poll_time_with_retries) return;
  add(Rule::endless_poll,
      fmt::format("{} {} = 0x{:02X}, read without a change for {} s", place_of(block), spec_of(block, offset)->name,
                  value, (retries ? limits::poll_time_with_retries : limits::poll_time) / 1s),
      socket);
  note_progress();  // and counts anew, so that the count of the finding says how long it went on
}

// Whether a change of this register is what firmware may rely on. Waiting for the network (a client, data, a cable) may
// take for ever.
bool Judge::is_awaited(Block block, std::uint16_t offset, std::uint8_t value) const {
  if (block.is_common()) {
    return (offset == common::MR && (value & mr::RST) != 0) || (offset == common::VERSIONR && value != chip_version);
  }
  const Watched& of = watched_[static_cast<std::size_t>(block.socket())];
  const Socket& socket = *of.socket;
  const bool in_flight = socket.sending || socket.resolving() || is_transient(socket.status());
  switch (offset) {
    case socket::Sn_CR:
      return value != 0;
    case socket::Sn_IR:
      return in_flight || (of.result_due && (value & send_results) == 0 && socket.status() != sn_sr::CLOSED);
    case socket::Sn_SR:
      return socket.resolving() || is_transient(socket.status());
    case socket::Sn_TX_FSR:
    case socket::Sn_TX_FSR + 1:
    case socket::Sn_TX_RD:
    case socket::Sn_TX_RD + 1:
      return socket.tx_used() > 0;
    default:
      return false;
  }
}

// Commands -----------------------------------------------------------------------------------------------------------

// The host gives up a connection that it could not know to have come up by now.
bool Judge::came_after_the_look(const Watched& of) {
  return of.status_at_command && *of.status_at_command != sn_sr::ESTABLISHED && of.connected_anew &&
         !of.connection_seen;
}

void Judge::on_command(const Socket& socket, std::uint8_t code) {
  Watched& of = watched(socket);
  const std::uint8_t status = socket.status();
  const auto seen = [&] { return fmt::format("S{} Sn_CR = 0x{:02X}", socket.number, code); };
  of.status_at_command = of.seen_status;
  if (moves_status(code)) of.seen_status.reset();
  if (socket.command != 0 && context_.queue.now() < socket.command_accepted) {
    add(Rule::command_while_busy, fmt::format("{} while Sn_CR is 0x{:02X}", seen(), socket.command), &socket);
  }
  switch (code) {
    case sn_cr::OPEN:
      if (status == sn_sr::CLOSED) return on_open(socket);
      return add(Rule::open_on_open_socket, fmt::format("{} while Sn_SR = 0x{:02X}", seen(), status), &socket);
    case sn_cr::CLOSE:
      if (status == sn_sr::ESTABLISHED && !came_after_the_look(of)) {
        add(Rule::close_without_disconnect, seen(), &socket);
      }
      return;
    case sn_cr::LISTEN:
    case sn_cr::CONNECT:
      if (status != sn_sr::INIT) return;
      if (code == sn_cr::CONNECT && (socket.interrupts & sn_ir::TIMEOUT) != 0) {
        add(Rule::send_result_not_cleared, fmt::format("{} while Sn_IR = 0x{:02X}", seen(), socket.interrupts),
            &socket);
      }
      check_addresses(socket, code);
      return;
    case sn_cr::SEND:
    case sn_cr::SEND_MAC:
      if (!socket.sending && (socket.interrupts & (sn_ir::SENDOK | sn_ir::TIMEOUT)) != 0 && status != sn_sr::CLOSED) {
        add(Rule::send_result_not_cleared, fmt::format("{} while Sn_IR = 0x{:02X}", seen(), socket.interrupts),
            &socket);
      }
      if (status == sn_sr::UDP) check_addresses(socket, code);
      return;
    case sn_cr::RECV:
      of.data_read = of.ring_blocked = false;
      of.receive_due = of.first_read_at = Instant::max();
      if (status != sn_sr::CLOSED &&
          static_cast<std::uint16_t>(socket.rx_rd_written - socket.rx_rd) > socket.received_size()) {
        add(Rule::read_pointer_outside,
            fmt::format("S{} Sn_RX_RD = 0x{:04X}, received 0x{:04X} to 0x{:04X}", socket.number, socket.rx_rd_written,
                        socket.rx_rd, socket.rx_wr),
            &socket);
      }
      return;
    default:
      if (code >= sn_cr::PCON && code <= sn_cr::PPP_last) on_pppoe_command(socket, code);
      return;
  }
}

void Judge::on_open(const Socket& socket) {
  Watched& of = watched(socket);
  of.written.resize(context_.tx_memory.ring(socket.number).size());
  of.last_write_bytes = 0;
  of.result_due = of.connected_anew = of.leaked = of.data_read = of.ring_blocked = false;
  of.receive_due = of.first_read_at = Instant::max();

  if (!was_reset_) {
    was_reset_ = true;
    add(Rule::never_reset, fmt::format("S{} is opened with neither RSTn nor MR.RST since power-up", socket.number),
        &socket);
  }
  for (const auto& [offset, name] : {std::pair{socket::Sn_TXBUF_SIZE, "TX"}, std::pair{socket::Sn_RXBUF_SIZE, "RX"}}) {
    int total_kib = 0;
    for (const Watched& other : watched_) total_kib += other.socket->bytes[offset];
    if (total_kib * 1024 > static_cast<int>(memory_bytes)) {
      add(Rule::buffers_over_committed, fmt::format("{} total {} KiB of 16", name, total_kib), &socket);
    }
  }
  for (Watched& other : watched_) {
    if (!other.leaked) continue;
    other.leaked = false;
    if (other.socket->status() == sn_sr::CLOSED) continue;
    add(Rule::socket_leaked,
        fmt::format("S{} Sn_SR = 0x{:02X} from before the restart, while S{} is opened", other.socket->number,
                    other.socket->status(), socket.number),
        other.socket);
  }
  const std::uint8_t mode = socket.bytes[socket::Sn_MR];
  if (context_.common.mode(mr::PPPoE)) on_pppoe_framing();
  if ((mode & sn_mr::protocol) == sn_mr::PPPoE) {
    add(Rule::not_modelled,
        fmt::format("S{} Sn_MR = 0x{:02X} (PPPoE): OPEN leaves the socket closed here", socket.number, mode), &socket);
  }
  if ((mode & sn_mr::protocol) != sn_mr::UDP || (mode & sn_mr::MULTI) == 0) return;
  const wire::Ipv4Address group = socket.dipr();
  const wire::MacAddress wanted = {0x01,
                                   0x00,
                                   0x5E,
                                   static_cast<std::uint8_t>(group >> 16 & 0x7F),
                                   static_cast<std::uint8_t>(group >> 8),
                                   static_cast<std::uint8_t>(group)};
  if (!is_multicast(group) || socket.dhar() != wanted) {
    add(Rule::multicast_without_group,
        fmt::format("S{} Sn_DIPR = {}.{}.{}.{}, Sn_DHAR = {:02x}", socket.number, group >> 24, group >> 16 & 0xFF,
                    group >> 8 & 0xFF, group & 0xFF, fmt::join(socket.dhar(), ":")),
        &socket);
  }
}

void Judge::check_addresses(const Socket& socket, std::uint8_t code) {
  const wire::Ipv4Address destination = socket.dipr();
  if (context_.common.shar() == wire::MacAddress{}) {
    add(Rule::own_mac_missing, fmt::format("S{} used with SHAR = 00:00:00:00:00:00", socket.number), &socket);
  }
  if (code == sn_cr::LISTEN) return;  // any peer will do
  if (destination == 0 || socket.dport() == 0) {
    add(Rule::destination_missing,
        fmt::format("S{} Sn_DIPR = 0x{:08X}, Sn_DPORT = {}", socket.number, destination, socket.dport()), &socket);
  } else if (context_.common.sipr() == 0 && !context_.common.is_own_broadcast(destination) &&
             !is_multicast(destination) && (leased_ == 0 || destination != leased_)) {
    // A datagram to the address just leased is how ioLibrary probes it (RFC 5227): its ARP asks from 0.0.0.0.
    add(Rule::own_ip_missing, fmt::format("S{} Sn_DIPR = 0x{:08X} while SIPR = 0", socket.number, destination),
        &socket);
  }
}

void Judge::on_illegal_command(const Socket& socket, std::uint8_t code) {
  if (code == sn_cr::OPEN && socket.status() != sn_sr::CLOSED) return;  // has a rule of its own
  Watched& of = watched(socket);
  const auto looked = of.status_at_command;
  if (looked && *looked != socket.status() && network_may_forestall(code, *looked)) {
    of.seen_status.reset();  // once: a look is not good for ever
    return;
  }
  add(Rule::illegal_command,
      fmt::format("S{} Sn_CR = 0x{:02X} while Sn_SR = 0x{:02X}", socket.number, code, socket.status()), &socket);
}

void Judge::on_send(const Socket& socket, std::uint16_t length, std::uint16_t free) {
  Watched& of = watched(socket);
  const bool all_written = of.written.take(socket.tx_wr, length);
  of.last_write_bytes = 0;
  ++use_.sends;
  use_.send_bytes += length;
  if (length > free) {
    add(Rule::write_beyond_free,
        fmt::format("S{} Sn_TX_WR advanced by {} with Sn_TX_FSR = {}", socket.number, length, free), &socket);
    const std::size_t size = context_.tx_memory.ring(socket.number).size();
    const auto from_before = static_cast<std::uint16_t>(socket.tx_wr_written - of.tx_wr_before_connection);
    if (of.connected_anew && from_before <= size) {
      add(Rule::stale_write_pointer,
          fmt::format("S{} Sn_TX_WR = 0x{:04X}, {} from 0x{:04X} before the connection; now 0x{:04X}", socket.number,
                      socket.tx_wr_written, from_before, of.tx_wr_before_connection, socket.tx_wr),
          &socket);
    }
  } else if (!all_written) {
    add(Rule::uninitialised_bytes_sent,
        fmt::format("S{} SEND of {} bytes from 0x{:04X}, not all of them written", socket.number, length, socket.tx_wr),
        &socket);
  }
  of.connected_anew = false;
  of.result_due = true;
  if (leased_ == 0) return;
  if (socket.port() == dhcp_client_port) {
    std::array<std::uint8_t, 576> message;
    const std::size_t size = std::min<std::size_t>(length, message.size());
    context_.tx_memory.ring(socket.number).read(socket.tx_rd, message.data(), size);
    if (gives_back(Bytes{message}.first(size), context_.common.shar())) leased_ = 0;
  } else if (context_.common.sipr() == 0) {
    add(Rule::lease_not_applied, lease_seen(), &socket);
    leased_ = 0;
  }
}

void Judge::on_send_while_sending(const Socket& socket) {
  add(Rule::send_while_sending, fmt::format("S{} Sn_CR = 0x{:02X} before SENDOK", socket.number, socket.command),
      &socket);
}

void Judge::on_pppoe_framing() {
  add(Rule::not_modelled,
      "MR bit 3 (PPPoE) is set: frames leave as plain IPv4 over Ethernet here, without PPPoE and PPP headers, and "
      "PHAR, "
      "PSID, PMRU, PTIMER and PMAGIC do nothing");
}

void Judge::on_pppoe_command(const Socket& socket, std::uint8_t code) {
  add(Rule::not_modelled,
      fmt::format("S{} Sn_CR = 0x{:02X} (a PPPoE command): nothing happens here", socket.number, code), &socket);
}

void Judge::on_collision(const wire::LinkModes& modes) {
  const std::string_view ends = !modes.mismatched() ? "both ends" : modes.own.full_duplex ? "the far end" : "the chip";
  add(Rule::not_modelled,
      fmt::format(
          "half duplex at {}: frames went both ways at once; on the wire they would have collided, or the far end "
          "would have waited, and here both arrive",
          ends));
}

void Judge::on_duplex_mismatch(const wire::LinkModes& modes, std::uint8_t phycfgr) {
  constexpr std::uint8_t OPMD = 0x40;
  const auto word = [](const wire::LinkMode& mode) { return mode.full_duplex ? "full" : "half"; };
  add(Rule::duplex_mismatch,
      fmt::format("PHYCFGR = 0x{:02X}: {} Mbit/s {} duplex forced by {}, the other end of the cable is {} duplex",
                  phycfgr, modes.own.fast ? 100 : 10, word(modes.own),
                  (phycfgr & OPMD) != 0 ? "OPMDC" : "the pins PMODE2..0", word(modes.partner)));
}

// From the network ---------------------------------------------------------------------------------------------------

void Judge::on_datagram(const Socket& socket, Bytes payload) {
  if (socket.port() != dhcp_client_port) return;
  const wire::Ipv4Address granted = granted_by(payload, context_.common.shar());
  if (granted == 0) return;
  leased_ = granted;
  lease_due_ = context_.queue.now() + limits::lease_overdue;
  arm(lease_due_);
}

}  // namespace wizloop::chip
