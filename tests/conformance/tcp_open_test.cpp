// Opening a TCP connection: facts sections 5.1 and 5.5 (datasheet 4.2; RTR and RCR in 4.1), and the checks of section
// 11 about CONNECT and the second client.
#include <set>

#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

using wire::TcpHeader;

class TcpOpenTest : public TcpTest {
 protected:
  // CONNECT up to the first SYN, whose instant it returns.
  Instant connect_and_see_syn() {
    connect();
    wait(1ms);
    EXPECT_FRAME({.kind = Kind::arp, .target = peer_ip()});
    EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN});
    EXPECT_TRUE(tcp().learn_board_iss());
    return peer().seen().back().at;
  }
  // LISTEN up to the first SYN/ACK, whose instant it returns.
  Instant listen_and_see_syn_ack(std::uint16_t mss = 1460) {
    listen();
    tcp().syn(mss);
    wait(1ms);
    EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN | ACK});
    EXPECT_TRUE(tcp().learn_board_iss());
    return peer().seen().back().at;
  }
  // Keeps the chip's transmitter busy for 60 us before and 60 us after `at`: with the answer to a large ping.
  void occupy_transmitter_around(Instant at) {
    const Octets ping = peer().ping(1, 1, counting(1472));
    const Duration on_wire = wire::time_on_wire(ping.size(), Frequency{100'000'000});
    wait_until(at - on_wire / 2 - 25us - on_wire);  // 10 us and 10 ns per byte from the request to the reply
    peer().send(ping);
    wait_until(at);
    EXPECT_SILENCE();
  }
  TcpHeader from_port(std::uint16_t port, std::uint8_t flags, std::uint32_t sequence, std::uint32_t acknowledgment) {
    TcpHeader header = tcp().header(flags, acknowledgment);
    header.source_port = port;
    header.sequence = sequence;
    return header;
  }
};

// What the registers show of a socket that nobody answers.
class TcpUnansweredTest : public ConfiguredTest {};

// 3.5.
TEST_F(TcpUnansweredTest, OpenLoadsTheLargestSegmentSizeForZeroOrTooMuch) {
  for (const std::uint64_t written : {0U, 1461U, 65535U}) {
    set(0, "Sn_MSSR", written);
    open(0, mode::TCP, 5000);
    EXPECT_EQ(get(0, "Sn_MSSR"), 1460U);
    command(0, cr::CLOSE);
  }
}

TEST_F(TcpUnansweredTest, OpenKeepsASmallerSegmentSize) {
  set(0, "Sn_MSSR", 512);
  open(0, mode::TCP, 5000);
  command(0, cr::LISTEN);
  EXPECT_EQ(get(0, "Sn_MSSR"), 512U);
}

TEST_F(TcpUnansweredTest, EverySocketListensUntilItIsClosed) {
  for (int n = 0; n < 8; ++n) {
    open(n, mode::TCP, static_cast<std::uint16_t>(5000 + n));
    command(n, cr::LISTEN);
  }
  wait(10s);
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(status(n), sr::LISTEN) << n;
    EXPECT_EQ(interrupts(n), 0U) << n;
    command(n, cr::CLOSE);
    EXPECT_EQ(status(n), sr::CLOSED) << n;
  }
}

// 5.1, 5.2: CONNECT without an answer to ARP: CLOSED and TIMEOUT after RTR x (RCR + 1); until then INIT.
TEST_F(TcpUnansweredTest, ConnectToNobodyTimesOut) {
  set("RTR", 20000);  // 2 s
  set("RCR", 1);
  open(0, mode::TCP, 5000);
  address_nobody(0);
  const Instant begun = now();
  command(0, cr::CONNECT);
  wait_until(begun + 4s - 10us - target().jitter());
  EXPECT_EQ(status(0), sr::INIT);
  EXPECT_EQ(interrupts(0), 0U);
  wait(50us + 2 * target().jitter());
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
}

TEST_F(TcpUnansweredTest, SocketOpensAgainAfterATimeout) {
  set("RCR", 0);
  for (int i = 0; i < 2; ++i) {
    open(0, mode::TCP, 5000);
    EXPECT_EQ(status(0), sr::INIT);
    address_nobody(0);
    command(0, cr::CONNECT);
    wait(1s);
    EXPECT_EQ(status(0), sr::CLOSED);
    EXPECT_EQ(interrupts(0), ir::TIMEOUT);
    clear_interrupts(0);
  }
}

TEST_F(TcpUnansweredTest, CloseEndsAConnectBeforeItsTimeout) {
  open(0, mode::TCP, 5000);
  address_nobody(0);
  command(0, cr::CONNECT);
  command(0, cr::CLOSE);
  EXPECT_EQ(status(0), sr::CLOSED);
  wait(5s);
  EXPECT_EQ(interrupts(0), 0U);
}

// Listener ------------------------------------------------------------------------------------------------------------

TEST_F(TcpOpenTest, ListenerAnswersASynWithSynAck) {
  listen();
  const Instant arrived = tcp().syn();
  wait(1ms);
  EXPECT_FRAME_AT(arrived + syn_to_syn_ack, {.kind = Kind::tcp,
                                             .flags = SYN | ACK,
                                             .acknowledgment = tcp().iss() + 1,
                                             .window = 2048,
                                             .mss = 1460,
                                             .source_port = chip_port,
                                             .destination_port = peer_port,
                                             .data_bytes = 0});
  EXPECT_EQ(status(0), sr::SYNRECV);
  EXPECT_EQ(interrupts(0), 0U);
}

TEST_F(TcpOpenTest, AckCompletesTheHandshakeOfAListener) {
  listen_and_see_syn_ack();
  tcp().ack();
  wait(received + 10us);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_EQ(interrupts(0), ir::CON);
  wait(60s);
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

// The only option is MSS: 24 bytes of header in the SYN, 20 later.
TEST_F(TcpOpenTest, OnlyTheSynCarriesAnOption) {
  establish();
  listen();  // socket 0 is established; nothing happens
  send(0, counting(10));
  wait(1ms);
  EXPECT_EQ(peer().seen().back().tcp().header_bytes, 20U);
  command(0, cr::CLOSE);
  peer().forget();
  listen_and_see_syn_ack();
  EXPECT_EQ(peer().seen().back().tcp().header_bytes, 24U);
}

// No ARP: replies go to the source MAC of the SYN.
TEST_F(TcpOpenTest, ListenerAnswersToTheMacOfTheSyn) {
  listen();
  Octets frame = peer().tcp(from_port(peer_port, SYN, 77, 0));
  const MacAddress router = {2, 0, 0, 0, 0, 0x01};
  std::copy(router.begin(), router.end(), frame.begin() + 6);
  peer().send(frame);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN | ACK});
  EXPECT_EQ(peer().seen().back().ethernet().destination, router);
  EXPECT_EQ(read(registers_of(0), offset_of("Sn_DHAR"), 6), Octets(router.begin(), router.end()));
}

TEST_F(TcpOpenTest, ListenerLoadsAddressAndPortOfThePeer) {
  listen_and_see_syn_ack();
  EXPECT_EQ(get(0, "Sn_DIPR"), peer_ip());
  EXPECT_EQ(get(0, "Sn_DPORT"), peer_port);
}

// Not LISTEN again.
TEST_F(TcpOpenTest, UnansweredSynAckIsRepeatedAndClosesInTheEnd) {
  set("RCR", 3);
  const Instant first = listen_and_see_syn_ack();
  wait_until(first + 3s - 1us - target().jitter());
  EXPECT_EQ(status(0), sr::SYNRECV);
  wait(2us + 2 * target().jitter());
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
  for (const Duration after : {Duration{200ms}, Duration{600ms}, Duration{1400ms}}) {
    EXPECT_FRAME_AT(first + after, {.kind = Kind::tcp, .flags = SYN | ACK, .sequence = tcp().board_iss, .mss = 1460});
  }
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpOpenTest, LateAckStillCompletesTheHandshake) {
  listen_and_see_syn_ack();
  wait(5s);
  tcp().ack();
  wait(1ms);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  peer().forget();
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpOpenTest, RepeatedSynDrawsTheSameSynAck) {
  listen_and_see_syn_ack();
  const Instant again = tcp().syn();
  wait(1ms);
  EXPECT_FRAME_AT(again + syn_to_syn_ack, {.kind = Kind::tcp, .flags = SYN | ACK, .sequence = tcp().board_iss});
  EXPECT_SILENCE();
  tcp().ack();
  wait(1ms);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

// The peer's ACK overtakes the SYN/ACK that its repeated SYN asked for.
TEST_F(TcpOpenTest, AckRightBehindARepeatedSynCompletesTheHandshake) {
  REQUIRES(exact_time);
  listen_and_see_syn_ack();
  tcp().syn();
  tcp().ack();
  wait(1ms);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_SILENCE();
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = PSH | ACK, .sequence = chip_seq(0), .data_bytes = 10});
}

// The time to repeat the SYN/ACK has come, but the wire is not free: the ACK arrives before it leaves.
TEST_F(TcpOpenTest, AckWhileASynAckWaitsForTheWireCompletesTheHandshake) {
  REQUIRES(exact_time);
  const Instant first = listen_and_see_syn_ack();
  occupy_transmitter_around(first + 200ms);
  tcp().ack();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::icmp});
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = PSH | ACK, .sequence = chip_seq(0), .data_bytes = 10});
}

TEST_F(TcpOpenTest, SynWithAnotherNumberDuringTheHandshakeIsAcknowledgedOnly) {
  listen_and_see_syn_ack();
  const Instant arrived = tcp().segment(from_port(peer_port, SYN, tcp().iss() + 500, 0));
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack,
                  {.kind = Kind::tcp, .flags = ACK, .acknowledgment = tcp().iss() + 1, .data_bytes = 0});
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::SYNRECV);
  tcp().ack(tcp().board_iss + 1);
  wait(1ms);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

TEST_F(TcpOpenTest, SynOfAnotherClientDuringTheHandshakeIsRefused) {
  listen_and_see_syn_ack();
  tcp().segment(from_port(41000, SYN, 9000, 0));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST | ACK, .acknowledgment = 9001, .destination_port = 41000});
  EXPECT_EQ(status(0), sr::SYNRECV);
  tcp().ack(tcp().board_iss + 1);
  wait(1ms);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

TEST_F(TcpOpenTest, ResetDuringTheHandshakeClosesTheListener) {
  listen_and_see_syn_ack();
  tcp().rst();
  wait(1ms);
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0) & ir::TIMEOUT, 0U);
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpOpenTest, WrongAckDuringTheHandshakeDrawsReset) {
  listen_and_see_syn_ack();
  tcp().ack(tcp().board_iss + 100);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST, .sequence = tcp().board_iss + 100});
  EXPECT_EQ(status(0), sr::SYNRECV);
}

TEST_F(TcpOpenTest, AckThatCarriesDataOpensAndDelivers) {
  listen_and_see_syn_ack();
  tcp().data(counting(10));
  wait(1ms);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_EQ(interrupts(0), ir::CON | ir::RECV);
  EXPECT_EQ(receive(0, 10), counting(10));
}

TEST_F(TcpOpenTest, SynWithABadChecksumIsNotHeard) {
  listen();
  Octets frame = peer().tcp(from_port(peer_port, SYN, 1000, 0));
  frame[50] ^= 0x01;
  peer().send(frame);
  wait(1ms);
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::LISTEN);
}

TEST_F(TcpOpenTest, SynToTheBroadcastAddressIsNotHeard) {
  listen();
  const TcpHeader syn = from_port(peer_port, SYN, 1000, 0);
  Octets segment(syn.emitted_header_bytes());
  syn.emit(peer_ip(), wire::ipv4(192, 168, 1, 255), segment);
  peer().send(peer().ip(wire::protocol_tcp, segment,
                        {.destination = wire::ipv4(192, 168, 1, 255), .destination_mac = wire::broadcast_mac}));
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(TcpOpenTest, SegmentsOtherThanSynToAListenerDrawReset) {
  listen();
  tcp().segment(from_port(peer_port, ACK, 1000, 555));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST, .sequence = 555});
  tcp().segment(from_port(peer_port, SYN | ACK, 1000, 777));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST, .sequence = 777});
  EXPECT_EQ(status(0), sr::LISTEN);
}

// One socket, one connection ------------------------------------------------------------------------------------------

TEST_F(TcpOpenTest, SecondClientIsRefusedWhileTheOnlySocketIsEstablished) {
  establish();
  const Instant arrived = tcp().segment(from_port(41000, SYN, 9000, 0));
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack,
                  {.kind = Kind::tcp, .flags = RST | ACK, .acknowledgment = 9001, .destination_port = 41000});
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_EQ(interrupts(0), 0U);
}

TEST_F(TcpOpenTest, SeveralListenersOnAPortTakeClientsLowestFirst) {
  for (const int n : {5, 2}) {
    open(n, mode::TCP, chip_port);
    command(n, cr::LISTEN);
  }
  tcp().segment(from_port(41000, SYN, 1, 0));
  wait(1ms);
  EXPECT_EQ(status(2), sr::SYNRECV);
  EXPECT_EQ(status(5), sr::LISTEN);
  tcp().segment(from_port(41001, SYN, 1, 0));
  wait(1ms);
  EXPECT_EQ(status(5), sr::SYNRECV);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN | ACK, .destination_port = 41000});
  EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN | ACK, .destination_port = 41001});
  tcp().segment(from_port(41002, SYN, 1, 0));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST | ACK, .destination_port = 41002});
}

TEST_F(TcpOpenTest, SynOnTheOpenConnectionIsAcknowledgedAndChangesNothing) {
  establish();
  const Instant arrived = tcp().syn();
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack,
                  {.kind = Kind::tcp, .flags = ACK, .sequence = chip_seq(0), .acknowledgment = tcp().seq});
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

// Nobody there --------------------------------------------------------------------------------------------------------

TEST_F(TcpOpenTest, SynWithoutAListenerDrawsResetAck) {
  const Instant arrived = tcp().syn();
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack, {.kind = Kind::tcp,
                                             .flags = RST | ACK,
                                             .sequence = 0,
                                             .acknowledgment = tcp().iss() + 1,
                                             .source_port = chip_port,
                                             .destination_port = peer_port});
}

TEST_F(TcpOpenTest, AckWithoutAConnectionDrawsResetAtItsAcknowledgment) {
  tcp().segment(from_port(peer_port, ACK, 1000, 4711));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST, .sequence = 4711});
}

TEST_F(TcpOpenTest, DataAndFinWithoutAckAreCountedInTheResetAck) {
  tcp().segment(from_port(peer_port, FIN, 1000, 0), counting(10));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST | ACK, .acknowledgment = 1011});
}

TEST_F(TcpOpenTest, ResetWithoutAConnectionIsNotAnswered) {
  tcp().rst();
  wait(1ms);
  EXPECT_SILENCE();
}

// Client --------------------------------------------------------------------------------------------------------------

// 3.2: SR stays INIT until the SYN is out.
TEST_F(TcpOpenTest, StateStaysInitDuringArp) {
  open(0, mode::TCP, chip_port);
  address(0, peer_ip(), peer_port);
  command(0, cr::CONNECT);
  wait(100ms);
  EXPECT_EQ(status(0), sr::INIT);
  peer().send(peer().arp(wire::Arp::Operation::reply, chip_ip));
  wait(1ms);
  EXPECT_EQ(status(0), sr::SYNSENT);
}

TEST_F(TcpOpenTest, ClientHandshake) {
  connect_and_see_syn();
  EXPECT_EQ(status(0), sr::SYNSENT);
  const Instant arrived = tcp().syn_ack();
  wait(1ms);
  EXPECT_FRAME_AT(arrived + segment_to_ack, {.kind = Kind::tcp,
                                             .flags = ACK,
                                             .sequence = tcp().board_iss + 1,
                                             .acknowledgment = tcp().iss() + 1,
                                             .window = 2048,
                                             .data_bytes = 0});
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_EQ(interrupts(0), ir::CON);
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpOpenTest, SynOfAClientCarriesMssWindowAndPorts) {
  connect();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::arp});
  EXPECT_FRAME({.kind = Kind::tcp,
                .flags = SYN,
                .acknowledgment = 0,
                .window = 2048,
                .mss = 1460,
                .source_port = chip_port,
                .destination_port = peer_port,
                .data_bytes = 0});
  EXPECT_EQ(peer().seen().back().tcp().header_bytes, 24U);
}

// 11.
TEST_F(TcpOpenTest, ConnectToAnAbsentHostAsksNineTimesAndTimesOut) {
  open(0, mode::TCP, chip_port);
  address(0, peer_ip(), peer_port);
  command(0, cr::CONNECT);
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 1U);
  const Instant first = peer().seen()[0].at;
  wait_until(first + 1800ms - 1us - target().jitter());
  EXPECT_EQ(status(0), sr::INIT);
  wait(2us + 2 * target().jitter());
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
  for (int k = 0; k < 9; ++k) EXPECT_FRAME_AT(first + 200ms * k, {.kind = Kind::arp, .target = peer_ip()});
  wait(60s);
  EXPECT_SILENCE();
}

// 5.1: CONNECT spends up to ARPTO first, then up to TCPTO.
TEST_F(TcpOpenTest, ArpAnsweredAtTheLastMomentStillLeavesAllTheSyns) {
  set("RCR", 2);
  open(0, mode::TCP, chip_port);
  address(0, peer_ip(), peer_port);
  command(0, cr::CONNECT);
  wait(590ms);
  peer().send(peer().arp(wire::Arp::Operation::reply, chip_ip));
  wait(1ms);
  for (int i = 0; i < 3; ++i) EXPECT_FRAME({.kind = Kind::arp});
  EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN});
  const Instant first = peer().seen().back().at;
  wait(10s);
  EXPECT_FRAME_AT(first + 200ms, {.kind = Kind::tcp, .flags = SYN});
  EXPECT_FRAME_AT(first + 600ms, {.kind = Kind::tcp, .flags = SYN});
  EXPECT_SILENCE();
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
}

TEST_F(TcpOpenTest, ConnectOutsideTheSubnetAsksTheGateway) {
  open(0, mode::TCP, chip_port);
  address(0, wire::ipv4(8, 8, 8, 8), peer_port);
  command(0, cr::CONNECT);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::arp, .target = gateway_ip});
}

// No TIMEOUT.
TEST_F(TcpOpenTest, ResetInsteadOfSynAckClosesAtOnce) {
  connect_and_see_syn();
  tcp().segment(from_port(peer_port, RST | ACK, 0, tcp().board_iss + 1));
  wait(1ms);
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_EQ(interrupts(0) & ir::TIMEOUT, 0U);
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpOpenTest, ResetThatDoesNotAnswerTheSynIsIgnored) {
  connect_and_see_syn();
  tcp().segment(from_port(peer_port, RST | ACK, 0, tcp().board_iss + 55));
  wait(1ms);
  EXPECT_EQ(status(0), sr::SYNSENT);
}

TEST_F(TcpOpenTest, SynAckOfSomethingElseDrawsReset) {
  connect_and_see_syn();
  tcp().segment(from_port(peer_port, SYN | ACK, 1000, tcp().board_iss + 55));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST, .sequence = tcp().board_iss + 55});
  EXPECT_EQ(status(0), sr::SYNSENT);
}

TEST_F(TcpOpenTest, SimultaneousOpenIsRefused) {
  connect_and_see_syn();
  tcp().syn();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST | ACK, .acknowledgment = tcp().iss() + 1});
  EXPECT_EQ(status(0), sr::SYNSENT);
}

// The chip's last ACK was lost: the peer says SYN/ACK again.
TEST_F(TcpOpenTest, RepeatedSynAckIsAcknowledgedAgain) {
  connect_and_see_syn();
  tcp().syn_ack();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK});
  const Instant again = tcp().syn_ack();
  wait(1ms);
  EXPECT_FRAME_AT(again + segment_to_ack, {.kind = Kind::tcp, .flags = ACK, .acknowledgment = tcp().iss() + 1});
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

// The time to repeat the SYN has come, but the wire is not free: the SYN/ACK arrives before it leaves.
TEST_F(TcpOpenTest, SynAckWhileASynWaitsForTheWireIsAcknowledgedAsUsual) {
  REQUIRES(exact_time);
  const Instant first = connect_and_see_syn();
  occupy_transmitter_around(first + 200ms);
  tcp().syn_ack();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::icmp});
  EXPECT_FRAME({.kind = Kind::tcp,
                .flags = ACK,
                .sequence = tcp().board_iss + 1,
                .acknowledgment = tcp().iss() + 1,
                .data_bytes = 0});
  EXPECT_SILENCE();
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  EXPECT_EQ(get(0, "Sn_TX_RD"), chip_seq(0) & 0xFFFF);
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = PSH | ACK, .sequence = chip_seq(0), .data_bytes = 10});
}

TEST_F(TcpOpenTest, SynAckAfterSomeRetriesStillConnects) {
  connect_and_see_syn();
  wait(2s);  // three SYNs more
  tcp().syn_ack();
  wait(1ms);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
  peer().forget();
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(TcpOpenTest, PortZeroIsUsedAsItIs) {
  peer().answer_arp(true);
  open(0, mode::TCP, 0);
  address(0, peer_ip(), peer_port);
  command(0, cr::CONNECT);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::arp});
  EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN, .source_port = 0});
}

// Numbers -------------------------------------------------------------------------------------------------------------

TEST_F(TcpOpenTest, InitialSequenceNumbersDiffer) {
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 20; ++i) {
    listen_and_see_syn_ack();
    seen.insert(tcp().board_iss);
    command(0, cr::CLOSE);
  }
  EXPECT_EQ(seen.size(), 20U);
}

// 4.2, 12 no. 9 and 10.
TEST_F(TcpOpenTest, TxPointersStartAtTheFirstDataBytesNumberAndRxAtZero) {
  establish();
  EXPECT_EQ(get(0, "Sn_TX_RD"), chip_seq(0) & 0xFFFF);
  EXPECT_EQ(get(0, "Sn_TX_WR"), chip_seq(0) & 0xFFFF);
  EXPECT_EQ(get(0, "Sn_RX_RD"), 0U);
  EXPECT_EQ(get(0, "Sn_RX_WR"), 0U);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
}

TEST_F(TcpOpenTest, TxPointersOfAClientStartAnewWithTheConnection) {
  connect_and_see_syn();
  EXPECT_EQ(get(0, "Sn_TX_WR"), 0U);
  tcp().syn_ack();
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_WR"), chip_seq(0) & 0xFFFF);
}

TEST_F(TcpOpenTest, SynWindowIsTheSizeOfTheRxRing) {
  for (const std::uint64_t kib : {1U, 2U, 4U, 8U, 16U}) {
    for (int n = 0; n < 8; ++n) set(n, "Sn_RXBUF_SIZE", n == 0 ? kib : 0);
    peer().forget();
    listen();
    tcp().syn();
    wait(1ms);
    EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN | ACK, .window = static_cast<std::uint16_t>(kib * 1024)});
    command(0, cr::CLOSE);
  }
}

// 3.5: segment sizes.
TEST_F(TcpOpenTest, OwnSegmentSizeIsOffered) {
  set(0, "Sn_MSSR", 512);
  listen();
  EXPECT_EQ(get(0, "Sn_MSSR"), 512U);
  tcp().syn();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN | ACK, .mss = 512});
}

TEST_F(TcpOpenTest, PassiveOpenShowsThePeersSegmentSize) {
  establish(0, 700);
  EXPECT_EQ(get(0, "Sn_MSSR"), 700U);
}

TEST_F(TcpOpenTest, PassiveOpenShowsThePeersSegmentSizeAboveTheOwnToo) {
  set(0, "Sn_MSSR", 500);
  establish(0, 1460);
  EXPECT_EQ(get(0, "Sn_MSSR"), 1460U);
}

// What the register shows is not what the chip offers; the next peer meets a chip that has forgotten the last one.
TEST_F(TcpOpenTest, SegmentSizeOfOnePeerIsNotOfferedToAnyone) {
  for (const std::uint16_t mss : std::vector<std::uint16_t>{64, 0, 1460}) {
    peer().forget();
    const Instant first = listen_and_see_syn_ack(mss);
    EXPECT_EQ(peer().seen().back().tcp().mss, 1460U) << mss;
    EXPECT_EQ(get(0, "Sn_MSSR"), mss == 0 ? 536U : mss);
    wait_until(first + 201ms);
    EXPECT_FRAME({.kind = Kind::tcp, .flags = SYN | ACK, .mss = 1460});
    command(0, cr::CLOSE);
    open(0, mode::TCP, chip_port);
    EXPECT_EQ(get(0, "Sn_MSSR"), 1460U) << mss;
    command(0, cr::CLOSE);
  }
  peer().forget();
  connect_and_see_syn();
  EXPECT_EQ(peer().seen().back().tcp().mss, 1460U);
}

TEST_F(TcpOpenTest, OwnSegmentSizeOutlivesAPeerWithASmallerOne) {
  set(0, "Sn_MSSR", 512);
  for (const std::uint16_t mss : std::vector<std::uint16_t>{64, 1460}) {
    peer().forget();
    listen_and_see_syn_ack(mss);
    EXPECT_EQ(peer().seen().back().tcp().mss, 512U);
    command(0, cr::CLOSE);
  }
}

// RTR and RCR ---------------------------------------------------------------------------------------------------------

struct Retries {
  std::uint16_t rtr;
  std::uint8_t rcr;
  std::vector<int> waits_ms;
};

std::string retries_name(const testing::TestParamInfo<Retries>& row) {
  return "Rtr" + std::to_string(row.param.rtr) + "Rcr" + std::to_string(row.param.rcr);
}

class TcpRetryTest : public TcpOpenTest, public testing::WithParamInterface<Retries> {
 protected:
  // `first` was sent once and is repeated: at the instants of the table, then nothing more, and CLOSED with TIMEOUT.
  void expect_retries(Instant first, const FramePattern& pattern) {
    Duration total{};
    for (const int wait_ms : GetParam().waits_ms) total += std::chrono::milliseconds{wait_ms};
    wait_until(first + total - 1us - target().jitter());
    EXPECT_NE(status(0), sr::CLOSED);
    EXPECT_EQ(interrupts(0) & ir::TIMEOUT, 0U);
    wait(2us + 2 * target().jitter());
    EXPECT_EQ(status(0), sr::CLOSED);
    EXPECT_EQ(interrupts(0) & ir::TIMEOUT, ir::TIMEOUT);
    wait(120s);
    Instant at = first;
    for (std::size_t k = 0; k + 1 < GetParam().waits_ms.size(); ++k) {
      at += std::chrono::milliseconds{GetParam().waits_ms[k]};
      EXPECT_FRAME_AT(at, pattern);
    }
    EXPECT_SILENCE();
  }
  void set_retries() {
    set("RTR", GetParam().rtr);
    set("RCR", GetParam().rcr);
  }
};

// 5.1's table; 11.
TEST_P(TcpRetryTest, SynIsRepeatedAtTheInstantsOfTheTable) {
  set_retries();
  const Instant first = connect_and_see_syn();
  expect_retries(first, {.kind = Kind::tcp, .flags = SYN, .sequence = tcp().board_iss, .mss = 1460});
}

TEST_P(TcpRetryTest, SynAckIsRepeatedAtTheInstantsOfTheTable) {
  set_retries();
  const Instant first = listen_and_see_syn_ack();
  expect_retries(first, {.kind = Kind::tcp, .flags = SYN | ACK, .sequence = tcp().board_iss});
}

TEST_P(TcpRetryTest, DataIsRepeatedAtTheInstantsOfTheTable) {
  set_retries();
  establish();
  send(0, counting(100));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = PSH | ACK, .sequence = chip_seq(0), .data_bytes = 100});
  expect_retries(peer().seen().back().at,
                 {.kind = Kind::tcp, .flags = PSH | ACK, .sequence = chip_seq(0), .data_bytes = 100});
}

TEST_P(TcpRetryTest, FinIsRepeatedAtTheInstantsOfTheTable) {
  set_retries();
  establish();
  command(0, cr::DISCON);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = FIN | ACK, .sequence = chip_seq(0)});
  expect_retries(peer().seen().back().at, {.kind = Kind::tcp, .flags = FIN | ACK, .sequence = chip_seq(0)});
}

TEST_P(TcpRetryTest, FinFromCloseWaitIsRepeatedAtTheInstantsOfTheTable) {
  set_retries();
  establish();
  tcp().fin();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = ACK});
  command(0, cr::DISCON);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = FIN | ACK});
  expect_retries(peer().seen().back().at, {.kind = Kind::tcp, .flags = FIN | ACK, .acknowledgment = tcp().seq});
}

INSTANTIATE_TEST_SUITE_P(Table, TcpRetryTest,
                         testing::Values(Retries{2000, 8, {200, 400, 800, 1600, 3200, 6400, 6400, 6400, 6400}},
                                         Retries{2000, 3, {200, 400, 800, 1600}}, Retries{2000, 0, {200}},
                                         Retries{1000, 8, {100, 200, 400, 800, 1600, 3200, 6400, 6400, 6400}},
                                         Retries{500, 8, {50, 100, 200, 400, 800, 1600, 3200, 6400, 6400}},
                                         Retries{40000, 8, {4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000, 4000}}),
                         retries_name);

}  // namespace
}  // namespace wizloop::conformance
