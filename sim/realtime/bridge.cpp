#include "sim/realtime/bridge.hpp"

#include <algorithm>

namespace wizloop::realtime {
namespace {
// Waiting for the cable: enough to keep it busy between two looks at the host, and little against the host's own
// queues, which are where a sender learns that it is too fast.
constexpr std::int64_t backlog_frames = 32;
}  // namespace

void Bridge::accept(wire::FramePtr frame, Instant /*at*/) {
  WIZ_ASSERT(link_ != nullptr);  // plug_into() comes first
  if (!frame->fcs_good) {
    ++counters_.bad_fcs;
  } else if (send_to_host(frame->data())) {
    ++counters_.to_host;
  } else {
    ++counters_.host_refused;
  }
}

void Bridge::send_to_board(wire::FramePtr frame) {
  if (frame->size > wire::max_frame_bytes) {
    if (counters_.too_long++ == 0) {
      report(
          "a frame of more than 1514 bytes came from the host and was dropped; the MTU there must be 1500, and "
          "offloads off (ethtool -K IF tx off tso off gso off gro off lro off)");
    }
    return;
  }
  frame->pad();
  const Frequency bit_rate = link_->bit_rate();
  const Instant start = std::max(site_.queue.now(), cable_free_at_);
  cable_free_at_ = start + wire::time_on_wire(frame->size, bit_rate) + wire::inter_packet_gap(bit_rate);
  ++counters_.to_board;
  cable_->accept(std::move(frame), start);
}

bool Bridge::cable_has_room() const {
  return cable_free_at_ - site_.queue.now() <
         backlog_frames * wire::time_on_wire(wire::max_frame_bytes, link_->bit_rate());
}

void Bridge::when_cable_has_room(EventQueue::Callback callback) {
  const Duration half = backlog_frames / 2 * wire::time_on_wire(wire::max_frame_bytes, link_->bit_rate());
  room_.start_at(std::max(site_.queue.now(), cable_free_at_ - half), std::move(callback));
}

}  // namespace wizloop::realtime
