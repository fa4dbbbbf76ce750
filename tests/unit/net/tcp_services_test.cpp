#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/net/services/pattern.hpp"
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

TEST(Pattern, CountsEachByteThatDiffers) {
  std::vector<std::uint8_t> data(100'000);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::uint8_t>(i + 1000);
  EXPECT_EQ(pattern_mismatches(1000, data), 0u);
  data[0] ^= 1;
  data[70'000] ^= 1;
  data[99'999] ^= 1;
  EXPECT_EQ(pattern_mismatches(1000, data), 3u);
  EXPECT_EQ(pattern_mismatches(1002, Bytes{data}.subspan(1, 1)), 1u);
}

TEST(TcpTransfer, FillsTheWireAndArrivesIntact) {
  TwoHosts net{{.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms}};
  TcpSink sink{*net.board, 5001};
  TcpSource source{*net.pc, {.bytes = mebibyte}};
  source.connect(board_ip, 5001);
  net.run(1s);

  const TcpSink::Counters& got = sink.counters();
  EXPECT_EQ(got.connections, 1u);
  EXPECT_EQ(got.bytes, mebibyte);
  EXPECT_EQ(got.mismatches, 0u);
  EXPECT_EQ(got.peer_closed, 1u);
  EXPECT_TRUE(source.finished());
  EXPECT_EQ(source.counters().bytes_acknowledged, mebibyte);
  EXPECT_TRUE(source.counters().peer_closed);
  EXPECT_EQ(source.counters().failure, "");
  const double seconds = std::chrono::duration<double>(got.last_byte - got.first_byte).count();
  EXPECT_NEAR(8e-6 * static_cast<double>(mebibyte) / seconds, 94.9, 1.0);  // 1460 of 1538 bytes are payload
}

TEST(TcpTransfer, SurvivesLoss) {
  TwoHosts net{{.ack_policy = AckPolicy::immediate}, {.loss_ppm = 5'000}};
  TcpSink sink{*net.board, 5001};
  TcpSource source{*net.pc, {.bytes = mebibyte / 4}};
  source.connect(board_ip, 5001);
  net.run(60s);
  EXPECT_GT(net.link.counters(End::host).lost, 0u);
  EXPECT_EQ(sink.counters().bytes, mebibyte / 4);
  EXPECT_EQ(sink.counters().mismatches, 0u);
  EXPECT_TRUE(source.finished());
}

TEST(TcpTransfer, SettlesWithAFixedStockOfFrames) {
  TwoHosts net{{.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms, .turnaround = 20us}};
  TcpSink sink{*net.board, 5001};
  TcpSource source{*net.pc, {}};
  source.connect(board_ip, 5001);
  net.run(30ms);
  const std::size_t frames = net.pool.made();
  net.run(100ms);
  EXPECT_EQ(net.pool.made(), frames);
  EXPECT_GT(sink.counters().bytes, mebibyte);
}

TEST(TcpSource, ServesTheOneThatConnectsAndResetsTheNext) {
  TwoHosts net;
  TcpSource source{*net.pc, {.bytes = 10'000}};
  source.listen(9000);
  TcpSource first{*net.board, {.bytes = 0}};
  first.connect(pc_ip, 9000);
  net.run(100ms);
  EXPECT_EQ(source.counters().bytes_acknowledged, 10'000u);
  EXPECT_TRUE(source.finished());

  TcpSource second{*net.board, {}};
  second.connect(pc_ip, 9000);
  net.run(100ms);
  EXPECT_EQ(source.counters().connections, 1u);
  EXPECT_EQ(second.counters().failure, "reset by the peer");
}

TEST(TcpSource, SendsWithoutEndUntilItIsStopped) {
  TwoHosts net;
  TcpSink sink{*net.board, 5001};
  TcpSource source{*net.pc, {}};
  source.connect(board_ip, 5001);
  net.run(50ms);
  EXPECT_FALSE(source.finished());
  source.stop();
  net.run(50ms);
  EXPECT_TRUE(source.finished());
  EXPECT_EQ(sink.counters().bytes, source.counters().bytes_queued);
  EXPECT_EQ(sink.counters().mismatches, 0u);
  EXPECT_EQ(sink.counters().peer_closed, 1u);
}

TEST(TcpSource, KeepsTheSendBufferFull) {
  TwoHosts net;
  TcpSink sink{*net.board, 5001};
  TcpSource source{*net.pc, {}};
  source.connect(board_ip, 5001);
  for (int i = 0; i < 20; ++i) {
    net.run(1ms);
    EXPECT_GE(source.counters().bytes_queued - source.counters().bytes_acknowledged, 65'535u - 1460u);
  }
}

TEST(TcpSource, ReportsThatNobodyListens) {
  TwoHosts net;
  TcpSource source{*net.pc, {}};
  source.connect(board_ip, 5001);
  net.run(100ms);
  EXPECT_EQ(source.counters().failure, "reset by the peer");
  EXPECT_EQ(source.counters().connections, 0u);
}

TEST(TcpSource, ReportsThatNobodyAnswers) {
  TwoHosts net;
  net.link.set_up(false);
  TcpSource source{*net.pc, {}};
  source.connect(board_ip, 5001);
  net.run(300s);
  EXPECT_EQ(source.counters().failure, "given up: no answer");
}

TEST(TcpSink, CountsSeveralConnectionsAndChecksEachFromItsBeginning) {
  TwoHosts net;
  TcpSink sink{*net.pc, 5001};
  TcpSource one{*net.board, {.bytes = 10'001}};
  TcpSource two{*net.board, {.bytes = 20'002}};
  one.connect(pc_ip, 5001);
  two.connect(pc_ip, 5001);
  net.run(100ms);
  TcpSource three{*net.board, {.bytes = 3}};
  three.connect(pc_ip, 5001);
  net.run(100ms);
  EXPECT_EQ(sink.counters().connections, 3u);
  EXPECT_EQ(sink.counters().peer_closed, 3u);
  EXPECT_EQ(sink.counters().bytes, 30'006u);
  EXPECT_EQ(sink.counters().mismatches, 0u);
}

// Sends once, and keeps what comes back.
struct Client final : TcpConnection::User {
  Client(LwipHost& host, std::uint16_t port, std::vector<std::uint8_t> to_send)
      : data{std::move(to_send)}, connection{host, *this} {
    connection.connect(pc_ip, port);
  }
  void on_connected() override { send(); }
  void on_acknowledged(std::size_t /*bytes*/) override { send(); }
  std::size_t on_data(Bytes bytes) override {
    received.insert(received.end(), bytes.begin(), bytes.end());
    return reading ? bytes.size() : 0;
  }
  void on_peer_closed() override {
    closed = true;
    connection.close();
  }
  void send() {
    sent += connection.write(Bytes{data}.subspan(sent).first(std::min<std::size_t>(data.size() - sent, 60'000)));
    if (sent == data.size() && !std::exchange(shut, true)) connection.shut_down();
  }

  std::vector<std::uint8_t> data;
  std::size_t sent = 0;
  std::vector<std::uint8_t> received;
  bool reading = true;
  bool shut = false;
  bool closed = false;
  TcpConnection connection;
};

std::vector<std::uint8_t> random_bytes(std::size_t count) {
  RandomStream random = Random{11}.stream("payload");
  std::vector<std::uint8_t> bytes(count);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random.next());
  return bytes;
}

TEST(TcpEcho, SendsBackWhatItReceivesAndCloses) {
  TwoHosts net{{.ack_policy = AckPolicy::every_second, .delayed_ack = 40ms}};
  TcpEcho echo{*net.pc, 7};
  Client client{*net.board, 7, random_bytes(200'000)};
  net.run(1s);
  EXPECT_EQ(client.received, client.data);
  EXPECT_TRUE(client.closed);
  EXPECT_EQ(echo.counters().bytes, 200'000u);
  EXPECT_EQ(echo.counters().peer_closed, 1u);
  EXPECT_EQ(echo.counters().lost, 0u);
}

TEST(TcpEcho, StopsTakingDataFromAPeerThatDoesNotRead) {
  TwoHosts net;
  TcpEcho echo{*net.pc, 7};
  Client client{*net.board, 7, random_bytes(400'000)};
  client.reading = false;
  net.run(1s);
  EXPECT_LT(client.sent, 300'000u);  // two send buffers and two receive windows
  const std::size_t unread = client.received.size();
  EXPECT_LE(unread, 65'535u);

  client.reading = true;
  client.connection.consume(unread);
  net.run(2s);
  EXPECT_EQ(client.received, client.data);
  EXPECT_TRUE(client.closed);
}

}  // namespace
}  // namespace wizloop::net
