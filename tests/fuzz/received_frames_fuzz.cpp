// Received frames: a byte says how the chip answers its open questions, eight say what each socket does, then come
// frames, each with a byte that says how much of it is put right (addresses, checksums, sequence numbers) and what
// firmware does after it.
#include "tests/fuzz/fuzz_board.hpp"
#include "tests/fuzz/input.hpp"

namespace wizloop::fuzz {
namespace {

namespace sn = chip::socket;
using namespace chip::sn_cr;

// Mode bits in the high half of `how`, what happens after OPEN in the low half.
void prepare(FuzzBoard& board, int socket, std::uint8_t how) {
  const auto port = static_cast<std::uint8_t>(80 + socket % 4);
  const auto open = [&](std::uint8_t protocol) {
    board.set(socket, sn::Sn_MR, {static_cast<std::uint8_t>((how & 0xF0) | protocol)});
    board.set(socket, sn::Sn_PORT, {0, port});
    board.set(socket, sn::Sn_DIPR, {192, 168, 1, 10, 0x9C, 0x40});
    board.command(socket, OPEN);
  };
  switch (how & 0x07) {
    case 0:
      return;
    case 1:
      open(chip::sn_mr::TCP);
      return board.command(socket, LISTEN);
    case 2:
      open(chip::sn_mr::TCP);
      return board.command(socket, CONNECT);
    case 3:
      return open(chip::sn_mr::UDP);
    case 4:
      return open(chip::sn_mr::MACRAW);
    case 5:
      board.set(socket, sn::Sn_PROTO, {static_cast<std::uint8_t>((how & 8) != 0 ? 1 : 47)});
      return open(chip::sn_mr::IPRAW);
    case 6:  // group 239.1.1.1
      board.set(socket, sn::Sn_DHAR, {0x01, 0x00, 0x5E, 0x01, 0x01, 0x01, 239, 1, 1, 1, 0, port});
      board.set(socket, sn::Sn_MR, {static_cast<std::uint8_t>(0x80 | (how & 0x70) | chip::sn_mr::UDP)});
      board.set(socket, sn::Sn_PORT, {0, port});
      return board.command(socket, OPEN);
    default:  // no receive memory
      board.set(socket, sn::Sn_RXBUF_SIZE, {static_cast<std::uint8_t>(how >> 4)});
      open(chip::sn_mr::TCP);
      return board.command(socket, LISTEN);
  }
}

// What firmware does between two frames.
void react(FuzzBoard& board, std::uint8_t what) {
  const int socket = what & 7;
  switch (what >> 3 & 7) {
    case 0:
      return;
    case 1:  // takes 16 bytes
      board.set(socket, sn::Sn_RX_RD, {0, what});
      return board.command(socket, RECV);
    case 2:
      board.set(socket, sn::Sn_TX_WR, {what, what});
      return board.command(socket, SEND);
    case 3:
      return board.command(socket, DISCON);
    case 4:
      return board.command(socket, (what & 0x40) != 0 ? SEND_KEEP : SEND_MAC);
    case 5:
      return board.command(socket, CLOSE);
    case 6:
      return prepare(board, socket, what);
    default:
      return board.advance(what < 0x80 ? Duration{1ms} : Duration{500ms});
  }
}

}  // namespace
}  // namespace wizloop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wizloop;
  fuzz::Input input{data, size};
  fuzz::FuzzBoard board{input.u8()};
  for (int socket = 0; socket < chip::socket_count; ++socket) fuzz::prepare(board, socket, input.u8());
  while (!input.empty()) {
    const std::uint8_t how = input.u8();
    const std::uint8_t then = input.u8();
    std::array<std::uint8_t, wire::max_frame_bytes> bytes{};
    const std::size_t length = input.u16() % (bytes.size() + 1);
    const Bytes given = input.take(length);
    std::copy(given.begin(), given.end(), bytes.begin());
    const MutableBytes frame{bytes.data(), length};
    board.mend(frame, how);
    if ((how & 0x10) != 0) {
      board.arrive_bit_by_bit(frame);
    } else {
      board.arrive(frame);
    }
    board.advance(10us);
    fuzz::react(board, then);
  }
  board.advance(1s);
  return 0;
}
