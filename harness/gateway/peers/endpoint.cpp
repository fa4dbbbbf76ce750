#include "harness/gateway/peers/endpoint.hpp"

#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <charconv>

namespace wizloop::peers {

Result<Endpoint> parse_endpoint(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  const std::string_view host = colon == std::string_view::npos ? "" : text.substr(0, colon);
  const std::string_view port = colon == std::string_view::npos ? text : text.substr(colon + 1);
  Endpoint endpoint{boost::asio::ip::address_v4::loopback(), 0};
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), endpoint.port);
  if (error != std::errc{} || end != port.data() + port.size()) {
    return Error{fmt::format("\"{}\" is no endpoint, expected HOST:PORT or PORT, with a port from 0 to 65535", text)};
  }
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
