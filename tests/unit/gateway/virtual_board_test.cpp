#include "harness/gateway/virtual_board.hpp"

#include <boost/asio/steady_timer.hpp>
#include <stdexcept>
#include <utility>

#include "gateway_test.hpp"
#include "sim/testbed/replay.hpp"

namespace wizloop::gateway {
namespace {

// One board, as fast as it goes, with its console on a TCP port.
class VirtualBoardTest : public testing::Test {
 protected:
  void SetUp() override {
    const std::string file = WIZLOOP_BOARDS_DIR "/w55rp20.toml";
    const std::string spi = transcript().string();
    const std::vector<std::string_view> arguments{"--board", file,          "--name", "b1",
                                                  "--tcp",   "127.0.0.1:0", "--spi",  spi};
    const ServeOptions options = parse_serve_options(arguments).value();
    const RackSite site{io_, queue_, pacer_, nullptr, [this](const std::string& line) { hear(line); }};
    const BoardAddresses addresses{.mac = testbed::board_mac, .ip = testbed::board_ip, .mask = 0xFFFFFF00};
    auto made = VirtualBoard::create(site, options.boards[0], addresses, lan_.port(0), 1);
    ASSERT_TRUE(made) << made.error().message;
    board_ = std::move(made).value();
    board_->set_power(true);
    console_ = std::make_unique<Peer>(Peer::connect(*board_->tcp()));
  }

  std::filesystem::path transcript() const { return folder_ / "b1.spi"; }

  virtual void hear(const std::string& line) { said_.push_back(line); }

  template <typename Done>
  bool serve_until(Done done) {
    const auto end = std::chrono::steady_clock::now() + patience;
    boost::asio::steady_timer look{io_};
    bool came = false;
    const std::function<void()> arm = [&] {
      look.expires_after(1ms);
      look.async_wait([&](const boost::system::error_code& cancelled) {
        if (cancelled) return;
        came = done();
        if (came || std::chrono::steady_clock::now() > end) return pacer_.stop();
        arm();
      });
    };
    arm();
    pacer_.run();
    return came;
  }

  bool answers(std::string_view request, const std::string& start) {
    console_->send(request);
    return serve_until([&] { return console_->sees(start); });
  }

  TestFolder folder_;
  boost::asio::io_context io_;
  wire::FramePool frames_;
  EventQueue queue_;
  realtime::Pacer pacer_{queue_, io_, {.speed = 0}};
  net::Switch lan_{queue_, frames_, {}};
  std::vector<std::string> said_;
  std::unique_ptr<VirtualBoard> board_;
  std::unique_ptr<Peer> console_;
};

TEST_F(VirtualBoardTest, WritesATranscriptThatTheModelRepeatsThroughResetCableAndPower) {
  EXPECT_TRUE(answers("#1 link wait_ms=5000\n", "#1 ok up=1 "));
  EXPECT_TRUE(answers("#2 reset\n", "#2 ok")) << "by RSTn";
  board_->plug(false);
  bool down = false;  // the chip takes a while to notice
  for (int number = 100; !down && number < 1000; ++number) {
    const std::string mark = "#" + std::to_string(number);
    EXPECT_TRUE(answers(mark + " link\n", mark + " ok"));
    down = console_->sees(" up=0 ");
  }
  EXPECT_TRUE(down);
  board_->plug(true);
  EXPECT_TRUE(answers("#4 link wait_ms=5000\n", "#4 ok up=1 "));
  EXPECT_TRUE(board_->reset()) << "by the button";
  EXPECT_TRUE(answers("#5 hello\n", "! hello"));
  board_->set_power(false);
  board_->set_power(true);
  EXPECT_TRUE(answers("#6 link wait_ms=5000\n", "#6 ok up=1 "));
  board_->finish();
  const auto recorded = testbed::TranscriptReader::open(transcript());
  ASSERT_TRUE(recorded) << recorded.error().message;
  const auto model = testbed::ModelReplay::create(recorded.value()->head(), {});
  ASSERT_TRUE(model) << model.error().message;
  const auto outcome = testbed::replay(*recorded.value(), *model.value());
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome.value().difference) << outcome.value().difference->where;
  EXPECT_TRUE(outcome.value().whole);
  EXPECT_GT(outcome.value().bytes, 500);
}

// Whose firmware meets an exception that nobody expects: the line with a finding is said on its stack.
class BrokenBoardTest : public VirtualBoardTest {
 protected:
  void hear(const std::string& line) override {
    VirtualBoardTest::hear(line);
    if (line.starts_with("finding ") && std::exchange(sound_, true) == false) throw std::runtime_error{"out of order"};
  }
  bool sound_ = false;
};

TEST_F(BrokenBoardTest, SaysThatItsFirmwareHasCrashedAndIsRevivedByReset) {
  EXPECT_TRUE(answers("#1 hello\n", "#1 ok"));
  EXPECT_THAT(board_->status(), testing::HasSubstr(" firmware=running "));
  console_->send("#2 reg block=common offset=0x39 data=05\n");  // VERSIONR is read only
  EXPECT_TRUE(serve_until([&] { return said_.size() == 2; }));
  EXPECT_THAT(said_,
              testing::Contains("error board=b1 the firmware has crashed: out of order; reset or power it off and on"));
  EXPECT_THAT(board_->status(), testing::HasSubstr(" firmware=crashed "));
  EXPECT_TRUE(board_->reset());
  EXPECT_THAT(board_->status(), testing::HasSubstr(" firmware=stopped "));
  EXPECT_TRUE(answers("#3 hello\n", "! hello"));
  EXPECT_TRUE(answers("#4 hello\n", "#4 ok"));
  EXPECT_THAT(board_->status(), testing::HasSubstr(" firmware=running "));
}

TEST_F(BrokenBoardTest, IsRevivedByAPowerCycle) {
  EXPECT_TRUE(answers("#1 reg block=common offset=0x39 data=05\n", "#1 ok"));
  EXPECT_TRUE(serve_until([&] { return said_.size() == 2; }));
  board_->set_power(false);
  EXPECT_THAT(board_->status(), testing::HasSubstr(" firmware=stopped "));
  board_->set_power(true);
  EXPECT_TRUE(answers("#2 hello\n", "#2 ok"));
}

}  // namespace
}  // namespace wizloop::gateway
