// What a board meets in the field: a pulled cable, every path and INTn; and that a run is the same each time.
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class BoardFaults : public BoardTest {};

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

std::vector<Way> ways() {
  std::vector<Way> all{{"byte", 0}, {"burst", 0}, {"byte", 1}};
  if (kind.has_dma) all.insert(all.end(), {{"dma", 0}, {"dma", 1}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Board, EveryWay, testing::ValuesIn(ways()), [](const auto& of) {
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
  board.reset();  // of a sketch there is one at a time
  class Again : public Repeat {
   public:
    void TestBody() override {}
    using Repeat::board;
    using Repeat::run;
  } again;
  EXPECT_EQ(again.run(), first);
  board = std::move(again.board);
}

}  // namespace
}  // namespace wizloop::test
