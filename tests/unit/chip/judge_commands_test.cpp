// What the judge says of commands and of what they need.
#include "tests/unit/chip/judge_test.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

TEST_F(JudgeTest, OpenOnAnOpenSocketHasARuleOfItsOwn) {
  open_udp();
  EXPECT_THAT(broken(), IsEmpty());
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(seen(Rule::open_on_open_socket), ElementsAre("S0 Sn_CR = 0x01 while Sn_SR = 0x22"));
  EXPECT_THAT(seen(Rule::illegal_command), IsEmpty());
}

TEST_F(JudgeTest, OpenAfterCloseIsFree) {
  open_udp();
  board.command(0, sn_cr::CLOSE);
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, CommandsThatTheStateDoesNotKnowAreIllegal) {
  open_udp();
  board.command(0, sn_cr::CONNECT);
  board.command(0, 0x77);
  EXPECT_THAT(seen(Rule::illegal_command),
              ElementsAre("S0 Sn_CR = 0x04 while Sn_SR = 0x22", "S0 Sn_CR = 0x77 while Sn_SR = 0x22"));
}

TEST_F(JudgeTest, ACommandBeforeTheLastWasAcceptedIsFound) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.set8(0, socket::Sn_CR, sn_cr::OPEN);
  board.set8(0, socket::Sn_CR, sn_cr::CLOSE);
  EXPECT_THAT(seen(Rule::command_while_busy), ElementsAre("S0 Sn_CR = 0x10 while Sn_CR is 0x01"));
}

TEST_F(JudgeTest, ACommandAfterTheLastWasAcceptedIsFree) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.set8(0, socket::Sn_CR, sn_cr::OPEN);
  board.advance(200ns);
  board.set8(0, socket::Sn_CR, sn_cr::CLOSE);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, SendBeforeSendokIsFound) {
  open_udp();
  board.send(0, {1, 2});
  board.set16(0, socket::Sn_TX_WR, 2);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::send_while_sending), ElementsAre("S0 Sn_CR = 0x20 before SENDOK"));
}

TEST_F(JudgeTest, SendsOneAfterTheOtherAreFree) {
  open_udp();
  for (int i = 0; i < 100; ++i) {
    board.send(0, Octets(100, 1));
    finish_send();
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, SendokNeverClearedIsFoundAtTheNextSend) {
  open_udp();
  board.send(0, {1});
  board.advance(1ms);
  board.send(0, {2});
  EXPECT_THAT(seen(Rule::send_result_not_cleared), ElementsAre("S0 Sn_CR = 0x20 while Sn_IR = 0x10"));
}

TEST_F(JudgeTest, TimeoutOfAConnectNeverClearedIsFoundAtTheNextConnect) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::TCP);
  board.set16(0, socket::Sn_PORT, 50000);
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.set16(0, socket::Sn_DPORT, 5001);
  board.command(0, sn_cr::OPEN);
  board.command(0, sn_cr::CONNECT);
  board.advance(40s);  // nobody answers
  ASSERT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  board.command(0, sn_cr::OPEN);
  board.command(0, sn_cr::CONNECT);
  EXPECT_THAT(seen(Rule::send_result_not_cleared), ElementsAre("S0 Sn_CR = 0x04 while Sn_IR = 0x08"));
}

TEST_F(JudgeTest, TimeoutNeverClearedIsFoundAtTheNextSend) {
  open_udp();
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {1});
  board.advance(3s);
  board.send(0, {2});
  EXPECT_THAT(seen(Rule::send_result_not_cleared), ElementsAre("S0 Sn_CR = 0x20 while Sn_IR = 0x08"));
}

TEST_F(JudgeTest, CloseOnEstablishedIsFound) {
  board.configure();
  tcp.establish();
  board.command(0, sn_cr::CLOSE);
  EXPECT_THAT(seen(Rule::close_without_disconnect), ElementsAre("S0 Sn_CR = 0x10"));
  EXPECT_EQ(first(Rule::close_without_disconnect).evidence.state, "SOCK_ESTABLISHED");
}

TEST_F(JudgeTest, CloseAfterDisconnectIsFree) {
  board.configure();
  tcp.establish();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  board.command(0, sn_cr::CLOSE);
  EXPECT_THAT(broken(), IsEmpty());
}

// RST comes between a look at Sn_SR, which allowed the command, and the command.
TEST_F(JudgeTest, CommandThatTheNetworkHasForestalledIsFree) {
  for (const std::uint8_t command : {sn_cr::SEND, sn_cr::SEND_KEEP, sn_cr::DISCON, sn_cr::RECV}) {
    board.configure();
    tcp.establish();
    ASSERT_EQ(board.status(0), sn_sr::ESTABLISHED);
    tcp.rst();
    board.advance(1ms);
    board.command(0, command);
    EXPECT_THAT(broken(), IsEmpty()) << static_cast<int>(command);
    ASSERT_EQ(board.status(0), sn_sr::CLOSED);
    board.set8(0, socket::Sn_IR, 0xFF);
    tcp.seq = TestConnection::peer_iss + 1;
  }
}

TEST_F(JudgeTest, CommandThatGoesAgainstTheLookBeforeItIsIllegal) {
  board.configure();
  tcp.establish();
  ASSERT_EQ(board.status(0), sn_sr::ESTABLISHED);
  tcp.rst();
  board.advance(1ms);
  ASSERT_EQ(board.status(0), sn_sr::CLOSED);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::illegal_command), ElementsAre("S0 Sn_CR = 0x20 while Sn_SR = 0x00"));
}

TEST_F(JudgeTest, CommandWithoutAnyLookIsIllegal) {
  board.configure();
  tcp.establish();
  tcp.rst();
  board.advance(1ms);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::illegal_command), SizeIs(1));
}

TEST_F(JudgeTest, OneLookIsGoodForOneForestalledCommand) {
  board.configure();
  tcp.establish();
  ASSERT_EQ(board.status(0), sn_sr::ESTABLISHED);
  tcp.rst();
  board.advance(1ms);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), IsEmpty());
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::illegal_command), SizeIs(1));
}

TEST_F(JudgeTest, LookBeforeTheHostsOwnCloseExcusesNothing) {
  board.configure();
  tcp.establish();
  ASSERT_EQ(board.status(0), sn_sr::ESTABLISHED);
  board.command(0, sn_cr::DISCON);
  board.command(0, sn_cr::CLOSE);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), ElementsAre("illegal-command"));
}

// A server gives up at the moment at which somebody connects.
TEST_F(JudgeTest, CloseOfAConnectionThatCameBehindTheLookIsFree) {
  board.configure();
  tcp.listen();
  ASSERT_EQ(board.status(0), sn_sr::LISTEN);
  tcp.syn();
  board.advance(1ms);
  tcp.acknowledge(board.sent.back().tcp().sequence + 1);
  board.advance(1ms);
  board.command(0, sn_cr::CLOSE);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, CloseOfAConnectionThatSnIrHasToldIsFound) {
  board.configure();
  tcp.listen();
  ASSERT_EQ(board.status(0), sn_sr::LISTEN);
  tcp.syn();
  board.advance(1ms);
  tcp.acknowledge(board.sent.back().tcp().sequence + 1);
  board.advance(1ms);
  ASSERT_EQ(board.interrupts(0), sn_ir::CON);
  board.command(0, sn_cr::CLOSE);
  EXPECT_THAT(seen(Rule::close_without_disconnect), SizeIs(1));
}

TEST_F(JudgeTest, AnotherAddressUnderAConnectionIsFound) {
  board.configure();
  tcp.establish();
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.set16(0, socket::Sn_DPORT, TestConnection::peer_port);
  EXPECT_THAT(broken(), IsEmpty());  // the same as before
  board.set32(0, socket::Sn_DIPR, wire::ipv4(10, 0, 0, 1));
  board.set16(0, socket::Sn_DPORT, 80);
  EXPECT_THAT(seen(Rule::connection_readdressed), ElementsAre("S0 Sn_DIPR changed", "S0 Sn_DPORT changed"));
  EXPECT_EQ(first(Rule::connection_readdressed).evidence.state, "SOCK_ESTABLISHED");
}

TEST_F(JudgeTest, AnotherAddressWhileConnectAsksForTheMacIsFound) {
  board.configure();
  tcp.connect();
  board.set32(0, socket::Sn_DIPR, wire::ipv4(10, 0, 0, 1));
  EXPECT_THAT(seen(Rule::connection_readdressed), SizeIs(1));
}

TEST_F(JudgeTest, AnotherAddressWithoutAConnectionIsFree) {
  open_udp();
  board.set32(0, socket::Sn_DIPR, wire::ipv4(10, 0, 0, 1));
  tcp.board.command(0, sn_cr::CLOSE);
  tcp.listen();
  board.set16(0, socket::Sn_DPORT, 80);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, MulticastNeedsItsGroupBeforeOpen) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP | sn_mr::MULTI);
  board.set32(0, socket::Sn_DIPR, wire::ipv4(239, 255, 255, 250));
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(seen(Rule::multicast_without_group),
              ElementsAre("S0 Sn_DIPR = 239.255.255.250, Sn_DHAR = ff:ff:ff:ff:ff:ff"));
}

TEST_F(JudgeTest, MulticastWithItsGroupIsFree) {
  board.configure();
  board.set8(3, socket::Sn_MR, sn_mr::UDP | sn_mr::MULTI);
  board.set32(3, socket::Sn_DIPR, wire::ipv4(239, 255, 255, 250));
  board.write(TestBoard::registers_of(3), socket::Sn_DHAR, {0x01, 0x00, 0x5E, 0x7F, 0xFF, 0xFA});
  board.command(3, sn_cr::OPEN);
  EXPECT_THAT(seen(Rule::multicast_without_group), IsEmpty());
}

TEST_F(JudgeTest, ASocketWithoutOwnMacIsFound) {
  board.set8(0, socket::Sn_MR, sn_mr::TCP);
  board.command(0, sn_cr::OPEN);
  EXPECT_THAT(broken(), IsEmpty());
  board.command(0, sn_cr::LISTEN);
  EXPECT_THAT(seen(Rule::own_mac_missing), ElementsAre("S0 used with SHAR = 00:00:00:00:00:00"));
}

TEST_F(JudgeTest, AUnicastWithoutOwnIpIsFound) {
  open_udp();
  board.write(0, common::SIPR, {0, 0, 0, 0});
  board.send(0, {1});  // DHCP begins so
  finish_send();
  EXPECT_THAT(broken(), IsEmpty());
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {2});
  EXPECT_THAT(seen(Rule::own_ip_missing), ElementsAre("S0 Sn_DIPR = 0xC0A8010A while SIPR = 0"));
}

TEST_F(JudgeTest, SendAndConnectNeedADestination) {
  board.configure();
  board.set8(0, socket::Sn_MR, sn_mr::UDP);
  board.command(0, sn_cr::OPEN);
  board.send(0, {1});
  EXPECT_THAT(seen(Rule::destination_missing), ElementsAre("S0 Sn_DIPR = 0x00000000, Sn_DPORT = 0"));
  board.set8(1, socket::Sn_MR, sn_mr::TCP);
  board.command(1, sn_cr::OPEN);
  board.set32(1, socket::Sn_DIPR, peer_ip);
  board.command(1, sn_cr::CONNECT);
  EXPECT_THAT(seen(Rule::destination_missing),
              ElementsAre("S0 Sn_DIPR = 0x00000000, Sn_DPORT = 0", "S1 Sn_DIPR = 0xC0A8010A, Sn_DPORT = 0"));
}

}  // namespace
}  // namespace wizloop::test
