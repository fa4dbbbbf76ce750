// Multicast UDP and IGMP versions 1 and 2: facts sections 3.1 (MULTI, MC, UCASTB) and 5.9.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

constexpr Ipv4Address group = wire::ipv4(239, 129, 2, 3);  // low 23 bits: 01 02 03
constexpr MacAddress group_mac = {0x01, 0x00, 0x5E, 0x01, 0x02, 0x03};
constexpr Ipv4Address all_hosts = wire::ipv4(224, 0, 0, 1);
constexpr MacAddress all_hosts_mac = {0x01, 0x00, 0x5E, 0, 0, 1};
constexpr std::uint8_t query = 0x11, report_v1 = 0x12, report_v2 = 0x16, leave = 0x17;  // RFC 2236

class MulticastTest : public PeerTest {
 protected:
  // The set-up of the datasheet: DHAR, DIPR, DPORT, PORT, MR, OPEN.
  void join(std::uint8_t bits = 0, int socket = 0) {
    set(socket, "Sn_DHAR", 0x01005E010203);
    address(socket, group, 3000);
    open(socket, static_cast<std::uint8_t>(mode::UDP | mode::MULTI | bits), 3000);
    wait(1ms);
  }
  void expect_igmp(std::uint8_t type, Ipv4Address to, const MacAddress& mac) {
    EXPECT_FRAME({.kind = Kind::igmp});
    const net::SeenFrame& frame = peer().seen().back();
    const Octets message = frame.data();
    ASSERT_GE(message.size(), 8U);
    EXPECT_EQ(message[0], type);
    EXPECT_EQ(load32(&message[4]), group);
    EXPECT_EQ(wire::internet_checksum(message), 0);
    EXPECT_EQ(frame.ip().destination, to);
    EXPECT_EQ(frame.ethernet().destination, mac);
    EXPECT_EQ(frame.ip().ttl, 1);
  }
  void ask(Ipv4Address about, Ipv4Address to, const MacAddress& mac, bool damaged = false) {
    Octets message = {query, 10, 0, 0, 0, 0, 0, 0};
    store32(&message[4], about);
    store16(&message[2], wire::internet_checksum(message));
    if (damaged) message[2] ^= 0xFF;
    peer().send(peer().ip(wire::protocol_igmp, message, {.destination = to, .destination_mac = mac}));
    wait(2s);  // the longest response time asked for is 1 s
  }
  std::uint64_t received_after(const net::ScriptedPeer::IpOptions& options, std::uint16_t port = 3000) {
    const std::uint64_t before = get(0, "Sn_RX_RSR");
    peer().send(peer().udp(1111, port, counting(10), options));
    wait(1ms);
    return get(0, "Sn_RX_RSR") - before;
  }
  static net::ScriptedPeer::IpOptions to_group() { return {.destination = group, .destination_mac = group_mac}; }
  static net::ScriptedPeer::IpOptions to_broadcast() {
    return {.destination = wire::broadcast_ipv4, .destination_mac = wire::broadcast_mac};
  }
};

TEST_F(MulticastTest, OpenReportsMembershipInVersionTwo) {
  join();
  EXPECT_EQ(status(0), sr::UDP);
  expect_igmp(report_v2, group, group_mac);
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, OpenReportsMembershipInVersionOneWithMc) {
  join(mode::IGMP_V1);
  expect_igmp(report_v1, group, group_mac);
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, CloseLeavesTheGroupInVersionTwo) {
  join();
  peer().forget();
  command(0, cr::CLOSE);
  wait(1ms);
  EXPECT_EQ(status(0), sr::CLOSED);
  EXPECT_FRAME({.kind = Kind::igmp});
  EXPECT_EQ(peer().seen()[0].data()[0], leave);
  EXPECT_EQ(load32(&peer().seen()[0].ip_payload()[4]), group);
  EXPECT_EQ(peer().seen()[0].ip().destination, wire::ipv4(224, 0, 0, 2));  // RFC 2236 9
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, CloseIsSilentInVersionOne) {
  join(mode::IGMP_V1);
  peer().forget();
  command(0, cr::CLOSE);
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, QueriesAreAnsweredByReports) {
  join();
  peer().forget();
  ask(0, all_hosts, all_hosts_mac);
  expect_igmp(report_v2, group, group_mac);
  ask(group, group, group_mac);
  expect_igmp(report_v2, group, group_mac);
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, QueriesForOthersAndDamagedOnesAreNotAnswered) {
  join();
  peer().forget();
  ask(wire::ipv4(239, 1, 1, 1), wire::ipv4(239, 1, 1, 1), {1, 0, 0x5E, 1, 1, 1});
  ask(0, all_hosts, all_hosts_mac, true);
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, NobodyAnswersQueriesAfterClose) {
  join();
  command(0, cr::CLOSE);
  wait(1ms);
  peer().forget();
  ask(0, all_hosts, all_hosts_mac);
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, OrdinaryUdpSocketJoinsNothing) {
  open(0, mode::UDP, 3000);
  wait(1ms);
  ask(0, all_hosts, all_hosts_mac);
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, GroupTrafficIsReceivedAsRecords) {
  join();
  EXPECT_EQ(received_after(to_group()), 18U);
  EXPECT_EQ(receive(0, 8), (Octets{192, 168, 1, 10, 0x04, 0x57, 0, 10}));
  EXPECT_EQ(receive(0, 10), counting(10));
}

TEST_F(MulticastTest, OtherGroupsAndOtherPortsAreNotReceived) {
  join();
  EXPECT_EQ(
      received_after({.destination = wire::ipv4(239, 1, 1, 1), .destination_mac = MacAddress{1, 0, 0x5E, 1, 1, 1}}),
      0U);
  EXPECT_EQ(received_after(to_group(), 3001), 0U);
}

TEST_F(MulticastTest, OrdinaryUdpSocketGetsNoGroupTraffic) {
  open(0, mode::UDP, 3000);
  EXPECT_EQ(received_after(to_group()), 0U);
}

TEST_F(MulticastTest, GroupTrafficToAClosedPortIsNotRefused) {
  join();
  peer().forget();
  received_after(to_group(), 3001);
  EXPECT_SILENCE();
}

TEST_F(MulticastTest, UnicastIsReceivedUnlessUcastb) {
  join();
  EXPECT_EQ(received_after({}), 18U);
  command(0, cr::CLOSE);
  join(mode::UCASTB);
  EXPECT_EQ(received_after({}), 0U);
  EXPECT_EQ(received_after(to_group()), 18U);
}

TEST_F(MulticastTest, BroadcastIsReceivedUnlessBcastb) {
  join();
  EXPECT_EQ(received_after(to_broadcast()), 18U);
  command(0, cr::CLOSE);
  join(mode::BCASTB);
  EXPECT_EQ(received_after(to_broadcast()), 0U);
  EXPECT_EQ(received_after(to_group()), 18U);
}

// 5.2, 5.9: no ARP, MAC from Sn_DHAR as the host set it, TTL of the socket.
TEST_F(MulticastTest, SendGoesToTheGroupWithoutArp) {
  set(0, "Sn_TTL", 5);
  join();
  peer().forget();
  send(0, counting(10));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .source_port = 3000, .destination_port = 3000, .data_bytes = 10});
  EXPECT_EQ(peer().seen()[0].ethernet().destination, group_mac);
  EXPECT_EQ(peer().seen()[0].ip().destination, group);
  EXPECT_EQ(peer().seen()[0].ip().ttl, 5);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

// 4.4, 5.9: seen from the registers: UDP after OPEN in both versions, SENDOK without any answer.
class MulticastRegistersTest : public ConfiguredTest {};

TEST_F(MulticastRegistersTest, SendToTheGroupRaisesSendok) {
  for (const std::uint8_t version : {std::uint8_t{0}, mode::IGMP_V1}) {
    set(0, "Sn_DHAR", 0x01005E010203);
    address(0, group, 3000);
    open(0, static_cast<std::uint8_t>(mode::UDP | mode::MULTI | version), 3000);
    EXPECT_EQ(status(0), sr::UDP);
    send(0, counting(10));
    wait(1ms);
    EXPECT_EQ(interrupts(0), ir::SENDOK);
    EXPECT_EQ(get(0, "Sn_TX_RD"), 10U);
    clear_interrupts(0);
    command(0, cr::CLOSE);
    EXPECT_EQ(status(0), sr::CLOSED);
    EXPECT_EQ(interrupts(0), 0U);
  }
}

TEST_F(MulticastTest, EachSocketMayHaveAGroupOfItsOwn) {
  join();
  constexpr Ipv4Address other = wire::ipv4(239, 7, 7, 7);
  set(1, "Sn_DHAR", 0x01005E070707);
  address(1, other, 3001);
  open(1, mode::UDP | mode::MULTI, 3001);
  wait(1ms);
  peer().send(
      peer().udp(1, 3001, counting(5), {.destination = other, .destination_mac = MacAddress{1, 0, 0x5E, 7, 7, 7}}));
  wait(1ms);
  EXPECT_EQ(get(1, "Sn_RX_RSR"), 13U);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  peer().forget();
  ask(0, all_hosts, all_hosts_mac);
  EXPECT_FRAME({.kind = Kind::igmp});
  EXPECT_FRAME({.kind = Kind::igmp});
  EXPECT_SILENCE();
}

}  // namespace
}  // namespace wizloop::conformance
