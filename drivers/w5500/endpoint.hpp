// An IPv4 address and a port, and how they lie side by side in Sn_DIPR and Sn_DPORT and in a UDP record header.
#ifndef WIZLOOP_W5500_ENDPOINT_HPP
#define WIZLOOP_W5500_ENDPOINT_HPP

#include <stdint.h>

#include "bytes.hpp"

namespace w5500 {

struct Endpoint {
  uint8_t ip[4];
  uint16_t port;
};

constexpr uint8_t endpoint_bytes = 6;

inline void store_endpoint(uint8_t* raw, const Endpoint& endpoint) {
  copy_bytes(raw, endpoint.ip, 4);
  store16(raw + 4, endpoint.port);
}

inline Endpoint load_endpoint(const uint8_t* raw) {
  Endpoint endpoint;
  copy_bytes(endpoint.ip, raw, 4);
  endpoint.port = load16(raw + 4);
  return endpoint;
}

}  // namespace w5500

#endif
