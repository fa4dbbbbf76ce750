// The peers against plain sockets on loopback; all of a test runs in one event loop, which a limit bounds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <filesystem>
#include <fstream>
#include <vector>

#include "harness/gateway/peers/endpoint.hpp"
#include "harness/gateway/peers/iperf2.hpp"
#include "harness/gateway/peers/services.hpp"
#include "harness/gateway/peers/transfer.hpp"
#include "sim/core/bytes.hpp"
#include "sim/net/services/pattern.hpp"

namespace wizloop::peers {
namespace {

using boost::asio::awaitable;
using boost::asio::buffer;
using boost::asio::co_spawn;
using boost::asio::detached;
using boost::asio::use_awaitable;
using boost::system::error_code;
using testing::HasSubstr;

const auto loopback = boost::asio::ip::address_v4::loopback();

class Peers : public testing::Test {
 protected:
  Peers() { session.transfers_left = 1; }

  // What was reported until all transfers had ended.
  std::string reported() {
    testing::internal::CaptureStdout();
    io.run_for(std::chrono::seconds{10});
    return testing::internal::GetCapturedStdout();
  }

  Tcp::acceptor listener() { return {io, {loopback, 0}}; }

  // The client of one test.
  void client(const Tcp::endpoint& server, std::function<awaitable<void>(Tcp::socket&)> act) {
    act_ = std::move(act);
    co_spawn(io, connect(server), detached);
  }

  boost::asio::io_context io{1};
  Report report;
  Session session{io, report};

 private:
  awaitable<void> connect(Tcp::endpoint server) {
    Tcp::socket socket{io};
    co_await socket.async_connect(server, use_awaitable);
    co_await act_(socket);
  }

  std::function<awaitable<void>(Tcp::socket&)> act_;
};

std::vector<std::uint8_t> pattern(std::size_t bytes) {
  const Bytes from = net::pattern(0, bytes);
  return {from.begin(), from.end()};
}

TEST(Endpoint, IsOnLoopbackUnlessAHostIsNamed) {
  EXPECT_EQ(text_of(parse_endpoint("5001").value().of<Tcp>()), "127.0.0.1:5001");
  EXPECT_EQ(text_of(parse_endpoint(":5001").value().of<Tcp>()), "127.0.0.1:5001");
  EXPECT_EQ(text_of(parse_endpoint("10.0.0.7:0").value().of<Tcp>()), "10.0.0.7:0");
}

TEST(Endpoint, ThatIsNoneSaysWhatWasExpected) {
  for (const char* wrong : {"", "host:", "1:2:x", "65536", "-1", "5001 ", "0x50"}) {
    const auto endpoint = parse_endpoint(wrong);
    ASSERT_FALSE(endpoint) << wrong;
    EXPECT_THAT(endpoint.error().message, HasSubstr("expected HOST:PORT")) << wrong;
  }
}

TEST_F(Peers, SinkCountsTheBytesThatAreNotThePattern) {
  Tcp::acceptor acceptor = listener();
  client(acceptor.local_endpoint(), [](Tcp::socket& socket) -> awaitable<void> {
    std::vector<std::uint8_t> sent = pattern(1000);
    sent[7] ^= 1;
    sent[999] ^= 1;
    co_await boost::asio::async_write(socket, buffer(sent), use_awaitable);
  });
  co_spawn(io, serve_tcp_sink(session, std::move(acceptor)), detached);
  EXPECT_THAT(reported(), testing::AllOf(HasSubstr("tcp-sink from=127.0.0.1:"), HasSubstr(" bytes=1000 bad=2 "),
                                         HasSubstr("ended=closed")));
}

TEST_F(Peers, SinkDropsAClientThatConnectsAndSaysNothing) {
  session.patience = std::chrono::milliseconds{5};
  Tcp::acceptor acceptor = listener();
  Tcp::socket silent{io};
  silent.connect(acceptor.local_endpoint());
  co_spawn(io, serve_tcp_sink(session, std::move(acceptor)), detached);
  EXPECT_THAT(reported(), HasSubstr("bytes=0 bad=0 us=0 mbit_s=0 ended=silent"));
}

TEST_F(Peers, SourceSendsThePatternAndWaitsUntilTheClientHasIt) {
  Tcp::acceptor acceptor = listener();
  std::vector<std::uint8_t> received(3000);
  client(acceptor.local_endpoint(), [&](Tcp::socket& socket) -> awaitable<void> {
    error_code end;
    received.resize(
        co_await boost::asio::async_read(socket, buffer(received), boost::asio::redirect_error(use_awaitable, end)));
  });
  co_spawn(io, serve_tcp_source(session, std::move(acceptor), 2500), detached);
  EXPECT_THAT(reported(), HasSubstr(" bytes=2500 "));
  EXPECT_EQ(received, pattern(2500));
}

TEST_F(Peers, EchoSendsBackWhatCame) {
  Tcp::acceptor acceptor = listener();
  std::vector<std::uint8_t> received(5);
  client(acceptor.local_endpoint(), [&](Tcp::socket& socket) -> awaitable<void> {
    co_await boost::asio::async_write(socket, buffer("hello", 5), use_awaitable);
    co_await boost::asio::async_read(socket, buffer(received), use_awaitable);
  });
  co_spawn(io, serve_tcp_echo(session, std::move(acceptor)), detached);
  EXPECT_THAT(reported(), HasSubstr("tcp-echo"));
  EXPECT_EQ(std::string(received.begin(), received.end()), "hello");
}

TEST_F(Peers, UdpSinkCountsGapsAndLateNumbersUntilAShortDatagram) {
  Udp::socket server{io, {loopback, 0}};
  Udp::socket sender{io, Udp::v4()};
  for (const std::uint32_t number : {0u, 1u, 4u, 3u, 5u}) {
    std::array<std::uint8_t, 100> datagram{};
    store32(datagram.data(), number);
    sender.send_to(buffer(datagram), server.local_endpoint());
  }
  sender.send_to(buffer("", 0), server.local_endpoint());
  co_spawn(io, serve_udp_sink(session, std::move(server)), detached);
  EXPECT_THAT(reported(), HasSubstr(" datagrams=5 bytes=500 missing=2 late=1 "));
}

TEST_F(Peers, UdpSourceNumbersItsDatagrams) {
  Udp::socket sink{io, {loopback, 0}};
  co_spawn(io, send_udp(session, Udp::socket{io, Udp::v4()}, {sink.local_endpoint(), 3, 8, 0}), detached);
  EXPECT_THAT(reported(), HasSubstr("udp-source to=127.0.0.1:"));
  for (std::uint32_t number = 0; number < 3; ++number) {
    std::array<std::uint8_t, 64> datagram{};
    ASSERT_EQ(sink.receive(buffer(datagram)), 8u);
    EXPECT_EQ(load32(datagram.data()), number);
  }
}

TEST_F(Peers, TransferSendsItsRoundsToItsReceiver) {
  Tcp::acceptor acceptor = listener();
  const Tcp::endpoint receiver = acceptor.local_endpoint();
  const Transfer transfer{.buffer_bytes = 1000, .mebibytes = 1, .rounds = 2};
  boost::asio::io_context other{1};
  Report other_report;
  Session other_session{other, other_report};
  co_spawn(other, receive_rounds(other_session, std::move(acceptor), transfer), detached);
  co_spawn(io, send_rounds(session, receiver, transfer), detached);
  testing::internal::CaptureStdout();
  for (int turn = 0; turn < 100'000 && !(io.stopped() && other.stopped()); ++turn) {
    io.run_one_for(std::chrono::milliseconds{1});
    other.poll();
  }
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_THAT(said, HasSubstr("transfer-send round=2 bytes=1048576 "));
  EXPECT_THAT(said, HasSubstr("transfer-receive round=2 bytes=1048576 bad=0 "));
  EXPECT_THAT(said, HasSubstr("transfer-send-average rounds=2 bytes=2097152 "));
  EXPECT_FALSE(session.failed);
  EXPECT_FALSE(other_session.failed);
}

TEST_F(Peers, TransferThatNobodyReceivesFails) {
  Tcp::endpoint nobody;
  {
    const Tcp::acceptor closed_again = listener();
    nobody = closed_again.local_endpoint();
  }
  co_spawn(io, send_rounds(session, nobody, {}), detached);
  EXPECT_THAT(reported(), HasSubstr("bytes=0 us="));
  EXPECT_TRUE(session.failed);
}

TEST_F(Peers, ReportIsJsonToo) {
  testing::internal::CaptureStdout();
  report.add("tcp-sink", {{"from", "a b"}, {"bytes", std::uint64_t{7}}, {"mbit_s", 1.5}});
  EXPECT_EQ(testing::internal::GetCapturedStdout(), "tcp-sink from=\"a b\" bytes=7 mbit_s=1.5\n");
  const auto file = std::filesystem::temp_directory_path() / ("peers_test." + std::to_string(getpid()) + ".json");
  EXPECT_FALSE(report.write_json(file));
  std::string text(200, '\0');
  std::ifstream in{file};
  in.read(text.data(), 200);
  std::filesystem::remove(file);
  EXPECT_THAT(text, HasSubstr("\"what\": \"tcp-sink\""));
  EXPECT_TRUE(report.write_json("/nonexistent/results.json"));
}

// iperf 2: literal bytes, as iperf 2.1.8 sends them.

std::vector<std::uint8_t> datagram(std::int32_t id, std::uint32_t s, std::uint32_t us, std::int32_t high) {
  std::vector<std::uint8_t> bytes(100);
  store32(bytes.data(), static_cast<std::uint32_t>(id));
  store32(bytes.data() + 4, s);
  store32(bytes.data() + 8, us);
  store32(bytes.data() + 12, static_cast<std::uint32_t>(high));
  return bytes;
}

TEST(Iperf2Header, TellsTheBackTransfers) {
  const std::array<std::uint8_t, 24> both = {0xc0, 0x01, 0x00, 0x79, 0, 0, 0, 1, 0,    0,    0x17, 0x7a,
                                             0,    0,    0,    0,    0, 0, 0, 0, 0xff, 0xff, 0xff, 0x9c};
  const auto header = iperf2::ClientHeader::parse(both);
  ASSERT_TRUE(header);
  EXPECT_TRUE(header->wants_back());
  EXPECT_TRUE(header->at_once());
  EXPECT_FALSE(header->wants_reverse());
  EXPECT_EQ(header->port, 6010);
  EXPECT_EQ(header->amount, -100);
  EXPECT_FALSE(iperf2::ClientHeader::parse(Bytes{both}.first(23)));
}

// As a client of -r that takes a while between its last byte and its listen().
TEST_F(Peers, IperfServerWaitsForAClientThatDoesNotListenForItsDataYet) {
  Tcp::acceptor acceptor = listener();
  Tcp::acceptor back{io, Tcp::v4()};
  back.bind({loopback, 0});
  client(acceptor.local_endpoint(), [&](Tcp::socket& socket) -> awaitable<void> {
    std::array<std::uint8_t, 24> header{};
    store32(header.data(), iperf2::ClientHeader::version1);
    store32(header.data() + 8, back.local_endpoint().port());
    store32(header.data() + 20, 1000);
    co_await boost::asio::async_write(socket, buffer(header), use_awaitable);
    socket.close();
    boost::asio::steady_timer pause{io, std::chrono::milliseconds{15}};
    co_await pause.async_wait(use_awaitable);
    back.listen();
    Tcp::socket from_server = co_await back.async_accept(use_awaitable);
    std::array<std::uint8_t, 2000> data{};
    error_code end;
    co_await boost::asio::async_read(from_server, buffer(data), boost::asio::redirect_error(use_awaitable, end));
  });
  co_spawn(io, iperf2::serve_tcp(session, std::move(acceptor)), detached);
  EXPECT_THAT(reported(), testing::AllOf(HasSubstr("iperf-tcp-back to=127.0.0.1:"), HasSubstr(" bytes=1000 ")));
}

TEST(Iperf2Udp, ReportsLossAndOrderOfIdsFromOneAsFromZero) {
  for (const int first : {0, 1}) {
    iperf2::UdpTransfer transfer;
    const auto at = WallClock::now();
    for (const int id : {0, 1, 2, 5, 4}) EXPECT_FALSE(transfer.take(datagram(first + id, 1, 0, 0), at));
    EXPECT_TRUE(transfer.take(datagram(-(first + 6), 1, 0, -1), at));
    EXPECT_EQ(transfer.datagrams(), 5u);
    EXPECT_EQ(transfer.lost(), 1u);
    EXPECT_EQ(transfer.out_of_order(), 1u);
    const auto report = transfer.report();
    EXPECT_EQ(load32(report.data() + 16), 0x80000000u);
    EXPECT_EQ(load32(report.data() + 24), 500u);
    EXPECT_EQ(load32(report.data() + 36), 1u);
    EXPECT_EQ(load32(report.data() + 44), 5u);
  }
}

TEST(Iperf2Udp, JitterIsTheSmoothedChangeOfTransit) {
  iperf2::UdpTransfer transfer;
  const WallClock::time_point start{std::chrono::seconds{10}};
  transfer.take(datagram(1, 1, 0, 0), start);
  transfer.take(datagram(2, 1, 1000, 0), start + std::chrono::microseconds{1160});
  EXPECT_EQ(transfer.jitter_us(), 10u);  // 160 us / 16
}

TEST_F(Peers, IperfServerAnswersTheLastDatagramEachTimeItComes) {
  Udp::socket server{io, {loopback, 0}};
  const Udp::endpoint at = server.local_endpoint();
  Udp::socket client_socket{io, {loopback, 0}};
  client_socket.send_to(buffer(datagram(1, 1, 0, 0)), at);
  client_socket.send_to(buffer(datagram(-2, 1, 0, -1)), at);
  client_socket.send_to(buffer(datagram(-3, 1, 0, -1)), at);
  session.transfers_left = UINT64_MAX;
  co_spawn(io, iperf2::serve_udp(session, std::move(server)), detached);
  testing::internal::CaptureStdout();
  client_socket.non_blocking(true);
  int answers = 0;
  for (const auto give_up = WallClock::now() + std::chrono::seconds{10}; answers < 2 && WallClock::now() < give_up;) {
    io.run_one_for(std::chrono::milliseconds{1});
    std::array<std::uint8_t, 200> reply{};
    error_code none_yet;
    if (client_socket.receive(buffer(reply), 0, none_yet) == 128) ++answers;
  }
  EXPECT_THAT(testing::internal::GetCapturedStdout(), HasSubstr("iperf-udp from=127.0.0.1:"));
  EXPECT_EQ(answers, 2);
  EXPECT_EQ(report.lines(), 1u);
}

}  // namespace
}  // namespace wizloop::peers
