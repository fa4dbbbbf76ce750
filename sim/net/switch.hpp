// A learning Ethernet switch (IEEE 802.1D): several boards, PCs and bridges to the host's network on one net.
//
//   Switch lan{queue, frames, {.ports = 8}};
//   lan.port(0).plug_into(link_of_a_board, End::host);   // a Testbed does so by itself: TestbedSetup::switch_port
//   lan.port(1).plug_into(link_of_a_pc, End::board);
//
// Store and forward: a frame goes on when its last bit has come in, at the bit rate of the link that it leaves by, and
// waits for its turn there; a queue that is full drops it. Frames to groups, to everybody, and to stations that have
// not been heard of lately leave by all other ports. Reserved group addresses (802.1D 7.12.6: PAUSE, spanning tree) end
// here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "sim/core/timer.hpp"
#include "sim/net/link.hpp"
#include "sim/wire/ethernet.hpp"

namespace wizloop::net {

struct SwitchProfile {
  std::size_t ports = 8;
  std::size_t queue_frames = 64;  // that wait at a port for their turn, besides the one that is going out
  Duration ageing = 300s;         // 802.1D table 7-5: a station that is silent for so long may have moved
  std::size_t addresses = 1024;   // of stations; when there are more, frames to those that came last go everywhere
};

// Each frame that came in is in the end damaged, reserved, at home, or else sent or dropped once for each port that it
// was to leave by.
struct SwitchPortCounters {
  // In:
  std::uint64_t received = 0;
  std::uint64_t damaged = 0;   // bad FCS, too short or too long
  std::uint64_t reserved = 0;  // to an address that ends at a switch
  std::uint64_t at_home = 0;   // to a station on the side that it came from
  // Out:
  std::uint64_t sent = 0;
  std::uint64_t queue_full = 0;  // dropped
};

class Switch;

class SwitchPort final : public wire::FrameSink {
 public:
  SwitchPort(Switch& owner, std::size_t number);
  SwitchPort(const SwitchPort&) = delete;
  SwitchPort& operator=(const SwitchPort&) = delete;

  // The link outlives what is plugged in: unplug() before.
  void plug_into(Link& link, End end);
  // What waits here is lost, and the stations behind this port are forgotten.
  void unplug();
  bool plugged_in() const { return cable_ != nullptr; }

  std::size_t number() const { return number_; }
  const SwitchPortCounters& counters() const { return counters_; }
  std::size_t waiting() const { return count_; }

  void accept(wire::FramePtr frame, Instant at) override;

 private:
  friend class Switch;
  void send(Bytes frame);
  void transmit(wire::FramePtr frame);
  void on_cable_free();

  Switch& switch_;
  std::size_t number_;
  Link* link_ = nullptr;
  wire::FrameSink* cable_ = nullptr;
  SwitchPortCounters counters_;
  std::vector<wire::FramePtr> queue_;  // a ring
  std::size_t first_ = 0;
  std::size_t count_ = 0;
  Timer cable_busy_;
};

class Switch {
 public:
  // From a station's first bit until anything can begin at another one: the shortest frame at 100 Mbit/s. Where boards
  // meet at switches alone, EventQueue::set_lookahead() takes it.
  static constexpr Duration shortest_passage = wire::time_on_wire(wire::min_frame_bytes, Frequency{100'000'000});

  // Queue and pool outlive the switch, and the pool the frames that it has sent.
  Switch(EventQueue& queue, wire::FramePool& frames, const SwitchProfile& profile = {});
  Switch(const Switch&) = delete;
  Switch& operator=(const Switch&) = delete;

  std::size_t ports() const { return ports_.size(); }
  SwitchPort& port(std::size_t number) { return *ports_.at(number); }
  const SwitchProfile& profile() const { return profile_; }
  // How many stations it knows, those included that it would no longer believe in.
  std::size_t stations() const { return stations_.size(); }

 private:
  friend class SwitchPort;
  struct Station {
    std::size_t port;
    Instant heard_at;
  };

  void forward(SwitchPort& from, Bytes frame);
  void learn(const wire::MacAddress& station, std::size_t port);
  void forget_silent();
  void forget_port(std::size_t port);
  bool believes(const Station& station) const { return queue_.now() - station.heard_at <= profile_.ageing; }

  EventQueue& queue_;
  wire::FramePool& frames_;
  SwitchProfile profile_;
  std::vector<std::unique_ptr<SwitchPort>> ports_;
  std::unordered_map<std::uint64_t, Station> stations_;  // by MAC address
  Instant forgotten_at_ = Instant::min();
};

}  // namespace wizloop::net
