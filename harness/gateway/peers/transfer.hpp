// The transfer tool of the seed measurements (figures SEED001 to SEED005), as a peer: a sender that in each round
// connects, sends so many MiB of the pattern 0..255 in writes of one size, closes, and takes the time of all three; and
// the receiver at the other end. Run one of each for a PC-to-PC row; run the receiver against a board's `tcp-send`.
//
//   wizloop-peer transfer receive 127.0.0.1:5001
//   wizloop-peer transfer send 127.0.0.1:5001 -B 2048 -M 10
#pragma once

#include "harness/gateway/peers/session.hpp"

namespace wizloop::peers {

struct Transfer {
  std::size_t buffer_bytes = 2048;  // -B: of each write or read
  std::uint64_t mebibytes = 10;     // -M: of each round
  int rounds = 10;
};

// Rounds one after another, then the average; the time of a round ends when the receiver has closed, too.
boost::asio::awaitable<void> send_rounds(Session& session, Tcp::endpoint receiver, Transfer transfer);
// Each connection is a round.
boost::asio::awaitable<void> receive_rounds(Session& session, Tcp::acceptor acceptor, Transfer transfer);

}  // namespace wizloop::peers
