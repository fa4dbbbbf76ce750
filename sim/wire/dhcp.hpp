// DHCP (RFC 2131, options RFC 2132) for clients on Ethernet.
//
//   const auto request = Dhcp::parse(payload);
//   if (request && request->type == Dhcp::Type::discover) ...
//   const std::vector<std::uint8_t> payload = Dhcp{.op = Dhcp::reply, .xid = request->xid, ...}.emit();
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "sim/wire/ethernet.hpp"
#include "sim/wire/ipv4.hpp"

namespace wizloop::wire {

struct Dhcp {
  static constexpr std::uint16_t server_port = 67;
  static constexpr std::uint16_t client_port = 68;
  static constexpr std::size_t header_bytes = 240;  // with the cookie that opens the options
  static constexpr std::size_t min_bytes = 300;     // of a BOOTP message (RFC 1542 2.1): shorter ones are padded

  static constexpr std::uint8_t request = 1;  // op, from a client
  static constexpr std::uint8_t reply = 2;    // op, from a server
  static constexpr std::uint16_t broadcast_flag = 0x8000;

  enum class Type : std::uint8_t { discover = 1, offer, request, decline, ack, nak, release, inform };

  std::uint8_t op = request;
  std::uint8_t hops = 0;
  std::uint32_t xid = 0;
  std::uint16_t secs = 0;
  std::uint16_t flags = 0;
  Ipv4Address ciaddr = 0;  // the client's own, if it may use it already
  Ipv4Address yiaddr = 0;  // "your": what the server gives
  Ipv4Address siaddr = 0;
  Ipv4Address giaddr = 0;  // of the relay agent
  MacAddress chaddr{};

  // Options; an empty list or string stands for one that is absent. Spans refer to the message that was parsed.
  Type type = Type::discover;
  std::optional<Ipv4Address> requested_ip{};
  std::optional<Ipv4Address> server_identifier{};
  std::optional<Ipv4Address> subnet_mask{};
  std::optional<std::uint32_t> lease_s{};
  std::optional<std::uint32_t> renewal_s{};    // T1
  std::optional<std::uint32_t> rebinding_s{};  // T2
  std::vector<Ipv4Address> routers{};
  std::vector<Ipv4Address> dns_servers{};
  std::vector<Ipv4Address> ntp_servers{};
  std::string_view host_name{};
  std::string_view domain_name{};
  std::string_view message{};  // of a NAK or DECLINE, for people
  Bytes client_identifier{};
  Bytes parameter_list{};  // the codes that the client wants to know

  // RFC 2132, the section of each in brackets.
  struct Code {
    static constexpr std::uint8_t pad = 0;                 // 3.1
    static constexpr std::uint8_t subnet_mask = 1;         // 3.3
    static constexpr std::uint8_t router = 3;              // 3.5
    static constexpr std::uint8_t dns_server = 6;          // 3.8
    static constexpr std::uint8_t host_name = 12;          // 3.14
    static constexpr std::uint8_t domain_name = 15;        // 3.17
    static constexpr std::uint8_t ntp_server = 42;         // 8.3
    static constexpr std::uint8_t requested_ip = 50;       // 9.1
    static constexpr std::uint8_t lease = 51;              // 9.2
    static constexpr std::uint8_t overload = 52;           // 9.3
    static constexpr std::uint8_t type = 53;               // 9.6
    static constexpr std::uint8_t server_identifier = 54;  // 9.7
    static constexpr std::uint8_t parameter_list = 55;     // 9.8
    static constexpr std::uint8_t message = 56;            // 9.9
    static constexpr std::uint8_t renewal = 58;            // 9.11
    static constexpr std::uint8_t rebinding = 59;          // 9.12
    static constexpr std::uint8_t client_identifier = 61;  // 9.14
    static constexpr std::uint8_t end = 255;               // 3.2
  };

  bool wants_broadcast() const { return (flags & broadcast_flag) != 0; }
  bool asks_for(std::uint8_t code) const {
    return std::find(parameter_list.begin(), parameter_list.end(), code) != parameter_list.end();
  }

  // Nothing for BOOTP, for other hardware than Ethernet, and where an option runs over its field or has a length that
  // it cannot have. Options unknown here are skipped; of a repeated one the first counts; the end mark may be missing.
  static std::optional<Dhcp> parse(Bytes payload) {
    constexpr std::uint8_t ethernet = 1;
    if (payload.size() < header_bytes || (payload[0] != request && payload[0] != reply) || payload[1] != ethernet ||
        payload[2] != std::tuple_size_v<MacAddress> || load32(&payload[cookie_at]) != cookie) {
      return std::nullopt;
    }
    Dhcp result;
    result.op = payload[0];
    result.hops = payload[3];
    result.xid = load32(&payload[4]);
    result.secs = load16(&payload[8]);
    result.flags = load16(&payload[10]);
    result.ciaddr = load32(&payload[12]);
    result.yiaddr = load32(&payload[16]);
    result.siaddr = load32(&payload[20]);
    result.giaddr = load32(&payload[24]);
    result.chaddr = load_mac(&payload[28]);

    // The options proper, then those that did not fit, in the fields for other uses (RFC 2131 4.1).
    Seen seen;
    if (!result.parse_options(payload.subspan(header_bytes), seen)) return std::nullopt;
    const std::uint8_t overload = seen.overload;
    if ((overload & 1) != 0 && !result.parse_options(payload.subspan(file_at, 128), seen)) return std::nullopt;
    if ((overload & 2) != 0 && !result.parse_options(payload.subspan(sname_at, 64), seen)) return std::nullopt;
    if (!seen.codes[Code::type]) return std::nullopt;
    return result;
  }

  std::vector<std::uint8_t> emit() const {
    std::vector<std::uint8_t> out(header_bytes);
    out[0] = op;
    out[1] = 1;  // Ethernet
    out[2] = static_cast<std::uint8_t>(chaddr.size());
    out[3] = hops;
    store32(&out[4], xid);
    store16(&out[8], secs);
    store16(&out[10], flags);
    store32(&out[12], ciaddr);
    store32(&out[16], yiaddr);
    store32(&out[20], siaddr);
    store32(&out[24], giaddr);
    std::copy(chaddr.begin(), chaddr.end(), &out[28]);
    store32(&out[cookie_at], cookie);

    // The type first: some clients look for it there.
    const std::uint8_t type_byte = static_cast<std::uint8_t>(type);
    put(out, Code::type, Bytes{&type_byte, 1});
    put(out, Code::server_identifier, server_identifier);
    put(out, Code::client_identifier, client_identifier);
    put(out, Code::requested_ip, requested_ip);
    put(out, Code::lease, lease_s);
    put(out, Code::renewal, renewal_s);
    put(out, Code::rebinding, rebinding_s);
    put(out, Code::subnet_mask, subnet_mask);
    put(out, Code::router, routers);
    put(out, Code::dns_server, dns_servers);
    put(out, Code::ntp_server, ntp_servers);
    put(out, Code::host_name, host_name);
    put(out, Code::domain_name, domain_name);
    put(out, Code::parameter_list, parameter_list);
    put(out, Code::message, message);
    out.push_back(Code::end);
    if (out.size() < min_bytes) out.resize(min_bytes);
    return out;
  }

 private:
  static constexpr std::size_t sname_at = 44;
  static constexpr std::size_t file_at = 108;
  static constexpr std::size_t cookie_at = 236;
  static constexpr std::uint32_t cookie = 0x63825363;

  struct Seen {
    std::array<bool, 256> codes{};
    std::uint8_t overload = 0;
  };

  bool parse_options(Bytes field, Seen& seen) {
    for (std::size_t at = 0; at < field.size();) {
      const std::uint8_t code = field[at++];
      if (code == Code::pad) continue;
      if (code == Code::end) return true;
      if (at == field.size()) return false;
      const std::size_t length = field[at++];
      if (length > field.size() - at) return false;
      if (!seen.codes[code] && !take_option(code, field.subspan(at, length), seen)) return false;
      seen.codes[code] = true;
      at += length;
    }
    return true;
  }

  bool take_option(std::uint8_t code, Bytes value, Seen& seen) {
    switch (code) {
      case Code::type:
        if (value.size() != 1 || value[0] < 1 || value[0] > static_cast<std::uint8_t>(Type::inform)) return false;
        type = static_cast<Type>(value[0]);
        return true;
      case Code::overload:
        if (value.size() != 1 || value[0] < 1 || value[0] > 3) return false;
        seen.overload = value[0];
        return true;
      case Code::requested_ip:
        return take(value, requested_ip);
      case Code::server_identifier:
        return take(value, server_identifier);
      case Code::subnet_mask:
        return take(value, subnet_mask);
      case Code::lease:
        return take(value, lease_s);
      case Code::renewal:
        return take(value, renewal_s);
      case Code::rebinding:
        return take(value, rebinding_s);
      case Code::router:
        return take(value, routers);
      case Code::dns_server:
        return take(value, dns_servers);
      case Code::ntp_server:
        return take(value, ntp_servers);
      case Code::host_name:
        return take(value, host_name);
      case Code::domain_name:
        return take(value, domain_name);
      case Code::message:
        return take(value, message);
      case Code::client_identifier:
        client_identifier = value;
        return value.size() >= 2;
      case Code::parameter_list:
        parameter_list = value;
        return !value.empty();
      default:
        return true;
    }
  }

  static bool take(Bytes value, std::optional<std::uint32_t>& into) {
    if (value.size() != 4) return false;
    into = load32(value.data());
    return true;
  }
  static bool take(Bytes value, std::vector<Ipv4Address>& into) {
    if (value.empty() || value.size() % 4 != 0) return false;
    for (std::size_t at = 0; at < value.size(); at += 4) into.push_back(load32(&value[at]));
    return true;
  }
  // An empty string breaks RFC 2132, but some clients send an empty host name.
  static bool take(Bytes value, std::string_view& into) {
    into = {reinterpret_cast<const char*>(value.data()), value.size()};
    return true;
  }

  static void put(std::vector<std::uint8_t>& out, std::uint8_t code, Bytes value) {
    if (value.empty()) return;
    WIZ_ASSERT(value.size() <= 255);
    out.push_back(code);
    out.push_back(static_cast<std::uint8_t>(value.size()));
    out.insert(out.end(), value.begin(), value.end());
  }
  static void put(std::vector<std::uint8_t>& out, std::uint8_t code, std::string_view value) {
    put(out, code, Bytes{reinterpret_cast<const std::uint8_t*>(value.data()), value.size()});
  }
  static void put(std::vector<std::uint8_t>& out, std::uint8_t code, const std::optional<std::uint32_t>& value) {
    if (!value) return;
    std::uint8_t bytes[4];
    store32(bytes, *value);
    put(out, code, Bytes{bytes});
  }
  static void put(std::vector<std::uint8_t>& out, std::uint8_t code, const std::vector<Ipv4Address>& value) {
    std::vector<std::uint8_t> bytes(4 * value.size());
    for (std::size_t i = 0; i < value.size(); ++i) store32(&bytes[4 * i], value[i]);
    put(out, code, Bytes{bytes});
  }
};

}  // namespace wizloop::wire
