#include "sim/net/lwip_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "sim/net/services/udp_echo.hpp"
#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

std::uint64_t fingerprint_of_a_transfer(std::uint64_t bytes, const LinkProfile& profile = {}) {
  TwoHosts net{{.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms, .turnaround = 30us}, profile};
  TcpSink sink{*net.pc, 5001};
  TcpSource source{*net.board, {.bytes = bytes}};
  source.connect(pc_ip, 5001);
  net.run(2s);
  EXPECT_EQ(sink.counters().bytes, bytes);
  EXPECT_EQ(sink.counters().mismatches, 0u);
  return net.fingerprint.value();
}

TEST(LwipHost, IsSilentUntilItHasSomethingToSay) {
  TwoHosts net;
  net.run(10s);
  EXPECT_EQ(net.pc->counters().sent, 0u);
}

TEST(LwipHost, RunsAreIdenticalOneAfterTheOther) {
  const std::uint64_t first = fingerprint_of_a_transfer(200'000);
  EXPECT_EQ(first, fingerprint_of_a_transfer(200'000));
  EXPECT_NE(first, fingerprint_of_a_transfer(200'001));
}

TEST(LwipHost, RunsWithLossAreIdenticalToo) {
  const LinkProfile lossy{.delay = 1us, .loss_ppm = 5'000};
  EXPECT_EQ(fingerprint_of_a_transfer(100'000, lossy), fingerprint_of_a_transfer(100'000, lossy));
}

TEST(LwipHost, RunsAreUnmovedByAnotherThatRunsBetweenTheirEvents) {
  const auto start = [](TwoHosts& net, TcpSource& source) {
    source.connect(pc_ip, 5001);
    net.run(1ms);
  };
  TwoHosts alone;
  TcpSink alone_sink{*alone.pc, 5001};
  TcpSource alone_source{*alone.board, {.bytes = 100'000}};
  start(alone, alone_source);
  alone.run(1s);

  TwoHosts one;
  TwoHosts two;
  TcpSink one_sink{*one.pc, 5001};
  TcpSink two_sink{*two.pc, 5001};
  TcpSource one_source{*one.board, {.bytes = 100'000}};
  TcpSource two_source{*two.board, {.bytes = 100'000}};
  start(one, one_source);
  start(two, two_source);
  for (int i = 0; i < 1000; ++i) {
    one.run(1ms);
    if (i % 3 == 0) two.run(3ms);
  }
  EXPECT_EQ(one.fingerprint.value(), alone.fingerprint.value());
  EXPECT_EQ(two_sink.counters().bytes, 100'000u);
}

TEST(LwipHost, IsUnmovedByAnLwipThatTheProcessLoadsForAll) {
  const std::uint64_t before = fingerprint_of_a_transfer(50'000);
  void* global = dlopen("liblwip.so.0", RTLD_NOW | RTLD_GLOBAL);
  ASSERT_NE(global, nullptr);
  EXPECT_EQ(fingerprint_of_a_transfer(50'000), before);
  dlclose(global);
}

TEST(LwipHost, DrawsItsPortsFromItsOwnSeed) {
  const auto port_with = [](std::uint64_t seed) {
    HostAndStation net{{}, seed};
    TcpSource source{*net.pc, {}};
    source.connect(board_ip, 80);
    net.run(1ms);
    return net.segments.at(0).segment.header.source_port;
  };
  EXPECT_EQ(port_with(1), port_with(1));
  EXPECT_NE(port_with(1), port_with(2));
}

TEST(LwipHost, AnswersAfterItsTurnaround) {
  HostAndStation net{{.turnaround = 70us}};
  net.send_arp({wire::Arp::Operation::request, board_mac, board_ip, {}, pc_ip});
  net.run(1ms);
  ASSERT_EQ(net.log.entries.size(), 2u);
  EXPECT_EQ(net.log.entries[1].from, End::host);
  EXPECT_EQ(net.log.entries[1].start, Instant{} + nanoseconds(5760) + 70us);
}

TEST(LwipHost, DelaysFramesButDoesNotSerialiseThem) {
  HostAndStation net{{.turnaround = 70us}};
  for (int i = 0; i < 3; ++i) net.send_arp({wire::Arp::Operation::request, board_mac, board_ip, {}, pc_ip});
  net.run(1ms);
  std::vector<Duration> answers;
  for (const FrameLog::Entry& entry : net.log.entries) {
    if (entry.from == End::host) answers.push_back(entry.start - Instant{});
  }
  const Duration first = nanoseconds(5760) + 70us;
  EXPECT_THAT(answers, testing::ElementsAre(first, first + nanoseconds(6720), first + nanoseconds(2 * 6720)));
}

TEST(LwipHost, DropsDamagedFramesAndThoseForOthers) {
  HostAndStation net{{}};
  const auto request = [&](bool fcs_good, const wire::MacAddress& to) {
    wire::FramePtr frame = net.pool.take();
    frame->size = wire::ethernet_header_bytes + wire::Arp::bytes;
    frame->fcs_good = fcs_good;
    wire::EthernetHeader{to, board_mac, wire::type_arp}.emit(frame->bytes.data());
    wire::Arp{wire::Arp::Operation::request, board_mac, board_ip, {}, pc_ip}.emit(frame->bytes.data() +
                                                                                  wire::ethernet_header_bytes);
    net.send(std::move(frame));
  };
  request(false, wire::broadcast_mac);
  request(true, {0x02, 9, 9, 9, 9, 9});
  net.run(1ms);
  EXPECT_EQ(net.pc->counters().received, 2u);
  EXPECT_EQ(net.pc->counters().bad_fcs, 1u);
  EXPECT_EQ(net.pc->counters().not_for_us, 1u);
  EXPECT_EQ(net.pc->counters().sent, 0u);
  request(true, wire::broadcast_mac);
  net.run(1ms);
  EXPECT_EQ(net.pc->counters().sent, 1u);
}

TEST(LwipHost, TakesDamagedHeadersFromTheWireWithoutAnAnswer) {
  HostAndStation net{{}};
  UdpEcho echo{*net.pc, 7};
  RandomStream random = Random{3}.stream("garbage");
  for (int i = 0; i < 500; ++i) {
    wire::FramePtr frame = net.pool.take();
    frame->size = wire::ethernet_header_bytes + random.below(1500);
    for (std::size_t at = 0; at < frame->size; ++at) frame->bytes[at] = static_cast<std::uint8_t>(random.next());
    const std::uint16_t type = random.below(2) == 0 ? wire::type_ipv4 : wire::type_arp;
    wire::EthernetHeader{pc_mac, board_mac, type}.emit(frame->bytes.data());
    if (type == wire::type_ipv4 && frame->size > wire::ethernet_header_bytes) {
      frame->bytes[wire::ethernet_header_bytes] = 0x45;
    }
    net.send(std::move(frame));
  }
  net.run(1s);
  EXPECT_EQ(net.pc->counters().received, 500u);
  EXPECT_EQ(net.pc->counters().sent, 0u);
}

TEST(LwipHost, DropsWhatComesFromItsOwnAddressOrTheLoopbackNetwork) {
  HostAndStation net{{}};
  UdpEcho echo{*net.pc, 7};
  const std::uint8_t question[] = {1, 2, 3};
  for (const wire::Ipv4Address source : {pc_ip, wire::ipv4(127, 0, 0, 1), wire::ipv4(127, 255, 0, 9)}) {
    net.send_udp({source, 7}, {pc_ip, 7}, question);
    net.send_udp({source, 7}, {pc_ip, 8}, question);  // no such port: would be answered by ICMP
  }
  net.run(1s);
  EXPECT_EQ(net.pc->counters().martian, 6u);
  EXPECT_EQ(net.pc->counters().sent, 0u);
  EXPECT_EQ(echo.counters().datagrams, 0u);
}

TEST(LwipHost, SendsNoDatagramToItself) {
  HostAndStation net{{}};
  UdpPort port{*net.pc, 4000, [](const UdpPort::Address&, Bytes) { FAIL(); }};
  const std::uint8_t question[] = {1, 2, 3};
  EXPECT_FALSE(port.send({pc_ip, 4000}, question));
  EXPECT_FALSE(port.send({wire::ipv4(127, 0, 0, 1), 4000}, question));
  net.run(1s);
  EXPECT_EQ(net.pc->counters().sent, 0u);
}

TEST(LwipHost, ResolvesANeighbourAhead) {
  TwoHosts net;
  net.pc->resolve(board_ip);
  net.run(1ms);
  EXPECT_EQ(net.pc->counters().sent, 1u);
  EXPECT_EQ(net.board->counters().sent, 1u);
}

TEST(LwipHost, MayGoInTheMiddleOfATransfer) {
  EventQueue queue;
  wire::FramePool pool;
  {
    Link link{queue, Random{1}, {}};
    const auto board = make_host(queue, pool, {.mac = board_mac, .ip = board_ip});
    const auto pc = make_host(queue, pool, {.mac = pc_mac, .ip = pc_ip, .profile = {.turnaround = 50us}});
    board->plug_into(link, End::board);
    pc->plug_into(link, End::host);
    TcpSink sink{*pc, 5001};
    TcpSource source{*board, {}};
    source.connect(pc_ip, 5001);
    queue.advance_to(Instant{} + 10ms);
    EXPECT_GT(sink.counters().bytes, 50'000u);
  }
  queue.advance_to(Instant{} + 1s);
  EXPECT_EQ(queue.next_deadline(), Instant::max());
}

}  // namespace
}  // namespace wizloop::net
