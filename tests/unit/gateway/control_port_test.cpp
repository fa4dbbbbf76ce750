#include "harness/gateway/control_port.hpp"

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

struct FakeRack : ControlledRack {
  std::vector<std::string> boards() const override { return names; }
  Result<std::string> command(std::size_t board, BoardCommand command) override {
    done.emplace_back(board, command);
    if (fails) return Error{"it is on already"};
    return command == BoardCommand::status ? std::string{"power=on"} : std::string{};
  }

  std::vector<std::string> names{"b1"};
  std::vector<std::pair<std::size_t, BoardCommand>> done;
  bool fails = false;
};

TEST(Control, DoesEachVerbToTheOneBoardThereIs) {
  FakeRack rack;
  for (const auto* verb : {"off", "on", "reset", "unplug", "replug", "release"})
    EXPECT_EQ(answer_control(rack, verb), "ok");
  EXPECT_EQ(answer_control(rack, "status b1"), "ok power=on");
  EXPECT_EQ(rack.done.size(), 7);
  EXPECT_EQ(rack.done.front().second, BoardCommand::off);
}

TEST(Control, WantsTheNameOfOneAmongSeveral) {
  FakeRack rack;
  rack.names = {"b1", "b2"};
  EXPECT_EQ(answer_control(rack, "off"), "err syntax which board? expected off and one of b1, b2");
  EXPECT_EQ(answer_control(rack, "off b3"), "err no-board b3; expected one of b1, b2");
  EXPECT_EQ(answer_control(rack, "off b1 b2"), "err syntax off takes one board, got b1 b2");
  EXPECT_TRUE(rack.done.empty());
  EXPECT_EQ(answer_control(rack, "  off   b2 "), "ok");
  EXPECT_EQ(rack.done.front().first, 1);
  EXPECT_EQ(answer_control(rack, "list"), "ok boards=b1,b2");
}

TEST(Control, SaysWhatIsWrong) {
  FakeRack rack;
  EXPECT_EQ(answer_control(rack, ""), "");
  EXPECT_EQ(answer_control(rack, "token nobody-asked-for"), "");
  EXPECT_EQ(answer_control(rack, "explode"), "err unknown explode; try help");
  EXPECT_EQ(answer_control(rack, "off\x07"), "err syntax a line has printable characters; try help");
  EXPECT_EQ(answer_control(rack, "\xff\xfe"), "err syntax a line has printable characters; try help");
  EXPECT_THAT(answer_control(rack, "help"), testing::StartsWith("ok verbs="));
  rack.fails = true;
  EXPECT_EQ(answer_control(rack, "on"), "err failed it is on already");
}

class ControlPortTest : public testing::Test {
 protected:
  void open() { ASSERT_FALSE(port_.open(parse_endpoint("127.0.0.1:0", "--control").value())); }

  boost::asio::io_context io_;
  FakeRack rack_;
  ControlPort port_{io_, rack_, nullptr};
};

TEST_F(ControlPortTest, AnswersLineByLineHoweverTheyCome) {
  open();
  Peer peer{Peer::connect(port_.endpoint())};
  peer.send("off\r\non\nsta");
  EXPECT_TRUE(run_until(io_, [&] { return peer.sees("ok\r\nok\r\n"); }));
  peer.send("tus\n");
  EXPECT_TRUE(run_until(io_, [&] { return peer.sees("ok power=on\r\n"); }));
}

TEST_F(ControlPortTest, ServesSeveralClientsAndOneThatSaysNothing) {
  open();
  Peer silent{Peer::connect(port_.endpoint())};
  Peer half{Peer::connect(port_.endpoint())};
  half.send("of");
  Peer peer{Peer::connect(port_.endpoint())};
  peer.send("off\n");
  EXPECT_TRUE(run_until(io_, [&] { return peer.sees("ok\r\n"); }));
  EXPECT_EQ(silent.seen(), "");
}

TEST_F(ControlPortTest, AnswersALineThatIsTooLongAndGoesOn) {
  open();
  Peer peer{Peer::connect(port_.endpoint())};
  peer.send(std::string(10'000, 'x') + "\nlist\n");
  EXPECT_TRUE(run_until(io_, [&] { return peer.sees("err too-long") && peer.sees("ok boards=b1\r\n"); }));
}

TEST_F(ControlPortTest, NamesThePortThatIsTaken) {
  open();
  ControlPort other{io_, rack_, nullptr};
  const auto failed = other.open(port_.endpoint());
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->kind, ErrorKind::machine);
  EXPECT_THAT(failed->message, testing::HasSubstr("--control " + to_string(port_.endpoint()) + ": cannot"));
}

TEST_F(ControlPortTest, HangsUpOnACallerTooMany) {
  open();
  std::vector<std::unique_ptr<Peer>> peers;
  for (std::size_t i = 0; i <= Listener::most_sessions; ++i) {
    peers.push_back(std::make_unique<Peer>(Peer::connect(port_.endpoint())));
  }
  EXPECT_TRUE(run_until(io_, [&] { return peers.back()->closed(); }));
  EXPECT_EQ(peers.back()->seen(), "! busy connections=16\r\n");
  peers.front()->close();
  settle(io_);
  Peer next{Peer::connect(port_.endpoint())};
  next.send("list\n");
  EXPECT_TRUE(run_until(io_, [&] { return next.sees("ok boards=b1"); }));
}

TEST(ControlPortToken, ComesFirstOnAnAddressThatOtherMachinesReach) {
  const auto here = own_address();
  if (!here) GTEST_SKIP() << "this machine has no address but loopback";
  boost::asio::io_context io;
  FakeRack rack;
  const Token token = Token::create("correct-horse-battery", "test").value();
  const Endpoint everywhere = parse_endpoint("0.0.0.0:0", "--control").value();
  ControlPort unprotected{io, rack, nullptr};
  EXPECT_TRUE(unprotected.open(everywhere));
  ControlPort port{io, rack, &token};
  ASSERT_FALSE(port.open(everywhere));
  const Endpoint there{*here, port.endpoint().port()};
  Peer without{Peer::connect(there)};
  without.send("off\n");
  EXPECT_TRUE(run_until(io, [&] { return without.closed(); }));
  EXPECT_THAT(without.seen(), testing::StartsWith("err denied"));
  EXPECT_TRUE(rack.done.empty());
  Peer with{Peer::connect(there)};
  with.send("token correct-horse-battery\noff\n");
  EXPECT_TRUE(run_until(io, [&] { return with.sees("ok\r\n"); }));
  EXPECT_EQ(rack.done.size(), 1);
  Peer local{Peer::connect({boost::asio::ip::address_v4::loopback(), there.port()})};
  local.send("off\n");
  EXPECT_TRUE(run_until(io, [&] { return local.sees("ok\r\n"); }));
}

}  // namespace
}  // namespace wizloop::gateway
