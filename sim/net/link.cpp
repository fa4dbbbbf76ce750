#include "sim/net/link.hpp"

#include <utility>

namespace wizloop::net {

Link::Link(EventQueue& queue, const Random& random, const LinkProfile& profile)
    : queue_{queue}, profile_{profile}, loss_{random.stream("link.loss")} {}

void Link::attach(End end, wire::FrameSink& receiver) { direction(other(end)).receiver = &receiver; }

void Link::set_up(bool up) {
  if (up && !up_) plugged_in_at_ = queue_.now();
  up_ = up;
}

Link::Direction::Direction(Link& link, End from)
    : link_{link},
      from_{from},
      waiting_{link.queue_, [this](wire::FramePtr frame) { begin(std::move(frame)); }},
      under_way_{link.queue_, [this](wire::FramePtr frame) { arrive(std::move(frame)); }} {}

void Link::Direction::accept(wire::FramePtr frame, Instant start) {
  WIZ_ASSERT(start >= link_.queue_.now());
  WIZ_ASSERT(start >= next_start_);  // frames overlap, or their gap is too short
  const Frequency bit_rate = link_.profile_.bit_rate;
  next_start_ = start + wire::time_on_wire(frame->size, bit_rate) + wire::inter_packet_gap(bit_rate);
  if (start > link_.queue_.now()) {
    waiting_.hold(std::move(frame), start);
  } else {
    begin(std::move(frame));
  }
}

// The first bit of the preamble goes out now. What happens to a frame on its way is decided here.
void Link::Direction::begin(wire::FramePtr frame) {
  const Instant start = link_.queue_.now();
  on_wire_until_ = start + wire::time_on_wire(frame->size, link_.profile_.bit_rate);
  ++counters.transmitted;
  if (!link_.up_) {
    ++counters.unplugged;
    return;
  }
  for (LinkObserver* observer : link_.observers_) observer->on_frame(from_, start, *frame);
  if (link_.profile_.loss_ppm != 0 && link_.loss_.below(1'000'000) < link_.profile_.loss_ppm) {
    ++counters.lost;
    return;
  }
  WIZ_ASSERT(receiver != nullptr);
  receiver->announce(*frame, start + link_.profile_.delay);
  under_way_.hold(std::move(frame), on_wire_until_ + link_.profile_.delay);
}

void Link::Direction::arrive(wire::FramePtr frame) {
  const Instant now = link_.queue_.now();
  const Instant start = now - link_.profile_.delay - wire::time_on_wire(frame->size, link_.profile_.bit_rate);
  if (!link_.up_ || start < link_.plugged_in_at_) {
    ++counters.unplugged;
    return;
  }
  ++counters.delivered;
  receiver->accept(std::move(frame), now);
}

}  // namespace wizloop::net
