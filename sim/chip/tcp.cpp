#include "sim/chip/tcp.hpp"

#include <algorithm>
#include <utility>

namespace wizloop::chip {
namespace {

using wire::seq_before;
using wire::seq_not_after;
using wire::TcpHeader;

// A peer that sends no MSS option (RFC 9293 3.7.1).
constexpr std::uint16_t default_mss = 536;
constexpr Duration longest_wait = 100us * 65535;

// M of the datasheet.
int doublings(Duration rtr, std::uint8_t rcr) {
  int m = 0;
  while (m < rcr && rtr * (1LL << (m + 1)) <= longest_wait) ++m;
  return m;
}

}  // namespace

Duration retransmission_wait(Duration rtr, std::uint8_t rcr, int transmission) {
  return rtr * (1LL << std::min(transmission, doublings(rtr, rcr)));
}

Duration tcp_timeout(Duration rtr, std::uint8_t rcr) {
  Duration sum{};
  for (int k = 0; k <= rcr; ++k) sum += retransmission_wait(rtr, rcr, k);
  return sum;
}

void TcpConnection::open() {
  *this = TcpConnection{};
  status_ = sn_sr::INIT;
}

void TcpConnection::listen() { status_ = sn_sr::LISTEN; }

void TcpConnection::connect(std::uint32_t iss, const TcpSettings& settings, Instant now) {
  connecting_ = true;
  keepalive_ = settings.keepalive;
  mss_ = settings.mss;
  iss_ = snd_una_ = snd_nxt_ = snd_max_ = iss;
  snd_end_ = iss + 1;
  output_ready_ = now;
}

void TcpConnection::accept(const TcpHeader& syn, std::uint32_t iss, const TcpSettings& settings, Instant arrived) {
  status_ = sn_sr::SYNRECV;
  keepalive_ = settings.keepalive;
  iss_ = snd_una_ = snd_nxt_ = snd_max_ = iss;
  snd_end_ = iss + 1;
  irs_ = syn.sequence;
  rcv_nxt_ = syn.sequence + 1;
  snd_wnd_ = syn.window;
  learn_mss(settings, syn);
  output_ready_ = arrived + settings.latencies.use(&Latencies::syn_to_syn_ack);
}

void TcpConnection::learn_mss(const TcpSettings& settings, const TcpHeader& syn) {
  if (syn.mss != 0) {
    peer_mss_ = syn.mss;
  } else {
    const auto assumed = settings.quirks.choice<MssWithoutOption>(Quirk::mss_without_option);
    peer_mss_ = assumed == MssWithoutOption::own ? settings.mss : default_mss;
  }
  mss_ = std::min(settings.mss, peer_mss_);
}

void TcpConnection::send(std::uint32_t bytes, const TcpSettings& settings, Instant ready) {
  snd_end_ += bytes;
  output_ready_ = std::max(output_ready_, ready);
  start_probing_if_stuck(settings, ready);
}

void TcpConnection::disconnect(Instant ready) {
  status_ = status_ == sn_sr::CLOSE_WAIT ? sn_sr::LAST_ACK : sn_sr::FIN_WAIT;
  fin_requested_ = true;
  output_ready_ = std::max(output_ready_, ready);
}

void TcpConnection::on_received(std::uint16_t old_window, const TcpSettings& settings, Instant now) {
  if (!synchronised() || settings.window <= old_window) return;
  switch (settings.quirks.choice<WindowUpdate>(Quirk::window_update)) {
    case WindowUpdate::below_mss:
      if (old_window >= mss_) return;
      break;
    case WindowUpdate::after_a_second:  // unless an ACK goes out before and tells of the window
      if (acknowledge_ready_ == Instant::max()) delayed_ack_at_ = std::min(delayed_ack_at_, now + 1s);
      return;
    case WindowUpdate::each_recv:
      break;
  }
  acknowledge_at(now + settings.latencies.use(&Latencies::receive_to_update));
}

void TcpConnection::acknowledge(const TcpSettings& settings, Instant arrived) {
  acknowledge_at(arrived + settings.latencies.use(&Latencies::segment_to_ack));
}

void TcpConnection::acknowledge_at(Instant at) {
  acknowledge_ready_ = std::min(acknowledge_ready_, at);
  delayed_ack_at_ = Instant::max();
}

std::uint32_t TcpConnection::sendable_bytes() const {
  const std::uint32_t waiting = seq_before(snd_nxt_, snd_end_) ? snd_end_ - snd_nxt_ : 0;
  const std::uint32_t edge = snd_una_ + snd_wnd_;
  const std::uint32_t allowed = seq_before(snd_nxt_, edge) ? edge - snd_nxt_ : 0;
  const std::uint32_t bytes = std::min({waiting, allowed, static_cast<std::uint32_t>(mss_)});
  return bytes == 0 && probing_ && waiting > 0 && snd_nxt_ == snd_una_ ? 1 : bytes;
}

bool TcpConnection::has_new_output() const {
  if (handshake_pending()) return snd_nxt_ == iss_;
  if (!synchronised()) return false;
  return sendable_bytes() > 0 || (fin_requested_ && snd_nxt_ == snd_end_);
}

Instant TcpConnection::next_output() const {
  const Instant data = has_new_output() ? output_ready_ : Instant::max();
  return std::min({data, acknowledge_ready_, keepalive_ready_});
}

TcpSegment TcpConnection::make(std::uint8_t flags, std::uint32_t sequence, std::uint16_t length) const {
  return TcpSegment{flags, sequence, rcv_nxt_, length};
}

TcpSegment TcpConnection::take_output(const TcpSettings& settings, Instant now) {
  TcpSegment segment;
  std::uint32_t occupied = 0;  // sequence numbers
  if (has_new_output() && output_ready_ <= now) {
    if (handshake_pending()) {
      const bool passive = status_ == sn_sr::SYNRECV;
      segment = make(passive ? TcpHeader::syn | TcpHeader::ack : TcpHeader::syn, iss_, 0);
      if (!passive) segment.acknowledgment = 0;
      segment.mss_option = settings.mss;
      if (connecting_) {
        connecting_ = false;
        status_ = sn_sr::SYNSENT;
      }
      occupied = 1;
    } else if (const std::uint32_t bytes = sendable_bytes(); bytes > 0) {
      const bool pushes =
          snd_nxt_ + bytes == snd_end_ ||
          settings.quirks.choice<Psh>(Quirk::psh) == Psh::every_segment;  // observed, forum.wiznet.io topic 5213
      const std::uint8_t flags = pushes ? TcpHeader::ack | TcpHeader::psh : TcpHeader::ack;
      segment = make(flags, snd_nxt_, static_cast<std::uint16_t>(bytes));
      occupied = bytes;
    } else {
      segment = make(TcpHeader::ack | TcpHeader::fin, snd_nxt_, 0);
      occupied = 1;
      if (status_ == sn_sr::FIN_WAIT && give_up_at_ == Instant::max() &&
          settings.quirks.choice<MissingFin>(Quirk::missing_fin) == MissingFin::timeout) {
        give_up_at_ = now + tcp_timeout(settings.rtr, settings.rcr);
      }
    }
    snd_nxt_ += occupied;
    if (seq_before(snd_max_, snd_nxt_)) snd_max_ = snd_nxt_;
    if (std::exchange(one_segment_, false)) snd_nxt_ = snd_max_;
    last_heard_ = now;
    if (retransmit_at_ == Instant::max()) {
      retransmit_at_ = now + retransmission_wait(settings.rtr, settings.rcr, transmissions_);
    }
  } else if (keepalive_ready_ <= now) {
    // One byte that the peer has already.
    segment = make(TcpHeader::ack, snd_nxt_ - 1, 1);
    segment.is_keepalive = true;
    keepalive_ready_ = Instant::max();
    keepalive_again_at_ = now + retransmission_wait(settings.rtr, settings.rcr, keepalives_unanswered_++);
  } else {
    segment = make(TcpHeader::ack, snd_nxt_, 0);
  }
  if ((segment.flags & TcpHeader::ack) != 0) {
    acknowledge_ready_ = Instant::max();
    delayed_ack_at_ = Instant::max();
    segments_unacknowledged_by_us_ = 0;
    if (closes_after_ack_) finish();
  }
  return segment;
}

void TcpConnection::on_segment_left(Instant ready) { output_ready_ = std::max(output_ready_, ready); }

Instant TcpConnection::deadline() const {
  return std::min({retransmit_at_, give_up_at_, delayed_ack_at_, keepalive_deadline()});
}

int TcpConnection::transmissions_allowed(const TcpSettings& settings) const {
  const auto count = settings.quirks.choice<TcpTransmissions>(Quirk::tcp_transmissions);
  return settings.rcr + (count == TcpTransmissions::rcr_plus_2 ? 1 : 0);
}

TcpReaction TcpConnection::on_deadline(const TcpSettings& settings, Instant now) {
  TcpReaction reaction;
  if (delayed_ack_at_ <= now) acknowledge_at(now);
  if (give_up_at_ <= now) {
    // TIME_WAIT is over, or the peer never sent its FIN.
    if (status_ == sn_sr::FIN_WAIT) reaction.causes |= sn_ir::TIMEOUT;
    finish();
    return reaction;
  }
  if (retransmit_at_ <= now) {
    retransmit_at_ = Instant::max();
    // Probes of a closed window count even when answered, if that is limited.
    const bool counts = snd_una_ != snd_max_ || transmissions_ > 0;
    if (counts && transmissions_ >= transmissions_allowed(settings)) {
      reaction.causes |= sn_ir::TIMEOUT;
      finish();
      return reaction;
    }
    if (snd_una_ != snd_max_) ++transmissions_;
    snd_nxt_ = snd_una_;  // go back to the oldest unacknowledged byte
    output_ready_ = now;
    if (synchronised() && snd_max_ - snd_una_ > mss_) {
      one_segment_ = settings.quirks.choice<Retransmission>(Quirk::retransmission) == Retransmission::first_segment;
    }
    if (synchronised() && sendable_bytes() == 0 && seq_before(snd_nxt_, snd_end_))
      probing_ = true;  // the peer's window stayed closed
  }
  on_keepalive_deadline(settings, now, reaction);
  return reaction;
}

// Keep-alive (datasheet 4.2, Sn_KPALVTR and SEND_KEEP) ---------------------------------------------------------------

bool TcpConnection::may_keep_alive(Quirks& quirks) const {
  if (status_ != sn_sr::ESTABLISHED || snd_una_ != snd_max_) return false;  // retransmission does the same service
  if (snd_una_ != iss_ + 1) return true;
  return received_data_ && quirks.choice<KeepaliveNeeds>(Quirk::keepalive_needs) == KeepaliveNeeds::any_byte;
}

bool TcpConnection::send_keepalive(const TcpSettings& settings, Instant ready) {
  if (keepalive_ != Duration{} || !may_keep_alive(settings.quirks)) return false;
  keepalive_ready_ = ready;
  return true;
}

Instant TcpConnection::keepalive_deadline() const {
  if (keepalive_again_at_ != Instant::max()) return keepalive_again_at_;
  if (keepalive_ == Duration{} || status_ != sn_sr::ESTABLISHED || keepalive_ready_ != Instant::max()) {
    return Instant::max();
  }
  return last_heard_ + keepalive_;
}

void TcpConnection::on_keepalive_deadline(const TcpSettings& settings, Instant now, TcpReaction& reaction) {
  if (keepalive_deadline() > now) return;
  if (keepalive_again_at_ == Instant::max()) {
    if (may_keep_alive(settings.quirks)) {
      keepalive_ready_ = now;
    } else {
      last_heard_ = now;  // look again one period later
    }
  } else if (keepalives_unanswered_ > transmissions_allowed(settings)) {
    reaction.causes |= sn_ir::TIMEOUT;
    finish();
  } else {
    keepalive_again_at_ = Instant::max();
    keepalive_ready_ = now;
  }
}

// Reception ----------------------------------------------------------------------------------------------------------

TcpReaction TcpConnection::on_segment(const TcpHeader& segment, std::uint16_t payload_bytes,
                                      const TcpSettings& settings, Instant arrived) {
  TcpReaction reaction;
  last_heard_ = arrived;
  keepalives_unanswered_ = 0;
  keepalive_again_at_ = Instant::max();
  if (status_ == sn_sr::SYNSENT) {
    const bool acceptable = segment.has(TcpHeader::ack) && segment.acknowledgment == iss_ + 1;
    if (segment.has(TcpHeader::rst)) {
      if (acceptable) finish();
      return reaction;
    }
    if (!segment.has(TcpHeader::syn) || !acceptable) {
      reaction.refused = true;  // includes a simultaneous open, which the chip does not support
      return reaction;
    }
    irs_ = segment.sequence;
    rcv_nxt_ = segment.sequence + 1;
    snd_una_ = snd_nxt_ = segment.acknowledgment;  // the SYN may have been about to go out once more
    snd_wnd_ = segment.window;
    snd_wl1_ = segment.sequence;
    learn_mss(settings, segment);
    status_ = sn_sr::ESTABLISHED;
    transmissions_ = 0;
    retransmit_at_ = Instant::max();
    acknowledge(settings, arrived);
    reaction.causes |= sn_ir::CON;
    reaction.established = true;
    return reaction;
  }

  if (segment.has(TcpHeader::rst)) {
    const std::uint32_t offset = segment.sequence - rcv_nxt_;
    if (offset == 0 || offset < settings.window) {  // elsewhere: ignored
      on_reset(settings.quirks, reaction);
    }
    return reaction;
  }
  if (segment.has(TcpHeader::syn)) {
    if (status_ == sn_sr::SYNRECV && segment.sequence == irs_) {
      snd_nxt_ = iss_;  // the SYN/ACK was lost: once more
      output_ready_ = arrived + settings.latencies.use(&Latencies::syn_to_syn_ack);
    } else {
      acknowledge(settings, arrived);
    }
    return reaction;
  }
  if (!segment.has(TcpHeader::ack)) return reaction;
  if (status_ == sn_sr::SYNRECV) {
    if (segment.acknowledgment != iss_ + 1) {
      reaction.refused = true;
      return reaction;
    }
    status_ = sn_sr::ESTABLISHED;
    snd_wl1_ = segment.sequence;
    reaction.causes |= sn_ir::CON;
    reaction.established = true;
  }
  if (seq_before(snd_max_, segment.acknowledgment)) {  // acknowledges what was never sent
    acknowledge(settings, arrived);
    return reaction;
  }
  on_acknowledgment(segment, settings, arrived);
  if (status_ == sn_sr::CLOSED) return reaction;
  if (payload_bytes > 0 || segment.has(TcpHeader::fin)) {
    on_payload(segment, payload_bytes, settings, arrived, reaction);
  } else if (segment.sequence != rcv_nxt_) {
    acknowledge(settings, arrived);  // a keep-alive, or out of step
  }
  return reaction;
}

void TcpConnection::on_reset(Quirks& quirks, TcpReaction& reaction) {
  const bool was_listener = status_ == sn_sr::SYNRECV;
  finish();
  if (was_listener) {
    if (quirks.choice<RstInSynrecv>(Quirk::rst_in_synrecv) == RstInSynrecv::listen) status_ = sn_sr::LISTEN;
    return;
  }
  const auto cause = quirks.choice<RstReceivedCause>(Quirk::rst_received_cause);
  if (cause == RstReceivedCause::discon) reaction.causes |= sn_ir::DISCON;
  if (cause == RstReceivedCause::timeout) reaction.causes |= sn_ir::TIMEOUT;
}

void TcpConnection::on_acknowledgment(const TcpHeader& segment, const TcpSettings& settings, Instant arrived) {
  // Not from a segment that another has overtaken. RFC 9293 also keeps SND.WL2, which is never beyond SND.UNA.
  if (seq_not_after(snd_wl1_, segment.sequence) && !seq_before(segment.acknowledgment, snd_una_)) {
    snd_wnd_ = segment.window;
    snd_wl1_ = segment.sequence;
  }
  if (seq_before(snd_una_, segment.acknowledgment)) {
    snd_una_ = segment.acknowledgment;
    if (seq_before(snd_nxt_, snd_una_)) snd_nxt_ = snd_una_;
    transmissions_ = 0;
    probing_ = false;
    retransmit_at_ = snd_una_ == snd_max_ ? Instant::max() : arrived + settings.rtr;
  } else if (probing_) {
    // The probe was answered but not taken: the count starts again, and the next probe waits RTR.
    if (snd_max_ == snd_una_ + 1) snd_max_ = snd_una_;
    snd_nxt_ = snd_una_;
    probing_ = false;
    if (settings.quirks.choice<ZeroWindowProbe>(Quirk::zero_window_probe) == ZeroWindowProbe::limited) {
      ++transmissions_;
    } else {
      transmissions_ = 0;
    }
    retransmit_at_ = arrived + retransmission_wait(settings.rtr, settings.rcr, transmissions_);
  }
  start_probing_if_stuck(settings, arrived);

  const bool own_fin_acknowledged = fin_requested_ && snd_una_ == snd_end_ + 1;
  if (own_fin_acknowledged && !fin_acknowledged_) {
    fin_acknowledged_ = true;
    if (status_ == sn_sr::LAST_ACK) {
      finish();
    } else if (status_ == sn_sr::CLOSING) {
      enter_time_wait(settings, arrived);
    }
  }
}

void TcpConnection::enter_time_wait(const TcpSettings& settings, Instant arrived) {
  status_ = sn_sr::TIME_WAIT;
  if (settings.quirks.choice<TimeWait>(Quirk::time_wait) == TimeWait::rtr) {
    give_up_at_ = arrived + settings.rtr;
  } else if (acknowledge_ready_ != Instant::max()) {
    closes_after_ack_ = true;
    give_up_at_ = Instant::max();
  } else {
    finish();
  }
}

void TcpConnection::start_probing_if_stuck(const TcpSettings& settings, Instant now) {
  const bool stuck = snd_una_ == snd_max_ && seq_before(snd_nxt_, snd_end_) && sendable_bytes() == 0;
  if (stuck && retransmit_at_ == Instant::max() &&
      settings.quirks.choice<ZeroWindowProbe>(Quirk::zero_window_probe) != ZeroWindowProbe::none) {
    retransmit_at_ = now + settings.rtr;
  }
  if (!stuck && snd_una_ == snd_max_) retransmit_at_ = Instant::max();
}

void TcpConnection::on_payload(const TcpHeader& segment, std::uint16_t payload_bytes, const TcpSettings& settings,
                               Instant arrived, TcpReaction& reaction) {
  const std::uint32_t end = segment.sequence + payload_bytes;
  if (seq_before(rcv_nxt_, segment.sequence) || seq_before(end, rcv_nxt_) ||
      (end == rcv_nxt_ && payload_bytes > 0 && !segment.has(TcpHeader::fin))) {
    // Out of order, or old: one contiguous ring, no gap list.
    const bool beyond_a_gap = seq_before(rcv_nxt_, segment.sequence);
    if (!beyond_a_gap || settings.quirks.choice<OutOfOrder>(Quirk::out_of_order) == OutOfOrder::duplicate_ack) {
      acknowledge(settings, arrived);
    }
    return;
  }
  const std::uint32_t skip = rcv_nxt_ - segment.sequence;
  const std::uint32_t fresh = payload_bytes - skip;
  if (fresh > settings.window) {
    acknowledge(settings, arrived);  // beyond the window: dropped
    return;
  }
  const bool takes_data = status_ == sn_sr::ESTABLISHED || status_ == sn_sr::FIN_WAIT;
  if (fresh > 0 && takes_data) {
    reaction.payload_skip = static_cast<std::uint16_t>(skip);
    reaction.payload_taken = static_cast<std::uint16_t>(fresh);
    reaction.causes |= sn_ir::RECV;
    rcv_nxt_ += fresh;
    received_data_ = true;
    ++segments_unacknowledged_by_us_;
    const bool due = segments_unacknowledged_by_us_ >= 2 || settings.window - fresh < mss_;
    if (settings.no_delay ||
        (due && settings.quirks.choice<DelayedAck>(Quirk::delayed_ack) == DelayedAck::second_segment)) {
      acknowledge(settings, arrived);
    } else if (acknowledge_ready_ == Instant::max() && delayed_ack_at_ == Instant::max()) {
      delayed_ack_at_ = arrived + settings.rtr;
    }
  }
  if (segment.has(TcpHeader::fin)) on_fin(settings, arrived, reaction);
}

void TcpConnection::on_fin(const TcpSettings& settings, Instant arrived, TcpReaction& reaction) {
  acknowledge(settings, arrived);
  if (status_ == sn_sr::ESTABLISHED) {
    ++rcv_nxt_;
    status_ = sn_sr::CLOSE_WAIT;
    reaction.causes |= sn_ir::DISCON;
  } else if (status_ == sn_sr::FIN_WAIT) {
    ++rcv_nxt_;
    reaction.causes |= sn_ir::DISCON;
    if (fin_acknowledged_) {
      enter_time_wait(settings, arrived);
    } else {
      status_ = sn_sr::CLOSING;
      give_up_at_ = Instant::max();
    }
  }
  // In the states after that it is a repeated FIN: acknowledged again, nothing else.
}

}  // namespace wizloop::chip
