#include "sim/net/services/udp_echo.hpp"

namespace wizloop::net {

UdpEcho::UdpEcho(LwipHost& host, std::uint16_t port)
    : port_{host, port, [this](const UdpPort::Address& from, Bytes payload) {
              ++counters_.datagrams;
              counters_.bytes += payload.size();
              port_.send(from, payload);
            }} {}

}  // namespace wizloop::net
