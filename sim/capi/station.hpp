// A caller's own station at the far end of the cable: frames to it by a callback, frames from it one after another.
#pragma once

#include "sim/capi/wizloop.h"
#include "sim/core/bytes.hpp"
#include "sim/core/event_queue.hpp"
#include "sim/net/link.hpp"

namespace wizloop::capi {

class Station final : public wire::FrameSink {
 public:
  explicit Station(const wizloop_station& of) : station_{of} {}

  void accept(wire::FramePtr frame, Instant at) override {
    calling_ = true;
    station_.transmit(station_.context, frame->bytes.data(), frame->size,
                      static_cast<std::uint64_t>(at.time_since_epoch().count()));
    calling_ = false;
  }

  // Its callback is running, from inside the model.
  bool calling() const { return calling_; }

  // As soon as the cable is free, with the inter-packet gap.
  void send(Bytes data, EventQueue& queue, wire::FramePool& frames, net::Link& link);

 private:
  wizloop_station station_;
  Instant free_at_ = Instant::min();
  bool calling_ = false;
};

}  // namespace wizloop::capi
