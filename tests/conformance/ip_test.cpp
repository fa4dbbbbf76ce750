// The IP header as sent, and the checks on reception: facts section 5.3.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class IpTest : public PeerTest {
 protected:
  void SetUp() override {
    PeerTest::SetUp();
    if (IsSkipped()) return;
    open(0, mode::UDP, 5000);
    address(0, wire::broadcast_ipv4, 9);
  }
  wire::Ipv4Header sent() {
    send(0, counting(30));
    wait(1ms);
    return peer().seen().back().ip();
  }
  std::uint64_t received_after(const Octets& frame, bool fcs_good = true) {
    peer().send(frame, fcs_good);
    wait(1ms);
    return get(0, "Sn_RX_RSR");
  }
};

TEST_F(IpTest, HeaderHasNoOptionsAndVersionFour) {
  sent();
  EXPECT_EQ(peer().seen().back().bytes[14], 0x45);
}

TEST_F(IpTest, DefaultsAreTosZeroTtl128AndDontFragment) {
  const wire::Ipv4Header ip = sent();
  EXPECT_EQ(ip.tos, 0);
  EXPECT_EQ(ip.ttl, 128);
  EXPECT_EQ(ip.flags_and_fragment, 0x4000);
}

TEST_F(IpTest, TosAndTtlComeFromTheSocket) {
  set(0, "Sn_TOS", 0x10);
  set(0, "Sn_TTL", 64);
  const wire::Ipv4Header ip = sent();
  EXPECT_EQ(ip.tos, 0x10);
  EXPECT_EQ(ip.ttl, 64);
}

TEST_F(IpTest, FragmentFieldComesFromTheSocket) {
  set(0, "Sn_FRAG", 0x0000);
  EXPECT_EQ(sent().flags_and_fragment, 0x0000);
}

TEST_F(IpTest, RepliesOfTheStackHaveTosZeroAndTtl128) {
  set(0, "Sn_TOS", 0x10);
  set(0, "Sn_TTL", 64);
  peer().send(peer().ping(1, 1, counting(30)));
  net::ScriptedConnection nobody{peer(), 40000, 5000};
  nobody.syn();
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 2U);  // echo reply and RST
  for (const net::SeenFrame& frame : peer().seen()) {
    EXPECT_EQ(frame.ip().tos, 0);
    EXPECT_EQ(frame.ip().ttl, 128);
  }
}

// One counter for the whole chip.
TEST_F(IpTest, IdentificationRisesByOneWithEachPacketOfAnySocket) {
  open(1, mode::UDP, 5001);
  address(1, wire::broadcast_ipv4, 9);
  const std::uint16_t first = sent().identification;
  send(1, counting(5));
  wait(1ms);
  EXPECT_EQ(peer().seen().back().ip().identification, static_cast<std::uint16_t>(first + 1));
  peer().send(peer().ping(1, 1, counting(30)));
  wait(1ms);
  EXPECT_EQ(peer().seen().back().ip().identification, static_cast<std::uint16_t>(first + 2));
  EXPECT_EQ(sent().identification, static_cast<std::uint16_t>(first + 3));
}

TEST_F(IpTest, FragmentsAreDropped) {
  for (const std::uint16_t field : std::vector<std::uint16_t>{0x2000, 0x2001, 0x0001, 0x1FFF}) {
    EXPECT_EQ(received_after(peer().udp(1, 5000, counting(30), {.flags_and_fragment = field})), 0U) << field;
  }
  EXPECT_EQ(received_after(peer().udp(1, 5000, counting(30), {.flags_and_fragment = 0})), 38U);
}

TEST_F(IpTest, OptionsAreSkipped) {
  std::uint64_t total = 0;
  for (const std::size_t bytes : {4U, 8U, 40U}) {
    total += 38;
    EXPECT_EQ(received_after(peer().udp(1, 5000, counting(30), {.option_bytes = bytes})), total);
  }
  EXPECT_EQ(receive(0, 8), (Octets{192, 168, 1, 10, 0, 1, 0, 30}));
  EXPECT_EQ(receive(0, 30), counting(30));
}

TEST_F(IpTest, WrongHeaderChecksumIsDropped) {
  Octets frame = peer().udp(1, 5000, counting(30));
  frame[24] ^= 1;
  EXPECT_EQ(received_after(frame), 0U);
}

TEST_F(IpTest, OtherVersionsAndLengthsAreDropped) {
  for (const std::size_t at : {14U, 16U, 17U}) {
    Octets frame = peer().udp(1, 5000, counting(30));
    frame[at] = static_cast<std::uint8_t>(frame[at] ^ 0xF0);
    store16(&frame[24], 0);
    store16(&frame[24], wire::internet_checksum(Bytes{frame}.subspan(14, 20)));
    EXPECT_EQ(received_after(frame), 0U) << at;
  }
}

TEST_F(IpTest, PaddingIsNotData) {
  EXPECT_EQ(received_after(peer().udp(1, 5000, Octets{1, 2})), 10U);  // the frame is 60 bytes
}

TEST_F(IpTest, BadFcsIsDropped) { EXPECT_EQ(received_after(peer().udp(1, 5000, counting(30)), false), 0U); }

// Whole datagrams with a good FCS, in frames below the shortest legal length.
TEST_F(IpTest, RuntsAreDropped) {
  for (std::size_t data = 0; data < 18; ++data) {
    peer().send_runt(peer().udp(1, 5000, counting(data)));
    wait(100us);
    EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U) << data;
  }
  peer().send_runt(peer().arp(wire::Arp::Operation::request, chip_ip));
  wait(1ms);
  EXPECT_SILENCE();
  EXPECT_EQ(received_after(peer().udp(1, 5000, counting(18))), 26U);
}

TEST_F(IpTest, OversizedFrameIsDropped) {
  Octets frame = peer().udp(1, 5000, counting(1472));
  frame.push_back(0);  // 1515, 1519 with its FCS
  EXPECT_EQ(received_after(frame), 0U);
}

TEST_F(IpTest, VlanTaggedFramesAreNotUnderstood) {
  Octets frame = peer().udp(1, 5000, counting(30));
  const Octets tag = {0x81, 0x00, 0x00, 0x01};
  frame.insert(frame.begin() + 12, tag.begin(), tag.end());
  EXPECT_EQ(received_after(frame), 0U);
  EXPECT_SILENCE();
}

TEST_F(IpTest, UnknownProtocolsAreIgnored) {
  for (const int protocol : {0, 2, 47, 50, 132, 255}) {
    peer().send(peer().ip(static_cast<std::uint8_t>(protocol), counting(40), {}));
  }
  wait(1ms);
  EXPECT_SILENCE();
}

TEST_F(IpTest, Ipv6IsIgnored) {
  peer().send(peer().ethernet(chip_mac, wire::type_ipv6, Octets(60, 0x60)));
  wait(1ms);
  EXPECT_SILENCE();
}

}  // namespace
}  // namespace wizloop::conformance
