// What the UDP verbs share: their keys, their socket, and what their datagrams hold, a number in four bytes and then
// the pattern.
#ifndef WIZLOOP_AGENT_UDP_END_HPP
#define WIZLOOP_AGENT_UDP_END_HPP

#include "drivers/w5500/socket.hpp"
#include "watch.hpp"

namespace agent {

constexpr uint32_t udp_timeout_ms = 60000;
constexpr uint32_t udp_look_again_us = 100000;
constexpr uint16_t number_bytes = 4;

// local=, or another one each time.
uint16_t read_udp_local(Device& device, Request& request);
// `otherwise` is the power of two that is the default.
uint8_t read_udp_kib(Request& request, uint8_t otherwise);
w5500::Error open_udp(Device& device, w5500::UdpSocket& socket, uint16_t local_port, uint8_t kib);
// Behind its number, byte i of a datagram is i mod 256.
uint16_t mismatches_of(const uint8_t* payload, uint16_t stored);

}  // namespace agent

#endif
