#include "harness/gateway/pty_port.hpp"

#include <termios.h>

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

class PtyPortTest : public testing::Test {
 protected:
  PtyPortTest() : pty_{PtyPort::create(io_, console_, folder_ / "board").value()} {}

  std::unique_ptr<Peer> open_terminal() {
    const int descriptor = ::open((folder_ / "board").c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_GE(descriptor, 0);
    return std::make_unique<Peer>(descriptor);
  }
  // Waits until the port knows that it is open.
  std::unique_ptr<Peer> open() {
    board_.dtr.clear();
    auto terminal = open_terminal();
    EXPECT_TRUE(run_until(io_, [&] { return board_.dtr == "+"; }));
    return terminal;
  }
  void close(std::unique_ptr<Peer> terminal) {
    terminal.reset();
    EXPECT_TRUE(run_until(io_, [&] { return board_.dtr.ends_with('-'); }));
  }

  TestFolder folder_;
  boost::asio::io_context io_;
  FakeBoard board_;
  Console console_{board_};
  std::unique_ptr<PtyPort> pty_;
};

TEST_F(PtyPortTest, CarriesAllBytesAsTheyAreWithoutAnySettings) {
  const auto terminal = open();
  std::string all;
  for (int i = 0; i < 256; ++i) all.push_back(static_cast<char>(i));
  terminal->send(all);
  EXPECT_TRUE(run_until(io_, [&] { return board_.typed.size() == all.size(); }));
  EXPECT_EQ(board_.typed, all);
  console_.show(all);
  EXPECT_TRUE(run_until(io_, [&] { return terminal->seen().size() == all.size(); }));
  EXPECT_EQ(terminal->seen(), all);
  settle(io_);
  EXPECT_EQ(board_.typed, all) << "nothing is echoed";
}

TEST_F(PtyPortTest, IsRawAgainAfterAClientThatMadeItCooked) {
  auto terminal = open();
  termios settings{};
  ASSERT_EQ(::tcgetattr(terminal->descriptor(), &settings), 0);
  settings.c_lflag |= ECHO | ICANON;
  settings.c_iflag |= ICRNL;
  ASSERT_EQ(::tcsetattr(terminal->descriptor(), TCSANOW, &settings), 0);
  close(std::move(terminal));
  terminal = open();
  ASSERT_EQ(::tcgetattr(terminal->descriptor(), &settings), 0);
  EXPECT_EQ(settings.c_lflag & (ECHO | ICANON | ISIG), 0U);
  EXPECT_EQ(settings.c_iflag & (ICRNL | IXON), 0U);
}

TEST_F(PtyPortTest, ServesOneClientAfterTheOther) {
  for (int i = 0; i < 20; ++i) {
    auto terminal = open();
    terminal->send("#1 hello\n");
    EXPECT_TRUE(run_until(io_, [&] { return board_.typed == "#1 hello\n"; }));
    EXPECT_EQ(console_.holder(), "pty:" + (folder_ / "board").string());
    board_.typed.clear();
    console_.show(std::string_view{"#1 ok\r\n"});
    EXPECT_TRUE(run_until(io_, [&] { return terminal->seen() == "#1 ok\r\n"; }));
    close(std::move(terminal));
    EXPECT_EQ(console_.holder(), "");
  }
}

TEST_F(PtyPortTest, HearsAClientThatWritesAndIsGoneAtOnce) {
  for (int i = 0; i < 20; ++i) {
    open_terminal()->send("#1 reset\n");
    EXPECT_TRUE(run_until(io_, [&] { return board_.typed == "#1 reset\n"; }));
    board_.typed.clear();
    EXPECT_TRUE(run_until(io_, [&] { return console_.holder().empty(); }));
  }
}

TEST_F(PtyPortTest, KeepsNothingForAClientThatIsNotThere) {
  console_.show(std::string_view{"said to nobody"});
  auto terminal = open();
  console_.show(std::string_view{"said to the first"});
  settle(io_);
  close(std::move(terminal));
  terminal = open();
  console_.show(std::string_view{"said to the second"});
  EXPECT_TRUE(run_until(io_, [&] { return terminal->sees("second"); }));
  EXPECT_EQ(terminal->seen(), "said to the second");
}

TEST_F(PtyPortTest, HasNothingToDoAsLongAsNobodyOpensIt) {
  settle(io_);
  EXPECT_EQ(io_.run_for(10ms), 0);
  close(open());
  settle(io_);
  EXPECT_EQ(io_.run_for(10ms), 0);
}

TEST_F(PtyPortTest, ReadsNoFasterThanTheBoardTakes) {
  board_.room = 100;
  const auto terminal = open();
  std::size_t sent = terminal->send(std::string(4096, 'x'));
  EXPECT_TRUE(run_until(io_, [&] { return board_.typed.size() == 100; }));
  for (int i = 0; i < 100; ++i) {
    sent += terminal->send(std::string(4096, 'x'));
    settle(io_);
  }
  EXPECT_LT(sent, 100 * 4096) << "the flood is held up";
  EXPECT_EQ(board_.typed.size(), 100);
  board_.room = SIZE_MAX;
  console_.has_room();
  EXPECT_TRUE(run_until(io_, [&] { return board_.typed.size() == sent; }));
}

TEST_F(PtyPortTest, LosesForASlowReaderAndTellsIt) {
  const auto terminal = open();
  const std::string line(1000, 'x');
  for (int i = 0; i < 1000; ++i) {
    console_.show(line);
    settle(io_);
  }
  EXPECT_TRUE(run_until(io_, [&] { return terminal->sees("! dropped bytes="); }));
  EXPECT_GT(terminal->seen().size(), backlog_bytes);
  EXPECT_LT(terminal->seen().size(), backlog_bytes + 200'000);
}

TEST_F(PtyPortTest, ForgetsWhatASlowReaderHasLeftBehind) {
  auto terminal = open();
  for (int i = 0; i < 100; ++i) console_.show(std::string(1000, 'x'));
  settle(io_);
  close(std::move(terminal));
  terminal = open();
  settle(io_);
  console_.show(std::string_view{"new"});
  EXPECT_TRUE(run_until(io_, [&] { return terminal->sees("new"); }));
  EXPECT_EQ(terminal->seen(), "new");
}

TEST_F(PtyPortTest, LeavesNoLinkBehind) {
  pty_.reset();
  EXPECT_EQ(folder_.files(), 0);
  EXPECT_EQ(console_.clients(), 0);
}

}  // namespace
}  // namespace wizloop::gateway
