// The simulated board of harness/board.
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

std::unique_ptr<board::TalkingBoard> make(board::BoardSetup setup) {
  auto created = board::SimBoard::create(std::move(setup));
  WIZ_ASSERT(created);
  return std::move(created).value();
}

}  // namespace

const BoardKind kind{.has_dma = true, .mac = "020000000020", .gateway = "192.168.1.10", .make = make};

}  // namespace wizloop::test
