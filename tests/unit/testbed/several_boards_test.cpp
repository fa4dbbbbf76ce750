// Several boards in one simulation, each with its own firmware on a stack of its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/socket.hpp"
#include "sim/core/fiber.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "sim/net/switch.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr w5500::Endpoint address(std::uint8_t station, std::uint16_t port) { return {{192, 168, 1, station}, port}; }

class Board {
 public:
  using Firmware = std::function<void(Board&)>;

  explicit Board(testbed::TestbedSetup setup, std::uint8_t station, Firmware firmware)
      : bed{testbed::Testbed::create(std::move(setup)).value()},
        port{bed->queue(), bed->bus(), bed->chip(), bed->board(), false},
        chip{bus, port},
        station_{station},
        firmware_{std::move(firmware)} {}

  void run() {
    ASSERT_TRUE(chip.reset());
    ASSERT_TRUE(chip.set_network(
        {{0x02, 0, 0, 0, 1, station_}, {192, 168, 1, station_}, {255, 255, 255, 0}, {192, 168, 1, 1}}));
    firmware_(*this);
    bed->bus().settle();
    ended = bed->now();
  }

  std::unique_ptr<testbed::Testbed> bed;
  SimPort port;
  w5500::BurstBus bus{port};
  w5500::Chip chip;
  std::size_t bytes = 0;
  std::size_t mismatches = 0;
  Instant ended = Instant::max();

 private:
  std::uint8_t station_;
  Firmware firmware_;
};

constexpr std::size_t transfer_bytes = 40'000;

// Takes one connection and checks that byte i is i & 0xFF.
void sink(Board& board) {
  w5500::TcpSocket socket(board.chip, 0);
  std::array<std::uint8_t, 700> buffer{};
  ASSERT_TRUE(socket.open(5001));
  ASSERT_TRUE(socket.listen());
  const auto accepted = socket.accept(10'000'000);
  ASSERT_TRUE(accepted && accepted.value());
  for (;;) {
    const auto waiting = socket.wait_available(1'000'000);
    if (!waiting || waiting.value() == 0) break;
    const auto got = socket.read(buffer.data(), buffer.size());
    ASSERT_TRUE(got);
    for (std::uint16_t i = 0; i < got.value(); ++i) {
      if (buffer[i] != (board.bytes + i) % 256) ++board.mismatches;
    }
    board.bytes += got.value();
  }
  const auto disconnected = socket.disconnect();
  EXPECT_TRUE(disconnected || board.bytes < transfer_bytes);
}

Board::Firmware source(std::uint8_t to) {
  return [to](Board& board) {
    w5500::TcpSocket socket(board.chip, 0);
    std::array<std::uint8_t, 1024> buffer{};
    board.port.delay_us(1000);  // until the other one listens
    ASSERT_TRUE(socket.open(50'000));
    ASSERT_TRUE(socket.connect(address(to, 5001)));
    while (board.bytes < transfer_bytes) {
      const std::size_t count = std::min(buffer.size(), transfer_bytes - board.bytes);
      for (std::size_t i = 0; i < count; ++i) buffer[i] = static_cast<std::uint8_t>(board.bytes + i);
      ASSERT_EQ(socket.write(buffer.data(), count).count, count);
      board.bytes += count;
    }
    EXPECT_TRUE(socket.flush());
    EXPECT_TRUE(socket.disconnect());
  };
}

testbed::TestbedSetup setup_on(EventQueue* queue, const char* board = "stm32f405-arduino") {
  return {.board = bus::load_board(std::filesystem::path{WIZLOOP_BOARDS_DIR} / (std::string{board} + ".toml")).value(),
          .queue = queue};
}

// Two boards at a switch; the one sends to the other.
struct Pair {
  Pair() {
    sink_board.emplace(on_port(0), std::uint8_t{20}, sink);
    source_board.emplace(on_port(1), std::uint8_t{21}, source(20));
    sink_fiber.emplace(queue, [this] { sink_board->run(); });
    source_fiber.emplace(queue, [this] { source_board->run(); });
  }
  testbed::TestbedSetup on_port(std::size_t number) {
    testbed::TestbedSetup setup = setup_on(&queue);
    setup.switch_port = &lan.port(number);
    return setup;
  }
  std::uint64_t fingerprint() {
    Fingerprint all;
    for (Board* board : {&*sink_board, &*source_board}) {
      all.add(board->bed->fingerprint().value());
      all.add(board->ended);
      for (const Duration spent : board->bed->budget().totals().of) all.add(static_cast<std::uint64_t>(spent.count()));
    }
    return all.value();
  }

  EventQueue queue;
  wire::FramePool frames;
  net::Switch lan{queue, frames, {.ports = 4}};
  std::optional<Board> sink_board;
  std::optional<Board> source_board;
  std::optional<Fiber> sink_fiber;
  std::optional<Fiber> source_fiber;
};

TEST(SeveralBoardsTest, TalkTcpToEachOtherThroughASwitch) {
  Pair pair;
  pair.queue.advance_to(Instant{1s});
  ASSERT_TRUE(pair.sink_fiber->ended());
  ASSERT_TRUE(pair.source_fiber->ended());
  EXPECT_EQ(pair.sink_board->bytes, transfer_bytes);
  EXPECT_EQ(pair.sink_board->mismatches, 0u);
  for (Board* board : {&*pair.sink_board, &*pair.source_board}) {
    EXPECT_THAT(board->bed->findings().failing(), IsEmpty());
    EXPECT_EQ(board->bed->budget().totals().sum(), board->ended - Instant{}) << "each has a budget that adds up";
  }
}

TEST(SeveralBoardsTest, GiveOneFingerprintInEachRun) {
  const auto run = [] {
    Pair pair;
    pair.queue.advance_to(Instant{1s});
    return pair.fingerprint();
  };
  EXPECT_EQ(run(), run());
}

TEST(SeveralBoardsTest, DoNotCareHowOftenTheMainStackLooksIn) {
  Pair at_once;
  at_once.queue.advance_to(Instant{1s});
  Pair in_steps;
  while (in_steps.queue.now() < Instant{1s}) in_steps.queue.advance_to(in_steps.queue.now() + 13us);
  EXPECT_EQ(at_once.fingerprint(), in_steps.fingerprint());
}

TEST(SeveralBoardsTest, DoNotCareHowFarEachIsAheadOfTheOthers) {
  Pair in_step;
  in_step.queue.advance_to(Instant{1s});
  Pair ahead;
  ahead.queue.set_lookahead(net::Switch::shortest_passage);
  ahead.queue.advance_to(Instant{1s});
  EXPECT_EQ(in_step.fingerprint(), ahead.fingerprint());
}

// Each with a PC of its own that sends to it.
struct WithPc {
  WithPc(EventQueue* queue, const char* board_name) : board{setup_on(queue, board_name), std::uint8_t{20}, sink} {
    source.connect(testbed::board_ip, 5001);
  }
  Board board;
  net::TcpSource source{board.bed->pc(), {.bytes = transfer_bytes}};
};

TEST(SeveralBoardsTest, EachHaveTheInstantsThatTheyHaveAlone) {
  constexpr const char* names[] = {"stm32f405-arduino", "w55rp20", "teensy40-w5500"};
  EventQueue queue;
  std::vector<std::unique_ptr<WithPc>> together;
  std::vector<std::unique_ptr<Fiber>> fibers;
  for (const char* name : names) {
    together.push_back(std::make_unique<WithPc>(&queue, name));
    fibers.push_back(std::make_unique<Fiber>(queue, [board = &together.back()->board] { board->run(); }));
  }
  queue.advance_to(Instant{3s});
  for (std::size_t i = 0; i < std::size(names); ++i) {
    WithPc alone{nullptr, names[i]};
    alone.board.run();
    ASSERT_EQ(alone.board.bytes, transfer_bytes);
    EXPECT_EQ(together[i]->board.bytes, transfer_bytes);
    EXPECT_EQ(together[i]->board.ended, alone.board.ended) << names[i];
    EXPECT_EQ(together[i]->board.bed->bus().bytes(), alone.board.bed->bus().bytes()) << names[i];
    EXPECT_EQ(together[i]->board.bed->fingerprint().value(), alone.board.bed->fingerprint().value()) << names[i];
    EXPECT_EQ(together[i]->board.bed->budget().totals().sum(), alone.board.bed->budget().totals().sum()) << names[i];
  }
}

TEST(SeveralBoardsTest, OneThatIsSwitchedOffLeavesTheOthersAlone) {
  Pair pair;
  pair.queue.advance_to(Instant{5ms});
  pair.source_fiber.reset();
  pair.source_board.reset();  // frames of its are still under way
  EXPECT_FALSE(pair.lan.port(1).plugged_in());
  pair.queue.advance_to(Instant{30s});
  EXPECT_GT(pair.sink_board->bytes, 0u);
  EXPECT_LT(pair.sink_board->bytes, transfer_bytes);
  EXPECT_EQ(pair.sink_board->mismatches, 0u);
  pair.source_board.emplace(pair.on_port(1), std::uint8_t{21}, source(20));  // and on again
  EXPECT_TRUE(pair.lan.port(1).plugged_in());
}

}  // namespace
}  // namespace wizloop
