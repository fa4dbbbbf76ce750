// UDP: facts sections 4.3 and 4.4 (UDP), 5.9, and two checks of section 11.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class UdpTest : public PeerTest {
 protected:
  void SetUp() override {
    PeerTest::SetUp();
    if (IsSkipped()) return;
    peer().answer_arp(true);
    open(0, mode::UDP, 5000);
    address(0, peer_ip(), 9);
  }
  // SEND to an address that the socket has resolved already.
  void know_the_peer() {
    send(0, {0});
    wait(1ms);
    peer().forget();
    clear_interrupts(0);
  }
  void datagram(const Octets& data, const net::ScriptedPeer::IpOptions& options = {}) {
    peer().send(peer().udp(1111, 5000, data, options));
    wait(1ms);
  }
  net::ScriptedPeer::IpOptions to_broadcast() {
    return {.destination = wire::broadcast_ipv4, .destination_mac = wire::broadcast_mac};
  }
};

// Receiving -----------------------------------------------------------------------------------------------------------

// 11: RX_RSR 108; RECV is needed before it falls.
TEST_F(UdpTest, HundredBytesShowAs108AndStayUntilRecv) {
  datagram(counting(100));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 108U);
  read(rx_of(0), 0, 108);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 108U);
  set(0, "Sn_RX_RD", 108);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 108U);
  command(0, cr::RECV);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
}

// 4.3: source IP, source port, length of the payload, payload.
TEST_F(UdpTest, RecordHasAnEightByteHeader) {
  datagram({7, 8, 9});
  EXPECT_EQ(receive(0, 11), (Octets{192, 168, 1, 10, 0x04, 0x57, 0, 3, 7, 8, 9}));
}

TEST_F(UdpTest, RecordsFollowBackToBack) {
  for (std::uint8_t i = 1; i <= 5; ++i) datagram(counting(i));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 5U * 8 + 15);
  for (std::uint8_t i = 1; i <= 5; ++i) {
    const Octets record = receive(0, 8U + i);
    EXPECT_EQ(record[7], i);
    EXPECT_EQ(Octets(record.begin() + 8, record.end()), counting(i));
  }
}

// 1.5: drivers RECV in the middle of a record: header first, then the payload.
TEST_F(UdpTest, RecvInTheMiddleOfARecordWorks) {
  datagram(counting(50));
  receive(0, 8);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 50U);
  EXPECT_EQ(receive(0, 50), counting(50));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
}

// 5.9: empty datagram: header with length 0, and RECV.
TEST_F(UdpTest, EmptyDatagramIsARecordOfItsHeader) {
  datagram({});
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 8U);
  EXPECT_EQ(interrupts(0), ir::RECV);
  EXPECT_EQ(receive(0, 8), (Octets{192, 168, 1, 10, 0x04, 0x57, 0, 0}));
}

// 5.9: the largest datagram.
TEST_F(UdpTest, LargestDatagramIs1472Bytes) {
  datagram(counting(1472));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 1480U);
  const Octets record = receive(0, 1480);
  EXPECT_EQ(Octets(record.begin() + 8, record.end()), counting(1472));
}

// 4.3, 11: larger than the free space: dropped whole, older ones stay; exactly equal: kept.
TEST_F(UdpTest, DatagramThatDoesNotFitIsDroppedAndOlderOnesStay) {
  datagram(counting(1470));
  datagram(counting(563));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 1478U);
  datagram(counting(562));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 2048U);
  datagram({});
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 2048U);
  const Octets first = receive(0, 1478);
  EXPECT_EQ(Octets(first.begin() + 8, first.end()), counting(1470));
}

// 11: header included it is larger than an empty ring. (2041 bytes would be above one MTU anyhow: a smaller ring.)
TEST_F(UdpTest, DatagramLargerThanTheWholeRingIsDropped) {
  command(0, cr::CLOSE);
  set(0, "Sn_RXBUF_SIZE", 1);
  open(0, mode::UDP, 5000);
  datagram(counting(1017));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  EXPECT_EQ(interrupts(0), 0U);
  datagram(counting(1016));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 1024U);
}

// 4.3: the counters step once per datagram.
TEST_F(UdpTest, NobodySeesPartialRecords) {
  REQUIRES(exact_time);
  peer().send(peer().udp(1, 5000, counting(1000)));
  for (int i = 0; i < 200; ++i) {
    const std::uint64_t size = get(0, "Sn_RX_RSR");
    ASSERT_TRUE(size == 0 || size == 1008) << size;
    EXPECT_EQ(interrupts(0) != 0, size != 0);
    wait(1us);
  }
}

// 3.3: RECV is set again by RECV with data left, and not without.
TEST_F(UdpTest, RecvInterruptComesAgainWhileDataIsLeft) {
  datagram({1});
  datagram({2});
  clear_interrupts(0);
  receive(0, 9);
  EXPECT_EQ(interrupts(0), ir::RECV);
  clear_interrupts(0);
  receive(0, 9);
  EXPECT_EQ(interrupts(0), 0U);
}

// 5.9: any source.
TEST_F(UdpTest, AnySourceIsTaken) {
  datagram({1}, {.source = wire::ipv4(8, 8, 8, 8)});
  EXPECT_EQ(receive(0, 9), (Octets{8, 8, 8, 8, 0x04, 0x57, 0, 1, 1}));
}

TEST_F(UdpTest, OtherDestinationsAreNotTaken) {
  datagram({1}, {.destination = wire::ipv4(192, 168, 1, 21)});
  datagram({1}, {.destination_mac = MacAddress{2, 0, 0, 0, 0, 0x21}});
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  EXPECT_SILENCE();
}

TEST_F(UdpTest, BroadcastsAreTaken) {
  datagram({1}, to_broadcast());
  datagram({1}, {.destination = wire::ipv4(192, 168, 1, 255), .destination_mac = wire::broadcast_mac});
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 18U);
}

// 5.9: BCASTB without MULTI.
TEST_F(UdpTest, BroadcastBlockDropsBroadcasts) {
  command(0, cr::CLOSE);
  open(0, mode::UDP | mode::BCASTB, 5000);
  datagram({1}, to_broadcast());
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  datagram({1});
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 9U);
}

TEST_F(UdpTest, LowestSocketOnAPortTakesTheDatagram) {
  open(3, mode::UDP, 5000);
  datagram({1});
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 9U);
  EXPECT_EQ(get(3, "Sn_RX_RSR"), 0U);
}

TEST_F(UdpTest, EachPortGoesToItsOwnSocket) {
  for (int n = 1; n < 8; ++n) open(n, mode::UDP, static_cast<std::uint16_t>(5000 + n));
  for (int n = 0; n < 8; ++n) {
    peer().send(peer().udp(1, static_cast<std::uint16_t>(5000 + n), Octets(static_cast<std::size_t>(n))));
  }
  wait(1ms);
  for (int n = 0; n < 8; ++n) EXPECT_EQ(get(n, "Sn_RX_RSR"), 8U + static_cast<unsigned>(n));
}

// 5.3: checksum 0 is accepted, a wrong one is not.
TEST_F(UdpTest, ChecksumZeroIsAcceptedAndAWrongOneDropped) {
  Octets frame = peer().udp(1, 5000, Octets(30));
  frame[40] = frame[41] = 0;
  peer().send(frame);
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 38U);
  frame[40] = 0x12;
  frame[41] = 0x34;
  peer().send(frame);
  wait(1s);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 38U);
  EXPECT_SILENCE();
}

// 5.2: with SIPR = 0 a broadcast is still heard: DHCP.
TEST_F(UdpTest, WithoutAnAddressBroadcastsAreStillHeard) {
  set("SIPR", 0);
  set("SUBR", 0);
  datagram({1}, to_broadcast());
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 9U);
}

// RFC 2131, 4.1: the answer of a DHCP server, to an address that is not set yet. To others no datagram may seem ours.
TEST_F(UdpTest, WithoutAnAddressUnicastsToTheMacAreHeard) {
  set("SIPR", 0);
  datagram({1});
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 9U);
  datagram({1}, {.destination_mac = MacAddress{2, 0, 0, 0, 0, 0x99}});
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 9U);
  EXPECT_SILENCE();
}

// Sending -------------------------------------------------------------------------------------------------------------

TEST_F(UdpTest, SentDatagramCarriesPortsAddressesAndData) {
  send(0, counting(100));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::arp});
  EXPECT_FRAME({.kind = Kind::udp, .source_port = 5000, .destination_port = 9, .data_bytes = 100});
  const net::SeenFrame& frame = peer().seen().back();
  EXPECT_EQ(frame.data(), counting(100));
  EXPECT_EQ(frame.ip().source, chip_ip);
  EXPECT_EQ(frame.ip().destination, peer_ip());
  EXPECT_EQ(frame.ethernet().destination, peer_mac());
  EXPECT_EQ(frame.ethernet().source, chip_mac);
  EXPECT_NE(load16(&frame.ip_payload()[6]), 0);  // a checksum, and right: the peer's parser took it
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

// 3.3, 9.2: SENDOK once the frame has left.
TEST_F(UdpTest, SendokComesAfterTheLastBit) {
  REQUIRES(exact_time);
  know_the_peer();
  send(0, counting(1000));
  while (peer().seen().empty()) {
    EXPECT_EQ(interrupts(0), 0U);
    wait(100ns);
  }
  wait(2us);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

TEST_F(UdpTest, ShortDatagramIsPaddedToSixtyBytes) {
  know_the_peer();
  send(0, {1});
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 1U);
  EXPECT_EQ(peer().seen()[0].bytes.size(), 60U);
  EXPECT_EQ(peer().seen()[0].data(), Octets{1});
}

// 4.4: more than 1472 bytes are cut into datagrams of their own; no IP fragments.
TEST_F(UdpTest, LargeSendIsCutIntoDatagrams) {
  know_the_peer();
  send(0, counting(2047));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .source_port = 5000, .data_bytes = 1472});
  EXPECT_FRAME({.kind = Kind::udp, .source_port = 5000, .data_bytes = 575});
  EXPECT_SILENCE();
  for (const net::SeenFrame& frame : peer().seen()) EXPECT_FALSE(frame.ip().is_fragment());
  EXPECT_EQ(interrupts(0), ir::SENDOK);  // once, at the end
}

// What the registers show by themselves.
class UdpRegistersTest : public ConfiguredTest {};

// 3.5: Sn_MSSR after OPEN.
TEST_F(UdpRegistersTest, OpenLoadsTheLargestDatagramSize) {
  for (const std::uint64_t written : {0U, 1473U, 65535U}) {
    set(0, "Sn_MSSR", written);
    open(0, mode::UDP, 5000);
    EXPECT_EQ(get(0, "Sn_MSSR"), 1472U);
    command(0, cr::CLOSE);
  }
}

// 3.3, 4.2: what a socket shows of a datagram that it has sent.
TEST_F(UdpRegistersTest, SendokAndTheReadPointerTellThatADatagramHasLeft) {
  open(0, mode::UDP, 5000);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{1472}, std::size_t{2047}}) {
    const std::uint64_t before = get(0, "Sn_TX_RD");
    broadcast(0, counting(bytes));
    EXPECT_EQ(interrupts(0), ir::SENDOK);
    EXPECT_EQ(get(0, "Sn_TX_RD"), before + bytes);
    EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
    clear_interrupts(0);
  }
}

// 3.2 SEND_MAC, 8 no. 14: no ARP, so SENDOK whoever it reaches.
TEST_F(UdpRegistersTest, SendMacRaisesSendokWithoutAnyAnswer) {
  open(0, mode::UDP, 5000);
  address_nobody(0);
  set(0, "Sn_DHAR", 0x020000000099);
  send(0, counting(10), cr::SEND_MAC);
  wait(1ms);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

TEST_F(UdpTest, SmallerSegmentSizeCutsSmaller) {
  command(0, cr::CLOSE);
  set(0, "Sn_MSSR", 100);
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  send(0, counting(250));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 100});
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 100});
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 50});
}

// 5.9: DIPR and DPORT as of SEND; the port may change without ARP.
TEST_F(UdpTest, DestinationMayChangeWithEverySend) {
  know_the_peer();
  for (std::uint16_t port = 1; port < 5; ++port) {
    set(0, "Sn_DPORT", port);
    send(0, {1});
    wait(1ms);
    EXPECT_FRAME({.kind = Kind::udp, .destination_port = port});
  }
  EXPECT_SILENCE();
}

// 3.2 SEND_MAC: no ARP, to Sn_DHAR; 8 no. 14: SENDOK whoever it reaches.
TEST_F(UdpTest, SendMacUsesDharWithoutArp) {
  set(0, "Sn_DHAR", 0x020000000099);
  send(0, counting(10), cr::SEND_MAC);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 10});
  EXPECT_EQ(peer().seen()[0].ethernet().destination, (MacAddress{2, 0, 0, 0, 0, 0x99}));
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

TEST_F(UdpTest, SourceAddressIsSiprEvenWhenZero) {
  set("SIPR", 0);
  address(0, wire::broadcast_ipv4, 67);
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .destination_port = 67});
  EXPECT_EQ(peer().seen()[0].ip().source, 0U);
}

// 4.4: link down: UDP ends by ARP timeout if one is due.
TEST_F(UdpTest, WithoutLinkArpTimesOut) {
  REQUIRES(cable_switch);
  target().set_cable(false);
  wait(10ms);
  send(0, {1});
  wait(2s);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
  EXPECT_EQ(status(0), sr::UDP);
}

}  // namespace
}  // namespace wizloop::conformance
