// How a socket learns the MAC of its peer (datasheet 4.1 RTR and RCR): a request, RCR repeats, RTR apart, then TIMEOUT
// after RTR x (RCR + 1). Steps without a clock, like TcpConnection.
#pragma once

#include "sim/core/time.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::chip {

class ArpResolver {
 public:
  void start(wire::Ipv4Address target, Instant now) {
    target_ = target;
    asking_ = true;
    requests_sent_ = 0;
    request_ready_ = now;
    deadline_ = Instant::max();
  }
  void stop() { *this = ArpResolver{}; }

  bool asking() const { return asking_; }
  wire::Ipv4Address target() const { return target_; }

  // When the next request may leave; Instant::max() if none is due.
  Instant next_output() const { return asking_ ? request_ready_ : Instant::max(); }
  void on_request_leaves(Duration rtr, Instant now) {
    ++requests_sent_;
    request_ready_ = Instant::max();
    deadline_ = now + rtr;
  }

  Instant deadline() const { return deadline_; }
  // False when the last repeat has gone unanswered: the socket's TIMEOUT.
  bool on_deadline(int rcr, Instant now) {
    deadline_ = Instant::max();
    if (requests_sent_ > rcr) {
      stop();
      return false;
    }
    request_ready_ = now;
    return true;
  }

 private:
  bool asking_ = false;
  wire::Ipv4Address target_ = 0;
  int requests_sent_ = 0;
  Instant request_ready_ = Instant::max();
  Instant deadline_ = Instant::max();
};

}  // namespace wizloop::chip
