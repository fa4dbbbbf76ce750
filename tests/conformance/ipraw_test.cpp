// IPRAW (undocumented in the datasheet; WIZnet's IPRAW application note): facts sections 3.1, 4.3 and 5.10.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

constexpr std::uint8_t some_protocol = 253;  // RFC 3692: experiments

class IprawTest : public ConfiguredTest {
 protected:
  void open_raw(std::uint8_t protocol, int socket = 1) {
    set(socket, "Sn_PROTO", protocol);
    open(socket, mode::IPRAW, 0);
  }
  // Whose packets go to the peer, which answers ARP.
  void open_to_peer(std::uint8_t protocol) {
    peer().answer_arp(true);
    open_raw(protocol, 1);
    address(1, peer_ip(), 0);
  }
  std::uint64_t received_after(std::uint8_t protocol, const Octets& payload,
                               const net::ScriptedPeer::IpOptions& options = {}) {
    const std::uint64_t before = get(1, "Sn_RX_RSR");
    peer().send(peer().ip(protocol, payload, options));
    wait(1ms);
    return get(1, "Sn_RX_RSR") - before;
  }
};

TEST_F(IprawTest, OpenGivesIprawOnEverySocket) {
  for (int n = 0; n < 8; ++n) {
    open_raw(some_protocol, n);
    EXPECT_EQ(status(n), sr::IPRAW) << n;
  }
}

// 4.3: source IP, payload length, payload.
TEST_F(IprawTest, RecordHasASixByteHeader) {
  REQUIRES(peer);
  open_to_peer(some_protocol);
  EXPECT_EQ(received_after(some_protocol, counting(30)), 36U);
  EXPECT_EQ(interrupts(1), ir::RECV);
  EXPECT_EQ(receive(1, 6), (Octets{192, 168, 1, 10, 0, 30}));
  EXPECT_EQ(receive(1, 30), counting(30));
}

TEST_F(IprawTest, OtherProtocolsAndOtherDestinationsAreNotTaken) {
  REQUIRES(peer);
  open_to_peer(some_protocol);
  EXPECT_EQ(received_after(254, counting(30)), 0U);
  EXPECT_EQ(received_after(some_protocol, counting(30), {.destination = wire::ipv4(192, 168, 1, 21)}), 0U);
  EXPECT_EQ(received_after(some_protocol, counting(30), {.flags_and_fragment = 0x2000}), 0U);
}

TEST_F(IprawTest, PacketThatDoesNotFitIsDropped) {
  REQUIRES(peer);
  open_to_peer(some_protocol);
  EXPECT_EQ(received_after(some_protocol, counting(1480)), 1486U);
  EXPECT_EQ(received_after(some_protocol, counting(557)), 0U);
  EXPECT_EQ(received_after(some_protocol, counting(556)), 562U);
}

// 3.5.
TEST_F(IprawTest, OpenLoadsTheLargestPayload) {
  for (const std::uint64_t written : {0U, 1481U, 65535U}) {
    set(1, "Sn_MSSR", written);
    open_raw(some_protocol);
    EXPECT_EQ(get(1, "Sn_MSSR"), 1480U);
    command(1, cr::CLOSE);
  }
}

TEST_F(IprawTest, LargestPacketCarries1480Bytes) {
  REQUIRES(peer);
  open_to_peer(some_protocol);
  send(1, counting(1480));
  wait(2ms);
  EXPECT_FRAME({.kind = Kind::arp});
  EXPECT_FRAME({.kind = Kind::other_ip});
  EXPECT_EQ(peer().seen().back().data(), counting(1480));
  EXPECT_SILENCE();
}

// SEND adds the IP header; ARP as UDP.
TEST_F(IprawTest, SendAddsTheIpHeaderAndAsksForTheMac) {
  REQUIRES(peer);
  set(1, "Sn_TTL", 9);
  open_to_peer(some_protocol);
  send(1, counting(40));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::arp, .target = peer_ip()});
  EXPECT_FRAME({.kind = Kind::other_ip});
  const net::SeenFrame& frame = peer().seen().back();
  EXPECT_EQ(frame.ip().protocol, some_protocol);
  EXPECT_EQ(frame.ip().source, chip_ip);
  EXPECT_EQ(frame.ip().destination, peer_ip());
  EXPECT_EQ(frame.ip().ttl, 9);
  EXPECT_EQ(frame.data(), counting(40));
  EXPECT_EQ(frame.ethernet().destination, peer_mac());
  EXPECT_EQ(interrupts(1), ir::SENDOK);
}

TEST_F(IprawTest, WithoutAnAnswerToArpItTimesOutAndStaysOpen) {
  set("RCR", 0);
  open_raw(some_protocol);
  address_nobody(1);
  send(1, counting(40));
  wait(1s);
  EXPECT_EQ(interrupts(1), ir::TIMEOUT);
  EXPECT_EQ(status(1), sr::IPRAW);
}

// WIZnet's ping example: an echo request out, its reply in.
TEST_F(IprawTest, PingFromTheHostWorks) {
  REQUIRES(peer);
  open_to_peer(wire::protocol_icmp);
  Octets request(8 + 32);
  wire::IcmpHeader{8, 0, 0x1234, 1}.emit(request);
  send(1, request);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::arp});
  EXPECT_FRAME({.kind = Kind::icmp, .data_bytes = 32});
  Octets reply(8 + 32);
  wire::IcmpHeader{0, 0, 0x1234, 1}.emit(reply);
  EXPECT_EQ(received_after(wire::protocol_icmp, reply), 46U);
  receive(1, 6);
  EXPECT_EQ(receive(1, 40), reply);
}

TEST_F(IprawTest, EchoRequestsAreStillAnsweredByTheChip) {
  REQUIRES(peer);
  open_to_peer(wire::protocol_icmp);
  peer().send(peer().ping(1, 1, counting(56)));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::icmp, .data_bytes = 56});
}

}  // namespace
}  // namespace wizloop::conformance
