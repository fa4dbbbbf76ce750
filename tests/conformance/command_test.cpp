// Sn_CR and Sn_SR: facts sections 3.1, 3.2, 3.4 and 4.4 as far as they are not about one protocol.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class CommandTest : public ConfiguredTest {
 protected:
  void expect_silence_where_it_is_heard() {
    wait(1ms);
    if (target().has(Feature::peer)) {
      EXPECT_SILENCE();
    }
  }
};

// What takes a connection.
class TcpCommandTest : public TcpTest {};

// 3.2, 9.3: acceptance takes less than a microsecond; drivers find 0 on the next frame.
TEST_F(CommandTest, CommandIsTakenWithinAMicrosecond) {
  set(0, "Sn_MR", mode::UDP);
  set(0, "Sn_CR", cr::OPEN);
  wait(1us);
  EXPECT_EQ(get(0, "Sn_CR"), 0U);
  EXPECT_EQ(status(0), sr::UDP);
}

TEST_F(CommandTest, OpenGivesTheStateOfItsMode) {
  open(0, mode::TCP, 5000);
  EXPECT_EQ(status(0), sr::INIT);
  open(1, mode::UDP, 5001);
  EXPECT_EQ(status(1), sr::UDP);
}

// 3.1, 3.2: each socket can be TCP or UDP.
TEST_F(CommandTest, EverySocketOpensInTcpAndInUdp) {
  for (int n = 0; n < 8; ++n) {
    open(n, mode::TCP, 5000);
    EXPECT_EQ(status(n), sr::INIT) << n;
    command(n, cr::CLOSE);
    open(n, mode::UDP, 5000);
    EXPECT_EQ(status(n), sr::UDP) << n;
    command(n, cr::CLOSE);
    EXPECT_EQ(status(n), sr::CLOSED) << n;
  }
}

// 3.1: protocol 0 and those that do not exist give no open socket.
TEST_F(CommandTest, OpenWithoutAKnownProtocolStaysClosed) {
  for (const int protocol : {0, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}) {
    open(0, static_cast<std::uint8_t>(protocol), 5000);
    EXPECT_EQ(status(0), sr::CLOSED) << protocol;
  }
}

// 3.1: Sn_MR takes effect at OPEN.
TEST_F(CommandTest, ModeWrittenAfterOpenDoesNotChangeTheSocket) {
  REQUIRES(peer);
  open(0, mode::UDP, 5000);
  set(0, "Sn_MR", mode::TCP);
  wait(1us);
  EXPECT_EQ(status(0), sr::UDP);
  address(0, wire::broadcast_ipv4, 9);
  send(0, counting(10));
  peer().send(peer().udp(1, 5000, counting(10)));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 10});
  EXPECT_EQ(interrupts(0), ir::SENDOK | ir::RECV);
}

// 12 no. 18.
TEST_F(CommandTest, OpenOfAnOpenSocketDoesNothing) {
  REQUIRES(peer);
  open(0, mode::UDP, 5000);
  peer().send(peer().udp(1, 5000, counting(10)));
  wait(1ms);
  command(0, cr::OPEN);
  EXPECT_EQ(status(0), sr::UDP);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 18U);
}

// 3.2, 12 no. 17: every command in every state where it is not legal is taken and does nothing.
TEST_F(CommandTest, IllegalCommandsAreTakenAndDoNothing) {
  const auto check = [this](std::uint8_t state, std::initializer_list<std::uint8_t> illegal) {
    for (const std::uint8_t code : illegal) {
      command(0, code);
      EXPECT_EQ(get(0, "Sn_CR"), 0U) << int{code};
      EXPECT_EQ(status(0), state) << "after " << int{code};
    }
    expect_silence_where_it_is_heard();
    EXPECT_EQ(interrupts(0), 0U);
  };
  check(sr::CLOSED, {cr::LISTEN, cr::CONNECT, cr::DISCON, cr::SEND, cr::SEND_MAC, cr::RECV, 0x23, 0x27, 0x80, 0xFF});
  open(0, mode::UDP, 5000);
  check(sr::UDP, {cr::LISTEN, cr::CONNECT, cr::OPEN, 0x03, 0x23, 0xFF});
  command(0, cr::CLOSE);
  open(0, mode::TCP, 5000);
  check(sr::INIT, {cr::OPEN, cr::SEND, cr::SEND_MAC, 0x23});
  command(0, cr::LISTEN);
  check(sr::LISTEN, {cr::OPEN, cr::LISTEN, cr::CONNECT, cr::SEND, cr::SEND_MAC});
}

TEST_F(TcpCommandTest, IllegalCommandsInAConnectionAreTakenAndDoNothing) {
  establish();
  for (const std::uint8_t code : {cr::OPEN, cr::LISTEN, cr::CONNECT, cr::SEND_MAC, std::uint8_t{0x23}}) {
    command(0, code);
    EXPECT_EQ(get(0, "Sn_CR"), 0U) << int{code};
    EXPECT_EQ(status(0), sr::ESTABLISHED) << "after " << int{code};
  }
  wait(1ms);
  EXPECT_SILENCE();
}

// 3.2: the habit of ioLibrary: CLOSE first, whatever the state.
TEST_F(CommandTest, CloseOfAClosedSocketIsHarmless) {
  command(0, cr::CLOSE);
  EXPECT_EQ(status(0), sr::CLOSED);
  open(0, mode::TCP, 5000);
  EXPECT_EQ(status(0), sr::INIT);
}

TEST_F(CommandTest, CloseLeavesInitAndListenSilently) {
  for (const bool listening : {false, true}) {
    open(0, mode::TCP, 5000);
    if (listening) command(0, cr::LISTEN);
    EXPECT_EQ(status(0), listening ? sr::LISTEN : sr::INIT);
    command(0, cr::CLOSE);
    EXPECT_EQ(status(0), sr::CLOSED);
    EXPECT_EQ(interrupts(0), 0U);
  }
  expect_silence_where_it_is_heard();
}

TEST_F(TcpCommandTest, CloseLeavesAConnectionSilently) {
  establish();
  command(0, cr::CLOSE);
  EXPECT_EQ(status(0), sr::CLOSED);
  wait(60s);
  EXPECT_SILENCE();
}

// 3.2: socket() of ioLibrary, CLOSE first, and its close(): over and over, in every mode.
TEST_F(CommandTest, SocketAndCloseOfIolibraryWork) {
  for (const auto& [sn_mr, state] :
       {std::pair{mode::TCP, sr::INIT}, {mode::UDP, sr::UDP}, {mode::MACRAW, sr::MACRAW}, {mode::IPRAW, sr::IPRAW}}) {
    command(0, cr::CLOSE);
    set(0, "Sn_IR", 0xFF);
    EXPECT_EQ(status(0), sr::CLOSED);
    set(0, "Sn_MR", sn_mr);
    set(0, "Sn_PORT", 5000);
    command(0, cr::OPEN);
    EXPECT_EQ(get(0, "Sn_CR"), 0U);
    EXPECT_EQ(status(0), state);
    EXPECT_EQ(interrupts(0), 0U);
  }
}

// 3.4: Sn_SR of a socket does not touch that of another.
TEST_F(CommandTest, StatesAreEachSocketsOwn) {
  open(2, mode::UDP, 1);
  open(0, mode::TCP, 5000);
  command(0, cr::LISTEN);
  open(7, mode::TCP, 3);
  const std::uint64_t expected[] = {sr::LISTEN, 0, sr::UDP, 0, 0, 0, 0, sr::INIT};
  for (int n = 0; n < 8; ++n) EXPECT_EQ(status(n), expected[n]) << n;
}

// 2.1, 5.10: PPPoE framing is not modelled, and a run that needs it says so.
TEST_F(CommandTest, PppoeIsStoredAndFoundNotToBeModelled) {
  REQUIRES(judge);
  set("MR", 0x08);
  EXPECT_EQ(get("MR"), 0x08U);
  EXPECT_EQ(target().broken_rules(), (std::vector<std::string>{}));  // the bit alone: two libraries probe with it
  open(0, mode::UDP, 5000);
  EXPECT_EQ(target().broken_rules(), (std::vector<std::string>{"not-modelled"}));
}

// 2, 5.10: without MR.PPPoE the PPPoE registers are storage, and with it they do nothing either: no LCP echo every
// PTIMER, no other frame, and no session frame is taken.
TEST_F(CommandTest, PppoeRegistersHaveNoEffect) {
  REQUIRES(peer);
  struct {
    std::string_view name;
    std::uint64_t reset, value;
  } const registers[] = {
      {"PTIMER", 0x28, 0x01}, {"PMAGIC", 0x00, 0x5A}, {"PHAR", 0, 0x020000000099},
      {"PSID", 0, 0x1234},    {"PMRU", 0xFFFF, 600},
  };
  for (const std::uint8_t mode : {std::uint8_t{0x00}, std::uint8_t{0x08}}) {
    configure();
    for (const auto& each : registers) {
      EXPECT_EQ(get(each.name), each.reset) << each.name;
      set(each.name, each.value);
      EXPECT_EQ(get(each.name), each.value) << each.name;
    }
    set("MR", mode);
    open(0, mode::UDP, 5000);
    address(0, wire::broadcast_ipv4, 9);
    send(0, counting(1000));  // above PMRU
    wait(1s);
    EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 1000});
    const Octets inside = peer().udp(1, 5000, counting(20));
    Octets session = {0x11, 0x00, 0x12, 0x34, 0x00, 0x32, 0x00, 0x21};  // RFC 2516: session 0x1234; PPP: IPv4
    session.insert(session.end(), inside.begin() + 14, inside.begin() + 14 + 48);
    peer().send(peer().ethernet(chip_mac, 0x8864, session));
    wait(1ms);
    EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
    EXPECT_EQ(get("IR"), 0U);
    EXPECT_SILENCE();
    set("MR", 0x80);  // all of them go back
    wait(1ms);
  }
}

// 4.4, 12 no. 14.
TEST_F(CommandTest, SendOfNothingOverUdpRaisesSendokAndSendsNothing) {
  open(1, mode::UDP, 5001);
  address(1, wire::broadcast_ipv4, 9);
  command(1, cr::SEND);
  expect_silence_where_it_is_heard();
  EXPECT_EQ(interrupts(1), ir::SENDOK);
  EXPECT_EQ(get(1, "Sn_TX_FSR"), 2048U);
}

TEST_F(TcpCommandTest, SendOfNothingRaisesSendokAndSendsNothing) {
  establish();
  command(0, cr::SEND);
  wait(1ms);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
  EXPECT_SILENCE();
}

// 4.4, 12 no. 13: SEND during SEND runs after it, with the TX_WR of that moment.
TEST_F(CommandTest, SendDuringSendRunsAfterIt) {
  REQUIRES(peer);
  open(1, mode::UDP, 5001);
  address(1, wire::broadcast_ipv4, 9);
  write(tx_of(1), 0, counting(30));
  set(1, "Sn_TX_WR", 10);
  set(1, "Sn_CR", cr::SEND);
  set(1, "Sn_TX_WR", 30);
  set(1, "Sn_CR", cr::SEND);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 10});
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 20});
  EXPECT_SILENCE();
  EXPECT_EQ(get(1, "Sn_TX_RD"), 30U);
}

// 3.4, 4.2: CLOSE in the middle of a SEND: neither SENDOK nor TIMEOUT, the next OPEN starts clean.
TEST_F(CommandTest, CloseDuringASendForgetsIt) {
  open(1, mode::UDP, 5001);
  address_nobody(1);
  send(1, counting(10));
  command(1, cr::CLOSE);
  EXPECT_EQ(status(1), sr::CLOSED);
  wait(5s);
  EXPECT_EQ(interrupts(1), 0U);
  if (target().has(Feature::peer)) peer().forget();
  open(1, mode::UDP, 5001);
  EXPECT_EQ(status(1), sr::UDP);
  EXPECT_EQ(get(1, "Sn_TX_FSR"), 2048U);
  wait(5s);
  expect_silence_where_it_is_heard();
}

// 9.3 and 5.6: one engine serves all sockets in turn.
TEST_F(CommandTest, SocketsSendInTurn) {
  REQUIRES(peer);
  for (int n = 0; n < 4; ++n) {
    open(n, mode::UDP, static_cast<std::uint16_t>(6000 + n));
    address(n, wire::broadcast_ipv4, 9);
    write(tx_of(n), 0, counting(10));
    set(n, "Sn_TX_WR", 10);
  }
  for (int n = 0; n < 4; ++n) set(n, "Sn_CR", cr::SEND);
  wait(1ms);
  for (int n = 0; n < 4; ++n) {
    EXPECT_FRAME({.kind = Kind::udp, .source_port = static_cast<std::uint16_t>(6000 + n)});
    EXPECT_EQ(interrupts(n), ir::SENDOK) << n;
  }
  EXPECT_SILENCE();
}

// Also when each of them has more to send than one frame takes: none is kept waiting by the two that alternate.
TEST_F(CommandTest, SocketsWithLongSendsTakeTurns) {
  REQUIRES(peer);
  for (int n = 0; n < 8; ++n) set(n, "Sn_TXBUF_SIZE", n < 4 ? 4 : 0);
  for (int n = 0; n < 4; ++n) {
    open(n, mode::UDP, static_cast<std::uint16_t>(6000 + n));
    address(n, wire::broadcast_ipv4, 9);
    write(tx_of(n), 0, counting(4000));
    set(n, "Sn_TX_WR", 4000);
  }
  for (int n = 0; n < 4; ++n) set(n, "Sn_CR", cr::SEND);
  wait(2ms);
  for (const std::size_t bytes : {1472U, 1472U, 1056U}) {
    for (int n = 0; n < 4; ++n) {
      EXPECT_FRAME({.kind = Kind::udp, .source_port = static_cast<std::uint16_t>(6000 + n), .data_bytes = bytes});
    }
  }
  EXPECT_SILENCE();
}

}  // namespace
}  // namespace wizloop::conformance
