#include "harness/gateway/peers/transfer.hpp"

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

constexpr std::uint64_t mebibyte = 1 << 20;

double mebibytes_s(std::uint64_t bytes, std::uint64_t us) {
  return us == 0 ? 0.0 : static_cast<double>(bytes) / mebibyte / (static_cast<double>(us) * 1e-6);
}

// Over all rounds so far.
class Average {
 public:
  void add(std::uint64_t bytes, std::uint64_t us) {
    ++rounds_;
    bytes_ += bytes;
    us_ += us;
    fastest_us_ = std::min(fastest_us_, us);
    slowest_us_ = std::max(slowest_us_, us);
  }
  void report(Report& report, std::string_view what) const {
    report.add(what, {{"rounds", rounds_},
                      {"bytes", bytes_},
                      {"us", us_ / std::max<std::uint64_t>(rounds_, 1)},
                      {"us_min", rounds_ == 0 ? 0 : fastest_us_},
                      {"us_max", slowest_us_},
                      {"mib_s", mebibytes_s(bytes_, us_)}});
  }

 private:
  std::uint64_t rounds_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t us_ = 0;
  std::uint64_t fastest_us_ = UINT64_MAX;
  std::uint64_t slowest_us_ = 0;
};

}  // namespace

awaitable<void> send_rounds(Session& session, Tcp::endpoint receiver, Transfer transfer) {
  const std::uint64_t wanted = transfer.mebibytes * mebibyte;
  // Whole periods of the pattern and one write more: a write at any phase is one piece of it.
  std::vector<std::uint8_t> pattern(net::pattern_period + transfer.buffer_bytes);
  for (std::size_t i = 0; i < pattern.size(); ++i) pattern[i] = static_cast<std::uint8_t>(i);
  Average average;
  for (int round = 1; round <= transfer.rounds; ++round) {
    Stopwatch watch;
    watch.mark();
    error_code error;
    Tcp::socket socket{session.io};
    Patience patience{session, socket};
    co_await socket.async_connect(receiver, redirect_error(use_awaitable, error));
    if (!error) socket.set_option(Tcp::no_delay{true}, error);
    std::uint64_t bytes = 0;
    while (!error && bytes < wanted) {
      const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(transfer.buffer_bytes, wanted - bytes));
      bytes += co_await boost::asio::async_write(socket, buffer(pattern.data() + bytes % net::pattern_period, size),
                                                 redirect_error(use_awaitable, error));
      patience.renew();
    }
    if (!error) socket.shutdown(Tcp::socket::shutdown_send, error);
    std::uint8_t none[1];
    while (!error) co_await socket.async_read_some(buffer(none), redirect_error(use_awaitable, error));
    watch.mark();
    const bool whole = error == boost::asio::error::eof && bytes == wanted;
    if (whole) average.add(bytes, watch.us());
    session.report.add("transfer-send", {{"round", static_cast<std::uint64_t>(round)},
                                         {"bytes", bytes},
                                         {"us", watch.us()},
                                         {"mib_s", mebibytes_s(bytes, watch.us())},
                                         {"ended", ending(error, patience.over())}});
    if (!whole) {
      session.failed = true;
      break;
    }
  }
  average.report(session.report, "transfer-send-average");
  session.io.stop();
}

awaitable<void> receive_rounds(Session& session, Tcp::acceptor acceptor, Transfer transfer) {
  std::vector<std::uint8_t> piece(transfer.buffer_bytes);
  Average average;
  for (int round = 1; round <= transfer.rounds; ++round) {
    error_code error;
    Tcp::socket socket = co_await acceptor.async_accept(redirect_error(use_awaitable, error));
    Stopwatch watch;
    watch.mark();
    Patience patience{session, socket};
    std::uint64_t bytes = 0;
    std::uint64_t bad = 0;
    while (!error) {
      const std::size_t count = co_await socket.async_read_some(buffer(piece), redirect_error(use_awaitable, error));
      if (error) break;
      patience.renew();
      bad += net::pattern_mismatches(bytes, Bytes{piece}.first(count));
      bytes += count;
    }
    watch.mark();
    const bool whole = error == boost::asio::error::eof && bad == 0;
    if (whole) average.add(bytes, watch.us());
    if (!whole) session.failed = true;
    session.report.add("transfer-receive", {{"round", static_cast<std::uint64_t>(round)},
                                            {"bytes", bytes},
                                            {"bad", bad},
                                            {"us", watch.us()},
                                            {"mib_s", mebibytes_s(bytes, watch.us())},
                                            {"ended", ending(error, patience.over())}});
  }
  average.report(session.report, "transfer-receive-average");
  session.io.stop();
}

}  // namespace wizloop::peers
