#include "sim/net/link.hpp"

#include <algorithm>
#include <utility>

namespace wizloop::net {

Link::Link(EventQueue& queue, const Random& random, const LinkProfile& profile)
    : queue_{queue}, profile_{profile}, bit_rate_{profile.bit_rate}, loss_{random.stream("link.loss")} {}

void Link::attach(End end, wire::FrameSink& receiver) {
  const bool filtered = filter_ != nullptr && end == End::host;
  direction(other(end)).receiver = filtered ? &filter_->before_station(receiver) : &receiver;
}

void Link::inject(Faults& faults, wire::FramePool& frames) {
  faults_ = std::make_unique<LinkFaults>(queue_, faults, frames, [this](bool up) { set_up(up); });
}

void Link::set_up(bool up) {
  if (up == up_) return;
  up_ = up;
  if (!up) {
    from_board_.lose_all();
    from_host_.lose_all();
  }
  if (cable_listener_) cable_listener_(up);
}

Link::Direction::Direction(Link& link, End from)
    : link_{link},
      from_{from},
      waiting_{link.queue_, [this](wire::FramePtr frame) { begin(std::move(frame)); }},
      under_way_{link.queue_, [this](wire::FramePtr frame) { arrive(std::move(frame)); }},
      held_back_until_{link.queue_} {}

void Link::Direction::accept(wire::FramePtr frame, Instant start) {
  WIZ_ASSERT(start >= link_.queue_.now());
  WIZ_ASSERT(start >= next_start_);  // frames overlap, or their gap is too short
  const Frequency bit_rate = link_.bit_rate_;
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
  on_wire_until_ = start + wire::time_on_wire(frame->size, link_.bit_rate_);
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
  if (link_.faults_ != nullptr) [[unlikely]] {
    begin_on_faulty_cable(std::move(frame));
    return;
  }
  receiver->announce(*frame, start + link_.profile_.delay);
  under_way_.hold(std::move(frame), on_wire_until_ + link_.profile_.delay);
}

void Link::Direction::begin_on_faulty_cable(wire::FramePtr frame) {
  LinkFaults& faults = *link_.faults_;
  if (faults.loses(from_)) {
    ++counters.lost;
    return;
  }
  faults.corrupt(from_, *frame);
  const Instant first_bit = link_.queue_.now() + link_.profile_.delay + faults.lateness(from_);
  if (held_back_ == nullptr) {
    if (const auto wait = faults.holds_back(from_)) {
      held_back_ = std::move(frame);
      held_back_until_.start(*wait, [this] { release_held_back(); });
      return;
    }
  }
  wire::FramePtr twin = faults.duplicate(from_, *frame);
  bring(std::move(frame), first_bit);
  if (twin != nullptr) {
    ++counters.duplicated;
    bring(std::move(twin), first_bit);
  }
  if (held_back_ != nullptr) release_held_back();
}

void Link::Direction::bring(wire::FramePtr frame, Instant first_bit) {
  const Frequency bit_rate = link_.bit_rate_;
  const Instant start = std::max(first_bit, far_end_free_);
  const Instant end = start + wire::time_on_wire(frame->size, bit_rate);
  far_end_free_ = end + wire::inter_packet_gap(bit_rate);
  receiver->announce(*frame, start);
  under_way_.hold(std::move(frame), end);
}

void Link::Direction::release_held_back() {
  held_back_until_.stop();
  bring(std::move(held_back_), link_.queue_.now() + link_.profile_.delay);
}

void Link::Direction::lose_all() {
  counters.unplugged += under_way_.clear();
  held_back_until_.stop();
  if (held_back_ != nullptr) ++counters.unplugged;
  held_back_.reset();
}

void Link::Direction::arrive(wire::FramePtr frame) {
  ++counters.delivered;
  receiver->accept(std::move(frame), link_.queue_.now());
}

}  // namespace wizloop::net
