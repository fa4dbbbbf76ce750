// The PC: a remote host whose network stack is lwIP, in virtual time and on one thread. Each host has an lwIP of its
// own (sim/lwip), so hosts may live at once or one after another, and equal runs are equal to the picosecond.
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
#include <vector>

#include "sim/core/event_queue.hpp"
#include "sim/core/random.hpp"
#include "sim/core/result.hpp"
#include "sim/core/timer.hpp"
#include "sim/lwip/lwip_stack.hpp"
#include "sim/net/delay_line.hpp"
#include "sim/net/host.hpp"

struct netif;
struct pbuf;

namespace wizloop::net {

class TcpConnection;
class UdpPort;

class LwipHost final : public Host, private wire::FrameSink, private LwipStack::Clock {
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

  // The only way into lwIP; whatever it starts, the host then waits for lwIP's next timeout.
  //   LwipHost::Call lwip{host};
  //   lwip->tcp_output(pcb);
  class Call {
   public:
    explicit Call(LwipHost& host) : host_{host}, call_{*host.stack_} {}
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() {
      if (call_.outermost()) host_.arm_timer(call_);
    }
    const LwipLibrary* operator->() const { return call_.operator->(); }

   private:
    LwipHost& host_;
    LwipStack::Call call_;
  };

 private:
  friend class TcpConnection;
  friend class UdpPort;

  LwipHost(EventQueue& queue, wire::FramePool& pool, const HostConfig& config);
  void start();
  void accept(wire::FramePtr frame, Instant at) override;
  void process(wire::FramePtr frame);
  bool is_itself(wire::Ipv4Address address) const { return address == config_.ip || address >> 24 == 127; }
  bool may_reach_lwip(Bytes frame);
  void deliver_from_unaddressed(Bytes packet);
  void transmit(const pbuf* packet);
  void transmit(wire::FramePtr frame);
  void arm_timer(const LwipStack::Call& lwip);
  void on_timer();
  std::uint32_t milliseconds() override;

  EventQueue& queue_;
  wire::FramePool& pool_;
  HostConfig config_;
  HostCounters counters_;
  std::unique_ptr<LwipStack> stack_;
  std::unique_ptr<netif> interface_;
  wire::FrameSink* cable_ = nullptr;
  const Link* link_ = nullptr;
  Instant interface_free_at_ = Instant::min();
  Instant last_start_ = Instant::min();
  DelayLine turnaround_;
  Timer timer_;  // lwIP's next timeout
  std::vector<TcpConnection*> connections_;
  std::vector<UdpPort*> udp_ports_;
};

}  // namespace wizloop::net
