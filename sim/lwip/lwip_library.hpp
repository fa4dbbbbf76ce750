// A private copy of Debian's lwIP, loaded for one stack: its globals are that stack's alone and start fresh.
//
// The dynamic linker gives a file a second instance only under a second inode, so the library found on the system is
// copied into an anonymous file and loaded from there. What lwIP takes from outside (the clock, chance, memory) is then
// replaced in the copy, and the copy is bound to itself, whatever other lwIP the process may hold.
//
// The packaged library is a threaded build; used through the raw API only, it starts no thread. Its PBUF_POOL elements
// are smaller than its headers say: received frames go into PBUF_RAM. Never include <netinet/tcp.h> beside these
// headers.
#pragma once

#include <cstring>
#include <memory>
#include <span>
#include <string_view>

#include "lwip/etharp.h"
#include "lwip/init.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/raw.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "lwip/udp.h"
#include "netif/ethernet.h"
#include "sim/core/result.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop {

#define WIZ_LWIP_FUNCTIONS(USE) \
  USE(etharp_output)            \
  USE(etharp_query)             \
  USE(ethernet_input)           \
  USE(lwip_init)                \
  USE(netif_add)                \
  USE(netif_set_default)        \
  USE(netif_set_up)             \
  USE(pbuf_alloc)               \
  USE(pbuf_cat)                 \
  USE(pbuf_copy_partial)        \
  USE(pbuf_free)                \
  USE(pbuf_ref)                 \
  USE(raw_new)                  \
  USE(raw_recv)                 \
  USE(raw_remove)               \
  USE(raw_sendto)               \
  USE(sys_check_timeouts)       \
  USE(sys_timeouts_sleeptime)   \
  USE(tcp_abort)                \
  USE(tcp_accept)               \
  USE(tcp_arg)                  \
  USE(tcp_bind)                 \
  USE(tcp_close)                \
  USE(tcp_connect)              \
  USE(tcp_enqueue_flags)        \
  USE(tcp_err)                  \
  USE(tcp_listen_with_backlog)  \
  USE(tcp_new)                  \
  USE(tcp_output)               \
  USE(tcp_poll)                 \
  USE(tcp_recv)                 \
  USE(tcp_recved)               \
  USE(tcp_sent)                 \
  USE(tcp_shutdown)             \
  USE(tcp_write)                \
  USE(udp_bind)                 \
  USE(udp_new)                  \
  USE(udp_recv)                 \
  USE(udp_remove)               \
  USE(udp_sendto)

class LwipLibrary {
 public:
  // A function that the copy imports, and what it shall call instead.
  struct Replacement {
    std::string_view symbol;
    void* function;
  };

  static Result<std::unique_ptr<LwipLibrary>> load(std::span<const Replacement> replacements);
  LwipLibrary(const LwipLibrary&) = delete;
  LwipLibrary& operator=(const LwipLibrary&) = delete;
  ~LwipLibrary();

// lwIP's functions, under their own names.
#define WIZ_MEMBER(name) decltype(&::name) name = nullptr;
  WIZ_LWIP_FUNCTIONS(WIZ_MEMBER)
#undef WIZ_MEMBER

 private:
  LwipLibrary() = default;

  int file_ = -1;  // open as long as the copy lives: its number is part of the name that the linker knows it by
  void* handle_ = nullptr;
};

// Between our addresses and lwIP's, which are in network order.
inline ip_addr_t lwip_address(wire::Ipv4Address address) {
  std::uint8_t bytes[4];
  store32(bytes, address);
  ip_addr_t result{};
  result.type = IPADDR_TYPE_V4;
  std::memcpy(&result.u_addr.ip4.addr, bytes, sizeof bytes);
  return result;
}

inline wire::Ipv4Address wire_address(const ip_addr_t& address) {
  std::uint8_t bytes[4];
  std::memcpy(bytes, &address.u_addr.ip4.addr, sizeof bytes);
  return load32(bytes);
}

}  // namespace wizloop
