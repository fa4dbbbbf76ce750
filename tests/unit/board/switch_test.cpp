// Boards that run the agent, each on a stack of its own, at one switch: they talk to each other.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/fiber.hpp"
#include "sim/net/switch.hpp"
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

constexpr std::uint8_t first_station = 20;

class Rack {
 public:
  explicit Rack(std::size_t boards, std::string_view name = "w55rp20")
      : lan_{queue, frames_, {.ports = boards}}, heard_(boards), partial_(boards) {
    for (std::size_t i = 0; i < boards; ++i) add(i, name);
    run(3s);  // reset, greeting, and the links are up
  }

  // What a person types at the console of a board; the answer is there once time has moved.
  void type(std::size_t board, std::string_view line) { boards_[board]->console().type(std::string{line} + "\n"); }
  void run(Duration duration) { queue.advance_to(queue.now() + duration); }
  // The answer to request N of this board, without its "#N "; empty: none yet.
  std::string answer(std::size_t board, int number) const {
    const std::string mark = "#" + std::to_string(number) + " ";
    for (const std::string& line : heard_[board]) {
      if (line.starts_with(mark)) return line.substr(mark.size());
    }
    return "";
  }
  const std::vector<std::string>& heard(std::size_t board) const { return heard_[board]; }
  testbed::Testbed& bed(std::size_t board) { return boards_[board]->testbed(); }

  void switch_off(std::size_t board) {
    fibers_[board].reset();
    boards_[board].reset();
  }

  EventQueue queue;

 private:
  void add(std::size_t index, std::string_view name) {
    board::BoardSetup setup = setup_of(name);
    setup.testbed.queue = &queue;
    setup.testbed.switch_port = &lan_.port(index);
    const auto station = static_cast<std::uint8_t>(first_station + index);
    setup.network = {{0x02, 0, 0, 0, 1, station}, {192, 168, 1, station}, {255, 255, 255, 0}, {192, 168, 1, 1}};
    boards_.push_back(board::SimBoard::create(std::move(setup)).value());
    board::SimBoard& board = *boards_.back();
    board.console().listen([this, index](Bytes sent) { take(index, sent); });
    fibers_.push_back(std::make_unique<Fiber>(queue, [&board] {
      board.boot();
      for (;;) board.run_once(1s);
    }));
  }
  void take(std::size_t index, Bytes sent) {
    for (const std::uint8_t byte : sent) {
      if (byte == '\n') heard_[index].push_back(std::exchange(partial_[index], ""));
      if (byte != '\n' && byte != '\r') partial_[index].push_back(static_cast<char>(byte));
    }
  }

  wire::FramePool frames_;
  net::Switch lan_;
  std::vector<std::unique_ptr<board::SimBoard>> boards_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<std::vector<std::string>> heard_;
  std::vector<std::string> partial_;
};

TEST(BoardsAtASwitchTest, AllGreet) {
  Rack rack{3};
  for (std::size_t board = 0; board < 3; ++board) {
    ASSERT_FALSE(rack.heard(board).empty());
    EXPECT_THAT(rack.heard(board)[0], testing::HasSubstr("! hello agent=1 board=w55rp20"));
  }
}

TEST(BoardsAtASwitchTest, SendTcpToEachOther) {
  Rack rack{2};
  rack.type(0, "#1 tcp-recv port=5001");
  rack.run(10ms);
  rack.type(1, "#1 tcp-send ip=192.168.1.20 port=5001 bytes=50000");
  rack.run(3s);
  const std::string received = rack.answer(0, 1);
  const std::string sent = rack.answer(1, 1);
  ASSERT_TRUE(received.starts_with("ok")) << received;
  ASSERT_TRUE(sent.starts_with("ok")) << sent;
  EXPECT_EQ(number_of(received, "bytes"), 50'000u);
  EXPECT_EQ(number_of(received, "bad"), 0u);
  EXPECT_EQ(number_of(sent, "bytes"), 50'000u);
  for (std::size_t board = 0; board < 2; ++board) EXPECT_TRUE(rack.bed(board).findings().failing().empty());
}

TEST(BoardsAtASwitchTest, PingEachOtherAtOnce) {
  Rack rack{3};
  for (std::size_t board = 0; board < 3; ++board) {
    const int peer = first_station + static_cast<int>((board + 1) % 3);
    rack.type(board, "#1 ping-stats ip=192.168.1." + std::to_string(peer) + " count=3 interval_ms=50");
  }
  rack.run(2s);
  for (std::size_t board = 0; board < 3; ++board) {
    const std::string answer = rack.answer(board, 1);
    ASSERT_TRUE(answer.starts_with("ok")) << answer;
    EXPECT_EQ(number_of(answer, "received"), 3u);
  }
}

TEST(BoardsAtASwitchTest, AreTheSameInEachRun) {
  const auto run = [] {
    Rack rack{2};
    rack.type(0, "#1 tcp-recv port=5001");
    rack.run(10ms);
    rack.type(1, "#1 tcp-send ip=192.168.1.20 port=5001 bytes=20000");
    rack.run(1s);
    EXPECT_TRUE(rack.answer(1, 1).starts_with("ok"));
    return std::pair{rack.answer(0, 1) + rack.answer(1, 1),
                     rack.bed(0).fingerprint().value() + rack.bed(1).fingerprint().value()};
  };
  EXPECT_EQ(run(), run());
}

TEST(BoardsAtASwitchTest, NoticeThatAPeerIsSwitchedOff) {
  Rack rack{2};
  rack.type(0, "#1 tcp-recv port=5001 timeout_ms=5000");
  rack.run(10ms);
  rack.type(1, "#1 tcp-send ip=192.168.1.20 port=5001 bytes=10000000");
  rack.run(50ms);
  rack.switch_off(1);
  rack.run(10s);
  EXPECT_TRUE(rack.answer(0, 1).starts_with("err timeout")) << rack.answer(0, 1);
}

}  // namespace
}  // namespace wizloop::test
