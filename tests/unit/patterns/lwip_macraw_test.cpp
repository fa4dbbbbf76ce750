// lwIP on the board, over MACRAW, against the PC's lwIP: two stacks in one process, with the chip as nothing but a MAC.
#include "drivers/patterns/lwip_macraw.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "drivers/patterns/pico_macraw.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "sim/net/services/pattern.hpp"
#include "sim/net/services/pinger.hpp"
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "sim/net/services/udp_echo.hpp"
#include "sim/testbed/testbed.hpp"
#include "sim/wire/arp.hpp"
#include "sim/wire/ethernet.hpp"
#include "sim/wire/tcp.hpp"

namespace wizloop::test {
namespace {

using testbed::board_ip;
using testbed::pc_ip;
using testing::AllOf;
using testing::Each;
using testing::Gt;
using testing::IsEmpty;
using testing::Le;
using testing::Not;

constexpr patterns::NetConfig network = {
    {0x02, 0, 0, 0, 0, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}, 2};
constexpr patterns::Endpoint pc_port(std::uint16_t port) { return {{192, 168, 1, 10}, port}; }

// What goes over the cable, in the words of the tests below.
class CableLog final : public net::LinkObserver {
 public:
  void on_frame(net::End from, Instant, const wire::Frame& frame) override {
    const auto ethernet = wire::EthernetHeader::parse(frame.data());
    const Bytes packet = frame.data().subspan(wire::ethernet_header_bytes);
    if (ethernet->type == wire::type_arp) {
      const auto arp = wire::Arp::parse(packet);
      if (arp->operation == wire::Arp::Operation::reply && from == net::End::board) ++arp_replies_of_the_board;
      return;
    }
    const auto ip = wire::Ipv4Header::parse(packet);
    if (!ip || ip->protocol != wire::protocol_tcp || from != net::End::board) return;
    const Bytes segment = packet.subspan(ip->header_bytes, ip->total_length - ip->header_bytes);
    const auto tcp = wire::TcpHeader::parse(*ip, segment);
    windows.push_back(tcp->window);
    largest_segment = std::max(largest_segment, segment.size() - tcp->header_bytes);
  }

  std::size_t arp_replies_of_the_board = 0;
  std::vector<std::uint16_t> windows;
  std::size_t largest_segment = 0;
};

class LwipMacrawTest : public testing::Test {
 protected:
  explicit LwipMacrawTest(std::uint64_t seed = 1)
      : bed{testbed::Testbed::create(
                {.board = bus::load_board(WIZLOOP_BOARDS_DIR "/w55rp20-lwip.toml").value(), .seed = seed})
                .value()},
        port{bed->queue(), bed->bus(), bed->chip(), bed->board(), false},
        bus{port},
        driver{bus, port},
        library{patterns::LwipMacraw::create(driver, port, patterns::LwipMacraw::Core::arduino_pico, seed,
                                             [this](std::uint16_t) { ++packets; })
                    .value()} {
    bed->link().observe(cable);
    bed->bus().start_watchdog(120s);
  }
  void TearDown() override { EXPECT_THAT(bed->findings().failing(false), IsEmpty()); }

  // The sketch does nothing.
  void rest(Duration duration) {
    const Instant until = bed->now() + duration;
    while (bed->now() < until) {
      const Duration due = microseconds(library->run_background());
      if (bed->now() < until) bed->bus().spend(std::min(due, until - bed->now()), Account::idle);
    }
  }
  template <typename Condition>
  bool within(Duration limit, Condition condition) {
    const Instant end = bed->now() + limit;
    while (!condition()) {
      if (bed->now() >= end) return false;
      bed->bus().spend(10us, Account::cpu);
    }
    return true;
  }
  std::vector<std::uint8_t> read_stream(std::size_t bytes, Duration limit = 5s) {
    std::vector<std::uint8_t> all;
    within(limit, [&] {
      std::array<std::uint8_t, 2048> buffer;
      const std::uint16_t got =
          library->tcp_available() > 0 ? library->tcp_read(buffer.data(), 2048) : std::uint16_t{0};
      all.insert(all.end(), buffer.begin(), buffer.begin() + got);
      return all.size() >= bytes;
    });
    return all;
  }

  std::unique_ptr<testbed::Testbed> bed;
  SimPort port;
  w5500::BurstBus bus;
  patterns::PicoMacraw driver;
  std::uint64_t packets = 0;
  std::unique_ptr<patterns::LwipMacraw> library;
  CableLog cable;
};

TEST_F(LwipMacrawTest, AnswersArpAndPingsByItself) {
  ASSERT_TRUE(library->begin(network));
  bed->pc().resolve(board_ip);
  rest(100ms);
  EXPECT_EQ(cable.arp_replies_of_the_board, 1u);
  net::Pinger pinger{bed->pc(), {.target = board_ip, .count = 5, .interval = 30ms, .start = bed->now()}};
  rest(500ms);
  EXPECT_EQ(pinger.counters().answered, 5u);
  EXPECT_EQ(packets, 1 + 2 + 10u);  // its announcement, ARP, and five requests and replies
  // At the ticks of its timer: nothing of the chip's own answers in microseconds.
  EXPECT_THAT(pinger.counters().rtt, Each(AllOf(Gt(Duration{100us}), Le(Duration{22ms}))));
}

TEST_F(LwipMacrawTest, WithoutItsTimerNobodyAnswers) {
  ASSERT_TRUE(library->begin(network));
  net::Pinger pinger{bed->pc(), {.target = board_ip, .count = 1, .start = bed->now()}};
  bed->bus().spend(2s, Account::idle);
  EXPECT_EQ(pinger.counters().answered, 0u);
  EXPECT_EQ(cable.arp_replies_of_the_board, 0u);
}

TEST_F(LwipMacrawTest, ReceivesAStreamThroughAWindowOfEightSegments) {
  ASSERT_TRUE(library->begin(network));
  ASSERT_TRUE(library->tcp_listen(5001));
  EXPECT_FALSE(library->tcp_connected());
  net::TcpSource source{bed->pc(), {.bytes = 60'000}};
  source.connect(board_ip, 5001);
  ASSERT_TRUE(within(1s, [&] { return library->tcp_connected(); }));
  const auto received = read_stream(60'000);
  ASSERT_EQ(received.size(), 60'000u);
  EXPECT_EQ(net::pattern_mismatches(0, received), 0u);
  EXPECT_THAT(cable.windows, Each(Le(8 * 1460)));
  EXPECT_THAT(cable.windows, testing::Contains(0));  // the sketch reads only after the timer has taken all eight
  library->tcp_stop();
  EXPECT_FALSE(library->tcp_connected());
}

TEST_F(LwipMacrawTest, SendsAStreamAndClosesInOrder) {
  ASSERT_TRUE(library->begin(network));
  net::TcpSink sink{bed->pc(), 5001};
  ASSERT_TRUE(library->tcp_connect(pc_port(5001), 0));
  EXPECT_TRUE(library->tcp_connected());
  for (std::uint64_t sent = 0; sent < 60'000;) {
    const Bytes piece = net::pattern(sent, 2000);
    ASSERT_EQ(library->tcp_write(piece.data(), 2000), 2000);
    sent += 2000;
  }
  library->tcp_stop();
  rest(200ms);
  EXPECT_EQ(sink.counters().bytes, 60'000u);
  EXPECT_EQ(sink.counters().mismatches, 0u);
  EXPECT_EQ(sink.counters().peer_closed, 1u);
  EXPECT_EQ(sink.counters().lost, 0u);
  EXPECT_EQ(cable.largest_segment, 1460u);
}

TEST_F(LwipMacrawTest, EchoesAStreamAndConnectsAgain) {
  ASSERT_TRUE(library->begin(network));
  net::TcpEcho echo{bed->pc(), 7};
  for (int round = 0; round < 3; ++round) {
    ASSERT_TRUE(library->tcp_connect(pc_port(7), 0)) << round;
    const Bytes data = net::pattern(0, 3000);
    ASSERT_EQ(library->tcp_write(data.data(), 3000), 3000);
    const auto back = read_stream(3000);
    EXPECT_TRUE(std::equal(back.begin(), back.end(), data.begin(), data.end()));
    library->tcp_stop();
    rest(100ms);
  }
  EXPECT_EQ(echo.counters().peer_closed, 3u);
}

TEST_F(LwipMacrawTest, CarriesDatagramsBothWays) {
  ASSERT_TRUE(library->begin(network));
  net::UdpEcho echo{bed->pc(), 7};
  ASSERT_TRUE(library->udp_open(50'000));
  EXPECT_EQ(library->udp_parse(), 0);
  for (const std::uint16_t bytes : {std::uint16_t{1}, std::uint16_t{512}, std::uint16_t{1472}}) {
    const Bytes data = net::pattern(bytes, bytes);
    ASSERT_TRUE(library->udp_send(pc_port(7), data.data(), bytes));
    std::uint16_t found = 0;
    ASSERT_TRUE(within(1s, [&] {
      rest(1ms);
      return (found = library->udp_parse()) > 0;
    })) << bytes;
    EXPECT_EQ(found, bytes);
    std::array<std::uint8_t, 1472> back;
    EXPECT_EQ(library->udp_read(back.data(), 1), 1);  // in pieces
    EXPECT_EQ(library->udp_read(back.data() + 1, 1472), bytes - 1);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), back.begin()));
    EXPECT_EQ(library->udp_read(back.data(), 1), 0);
  }
  EXPECT_EQ(echo.counters().datagrams, 3u);
}

TEST_F(LwipMacrawTest, ADatagramHalfReadIsDroppedForTheNext) {
  ASSERT_TRUE(library->begin(network));
  net::UdpEcho echo{bed->pc(), 7};
  ASSERT_TRUE(library->udp_open(50'000));
  const Bytes data = net::pattern(0, 30);
  ASSERT_TRUE(library->udp_send(pc_port(7), data.data(), 10));
  ASSERT_TRUE(library->udp_send(pc_port(7), data.data(), 20));
  rest(200ms);
  std::uint8_t byte = 0;
  EXPECT_EQ(library->udp_parse(), 10);
  EXPECT_EQ(library->udp_read(&byte, 1), 1);
  EXPECT_EQ(library->udp_parse(), 20);
  EXPECT_EQ(library->udp_parse(), 0);
}

TEST_F(LwipMacrawTest, ARefusedConnectionFailsAtOnce) {
  ASSERT_TRUE(library->begin(network));
  EXPECT_FALSE(library->tcp_connect(pc_port(9), 0));
  EXPECT_LT(bed->now(), Instant{200ms});
  EXPECT_FALSE(library->tcp_connected());
}

TEST_F(LwipMacrawTest, ASilentPeerIsGivenUpAfterFiveSeconds) {
  ASSERT_TRUE(library->begin(network));
  EXPECT_FALSE(library->tcp_connect({{192, 168, 1, 99}, 80}, 0));
  EXPECT_GE(bed->now(), Instant{5s});
  EXPECT_LT(bed->now(), Instant{5200ms});
}

TEST_F(LwipMacrawTest, SeesThePeerClose) {
  ASSERT_TRUE(library->begin(network));
  ASSERT_TRUE(library->tcp_listen(5001));
  net::TcpSource source{bed->pc(), {.bytes = 100}};
  source.connect(board_ip, 5001);
  ASSERT_TRUE(within(1s, [&] { return library->tcp_connected(); }));
  EXPECT_EQ(read_stream(100).size(), 100u);
  rest(200ms);
  EXPECT_FALSE(library->tcp_connected());
  const std::uint8_t byte = 0;
  EXPECT_EQ(library->tcp_write(&byte, 1), 0);
  library->tcp_stop();
}

TEST_F(LwipMacrawTest, ASecondConnectionIsResetUntilTheFirstIsReadToItsEnd) {
  ASSERT_TRUE(library->begin(network));
  ASSERT_TRUE(library->tcp_listen(5001));
  net::TcpSource first{bed->pc(), {.bytes = 1000}};
  first.connect(board_ip, 5001);
  ASSERT_TRUE(within(1s, [&] { return library->tcp_connected(); }));
  rest(200ms);
  net::TcpSource second{bed->pc(), {.bytes = 10}};
  second.connect(board_ip, 5001);
  rest(200ms);
  EXPECT_THAT(second.counters().failure, Not(IsEmpty()));
  EXPECT_EQ(read_stream(1000).size(), 1000u);
  library->tcp_stop();
  net::TcpSource third{bed->pc(), {.bytes = 10}};
  third.connect(board_ip, 5001);
  ASSERT_TRUE(within(1s, [&] { return library->tcp_connected(); }));
  EXPECT_EQ(read_stream(10).size(), 10u);
}

TEST_F(LwipMacrawTest, CallsBeforeBeginAndWithoutASocketDoNothing) {
  std::uint8_t byte = 0;
  EXPECT_FALSE(library->tcp_connect(pc_port(7), 0));
  EXPECT_FALSE(library->tcp_listen(7));
  EXPECT_FALSE(library->udp_open(7));
  EXPECT_EQ(library->run_background(), patterns::SocketLibrary::never_us);
  EXPECT_EQ(bed->bus().frames(), 0u);
  ASSERT_TRUE(library->begin(network));
  EXPECT_FALSE(library->begin(network));  // once
  EXPECT_EQ(library->tcp_write(&byte, 1), 0);
  EXPECT_EQ(library->tcp_available(), 0);
  EXPECT_EQ(library->tcp_read(&byte, 1), 0);
  library->tcp_stop();
  EXPECT_FALSE(library->udp_send(pc_port(7), &byte, 1));
  EXPECT_EQ(library->udp_parse(), 0);
  EXPECT_EQ(library->udp_read(&byte, 1), 0);
}

TEST_F(LwipMacrawTest, AnEndlessWaitInsideLwipCanBeLeftByTheWatchdog) {
  ASSERT_TRUE(library->begin(network));
  bed->chip().plug(false);
  rest(10ms);
  ASSERT_TRUE(library->udp_open(50'000));
  bed->bus().start_watchdog(100ms);
  const std::uint8_t byte = 0;
  EXPECT_THROW(library->udp_send(pc_port(7), &byte, 1), bus::FirmwareHangs);
}

TEST_F(LwipMacrawTest, EqualSeedsMakeEqualRuns) {
  const auto fingerprint = [](std::uint64_t seed) {
    struct Run : LwipMacrawTest {
      explicit Run(std::uint64_t seed) : LwipMacrawTest{seed} {}
      void TestBody() override {}
      std::uint64_t fingerprint() {
        net::TcpEcho echo{bed->pc(), 7};
        EXPECT_TRUE(library->begin(network));
        EXPECT_TRUE(library->tcp_connect(pc_port(7), 0));
        const Bytes data = net::pattern(0, 2000);
        library->tcp_write(data.data(), 2000);
        read_stream(2000);
        return bed->fingerprint().value();
      }
    };
    return Run{seed}.fingerprint();
  };
  EXPECT_EQ(fingerprint(1), fingerprint(1));
  EXPECT_NE(fingerprint(1), fingerprint(2));  // lwIP's source port is drawn
}

}  // namespace
}  // namespace wizloop::test
