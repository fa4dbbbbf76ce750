// ARP: facts sections 5.1 (ARP) and 5.2.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

using Operation = wire::Arp::Operation;

class ArpTest : public PeerTest {
 protected:
  void SetUp() override {
    PeerTest::SetUp();
    if (IsSkipped()) return;
    open(0, mode::UDP, 5000);
    address(0, peer_ip(), 9);
  }
  FramePattern request(Ipv4Address target) { return {.kind = Kind::arp, .target = target}; }
  // What a request that is not answered looks like: `count` of them, RTR apart, then TIMEOUT.
  void expect_requests(int count, Duration rtr) {
    send(0, {1});
    const Instant sent = now();
    wait(1ms);
    ASSERT_EQ(peer().seen().size(), 1U);
    const Instant first = peer().seen()[0].at;
    EXPECT_LT(first - sent, 10us + target().jitter());
    wait_until(first + rtr * count - 1us - target().jitter());
    EXPECT_EQ(interrupts(0), 0U);
    wait(2us + 2 * target().jitter());
    EXPECT_EQ(interrupts(0), ir::TIMEOUT);
    wait(60s);
    for (int k = 0; k < count; ++k) EXPECT_FRAME_AT(first + rtr * k, request(peer_ip()));
    EXPECT_SILENCE();
  }
};

// 5.1: ARPTO = RTR x (RCR + 1), as Sn_IR shows it by itself.
struct Patience {
  const char* name;
  std::uint64_t RTR, RCR;
  Duration timeout;
};
void PrintTo(const Patience& patience, std::ostream* out) { *out << patience.name; }

class ArpTimeoutTest : public ConfiguredTest, public testing::WithParamInterface<Patience> {};

TEST_P(ArpTimeoutTest, SnIrTellsWhenNobodyHasAnswered) {
  set("RTR", GetParam().RTR);
  set("RCR", GetParam().RCR);
  open(0, mode::UDP, 5000);
  address_nobody(0);
  const Instant begun = now();
  send(0, counting(5));
  const Duration surely_not_yet = GetParam().timeout - 10us - target().jitter();
  wait_until(begun + surely_not_yet);
  if (surely_not_yet > Duration{}) {
    EXPECT_EQ(interrupts(0), 0U);
  }
  wait(50us + 2 * target().jitter());
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
  EXPECT_EQ(status(0), sr::UDP);
  EXPECT_EQ(get(0, "Sn_TX_RD"), 5U);  // the datagram is lost
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
  clear_interrupts(0);
  broadcast(0, counting(3));  // and the socket is not
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

constexpr Patience patiences[] = {
    {"Defaults", 2000, 8, 1800ms},        {"RcrThree", 2000, 3, 800ms}, {"RcrZero", 2000, 0, 200ms},
    {"RtrThousand", 1000, 8, 900ms},      {"RtrOne", 1, 8, 900us},      {"RtrFortyThousand", 40000, 8, 36s},
    {"RtrLargest", 65535, 2, 19660500us},
};
INSTANTIATE_TEST_SUITE_P(Table, ArpTimeoutTest, testing::ValuesIn(patiences),
                         [](const auto& of) { return std::string{of.param.name}; });

// 5.2: requests for SIPR are answered without any socket.
TEST_F(ArpTest, AnswersForItsOwnAddress) {
  command(0, cr::CLOSE);
  const Instant asked = peer().send(peer().arp(Operation::request, chip_ip));
  wait(1ms);
  EXPECT_FRAME_AT(asked + arp_to_reply, {.kind = Kind::arp, .target = peer_ip()});
  const net::SeenFrame& reply = peer().seen().back();
  EXPECT_EQ(reply.arp().operation, Operation::reply);
  EXPECT_EQ(reply.arp().sender_mac, chip_mac);
  EXPECT_EQ(reply.arp().sender_ip, chip_ip);
  EXPECT_EQ(reply.arp().target_mac, peer_mac());
  EXPECT_EQ(reply.ethernet().destination, peer_mac());
  EXPECT_EQ(reply.ethernet().source, chip_mac);
}

TEST_F(ArpTest, DoesNotAnswerForOthers) {
  peer().send(peer().arp(Operation::request, wire::ipv4(192, 168, 1, 21)));
  peer().send(peer().arp(Operation::request, gateway_ip));
  wait(1ms);
  EXPECT_SILENCE();
}

// 5.2: SIPR = 0.
TEST_F(ArpTest, WithoutAnAddressItAnswersNobody) {
  set("SIPR", 0);
  peer().send(peer().arp(Operation::request, chip_ip));
  peer().send(peer().arp(Operation::request, 0));
  wait(1ms);
  EXPECT_SILENCE();
}

// 5.2: 42 bytes, padded to 60 with zeros.
TEST_F(ArpTest, RequestIsPaddedToSixtyBytesAndBroadcast) {
  send(0, {1});
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 1U);
  const net::SeenFrame& frame = peer().seen()[0];
  EXPECT_EQ(frame.bytes.size(), 60U);
  EXPECT_EQ(Octets(frame.bytes.begin() + 42, frame.bytes.end()), Octets(18, 0));
  EXPECT_EQ(frame.ethernet().destination, wire::broadcast_mac);
  EXPECT_EQ(frame.arp().operation, Operation::request);
  EXPECT_EQ(frame.arp().sender_mac, chip_mac);
  EXPECT_EQ(frame.arp().sender_ip, chip_ip);
  EXPECT_EQ(frame.arp().target_ip, peer_ip());
}

// 5.1: ARPTO = RTR x (RCR + 1), the wait constant.
TEST_F(ArpTest, DefaultsAskNineTimesEvery200Milliseconds) { expect_requests(9, 200ms); }
TEST_F(ArpTest, RcrThreeAsksFourTimes) {
  set("RCR", 3);
  expect_requests(4, 200ms);
}
TEST_F(ArpTest, RcrZeroAsksOnce) {
  set("RCR", 0);
  expect_requests(1, 200ms);
}
TEST_F(ArpTest, RtrThousandAsksEvery100Milliseconds) {
  set("RTR", 1000);
  expect_requests(9, 100ms);
}
TEST_F(ArpTest, RtrFiveHundredAsksEvery50Milliseconds) {
  set("RTR", 500);
  expect_requests(9, 50ms);
}
TEST_F(ArpTest, RtrFortyThousandAsksEveryFourSeconds) {
  set("RTR", 40000);
  expect_requests(9, 4s);
}
// 5.1: RTR = 0 acts as 1.
TEST_F(ArpTest, RtrZeroActsAsOne) {
  REQUIRES(exact_time);
  set("RTR", 0);
  set("RCR", 2);
  send(0, {1});
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 3U);
  EXPECT_EQ(peer().seen()[1].at - peer().seen()[0].at, 100us);
  EXPECT_EQ(peer().seen()[2].at - peer().seen()[0].at, 200us);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
}

// 5.2: Sn_DHAR becomes the answer's MAC, and keeps it for further SENDs to the same address.
TEST_F(ArpTest, AnswerGoesIntoDharAndLaterSendsReuseIt) {
  peer().answer_arp(true);
  send(0, {1});
  wait(1ms);
  EXPECT_FRAME(request(peer_ip()));
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 1});
  EXPECT_EQ(read(registers_of(0), offset_of("Sn_DHAR"), 6), Octets(peer_mac().begin(), peer_mac().end()));
  wait(3600s);  // without ageing
  send(0, {1, 2});
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 2});
  EXPECT_SILENCE();
}

// 5.2: first SEND after OPEN always asks.
TEST_F(ArpTest, FirstSendAfterOpenAsksAgain) {
  peer().answer_arp(true);
  for (int i = 0; i < 2; ++i) {
    send(0, {1});
    wait(1ms);
    EXPECT_FRAME(request(peer_ip()));
    EXPECT_FRAME({.kind = Kind::udp});
    command(0, cr::CLOSE);
    open(0, mode::UDP, 5000);
  }
}

// 5.2, 5.9: each change of DIPR costs an ARP.
TEST_F(ArpTest, ChangedDestinationAsksAgain) {
  peer().answer_arp(true);
  send(0, {1});
  wait(1ms);
  address(0, wire::ipv4(192, 168, 1, 77), 9);
  send(0, {1});
  wait(1ms);
  EXPECT_FRAME(request(peer_ip()));
  EXPECT_FRAME({.kind = Kind::udp});
  EXPECT_FRAME(request(wire::ipv4(192, 168, 1, 77)));
  EXPECT_SILENCE();
}

// 5.2: no cache is shared between sockets.
TEST_F(ArpTest, EachSocketAsksForItself) {
  peer().answer_arp(true);
  open(1, mode::UDP, 5001);
  address(1, peer_ip(), 9);
  for (int n = 0; n < 2; ++n) {
    send(n, {1});
    wait(1ms);
    EXPECT_FRAME(request(peer_ip()));
    EXPECT_FRAME({.kind = Kind::udp});
  }
}

// 2.1 FARP, 5.2.
TEST_F(ArpTest, ForcedArpAsksBeforeEverySend) {
  peer().answer_arp(true);
  set("MR", 0x02);
  for (int i = 0; i < 3; ++i) {
    send(0, {1});
    wait(1ms);
    EXPECT_FRAME(request(peer_ip()));
    EXPECT_FRAME({.kind = Kind::udp});
  }
}

// 5.2: the gateway for addresses outside the subnet.
TEST_F(ArpTest, OutsideTheSubnetTheGatewayIsAsked) {
  address(0, wire::ipv4(10, 0, 0, 1), 9);
  send(0, {1});
  wait(1ms);
  EXPECT_FRAME(request(gateway_ip));
  peer().send(peer().arp(Operation::reply, {peer_mac(), gateway_ip}, chip_ip));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp});
  EXPECT_EQ(peer().seen().back().ip().destination, wire::ipv4(10, 0, 0, 1));
  EXPECT_EQ(peer().seen().back().ethernet().destination, peer_mac());
}

// 5.2: SUBR decides what is outside.
TEST_F(ArpTest, SubnetMaskDecides) {
  set("SUBR", 0xFFFF0000);
  address(0, wire::ipv4(192, 168, 9, 1), 9);
  send(0, {1});
  wait(1ms);
  EXPECT_FRAME(request(wire::ipv4(192, 168, 9, 1)));
}

TEST_F(ArpTest, OutsideTheSubnetWithoutGatewayEndsInTimeout) {
  set("GAR", 0);
  address(0, wire::ipv4(10, 0, 0, 1), 9);
  send(0, {1});
  wait(1ms);
  EXPECT_FRAME(request(0));
  wait(2s);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
}

// 5.2: broadcasts need no ARP.
TEST_F(ArpTest, BroadcastsNeedNoRequest) {
  for (const Ipv4Address ip : {wire::broadcast_ipv4, wire::ipv4(192, 168, 1, 255)}) {
    address(0, ip, 9);
    send(0, {1});
    wait(1ms);
    EXPECT_FRAME({.kind = Kind::udp, .destination_port = 9});
    EXPECT_EQ(peer().seen().back().ethernet().destination, wire::broadcast_mac);
    EXPECT_SILENCE();
  }
}

// 5.2, failure: TIMEOUT, SR stays UDP, the data is dropped (4.4), the next SEND asks again.
TEST_F(ArpTest, TimeoutOfAUdpSendLosesTheDatagramAndKeepsTheSocket) {
  set("RCR", 0);
  send(0, counting(5));
  wait(1s);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
  EXPECT_EQ(status(0), sr::UDP);
  EXPECT_EQ(get(0, "Sn_TX_RD"), 5U);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
  peer().forget();
  peer().answer_arp(true);
  clear_interrupts(0);
  send(0, counting(3));
  wait(1ms);
  EXPECT_FRAME(request(peer_ip()));
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 3});
  EXPECT_SILENCE();
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

// 5.2: the first reply whose sender is the one asked for counts; later ones are ignored.
TEST_F(ArpTest, OnlyTheFirstReplyFromTheOneAskedForCounts) {
  send(0, {1});
  wait(1ms);
  EXPECT_FRAME(request(peer_ip()));
  const MacAddress wrong = {2, 0, 0, 0, 0, 0x66};
  peer().send(peer().arp(Operation::reply, {wrong, wire::ipv4(192, 168, 1, 66)}, chip_ip));
  wait(1ms);
  EXPECT_SILENCE();
  peer().send(peer().arp(Operation::reply, chip_ip));
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp});
  peer().send(peer().arp(Operation::reply, {wrong, peer_ip()}, chip_ip));
  wait(1ms);
  EXPECT_EQ(read(registers_of(0), offset_of("Sn_DHAR"), 6), Octets(peer_mac().begin(), peer_mac().end()));
}

// 5.2, 12 no. 33: a gratuitous ARP updates nothing.
TEST_F(ArpTest, GratuitousArpUpdatesNothing) {
  peer().send(peer().arp(Operation::request, {peer_mac(), peer_ip()}, peer_ip()));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_DHAR"), 0xFFFFFFFFFFFFU);
  send(0, {1});
  wait(1ms);
  EXPECT_FRAME(request(peer_ip()));
}

// 5.2: the chip never announces itself.
TEST_F(ArpTest, SettingAnAddressAnnouncesNothing) {
  set("SIPR", wire::ipv4(192, 168, 1, 30));
  wait(10s);
  EXPECT_SILENCE();
}

// 2.2, 5.2: conflict, without a defence.
TEST_F(ArpTest, ForeignUseOfItsAddressRaisesConflict) {
  const MacAddress other = {2, 0, 0, 0, 0, 0x66};
  for (const Operation operation : {Operation::request, Operation::reply}) {
    peer().send(peer().arp(operation, {other, chip_ip}, chip_ip));
    wait(1ms);
    EXPECT_EQ(get("IR"), 0x80U);
    EXPECT_SILENCE();
    set("IR", 0x80);
  }
}

// 2.2: a probe with sender 0.0.0.0 is no conflict, neither with SIPR = 0.
TEST_F(ArpTest, ProbeIsNoConflict) {
  peer().send(peer().arp(Operation::request, {peer_mac(), 0}, chip_ip));
  wait(1ms);
  EXPECT_EQ(get("IR"), 0U);
  set("SIPR", 0);
  peer().send(peer().arp(Operation::request, {peer_mac(), 0}, 0));
  wait(1ms);
  EXPECT_EQ(get("IR"), 0U);
}

// 5.2: its own MAC as the sender is no conflict.
TEST_F(ArpTest, OwnMacIsNoConflict) {
  peer().send(peer().arp(Operation::request, {chip_mac, chip_ip}, chip_ip));
  wait(1ms);
  EXPECT_EQ(get("IR") & 0x80, 0U);
}

// 5.1: a change of RTR counts from the next start of the timer.
TEST_F(ArpTest, RcrWrittenWhileWaitingCountsFromTheNextStart) {
  send(0, {1});
  wait(100ms);
  set("RCR", 1);  // the second request is the last
  wait(5s);
  EXPECT_EQ(peer().seen().size(), 2U);
  EXPECT_EQ(interrupts(0), ir::TIMEOUT);
}

TEST_F(ArpTest, RtrWrittenWhileWaitingCountsFromTheNextRequest) {
  REQUIRES(exact_time);
  send(0, {1});
  wait(100ms);
  set("RTR", 500);
  wait(1s);
  ASSERT_GE(peer().seen().size(), 3U);
  EXPECT_EQ(peer().seen()[1].at - peer().seen()[0].at, 200ms);
  EXPECT_EQ(peer().seen()[2].at - peer().seen()[1].at, 50ms);
}

}  // namespace
}  // namespace wizloop::conformance
