// A recorded run, held against the model: equal to the byte; a chip that differs is told by its first byte; a file that
// is none says what was expected.
#include "sim/testbed/replay.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "harness/scenario/scenario.hpp"

namespace wizloop::testbed {
namespace {

using testing::HasSubstr;
using Settings = std::vector<std::pair<std::string, std::string>>;

const std::filesystem::path boards{WIZLOOP_BOARDS_DIR};

class ReplayTest : public testing::Test {
 protected:
  ~ReplayTest() override { std::filesystem::remove(file); }

  void record(std::string scenario, std::string library, std::string path,
              std::map<std::string, std::string> parameters) {
    scenario::RunRequest request;
    request.scenario = std::move(scenario);
    request.board_file = boards / "stm32f405-arduino.toml";
    request.path = std::move(path);
    request.library = std::move(library);
    request.parameters = std::move(parameters);
    request.transcript_file = file;
    const auto ran = scenario::run(request);
    ASSERT_TRUE(ran) << ran.error().message;
    spi_bytes = ran.value().spi_bytes;
  }

  Result<Replay> replayed(const Settings& settings = {}) {
    auto transcript = TranscriptReader::open(file);
    if (!transcript) return transcript.error();
    auto model = ModelReplay::create(transcript.value()->head(), settings);
    if (!model) return model.error();
    return replay(*transcript.value(), *model.value());
  }

  void expect_equal() {
    const auto outcome = replayed();
    ASSERT_TRUE(outcome) << outcome.error().message;
    EXPECT_FALSE(outcome.value().difference) << outcome.value().difference->where;
    EXPECT_TRUE(outcome.value().whole);
    EXPECT_EQ(outcome.value().bytes, spi_bytes);
  }

  std::string wrong(const std::string& text) {
    std::ofstream{file} << text;
    const auto outcome = replayed();
    return outcome ? "" : outcome.error().message;
  }

  std::filesystem::path file = std::filesystem::temp_directory_path() / ("replay_test." + std::to_string(getpid()));
  std::uint64_t spi_bytes = 0;
};

TEST_F(ReplayTest, ARunIsEqualToTheByteOnEveryPath) {
  for (const char* path : {"byte", "burst", "dma"}) {
    for (const char* scenario : {"tcp_xmit", "tcp_recv"}) {
      record(scenario, "ethernet2", path, {{"total_bytes", "20000"}});
      expect_equal();
    }
    record("udp_recv", "iolibrary", path, {{"datagrams", "20"}});
    expect_equal();
    record("ping_rtt", "mongoose", path, {{"pings", "5"}});
    expect_equal();
  }
}

TEST_F(ReplayTest, ACableAndWiresWithFaultsAreEqualToo) {
  for (const auto& [fault, how] : std::map<std::string, std::string>{{"fault.link_loss", "ppm=50000"},
                                                                     {"fault.link_corrupt", "ppm=50000"},
                                                                     {"fault.link_duplicate", "ppm=50000"},
                                                                     {"fault.link_unplug", "from=20ms,until=40ms"},
                                                                     {"fault.spi_flip", "nth=5000"},
                                                                     {"fault.chip_sendok_late", "nth=3"},
                                                                     {"chip.quirk.psh", "last_segment"},
                                                                     {"link.partner", "10-half-negotiating"}}) {
    record("tcp_xmit", "wizloop", "byte", {{"total_bytes", "20000"}, {fault, how}});
    SCOPED_TRACE(fault);
    expect_equal();
  }
}

TEST_F(ReplayTest, BytesThatTheChipNeverSawAreNotCompared) {
  record("tcp_xmit", "wizloop", "byte", {{"total_bytes", "20000"}, {"fault.spi_select_lost", "nth=3000"}});
  const auto outcome = replayed();
  ASSERT_TRUE(outcome) << outcome.error().message;
  EXPECT_FALSE(outcome.value().difference);
  EXPECT_LT(outcome.value().bytes, spi_bytes);
}

TEST_F(ReplayTest, AChipThatDiffersIsToldByItsFirstByte) {
  record("tcp_xmit", "wizloop", "burst", {{"total_bytes", "20000"}});
  const auto outcome = replayed({{"chip.latency.send_to_frame_ns", "900000"}});
  ASSERT_TRUE(outcome) << outcome.error().message;
  const auto& difference = outcome.value().difference;
  ASSERT_TRUE(difference);
  EXPECT_THAT(difference->where, HasSubstr("of socket 0"));
  EXPECT_NE(difference->recorded, difference->replayed);
  EXPECT_EQ(difference->byte, outcome.value().bytes);
}

TEST_F(ReplayTest, OneByteThatWasChangedIsNamed) {
  record("udp_rtt", "wizloop", "byte", {{"pings", "2"}});
  std::string text(std::filesystem::file_size(file), '\0');
  std::ifstream{file}.read(text.data(), static_cast<std::streamsize>(text.size()));
  const std::size_t version_read = text.find("00390000 01020304");  // VERSIONR is 4
  ASSERT_NE(version_read, std::string::npos);
  text.replace(version_read, 17, "00390000 01020351");
  std::ofstream{file} << text;
  const auto outcome = replayed();
  ASSERT_TRUE(outcome && outcome.value().difference);
  EXPECT_EQ(outcome.value().difference->where, "read of VERSIONR in the common block");
  EXPECT_EQ(outcome.value().difference->mosi, "00 39 00 00");
  EXPECT_EQ(outcome.value().difference->recorded, 0x51);
  EXPECT_EQ(outcome.value().difference->replayed, 0x04);
}

TEST_F(ReplayTest, ATranscriptOfARunThatWasKilledSaysSo) {
  EXPECT_EQ(wrong("wizloop-spi 1\nboard b\n100 S\n"), "");
  const auto outcome = replayed();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome.value().whole);
}

TEST_F(ReplayTest, AFileThatIsNoTranscriptSaysWhereAndWhatWasExpected) {
  const std::string head = "wizloop-spi 1\nboard b\n";
  EXPECT_THAT(wrong("PK\3\4"), HasSubstr(":1: this is no SPI transcript"));
  EXPECT_THAT(wrong("wizloop-spi 1\n5 S\n"), HasSubstr("names no board"));
  EXPECT_THAT(wrong("wizloop-spi 1\nboard b\nseed x\n"), HasSubstr(":3: seed is \"x\", expected a whole number"));
  EXPECT_THAT(wrong(head + "set chip\n"), HasSubstr("expected NAME=VALUE"));
  EXPECT_THAT(wrong(head + "set fault.link_loss=ppm=1\n"), HasSubstr("no setting of the chip"));
  EXPECT_THAT(wrong(head + "set chip.quirk.none=1\n"), HasSubstr("chip.quirk.none"));
  for (const char* line : {"x S",
                           "-5",
                           "-5 S",
                           "5 Q",
                           "5 S 1",
                           "5 X 4 00 00",
                           "5 X 9 0 0",
                           "5 X 9 00 0000",
                           "5 X 9 zz 00",
                           "5 X 9 .0",
                           "5 X 9 .99999999999",
                           "5 X 9 . .",
                           "5 A 4 00",
                           "5 A 9 !",
                           "5 F x",
                           "5 C on",
                           "5 S\n4 D",
                           "5 X 9 00 00\n8 D",
                           "5 F 0",
                           "5 A 9 00\n6 F 0"}) {
    EXPECT_NE(wrong(head + line + "\n"), "") << line;
  }
}

TEST_F(ReplayTest, ARunWhoseSupplyFailsHasNoTranscript) {
  scenario::RunRequest request;
  request.scenario = "tcp_xmit";
  request.board_file = boards / "stm32f405-arduino.toml";
  request.parameters = {{"fault.chip_brown_out", "nth=100"}};
  request.transcript_file = file;
  const auto ran = scenario::run(request);
  ASSERT_FALSE(ran);
  EXPECT_THAT(ran.error().message, HasSubstr("fault.chip_brown_out has no transcript"));
}

}  // namespace
}  // namespace wizloop::testbed
