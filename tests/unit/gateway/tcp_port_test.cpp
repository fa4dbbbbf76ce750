#include "harness/gateway/tcp_port.hpp"

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

using namespace std::string_view_literals;

class TcpPortTest : public testing::Test {
 protected:
  TcpPortTest() {
    const Endpoint any = parse_endpoint("127.0.0.1:0", "--tcp").value();
    EXPECT_FALSE(tcp_.open(any));
    EXPECT_FALSE(rfc2217_.open(any));
    console_.set_powered(true);
  }

  // Waits until the console knows of it.
  std::unique_ptr<Peer> connect(const TcpPort& port) {
    const std::size_t before = console_.clients();
    auto peer = std::make_unique<Peer>(Peer::connect(port.endpoint()));
    EXPECT_TRUE(run_until(io_, [&] { return console_.clients() > before; }));
    return peer;
  }

  boost::asio::io_context io_;
  FakeBoard board_;
  Console console_{board_};
  TcpPort tcp_{io_, console_, Protocol::raw, nullptr};
  TcpPort rfc2217_{io_, console_, Protocol::rfc2217, nullptr};
};

TEST_F(TcpPortTest, CarriesBytesBothWaysAsTheyAre) {
  const auto peer = connect(tcp_);
  peer->send("#1 hello\n\377\377\0"sv);
  EXPECT_TRUE(run_until(io_, [&] { return board_.typed == "#1 hello\n\377\377\0"sv; }));
  console_.show("#1 ok\r\n\377"sv);
  EXPECT_TRUE(run_until(io_, [&] { return peer->seen() == "#1 ok\r\n\377"; }));
}

TEST_F(TcpPortTest, TellsASecondClientWhoTypesAndShowsItTheBoard) {
  const auto first = connect(tcp_);
  const auto second = connect(rfc2217_);
  first->send("#1 hello\n");
  EXPECT_TRUE(run_until(io_, [&] { return !board_.typed.empty(); }));
  second->send("#9 reset\n");
  EXPECT_TRUE(run_until(io_, [&] { return second->sees("#9 err busy holder=tcp:127.0.0.1:"); }));
  console_.show("#1 ok\r\n"sv);
  EXPECT_TRUE(run_until(io_, [&] { return first->sees("#1 ok") && second->sees("#1 ok"); }));
  EXPECT_EQ(board_.typed, "#1 hello\n");
  EXPECT_FALSE(first->sees("busy"));
}

TEST_F(TcpPortTest, IsFreeAgainWhenTheHolderHangsUp) {
  auto first = connect(tcp_);
  first->send("x");
  EXPECT_TRUE(run_until(io_, [&] { return board_.typed == "x"; }));
  first.reset();
  EXPECT_TRUE(run_until(io_, [&] { return console_.holder().empty(); }));
  EXPECT_EQ(console_.clients(), 0);
}

TEST_F(TcpPortTest, HandsOverAllThatWasTypedBeforeAHangUp) {
  board_.room = 10;
  auto peer = connect(tcp_);
  peer->send(std::string(1000, 'x'));
  peer.reset();
  settle(io_);
  EXPECT_EQ(board_.typed.size(), 10);
  board_.room = 5000;
  console_.has_room();
  EXPECT_TRUE(run_until(io_, [&] { return console_.clients() == 0; }));
  EXPECT_EQ(board_.typed.size(), 1000);
}

TEST_F(TcpPortTest, ReadsNoFasterThanTheBoardTakes) {
  board_.room = 0;
  const auto peer = connect(tcp_);
  std::size_t sent = 0;
  const std::string flood(100'000, 'x');
  for (int i = 0; i < 1000; ++i) {
    sent += peer->send(flood);
    settle(io_);
  }
  EXPECT_LT(sent, 1000 * flood.size());
  EXPECT_EQ(board_.typed.size(), 0);
}

TEST_F(TcpPortTest, KeepsADeafFloodingClientFromTheOthers) {
  const auto holder = connect(tcp_);
  holder->send("x");
  EXPECT_TRUE(run_until(io_, [&] { return board_.typed == "x"; }));
  const auto flooding = connect(tcp_);
  for (int i = 0; i < 200; ++i) {
    flooding->send("#1 a\n#2 b\n" + std::string(10'000, '\n'));
    settle(io_);
  }
  holder->send("y");
  EXPECT_TRUE(run_until(io_, [&] { return board_.typed == "xy"; }));
}

TEST_F(TcpPortTest, DropsForASlowReaderAndTellsItWhileAnotherSeesAll) {
  const auto slow = connect(tcp_);
  const auto quick = connect(tcp_);
  const std::string block(10'000, 'x');
  std::size_t shown = 0;
  while (shown < 10'000'000) {
    console_.show(block);
    shown += block.size();
    settle(io_);
    quick->seen();
  }
  EXPECT_TRUE(run_until(io_, [&] { return quick->seen().size() == shown; }));
  EXPECT_FALSE(quick->sees("dropped"));
  EXPECT_TRUE(run_until(io_, [&] { return slow->sees("! dropped bytes="); }));
}

TEST_F(TcpPortTest, ResetsByDtrOverRfc2217AndDropsItAtTheEnd) {
  auto peer = connect(rfc2217_);
  peer->send("\377\373\054\377\372\054\005\010\377\360"sv);
  EXPECT_TRUE(run_until(io_, [&] { return board_.dtr == "+"; }));
  EXPECT_TRUE(run_until(io_, [&] { return peer->sees("\377\372\054\151\010\377\360"sv); }));
  peer.reset();
  EXPECT_TRUE(run_until(io_, [&] { return board_.dtr == "+-"; }));
}

TEST_F(TcpPortTest, AnswersASecondRfc2217ClientWithWhatTheFirstHasSet) {
  const auto first = connect(rfc2217_);
  first->send("\377\372\054\001\0\0\045\200\377\360"sv);  // 9600
  EXPECT_TRUE(run_until(io_, [&] { return first->sees("\377\372\054\145\0\0\045\200\377\360"sv); }));
  const auto second = connect(rfc2217_);
  second->send("\377\372\054\001\0\0\113\0\377\360\377\372\054\005\010\377\360"sv);  // 19200, DTR
  EXPECT_TRUE(run_until(io_, [&] { return second->sees("\377\372\054\145\0\0\045\200\377\360"sv); }));
  EXPECT_TRUE(run_until(io_, [&] { return second->sees("\377\372\054\151\011\377\360"sv); })) << "DTR is off";
  EXPECT_EQ(board_.dtr, "");
}

TEST_F(TcpPortTest, EscapesIacForRfc2217AndTellsOfPower) {
  const auto peer = connect(rfc2217_);
  console_.show("a\377b"sv);
  EXPECT_TRUE(run_until(io_, [&] { return peer->sees("a\377\377b"); }));
  peer->send("\377\373\054"sv);
  EXPECT_TRUE(run_until(io_, [&] { return peer->sees("\377\372\054\153\260\377\360"sv); }));
  console_.set_powered(false);
  EXPECT_TRUE(run_until(io_, [&] { return peer->sees("\377\372\054\153\013\377\360"sv); }));
}

TEST_F(TcpPortTest, HoldsBackWhatASuspendedClientDoesNotWantYet) {
  const auto peer = connect(rfc2217_);
  peer->send("\377\372\054\010\377\360\377\372\054\007\377\360x"sv);
  EXPECT_TRUE(run_until(io_, [&] { return board_.typed == "x"; }));
  console_.show("later"sv);
  settle(io_);
  EXPECT_FALSE(peer->sees("later"));
  peer->send("\377\372\054\011\377\360"sv);
  EXPECT_TRUE(run_until(io_, [&] { return peer->sees("later"); }));
}

TEST_F(TcpPortTest, IsNotHeldUpByAClientThatAsksAndNeverReads) {
  const auto peer = connect(rfc2217_);
  std::string questions;
  for (int i = 0; i < 10'000; ++i) questions += "\377\372\054\0\377\360"sv;  // SIGNATURE
  std::size_t sent = 0;
  for (int i = 0; i < 1000; ++i) {
    sent += peer->send(questions);
    settle(io_);
  }
  EXPECT_LT(sent, 1000 * questions.size()) << "it is read no further than it reads";
}

TEST(TcpPortToken, IsNotAskedForOverLoopbackWhereverThePortListens) {
  boost::asio::io_context io;
  FakeBoard board;
  Console console{board};
  const Token token = Token::create("correct-horse-battery", "test").value();
  TcpPort port{io, console, Protocol::raw, &token};
  ASSERT_FALSE(port.open(parse_endpoint("0.0.0.0:0", "--tcp").value()));
  Peer peer{Peer::connect({boost::asio::ip::address_v4::loopback(), port.endpoint().port()})};
  peer.send("#1 hello\n");
  EXPECT_TRUE(run_until(io, [&] { return board.typed == "#1 hello\n"; }));
}

TEST(TcpPortToken, IsAskedForBeforeAnythingIsTold) {
  const auto here = own_address();
  if (!here) GTEST_SKIP() << "this machine has no address but loopback";
  boost::asio::io_context io;
  FakeBoard board;
  Console console{board};
  const Token token = Token::create("correct-horse-battery", "test").value();
  TcpPort port{io, console, Protocol::raw, &token};
  ASSERT_FALSE(port.open(parse_endpoint("0.0.0.0:0", "--tcp").value()));
  Peer peer{Peer::connect({*here, port.endpoint().port()})};
  settle(io);
  console.show("a secret\r\n"sv);
  peer.send("token correct-horse-battery\n#1 hello\n");
  EXPECT_TRUE(run_until(io, [&] { return board.typed == "#1 hello\n"; }));
  console.show("#1 ok\r\n"sv);
  EXPECT_TRUE(run_until(io, [&] { return peer.seen() == "#1 ok\r\n"; }));
  Peer guessing{Peer::connect({*here, port.endpoint().port()})};
  guessing.send("token correct-horse-batterx\n#1 hello\n");
  EXPECT_TRUE(run_until(io, [&] { return guessing.closed(); }));
  EXPECT_EQ(guessing.seen(), "! denied\r\n");
  EXPECT_EQ(board.typed, "#1 hello\n");
}

}  // namespace
}  // namespace wizloop::gateway
