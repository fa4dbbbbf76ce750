#include "sim/net/services/pinger.hpp"

#include <algorithm>

#include "sim/lwip/lwip_library.hpp"
#include "sim/net/lwip_host.hpp"
#include "sim/net/services/pattern.hpp"
#include "sim/net/udp_port.hpp"
#include "sim/wire/icmp.hpp"

namespace wizloop::net {
namespace {
constexpr std::uint16_t identifier = 0x0057;  // tells our replies from those to anybody else
}

Pinger::Pinger(LwipHost& host, const Config& config) : host_{host}, config_{config}, timer_{host.queue()} {
  WIZ_ASSERT(config_.payload_bytes <= UdpPort::max_payload_bytes);
  const Bytes payload = pattern(0, config_.payload_bytes);
  request_.resize(wire::IcmpHeader::bytes);
  request_.insert(request_.end(), payload.begin(), payload.end());
  reply_.reserve(wire::max_frame_bytes);
  counters_.rtt.reserve(config_.count);

  LwipHost::Call lwip{host_};
  pcb_ = lwip->raw_new(IP_PROTO_ICMP);
  WIZ_ASSERT(pcb_ != nullptr);
  lwip->raw_recv(
      pcb_,
      [](void* argument, raw_pcb*, pbuf* packet, const ip_addr_t*) -> u8_t {
        auto* self = static_cast<Pinger*>(argument);
        if (!self->on_packet(packet)) return 0;
        LwipHost::Call call{self->host_};
        call->pbuf_free(packet);
        return 1;
      },
      this);
  if (config_.count > 0) timer_.start_at(std::max(config_.start, host_.queue().now()), [this] { send(); });
}

Pinger::~Pinger() {
  LwipHost::Call lwip{host_};
  lwip->raw_remove(pcb_);
}

void Pinger::send() {
  wire::IcmpHeader{.type = wire::IcmpHeader::echo_request,
                   .identifier = identifier,
                   .sequence = static_cast<std::uint16_t>(counters_.sent)}
      .emit(request_);
  LwipHost::Call lwip{host_};
  pbuf* packet = lwip->pbuf_alloc(PBUF_IP, static_cast<u16_t>(request_.size()), PBUF_RAM);
  WIZ_ASSERT(packet != nullptr);
  std::copy(request_.begin(), request_.end(), static_cast<std::uint8_t*>(packet->payload));
  const ip_addr_t target = lwip_address(config_.target);
  lwip->raw_sendto(pcb_, packet, &target);
  lwip->pbuf_free(packet);

  ++counters_.sent;
  waiting_ = true;
  request_start_ = std::max(host_.last_start(), host_.queue().now());  // of the request, or of the ARP request for it
  timer_.start_at(request_start_ + config_.timeout, [this] { on_timeout(); });
}

// True if the packet, IP header included, is a reply to us.
bool Pinger::on_packet(const pbuf* packet) {
  reply_.resize(packet->tot_len);
  {
    LwipHost::Call lwip{host_};
    lwip->pbuf_copy_partial(packet, reply_.data(), packet->tot_len, 0);
  }
  const auto ip = wire::Ipv4Header::parse(reply_);
  if (!ip || ip->source != config_.target) return false;
  const Bytes message = Bytes{reply_}.subspan(ip->header_bytes, ip->total_length - ip->header_bytes);
  const auto icmp = wire::IcmpHeader::parse(message);
  if (!icmp) {
    ++counters_.damaged;
    return false;
  }
  if (icmp->type != wire::IcmpHeader::echo_reply || icmp->identifier != identifier) return false;

  const bool awaited = waiting_ && icmp->sequence == static_cast<std::uint16_t>(counters_.sent - 1);
  if (!awaited) return true;  // too late, or twice
  if (!std::equal(message.begin() + wire::IcmpHeader::bytes, message.end(), request_.begin() + wire::IcmpHeader::bytes,
                  request_.end())) {
    ++counters_.damaged;
    return true;
  }
  ++counters_.answered;
  counters_.rtt.push_back(host_.queue().now() - request_start_);
  schedule_next();
  return true;
}

void Pinger::on_timeout() {
  ++counters_.lost;
  schedule_next();
}

void Pinger::schedule_next() {
  waiting_ = false;
  timer_.stop();
  if (counters_.sent == config_.count) return;
  timer_.start_at(std::max(request_start_ + config_.interval, host_.queue().now()), [this] { send(); });
}

}  // namespace wizloop::net
