// The sending half of the MAC: one frame after the other with the inter-packet gap between them, and the queue of
// frames that the stack itself answers with (ARP, ICMP, RST), which go before anything that a socket has.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>

#include "sim/chip/phy.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/wire/frame.hpp"

namespace wizloop::chip {

class Transmitter {
 public:
  Transmitter(EventQueue& queue, const Phy& phy) : queue_{queue}, phy_{phy} {}

  void connect(wire::FrameSink& sink) { sink_ = &sink; }
  Frequency bit_rate() const { return phy_.bit_rate(); }
  bool has_link() const { return phy_.link(); }

  // When the next frame may start.
  Instant free_at() const { return free_at_; }
  bool sending() const { return queue_.now() < last_bit_at_; }
  // Whether a frame was going out at some time from `from` to `until`, the last one being all that counts.
  bool sent_between(Instant from, Instant until) const { return first_bit_at_ < until && from < last_bit_at_; }

  // Half duplex: the other end keeps the wire until `carrier_ends`, and the gap follows (IEEE 802.3 4.2.3.2.1).
  void defer(Instant carrier_ends) { free_at_ = std::max(free_at_, carrier_ends + wire::inter_packet_gap(bit_rate())); }

  // Starts a frame now; returns the instant of its last bit. Pads to 60 bytes; one that is not padded is a runt, which
  // no receiver takes. Without link the frame is lost.
  enum class Padding : std::uint8_t { zeros, none };
  Instant send(wire::FramePtr frame, Padding padding = Padding::zeros) {
    if (padding == Padding::none && frame->size < wire::min_frame_bytes) frame->fcs_good = false;
    if (padding == Padding::zeros) frame->pad();
    const Instant start = queue_.now();
    WIZ_ASSERT(start >= free_at_);
    first_bit_at_ = start;
    last_bit_at_ = start + wire::time_on_wire(frame->size, bit_rate());
    free_at_ = last_bit_at_ + wire::inter_packet_gap(bit_rate());
    if (sink_ != nullptr && has_link()) sink_->accept(std::move(frame), start);
    return last_bit_at_;
  }

  // A frame of the stack itself that may leave at `ready`. Lost when too many are waiting: nobody retries it.
  void queue_reply(wire::FramePtr frame, Instant ready) {
    if (replies_waiting_ == replies_.size()) return;
    replies_[(first_reply_ + replies_waiting_) % replies_.size()] = {std::move(frame), ready};
    ++replies_waiting_;
  }
  Instant next_reply() const { return replies_waiting_ == 0 ? Instant::max() : replies_[first_reply_].ready; }
  wire::FramePtr take_reply() {
    wire::FramePtr frame = std::move(replies_[first_reply_].frame);
    first_reply_ = (first_reply_ + 1) % replies_.size();
    --replies_waiting_;
    return frame;
  }
  void drop_replies() {
    while (replies_waiting_ > 0) take_reply();
  }

 private:
  struct Reply {
    wire::FramePtr frame;
    Instant ready;
  };

  EventQueue& queue_;
  const Phy& phy_;
  wire::FrameSink* sink_ = nullptr;
  Instant first_bit_at_{};
  Instant last_bit_at_{};
  Instant free_at_{};
  std::array<Reply, 8> replies_;
  std::size_t first_reply_ = 0;
  std::size_t replies_waiting_ = 0;
};

}  // namespace wizloop::chip
