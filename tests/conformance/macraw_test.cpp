// MACRAW: facts sections 3.1, 4.3, 4.4 and 5.10, and one check of section 11.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

constexpr MacAddress stranger = {0x02, 0, 0, 0, 0, 0x77};
constexpr MacAddress ipv4_multicast = {0x01, 0x00, 0x5E, 0x01, 0x02, 0x03};
constexpr MacAddress ipv6_multicast = {0x33, 0x33, 0, 0, 0, 1};
constexpr MacAddress other_multicast = {0x01, 0x80, 0xC2, 0, 0, 0x0E};  // LLDP
constexpr std::uint16_t some_type = 0x88B5;                             // IEEE local experimental

// What the registers show by themselves; the frames go to everybody and carry an experimental type.
class MacrawRegistersTest : public ConfiguredTest {
 protected:
  static Octets frame(std::size_t size) {
    Octets bytes(size);
    std::copy(wire::broadcast_mac.begin(), wire::broadcast_mac.end(), bytes.begin());
    std::copy(chip_mac.begin(), chip_mac.end(), bytes.begin() + 6);
    store16(&bytes[12], some_type);
    return bytes;
  }
};

TEST_F(MacrawRegistersTest, OpenGivesMacrawOnSocketZeroOnly) {
  open(0, mode::MACRAW, 0);
  EXPECT_EQ(status(0), sr::MACRAW);
  for (int n = 1; n < 8; ++n) {
    open(n, mode::MACRAW, 0);
    EXPECT_EQ(status(n), sr::CLOSED) << n;
  }
}

// 3.5: read-back after OPEN (observed).
TEST_F(MacrawRegistersTest, SegmentSizeReads05B4AfterOpen) {
  open(0, mode::MACRAW, 0);
  EXPECT_EQ(get(0, "Sn_MSSR"), 0x05B4U);
}

// The dump of F982: after one 74-byte SEND both pointers are 0x004A.
TEST_F(MacrawRegistersTest, PointersAfter74BytesAre004A) {
  open(0, mode::MACRAW, 0);
  send(0, frame(74));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_RD"), 0x004AU);
  EXPECT_EQ(get(0, "Sn_TX_WR"), 0x004AU);
}

TEST_F(MacrawRegistersTest, EverySizeEndsWithSendok) {
  open(0, mode::MACRAW, 0);
  for (const std::size_t size : {14U, 60U, 1514U, 1515U}) {  // the last is not sent
    send(0, frame(size));
    wait(1ms);
    EXPECT_EQ(interrupts(0), ir::SENDOK) << size;
    EXPECT_EQ(get(0, "Sn_TX_RD"), get(0, "Sn_TX_WR")) << size;
    clear_interrupts(0);
  }
}

TEST_F(MacrawRegistersTest, CloseAndOpenStartFromEmptyRings) {
  open(0, mode::MACRAW, 0);
  send(0, frame(100));
  wait(1ms);
  command(0, cr::CLOSE);
  EXPECT_EQ(status(0), sr::CLOSED);
  open(0, mode::MACRAW | mode::MFEN, 0);
  EXPECT_EQ(status(0), sr::MACRAW);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
  for (const char* name : {"Sn_TX_RD", "Sn_TX_WR", "Sn_RX_RD"}) EXPECT_EQ(get(0, name), 0U) << name;
}

class MacrawTest : public PeerTest {
 protected:
  void open_raw(std::uint8_t bits = 0) { open(0, static_cast<std::uint8_t>(mode::MACRAW | bits), 0); }
  Octets frame_to(const MacAddress& destination, std::size_t size = 60, std::uint16_t type = some_type) {
    return peer().ethernet(destination, type, counting(size - 14));
  }
  // Bytes that the frame added to the ring.
  std::uint64_t received_after(const Octets& frame, bool fcs_good = true) {
    const std::uint64_t before = get(0, "Sn_RX_RSR");
    peer().send(frame, fcs_good);
    wait(1ms);
    return get(0, "Sn_RX_RSR") - before;
  }
};

// 11.
TEST_F(MacrawTest, SixtyByteFrameShowsAs62BehindItsLength) {
  open_raw();
  const Octets frame = frame_to(stranger);
  EXPECT_EQ(received_after(frame), 62U);
  EXPECT_EQ(interrupts(0), ir::RECV);
  const Octets record = receive(0, 62);
  EXPECT_EQ(record[0], 0x00);
  EXPECT_EQ(record[1], 0x3E);
  EXPECT_EQ(Octets(record.begin() + 2, record.end()), frame);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
}

TEST_F(MacrawTest, LargestFrameIsARecordOf1516Bytes) {
  open_raw();
  const Octets frame = frame_to(stranger, 1514);
  EXPECT_EQ(received_after(frame), 1516U);
  const Octets record = receive(0, 1516);
  EXPECT_EQ(load16(record.data()), 1516);
  EXPECT_EQ(Octets(record.begin() + 2, record.end()), frame);
}

TEST_F(MacrawTest, FramesFollowBackToBack) {
  open_raw();
  for (std::size_t size = 60; size < 70; ++size) received_after(frame_to(stranger, size));
  for (std::size_t size = 60; size < 70; ++size) {
    const Octets record = receive(0, size + 2);
    EXPECT_EQ(load16(record.data()), size + 2);
  }
}

// Filters -------------------------------------------------------------------------------------------------------------

TEST_F(MacrawTest, WithoutMfenEverythingIsTaken) {
  open_raw();
  for (const MacAddress& mac :
       {chip_mac, stranger, wire::broadcast_mac, ipv4_multicast, ipv6_multicast, other_multicast}) {
    EXPECT_EQ(received_after(frame_to(mac)), 62U);
  }
}

TEST_F(MacrawTest, MfenTakesOwnBroadcastAndMulticastOnly) {
  open_raw(mode::MFEN);
  EXPECT_EQ(received_after(frame_to(chip_mac)), 62U);
  EXPECT_EQ(received_after(frame_to(wire::broadcast_mac)), 62U);
  EXPECT_EQ(received_after(frame_to(ipv4_multicast)), 62U);
  EXPECT_EQ(received_after(frame_to(stranger)), 0U);
}

// Observed by ESP; 8 no. 6.
TEST_F(MacrawTest, MfenDropsMulticastThatIsNotIp) {
  open_raw(mode::MFEN);
  EXPECT_EQ(received_after(frame_to(other_multicast)), 0U);
}

TEST_F(MacrawTest, MmbDropsIpv4MulticastAndLetsIpv6Through) {
  open_raw(mode::MFEN | mode::MMB);
  EXPECT_EQ(received_after(frame_to(ipv4_multicast)), 0U);
  EXPECT_EQ(received_after(frame_to(ipv6_multicast)), 62U);
  EXPECT_EQ(received_after(frame_to(chip_mac)), 62U);
}

TEST_F(MacrawTest, Mip6bDropsIpv6ByItsType) {
  open_raw(mode::MFEN | mode::MIP6B);
  EXPECT_EQ(received_after(frame_to(chip_mac, 60, wire::type_ipv6)), 0U);
  EXPECT_EQ(received_after(frame_to(chip_mac)), 62U);
}

TEST_F(MacrawTest, BcastbDropsBroadcastsArpWithThem) {
  open_raw(mode::MFEN | mode::BCASTB);
  EXPECT_EQ(received_after(frame_to(wire::broadcast_mac)), 0U);
  EXPECT_EQ(received_after(peer().arp(wire::Arp::Operation::request, wire::ipv4(192, 168, 1, 55))), 0U);
  EXPECT_EQ(received_after(frame_to(chip_mac)), 62U);
}

// 5.3.
TEST_F(MacrawTest, RuntsAreDropped) {
  open_raw();
  for (std::size_t bytes = 14; bytes < 60; ++bytes) {
    peer().send_runt(frame_to(stranger, bytes));
    wait(100us);
    EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U) << bytes;
  }
  EXPECT_EQ(received_after(frame_to(stranger, 60)), 62U);
}

TEST_F(MacrawTest, DamagedAndOversizedFramesAreDropped) {
  open_raw();
  EXPECT_EQ(received_after(frame_to(stranger), false), 0U);
  EXPECT_EQ(received_after(frame_to(stranger, 1515)), 0U);
}

// 5.3: tagged frames pass in MACRAW.
TEST_F(MacrawTest, VlanTaggedFramesPass) {
  open_raw();
  EXPECT_EQ(received_after(frame_to(chip_mac, 100, 0x8100)), 102U);
}

// Overflow ------------------------------------------------------------------------------------------------------------

TEST_F(MacrawTest, FrameThatDoesNotFitIsDroppedAndOlderOnesStay) {
  open_raw();
  EXPECT_EQ(received_after(frame_to(stranger, 1498)), 1500U);
  EXPECT_EQ(received_after(frame_to(stranger, 547)), 0U);
  EXPECT_EQ(received_after(frame_to(stranger, 546)), 548U);  // exactly the rest
  EXPECT_EQ(received_after(frame_to(stranger)), 0U);
  const Octets record = receive(0, 1500);
  EXPECT_EQ(load16(record.data()), 1500);
}

// 4.2: the drain trick.
TEST_F(MacrawTest, ReadPointerAtWritePointerEmptiesTheRing) {
  open_raw();
  for (int i = 0; i < 5; ++i) peer().send(frame_to(stranger, 100));
  wait(1ms);
  ASSERT_EQ(get(0, "Sn_RX_RSR"), 510U);
  set(0, "Sn_RX_RD", get(0, "Sn_RX_WR"));
  command(0, cr::RECV);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  EXPECT_EQ(received_after(frame_to(stranger, 100)), 102U);
}

// Sending -------------------------------------------------------------------------------------------------------------

TEST_F(MacrawTest, WholeRangeIsOneFrameAsWritten) {
  open_raw();
  Octets frame = frame_to(peer_mac(), 1514);
  std::copy(stranger.begin(), stranger.end(), frame.begin() + 6);  // the source MAC is the host's business as well
  send(0, frame);
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 1U);
  EXPECT_EQ(peer().seen()[0].bytes, frame);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
  EXPECT_EQ(get(0, "Sn_TX_RD"), get(0, "Sn_TX_WR"));
  EXPECT_EQ(get(0, "Sn_TX_RD"), 1514U);
}

TEST_F(MacrawTest, ShortFrameIsPaddedWithZeros) {
  open_raw();
  const Octets frame = frame_to(peer_mac(), 42);
  write(tx_of(0), 0, Octets(100, 0xEE));
  send(0, frame);
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 1U);
  Octets padded = frame;
  padded.resize(60, 0x00);
  EXPECT_EQ(peer().seen()[0].bytes, padded);
}

TEST_F(MacrawTest, FrameAbove1514IsNotSentButEnds) {
  open_raw();
  send(0, counting(1515));
  wait(1ms);
  EXPECT_SILENCE();
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

// 9.2: within ESP's limit.
TEST_F(MacrawTest, SendokComesWithin200Microseconds) {
  open_raw();
  send(0, frame_to(peer_mac(), 1514));
  wait(199us);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

// What an earlier life of the socket sent completes nothing.
TEST_F(MacrawTest, FrameFromBeforeCloseRaisesNoSendok) {
  open_raw();
  const Octets frame = frame_to(peer_mac(), 1514);
  send(0, frame);
  wait(50us);
  command(0, cr::CLOSE);
  open_raw();
  send(0, frame);
  wait(150us);  // the first has left, the second has not
  EXPECT_EQ(peer().seen().size(), 1U);
  EXPECT_EQ(interrupts(0), 0U);
  wait(150us);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
}

TEST_F(MacrawTest, OneFrameIsInFlight) {
  open_raw();
  const Octets frame = frame_to(peer_mac(), 100);
  write(tx_of(0), 0, frame);
  write(tx_of(0), 100, frame);
  set(0, "Sn_TX_WR", 100);
  set(0, "Sn_CR", cr::SEND);
  set(0, "Sn_TX_WR", 200);
  set(0, "Sn_CR", cr::SEND);
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 2U);
  EXPECT_EQ(peer().seen()[0].bytes, frame);
  EXPECT_EQ(peer().seen()[1].bytes, frame);
}

// 4.4, 8 no. 7: without link SENDOK does not come.
TEST_F(MacrawTest, WithoutLinkSendokDoesNotCome) {
  REQUIRES(cable_switch);
  open_raw();
  target().set_cable(false);
  wait(10ms);
  send(0, frame_to(peer_mac()));
  wait(10s);
  EXPECT_EQ(interrupts(0) & ir::SENDOK, 0U);
}

// Beside the stack ----------------------------------------------------------------------------------------------------

TEST_F(MacrawTest, WithoutAnAddressTheStackIsSilentAndEverythingIsDelivered) {
  set("SIPR", 0);
  open_raw(mode::MFEN);
  EXPECT_EQ(received_after(peer().arp(wire::Arp::Operation::request, chip_ip)), 62U);
  EXPECT_EQ(received_after(peer().ping(1, 1, counting(56))), 2U + 14 + 20 + 8 + 56);
  EXPECT_EQ(received_after(peer().udp(1, 6000, counting(100))), 2U + 14 + 20 + 8 + 100);
  EXPECT_SILENCE();
}

// 12 no. 37.
TEST_F(MacrawTest, WithAnAddressArpAndPingAreAnsweredAndDelivered) {
  open_raw(mode::MFEN);
  EXPECT_EQ(received_after(peer().arp(wire::Arp::Operation::request, chip_ip)), 62U);
  EXPECT_FRAME({.kind = Kind::arp});
  EXPECT_EQ(received_after(peer().ping(1, 1, counting(56))), 100U);
  EXPECT_FRAME({.kind = Kind::icmp});
}

// 5.4: an echo reply is nobody's but MACRAW's, with an address and without.
TEST_F(MacrawTest, EchoRepliesAreDelivered) {
  for (const bool with_address : {true, false}) {
    if (!with_address) set("SIPR", 0);
    open_raw(mode::MFEN);
    Octets reply(8 + 56);
    wire::IcmpHeader{wire::IcmpHeader::echo_reply, 0, 7, 1}.emit(reply);
    EXPECT_EQ(received_after(peer().ip(wire::protocol_icmp, reply, {})), 2U + 14 + 20 + 64);
    EXPECT_SILENCE();
    command(0, cr::CLOSE);
  }
}

TEST_F(MacrawTest, NoRstAndNoUnreachableWhileMacrawIsOpen) {
  open_raw(mode::MFEN);
  net::ScriptedConnection nobody{peer(), 40000, 5000};
  nobody.syn();
  peer().send(peer().udp(1, 6000, counting(100)));
  wait(1ms);
  EXPECT_SILENCE();
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 62U + 144U);
  command(0, cr::CLOSE);
  nobody.syn();
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::tcp, .flags = RST | ACK});
}

// F1114: what another socket takes is not given to MACRAW.
TEST_F(MacrawTest, OtherSocketsKeepWorkingAndTheirFramesAreTheirs) {
  open_raw(mode::MFEN);
  open(1, mode::UDP, 5001);
  EXPECT_EQ(received_after(peer().udp(1, 5001, counting(20))), 0U);
  EXPECT_EQ(get(1, "Sn_RX_RSR"), 28U);
  open(2, mode::TCP, 5002);
  command(2, cr::LISTEN);
  net::ScriptedConnection tcp{peer(), 40000, 5002};
  ASSERT_TRUE(tcp.establish_to_listener([this](Duration duration) { wait(duration); }));
  tcp.data(counting(30));
  wait(1ms);
  EXPECT_EQ(get(2, "Sn_RX_RSR"), 30U);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
}

// Fragments mean nothing to the stack, so they are delivered.
TEST_F(MacrawTest, FragmentsAreDelivered) {
  open_raw(mode::MFEN);
  EXPECT_EQ(received_after(peer().udp(1, 5001, counting(100), {.flags_and_fragment = 0x2000})), 144U);
}

}  // namespace
}  // namespace wizloop::conformance
