// A remote host that misbehaves as planned: what reaches the board of what the host says, and what the board hears
// besides.
#include "sim/net/faulty_peer.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "sim/wire/arp.hpp"
#include "sim/wire/udp.hpp"
#include "tests/support/planned_faults.hpp"

namespace wizloop::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using wire::TcpHeader;
using Octets = std::vector<std::uint8_t>;

constexpr wire::MacAddress board_mac = {0x02, 0, 0, 0, 0, 0x01};
constexpr wire::MacAddress peer_mac = {0x02, 0, 0, 0, 0, 0x02};
constexpr wire::Ipv4Address board_ip = wire::ipv4(192, 168, 1, 2);
constexpr wire::Ipv4Address peer_ip = wire::ipv4(192, 168, 1, 10);

struct Station final : wire::FrameSink {
  void accept(wire::FramePtr frame, Instant at) override {
    frames.emplace_back(frame->data().begin(), frame->data().end());
    arrivals.push_back(at - Instant{});
  }
  std::vector<Octets> frames;
  std::vector<Duration> arrivals;
};

class FaultyPeerTest : public testing::Test {
 protected:
  void plan(std::string_view name, std::string_view text) {
    faults.emplace(queue, trace, test::PlannedFaults::Texts{{name, text}});
    filter.emplace(queue, pool, **faults, FaultyPeer::Target{board_mac, board_ip});
    link.emplace(queue, Random{1}, LinkProfile{});
    link->filter_host(*filter);
    link->attach(End::board, board);
    link->attach(End::host, peer);
    from_peer = &link->transmitter(End::host);
    from_board = &link->transmitter(End::board);
  }
  void from(End end, const Octets& bytes) {
    (end == End::board ? from_board : from_peer)->accept(pool.copy(bytes), queue.now());
    queue.advance_to(queue.now() + 1ms);
  }

  static Octets ip_frame(bool board_sends, std::uint8_t protocol, const Octets& payload) {
    Octets bytes(34 + payload.size());
    wire::EthernetHeader{board_sends ? peer_mac : board_mac, board_sends ? board_mac : peer_mac, wire::type_ipv4}.emit(
        bytes.data());
    wire::Ipv4Header ip;
    ip.total_length = static_cast<std::uint16_t>(20 + payload.size());
    ip.protocol = protocol;
    ip.source = board_sends ? board_ip : peer_ip;
    ip.destination = board_sends ? peer_ip : board_ip;
    ip.emit(&bytes[14]);
    std::copy(payload.begin(), payload.end(), &bytes[34]);
    return bytes;
  }
  static Octets tcp_frame(bool board_sends, TcpHeader header, std::size_t payload_bytes = 0) {
    header.source_port = board_sends ? 5000 : 6000;
    header.destination_port = board_sends ? 6000 : 5000;
    Octets segment(header.emitted_header_bytes() + payload_bytes);
    header.emit(board_sends ? board_ip : peer_ip, board_sends ? peer_ip : board_ip, segment);
    return ip_frame(board_sends, wire::protocol_tcp, segment);
  }
  static TcpHeader segment(std::uint8_t flags) {
    TcpHeader header;
    header.flags = flags;
    header.sequence = 1000;
    header.acknowledgment = 2000;
    header.window = 8192;
    return header;
  }
  static Octets arp_frame() {
    Octets bytes(60);
    wire::EthernetHeader{board_mac, peer_mac, wire::type_arp}.emit(bytes.data());
    wire::Arp{wire::Arp::Operation::reply, peer_mac, peer_ip, board_mac, board_ip}.emit(&bytes[14]);
    return bytes;
  }
  static Octets udp_frame() {
    Octets message(12);
    wire::UdpHeader{6000, 5000, 0}.emit(peer_ip, board_ip, message);
    return ip_frame(false, wire::protocol_udp, message);
  }
  static std::optional<TcpHeader> tcp_of(const Octets& frame) {
    const auto ip = wire::Ipv4Header::parse(Bytes{frame}.subspan(14));
    if (!ip) return std::nullopt;
    return TcpHeader::parse(*ip, Bytes{frame}.subspan(34, ip->total_length - 20U));
  }

  EventQueue queue;
  wire::FramePool pool;
  Trace trace;
  Station board;
  Station peer;
  std::optional<test::PlannedFaults> faults;
  std::optional<FaultyPeer> filter;
  std::optional<Link> link;
  wire::FrameSink* from_peer = nullptr;
  wire::FrameSink* from_board = nullptr;
};

TEST_F(FaultyPeerTest, PassesEverythingOnTimeUntilItStrikes) {
  plan("peer_silence", "nth=100");
  from(End::host, udp_frame());
  from(End::board, tcp_frame(true, segment(TcpHeader::ack), 10));
  EXPECT_THAT(board.frames, ElementsAre(udp_frame()));
  EXPECT_THAT(board.arrivals, ElementsAre(nanoseconds(5760)));
  EXPECT_THAT(peer.frames, ElementsAre(tcp_frame(true, segment(TcpHeader::ack), 10)));
}

TEST_F(FaultyPeerTest, SilenceIsBothWaysAndEnds) {
  plan("peer_silence", "until=2ms");
  from(End::host, udp_frame());
  from(End::board, tcp_frame(true, segment(TcpHeader::ack)));
  EXPECT_THAT(board.frames, IsEmpty());
  EXPECT_THAT(peer.frames, IsEmpty());
  from(End::host, udp_frame());
  EXPECT_THAT(board.frames, SizeIs(1));
}

TEST_F(FaultyPeerTest, AnswersTheChosenSegmentWithRst) {
  plan("peer_rst", "nth=2");
  from(End::board, tcp_frame(true, segment(TcpHeader::ack), 10));
  EXPECT_THAT(board.frames, IsEmpty());
  from(End::board, tcp_frame(true, segment(TcpHeader::ack), 10));
  EXPECT_THAT(peer.frames, SizeIs(1));
  ASSERT_THAT(board.frames, SizeIs(1));
  const auto rst = tcp_of(board.frames[0]);
  ASSERT_TRUE(rst);
  EXPECT_EQ(rst->flags, TcpHeader::rst);
  EXPECT_EQ(rst->sequence, 2000U);  // what the board expects next
  EXPECT_EQ(rst->source_port, 6000);
  EXPECT_EQ(rst->destination_port, 5000);
}

TEST_F(FaultyPeerTest, RefusesASynWithRstAndAck) {
  plan("peer_rst", "nth=1");
  from(End::board, tcp_frame(true, segment(TcpHeader::syn)));
  ASSERT_THAT(board.frames, SizeIs(1));
  const auto rst = tcp_of(board.frames[0]);
  ASSERT_TRUE(rst);
  EXPECT_EQ(rst->flags, TcpHeader::rst | TcpHeader::ack);
  EXPECT_EQ(rst->acknowledgment, 1001U);
}

TEST_F(FaultyPeerTest, AdvertisesAWindowOfZeroWithARightChecksum) {
  plan("peer_zero_window", "nth=1");
  from(End::host, tcp_frame(false, segment(TcpHeader::ack)));
  from(End::host, tcp_frame(false, segment(TcpHeader::ack)));
  ASSERT_THAT(board.frames, SizeIs(2));
  ASSERT_TRUE(tcp_of(board.frames[0]));
  EXPECT_EQ(tcp_of(board.frames[0])->window, 0);
  EXPECT_EQ(tcp_of(board.frames[1])->window, 8192);
}

TEST_F(FaultyPeerTest, AnnouncesATinyMssInItsSynAlone) {
  plan("peer_tiny_mss", "always,mss=40");
  TcpHeader syn = segment(TcpHeader::syn);
  syn.mss = 1460;
  from(End::host, tcp_frame(false, syn));
  from(End::host, tcp_frame(false, segment(TcpHeader::ack)));
  ASSERT_TRUE(tcp_of(board.frames[0]));
  EXPECT_EQ(tcp_of(board.frames[0])->mss, 40);
  EXPECT_EQ(faults->struck(Fault::peer_tiny_mss), 1U);
}

TEST_F(FaultyPeerTest, BreaksTheTransportChecksum) {
  plan("peer_bad_checksum", "nth=1");
  from(End::host, tcp_frame(false, segment(TcpHeader::ack)));
  EXPECT_TRUE(wire::Ipv4Header::parse(Bytes{board.frames[0]}.subspan(14)));
  EXPECT_FALSE(tcp_of(board.frames[0]));
  from(End::host, tcp_frame(false, segment(TcpHeader::ack)));
  EXPECT_TRUE(tcp_of(board.frames[1]));
}

TEST_F(FaultyPeerTest, BreaksTheChecksumOfUdpToo) {
  plan("peer_bad_checksum", "always");
  from(End::host, udp_frame());
  const auto ip = wire::Ipv4Header::parse(Bytes{board.frames[0]}.subspan(14));
  ASSERT_TRUE(ip);
  EXPECT_FALSE(wire::UdpHeader::parse(*ip, Bytes{board.frames[0]}.subspan(34, 12)));
}

TEST_F(FaultyPeerTest, BreaksTheChecksumOfTheIpHeader) {
  plan("peer_bad_checksum", "always,which=ip");
  from(End::host, udp_frame());
  EXPECT_FALSE(wire::Ipv4Header::parse(Bytes{board.frames[0]}.subspan(14)));
}

TEST_F(FaultyPeerTest, KeepsItsMacAddressToItself) {
  plan("peer_no_arp", "always");
  from(End::host, arp_frame());
  from(End::host, udp_frame());
  EXPECT_THAT(board.frames, ElementsAre(udp_frame()));
}

TEST_F(FaultyPeerTest, FloodsThePortWithSynsFromTheSubnet) {
  plan("peer_syn_flood", "from=1ms,count=20,interval=10us,port=80");
  queue.advance_to(Instant{1ms - picoseconds(1)});
  EXPECT_THAT(board.frames, IsEmpty());
  queue.advance_to(Instant{10ms});
  ASSERT_THAT(board.frames, SizeIs(20));
  for (const Octets& frame : board.frames) {
    ASSERT_TRUE(tcp_of(frame));
    EXPECT_EQ(tcp_of(frame)->flags, TcpHeader::syn);
    EXPECT_EQ(tcp_of(frame)->destination_port, 80);
    const auto ip = wire::Ipv4Header::parse(Bytes{frame}.subspan(14));
    EXPECT_EQ(ip->destination, board_ip);
    EXPECT_EQ(ip->source & 0xFFFFFF00, board_ip & 0xFFFFFF00);
  }
  EXPECT_EQ(board.arrivals[1] - board.arrivals[0], 10us);
}

TEST_F(FaultyPeerTest, FloodEndsWithItsWindow) {
  plan("peer_syn_flood", "until=100us,interval=10us");
  queue.advance_to(Instant{1ms});
  EXPECT_THAT(board.frames, SizeIs(10));
}

TEST_F(FaultyPeerTest, FloodSharesTheCableWithTheHost) {
  plan("peer_syn_flood", "count=100,interval=1us");  // faster than the cable
  for (int i = 0; i < 10; ++i) from_peer->accept(pool.copy(udp_frame()), queue.now() + i * 20us);
  queue.advance_to(Instant{10ms});
  EXPECT_THAT(board.frames, SizeIs(110));
}

}  // namespace
}  // namespace wizloop::net
