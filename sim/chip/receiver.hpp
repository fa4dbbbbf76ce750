// Frames from the cable: which socket or which part of the stack takes them, and what the stack itself answers (ARP,
// ICMP echo, port unreachable, RST). No IP fragments, no options beyond skipping them; bad checksums are dropped
// silently.
#pragma once

#include "sim/chip/context.hpp"
#include "sim/chip/socket_engine.hpp"
#include "sim/wire/ethernet.hpp"

namespace wizloop::chip {

class Receiver {
 public:
  Receiver(Context& context, SocketEngine& engine, InterruptListener& listener)
      : context_{context}, engine_{engine}, listener_{listener} {}

  // A frame's first bit comes in at `at`. A UDP record goes into the ring as it arrives, so whether there is room for
  // it is decided when the UDP header is in: RECV given during the rest of the frame comes too late. (Assumption; it is
  // what makes 3.75 of 10 Mbit/s arrive on a 2 KiB ring that takes 1.9 ms to drain, SEED011: a decision at the last bit
  // would let 5.3 through.)
  void on_frame_begins(Bytes frame, Instant at);

  // A frame whose FCS was good and whose last bit came in at `arrived`.
  void on_frame(Bytes frame, Instant arrived, bool room_for_datagram);
  // Of the frame whose last bit has just come in; the next frame may begin before this one is worked on.
  bool room_for_datagram() const { return room_at_header_; }

 private:
  void on_arp(const wire::EthernetHeader& ethernet, Bytes payload, Instant arrived);
  // What the stack sends by itself.
  enum class Answer : std::uint8_t { arp_or_ping, refusal };

  // True: a socket has taken it.
  bool offer_to_stack(const wire::EthernetHeader& ethernet, Bytes frame, Instant arrived);
  bool offer_to_ipraw(const wire::Ipv4Header& ip, Bytes payload);
  void offer_to_macraw(const wire::EthernetHeader& ethernet, Bytes frame);
  bool is_for_stack(const wire::MacAddress& destination) const;
  bool has_group_member() const;
  bool stack_answers(Answer answer);
  bool is_conflict(const wire::Arp& arp, wire::Ipv4Address own_ip);
  bool is_before_address(const wire::EthernetHeader& ethernet, wire::Ipv4Address own_ip);
  bool is_answerable(Bytes echo_request);
  bool is_magic(Bytes payload) const;
  void raise(std::uint8_t cause);  // in IR

  bool on_ipv4(const wire::EthernetHeader& ethernet, Bytes packet, Instant arrived);
  void on_icmp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes message, Instant arrived);
  bool on_udp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes packet, bool to_us,
              Instant arrived);
  bool on_tcp(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes segment, Instant arrived);

  void refuse(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, const wire::TcpHeader& segment,
              std::size_t payload_bytes, Instant arrived);
  void reply_unreachable(const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip, Bytes packet,
                         Instant arrived);
  // Puts Ethernet and IP headers, back to where `ip` came from, before an IP payload that is in place; queues it.
  void send_reply(wire::FramePtr frame, const wire::EthernetHeader& ethernet, const wire::Ipv4Header& ip,
                  std::uint8_t protocol, std::size_t payload_bytes, Instant ready);

  // The socket that takes a datagram to this address: the lowest one that is open on its port. Null: nobody.
  Socket* socket_for_datagram(wire::Ipv4Address to, std::uint16_t port);

  Context& context_;
  SocketEngine& engine_;
  InterruptListener& listener_;
  bool room_at_header_ = true;     // of the frame that is coming in
  bool room_for_datagram_ = true;  // of the frame that is worked on
};

}  // namespace wizloop::chip
