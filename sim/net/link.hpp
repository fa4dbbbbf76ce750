// A full-duplex cable between the board and a remote host (IEEE 802.3): bit rate, delay, loss, unplugging.
//
// Each end transmits on its own: a frame occupies its direction for its time on the wire and reaches the other end when
// its last bit has come through. MACs keep their own spacing; the link only checks it.
//
//   Link link{queue, random, {.delay = 1us}};
//   link.attach(End::board, chip);
//   link.attach(End::host, host);
//   link.transmitter(End::board).accept(std::move(frame), queue.now());
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/core/event_queue.hpp"
#include "sim/core/fault.hpp"
#include "sim/core/random.hpp"
#include "sim/net/delay_line.hpp"
#include "sim/net/link_faults.hpp"
#include "sim/wire/frame.hpp"
#include "sim/wire/link_mode.hpp"

namespace wizloop::net {

class Link;

struct LinkProfile {
  Frequency bit_rate{100'000'000};  // until set_modes()
  Duration delay{};                 // from an end to the other, for each bit
  std::uint32_t loss_ppm = 0;       // frames lost at random, per million, in each direction
};

// Of one direction. Each frame transmitted or duplicated is in the end delivered, lost or unplugged.
struct LinkCounters {
  std::uint64_t transmitted = 0;
  std::uint64_t delivered = 0;
  std::uint64_t lost = 0;        // by chance or by a fault
  std::uint64_t unplugged = 0;   // the cable was not plugged in from the first bit to the last
  std::uint64_t duplicated = 0;  // made by a fault
};

// Sees each frame that a plugged-in cable takes, lost ones included, when its first bit goes out: both directions in
// the order of time.
class LinkObserver {
 public:
  virtual void on_frame(End from, Instant start, const wire::Frame& frame) = 0;

 protected:
  ~LinkObserver() = default;
};

// Sits between one end of the cable and the station there. Each call returns what the other side is to use instead.
class StationFilter {
 public:
  virtual wire::FrameSink& before_station(wire::FrameSink& station) = 0;
  virtual wire::FrameSink& before_cable(wire::FrameSink& cable, const Link& link) = 0;

 protected:
  ~StationFilter() = default;
};

class Link {
 public:
  Link(EventQueue& queue, const Random& random, const LinkProfile& profile);

  // Where frames that reach this end go. Both ends are attached before the first frame.
  void attach(End end, wire::FrameSink& receiver);

  // What this end sends goes here: accept(frame, start), with start now or later.
  wire::FrameSink& transmitter(End end) {
    return filter_ != nullptr && end == End::host ? filter_->before_cable(direction(end), *this) : direction(end);
  }

  // Puts a filter in front of the remote host, before that is attached.
  void filter_host(StationFilter& filter) { filter_ = &filter; }

  // Faults that a run plans, before its first frame; the faults outlive the link. Copies come from `frames`.
  void inject(Faults& faults, wire::FramePool& frames);

  void observe(LinkObserver& observer) { observers_.push_back(&observer); }

  // Unplugs the cable or plugs it in again. Frames on the cable and frames that start while it is out are lost.
  void set_up(bool up);
  bool up() const { return up_; }
  // Told whenever the cable goes out or in, as a PHY would see it.
  void on_change(std::function<void(bool up)> listener) { cable_listener_ = std::move(listener); }

  // How its ends use the cable from now on, as they have negotiated.
  void set_modes(const wire::LinkModes& board_and_host) { bit_rate_ = board_and_host.own.bit_rate(); }
  Frequency bit_rate() const { return bit_rate_; }

  // A frame is on the wire, in either direction.
  bool busy(Instant now) const { return from_board_.occupied(now) || from_host_.occupied(now); }

  const LinkProfile& profile() const { return profile_; }
  const LinkCounters& counters(End from) const {
    return from == End::board ? from_board_.counters : from_host_.counters;
  }

 private:
  class Direction final : public wire::FrameSink {
   public:
    Direction(Link& link, End from);
    void accept(wire::FramePtr frame, Instant start) override;
    bool occupied(Instant now) const { return now < on_wire_until_; }
    void lose_all();

    wire::FrameSink* receiver = nullptr;
    LinkCounters counters;

   private:
    void begin(wire::FramePtr frame);
    void begin_on_faulty_cable(wire::FramePtr frame);
    // The first bit reaches the other end at `first_bit`, or as soon as what came before leaves room.
    void bring(wire::FramePtr frame, Instant first_bit);
    void release_held_back();
    void arrive(wire::FramePtr frame);

    Link& link_;
    End from_;
    Instant next_start_ = Instant::min();  // the end of the last frame handed in, and the gap
    Instant on_wire_until_ = Instant::min();
    DelayLine waiting_;    // for their start
    DelayLine under_way_;  // to the other end
    // On a faulty cable only:
    Instant far_end_free_ = Instant::min();
    wire::FramePtr held_back_;  // until the next frame has overtaken it
    Timer held_back_until_;
  };

  Direction& direction(End from) { return from == End::board ? from_board_ : from_host_; }

  EventQueue& queue_;
  LinkProfile profile_;
  Frequency bit_rate_;
  RandomStream loss_;
  bool up_ = true;
  StationFilter* filter_ = nullptr;
  std::function<void(bool)> cable_listener_;
  std::vector<LinkObserver*> observers_;
  Direction from_board_{*this, End::board};
  Direction from_host_{*this, End::host};
  std::unique_ptr<LinkFaults> faults_;
};

}  // namespace wizloop::net
