#include "sim/net/lwip_host.hpp"

#include <algorithm>
#include <cstring>

#include "sim/lwip/lwip_library.hpp"
#include "sim/net/tcp_connection.hpp"
#include "sim/net/udp_port.hpp"
#include "sim/wire/udp.hpp"

namespace wizloop::net {
namespace {

constexpr std::uint16_t mtu = wire::max_frame_bytes - wire::ethernet_header_bytes;

}  // namespace

Result<std::unique_ptr<LwipHost>> LwipHost::create(EventQueue& queue, wire::FramePool& pool, const HostConfig& config) {
  std::unique_ptr<LwipHost> host{new LwipHost{queue, pool, config}};
  auto stack = LwipStack::create(*host, Random{config.seed}.stream("host.lwip"));
  if (!stack) return stack.error();
  host->stack_ = std::move(stack).value();
  host->start();
  return host;
}

LwipHost::LwipHost(EventQueue& queue, wire::FramePool& pool, const HostConfig& config)
    : queue_{queue},
      pool_{pool},
      config_{config},
      interface_{std::make_unique<netif>()},
      turnaround_{queue, [this](wire::FramePtr frame) { process(std::move(frame)); }},
      timer_{queue} {}

LwipHost::~LwipHost() = default;

void LwipHost::start() {
  Call lwip{*this};
  lwip->lwip_init();

  // The interface is up from the start, as on a PC that has been running for a while: no announcements.
  const auto initialise = [](netif* interface) -> err_t {
    auto* self = static_cast<LwipHost*>(interface->state);
    interface->name[0] = 'p';
    interface->name[1] = 'c';
    interface->mtu = mtu;
    interface->hwaddr_len = static_cast<u8_t>(self->config_.mac.size());
    std::copy(self->config_.mac.begin(), self->config_.mac.end(), interface->hwaddr);
    interface->flags =
        NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET | NETIF_FLAG_UP | NETIF_FLAG_LINK_UP;
    interface->output = self->stack_->library().etharp_output;
    interface->linkoutput = [](netif* from, pbuf* packet) -> err_t {
      static_cast<LwipHost*>(from->state)->transmit(packet);
      return ERR_OK;
    };
    return ERR_OK;
  };
  const ip_addr_t ip = lwip_address(config_.ip);
  const ip_addr_t mask = lwip_address(config_.mask);
  const ip_addr_t gateway = lwip_address(config_.gateway);
  netif* added = lwip->netif_add(interface_.get(), &ip.u_addr.ip4, &mask.u_addr.ip4, &gateway.u_addr.ip4, this,
                                 initialise, stack_->library().ethernet_input);
  WIZ_ASSERT(added != nullptr);
  lwip->netif_set_default(interface_.get());
}

void LwipHost::plug_into(Link& link, End end) {
  link.attach(end, *this);
  cable_ = &link.transmitter(end);
  link_ = &link;
}

void LwipHost::resolve(wire::Ipv4Address neighbour) {
  Call lwip{*this};
  const ip_addr_t address = lwip_address(neighbour);
  lwip->etharp_query(interface_.get(), &address.u_addr.ip4, nullptr);
}

void LwipHost::accept(wire::FramePtr frame, Instant at) {
  ++counters_.received;
  if (!frame->fcs_good) {
    ++counters_.bad_fcs;
    return;
  }
  const auto header = wire::EthernetHeader::parse(frame->data());
  if (!header || (header->destination != config_.mac && !wire::is_multicast(header->destination))) {
    ++counters_.not_for_us;
    return;
  }
  if (config_.profile.turnaround == Duration::zero()) {
    process(std::move(frame));
  } else {
    turnaround_.hold(std::move(frame), at + config_.profile.turnaround);
  }
}

void LwipHost::process(wire::FramePtr frame) {
  if (!may_reach_lwip(frame->data())) return;
  Call lwip{*this};
  pbuf* packet = lwip->pbuf_alloc(PBUF_RAW, static_cast<u16_t>(frame->size), PBUF_RAM);
  WIZ_ASSERT(packet != nullptr);
  std::memcpy(packet->payload, frame->bytes.data(), frame->size);
  frame.reset();
  if (interface_->input(packet, interface_.get()) != ERR_OK) lwip->pbuf_free(packet);
}

// Two kinds of source address must not (RFC 1122 3.2.1.3). From its own, or one of the loopback network, lwIP would
// send the answer to itself, for which the packaged build needs a thread, and aborts. 0.0.0.0, of a station that has no
// address yet, it takes for an old form of broadcast and drops, unless built with its DHCP client, which this one is
// not.
bool LwipHost::may_reach_lwip(Bytes frame) {
  constexpr std::size_t source_at = wire::ethernet_header_bytes + 12;
  if (frame.size() < source_at + 4 || load16(&frame[12]) != wire::type_ipv4) return true;
  const wire::Ipv4Address source = load32(&frame[source_at]);
  if (is_itself(source)) {
    ++counters_.martian;
    return false;
  }
  if (source != 0) return true;
  deliver_from_unaddressed(frame.subspan(wire::ethernet_header_bytes));
  return false;
}

void LwipHost::deliver_from_unaddressed(Bytes packet) {
  const auto ip = wire::Ipv4Header::parse(packet);
  const wire::Ipv4Address subnet_broadcast = config_.ip | ~config_.mask;
  if (!ip || ip->protocol != wire::protocol_udp || ip->is_fragment() ||
      (ip->destination != config_.ip && ip->destination != wire::broadcast_ipv4 &&
       ip->destination != subnet_broadcast)) {
    return;
  }
  const Bytes message = packet.subspan(ip->header_bytes, ip->total_length - ip->header_bytes);
  const auto udp = wire::UdpHeader::parse(*ip, message);
  if (!udp) return;
  const auto port = std::find_if(udp_ports_.begin(), udp_ports_.end(),
                                 [&](const UdpPort* p) { return p->number() == udp->destination_port; });
  if (port == udp_ports_.end()) return;
  (*port)->receive_({0, udp->source_port},
                    message.subspan(wire::UdpHeader::bytes, udp->length - wire::UdpHeader::bytes));
}

void LwipHost::transmit(const pbuf* packet) {
  WIZ_ASSERT(packet->tot_len <= wire::max_frame_bytes);
  wire::FramePtr frame = pool_.take();
  frame->size = packet->tot_len;
  stack_->library().pbuf_copy_partial(packet, frame->bytes.data(), packet->tot_len, 0);
  transmit(std::move(frame));
}

void LwipHost::transmit(wire::FramePtr frame) {
  WIZ_ASSERT(cable_ != nullptr);
  frame->pad();
  ++counters_.sent;
  last_start_ = std::max(queue_.now(), interface_free_at_);
  const Frequency bit_rate = link_->bit_rate();
  interface_free_at_ = last_start_ + wire::time_on_wire(frame->size, bit_rate) + wire::inter_packet_gap(bit_rate);
  cable_->accept(std::move(frame), last_start_);
}

// Any call into lwIP may have started a timeout of its.
void LwipHost::arm_timer(const LwipStack::Call& lwip) {
  const std::uint32_t wait_ms = lwip->sys_timeouts_sleeptime();
  if (wait_ms == SYS_TIMEOUTS_SLEEPTIME_INFINITE) {
    timer_.stop();
    return;
  }
  const Instant due{std::chrono::floor<std::chrono::milliseconds>(queue_.now().time_since_epoch()) +
                    std::chrono::milliseconds{wait_ms}};
  const Instant deadline = std::max(due, queue_.now());
  if (timer_.deadline() != deadline) timer_.start_at(deadline, [this] { on_timer(); });
}

void LwipHost::on_timer() {
  timer_.stop();
  Call lwip{*this};
  for (TcpConnection* connection : connections_) connection->before_lwip_tick();
  lwip->sys_check_timeouts();
  for (TcpConnection* connection : connections_) connection->after_lwip_tick();
}

std::uint32_t LwipHost::milliseconds() {
  const auto since_start = std::chrono::floor<std::chrono::milliseconds>(queue_.now().time_since_epoch());
  return static_cast<std::uint32_t>(since_start.count());
}

}  // namespace wizloop::net
