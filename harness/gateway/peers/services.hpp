// The plain peers of throughput tests. What the board's `tcp-send`, `tcp-recv`, `tcp-echo` and their UDP sisters talk
// to when it is not another board. Streams carry byte i as i mod 256, which sinks check; UDP datagrams of at least four
// bytes begin with a big-endian sequence number, as in sim/net/services.
//
// Each serves for ever, or until the session's transfers are used up, and reports each transfer as it ends.
#pragma once

#include <functional>

#include "harness/gateway/peers/session.hpp"

namespace wizloop::peers {

// Gives each connection to `client`, any number at once.
using Client = std::function<boost::asio::awaitable<void>(Session&, Tcp::socket)>;
boost::asio::awaitable<void> serve_each(Session& session, Tcp::acceptor acceptor, Client client);

// Reads until the client closes.
boost::asio::awaitable<void> serve_tcp_sink(Session& session, Tcp::acceptor acceptor);
// Sends `bytes` of the pattern and closes; 0: until the client closes.
boost::asio::awaitable<void> serve_tcp_source(Session& session, Tcp::acceptor acceptor, std::uint64_t bytes);
boost::asio::awaitable<void> serve_tcp_echo(Session& session, Tcp::acceptor acceptor);

// A transfer of datagrams has no end of its own: it is over when one of them is empty or shorter than four bytes, or
// when none has come for the session's patience.
boost::asio::awaitable<void> serve_udp_sink(Session& session, Udp::socket socket);
boost::asio::awaitable<void> serve_udp_echo(Session& session, Udp::socket socket);

struct UdpLoad {
  Udp::endpoint to;
  std::uint64_t datagrams = 0;
  std::size_t bytes = 1472;    // each
  double datagrams_per_s = 0;  // 0: as fast as the host takes them
};
boost::asio::awaitable<void> send_udp(Session& session, Udp::socket socket, UdpLoad load);

}  // namespace wizloop::peers
