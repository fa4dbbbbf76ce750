// Addresses from servers: dhcp, dns.
#include "drivers/w5500/bytes.hpp"
#include "drivers/w5500/dhcp.hpp"
#include "drivers/w5500/dns.hpp"
#include "verbs.hpp"
#include "watch.hpp"

namespace agent {

using w5500::copy_bytes;
using w5500::DhcpClient;
using w5500::DhcpLease;
using w5500::DhcpState;
using w5500::DnsAnswer;
using w5500::DnsResolver;
using w5500::Error;
using w5500::Result;

namespace {

constexpr uint8_t dhcp_socket = 7;
constexpr uint8_t dns_socket = 6;
constexpr uint32_t poll_us = 5000;
constexpr uint16_t longest_host_name = 63;
constexpr uint16_t longest_name = 253;
constexpr uint16_t name_room = 256;

// The value leaves the line, which hears the console while the verb goes on, for the start of the data buffer. False
// if it is longer than that.
bool keep(Device& device, const char* text, uint16_t length, uint16_t longest) {
  if (length == 0 || length > longest) return false;
  for (uint16_t i = 0; i < length; ++i) device.buffers.data[i] = static_cast<uint8_t>(text[i]);
  device.buffers.data[length] = 0;
  return true;
}

const char* kept(const Device& device) { return reinterpret_cast<const char*>(device.buffers.data); }

bool is_given(const uint8_t (&ip)[4]) { return (ip[0] | ip[1] | ip[2] | ip[3]) != 0; }

uint32_t seed_of(Device& device) {
  const uint8_t* const mac = device.network.mac;
  return device.port.now_us() * 2654435761u ^ w5500::load32(mac + 2);
}

}  // namespace

void dhcp(Device& device, Request& request, Answer& answer) {
  uint16_t length = 0;
  const char* const host = request.value(AGENT_TEXT("host"), &length);
  if (host != nullptr && !keep(device, host, length, longest_host_name)) {
    request.set_fault(ValueFault::bad, AGENT_TEXT("host"));
  }
  w5500::DhcpOptions options;
  options.probe = request.flag(AGENT_TEXT("probe"), true);
  Watch watch(device, answer, request, 30000);
  if (!request.values_good()) return answer.bad_value(request);
  if (host != nullptr) options.host_name = kept(device);
  options.seed = seed_of(device);

  const uint64_t nothing = 0;
  watch.start(&nothing);
  Error error = device.share_memory(w5500::socket_count, 2);
  DhcpClient client(device.chip, dhcp_socket, options);
  if (error == Error::none) error = client.start(device.network.mac).error();
  while (error == Error::none && !client.has_address() && !watch.over()) {
    error = client.poll().error();
    device.port.delay_us(poll_us);
  }
  const uint64_t us = watch.elapsed_us();
  watch.stop();
  const DhcpLease& lease = client.lease();
  if (client.has_address()) {
    copy_bytes(device.network.ip, lease.ip, 4);
    copy_bytes(device.network.subnet, lease.subnet, 4);
    copy_bytes(device.network.gateway, lease.router, 4);
    for (uint8_t i = 0; i < 2; ++i) copy_bytes(device.dns_servers[i], lease.dns[i], 4);
  }
  // The client's socket, and the addresses as they were or as they are to stay.
  w5500::UdpSocket socket(device.chip, dhcp_socket);
  const Error closed = socket.close().error();
  const Error set = device.chip.set_network(device.network).error();
  if (error == Error::none) error = closed != Error::none ? closed : set;
  watch.conclude(error);
  if (client.has_address()) {
    answer.ip(AGENT_TEXT("ip"), lease.ip);
    answer.ip(AGENT_TEXT("mask"), lease.subnet);
    answer.ip(AGENT_TEXT("gw"), lease.router);
    answer.ip(AGENT_TEXT("dns"), lease.dns[0]);
    answer.ip(AGENT_TEXT("dns2"), lease.dns[1]);
    answer.ip(AGENT_TEXT("server"), lease.server);
    answer.number(AGENT_TEXT("lease_s"), lease.lease_s);
  }
  answer.number(AGENT_TEXT("us"), us);
  answer.number(AGENT_TEXT("sent"), client.counters().sent);
  answer.number(AGENT_TEXT("naks"), client.counters().naks);
  answer.number(AGENT_TEXT("conflicts"), client.counters().conflicts);
}

void dns(Device& device, Request& request, Answer& answer) {
  uint16_t length = 0;
  const char* const name = request.value(AGENT_TEXT("name"), &length);
  if (name == nullptr) request.set_fault(ValueFault::missing, AGENT_TEXT("name"));
  uint8_t servers[2][4] = {};
  request.ip_if_given(AGENT_TEXT("server"), servers[0]);
  request.ip_if_given(AGENT_TEXT("server2"), servers[1]);
  if (name != nullptr && !keep(device, name, length, longest_name)) {
    request.set_fault(ValueFault::bad, AGENT_TEXT("name"));
  }
  if (!request.has(AGENT_TEXT("server"))) {
    if (!is_given(device.dns_servers[0])) request.set_fault(ValueFault::missing, AGENT_TEXT("server"));
    copy_bytes(servers[0], device.dns_servers[0], 4);
    if (!request.has(AGENT_TEXT("server2"))) copy_bytes(servers[1], device.dns_servers[1], 4);
  }
  Watch watch(device, answer, request, 20000);
  if (!request.values_good()) return answer.bad_value(request);

  const uint64_t nothing = 0;
  watch.start(&nothing);
  Error error = device.share_memory(w5500::socket_count, 2);
  const uint16_t capacity =
      w5500::smaller(static_cast<uint16_t>(device.buffers.data_bytes - name_room), DnsResolver::max_message);
  DnsResolver resolver(device.chip, dns_socket, device.buffers.data + name_room, capacity, seed_of(device));
  if (error == Error::none) error = resolver.start(kept(device), servers).error();
  bool found = false;
  while (error == Error::none && !found && !watch.over()) {
    const Result<bool> done = resolver.poll();
    error = done.error();
    found = done && done.value();
    if (!found) device.port.delay_us(poll_us);
  }
  const uint64_t us = watch.elapsed_us();
  watch.stop();
  if (!found) {
    const Error stopped = resolver.stop().error();
    if (error == Error::none) error = stopped;
  }
  watch.conclude(error);
  if (found) {
    const DnsAnswer& known = resolver.answer();
    answer.out().key(AGENT_TEXT("ip"));
    for (uint8_t i = 0; i < known.count; ++i) {
      if (i > 0) answer.out().character(',');
      answer.out().ip(known.ip[i]);
    }
    answer.number(AGENT_TEXT("ttl_s"), known.ttl_s);
  }
  answer.number(AGENT_TEXT("us"), us);
}

}  // namespace agent
