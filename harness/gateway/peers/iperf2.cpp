#include "harness/gateway/peers/iperf2.hpp"

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <chrono>
#include <cmath>
#include <map>
#include <vector>

#include "harness/gateway/peers/services.hpp"
#include "sim/net/services/pattern.hpp"

namespace wizloop::peers::iperf2 {
namespace {

using boost::asio::awaitable;
using boost::asio::buffer;
using boost::asio::redirect_error;
using boost::asio::use_awaitable;
using boost::system::error_code;

constexpr std::size_t read_size = 256 * 1024;
constexpr std::size_t datagram_size = 65536;
constexpr std::size_t clients_kept = 64;
// Between one attempt to connect back and the next; twice as long after each, 5 s in all.
constexpr std::chrono::milliseconds back_pause{10}, back_pause_most{2560};
// A stream that begins with zeros is taken for one without a header of its own.
constexpr std::array<std::uint8_t, 60> no_header{};

// Sends what the client asked for: `amount` of its header.
awaitable<void> send_amount(Session& session, Tcp::socket& socket, std::int32_t amount, std::string what) {
  error_code error;
  const std::string to = text_of(socket.remote_endpoint(error));
  const auto end = WallClock::now() + std::chrono::milliseconds{amount < 0 ? std::int64_t{-10} * amount : 0};
  const std::uint64_t wanted = amount < 0 ? UINT64_MAX : static_cast<std::uint64_t>(amount);
  std::uint64_t bytes = 0;
  Stopwatch watch;
  watch.mark();
  Patience patience{session, socket};
  while (!error && bytes < wanted && (amount >= 0 || WallClock::now() < end)) {
    const Bytes piece = bytes < no_header.size() ? Bytes{no_header}.subspan(static_cast<std::size_t>(bytes))
                                                 : net::pattern(bytes, net::pattern_run);
    const std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(piece.size(), wanted - bytes));
    bytes += co_await socket.async_write_some(buffer(piece.data(), most), redirect_error(use_awaitable, error));
    patience.renew();
    watch.mark();
  }
  error_code ignored;
  socket.shutdown(Tcp::socket::shutdown_send, ignored);
  session.report.add(what, {{"to", to},
                            {"bytes", bytes},
                            {"us", watch.us()},
                            {"mbit_s", mbit_s(bytes, watch.us())},
                            {"ended", ending(error, patience.over())}});
}

// A client that wants its data back listens for it only once it has sent its own header (-d) or data (-r).
awaitable<error_code> connect_back(Tcp::socket& socket, Tcp::endpoint to) {
  boost::asio::steady_timer pause{socket.get_executor()};
  for (auto wait = back_pause; wait <= back_pause_most; wait *= 2) {
    error_code error;
    co_await socket.async_connect(to, redirect_error(use_awaitable, error));
    if (error != boost::asio::error::connection_refused) co_return error;
    socket.close(error);
    pause.expires_after(wait);
    co_await pause.async_wait(redirect_error(use_awaitable, error));
  }
  co_return boost::asio::error::connection_refused;
}

awaitable<void> send_back(Session& session, boost::asio::ip::address address, ClientHeader header) {
  Tcp::socket socket{session.io};
  const error_code error = co_await connect_back(socket, {address, header.port});
  if (error) {
    session.report.add("iperf-tcp-back", {{"to", address.to_string() + ':' + std::to_string(header.port)},
                                          {"bytes", std::uint64_t{0}},
                                          {"ended", error.message()}});
    co_return;
  }
  co_await send_amount(session, socket, header.amount, "iperf-tcp-back");
}

awaitable<void> serve_client(Session& session, Tcp::socket socket) {
  error_code error;
  const Tcp::endpoint from = socket.remote_endpoint(error);
  std::vector<std::uint8_t> piece(read_size);
  std::vector<std::uint8_t> opening;
  std::optional<ClientHeader> header;
  std::uint64_t bytes = 0;
  Stopwatch watch;
  Patience patience{session, socket};
  while (!error) {
    const std::size_t count = co_await socket.async_read_some(buffer(piece), redirect_error(use_awaitable, error));
    if (error) break;
    patience.renew();
    watch.mark();
    bytes += count;
    if (header || opening.size() >= ClientHeader::size) continue;
    opening.insert(opening.end(), piece.begin(),
                   piece.begin() + static_cast<std::ptrdiff_t>(std::min(count, ClientHeader::size - opening.size())));
    header = ClientHeader::parse(opening);
    if (!header) continue;
    if (header->wants_reverse()) {
      co_await send_amount(session, socket, header->amount, "iperf-tcp-reverse");
    } else if (header->wants_back() && header->at_once()) {
      session.part_begins();
      boost::asio::co_spawn(session.io, send_back(session, from.address(), *header),
                            [&session](const std::exception_ptr&) { session.part_ended(); });
    }
  }
  session.report.add("iperf-tcp", {{"from", text_of(from)},
                                   {"bytes", bytes},
                                   {"us", watch.us()},
                                   {"mbit_s", mbit_s(bytes, watch.us())},
                                   {"ended", ending(error, patience.over())}});
  if (header && header->wants_back() && !header->at_once()) co_await send_back(session, from.address(), *header);
  session.transfer_ended();
}

std::int64_t id_of(Bytes datagram) {
  const auto low = static_cast<std::int32_t>(load32(datagram.data()));
  const auto high = static_cast<std::int32_t>(load32(datagram.data() + 12));
  // A client of 32-bit ids leaves the high word 0, and -1 behind its last id.
  if (low < 0 && high <= 0) return low;
  return static_cast<std::int64_t>(high) << 32 | static_cast<std::uint32_t>(low);
}

}  // namespace

std::optional<ClientHeader> ClientHeader::parse(Bytes data) {
  if (data.size() < size) return std::nullopt;
  ClientHeader header;
  header.flags = load32(data.data());
  header.port = static_cast<std::uint16_t>(load32(data.data() + 8));
  header.amount = static_cast<std::int32_t>(load32(data.data() + 20));
  return header;
}

bool UdpTransfer::take(Bytes datagram, WallClock::time_point at) {
  if (datagram.size() < header_size) return false;
  const std::int64_t id = id_of(datagram);
  if (id < 0) {
    if (!ended_) last_id_ = std::max(last_id_, -id - 1);
    ended_ = true;
    return true;
  }
  watch_.mark();
  if (datagrams_ == 0) first_id_ = std::min<std::int64_t>(id, 1);
  if (id <= last_id_) ++out_of_order_;
  last_id_ = std::max(last_id_, id);
  ++datagrams_;
  bytes_ += datagram.size();
  const double sent_us = 1e6 * load32(datagram.data() + 4) + load32(datagram.data() + 8);
  const double transit_us = std::chrono::duration<double, std::micro>(at.time_since_epoch()).count() - sent_us;
  if (last_transit_us_) jitter_us_ += (std::abs(transit_us - *last_transit_us_) - jitter_us_) / 16;
  last_transit_us_ = transit_us;
  return false;
}

std::uint64_t UdpTransfer::lost() const {
  const std::int64_t expected = last_id_ - first_id_ + 1;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(0, expected - static_cast<std::int64_t>(datagrams_)));
}

std::array<std::uint8_t, UdpTransfer::report_size> UdpTransfer::report() const {
  constexpr std::uint32_t report_follows = 0x80000000;
  constexpr std::uint64_t million = 1'000'000;
  std::array<std::uint8_t, report_size> reply{};
  auto put = [&reply, offset = header_size](std::uint64_t word) mutable {
    store32(reply.data() + offset, static_cast<std::uint32_t>(word));
    offset += 4;
  };
  put(report_follows);
  put(bytes_ >> 32);
  put(bytes_);
  put(us() / million);
  put(us() % million);
  put(lost());
  put(out_of_order_);
  put(datagrams_);
  put(jitter_us() / million);
  put(jitter_us() % million);
  return reply;
}

awaitable<void> serve_tcp(Session& session, Tcp::acceptor acceptor) {
  return serve_each(session, std::move(acceptor), serve_client);
}

awaitable<void> serve_udp(Session& session, Udp::socket socket) {
  std::vector<std::uint8_t> datagram(datagram_size);
  std::map<Udp::endpoint, UdpTransfer> transfers;
  for (;;) {
    Udp::endpoint from;
    error_code error;
    const std::size_t count =
        co_await socket.async_receive_from(buffer(datagram), from, redirect_error(use_awaitable, error));
    if (error || count < UdpTransfer::header_size) continue;
    const Bytes received = Bytes{datagram}.first(count);
    // Those that have ended make room; beyond that, a client that never ends its transfer is one too many.
    if (transfers.size() >= clients_kept) {
      std::erase_if(transfers, [&](const auto& one) { return one.second.ended() && one.first != from; });
    }
    if (transfers.size() >= clients_kept && !transfers.contains(from)) continue;
    UdpTransfer& transfer = transfers[from];
    if (transfer.ended() && id_of(received) >= 0) transfer = UdpTransfer{};
    const bool was_over = transfer.ended();
    if (!transfer.take(received, WallClock::now())) continue;
    // A client that misses the report repeats its last datagram.
    co_await socket.async_send_to(buffer(transfer.report()), from, redirect_error(use_awaitable, error));
    if (was_over) continue;
    session.report.add("iperf-udp", {{"from", text_of(from)},
                                     {"datagrams", transfer.datagrams()},
                                     {"bytes", transfer.bytes()},
                                     {"lost", transfer.lost()},
                                     {"late", transfer.out_of_order()},
                                     {"jitter_us", transfer.jitter_us()},
                                     {"us", transfer.us()},
                                     {"mbit_s", mbit_s(transfer.bytes(), transfer.us())}});
    session.transfer_ended();
  }
}

}  // namespace wizloop::peers::iperf2
