// tcp-send, tcp-recv and tcp-echo, against services of the PC.
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class TcpVerbs : public BoardTest {
 protected:
  net::TcpSink sink{pc(), 5001};
};

TEST_F(TcpVerbs, SendsItsPatternToASink) {
  const std::string answer = ask("tcp-send ip=192.168.1.10 port=5001 bytes=100000");
  EXPECT_THAT(answer, StartsWith("ok bytes=100000 us="));
  EXPECT_THAT(answer, HasSubstr(" closed=ok retries=0 peer=192.168.1.10:5001"));
  EXPECT_EQ(sink.counters().bytes, 100000U);
  EXPECT_EQ(sink.counters().mismatches, 0U);
  EXPECT_EQ(sink.counters().peer_closed, 1U);
}

TEST_F(TcpVerbs, SendsInChunksThatAreNoPowerOfTwo) {
  EXPECT_THAT(ask("tcp-send ip=192.168.1.10 port=5001 bytes=5000 chunk=1001"), StartsWith("ok bytes=5000 "));
  EXPECT_EQ(sink.counters().mismatches, 0U);
}

TEST_F(TcpVerbs, TimeOfASendIsThatOfTheWire) {
  const std::string answer = ask("tcp-send ip=192.168.1.10 port=5001 bytes=1000000 kib=8");
  const std::uint64_t us = number_of(answer, "us");
  EXPECT_GT(us, 80'000U);  // 100 Mbit/s
  EXPECT_LT(us, 2'000'000U);
  EXPECT_EQ(number_of(answer, "kbit_s"), std::uint64_t{1000000} * 8000 / us);
}

TEST_F(TcpVerbs, ReceivesUntilThePeerCloses) {
  net::TcpSource source{pc(), {.bytes = 50000}};
  source.listen(5002);
  const std::string answer = ask("tcp-recv ip=192.168.1.10 port=5002");
  EXPECT_THAT(answer, StartsWith("ok bytes=50000 us="));
  EXPECT_THAT(answer, HasSubstr(" bad=0 "));
  EXPECT_TRUE(source.finished());
}

TEST_F(TcpVerbs, ReceivesFromWhoeverConnects) {
  net::TcpSource source{pc(), {.bytes = 3000}};
  board->queue().schedule(5ms, [&] { source.connect(testbed::board_ip, 7000); });
  const std::string answer = ask("tcp-recv port=7000");
  EXPECT_THAT(answer, StartsWith("ok bytes=3000 us="));
  EXPECT_THAT(answer, HasSubstr("peer=192.168.1.10:"));
}

TEST_F(TcpVerbs, CountsRoundTrips) {
  net::TcpEcho echo{pc(), 7};
  const std::string answer = ask("tcp-echo ip=192.168.1.10 port=7 count=5 size=100");
  EXPECT_THAT(answer, StartsWith("ok bytes=500 "));
  EXPECT_THAT(answer, HasSubstr(" count=5 bad=0 rtt_min_us="));
  EXPECT_GT(number_of(answer, "rtt_min_us"), 50U);
  EXPECT_LT(number_of(answer, "rtt_max_us"), 3000U);
  EXPECT_EQ(echo.counters().bytes, 500U);
}

TEST_F(TcpVerbs, RefusedConnectionIsTriedAgain) {
  const std::string answer = ask("tcp-send ip=192.168.1.10 port=4000 tries=3");
  EXPECT_THAT(answer, StartsWith("err refused bytes=0 "));
  EXPECT_THAT(answer, HasSubstr(" retries=2"));
}

TEST_F(TcpVerbs, PeerThatDoesNotExistTimesOut) {
  EXPECT_THAT(ask("tcp-send ip=192.168.1.77 port=4000"), StartsWith("err peer-timeout bytes=0 "));
}

TEST_F(TcpVerbs, CtrlCEndsAWaitForAPeer) {
  at(100ms, "\x03");
  const Instant start = board->now();
  EXPECT_THAT(ask("tcp-recv port=7000"), StartsWith("err cancelled bytes=0 us="));
  EXPECT_LT(board->now() - start, 110ms);
}

TEST_F(TcpVerbs, CancelEndsATransferAndThePeerSeesItsEnd) {
  at(100ms, "#2 cancel\n");
  const std::string answer = ask("tcp-send ip=192.168.1.10 port=5001 bytes=100000000");
  EXPECT_THAT(answer, StartsWith("err cancelled bytes="));
  board->run_until(board->now() + 100ms);
  EXPECT_EQ(sink.counters().peer_closed, 1U);
  EXPECT_EQ(sink.counters().bytes, number_of(answer, "bytes"));
  EXPECT_THAT(ask("hello"), StartsWith("ok agent=1"));
}

TEST_F(TcpVerbs, OtherRequestsAreToldThatTheBoardIsBusy) {
  at(50ms, "#77 hello\n");
  at(60ms, "#78 cancel\n");
  at(100ms, "#2 cancel\n");
  EXPECT_THAT(ask("tcp-recv port=7000"), StartsWith("err cancelled"));
  EXPECT_THAT(board->heard(), testing::ElementsAre("#77 err busy seq=2", "#78 err busy seq=2"));
}

TEST_F(TcpVerbs, ReportsProgress) {
  at(2500ms, "\x03");
  EXPECT_THAT(ask("tcp-recv port=7000"), StartsWith("err cancelled"));
  EXPECT_THAT(board->heard(), testing::ElementsAre(StartsWith("! progress seq=2 bytes=0 us=100"),
                                                   StartsWith("! progress seq=2 bytes=0 us=200")));
}

TEST_F(TcpVerbs, DeadlineEndsAVerb) {
  const Instant start = board->now();
  EXPECT_THAT(ask("tcp-recv port=7000 timeout_ms=300 every_ms=0"), StartsWith("err timeout bytes=0 us=0 "));
  EXPECT_LT(board->now() - start, 310ms);
  EXPECT_THAT(board->heard(), testing::IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
