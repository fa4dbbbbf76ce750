// A transcript against a chip behind the agent of its board.
#include "harness/board/bridge_replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/support/agent_on_loopback.hpp"

namespace wizloop::board {
namespace {

class BridgeReplayTest : public testing::Test {
 protected:
  ~BridgeReplayTest() override { std::filesystem::remove(file_); }

  Result<testbed::Replay> replayed(const std::string& events) {
    std::ofstream{file_} << "wizloop-spi 1\nboard b\n" << events;
    auto profile = bus::load_board(std::filesystem::path{WIZLOOP_BOARDS_DIR} / "stm32f405-arduino.toml");
    WIZ_ASSERT(static_cast<bool>(profile));
    test::AgentOnLoopback agent{{.testbed = {.board = std::move(profile).value()}}};
    const auto channel = spi_bridge::AgentChannel::open(agent.address());
    WIZ_ASSERT(static_cast<bool>(channel));
    const auto bridge = spi_bridge::SpiBridge::attach(*channel.value());
    WIZ_ASSERT(static_cast<bool>(bridge));
    BridgeReplay chip{*bridge.value()};
    if (const auto error = chip.reset()) return *error;
    const auto transcript = testbed::TranscriptReader::open(file_);
    WIZ_ASSERT(static_cast<bool>(transcript));
    return testbed::replay(*transcript.value(), chip);
  }

 private:
  std::filesystem::path file_ =
      std::filesystem::temp_directory_path() / ("bridge_replay_test." + std::to_string(getpid()));
};

TEST_F(BridgeReplayTest, AChipThatAnswersAsRecordedHasNoDifference) {
  const auto outcome = replayed(
      "1000 S\n2000 X 9000 00390000 01020304\n9000 D\n"
      // A frame in two pieces, with a pause before it that the board keeps.
      "5000009000 S\n5000010000 X 5000010000 000F04 010203\n5000020000 X 5000020000 07 00\n5000030000 D\n"
      "5000030000 A 5000030000 FFFF\n5000040000 F 0\n"
      "5000050000 S\n5000050000 X 5000060000 000F0000 01020307\n5000060000 D\n5000070000 E\n");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome.value().difference);
  EXPECT_TRUE(outcome.value().whole);
  EXPECT_EQ(outcome.value().frames, 3u);
  EXPECT_EQ(outcome.value().bytes, 12u);
}

TEST_F(BridgeReplayTest, AResetByRSTnReachesTheChipAndAPowerCycleIsRefused) {
  // SHAR is written, lost with RSTn, and reads 0.
  const std::string written =
      "0 P off\n0 P on\n1000 S\n2000 X 9000 000904AA 01020300\n9000 D\n"
      "10000 R low\n700010000 R high\n4000010000 S\n4000010000 X 4000020000 00090000 01020300\n4000020000 D\n";
  const auto outcome = replayed(written + "4000030000 E\n");
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome.value().difference);
  EXPECT_EQ(outcome.value().bytes, 8u);
  const auto refused = replayed(written + "4000030000 P off\n");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("power cycle"));
}

TEST_F(BridgeReplayTest, TheFirstByteThatDiffersIsNamed) {
  const auto outcome = replayed("1000 S\n2000 X 9000 00390000 01020351\n9000 D\n9000 E\n");
  ASSERT_TRUE(outcome && outcome.value().difference);
  EXPECT_EQ(outcome.value().difference->where, "read of VERSIONR in the common block");
  EXPECT_EQ(outcome.value().difference->recorded, 0x51);
  EXPECT_EQ(outcome.value().difference->replayed, 0x04);
}

}  // namespace
}  // namespace wizloop::board
