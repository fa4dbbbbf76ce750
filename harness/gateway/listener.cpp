#include "harness/gateway/listener.hpp"

#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <utility>

namespace wizloop::gateway {

namespace {

// Without file descriptors to spare, the next try at accepting has to wait for somebody to hang up.
constexpr std::chrono::milliseconds accept_pause{100};

void set_tcp_option(Listener::Socket& socket, int option, int value) {
  ::setsockopt(socket.native_handle(), IPPROTO_TCP, option, &value, sizeof value);
}

}  // namespace

std::optional<Error> Listener::open(const Endpoint& at, std::string_view option, MakeSession make_session) {
  boost::system::error_code failed;
  const auto error = [&](std::string_view doing) {
    const bool taken = failed == boost::asio::error::address_in_use;
    return Error{fmt::format("{} {}: cannot {} for the {}: {}{}", option, to_string(at), doing, what_, failed.message(),
                             taken ? "; is another one being served there? Port 0 takes a free one" : ""),
                 ErrorKind::machine};
  };
  acceptor_.open(at.protocol(), failed);
  if (failed) return error("open a socket");
  // A port whose last connection was cut is free at once; one that somebody listens on is not.
  acceptor_.set_option(boost::asio::socket_base::reuse_address{true}, failed);
  acceptor_.bind(at, failed);
  if (failed) return error("take the port");
  acceptor_.listen(boost::asio::socket_base::max_listen_connections, failed);
  if (failed) return error("listen");
  make_session_ = std::move(make_session);
  accept();
  return std::nullopt;
}

void Listener::close() {
  boost::system::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel(ignored);
  for (const auto& session : std::exchange(sessions_, {})) session->close();
}

Endpoint Listener::endpoint() const {
  boost::system::error_code ignored;
  return acceptor_.local_endpoint(ignored);
}

std::size_t Listener::sessions() {
  std::erase_if(sessions_, [](const auto& session) { return !session->is_open(); });
  return sessions_.size();
}

void Listener::accept() {
  acceptor_.async_accept([this](const boost::system::error_code& failed, Socket socket) {
    if (failed == boost::asio::error::operation_aborted || !acceptor_.is_open()) return;
    if (failed) {
      pause_.expires_after(accept_pause);
      pause_.async_wait([this](const boost::system::error_code& cancelled) {
        if (!cancelled) accept();
      });
      return;
    }
    admit(std::move(socket));
    accept();
  });
}

void Listener::admit(Socket socket) {
  boost::system::error_code ignored;
  if (sessions() >= most_sessions) {
    socket.non_blocking(true, ignored);
    const std::string busy = fmt::format("! busy connections={}\r\n", most_sessions);
    socket.write_some(boost::asio::buffer(busy), ignored);
    return;
  }
  socket.set_option(boost::asio::ip::tcp::no_delay{true}, ignored);
  // A machine that has gone without a word holds a console for a minute, not for hours.
  socket.set_option(boost::asio::socket_base::keep_alive{true}, ignored);
  set_tcp_option(socket, TCP_KEEPIDLE, 30);
  set_tcp_option(socket, TCP_KEEPINTVL, 10);
  set_tcp_option(socket, TCP_KEEPCNT, 3);
  const Endpoint client = socket.remote_endpoint(ignored);
  const auto session = make_session_(std::move(socket), client);
  sessions_.push_back(session);
  session->start();
}

}  // namespace wizloop::gateway
