// ICMP: facts section 5.4.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class IcmpTest : public PeerTest {
 protected:
  // An ICMP destination unreachable that quotes a datagram of the chip's.
  void unreachable(std::uint8_t code, Ipv4Address destination, std::uint16_t port) {
    Octets message(8 + 20 + 8);
    wire::Ipv4Header quoted;
    quoted.protocol = wire::protocol_udp;
    quoted.source = chip_ip;
    quoted.destination = destination;
    quoted.total_length = 36;
    quoted.emit(&message[8]);
    store16(&message[28], 5000);
    store16(&message[30], port);
    store16(&message[32], 16);
    wire::IcmpHeader{3, code, 0, 0}.emit(message);
    peer().send(peer().ip(wire::protocol_icmp, message, {}));
    wait(1ms);
  }
  std::uint8_t last_type() { return peer().seen().back().ip_payload()[0]; }
};

TEST_F(IcmpTest, AnswersPingWithoutASocket) {
  const Instant arrived = peer().send(peer().ping(7, 3, counting(56)));
  wait(1ms);
  EXPECT_FRAME_AT(arrived + 10us + 10ns * (20 + 8 + 56), {.kind = Kind::icmp, .data_bytes = 56});  // 9.3
  const net::SeenFrame& reply = peer().seen().back();
  const wire::IcmpHeader icmp = wire::IcmpHeader::parse(reply.ip_payload()).value();
  EXPECT_EQ(icmp.type, wire::IcmpHeader::echo_reply);
  EXPECT_EQ(icmp.identifier, 7);
  EXPECT_EQ(icmp.sequence, 3);
  EXPECT_EQ(reply.data(), counting(56));
  EXPECT_EQ(reply.ip().source, chip_ip);
  EXPECT_EQ(reply.ip().destination, peer_ip());
}

TEST_F(IcmpTest, ReplyGoesToTheMacOfTheRequest) {
  Octets frame = peer().ping(1, 1, counting(56));
  const MacAddress router = {2, 0, 0, 0, 0, 1};
  std::copy(router.begin(), router.end(), frame.begin() + 6);
  peer().send(frame);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::icmp});
  EXPECT_EQ(peer().seen()[0].ethernet().destination, router);
}

// 2.1 PB.
TEST_F(IcmpTest, PingBlockKeepsItSilent) {
  set("MR", 0x10);
  peer().send(peer().ping(1, 1, counting(56)));
  wait(1ms);
  EXPECT_SILENCE();
  set("MR", 0);
  peer().send(peer().ping(1, 1, counting(56)));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::icmp});
}

TEST_F(IcmpTest, PingsOfAllSizesUpTo1472AreAnswered) {
  for (const std::size_t size : {0U, 1U, 17U, 18U, 19U, 56U, 1000U, 1471U, 1472U}) {
    peer().send(peer().ping(1, 1, counting(size)));
    wait(1ms);
    EXPECT_FRAME({.kind = Kind::icmp, .data_bytes = size});
    EXPECT_EQ(peer().seen().back().data(), counting(size));
  }
}

TEST_F(IcmpTest, FragmentedPingGetsNoAnswer) {
  Octets message(8 + 1472, 0x55);
  wire::IcmpHeader{8, 0, 1, 1}.emit(message);
  peer().send(peer().ip(wire::protocol_icmp, message, {.flags_and_fragment = 0x2000}));
  peer().send(peer().ip(wire::protocol_icmp, Octets(100), {.flags_and_fragment = 185}));
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(IcmpTest, PingToBroadcastOrMulticastGetsNoAnswer) {
  Octets message(64);
  wire::IcmpHeader{8, 0, 1, 1}.emit(message);
  peer().send(peer().ip(wire::protocol_icmp, message,
                        {.destination = wire::broadcast_ipv4, .destination_mac = wire::broadcast_mac}));
  peer().send(peer().ip(wire::protocol_icmp, message,
                        {.destination = wire::ipv4(192, 168, 1, 255), .destination_mac = wire::broadcast_mac}));
  peer().send(peer().ip(wire::protocol_icmp, message,
                        {.destination = wire::ipv4(224, 0, 0, 1), .destination_mac = MacAddress{1, 0, 0x5E, 0, 0, 1}}));
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(IcmpTest, DamagedPingGetsNoAnswer) {
  Octets frame = peer().ping(1, 1, counting(56));
  frame[60] ^= 1;
  peer().send(frame);
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(IcmpTest, OtherTypesAreIgnored) {
  for (const std::uint8_t type : Octets{0, 4, 5, 9, 11, 13, 17}) {
    Octets message(64);
    wire::IcmpHeader{type, 0, 1, 1}.emit(message);
    peer().send(peer().ip(wire::protocol_icmp, message, {}));
  }
  wait(1ms);
  EXPECT_SILENCE();
  EXPECT_EQ(get("IR"), 0U);
}

TEST_F(IcmpTest, WithoutAnAddressPingsAreIgnored) {
  set("SIPR", 0);
  peer().send(peer().ping(1, 1, counting(56)));
  wait(1ms);
  EXPECT_SILENCE();
}

// 2.2 UNREACH; UIPR and UPORTR are those of the datagram that caused it.
TEST_F(IcmpTest, PortUnreachableIsReportedWithAddressAndPort) {
  open(0, mode::UDP, 5000);
  unreachable(3, peer_ip(), 777);
  EXPECT_EQ(get("IR"), 0x40U);
  EXPECT_EQ(get("UIPR"), peer_ip());
  EXPECT_EQ(get("UPORTR"), 777U);
  EXPECT_EQ(status(0), sr::UDP);  // sockets unaffected
  EXPECT_EQ(interrupts(0), 0U);
  set("IR", 0x40);
  EXPECT_EQ(get("IR"), 0U);
  EXPECT_EQ(get("UIPR"), peer_ip());
}

TEST_F(IcmpTest, LastPortUnreachableIsTheOneShown) {
  unreachable(3, peer_ip(), 777);
  unreachable(3, wire::ipv4(192, 168, 1, 99), 888);
  EXPECT_EQ(get("UIPR"), wire::ipv4(192, 168, 1, 99));
  EXPECT_EQ(get("UPORTR"), 888U);
}

TEST_F(IcmpTest, OtherKindsOfUnreachableAreNotReported) {
  for (const std::uint8_t code : Octets{0, 1, 2, 4}) unreachable(code, peer_ip(), 777);
  EXPECT_EQ(get("IR"), 0U);
  EXPECT_EQ(get("UIPR"), 0U);
}

TEST_F(IcmpTest, UnreachableDoesNotTouchATcpSocket) {
  net::ScriptedConnection tcp{peer(), 40000, 5000};
  open(0, mode::TCP, 5000);
  command(0, cr::LISTEN);
  ASSERT_TRUE(tcp.establish_to_listener([this](Duration duration) { wait(duration); }));
  unreachable(3, peer_ip(), 40000);
  EXPECT_EQ(status(0), sr::ESTABLISHED);
}

// UDP to a port that no socket holds: quoting IP header and eight bytes.
TEST_F(IcmpTest, DatagramThatNobodyHoldsDrawsPortUnreachable) {
  const Octets asked = peer().udp(1111, 6000, counting(30));
  peer().send(asked);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::icmp, .data_bytes = 28});
  const net::SeenFrame& frame = peer().seen()[0];
  EXPECT_EQ(frame.ip_payload()[0], 3);
  EXPECT_EQ(frame.ip_payload()[1], 3);
  EXPECT_EQ(frame.data(), Octets(asked.begin() + 14, asked.begin() + 14 + 28));
  EXPECT_EQ(frame.ethernet().destination, peer_mac());
}

TEST_F(IcmpTest, BroadcastThatNobodyHoldsDrawsNothing) {
  peer().send(peer().udp(1111, 6000, counting(30),
                         {.destination = wire::broadcast_ipv4, .destination_mac = wire::broadcast_mac}));
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(IcmpTest, ClosedSocketsPortDrawsPortUnreachableAgain) {
  open(0, mode::UDP, 6000);
  peer().send(peer().udp(1111, 6000, counting(30)));
  wait(1ms);
  EXPECT_SILENCE();
  command(0, cr::CLOSE);
  peer().send(peer().udp(1111, 6000, counting(30)));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::icmp});
}

}  // namespace
}  // namespace wizloop::conformance
