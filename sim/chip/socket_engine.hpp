// The one engine behind all sockets: commands from Sn_CR, protocol timers, and which socket's frame goes out next (the
// stack's own replies first, then the sockets in turn). Frames that come in arrive through Receiver.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "sim/chip/context.hpp"
#include "sim/chip/judge.hpp"
#include "sim/chip/socket.hpp"
#include "sim/chip/transmitter.hpp"
#include "sim/wire/arp.hpp"
#include "sim/wire/igmp.hpp"
#include "sim/wire/tcp.hpp"

namespace wizloop::chip {

// Who wants to know that Sn_IR has gained bits: the interrupt pin.
class InterruptListener {
 public:
  virtual void on_interrupts_changed() = 0;

 protected:
  ~InterruptListener() = default;
};

class SocketEngine {
 public:
  SocketEngine(Context& context, Judge& judge, Transmitter& transmitter, InterruptListener& listener);

  Socket& socket(int n) { return *sockets_[static_cast<std::size_t>(n)]; }
  const Socket& socket(int n) const { return *sockets_[static_cast<std::size_t>(n)]; }

  // A write to Sn_CR.
  void command(Socket& socket, std::uint8_t code);
  // The same, but a fault makes the chip take so long over it.
  void command_late(Socket& socket, std::uint8_t code, Duration delay);
  // Sn_TX_FSR: size less what is not yet free again. Nonsense pointers give nonsense, as on silicon (observed,
  // forum.wiznet.io topic 8287).
  std::uint16_t tx_free_size(const Socket& socket);
  // Everything to reset values (MR.RST, RSTn).
  void reset();

  // Sn_KPALVTR was written.
  void on_keepalive_period(Socket& socket);

  // From the receiver.
  void on_arp_reply(const wire::Arp& reply);
  // False if the segment does not belong: the sender gets RST.
  bool on_tcp_segment(Socket& socket, const wire::TcpHeader& segment, Bytes payload, Instant arrived);
  void on_syn(Socket& listener, const wire::TcpHeader& syn, wire::Ipv4Address source, const wire::MacAddress& mac,
              Instant arrived);
  // Whether the RX ring has room for the record of a datagram, now.
  bool has_room(const Socket& socket, std::size_t payload_bytes);
  // Dropped silently if there was no room when it began to come in.
  void on_datagram(Socket& socket, wire::Ipv4Address source, std::uint16_t source_port, Bytes payload, bool had_room);
  // The same for IPRAW and MACRAW, whose room is looked at when the packet is in.
  void on_ip_packet(Socket& socket, wire::Ipv4Address source, Bytes payload);
  void on_raw_frame(Socket& socket, Bytes frame);
  // An IGMP message whose last bit came in at `arrived`: a query, or another member's report.
  void on_group_message(const wire::Igmp& message, Instant arrived);
  // The socket that is open as MACRAW, or null.
  const Socket* macraw() const { return socket(0).plain_status == sn_sr::MACRAW ? &socket(0) : nullptr; }
  Socket* macraw() { return socket(0).plain_status == sn_sr::MACRAW ? &socket(0) : nullptr; }
  void queue_reply(wire::FramePtr frame, Instant ready);

  // Something of the chip's own is under way: a frame being prepared, or SENDOK on its way.
  bool busy() const { return pending_completions_ > 0 || preparing_; }

  // Datagrams and frames for which a socket had no room, since power-up.
  std::uint64_t records_dropped() const { return records_dropped_; }

  Frequency bit_rate() const { return transmitter_.bit_rate(); }

 private:
  void execute(Socket& socket, std::uint8_t code);
  void open(Socket& socket);
  void listen(Socket& socket);
  void connect(Socket& socket);
  void disconnect(Socket& socket);
  void close(Socket& socket);
  void send(Socket& socket, std::uint8_t code);
  void receive(Socket& socket);
  void keep_alive(Socket& socket);

  void start_send(Socket& socket, bool with_arp);
  void start_datagrams(Socket& socket, std::uint16_t from, std::uint16_t length, bool with_arp);
  bool knows_mac(const Socket& socket, wire::Ipv4Address destination);
  std::uint32_t new_isn();
  void store_record(Socket& socket, Bytes header, Bytes payload);
  void resolve(Socket& socket);
  void on_resolved(Socket& socket, Instant at);
  void on_arp_timeout(Socket& socket);
  void finish_send(Socket& socket, std::uint8_t cause);

  TcpSettings tcp_settings(const Socket& socket);
  void start_pointers(Socket& socket);
  void note_dropped(const Socket& socket, std::size_t bytes);
  void apply(Socket& socket, const TcpReaction& reaction, Bytes payload);
  void raise(Socket& socket, std::uint8_t causes);
  void raise_sendok(Socket& socket);
  void set_status(Socket& socket, std::uint8_t status);
  void note_status(Socket& socket, std::uint8_t before);

  // Timers.
  void arm(Socket& socket);
  void on_timer(Socket& socket);

  // Sending.
  // From SEND, or from what allows it, to the first bit of a frame with so much payload.
  Duration preparation(std::uint16_t payload_bytes);
  void pump();
  void schedule_pump(Instant at);
  Instant next_output(const Socket& socket) const;
  void transmit_from(Socket& socket);
  void transmit_arp_request(Socket& socket);
  void transmit_segment(Socket& socket);
  void transmit_datagram(Socket& socket);
  void transmit_raw_frame(Socket& socket);
  void transmit_group_report(Socket& socket);
  void say_goodbye(Socket& socket);
  wire::FramePtr segment_frame(Socket& socket, const TcpSegment& segment, std::uint16_t window);
  wire::FramePtr igmp_frame(Socket& socket, std::uint8_t type, wire::Ipv4Address to, const wire::MacAddress& mac);
  // SENDOK follows the frame whose last bit leaves at `last_bit`.
  void complete_after(Socket& socket, Instant last_bit);
  // The rest of a frame to `destination`; the IP payload of `payload_bytes` is in place behind the headers.
  void finish_ip_frame(wire::Frame& frame, Socket& socket, wire::Ipv4Address destination, std::uint8_t protocol,
                       std::size_t payload_bytes);

  void illegal(Socket& socket, std::uint8_t code);

  Context& context_;
  Judge& judge_;
  Transmitter& transmitter_;
  InterruptListener& listener_;
  std::array<std::unique_ptr<Socket>, socket_count> sockets_;
  int turn_ = 0;  // the socket that goes first next time
  Timer pump_timer_;
  bool preparing_ = false;
  int pending_completions_ = 0;
  std::uint64_t records_dropped_ = 0;
};

}  // namespace wizloop::chip
