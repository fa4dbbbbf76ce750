// An Ethernet frame in flight, the pool it comes from, and its time on the wire (IEEE 802.3).
//
// The bytes run from destination MAC to the end of the payload: preamble and FCS take time but are not stored. Whether
// the FCS is good travels as a flag.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "sim/core/assert.hpp"
#include "sim/core/bytes.hpp"
#include "sim/core/time.hpp"

namespace wizloop::wire {

inline constexpr std::size_t ethernet_header_bytes = 14;
inline constexpr std::size_t min_frame_bytes = 60;    // without FCS; shorter frames are padded by the sender's MAC
inline constexpr std::size_t max_frame_bytes = 1514;  // without FCS
inline constexpr std::size_t fcs_bytes = 4;
inline constexpr std::size_t preamble_bytes = 8;  // 7 of preamble and the SFD
inline constexpr std::size_t inter_packet_gap_bytes = 12;

class FramePool;

struct Frame {
  std::size_t size = 0;
  bool fcs_good = true;
  std::array<std::uint8_t, 1536> bytes;

  Bytes data() const { return {bytes.data(), size}; }
  MutableBytes data() { return {bytes.data(), size}; }
  // What a sender's MAC does to a short frame (IEEE 802.3 3.2.8): zeros behind it, up to the smallest size.
  void pad() {
    if (size >= min_frame_bytes) return;
    std::fill(bytes.begin() + size, bytes.begin() + min_frame_bytes, std::uint8_t{0});
    size = min_frame_bytes;
  }

 private:
  friend class FramePool;
  friend struct ReturnToPool;
  FramePool* home_ = nullptr;
};

struct ReturnToPool {
  void operator()(Frame* frame) const;
};
using FramePtr = std::unique_ptr<Frame, ReturnToPool>;

// Frames are made once and used over and over; the pool must outlive them.
class FramePool {
 public:
  FramePtr take() {
    if (free_.empty()) {
      all_.push_back(std::make_unique<Frame>());
      all_.back()->home_ = this;
      free_.reserve(all_.capacity());
      free_.push_back(all_.back().get());
    }
    Frame* frame = free_.back();
    free_.pop_back();
    frame->size = 0;
    frame->fcs_good = true;
    return FramePtr{frame};
  }
  FramePtr copy(Bytes bytes) {
    WIZ_ASSERT(bytes.size() <= std::tuple_size_v<decltype(Frame::bytes)>);
    FramePtr frame = take();
    frame->size = bytes.size();
    std::copy(bytes.begin(), bytes.end(), frame->bytes.begin());
    return frame;
  }
  std::size_t made() const { return all_.size(); }

 private:
  friend struct ReturnToPool;
  std::vector<std::unique_ptr<Frame>> all_;
  std::vector<Frame*> free_;
};

inline void ReturnToPool::operator()(Frame* frame) const { frame->home_->free_.push_back(frame); }

// Where frames go: a MAC, a cable, a host.
class FrameSink {
 public:
  // From a transmitter: `at` is when the first preamble bit goes out, now or later. From a cable: when the last bit of
  // the frame has come in, which is now.
  virtual void accept(FramePtr frame, Instant at) = 0;

  // From a cable: the first preamble bit of this frame comes in at `at`, now or later. accept() follows with its last
  // bit, unless the cable is pulled meanwhile. For receivers that have to decide something before the frame is
  // complete.
  virtual void announce(const Frame& /*frame*/, Instant /*at*/) {}

 protected:
  ~FrameSink() = default;
};

// How long a frame of `size` bytes (without FCS, at least 60) keeps the wire: preamble to the last bit of the FCS.
constexpr Duration time_on_wire(std::size_t size, Frequency bit_rate) {
  const std::size_t padded = size < min_frame_bytes ? min_frame_bytes : size;
  return bit_rate.periods(static_cast<std::int64_t>(8 * (preamble_bytes + padded + fcs_bytes)));
}
constexpr Duration inter_packet_gap(Frequency bit_rate) { return bit_rate.periods(8 * inter_packet_gap_bytes); }

}  // namespace wizloop::wire
