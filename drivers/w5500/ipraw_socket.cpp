#include "ipraw_socket.hpp"

namespace w5500 {
namespace {

Endpoint without_port(const uint8_t (&ip)[4]) { return Endpoint{{ip[0], ip[1], ip[2], ip[3]}, 0}; }

}  // namespace

Result<void> IprawSocket::open(uint8_t protocol) {
  const Error closed = close().error();  // OPEN takes over what Sn_PROTO holds
  if (closed != Error::none) return closed;
  if (!write_register(SocketRegister::Sn_PROTO, &protocol, 1)) return Error::bus_failed;
  return open_as(Sn_MR::IPRAW, 0);
}

Result<void> IprawSocket::send_to(const uint8_t (&ip)[4], const uint8_t* data, uint16_t count, uint32_t timeout_us) {
  return send_whole(without_port(ip), data, count, timeout_us);
}

Result<void> IprawSocket::start_datagram(const uint8_t (&ip)[4], uint32_t timeout_us) {
  return start(without_port(ip), timeout_us);
}

}  // namespace w5500
