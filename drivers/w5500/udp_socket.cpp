#include "socket.hpp"

namespace w5500 {

Result<void> UdpSocket::open(uint16_t local_port) {
  return local_port == 0 ? Error::invalid_argument : open_as(Sn_MR::UDP, local_port);
}

Result<void> UdpSocket::send_to(const Endpoint& to, const uint8_t* data, uint16_t count, uint32_t timeout_us) {
  return to.port == 0 && is_open() ? Error::invalid_argument : send_whole(to, data, count, timeout_us);
}

Result<void> UdpSocket::start_datagram(const Endpoint& to, uint32_t timeout_us) {
  return to.port == 0 && is_open() ? Error::invalid_argument : start(to, timeout_us);
}

}  // namespace w5500
