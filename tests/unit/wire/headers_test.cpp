#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "sim/wire/arp.hpp"
#include "sim/wire/ethernet.hpp"
#include "sim/wire/frame.hpp"
#include "sim/wire/icmp.hpp"
#include "sim/wire/tcp.hpp"
#include "sim/wire/udp.hpp"

namespace wizloop::wire {
namespace {

using testing::ElementsAre;

constexpr MacAddress mac_a = {0x02, 0x11, 0x22, 0x33, 0x44, 0x55};
constexpr MacAddress mac_b = {0x02, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE};
constexpr Ipv4Address ip_a = ipv4(192, 168, 0, 1);
constexpr Ipv4Address ip_b = ipv4(192, 168, 0, 199);

TEST(EthernetHeader, IsLaidOutAsOnTheWireAndReadBack) {
  std::uint8_t bytes[ethernet_header_bytes];
  EthernetHeader{mac_a, mac_b, type_arp}.emit(bytes);
  EXPECT_THAT(bytes, ElementsAre(0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 0x02, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 0x08, 0x06));
  const auto parsed = EthernetHeader::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->destination, mac_a);
  EXPECT_EQ(parsed->source, mac_b);
  EXPECT_EQ(parsed->type, type_arp);
  EXPECT_FALSE(EthernetHeader::parse(Bytes{bytes}.first(13)));
}

TEST(Arp, IsLaidOutAsInRfc826AndReadBack) {
  std::uint8_t bytes[Arp::bytes];
  Arp{Arp::Operation::reply, mac_a, ip_a, mac_b, ip_b}.emit(bytes);
  EXPECT_THAT(bytes, ElementsAre(0x00, 0x01, 0x08, 0x00, 6, 4, 0x00, 0x02,            //
                                 0x02, 0x11, 0x22, 0x33, 0x44, 0x55, 192, 168, 0, 1,  //
                                 0x02, 0xAA, 0xBB, 0xCC, 0xDD, 0xEE, 192, 168, 0, 199));
  const auto parsed = Arp::parse(bytes);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->operation, Arp::Operation::reply);
  EXPECT_EQ(parsed->sender_mac, mac_a);
  EXPECT_EQ(parsed->sender_ip, ip_a);
  EXPECT_EQ(parsed->target_mac, mac_b);
  EXPECT_EQ(parsed->target_ip, ip_b);
}

TEST(Arp, OfAnotherHardwareOrOperationIsNotRead) {
  std::uint8_t good[Arp::bytes];
  Arp{Arp::Operation::request, mac_a, ip_a, mac_b, ip_b}.emit(good);
  for (const std::size_t at : {std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{5}, std::size_t{7}}) {
    std::vector<std::uint8_t> bad(good, good + sizeof good);
    bad[at] = 9;
    EXPECT_FALSE(Arp::parse(bad)) << at;
  }
  EXPECT_FALSE(Arp::parse(Bytes{good}.first(27)));
}

TEST(Ipv4Header, EmitsACapturedHeaderByteForByte) {
  std::uint8_t bytes[Ipv4Header::bytes];
  Ipv4Header{.total_length = 0x73,
             .flags_and_fragment = 0x4000,
             .ttl = 64,
             .protocol = protocol_udp,
             .source = ip_a,
             .destination = ip_b}
      .emit(bytes);
  EXPECT_THAT(bytes, ElementsAre(0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0xB8, 0x61, 0xC0, 0xA8,
                                 0x00, 0x01, 0xC0, 0xA8, 0x00, 0xC7));
}

TEST(Ipv4Header, IsReadBack) {
  std::vector<std::uint8_t> packet(60);
  Ipv4Header{.tos = 0x10,
             .total_length = 50,
             .identification = 0x1234,
             .flags_and_fragment = 0x2005,
             .ttl = 3,
             .protocol = protocol_icmp,
             .source = ip_a,
             .destination = ip_b}
      .emit(packet.data());
  const auto parsed = Ipv4Header::parse(packet);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->tos, 0x10);
  EXPECT_EQ(parsed->total_length, 50);
  EXPECT_EQ(parsed->identification, 0x1234);
  EXPECT_TRUE(parsed->is_fragment());
  EXPECT_EQ(parsed->ttl, 3);
  EXPECT_EQ(parsed->protocol, protocol_icmp);
  EXPECT_EQ(parsed->source, ip_a);
  EXPECT_EQ(parsed->destination, ip_b);
  EXPECT_EQ(parsed->header_bytes, 20u);
}

TEST(Ipv4Header, IsRefusedIfAnyBitOfItIsWrong) {
  std::uint8_t good[Ipv4Header::bytes];
  Ipv4Header{.total_length = 20, .protocol = protocol_udp, .source = ip_a, .destination = ip_b}.emit(good);
  ASSERT_TRUE(Ipv4Header::parse(good));
  for (std::size_t bit = 0; bit < 8 * sizeof good; ++bit) {
    std::vector<std::uint8_t> bad(good, good + sizeof good);
    bad[bit / 8] = static_cast<std::uint8_t>(bad[bit / 8] ^ 1 << bit % 8);
    EXPECT_FALSE(Ipv4Header::parse(bad)) << bit;
  }
}

TEST(IcmpHeader, IsReadBackAndItsChecksumCoversThePayload) {
  std::vector<std::uint8_t> message = {0, 0, 0, 0, 0, 0, 0, 0, 'a', 'b', 'c'};
  IcmpHeader{.type = IcmpHeader::echo_request, .identifier = 0x0102, .sequence = 0x0304}.emit(message);
  const auto parsed = IcmpHeader::parse(message);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->type, IcmpHeader::echo_request);
  EXPECT_EQ(parsed->code, 0);
  EXPECT_EQ(parsed->identifier, 0x0102);
  EXPECT_EQ(parsed->sequence, 0x0304);
  message.back() ^= 1;
  EXPECT_FALSE(IcmpHeader::parse(message));
}

struct Transport : testing::Test {
  static Ipv4Header ip(std::uint8_t protocol) {
    Ipv4Header header;
    header.protocol = protocol;
    header.source = ip_a;
    header.destination = ip_b;
    return header;
  }
};

TEST_F(Transport, UdpIsReadBackAndItsChecksumCoversAddressesAndPayload) {
  std::vector<std::uint8_t> message(UdpHeader::bytes + 5, 0x5A);
  UdpHeader{.source_port = 5000, .destination_port = 7}.emit(ip_a, ip_b, message);
  const auto parsed = UdpHeader::parse(ip(protocol_udp), message);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->source_port, 5000);
  EXPECT_EQ(parsed->destination_port, 7);
  EXPECT_EQ(parsed->length, 13);

  Ipv4Header elsewhere = ip(protocol_udp);
  elsewhere.destination ^= 1;
  EXPECT_FALSE(UdpHeader::parse(elsewhere, message));
  message.back() ^= 1;
  EXPECT_FALSE(UdpHeader::parse(ip(protocol_udp), message));
}

TEST_F(Transport, UdpSendsAChecksumOfZeroAsAllOnes) {
  std::vector<std::uint8_t> message(UdpHeader::bytes + 2);
  UdpHeader{.source_port = 1, .destination_port = 2}.emit(ip_a, ip_b, message);
  const std::uint16_t first = load16(&message[6]);
  store16(&message[8], first);  // fills the sum up to all ones, so that the checksum comes out as 0
  UdpHeader{.source_port = 1, .destination_port = 2}.emit(ip_a, ip_b, message);
  EXPECT_EQ(load16(&message[6]), 0xFFFF);
  EXPECT_TRUE(UdpHeader::parse(ip(protocol_udp), message));
}

TEST_F(Transport, UdpWithoutAChecksumIsTaken) {
  std::vector<std::uint8_t> message(UdpHeader::bytes + 2);
  UdpHeader{.source_port = 1, .destination_port = 2}.emit(ip_a, ip_b, message);
  store16(&message[6], 0);
  EXPECT_TRUE(UdpHeader::parse(ip(protocol_udp), message));
}

TEST_F(Transport, TcpIsReadBackWithItsMssOption) {
  const TcpHeader header{.source_port = 5001,
                         .destination_port = 40000,
                         .sequence = 0xFFFFFFF0,
                         .acknowledgment = 0x12345678,
                         .flags = TcpHeader::syn | TcpHeader::ack,
                         .window = 2048,
                         .mss = 1460};
  std::vector<std::uint8_t> segment(header.emitted_header_bytes() + 3, 0x77);
  header.emit(ip_a, ip_b, segment);
  const auto parsed = TcpHeader::parse(ip(protocol_tcp), segment);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->source_port, 5001);
  EXPECT_EQ(parsed->destination_port, 40000);
  EXPECT_EQ(parsed->sequence, 0xFFFFFFF0);
  EXPECT_EQ(parsed->acknowledgment, 0x12345678u);
  EXPECT_EQ(parsed->flags, TcpHeader::syn | TcpHeader::ack);
  EXPECT_EQ(parsed->window, 2048);
  EXPECT_EQ(parsed->mss, 1460);
  EXPECT_EQ(parsed->header_bytes, 24u);
  segment.back() ^= 1;
  EXPECT_FALSE(TcpHeader::parse(ip(protocol_tcp), segment));
}

TEST_F(Transport, TcpFindsTheMssBehindOtherOptions) {
  std::vector<std::uint8_t> segment(TcpHeader::bytes + 12);
  TcpHeader{.source_port = 1, .destination_port = 2, .flags = TcpHeader::syn}.emit(ip_a, ip_b, segment);
  const std::uint8_t options[] = {1, 3, 3, 7, 2, 4, 0x02, 0x18, 0, 0, 0, 0};
  std::copy(std::begin(options), std::end(options), segment.begin() + TcpHeader::bytes);
  segment[12] = 8 << 4;
  store16(&segment[16], 0);
  store16(&segment[16], transport_checksum(ip_a, ip_b, protocol_tcp, segment));
  const auto parsed = TcpHeader::parse(ip(protocol_tcp), segment);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->mss, 536);
}

TEST_F(Transport, TcpSurvivesABrokenOptionList) {
  for (const std::uint8_t length : std::initializer_list<std::uint8_t>{0, 1, 40}) {
    std::vector<std::uint8_t> segment(TcpHeader::bytes + 4);
    TcpHeader{.source_port = 1, .destination_port = 2}.emit(ip_a, ip_b, segment);
    segment[12] = 6 << 4;
    segment[TcpHeader::bytes] = 5;
    segment[TcpHeader::bytes + 1] = length;
    store16(&segment[16], 0);
    store16(&segment[16], transport_checksum(ip_a, ip_b, protocol_tcp, segment));
    const auto parsed = TcpHeader::parse(ip(protocol_tcp), segment);
    ASSERT_TRUE(parsed);
    EXPECT_EQ(parsed->mss, 0);
  }
}

TEST(SequenceNumbers, CompareAcrossTheWrap) {
  EXPECT_TRUE(seq_before(0xFFFFFFFF, 0));
  EXPECT_FALSE(seq_before(0, 0xFFFFFFFF));
  EXPECT_FALSE(seq_before(5, 5));
  EXPECT_TRUE(seq_not_after(5, 5));
}

TEST(Frame, KeepsTheWireForPreambleAndFcsToo) {
  EXPECT_EQ(time_on_wire(1514, Frequency{100'000'000}), nanoseconds(80 * (8 + 1514 + 4)));
  EXPECT_EQ(time_on_wire(14, Frequency{100'000'000}), nanoseconds(80 * (8 + 60 + 4)));
  EXPECT_EQ(inter_packet_gap(Frequency{100'000'000}), nanoseconds(960));
}

TEST(FramePool, UsesReturnedFramesAgain) {
  FramePool pool;
  for (int i = 0; i < 3; ++i) {
    const FramePtr first = pool.copy(std::vector<std::uint8_t>{1, 2, 3});
    const FramePtr second = pool.take();
    EXPECT_THAT(first->data(), ElementsAre(1, 2, 3));
    EXPECT_EQ(second->size, 0u);
    EXPECT_TRUE(second->fcs_good);
  }
  EXPECT_EQ(pool.made(), 2u);
}

}  // namespace
}  // namespace wizloop::wire
