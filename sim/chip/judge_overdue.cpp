// What the judge finds because firmware lets time pass: received data, interrupts and leases that nobody takes up.
#include <fmt/format.h>

#include <algorithm>

#include "sim/chip/judge.hpp"

namespace wizloop::chip {

// A cause that a host has not come for is one that is younger than its last access to the socket.
void Judge::watch_masked(std::uint8_t sir) {
  const std::uint8_t masked = sir & static_cast<std::uint8_t>(~context_.common[common::SIMR]);
  for (std::size_t n = 0; n < watched_.size(); ++n) {
    Watched& of = watched_[n];
    const auto causes = (masked >> n & 1) == 0
                            ? std::uint8_t{0}
                            : static_cast<std::uint8_t>(of.socket->interrupts & of.socket->bytes[socket::Sn_IMR]);
    if (causes == 0) {
      of.masked_since = Instant::max();
    } else if ((causes & ~of.masked_causes) != 0) {
      of.masked_since = context_.queue.now();
      frame_log_->tells_each = true;
      arm(of.masked_since + limits::interrupt_unserved);
    }
    of.masked_causes = causes;
  }
}

bool Judge::watches_masked() const {
  return std::ranges::any_of(watched_, [](const Watched& of) { return of.masked_since != Instant::max(); });
}

void Judge::judge_masked() {
  const Instant now = context_.queue.now();
  const std::string simr = fmt::format("SIMR = 0x{:02X}", context_.common[common::SIMR]);
  for (Watched& of : watched_) {
    if (of.masked_since == Instant::max()) continue;
    const Instant bus_due = std::max(of.masked_since, context_.frame_began) + limits::interrupt_unserved;
    const Instant socket_due = of.masked_since + limits::socket_unserved;
    if (bus_due <= now) {
      for (Watched& each : watched_) each.masked_since = Instant::max();
      return add(Rule::interrupt_masked,
                 fmt::format("{}, no SPI access for {} ms", simr, limits::interrupt_unserved / 1ms));
    }
    if (socket_due > now || accessed_at_[static_cast<std::size_t>(of.socket->number) + 1] > of.masked_since) {
      arm(bus_due);
      continue;
    }
    of.masked_since = Instant::max();
    add(Rule::interrupt_masked,
        fmt::format("{}, S{} Sn_IR = 0x{:02X}, not accessed for {} s", simr, of.socket->number, of.socket->interrupts,
                    limits::socket_unserved / 1s),
        of.socket);
  }
}

void Judge::arm(Instant at) {
  if (at < watch_timer_.deadline()) watch_timer_.start_at(at, [this] { on_watch_timer(); });
}

void Judge::on_watch_timer() {
  watch_timer_.stop();
  const Instant now = context_.queue.now();
  const auto next_look = [this, now](Instant due) {
    if (due != Instant::max() && due > now) arm(due);
  };
  for (Watched& of : watched_) {
    if (of.receive_due <= now) {
      of.receive_due = Instant::max();
      add(Rule::receive_forgotten,
          fmt::format("S{} Sn_RX_RSR = {}, data read and no RECV for {} ms", of.socket->number,
                      of.socket->received_size(), limits::receive_overdue / 1ms),
          of.socket);
    }
    next_look(of.receive_due);
  }
  judge_masked();
  if (is_unserved(intn_low_since_)) {
    add(Rule::interrupt_ignored, fmt::format("INTn low, no SPI access for {} ms", limits::interrupt_unserved / 1ms));
  }
  if (lease_due_ <= now) {
    lease_due_ = Instant::max();
    if (leased_ != 0 && context_.common.sipr() != leased_) add(Rule::lease_not_applied, lease_seen());
    leased_ = 0;
  }
  next_look(lease_due_);
}

// Whether the host has not come at all for too long; otherwise looks again.
bool Judge::is_unserved(Instant& since) {
  if (since == Instant::max()) return false;
  const Instant due = std::max(since, context_.frame_began) + limits::interrupt_unserved;
  if (due > context_.queue.now()) {
    arm(due);
    return false;
  }
  since = Instant::max();
  return true;
}

std::string Judge::lease_seen() const {
  const auto text = [](wire::Ipv4Address ip) {
    return fmt::format("{}.{}.{}.{}", ip >> 24, ip >> 16 & 0xFF, ip >> 8 & 0xFF, ip & 0xFF);
  };
  return fmt::format("granted {}, SIPR = {}", text(leased_), text(context_.common.sipr()));
}

}  // namespace wizloop::chip
