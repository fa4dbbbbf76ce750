#include "udp_end.hpp"

namespace agent {

using w5500::Error;
using w5500::UdpSocket;

uint16_t read_udp_local(Device& device, Request& request) {
  if (!request.has(AGENT_TEXT("local"))) return device.next_local_port();
  return request.number16(AGENT_TEXT("local"), 1, 65535, 1);
}

uint8_t read_udp_kib(Request& request, uint8_t otherwise) {
  constexpr uint8_t sizes[] = {1, 2, 4, 8, 16};
  return sizes[request.choice(AGENT_TEXT("kib"), AGENT_TEXT("1 2 4 8 16"), otherwise)];
}

Error open_udp(Device& device, UdpSocket& socket, uint16_t local_port, uint8_t kib) {
  const Error error = device.share_memory(1, kib);
  return error != Error::none ? error : socket.open(local_port).error();
}

// Behind its number, byte i of a datagram is i mod 256.
uint16_t mismatches_of(const uint8_t* payload, uint16_t stored) {
  return stored > number_bytes
             ? count_mismatches(payload + number_bytes, static_cast<uint16_t>(stored - number_bytes), number_bytes)
             : uint16_t{0};
}

}  // namespace agent
