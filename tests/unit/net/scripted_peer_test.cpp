#include "sim/net/scripted_peer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wizloop::net {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using wire::TcpHeader;
using Kind = SeenFrame::Kind;
using Octets = std::vector<std::uint8_t>;

constexpr Station left{{2, 0, 0, 0, 0, 1}, wire::ipv4(10, 0, 0, 1)};
constexpr Station right{{2, 0, 0, 0, 0, 2}, wire::ipv4(10, 0, 0, 2)};

// Two peers, one at each end of a cable: each is the other's witness.
struct ScriptedPeerTest : testing::Test {
  ScriptedPeerTest() {
    a.plug_into(link, End::board);
    b.plug_into(link, End::host);
    a.talk_to(right);
    b.talk_to(left);
  }
  void wait(Duration duration) { queue.advance_to(queue.now() + duration); }

  EventQueue queue;
  wire::FramePool frames;
  Link link{queue, Random{1}, {}};
  ScriptedPeer a{queue, frames, {.mac = left.mac, .ip = left.ip}};
  ScriptedPeer b{queue, frames, {.mac = right.mac, .ip = right.ip, .profile = {.turnaround = 3us}}};
};

TEST_F(ScriptedPeerTest, SendsAtTheStatedInstantAndTheOtherEndSeesItsFirstBitThen) {
  a.send_at(Instant{5us}, a.udp(1, 2, Octets{9, 8}));
  wait(1ms);
  ASSERT_THAT(b.seen(), SizeIs(1));
  EXPECT_EQ(b.seen()[0].at, Instant{5us});
  EXPECT_EQ(b.seen()[0].last_bit - b.seen()[0].at, wire::time_on_wire(60, Frequency{100'000'000}));
  EXPECT_EQ(b.seen()[0].data(), (Octets{9, 8}));
}

TEST_F(ScriptedPeerTest, FramesForTheSameInstantFollowEachOtherAcrossTheGap) {
  for (int i = 0; i < 2; ++i) a.send_at(Instant{5us}, a.udp(1, 2, {}));
  wait(1ms);
  ASSERT_THAT(b.seen(), SizeIs(2));
  EXPECT_EQ(b.seen()[1].at - b.seen()[0].at, picoseconds(6'720'000));
}

TEST_F(ScriptedPeerTest, ExpectTakesFramesInOrderAndSilenceIsWhatIsLeft) {
  a.send(a.udp(1, 2, {}));
  a.send(a.ping(1, 1, Octets(10)));
  wait(1ms);
  EXPECT_EQ(b.expect(Instant{}, {.kind = Kind::udp, .source_port = 1}), "");
  EXPECT_THAT(b.expect_silence(), HasSubstr("icmp type=8"));
  EXPECT_EQ(b.expect({.kind = Kind::icmp, .data_bytes = 10}), "");
  EXPECT_EQ(b.expect_silence(), "");
  EXPECT_THAT(b.expect({.kind = Kind::arp}), HasSubstr("no frame"));
}

TEST_F(ScriptedPeerTest, ExpectSaysWhatDiffers) {
  TcpHeader header;
  header.flags = TcpHeader::syn;
  header.mss = 1460;
  a.send(a.tcp(header));
  a.send(a.tcp(header));
  a.send(a.tcp(header));
  wait(1ms);
  EXPECT_THAT(b.expect({.kind = Kind::tcp, .flags = TcpHeader::ack}), HasSubstr("expected [ACK]"));
  EXPECT_THAT(b.expect({.kind = Kind::tcp, .mss = 536}), HasSubstr("expected mss 536, got 1460"));
  EXPECT_THAT(b.expect(Instant{1s}, {.kind = Kind::tcp}, 1ms), HasSubstr("expected at 1.000000000000"));
}

TEST_F(ScriptedPeerTest, AnswersArpOnlyWhenToldAndOnlyForItself) {
  a.send(a.arp(wire::Arp::Operation::request, right.ip));
  wait(1ms);
  EXPECT_THAT(a.seen(), SizeIs(0));
  b.answer_arp(true);
  a.send(a.arp(wire::Arp::Operation::request, wire::ipv4(10, 0, 0, 3)));
  const Instant asked = a.send(a.arp(wire::Arp::Operation::request, right.ip));
  wait(1ms);
  ASSERT_THAT(a.seen(), SizeIs(1));
  EXPECT_EQ(a.seen()[0].at, asked + 3us);
  EXPECT_EQ(a.seen()[0].arp().sender_mac, right.mac);
  EXPECT_EQ(a.seen()[0].arp().target_ip, left.ip);
}

TEST_F(ScriptedPeerTest, DamagedFramesAreCountedAndNotKept) {
  a.send(a.udp(1, 2, {}), false);
  wait(1ms);
  EXPECT_EQ(b.counters().bad_fcs, 1U);
  EXPECT_THAT(b.seen(), SizeIs(0));
}

TEST_F(ScriptedPeerTest, IpOptionsKeepTheChecksumRight) {
  a.send(a.udp(1, 2, Octets{7}, {.option_bytes = 8}));
  wait(1ms);
  ASSERT_THAT(b.seen(), SizeIs(1));
  EXPECT_EQ(b.seen()[0].kind(), Kind::udp);
  EXPECT_EQ(b.seen()[0].ip().header_bytes, 28U);
  EXPECT_EQ(b.seen()[0].data(), Octets{7});
}

TEST_F(ScriptedPeerTest, TwoConnectionsShakeHandsAndCountEachOthersBytes) {
  ScriptedConnection client{a, 1000, 80, 500};
  ScriptedConnection server{b, 80, 1000, 900};
  client.syn();
  wait(1ms);
  server.syn_ack();
  EXPECT_EQ(server.board_iss, 500U);
  wait(1ms);
  ASSERT_TRUE(client.learn_board_iss());
  EXPECT_EQ(client.board_iss, 900U);
  client.data(Octets(30));
  client.fin();
  wait(1ms);
  EXPECT_EQ(server.board_next(), 500U + 1 + 30 + 1);
  server.ack();
  wait(1ms);
  a.next();
  EXPECT_EQ(a.expect({.kind = Kind::tcp, .flags = TcpHeader::ack, .acknowledgment = 532}), "");
}

}  // namespace
}  // namespace wizloop::net
