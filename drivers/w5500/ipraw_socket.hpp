// Any protocol over IPv4 on one of the chip's eight sockets, which makes and takes off the IP header (WIZnet's IPRAW
// application note; the datasheet names the mode and no more). Everything of that protocol that is sent to SIPR
// arrives, whoever sends it.
//
//   IprawSocket socket(chip, 5);
//   if (!socket.open(IprawSocket::icmp)) ...
//   const Result<void> sent = socket.send_to({192, 168, 1, 10}, message, sizeof message);
//   const Result<Datagram> got = socket.receive_from(buffer, sizeof buffer, 1000000);  // got.value().from.ip
//
// In the RX ring a datagram has a header of six bytes: source and size. With protocol 1 the chip goes on to answer echo
// requests by itself (unless MR.PB), and they arrive here as well. TCP and UDP belong to the chip: segments and
// datagrams arrive only where no socket of theirs takes them.
#ifndef WIZLOOP_W5500_IPRAW_SOCKET_HPP
#define WIZLOOP_W5500_IPRAW_SOCKET_HPP

#include "socket.hpp"

namespace w5500 {

class IprawSocket : public DatagramSocket {
 public:
  static constexpr uint16_t max_payload = 1480;
  static constexpr uint8_t icmp = 1;

  IprawSocket(Chip& chip, uint8_t number) : DatagramSocket(chip, number, Kind::ipraw) {}

  Result<void> open(uint8_t protocol);

  // 1 to 1480 bytes that fit the TX ring; otherwise as UdpSocket::send_to().
  Result<void> send_to(const uint8_t (&ip)[4], const uint8_t* data, uint16_t count, uint32_t timeout_us = 2000000);
  // In steps: as UdpSocket::start_datagram().
  Result<void> start_datagram(const uint8_t (&ip)[4], uint32_t timeout_us = 2000000);
};

}  // namespace w5500

#endif
