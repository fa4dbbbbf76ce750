#include "harness/gateway/peers/services.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <vector>

#include "sim/core/bytes.hpp"
#include "sim/net/services/pattern.hpp"

namespace wizloop::peers {
namespace {

using boost::asio::awaitable;
using boost::asio::buffer;
using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::system::error_code;

constexpr std::size_t read_size = 256 * 1024;
constexpr std::size_t datagram_size = 65536;
constexpr std::size_t sequence_size = 4;

awaitable<void> sink(Session& session, Tcp::socket socket) {
  error_code error;
  const std::string from = text_of(socket.remote_endpoint(error));
  std::vector<std::uint8_t> piece(read_size);
  std::uint64_t bytes = 0;
  std::uint64_t bad = 0;
  Stopwatch watch;
  Patience patience{session, socket};
  while (!error) {
    const std::size_t count = co_await socket.async_read_some(buffer(piece), redirect_error(use_awaitable, error));
    if (error) break;
    patience.renew();
    watch.mark();
    bad += net::pattern_mismatches(bytes, Bytes{piece}.first(count));
    bytes += count;
  }
  session.report.add("tcp-sink", {{"from", from},
                                  {"bytes", bytes},
                                  {"bad", bad},
                                  {"us", watch.us()},
                                  {"mbit_s", mbit_s(bytes, watch.us())},
                                  {"ended", ending(error, patience.over())}});
  session.transfer_ended();
}

awaitable<void> source(Session& session, Tcp::socket socket, std::uint64_t wanted) {
  error_code error;
  const std::string to = text_of(socket.remote_endpoint(error));
  std::uint64_t bytes = 0;
  Stopwatch watch;
  watch.mark();
  Patience patience{session, socket};
  while (!error && (wanted == 0 || bytes < wanted)) {
    const std::uint64_t left = wanted == 0 ? net::pattern_run : wanted - bytes;
    const Bytes piece = net::pattern(bytes, static_cast<std::size_t>(std::min<std::uint64_t>(left, net::pattern_run)));
    bytes += co_await socket.async_write_some(buffer(piece.data(), piece.size()), redirect_error(use_awaitable, error));
    patience.renew();
    watch.mark();
  }
  if (!error) {
    socket.shutdown(Tcp::socket::shutdown_send, error);
    // Closed by the client: then it has all of it.
    std::uint8_t none[1];
    while (!error) co_await socket.async_read_some(buffer(none), redirect_error(use_awaitable, error));
    watch.mark();
  }
  session.report.add("tcp-source", {{"to", to},
                                    {"bytes", bytes},
                                    {"us", watch.us()},
                                    {"mbit_s", mbit_s(bytes, watch.us())},
                                    {"ended", ending(error, patience.over())}});
  session.transfer_ended();
}

awaitable<void> echo(Session& session, Tcp::socket socket) {
  error_code error;
  const std::string from = text_of(socket.remote_endpoint(error));
  std::vector<std::uint8_t> piece(read_size);
  std::uint64_t bytes = 0;
  Stopwatch watch;
  Patience patience{session, socket};
  while (!error) {
    const std::size_t count = co_await socket.async_read_some(buffer(piece), redirect_error(use_awaitable, error));
    if (error) break;
    patience.renew();
    co_await boost::asio::async_write(socket, buffer(piece.data(), count), redirect_error(use_awaitable, error));
    patience.renew();
    watch.mark();
    bytes += count;
  }
  session.report.add("tcp-echo", {{"from", from},
                                  {"bytes", bytes},
                                  {"us", watch.us()},
                                  {"mbit_s", mbit_s(bytes, watch.us())},
                                  {"ended", ending(error, patience.over())}});
  session.transfer_ended();
}

// Gaps in the sequence numbers of one sender.
class Sequence {
 public:
  void take(std::uint32_t number) {
    if (number < expected_) {
      ++late;
    } else {
      missing += number - expected_;
      expected_ = number + 1;
    }
  }
  std::uint64_t missing = 0;  // numbers skipped
  std::uint64_t late = 0;     // out of order, or twice

 private:
  std::uint32_t expected_ = 0;
};

}  // namespace

awaitable<void> serve_each(Session& session, Tcp::acceptor acceptor, Client client) {
  constexpr std::chrono::milliseconds pause{100};  // while the process has no descriptor left
  for (;;) {
    error_code error;
    Tcp::socket socket = co_await acceptor.async_accept(redirect_error(use_awaitable, error));
    if (!error) {
      boost::asio::co_spawn(session.io, client(session, std::move(socket)), boost::asio::detached);
    } else {
      boost::asio::steady_timer timer{session.io, pause};
      co_await timer.async_wait(use_awaitable);
    }
  }
}

awaitable<void> serve_tcp_sink(Session& session, Tcp::acceptor acceptor) {
  return serve_each(session, std::move(acceptor), sink);
}

awaitable<void> serve_tcp_source(Session& session, Tcp::acceptor acceptor, std::uint64_t bytes) {
  return serve_each(session, std::move(acceptor),
                    [bytes](Session& of, Tcp::socket socket) { return source(of, std::move(socket), bytes); });
}

awaitable<void> serve_tcp_echo(Session& session, Tcp::acceptor acceptor) {
  return serve_each(session, std::move(acceptor), echo);
}

awaitable<void> serve_udp_sink(Session& session, Udp::socket socket) {
  std::vector<std::uint8_t> datagram(datagram_size);
  for (;;) {
    Udp::endpoint from;
    error_code error;
    Sequence sequence;
    std::uint64_t datagrams = 0;
    std::uint64_t bytes = 0;
    Stopwatch watch;
    std::optional<Patience<Udp::socket>> patience;  // begins with the first datagram
    while (!error) {
      const std::size_t count =
          co_await socket.async_receive_from(buffer(datagram), from, redirect_error(use_awaitable, error));
      if (error || count < sequence_size) break;
      if (patience)
        patience->renew();
      else
        patience.emplace(session, socket);
      watch.mark();
      sequence.take(load32(datagram.data()));
      ++datagrams;
      bytes += count;
    }
    if (datagrams == 0) continue;
    session.report.add("udp-sink", {{"from", text_of(from)},
                                    {"datagrams", datagrams},
                                    {"bytes", bytes},
                                    {"missing", sequence.missing},
                                    {"late", sequence.late},
                                    {"us", watch.us()},
                                    {"mbit_s", mbit_s(bytes, watch.us())},
                                    {"ended", patience->over() ? "silent" : "closed"}});
    session.transfer_ended();
  }
}

awaitable<void> serve_udp_echo(Session& session, Udp::socket socket) {
  std::vector<std::uint8_t> datagram(datagram_size);
  for (;;) {
    Udp::endpoint from;
    error_code error;
    const std::size_t count =
        co_await socket.async_receive_from(buffer(datagram), from, redirect_error(use_awaitable, error));
    if (error) continue;  // the ICMP answer to an earlier datagram
    co_await socket.async_send_to(buffer(datagram.data(), count), from, redirect_error(use_awaitable, error));
    session.transfer_ended();
  }
}

awaitable<void> send_udp(Session& session, Udp::socket socket, UdpLoad load) {
  std::vector<std::uint8_t> datagram(load.bytes);
  for (std::size_t i = 0; i < datagram.size(); ++i) datagram[i] = static_cast<std::uint8_t>(i);
  boost::asio::steady_timer timer{session.io};
  const auto start = WallClock::now();
  std::uint64_t refused = 0;
  Stopwatch watch;
  for (std::uint64_t i = 0; i < load.datagrams; ++i) {
    if (load.datagrams_per_s > 0) {
      // By the instant that is due, not by pauses, so that a late wake-up is caught up with.
      timer.expires_at(start + std::chrono::duration_cast<WallClock::duration>(
                                   std::chrono::duration<double>(static_cast<double>(i) / load.datagrams_per_s)));
      if (timer.expiry() > WallClock::now()) co_await timer.async_wait(use_awaitable);
    }
    if (datagram.size() >= sequence_size) store32(datagram.data(), static_cast<std::uint32_t>(i));
    error_code error;
    co_await socket.async_send_to(buffer(datagram), load.to, redirect_error(use_awaitable, error));
    if (error) ++refused;
    watch.mark();
  }
  const std::uint64_t sent = load.datagrams - refused;
  session.report.add("udp-source", {{"to", text_of(load.to)},
                                    {"datagrams", sent},
                                    {"refused", refused},
                                    {"bytes", sent * load.bytes},
                                    {"us", watch.us()},
                                    {"mbit_s", mbit_s(sent * load.bytes, watch.us())}});
  session.io.stop();
}

}  // namespace wizloop::peers
