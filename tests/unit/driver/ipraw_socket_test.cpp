#include "drivers/w5500/ipraw_socket.hpp"

#include "tests/unit/driver/testbed_test.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;
using w5500::Datagram;
using w5500::IprawSocket;
using w5500::Result;
using wire::ipv4;

constexpr std::uint8_t pc[4] = {192, 168, 1, 10};
constexpr std::uint8_t other[4] = {192, 168, 1, 77};
constexpr wire::Ipv4Address other_ip = ipv4(192, 168, 1, 77);

class IprawSocketTest : public TestbedTest {
 protected:
  void SetUp() override { build_with_address(); }
};
WIZLOOP_ON_EVERY_BUS(IprawSocketTest);

TEST_P(IprawSocketTest, CarriesAnyProtocolInBothDirections) {
  occupy(other_ip);
  std::vector<Bytes> packets;
  struct Watch final : net::LinkObserver {
    explicit Watch(std::vector<Bytes>& into) : packets{into} {}
    void on_frame(net::End from, Instant, const wire::Frame& frame) override {
      const auto data = frame.data().subspan(wire::ethernet_header_bytes);
      const auto ip = wire::Ipv4Header::parse(data);
      if (from == net::End::board && ip && ip->protocol == 253) {
        packets.emplace_back(data.begin() + ip->header_bytes, data.begin() + ip->total_length);
      }
    }
    std::vector<Bytes>& packets;
  } watch{packets};
  bed->link().observe(watch);

  IprawSocket socket{*chip, 5};
  ASSERT_TRUE(socket.open(253));  // for experiments (RFC 3692)
  EXPECT_EQ(socket.state().value(), w5500::Sn_SR::SOCK_IPRAW);
  const Bytes largest = pattern(1480);
  EXPECT_TRUE(socket.send_to(other, largest.data(), 1480));
  EXPECT_TRUE(socket.flush());
  EXPECT_TRUE(socket.start_datagram(other));
  EXPECT_TRUE(socket.append(largest.data(), 3));
  EXPECT_TRUE(socket.append(largest.data() + 3, 4));
  EXPECT_TRUE(socket.send_datagram());
  EXPECT_TRUE(socket.flush());
  EXPECT_THAT(packets, ElementsAre(largest, pattern(7)));

  Bytes got(1480);
  EXPECT_EQ(socket.receive_from(got.data(), 1480).error(), Error::no_datagram);
  arrive(253, largest, other_ip);
  arrive(253, pattern(5, 9), ipv4(192, 168, 1, 78));
  arrive(254, pattern(5), other_ip);  // another protocol
  Result<Datagram> datagram = socket.receive_from(got.data(), 1480);
  ASSERT_TRUE(datagram);
  EXPECT_THAT(datagram.value().from.ip, ElementsAre(192, 168, 1, 77));
  EXPECT_EQ(datagram.value().from.port, 0);
  EXPECT_EQ(datagram.value().size, 1480);
  EXPECT_EQ(got, largest);
  datagram = socket.receive_from(got.data(), 2);
  ASSERT_TRUE(datagram);
  EXPECT_THAT(datagram.value().from.ip, ElementsAre(192, 168, 1, 78));
  EXPECT_EQ(datagram.value().size, 5);
  EXPECT_EQ(datagram.value().stored, 2);
  EXPECT_EQ(socket.receive_from(got.data(), 1480, 5000).error(), Error::no_datagram);
  EXPECT_TRUE(socket.close());
  EXPECT_EQ(socket.receive_from(got.data(), 1480).error(), Error::wrong_state);
}

TEST_P(IprawSocketTest, RefusesWhatCannotBeSent) {
  IprawSocket socket{*chip, 5};
  const Bytes data(1481);
  EXPECT_EQ(socket.send_to(pc, data.data(), 1).error(), Error::wrong_state);
  ASSERT_TRUE(socket.open(253));
  EXPECT_EQ(socket.send_to(pc, data.data(), 0).error(), Error::invalid_argument);
  EXPECT_EQ(socket.send_to(pc, data.data(), 1481).error(), Error::invalid_argument);
  EXPECT_EQ(IprawSocket(*chip, 8).open(253).error(), Error::invalid_argument);
}

TEST_P(IprawSocketTest, AnUnansweredArpIsReported) {
  IprawSocket socket{*chip, 5};
  ASSERT_TRUE(socket.open(253));
  const Bytes data = pattern(4);
  EXPECT_TRUE(socket.send_to(other, data.data(), 4));
  EXPECT_EQ(socket.flush().error(), Error::peer_timeout);
}

TEST_P(IprawSocketTest, IsReopenedForAnotherProtocol) {
  IprawSocket socket{*chip, 5};
  ASSERT_TRUE(socket.open(253));
  ASSERT_TRUE(socket.open(254));
  arrive(253, pattern(5), other_ip);
  arrive(254, pattern(6), other_ip);
  Bytes got(10);
  EXPECT_EQ(socket.receive_from(got.data(), 10).value().size, 6);
}

TEST_P(IprawSocketTest, FramesPerCall) {
  // As of UDP; the header is shorter. Counted on a chip that counts.
  FakeW5500 fake;
  w5500::BurstBus plain{fake};
  w5500::Chip counted{plain, fake};
  IprawSocket socket{counted, 5};
  ASSERT_TRUE(socket.open(1));
  EXPECT_EQ(fake.socket(5, 0x14), 1);
  EXPECT_EQ(fake.socket(5, 0x00), 3);
  const auto frames_of = [&](auto call) {
    const std::size_t before = fake.frames().size();
    call();
    return fake.frames().size() - before;
  };
  const Bytes data = pattern(4);
  EXPECT_EQ(frames_of([&] { EXPECT_TRUE(socket.send_to(pc, data.data(), 4)); }), 5u);
  EXPECT_THAT(fake.frames()[fake.frames().size() - 3].mosi, ElementsAre(0x00, 0x0C, 0xAC, 192, 168, 1, 10));
  EXPECT_EQ(frames_of([&] { EXPECT_TRUE(socket.send_to(pc, data.data(), 4)); }), 5u);
  Bytes got(4);
  EXPECT_EQ(frames_of([&] { EXPECT_FALSE(socket.receive_from(got.data(), 4)); }), 3u);  // clears SENDOK
  EXPECT_EQ(frames_of([&] { EXPECT_FALSE(socket.receive_from(got.data(), 4)); }), 2u);
  EXPECT_THAT(fake.violations(), testing::IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
