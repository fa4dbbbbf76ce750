#include "harness/gateway/console.hpp"

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

struct FakeClient : ConsoleClient {
  explicit FakeClient(std::string its_name) : name_{std::move(its_name)} {}
  const std::string& name() const override { return name_; }
  void show(std::span<const std::uint8_t> bytes) override { seen += text_of(bytes); }
  void go_on() override { ++went_on; }
  void drop_typed() override { ++told_to_drop; }
  void board_is(bool powered) override { power += powered ? '+' : '-'; }

  std::string name_;
  std::string seen;
  std::string power;
  int went_on = 0;
  int told_to_drop = 0;
};

class ConsoleTest : public testing::Test {
 protected:
  ConsoleTest() {
    console_.attach(first_);
    console_.attach(second_);
  }
  void type(FakeClient& client, std::string_view text) {
    EXPECT_EQ(console_.type(client, bytes_of(text)), text.size());
  }

  FakeBoard board_;
  Console console_{board_};
  FakeClient first_{"pty:/tmp/b1"};
  FakeClient second_{"tcp:127.0.0.1:1"};
};

TEST_F(ConsoleTest, ShowsAllClientsWhatTheBoardSays) {
  console_.show(std::string_view{"! hello\r\n"});
  EXPECT_EQ(first_.seen, "! hello\r\n");
  EXPECT_EQ(second_.seen, "! hello\r\n");
}

TEST_F(ConsoleTest, IsHeldByTheFirstThatTypesAndByNobodyBefore) {
  EXPECT_EQ(console_.holder(), "");
  type(second_, "#1 hello\n");
  EXPECT_EQ(console_.holder(), "tcp:127.0.0.1:1");
  EXPECT_EQ(board_.typed, "#1 hello\n");
}

TEST_F(ConsoleTest, TellsWhoHoldsItLineByLineToAnotherThatTypes) {
  type(first_, "#1 hel");
  type(second_, "#7 hello board=1\r\n\r\nabc\n");
  EXPECT_EQ(second_.seen, "#7 err busy holder=pty:/tmp/b1\r\n! busy holder=pty:/tmp/b1\r\n");
  type(first_, "lo\n");
  EXPECT_EQ(board_.typed, "#1 hello\n") << "nothing of the other comes in between";
  EXPECT_EQ(first_.seen, "");
}

TEST_F(ConsoleTest, AnswersARequestThatHasAChecksumWithOne) {
  type(first_, "x");
  type(second_, "#7 spi tx=" + std::string(1000, '0') + " *29B1\n");
  EXPECT_EQ(second_.seen, "#7 err busy holder=pty:/tmp/b1 *8B1E\r\n");
}

TEST_F(ConsoleTest, TellsOfARequestWithoutAnEndToo) {
  type(first_, "x");
  type(second_, "#7 " + std::string(100'000, 'a'));
  EXPECT_EQ(second_.seen, "#7 err busy holder=pty:/tmp/b1\r\n");
}

TEST_F(ConsoleTest, TellsOfALineWithoutAnEndOnce) {
  type(first_, "x");
  for (int i = 0; i < 1000; ++i) type(second_, "\xff\x01");
  EXPECT_EQ(second_.seen, "! busy holder=pty:/tmp/b1\r\n");
}

TEST_F(ConsoleTest, TakesAnIllFormedNumberForNoRequest) {
  type(first_, "x");
  for (const auto* line : {"#\n", "#x 1\n", "#12345678901 a\n", "#1x a\n", "# 1\n"}) type(second_, line);
  EXPECT_THAT(second_.seen, testing::Not(testing::HasSubstr("err")));
}

TEST_F(ConsoleTest, IsFreeWhenItsHolderHasGone) {
  type(first_, "x");
  console_.detach(first_);
  type(second_, "y");
  EXPECT_EQ(board_.typed, "xy");
  EXPECT_EQ(console_.holder(), second_.name());
}

TEST_F(ConsoleTest, CanBeTakenAwayFromItsHolder) {
  EXPECT_FALSE(console_.release());
  type(first_, "x");
  EXPECT_TRUE(console_.release());
  EXPECT_EQ(first_.told_to_drop, 1);
  type(second_, "y");
  type(first_, "z\n");
  EXPECT_EQ(board_.typed, "xy");
  EXPECT_EQ(first_.seen, "! busy holder=tcp:127.0.0.1:1\r\n");
}

TEST_F(ConsoleTest, LeavesWithTheClientWhatTheBoardHasNoRoomFor) {
  board_.room = 2;
  EXPECT_EQ(console_.type(first_, bytes_of("abc")), 2);
  console_.has_room();
  EXPECT_EQ(first_.went_on, 1);
  EXPECT_EQ(second_.went_on, 0);
}

TEST_F(ConsoleTest, RaisesDtrForAnOpenedTerminalAndDropsItWhenThatIsClosed) {
  console_.opened(first_);
  EXPECT_EQ(console_.holder(), "") << "a client that says nothing holds nothing";
  console_.closed(first_);
  EXPECT_EQ(board_.dtr, "+-");
}

TEST_F(ConsoleTest, LeavesDtrAloneForATerminalThatIsOpenedWhileAnotherClientTypes) {
  type(second_, "x");
  console_.opened(first_);
  console_.closed(first_);
  EXPECT_EQ(board_.dtr, "");
}

TEST_F(ConsoleTest, DropsTheLinesOfAClientThatGoes) {
  ASSERT_TRUE(console_.take(first_));
  console_.set_dtr(first_, true);
  console_.set_dtr(first_, true);
  console_.line().rts = true;
  console_.detach(first_);
  EXPECT_EQ(board_.dtr, "+-");
  EXPECT_FALSE(console_.line().rts);
}

TEST_F(ConsoleTest, TellsClientsOfPowerOncePerChange) {
  console_.set_powered(true);
  console_.set_powered(true);
  console_.set_powered(false);
  EXPECT_EQ(first_.power, "+-");
}

}  // namespace
}  // namespace wizloop::gateway
