#include "sim/net/services/udp_sink.hpp"

#include "sim/net/lwip_host.hpp"

namespace wizloop::net {

UdpSink::UdpSink(LwipHost& host, std::uint16_t port)
    : host_{host}, port_{host, port, [this](const UdpPort::Address&, Bytes payload) { on_datagram(payload); }} {}

void UdpSink::on_datagram(Bytes payload) {
  const Instant now = host_.queue().now();
  if (counters_.datagrams == 0) counters_.first = now;
  counters_.last = now;
  ++counters_.datagrams;
  counters_.bytes += payload.size();
  if (payload.size() < 4) return;

  const std::uint32_t number = load32(payload.data());
  if (!numbered_) expected_ = number;
  numbered_ = true;
  const auto ahead = static_cast<std::int32_t>(number - expected_);
  if (ahead < 0) {
    ++counters_.late;
    return;
  }
  counters_.missing += static_cast<std::uint32_t>(ahead);
  expected_ = number + 1;
}

}  // namespace wizloop::net
