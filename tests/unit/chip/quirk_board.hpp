// A configured chip with one open question (sim/chip/quirks.cpp) answered otherwise. Each alternative that a test sets
// this way is noted, for quirks_test.cpp to see that the rows of its table are true.
//
//   QuirkBoard board{"header_miso", "zeros"};
//   TcpQuirk board{"psh", "last_segment"};
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tests/support/test_board.hpp"

namespace wizloop::test {

using Octets = std::vector<std::uint8_t>;

// "quirk=choice", as set by the test that runs.
inline std::set<std::string>& set_by_this_test() {
  static std::set<std::string> alternatives;
  return alternatives;
}

// A configured chip with one quirk set.
struct QuirkBoard : TestBoard {
  QuirkBoard(std::string_view quirk, std::string_view choice)
      : TestBoard{with(std::string{"chip.quirk."} + std::string{quirk}, choice)} {
    configure();
    set_by_this_test().insert(std::string{quirk} + "=" + std::string{choice});
  }
  void open(int socket, std::uint8_t mode, std::uint16_t port = 5000) {
    set8(socket, chip::socket::Sn_MR, mode);
    set16(socket, chip::socket::Sn_PORT, port);
    command(socket, chip::sn_cr::OPEN);
  }
  void open_udp_to_peer() {
    open(0, chip::sn_mr::UDP);
    set32(0, chip::socket::Sn_DIPR, peer_ip);
    set16(0, chip::socket::Sn_DPORT, 9);
  }
  void send_and_resolve(const Octets& data) {
    send(0, data);
    advance(1ms);
    answer_arp();
    advance(1ms);
  }
  bool touched(chip::Quirk quirk) const {
    const auto all = chip.quirks().touched();
    return std::find(all.begin(), all.end(), quirk) != all.end();
  }
};

// The same with the peer of a TCP connection.
struct TcpQuirk : QuirkBoard {
  using QuirkBoard::QuirkBoard;
  TestConnection tcp{*this};
  void retry(std::uint8_t rcr) { write(0, chip::common::RCR, {rcr}); }
};

}  // namespace wizloop::test
