// The PC: a remote host whose network stack is lwIP, in virtual time and on one thread. Each host has an lwIP of its
// own (lwip_library.hpp), so hosts may live at once or one after another, and equal runs are equal to the picosecond.
//
//   Result<std::unique_ptr<LwipHost>> pc = LwipHost::create(queue, pool, {.mac = ..., .ip = ipv4(192, 168, 1, 10)});
//   pc.value()->plug_into(link, End::host);
//   TcpSink sink{*pc.value(), 5001};
//
// Received frames reach lwIP `turnaround` after their last bit: delayed, not serialised. What lwIP sends leaves through
// a network interface that takes one frame at a time and keeps the inter-packet gap.
//
// A station without an address can talk to this PC, as to one that serves DHCP: datagrams from 0.0.0.0, which the
// packaged lwIP drops, reach the UDP ports past lwIP.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "sim/core/event_queue.hpp"
#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "sim/core/timer.hpp"
#include "sim/net/delay_line.hpp"
#include "sim/net/host.hpp"
#include "sim/net/host_heap.hpp"

struct netif;
struct pbuf;

namespace wizloop::net {

class LwipLibrary;
class TcpConnection;
class UdpPort;

class LwipHost final : public Host, private wire::FrameSink {
 public:
  // The error is the machine's: lwIP is not installed, or cannot be loaded. The pool outlives all frames of the host.
  static Result<std::unique_ptr<LwipHost>> create(EventQueue& queue, wire::FramePool& pool, const HostConfig& config);
  LwipHost(const LwipHost&) = delete;
  LwipHost& operator=(const LwipHost&) = delete;
  ~LwipHost() override;

  void plug_into(Link& link, End end) override;
  const HostConfig& config() const override { return config_; }
  const HostCounters& counters() const override { return counters_; }

  // Asks for the MAC of a neighbour, so that later datagrams need not wait for it (lwIP keeps at most ten waiting).
  void resolve(wire::Ipv4Address neighbour);

  // When the first bit of the last frame went out, or will go.
  Instant last_start() const { return last_start_; }

  EventQueue& queue() { return queue_; }

  // The only way into lwIP: while it lives, lwIP's clock, chance and memory are those of this host.
  //   LwipHost::Call lwip{host};
  //   lwip->tcp_output(pcb);
  class Call {
   public:
    explicit Call(LwipHost& host) : host_{host}, previous_{std::exchange(current_, &host)} {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      current_ = previous_;
      if (previous_ == nullptr) host_.arm_timer();
    }
    const LwipLibrary* operator->() const { return host_.library_.get(); }

   private:
    LwipHost& host_;
    LwipHost* previous_;
  };

 private:
  friend class TcpConnection;
  friend class UdpPort;

  LwipHost(EventQueue& queue, wire::FramePool& pool, const HostConfig& config);
  void start();
  void accept(wire::FramePtr frame, Instant at) override;
  void process(wire::FramePtr frame);
  bool take_from_unaddressed(Bytes frame);
  void transmit(const pbuf* packet);
  void transmit(wire::FramePtr frame);
  void arm_timer();
  void on_timer();

  // What lwIP calls in place of sys_now, rand, malloc, calloc and free.
  static std::uint32_t milliseconds();
  static int chance();
  static void* allocate(std::size_t bytes);
  static void* allocate_zeroed(std::size_t count, std::size_t bytes);
  static void release(void* memory);

  static thread_local LwipHost* current_;  // whose call into lwIP is in progress

  EventQueue& queue_;
  wire::FramePool& pool_;
  HostConfig config_;
  HostCounters counters_;
  RandomStream random_;
  HostHeap heap_;  // outlives the library
  std::unique_ptr<LwipLibrary> library_;
  std::unique_ptr<netif> interface_;
  wire::FrameSink* cable_ = nullptr;
  Frequency bit_rate_{100'000'000};
  Instant interface_free_at_ = Instant::min();
  Instant last_start_ = Instant::min();
  DelayLine turnaround_;
  Timer timer_;  // lwIP's next timeout
  std::vector<TcpConnection*> connections_;
  std::vector<UdpPort*> udp_ports_;
};

}  // namespace wizloop::net
