#include "harness/gateway/peers/endpoint.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "sim/core/host_port.hpp"

namespace wizloop::peers {

Result<Endpoint> parse_endpoint(std::string_view text) {
  // A port alone is one on loopback.
  const std::string with_host = text.find(':') == std::string_view::npos ? fmt::format(":{}", text) : std::string{text};
  const auto parts = split_host_port(with_host);
  if (!parts) {
    return Error{fmt::format("\"{}\" is no endpoint, expected HOST:PORT or PORT, with a port from 0 to 65535", text)};
  }
  Endpoint endpoint{boost::asio::ip::address_v4::loopback(), parts->port};
  const std::string_view host = parts->host;
  if (host.empty()) return endpoint;
  boost::system::error_code failed;
  boost::asio::io_context io;
  const auto found =
      boost::asio::ip::tcp::resolver{io}.resolve(boost::asio::ip::tcp::v4(), std::string{host}, "", failed);
  if (failed || found.empty()) {
    return Error{fmt::format("\"{}\": no IPv4 address is known for the host {} ({})", text, host, failed.message())};
  }
  endpoint.address = found.begin()->endpoint().address().to_v4();
  return endpoint;
}

}  // namespace wizloop::peers
