// The SPI byte stream: select, bytes, deselect in any order and at any time, whole register frames, frames from the
// cable in between, RSTn, the cable in and out. The first byte says how the chip answers its open questions; after that
// the first bits of a byte say what to do.
#include "tests/fuzz/fuzz_board.hpp"
#include "tests/fuzz/input.hpp"

namespace wizloop::fuzz {
namespace {

// One input simulates no more than this: retransmissions and probes with RTR = 1 go on for ever.
constexpr Duration longest_run = 20s;

void exchange_quiet(FuzzBoard& board, Input& input) {
  const std::size_t wanted = input.u16();
  const std::uint8_t how = input.u8();
  std::array<std::uint8_t, 65536> mosi;
  std::array<std::uint8_t, 65536> miso;
  mosi.fill(how);
  const std::size_t count = std::min(wanted, board.chip.spi().quiet_bytes());
  board.chip.spi().exchange_quiet((how & 1) != 0 ? mosi.data() : nullptr, (how & 2) != 0 ? miso.data() : nullptr,
                                  count);
}

void advance(FuzzBoard& board, Input& input, std::uint8_t unit) {
  constexpr Duration units[] = {10ns, 1us, 100us, 10ms};
  const Duration wanted = units[unit & 3] * (1 + input.u8());
  if (board.queue.now() < Instant{longest_run}) board.advance(wanted);
}

void frame(FuzzBoard& board, Input& input, std::uint8_t flags) {
  std::array<std::uint8_t, wire::max_frame_bytes> bytes{};
  const std::size_t length = input.u16() % (bytes.size() + 1);
  const Bytes given = input.take(length);
  std::copy(given.begin(), given.end(), bytes.begin());
  const MutableBytes made{bytes.data(), length};
  board.mend(made, flags);
  if ((flags & 0x10) != 0) {
    board.arrive_bit_by_bit(made);
  } else {
    board.arrive(made);
  }
}

void pins(FuzzBoard& board, std::uint8_t which) {
  switch (which & 3) {
    case 0:
      return board.chip.set_rstn(false);
    case 1:
      return board.chip.set_rstn(true);
    case 2:
      return board.chip.plug(false);
    default:
      return board.chip.plug_in_settled();
  }
}

void step(FuzzBoard& board, Input& input) {
  const std::uint8_t what = input.u8();
  const std::uint8_t low = what & 0x1F;
  switch (what >> 5) {
    case 0:
      if ((low & 1) == 0) return board.chip.spi().select();
      return board.chip.spi().deselect();
    case 1:
      for (std::uint8_t i = 0; i <= low; ++i) board.chip.spi().exchange(input.u8());
      return;
    case 2:
      return exchange_quiet(board, input);
    case 3:
      return advance(board, input, low);
    case 4:
      return frame(board, input, low);
    case 5: {  // a whole write; the last three bits are its length
      const std::uint16_t offset = input.u16();
      return board.write(input.u8() & 0x1F, offset, input.take(1U + (low & 7)));
    }
    case 6: {  // to a register of a socket, where most of the chip lies
      const std::uint8_t offset = input.u8();
      return board.write(static_cast<std::uint8_t>(4 * (low & 7) + 1), offset, input.take(1U + (low >> 3)));
    }
    default:
      if (low < 4) return pins(board, low);
      return board.read(low, input.u16(), 8);
  }
}

}  // namespace
}  // namespace wizloop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  wizloop::fuzz::Input input{data, size};
  wizloop::fuzz::FuzzBoard board{input.u8()};
  while (!input.empty()) wizloop::fuzz::step(board, input);
  return 0;
}
