#include "sim/net/udp_port.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/lwip/lwip_library.hpp"
#include "sim/net/lwip_host.hpp"
#include "sim/wire/udp.hpp"

namespace wizloop::net {

UdpPort::UdpPort(LwipHost& host, std::uint16_t port, Receive receive) : host_{host}, receive_{std::move(receive)} {
  LwipHost::Call lwip{host_};
  pcb_ = lwip->udp_new();
  const ip_addr_t any = lwip_address(0);
  const err_t error = lwip->udp_bind(pcb_, &any, port);
  WIZ_ASSERT(error == ERR_OK);  // one service for each port
  lwip->udp_recv(
      pcb_,
      [](void* argument, udp_pcb*, pbuf* packet, const ip_addr_t* from, u16_t from_port) {
        auto* self = static_cast<UdpPort*>(argument);
        LwipHost::Call call{self->host_};
        const Address sender{wire_address(*from), from_port};
        if (packet->next == nullptr) {
          self->receive_(sender, Bytes{static_cast<const std::uint8_t*>(packet->payload), packet->len});
        } else {  // put together from fragments
          std::vector<std::uint8_t> whole(packet->tot_len);
          call->pbuf_copy_partial(packet, whole.data(), packet->tot_len, 0);
          self->receive_(sender, whole);
        }
        call->pbuf_free(packet);
      },
      this);
  host_.udp_ports_.push_back(this);
}

UdpPort::~UdpPort() {
  std::erase(host_.udp_ports_, this);
  LwipHost::Call lwip{host_};
  lwip->udp_remove(pcb_);
}

bool UdpPort::send(const Address& to, Bytes payload) {
  WIZ_ASSERT(payload.size() <= max_payload_bytes);
  if (host_.is_itself(to.ip)) return false;
  LwipHost::Call lwip{host_};
  pbuf* packet = lwip->pbuf_alloc(PBUF_TRANSPORT, static_cast<u16_t>(payload.size()), PBUF_RAM);
  WIZ_ASSERT(packet != nullptr);
  std::copy(payload.begin(), payload.end(), static_cast<std::uint8_t*>(packet->payload));
  const ip_addr_t destination = lwip_address(to.ip);
  const err_t error = lwip->udp_sendto(pcb_, packet, &destination, to.port);
  lwip->pbuf_free(packet);
  return error == ERR_OK;
}

void UdpPort::send_to(const wire::MacAddress& neighbour, const Address& to, Bytes payload) {
  WIZ_ASSERT(payload.size() <= max_payload_bytes);
  const std::size_t message_bytes = wire::UdpHeader::bytes + payload.size();
  const std::size_t packet_bytes = wire::Ipv4Header::bytes + message_bytes;
  wire::FramePtr frame = host_.pool_.take();
  frame->size = wire::ethernet_header_bytes + packet_bytes;
  std::uint8_t* at = frame->bytes.data();
  wire::EthernetHeader{neighbour, host_.config_.mac, wire::type_ipv4}.emit(at);
  at += wire::ethernet_header_bytes;
  wire::Ipv4Header{.total_length = static_cast<std::uint16_t>(packet_bytes),
                   .flags_and_fragment = 0x4000,
                   .protocol = wire::protocol_udp,
                   .source = host_.config_.ip,
                   .destination = to.ip}
      .emit(at);
  at += wire::Ipv4Header::bytes;
  std::copy(payload.begin(), payload.end(), at + wire::UdpHeader::bytes);
  wire::UdpHeader{.source_port = number(), .destination_port = to.port}.emit(host_.config_.ip, to.ip,
                                                                             {at, message_bytes});
  host_.transmit(std::move(frame));
}

std::uint16_t UdpPort::number() const { return pcb_->local_port; }

}  // namespace wizloop::net
