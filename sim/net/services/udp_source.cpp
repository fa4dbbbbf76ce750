#include "sim/net/services/udp_source.hpp"

#include <algorithm>

#include "sim/net/lwip_host.hpp"
#include "sim/net/services/pattern.hpp"

namespace wizloop::net {

UdpSource::UdpSource(LwipHost& host, const Config& config)
    : host_{host}, config_{config}, port_{host, 0, [](const UdpPort::Address&, Bytes) {}}, timer_{host.queue()} {
  WIZ_ASSERT(config_.interval > Duration::zero());
  const Bytes filling = pattern(0, config_.payload_bytes);
  payload_.assign(filling.begin(), filling.end());
  sleep();
}

// Until the next datagram is due and the system's timer has woken the sender.
void UdpSource::sleep() {
  if (next_ == config_.count) return;
  Instant wake = due();
  const Duration tick = host_.config().profile.timer_tick;
  if (tick > Duration::zero()) {
    const std::int64_t ticks = (wake.time_since_epoch() + tick - picoseconds(1)) / tick;
    wake = Instant{ticks * tick};
  }
  timer_.start_at(std::max(wake, host_.queue().now()), [this] { send_due(); });
}

void UdpSource::send_due() {
  for (; next_ != config_.count && due() <= host_.queue().now(); ++next_) {
    if (payload_.size() >= 4) store32(payload_.data(), static_cast<std::uint32_t>(next_));
    if (port_.send(config_.to, payload_)) {
      ++counters_.datagrams;
      counters_.bytes += payload_.size();
    } else {
      ++counters_.failed;
    }
  }
  sleep();
}

}  // namespace wizloop::net
