// Where a peer listens or connects: HOST:PORT as a user types it, resolved. HOST is an IPv4 address or a name; without
// one it is 127.0.0.1, so that nothing is offered to a network unless somebody asked for that. Port 0 takes a free one.
#pragma once

#include <boost/asio/ip/address_v4.hpp>
#include <cstdint>
#include <string>
#include <string_view>

#include "sim/core/result.hpp"

namespace wizloop::peers {

struct Endpoint {
  boost::asio::ip::address_v4 address;
  std::uint16_t port = 0;

  template <typename Protocol>
  typename Protocol::endpoint of() const {
    return {address, port};
  }
};

// "127.0.0.1:5001", "pc.lan:5001", ":5001" or "5001".
Result<Endpoint> parse_endpoint(std::string_view text);

template <typename AsioEndpoint>
std::string text_of(const AsioEndpoint& endpoint) {
  return endpoint.address().to_string() + ':' + std::to_string(endpoint.port());
}

}  // namespace wizloop::peers
