// What a board meets in the field: noise on its console, lost bytes, a pulled cable, every path and INTn; and that a
// run is the same each time.
#include <random>

#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class BoardFaults : public BoardTest {};

TEST_F(BoardFaults, ConsoleFloodedWithNoiseAtFullRateStaysUsable) {
  std::mt19937 random{1};
  std::string noise(200'000, 0);
  for (char& byte : noise) byte = static_cast<char>(random());
  board->console().type(noise);  // two seconds of it
  board->run_until(board->now() + 2100ms);
  board->console().type("\n");
  board->run_until(board->now() + 1s);
  while (board->run_until_line(1ms)) {
  }
  EXPECT_THAT(ask("hello"), StartsWith("ok agent=1 "));
  EXPECT_GT(number_of(ask("stats"), "bad_lines"), 100U);
}

TEST_F(BoardFaults, FloodOfRequestsIsAnsweredOrToldToBeLost) {
  std::string flood;
  for (int i = 1; i <= 2000; ++i) flood += "#" + std::to_string(i) + " hello\n";  // answers are ten times longer
  board->console().type(flood);
  board->run_until(board->now() + 3s);
  std::size_t answered = 0;
  std::size_t overruns = 0;
  while (const auto line = board->run_until_line(1ms)) {
    answered += line->find(" ok agent=1 ") != std::string::npos ? 1 : 0;
    overruns += *line == "! overrun" ? 1 : 0;
  }
  EXPECT_GT(answered, 50U);
  EXPECT_GT(overruns, 0U);
  EXPECT_THAT(ask("hello"), testing::AnyOf(StartsWith("ok agent=1 "), "err overrun"));
  EXPECT_THAT(ask("hello"), StartsWith("ok agent=1 "));
}

TEST_F(BoardFaults, BytesLostInsideALineNeverJoinTwoRequests) {
  // 3000 bytes while the firmware waits for the link: the receive FIFO of 1024 overflows in the middle of some line.
  board->testbed().chip().plug(false);
  board->run_until(board->now() + 1s);
  std::string burst = "#900 selftest\n";
  for (int i = 1; i <= 200; ++i) burst += "#" + std::to_string(i) + " reg block=s7 offset=4 data=0001\n";
  board->console().type(burst);
  board->run_until(board->now() + 2s);
  std::vector<std::string> wrong;
  while (const auto line = board->run_until_line(1ms)) {
    if (!line->ends_with(" ok count=2") && !line->starts_with("#900 ok ") && *line != "! overrun" &&
        !line->ends_with(" err overrun")) {
      wrong.push_back(*line);
    }
  }
  EXPECT_THAT(wrong, testing::IsEmpty());
  EXPECT_THAT(ask("hello"), testing::AnyOf(StartsWith("ok agent=1 "), "err overrun"));
  EXPECT_EQ(number_of(ask("stats"), "overruns"), 1U);
}

TEST_F(BoardFaults, CableThatIsPulledEndsATransferWithItsReason) {
  net::TcpSink sink{pc(), 5001};
  ask("net rtr_us=20000 rcr=3");
  board->queue().schedule(100ms, [this] { board->testbed().chip().plug(false); });
  const std::string answer = ask("tcp-send ip=192.168.1.10 port=5001 bytes=100000000");
  EXPECT_THAT(answer, StartsWith("err peer-timeout bytes="));
  board->testbed().chip().plug(true);
  EXPECT_EQ(number_of(ask("link wait_ms=10000"), "up"), 1U);
  EXPECT_THAT(ask("tcp-send ip=192.168.1.10 port=5001 bytes=1000"), StartsWith("ok bytes=1000 "));
}

TEST_F(BoardFaults, PeerThatStopsReadingIsASpaceTimeout) {
  struct Mute final : net::TcpConnection::User {
    explicit Mute(net::LwipHost& host) : connection{host, *this} {}
    std::size_t on_data(Bytes) override { return 0; }
    void on_peer_closed() override {}
    net::TcpConnection connection;
  } mute{pc()};
  board->testbed().findings().announce(
      {Rule::close_without_disconnect, "a SEND without room never ends: nothing else is left"});
  net::TcpListener listener{pc(), 5001, [&](tcp_pcb* pcb) { return mute.connection.adopt(pcb), true; }};
  const std::string answer = ask("tcp-send ip=192.168.1.10 port=5001 bytes=1000000");
  EXPECT_THAT(answer, testing::AnyOf(StartsWith("err space-timeout bytes="), StartsWith("err send-timeout bytes=")));
}

struct Way {
  const char* path;
  int intn;
};

class EveryWay : public BoardTest, public testing::WithParamInterface<Way> {};

TEST_P(EveryWay, TransfersAreWhole) {
  net::TcpSink sink{pc(), 5001};
  net::TcpEcho echo{pc(), 7};
  net::TcpSource source{pc(), {.bytes = 40000}};
  source.listen(5002);
  const std::string way = "p=" + std::string{GetParam().path} + " intn=" + std::to_string(GetParam().intn);
  EXPECT_EQ(ask("path " + way), "ok " + way);
  EXPECT_THAT(ask("tcp-send ip=192.168.1.10 port=5001 bytes=40000"), StartsWith("ok bytes=40000 "));
  EXPECT_THAT(ask("tcp-recv ip=192.168.1.10 port=5002"), AllOf(StartsWith("ok bytes=40000 "), HasSubstr(" bad=0 ")));
  EXPECT_THAT(ask("tcp-echo ip=192.168.1.10 port=7 count=3"), HasSubstr(" count=3 bad=0 "));
  EXPECT_THAT(ask("udp-echo ip=192.168.1.10 port=9 count=1 wait_ms=5"), HasSubstr(" lost=1"));
  EXPECT_EQ(sink.counters().bytes, 40000U);
  EXPECT_EQ(sink.counters().mismatches, 0U);
}

INSTANTIATE_TEST_SUITE_P(Board, EveryWay,
                         testing::Values(Way{"byte", 0}, Way{"burst", 0}, Way{"dma", 0}, Way{"byte", 1}, Way{"dma", 1}),
                         [](const auto& of) {
                           return std::string{of.param.path} + (of.param.intn == 1 ? "_intn" : "_polled");
                         });

class Repeat : public BoardTest {
 protected:
  std::string run() {
    net::TcpSink sink{pc(), 5001};
    std::string all = greeting;
    for (const char* request :
         {"link wait_ms=5000", "tcp-send ip=192.168.1.10 port=5001 bytes=30000", "selftest", "stats"}) {
      all += ask(request) + "\n";
    }
    return all + std::to_string(board->now().time_since_epoch().count());
  }
};

TEST_F(Repeat, SameRequestsGiveTheSameRun) {
  const std::string first = run();
  class Again : public Repeat {
   public:
    void TestBody() override {}
    using Repeat::run;
  } again;
  EXPECT_EQ(again.run(), first);
}

}  // namespace
}  // namespace wizloop::test
