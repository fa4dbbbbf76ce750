// The figures of tests/bench/realtime.py in virtual time, where they are exact: the same board and the same verbs, with
// the PC of the simulation in place of this machine.
//
//   build/release/tests/bench/virtual_figures boards/stm32f405-arduino.toml 4194304 16
//   tcp-recv_kbit_s=17900 tcp-send_kbit_s=18200 ping_us=63
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "harness/board/sim_board.hpp"
#include "sim/net/services/pinger.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"

namespace wizloop {
namespace {

// Linux, as far as it matters here: it acknowledges every second segment, and a lone one after 40 ms.
constexpr net::PeerProfile linux_peer{.ack_policy = net::AckPolicy::every_second,
                                      .segment_rule = net::SegmentRule::half_window,
                                      .delayed_ack = 40ms,
                                      .turnaround = 20us};

std::uint64_t number_of(std::string_view answer, std::string_view key) {
  const std::size_t at = answer.find(key);
  std::uint64_t number = 0;
  if (at != std::string_view::npos)
    std::from_chars(answer.data() + at + key.size(), answer.data() + answer.size(), number);
  return number;
}

int print_figures(const char* board_file, std::uint64_t bytes, std::string_view kib) {
  auto profile = bus::load_board(board_file);
  if (!profile) {
    fmt::print(stderr, "{}\n", profile.error().message);
    return 2;
  }
  profile.value().peer = linux_peer;
  auto made = board::SimBoard::create({.testbed = {.board = std::move(profile).value()}});
  if (!made) {
    fmt::print(stderr, "{}\n", made.error().message);
    return 5;
  }
  board::SimBoard& board = *made.value();
  board.boot();
  board.ask("link wait_ms=5000", 10s);
  net::LwipHost& pc = board.testbed().pc();
  const net::TcpSink sink{pc, 5001};
  net::TcpSource source{pc, {.bytes = bytes}};
  source.listen(5002);
  const std::string received = board.ask("tcp-recv ip=192.168.1.10 port=5002 kib=16", 600s).value_or("");
  const std::string sent =
      board.ask(fmt::format("tcp-send ip=192.168.1.10 port=5001 bytes={} kib={}", bytes, kib), 600s).value_or("");
  net::Pinger pinger{pc, {.target = testbed::board_ip, .count = 11, .interval = 10ms, .start = board.now()}};
  board.run_until(board.now() + 1s);
  std::vector<Duration> rtt = pinger.counters().rtt;
  if (rtt.size() != 11) {
    fmt::print(stderr, "{} of 11 pings were answered\n", rtt.size());
    return 1;
  }
  std::ranges::sort(rtt);
  fmt::print("tcp-recv_kbit_s={} tcp-send_kbit_s={} ping_us={:.1f}\n", number_of(received, " kbit_s="),
             number_of(sent, " kbit_s="), static_cast<double>(rtt[5] / 1ns) / 1000);
  return 0;
}

}  // namespace
}  // namespace wizloop

int main(int count, char** arguments) {
  if (count != 4) {
    fmt::print(stderr, "usage: virtual_figures BOARD.toml BYTES KIB\n");
    return 2;
  }
  return wizloop::print_figures(arguments[1], std::strtoull(arguments[2], nullptr, 10), arguments[3]);
}
