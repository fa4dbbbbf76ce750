#include "sim/net/udp_port.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/net/lwip_host.hpp"
#include "sim/net/lwip_library.hpp"

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
}

UdpPort::~UdpPort() {
  LwipHost::Call lwip{host_};
  lwip->udp_remove(pcb_);
}

bool UdpPort::send(const Address& to, Bytes payload) {
  WIZ_ASSERT(payload.size() <= max_payload_bytes);
  LwipHost::Call lwip{host_};
  pbuf* packet = lwip->pbuf_alloc(PBUF_TRANSPORT, static_cast<u16_t>(payload.size()), PBUF_RAM);
  WIZ_ASSERT(packet != nullptr);
  std::copy(payload.begin(), payload.end(), static_cast<std::uint8_t*>(packet->payload));
  const ip_addr_t destination = lwip_address(to.ip);
  const err_t error = lwip->udp_sendto(pcb_, packet, &destination, to.port);
  lwip->pbuf_free(packet);
  return error == ERR_OK;
}

}  // namespace wizloop::net
