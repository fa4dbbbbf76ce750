#include "sim/capi/station.hpp"

#include <algorithm>

namespace wizloop::capi {

void Station::send(Bytes data, EventQueue& queue, wire::FramePool& frames, net::Link& link) {
  wire::FramePtr frame = frames.take();
  std::ranges::copy(data, frame->bytes.begin());
  frame->size = data.size();
  frame->pad();
  const Frequency bit_rate = link.profile().bit_rate;
  const Instant start = std::max(queue.now(), free_at_);
  free_at_ = start + wire::time_on_wire(frame->size, bit_rate) + wire::inter_packet_gap(bit_rate);
  link.transmitter(net::End::host).accept(std::move(frame), start);
}

}  // namespace wizloop::capi
