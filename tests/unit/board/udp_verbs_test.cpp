// udp-send, udp-recv and udp-echo, against services of the PC.
#include "sim/core/bytes.hpp"
#include "sim/net/services/udp_echo.hpp"
#include "sim/net/services/udp_sink.hpp"
#include "sim/net/services/udp_source.hpp"
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class UdpVerbs : public BoardTest {
 protected:
  void send_iperf(net::UdpPort& port, std::int32_t id, std::size_t size = 1470) {
    std::vector<std::uint8_t> payload(size);
    store32(payload.data(), static_cast<std::uint32_t>(id));
    const auto us = static_cast<std::uint64_t>(board->now().time_since_epoch() / microseconds(1));
    store32(&payload[4], static_cast<std::uint32_t>(us / 1'000'000));
    store32(&payload[8], static_cast<std::uint32_t>(us % 1'000'000));
    store32(&payload[12], id < 0 ? 0xFFFFFFFF : 0);
    EXPECT_TRUE(port.send({testbed::board_ip, 5001}, payload));
  }
};

TEST_F(UdpVerbs, SendsNumberedDatagrams) {
  net::UdpSink sink{pc(), 5001};
  const std::string answer = ask("udp-send ip=192.168.1.10 port=5001 count=200 size=1000");
  EXPECT_THAT(answer, StartsWith("ok bytes=200000 us="));
  board->run_until(board->now() + 10ms);
  EXPECT_EQ(sink.counters().datagrams, 200U);
  EXPECT_EQ(sink.counters().missing, 0U);
}

TEST_F(UdpVerbs, KeepsToItsRate) {
  net::UdpSink sink{pc(), 5001};
  const std::string answer = ask("udp-send ip=192.168.1.10 port=5001 count=101 size=1000 kbit_s=8000");  // one each ms
  EXPECT_NEAR(static_cast<double>(number_of(answer, "us")), 100'000, 1'500);
}

TEST_F(UdpVerbs, ReceivesAndCountsGaps) {
  net::UdpPort port{pc(), 0, [](const auto&, Bytes) {}};
  board->queue().schedule(10ms, [&] {
    for (const std::uint32_t number : {0U, 1U, 4U, 3U}) {
      std::vector<std::uint8_t> payload(100);
      for (std::size_t i = 0; i < payload.size(); ++i) payload[i] = static_cast<std::uint8_t>(i);
      store32(payload.data(), number);
      port.send({testbed::board_ip, 5001}, payload);
    }
  });
  const std::string answer = ask("udp-recv port=5001 idle_ms=50");
  EXPECT_THAT(answer, StartsWith("ok bytes=400 "));
  EXPECT_THAT(answer, HasSubstr(" count=4 "));
  EXPECT_THAT(answer, HasSubstr(" lost=1 late=1 bad=0 "));
}

TEST_F(UdpVerbs, NothingThatComesIsATimeout) {
  EXPECT_THAT(ask("udp-recv port=5001 timeout_ms=500"), StartsWith("err timeout bytes=0 us=0 count=0 "));
}

TEST_F(UdpVerbs, CountsRoundTrips) {
  net::UdpEcho echo{pc(), 7};
  const std::string answer = ask("udp-echo ip=192.168.1.10 port=7 count=20 size=500");
  EXPECT_THAT(answer, StartsWith("ok bytes=10000 "));
  EXPECT_THAT(answer, HasSubstr(" count=20 bad=0 lost=0 rtt_min_us="));
}

TEST_F(UdpVerbs, EchoThatDoesNotComeIsLost) {
  net::UdpSink sink{pc(), 7};
  EXPECT_THAT(ask("udp-echo ip=192.168.1.10 port=7 count=3 wait_ms=20"), HasSubstr(" count=3 bad=0 lost=3"));
}

TEST_F(UdpVerbs, NobodyThereIsAPeerTimeout) {
  EXPECT_THAT(ask("udp-send ip=192.168.1.99 port=7"), StartsWith("err peer-timeout "));
}

TEST_F(UdpVerbs, EchoesWhatComes) {
  std::vector<std::string> back;
  net::UdpPort port{pc(), 0, [&](const auto&, Bytes payload) { back.emplace_back(payload.begin(), payload.end()); }};
  const std::string text(1472, 'q');
  board->queue().schedule(10ms, [&] {
    port.send({testbed::board_ip, 7}, Bytes{reinterpret_cast<const std::uint8_t*>("hi"), 2});
    port.send({testbed::board_ip, 7}, Bytes{reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
  });
  EXPECT_THAT(ask("udp-echo port=7 count=2"), StartsWith("ok bytes=1474 "));
  board->run_until(board->now() + 10ms);
  EXPECT_EQ(back, (std::vector<std::string>{"hi", text}));
}

TEST_F(UdpVerbs, IperfServerReports) {
  std::vector<std::vector<std::uint8_t>> reports;
  net::UdpPort port{pc(), 0, [&](const auto&, Bytes payload) { reports.emplace_back(payload.begin(), payload.end()); }};
  for (int i = 1; i <= 20; ++i) {
    if (i == 7) continue;  // lost
    board->queue().schedule(10ms + 1ms * i, [&, i] { send_iperf(port, i); });
  }
  board->queue().schedule(40ms, [&] { send_iperf(port, -21); });
  board->queue().schedule(290ms, [&] { send_iperf(port, -22); });  // as if the report had been lost
  const std::string answer = ask("udp-recv port=5001 report=iperf idle_ms=500");
  EXPECT_THAT(answer, StartsWith("ok bytes=27930 us=18"));
  EXPECT_THAT(answer, HasSubstr(" count=19 "));
  EXPECT_THAT(answer, HasSubstr(" lost=1 late=0 bad=0 jitter_us="));
  ASSERT_EQ(reports.size(), 2U);
  const auto word_at = [&](std::size_t at) { return load32(&reports[0][at]); };
  EXPECT_EQ(reports[0].size(), 56U);
  EXPECT_EQ(word_at(16), 0x80000000U);
  EXPECT_EQ(word_at(24), 27930U);
  EXPECT_EQ(word_at(28), 0U);
  EXPECT_NEAR(word_at(32), 19000, 1000);  // the first one waited for ARP
  EXPECT_EQ(word_at(36), 1U);             // lost
  EXPECT_EQ(word_at(40), 0U);             // out of order
  EXPECT_EQ(word_at(44), 20U);            // datagrams
  EXPECT_LT(number_of(answer, "jitter_us"), 50U);
}

TEST_F(UdpVerbs, IperfClientTakesTheReport) {
  std::vector<std::int32_t> ids;
  std::unique_ptr<net::UdpPort> port;
  port = std::make_unique<net::UdpPort>(pc(), 5001, [&](const net::UdpPort::Address& from, Bytes payload) {
    ids.push_back(static_cast<std::int32_t>(load32(payload.data())));
    if (ids.back() >= 0 || ids.back() > -12) return;  // the first last datagram stays unanswered
    std::vector<std::uint8_t> report(128);
    store32(&report[16], 0x88000000);
    store32(&report[24], 14700);
    store32(&report[32], 12345);
    store32(&report[36], 2);
    store32(&report[44], 10);
    store32(&report[52], 33);
    port->send(from, report);
  });
  const std::string answer = ask("udp-send ip=192.168.1.10 port=5001 count=10 report=iperf");
  EXPECT_THAT(answer, HasSubstr(" count=10 "));
  EXPECT_THAT(answer,
              HasSubstr(" reported=1 peer_bytes=14700 peer_us=12345 peer_lost=2 peer_late=0 peer_jitter_us=33"));
  EXPECT_EQ(ids, (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -11, -12}));
}

}  // namespace
}  // namespace wizloop::test
