// A cable from the simulated wire to a network of the host: what the board sends goes out there, what comes in there
// goes to the board. Which one to take, and what each can do: README.md.
//
//   BridgeSite site{io, queue, frames, [](const std::string& news) { ... }, [&] { pacer.catch_up(); }};
//   Result<std::unique_ptr<Bridge>> bridge = open_bridge(parse_net("slirp:hostfwd=tcp:5001:5001").value(), site);
//   bridge.value()->plug_into(link, End::host);
//   ...                                           // a loop that runs io and moves the queue, such as the pacer
//
// The io_context serves its descriptors and the queue its timers: a bridge has no thread, no wall clock and no poll
// interval of its own. Its handlers run between events, on the thread of the queue, and take queue.now() for now.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "sim/core/event_queue.hpp"
#include "sim/core/timer.hpp"
#include "sim/net/link.hpp"
#include "sim/wire/frame.hpp"

namespace wizloop::realtime {

// Where a bridge lives; all of it outlives the bridge, and the frames outlive those that are under way.
struct BridgeSite {
  boost::asio::io_context& io;
  EventQueue& queue;
  wire::FramePool& frames;
  std::function<void(const std::string&)> report{};  // one sentence, when something changes on the host's side
  // Called before anything from the host is taken: moves the queue to the instant that belongs to this moment, which
  // waiting has left behind. Without it, what comes in is taken to have come when the waiting began.
  std::function<void()> catch_up{};
};

// Frames. Each one that came in is in exactly one of these.
struct BridgeCounters {
  std::uint64_t to_host = 0;
  std::uint64_t to_board = 0;
  // From the board, dropped:
  std::uint64_t bad_fcs = 0;       // damaged on the cable
  std::uint64_t host_refused = 0;  // the host's interface is down, gone or full
  // From the host, dropped:
  std::uint64_t too_long = 0;     // over 1514 bytes
  std::uint64_t no_checksum = 0;  // the host left its checksum to hardware that is not there
  std::uint64_t not_read = 0;     // by the kernel, because they came faster than the cable takes them
};

class Bridge : public wire::FrameSink {
 public:
  Bridge(const Bridge&) = delete;
  Bridge& operator=(const Bridge&) = delete;
  virtual ~Bridge() = default;

  // Once, before the first frame; the link outlives the bridge.
  void plug_into(net::Link& link, net::End end) {
    link_ = &link;
    cable_ = &link.transmitter(end);
    link.attach(end, *this);
    on_plugged_in();
  }

  const std::string& name() const { return name_; }  // as the user gave it: "veth:wiz0"
  const BridgeCounters& counters() const { return counters_; }

  void accept(wire::FramePtr frame, Instant at) final;

 protected:
  Bridge(const BridgeSite& site, std::string name) : site_{site}, name_{std::move(name)}, room_{site.queue} {}

  // The cable is there: frames from the host may come from now on.
  virtual void on_plugged_in() = 0;
  // False: the host did not take it.
  virtual bool send_to_host(Bytes frame) = 0;

  // First in each handler of the io_context.
  void begin_input() const {
    if (site_.catch_up) site_.catch_up();
  }

  // Pads a frame, and puts it on the cable behind those that wait already.
  void send_to_board(wire::FramePtr frame);

  // Whoever reads frames from the host stops while this is false, so that they wait where they come from.
  bool cable_has_room() const;
  void when_cable_has_room(EventQueue::Callback callback);

  void report(const std::string& news) const {
    if (site_.report) site_.report(name_ + ": " + news);
  }

  BridgeSite site_;
  BridgeCounters counters_;

 private:
  std::string name_;
  net::Link* link_ = nullptr;
  wire::FrameSink* cable_ = nullptr;
  Instant cable_free_at_{};
  Timer room_;
};

}  // namespace wizloop::realtime
