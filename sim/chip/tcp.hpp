// One TCP connection of the W5500 (datasheet 4.2, RTR/RCR in 4.1; RFC 9293 where the datasheet is silent) as
// steps without a clock or a queue: each takes the instant at which it happens. Whoever drives it asks next_output()
// when something is ready to leave, takes it with take_output(), and calls on_deadline() when deadline() has come.
//
//   TcpConnection tcp;
//   tcp.open();
//   tcp.connect(iss, settings, now);                      // a SYN is ready
//   TcpSegment syn = tcp.take_output(settings, now);
//   TcpReaction reaction = tcp.on_segment(header, payload_bytes, settings, now);
//
// What it does not have, as the chip does not: SACK, timestamps, window scaling, congestion control, fast retransmit.
#pragma once

#include <cstdint>

#include "sim/chip/latencies.hpp"
#include "sim/chip/quirks.hpp"
#include "sim/chip/register_map.hpp"
#include "sim/core/time.hpp"
#include "sim/wire/tcp.hpp"

namespace wizloop::chip {

// What the registers say at the moment of a step.
struct TcpSettings {
  Duration rtr{};            // RTR, already times 100 us
  std::uint8_t rcr = 0;      // RCR
  bool no_delay = false;     // Sn_MR.ND: acknowledge at once
  std::uint16_t mss = 0;     // Sn_MSSR as the host wrote it: what the chip offers
  std::uint16_t window = 0;  // free bytes of the RX ring: Sn_RXBUF_SIZE - Sn_RX_RSR
  Duration keepalive{};      // Sn_KPALVTR, already times 5 s; 0 is off
  LatenciesInUse& latencies;
  Quirks& quirks;
};

struct TcpSegment {
  std::uint8_t flags = 0;
  std::uint32_t sequence = 0;
  std::uint32_t acknowledgment = 0;
  std::uint16_t length = 0;      // payload bytes, from TX ring offset low16(sequence) on
  std::uint16_t mss_option = 0;  // 0: none
  bool is_keepalive = false;
};

// What an arriving segment or a deadline brought about.
struct TcpReaction {
  std::uint8_t causes = 0;          // bits to set in Sn_IR
  bool refused = false;             // answer this segment with RST, as if nobody held the connection
  std::uint16_t payload_skip = 0;   // of the segment's payload, leave out this much
  std::uint16_t payload_taken = 0;  // and store this much in the RX ring
  bool established = false;         // the connection has just come up: TX pointers start anew
};

// RTR x 2^min(k, M), M the smallest with RTR x 2^(M+1) > 65535, at most RCR (datasheet 4.1, RCR): the wait after the
// transmission number k, counted from 0.
Duration retransmission_wait(Duration rtr, std::uint8_t rcr, int transmission);
// The sum of all waits.
Duration tcp_timeout(Duration rtr, std::uint8_t rcr);

class TcpConnection {
 public:
  // Sn_SR.
  std::uint8_t status() const { return status_; }

  // Commands; the caller has checked that the state allows them.
  void open();
  void listen();
  void connect(std::uint32_t iss, const TcpSettings& settings, Instant now);
  void send(std::uint32_t bytes, const TcpSettings& settings, Instant ready);  // its first segment may leave at `ready`
  void disconnect(Instant ready);
  void close() { *this = TcpConnection{}; }
  // SEND_KEEP: a keep-alive, unless nothing has passed that one could repeat. False: the chip does nothing.
  bool send_keepalive(const TcpSettings& settings, Instant ready);
  // Sn_KPALVTR was written.
  void set_keepalive(Duration period, Instant now) {
    keepalive_ = period;
    last_heard_ = now;  // silence from before the write does not count
  }
  // RECV: the window was `old_window` before it.
  void on_received(std::uint16_t old_window, const TcpSettings& settings, Instant now);

  // A SYN for a listener.
  void accept(const wire::TcpHeader& syn, std::uint32_t iss, const TcpSettings& settings, Instant arrived);
  // A segment of this connection, `payload_bytes` long, whose last bit came in at `arrived`.
  TcpReaction on_segment(const wire::TcpHeader& segment, std::uint16_t payload_bytes, const TcpSettings& settings,
                         Instant arrived);

  // The largest segment that is sent: the smaller of both sides' MSS.
  std::uint16_t mss() const { return mss_; }
  // What the peer's SYN said, or what is assumed of a peer that said nothing.
  std::uint16_t peer_mss() const { return peer_mss_; }
  // CONNECT was given; the SYN has not left yet.
  bool connecting() const { return connecting_; }
  // A RST to tell the peer, and nobody listens to its answer.
  TcpSegment reset() const { return make(wire::TcpHeader::rst | wire::TcpHeader::ack, snd_nxt_, 0); }
  // The first byte that the peer sends.
  std::uint32_t first_received() const { return irs_ + 1; }

  // When the next segment may leave; Instant::max() if there is none.
  Instant next_output() const;
  // The segment that is ready, its first bit leaving `now`.
  TcpSegment take_output(const TcpSettings& settings, Instant now);
  // The wire is free for another segment of the same SEND at `ready`.
  void on_segment_left(Instant ready);

  Instant deadline() const;
  // Something is due. The reaction's causes may hold TIMEOUT.
  TcpReaction on_deadline(const TcpSettings& settings, Instant now);

  // Everything that SEND handed over has left once.
  bool all_sent() const { return !wire::seq_before(snd_max_, snd_end_); }
  // Bytes of the TX ring in use: from the oldest unacknowledged to the end of the last SEND.
  std::uint32_t unacknowledged_bytes() const { return snd_end_ - first_unacknowledged(); }
  // Low 16 bits: Sn_TX_RD, and where the first SEND starts.
  std::uint32_t sent_once_up_to() const { return wire::seq_before(snd_max_, snd_end_) ? snd_max_ : snd_end_; }
  std::uint32_t end_of_data() const { return snd_end_; }

 private:
  std::uint32_t first_unacknowledged() const {
    return wire::seq_before(snd_end_, snd_una_) ? snd_end_ : snd_una_;  // an acknowledged FIN lies beyond the data
  }
  bool synchronised() const { return status_ >= sn_sr::ESTABLISHED; }
  bool handshake_pending() const {
    return (status_ == sn_sr::INIT && connecting_) || status_ == sn_sr::SYNSENT || status_ == sn_sr::SYNRECV;
  }
  bool has_new_output() const;
  std::uint32_t sendable_bytes() const;
  void acknowledge(const TcpSettings& settings, Instant arrived);  // a segment
  void acknowledge_at(Instant at);
  void enter_time_wait(const TcpSettings& settings, Instant arrived);
  int transmissions_allowed(const TcpSettings& settings) const;  // beyond the first
  bool may_keep_alive(Quirks& quirks) const;
  Instant keepalive_deadline() const;
  void on_keepalive_deadline(const TcpSettings& settings, Instant now, TcpReaction& reaction);
  void finish() { *this = TcpConnection{}; }
  void on_acknowledgment(const wire::TcpHeader& segment, const TcpSettings& settings, Instant arrived);
  void on_reset(Quirks& quirks, TcpReaction& reaction);
  void learn_mss(const TcpSettings& settings, const wire::TcpHeader& syn);
  void on_payload(const wire::TcpHeader& segment, std::uint16_t payload_bytes, const TcpSettings& settings,
                  Instant arrived, TcpReaction& reaction);
  void on_fin(const TcpSettings& settings, Instant arrived, TcpReaction& reaction);
  void start_probing_if_stuck(const TcpSettings& settings, Instant now);
  TcpSegment make(std::uint8_t flags, std::uint32_t sequence, std::uint16_t length) const;

  std::uint8_t status_ = sn_sr::CLOSED;
  bool connecting_ = false;     // CONNECT was given; the SYN has not left yet
  bool fin_requested_ = false;  // DISCON was given
  bool fin_acknowledged_ = false;
  bool probing_ = false;  // one byte may leave in spite of a closed window

  // Names of RFC 9293 3.3.1; snd_end is the end of what SEND handed over, snd_max the furthest ever sent.
  std::uint32_t iss_ = 0, snd_una_ = 0, snd_nxt_ = 0, snd_max_ = 0, snd_end_ = 0;
  std::uint32_t snd_wnd_ = 0, snd_wl1_ = 0;
  std::uint32_t irs_ = 0, rcv_nxt_ = 0;
  std::uint16_t peer_mss_ = 0;
  std::uint16_t mss_ = 0;  // the smaller of both sides'

  int transmissions_ = 0;                       // of the oldest outstanding segment, less one
  Instant retransmit_at_ = Instant::max();      // of what is outstanding, or the next probe
  Instant give_up_at_ = Instant::max();         // TIME_WAIT ends; the peer's FIN is overdue
  Instant output_ready_ = Instant::min();       // SYN, data or FIN not before
  Instant acknowledge_ready_ = Instant::max();  // a pure ACK is due
  Instant delayed_ack_at_ = Instant::max();     // one will be
  int segments_unacknowledged_by_us_ = 0;
  bool one_segment_ = false;       // after a timeout, if only the first outstanding segment is sent again
  bool closes_after_ack_ = false;  // TIME_WAIT lasts until the last ACK has left

  Duration keepalive_{};  // the period; 0 is off
  Instant last_heard_{};  // of the peer, or told it
  bool received_data_ = false;
  int keepalives_unanswered_ = 0;
  Instant keepalive_ready_ = Instant::max();     // one may leave
  Instant keepalive_again_at_ = Instant::max();  // the last one stayed unanswered
};

}  // namespace wizloop::chip
