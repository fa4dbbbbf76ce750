// A microcontroller that is reset: firmware starts anew, whatever it was doing.
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

board::BoardSetup setup_with_network() {
  board::BoardSetup setup = setup_of("w55rp20");
  setup.network = w5500::Network{{2, 0, 0, 0, 0, 0x31}, {10, 0, 0, 7}, {255, 255, 0, 0}, {10, 0, 0, 1}};
  return setup;
}

struct Restart : SimBoardTest {
  Restart() : SimBoardTest{setup_with_network()} {}
};

TEST_F(Restart, FirmwareStartsWithItsOwnAddressesAgain) {
  EXPECT_EQ(ask("net ip=10.9.9.9"),
            "ok mac=02:00:00:00:00:31 ip=10.9.9.9 mask=255.255.0.0 gw=10.0.0.1 rtr_us=200000 rcr=8");
  sim.restart();
  board->boot();
  EXPECT_THAT(board->run_until_line(1s).value_or(""), StartsWith("! hello agent=1 board=w55rp20"));
  EXPECT_THAT(ask("net"), HasSubstr(" ip=10.0.0.7 "));
}

TEST_F(Restart, WhatIsTypedBeforeFirmwareBeginsIsAnswered) {
  sim.restart();
  sim.console().type("#1 path\n");
  board->boot();
  EXPECT_THAT(board->run_until_line(1s).value_or(""), StartsWith("! hello"));
  EXPECT_THAT(board->run_until_line(1s).value_or(""), StartsWith("#1 ok p="));
}

TEST_F(Restart, HalfALineAndOutputOnItsWayAreForgotten) {
  sim.console().type("#1 hel");
  board->run_until(board->now() + 1ms);
  const std::string_view unheard = "never heard of again";
  sim.console().write(reinterpret_cast<const std::uint8_t*>(unheard.data()), unheard.size());
  sim.console().type("#2 reset\n");
  sim.restart();
  board->boot();
  EXPECT_THAT(board->run_until_line(1s).value_or(""), StartsWith("! hello"));
  EXPECT_THAT(ask("hello"), StartsWith("ok agent=1"));
  EXPECT_THAT(board->heard(), testing::IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
