#include "sim/net/services/dhcp_server.hpp"

#include <algorithm>
#include <utility>

#include "sim/net/lwip_host.hpp"

namespace wizloop::net {
namespace {

using wire::Dhcp;

constexpr std::size_t max_message_bytes = 548;  // that every client takes: an IP packet of 576 (RFC 2131 2)

// The client identifier, or what most clients put into it: hardware type and address.
std::vector<std::uint8_t> identify(const Dhcp& request) {
  if (!request.client_identifier.empty()) {
    return {request.client_identifier.begin(), request.client_identifier.end()};
  }
  std::vector<std::uint8_t> client = {1};
  client.insert(client.end(), request.chaddr.begin(), request.chaddr.end());
  return client;
}

}  // namespace

DhcpServer::DhcpServer(LwipHost& host, const Config& config)
    : host_{host},
      config_{config},
      port_{host, Dhcp::server_port, [this](const UdpPort::Address&, Bytes payload) { on_datagram(payload); }},
      late_{host.queue(), config.answer_delay} {
  WIZ_ASSERT(config_.first != 0);
  WIZ_ASSERT(config_.addresses >= 1 && config_.addresses <= 65536);
  WIZ_ASSERT(config_.lease_s > 0);
  if (config_.mask == 0) config_.mask = host_.config().mask;
  if (config_.renewal_s == 0) config_.renewal_s = config_.lease_s / 2;
  if (config_.rebinding_s == 0) config_.rebinding_s = config_.lease_s - config_.lease_s / 8;

  Dhcp largest;
  add_lease(largest);
  add_network(largest, {});
  WIZ_ASSERT(largest.emit().size() + 64 <= max_message_bytes);  // 64: type, server, the reason of a NAK

  pool_.resize(config_.addresses);
  const wire::Ipv4Address subnet = host_.config().ip & config_.mask;
  for (const wire::Ipv4Address taken : {host_.config().ip, subnet, subnet | ~config_.mask}) {
    if (Address* address = at(taken)) address->until = Instant::max();
  }
}

void DhcpServer::on_datagram(Bytes payload) {
  const auto request = Dhcp::parse(payload);
  if (!request || request->op != Dhcp::request) {
    ++counters_.malformed;
    return;
  }
  switch (request->type) {
    case Dhcp::Type::discover:
      on_discover(*request);
      break;
    case Dhcp::Type::request:
      on_request(*request);
      break;
    case Dhcp::Type::decline:
      ++counters_.declines;
      if (Address* address = at(request->requested_ip.value_or(0)); address && address->client == identify(*request)) {
        *address = {.until = host_.queue().now() + decline_hold};
      }
      break;
    case Dhcp::Type::release:
      ++counters_.releases;
      if (Address* address = at(request->ciaddr); address && address->client == identify(*request)) {
        address->until = host_.queue().now();
      }
      break;
    case Dhcp::Type::inform:
      on_inform(*request);
      break;
    default:
      ++counters_.malformed;
  }
}

void DhcpServer::on_discover(const Dhcp& request) {
  ++counters_.discovers;
  if (spend(config_.ignored_discovers)) {
    ++counters_.ignored;
    return;
  }
  const Client client = identify(request);
  Address* address = choose(client, request);
  if (address == nullptr) {
    ++counters_.no_address;
    return;
  }
  address->client = client;
  address->until = std::max(address->until, host_.queue().now() + offer_hold);
  ++counters_.offers;
  Dhcp offer = answer_to(request, Dhcp::Type::offer);
  offer.ciaddr = 0;
  offer.yiaddr = ip_of(*address);
  add_lease(offer);
  add_network(offer, request);
  send(offer);
}

// The cases of RFC 2131 4.3.2: selecting names this server, init-reboot names the address that the client had, renewing
// and rebinding use it.
void DhcpServer::on_request(const Dhcp& request) {
  ++counters_.requests;
  const Client client = identify(request);
  const Instant now = host_.queue().now();
  const bool selecting = request.server_identifier.has_value();
  if (selecting && *request.server_identifier != host_.config().ip) {
    ++counters_.not_for_us;
    for (Address& address : pool_) {  // the offer, if there was one, is turned down
      if (address.client == client) address.until = std::min(address.until, now);
    }
    return;
  }
  const wire::Ipv4Address wanted = request.requested_ip.value_or(request.ciaddr);
  if (wanted == 0) {
    ++counters_.malformed;
    return;
  }
  if (spend(config_.ignored_requests)) {
    ++counters_.ignored;
    return;
  }
  if (spend(config_.refused_requests)) return nak(request, "refused");
  if (((wanted ^ host_.config().ip) & config_.mask) != 0) return nak(request, "wrong network");

  Address* address = at(wanted);
  if (address != nullptr && address->client == client) return ack(request, *address);
  if (address != nullptr && !is_free(*address)) return nak(request, "address in use");
  if (selecting && address == nullptr) return nak(request, "address not in pool");
  const bool known = std::any_of(pool_.begin(), pool_.end(), [&](const Address& a) { return a.client == client; });
  if (request.ciaddr == 0 && !selecting) {
    if (known) return nak(request, "another address is yours");
    address = nullptr;  // a server that knows nothing of the client must keep silent
  }
  if (address == nullptr) {
    ++counters_.not_for_us;
    return;
  }
  ack(request, *address);
}

void DhcpServer::on_inform(const Dhcp& request) {
  ++counters_.informs;
  if (request.ciaddr == 0) {
    ++counters_.malformed;
    return;
  }
  ++counters_.acks;
  Dhcp answer = answer_to(request, Dhcp::Type::ack);
  add_network(answer, request);
  send(answer);
}

// In the order of RFC 2131 4.3.1: what the client has or had, what it asks for, what was free longest.
DhcpServer::Address* DhcpServer::choose(const Client& client, const Dhcp& request) {
  const auto its_own = std::find_if(pool_.begin(), pool_.end(), [&](const Address& a) { return a.client == client; });
  if (its_own != pool_.end()) return &*its_own;
  Address* asked_for = at(request.requested_ip.value_or(0));
  if (asked_for != nullptr && is_free(*asked_for)) return asked_for;
  const auto free_longest = std::min_element(pool_.begin(), pool_.end(),
                                             [](const Address& a, const Address& b) { return a.until < b.until; });
  return is_free(*free_longest) ? &*free_longest : nullptr;
}

DhcpServer::Address* DhcpServer::at(wire::Ipv4Address ip) {
  const std::uint32_t index = ip - config_.first;
  return index < pool_.size() ? &pool_[index] : nullptr;
}

wire::Ipv4Address DhcpServer::ip_of(const Address& address) const {
  return config_.first + static_cast<std::uint32_t>(&address - pool_.data());
}

bool DhcpServer::is_free(const Address& address) const { return address.until <= host_.queue().now(); }

Instant DhcpServer::end_of_lease() const {
  const Instant now = host_.queue().now();
  const auto left = std::chrono::floor<std::chrono::seconds>(Instant::max() - now);
  if (config_.lease_s == infinite || config_.lease_s >= left.count()) return Instant::max();
  return now + std::chrono::seconds{config_.lease_s};
}

// What all answers have in common (RFC 2131 table 3).
Dhcp DhcpServer::answer_to(const Dhcp& request, Dhcp::Type type) const {
  return {.op = Dhcp::reply,
          .xid = request.xid,
          .flags = request.flags,
          .ciaddr = request.ciaddr,
          .giaddr = request.giaddr,
          .chaddr = request.chaddr,
          .type = type,
          .server_identifier = host_.config().ip};
}

void DhcpServer::add_lease(Dhcp& answer) const {
  answer.lease_s = config_.lease_s;
  if (config_.lease_s == infinite) return;
  answer.renewal_s = config_.renewal_s;
  answer.rebinding_s = config_.rebinding_s;
}

// The mask always, the rest if the client asks for it or does not say what it wants.
void DhcpServer::add_network(Dhcp& answer, const Dhcp& request) const {
  const auto wanted = [&](std::uint8_t code) { return request.parameter_list.empty() || request.asks_for(code); };
  answer.subnet_mask = config_.mask;
  if (wanted(Dhcp::Code::router)) answer.routers = config_.routers;
  if (wanted(Dhcp::Code::dns_server)) answer.dns_servers = config_.dns_servers;
  if (wanted(Dhcp::Code::ntp_server)) answer.ntp_servers = config_.ntp_servers;
  if (wanted(Dhcp::Code::domain_name)) answer.domain_name = config_.domain_name;
}

void DhcpServer::ack(const Dhcp& request, Address& address) {
  const Client client = identify(request);
  for (Address& other : pool_) {  // one address for each client
    if (&other != &address && other.client == client) other = {.until = std::min(other.until, host_.queue().now())};
  }
  address = {client, end_of_lease()};
  ++counters_.acks;
  Dhcp answer = answer_to(request, Dhcp::Type::ack);
  answer.yiaddr = ip_of(address);
  add_lease(answer);
  add_network(answer, request);
  send(answer);
}

void DhcpServer::nak(const Dhcp& request, std::string_view why) {
  ++counters_.naks;
  Dhcp answer = answer_to(request, Dhcp::Type::nak);
  answer.ciaddr = 0;
  answer.message = why;
  if (answer.giaddr != 0) answer.flags |= Dhcp::broadcast_flag;  // for the relay agent (RFC 2131 4.3.2)
  send(answer);
}

// Where an answer goes: RFC 2131 4.1.
void DhcpServer::send(const Dhcp& answer) {
  const bool sent = late_.answer([this, payload = answer.emit(), giaddr = answer.giaddr, ciaddr = answer.ciaddr,
                                  yiaddr = answer.yiaddr, chaddr = answer.chaddr,
                                  broadcast = answer.wants_broadcast() || answer.type == Dhcp::Type::nak] {
    if (giaddr != 0) {
      port_.send({giaddr, Dhcp::server_port}, payload);
    } else if (ciaddr != 0) {
      port_.send({ciaddr, Dhcp::client_port}, payload);
    } else if (broadcast) {
      port_.send({wire::broadcast_ipv4, Dhcp::client_port}, payload);
    } else {
      port_.send_to(chaddr, {yiaddr, Dhcp::client_port}, payload);
    }
  });
  if (!sent) ++counters_.lost_answers;
}

}  // namespace wizloop::net
