#include "sim/bus/profile.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wizloop::bus {
namespace {

using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;
using testing::StartsWith;
using testing::UnorderedElementsAre;

// A board file that is right; the tests change one thing each. The line numbers that they expect are those of this
// text.
constexpr std::string_view good_board = R"(title = "Board"
mcu = "MCU"
chip = "W5500"
library = "ethernet2"
cpu_hz = { value = 168_000_000, basis = "given", source = "manual" }
sclk_hz = { value = 42_000_000, basis = "given", source = "manual" }
spi_mode = { value = 3, basis = "given", source = "library" }
byte_gap_ns = { value = 1350, basis = "fit", figure = "F1", source = "loop" }
burst_gap_ns = { value = 22.5, basis = "fit", figure = "F2", source = "loop" }
burst_setup_ns = { value = 500, basis = "given", source = "estimate" }
dma_gap_ns = { value = 3, basis = "given", source = "estimate" }
dma_setup_ns = { value = 5000, basis = "given", source = "estimate" }
dma_complete_ns = { value = 1000, basis = "given", source = "estimate" }
select_ns = { value = 500, basis = "given", source = "estimate" }
deselect_ns = { value = 300, basis = "given", source = "estimate" }
call_cpu_ns = { value = 1000, basis = "given", source = "estimate" }
interrupt_latency_ns = { value = 250, basis = "given", source = "estimate" }
[peer]
system = "PC"
ack_policy = "delayed"
segment_rule = "full_mss"
delayed_ack_ms = { value = 200, basis = "given", source = "default" }
turnaround_us = { value = 52.75, basis = "given", source = "estimate" }
timer_tick_us = { value = 15625, basis = "given", source = "default" }
[[announce]]
rule = "sclk-above-rating"
reason = "the source ran it so"
[[figure]]
id = "F1"
scenario = "tcp_recv"
path = "byte"
published = 4.5
unit = "Mbit/s"
parameters = { read_bytes = 2048, ratio = 0.5, search = "offered" }
[[figure]]
id = "F2"
scenario = "udp_rtt"
path = "burst"
published = 150
unit = "us"
why = "the source is unsure"
)";

class ProfileTest : public testing::Test {
 protected:
  ~ProfileTest() override { std::filesystem::remove(file_); }

  Result<BoardProfile> load(std::string_view text) {
    std::ofstream{file_} << text;
    return load_board(file_);
  }

  // The good board with one piece of its text replaced.
  static std::string with(std::string_view piece, std::string_view replacement) {
    std::string text{good_board};
    const std::size_t at = text.find(piece);
    EXPECT_NE(at, std::string::npos) << piece;
    return text.replace(at, piece.size(), replacement);
  }

  // One line for each error, each without the file's name in front.
  std::vector<std::string> errors_of(std::string_view text) {
    const Result<BoardProfile> result = load(text);
    std::vector<std::string> errors;
    if (result) return errors;
    const std::string front = file_.string() + ":";
    const std::string& message = result.error().message;
    for (std::size_t begin = 0; begin < message.size();) {
      const std::size_t end = std::min(message.find('\n', begin), message.size());
      std::string line = message.substr(begin, end - begin);
      EXPECT_THAT(line, StartsWith(front));
      errors.push_back(line.substr(std::min(front.size(), line.size())));
      begin = end + 1;
    }
    return errors;
  }

  std::filesystem::path file_ =
      std::filesystem::path{testing::TempDir()} /
      (std::string{"wizloop_profile_"} + testing::UnitTest::GetInstance()->current_test_info()->name() + ".toml");
};

TEST_F(ProfileTest, ReadsWhatAFileSays) {
  const Result<BoardProfile> result = load(good_board);
  ASSERT_TRUE(result) << result.error().message;
  const BoardProfile& board = result.value();
  EXPECT_EQ(board.name, "wizloop_profile_ReadsWhatAFileSays");
  EXPECT_EQ(board.title, "Board");
  EXPECT_EQ(board.mcu, "MCU");
  EXPECT_EQ(board.chip, "W5500");
  EXPECT_EQ(board.library, "ethernet2");
  EXPECT_EQ(board.cpu.hz(), 168'000'000);
  EXPECT_EQ(board.sclk.hz(), 42'000'000);
  EXPECT_EQ(board.spi_mode, 3);
  EXPECT_EQ(board.byte.gap, 1350ns);
  ASSERT_TRUE(board.burst.has_value());
  EXPECT_EQ(board.burst->gap, picoseconds(22'500));
  EXPECT_EQ(board.burst->setup, 500ns);
  ASSERT_TRUE(board.dma.has_value());
  EXPECT_EQ(board.dma->gap, 3ns);
  EXPECT_EQ(board.dma->setup, 5us);
  EXPECT_EQ(board.dma->complete, 1us);
  EXPECT_EQ(board.select, 500ns);
  EXPECT_EQ(board.deselect, 300ns);
  EXPECT_EQ(board.call, 1us);
  EXPECT_EQ(board.interrupt_latency, 250ns);
  EXPECT_FALSE(board.supply_current_ma.has_value());
  EXPECT_EQ(board.peer.system, "PC");
  EXPECT_EQ(board.peer.ack_policy, net::AckPolicy::delayed);
  EXPECT_EQ(board.peer.segment_rule, net::SegmentRule::full_mss);
  EXPECT_EQ(board.peer.delayed_ack, 200ms);
  EXPECT_EQ(board.peer.turnaround, picoseconds(52'750'000));
  EXPECT_EQ(board.peer.timer_tick, 15625us);
  ASSERT_EQ(board.announced.size(), 1u);
  EXPECT_EQ(board.announced[0].rule, Rule::sclk_above_rating);
  EXPECT_EQ(board.announced[0].origin, Origin::board);
  EXPECT_EQ(board.announced[0].reason, "the source ran it so");
}

TEST_F(ProfileTest, KeepsTheProvenanceOfEachNumber) {
  const Result<BoardProfile> result = load(good_board);
  ASSERT_TRUE(result) << result.error().message;
  const std::map<std::string, Constant>& constants = result.value().constants;
  EXPECT_EQ(constants.size(), 16u);
  EXPECT_EQ(constants.at("burst_gap_ns").value, 22.5);
  EXPECT_EQ(constants.at("burst_gap_ns").basis, Basis::fit);
  EXPECT_EQ(constants.at("burst_gap_ns").figure, "F2");
  EXPECT_EQ(constants.at("burst_gap_ns").source, "loop");
  EXPECT_EQ(constants.at("peer.turnaround_us").basis, Basis::given);
  EXPECT_EQ(constants.at("peer.turnaround_us").source, "estimate");
}

TEST_F(ProfileTest, ReadsTheFiguresWithTheirParametersAsText) {
  const Result<BoardProfile> result = load(good_board);
  ASSERT_TRUE(result) << result.error().message;
  const std::vector<PublishedFigure>& figures = result.value().figures;
  ASSERT_EQ(figures.size(), 2u);
  EXPECT_EQ(figures[0].id, "F1");
  EXPECT_EQ(figures[0].scenario, "tcp_recv");
  EXPECT_EQ(figures[0].path, "byte");
  EXPECT_EQ(figures[0].published, 4.5);
  EXPECT_EQ(figures[0].unit, "Mbit/s");
  EXPECT_THAT(figures[0].parameters,
              ElementsAre(Pair("ratio", "0.5"), Pair("read_bytes", "2048"), Pair("search", "offered")));
  EXPECT_EQ(figures[0].why, "");
  EXPECT_THAT(figures[1].parameters, IsEmpty());
  EXPECT_EQ(figures[1].why, "the source is unsure");
}

TEST_F(ProfileTest, ConvertsDecimalsToTheExactPicosecond) {
  const std::vector<std::pair<std::string, std::int64_t>> values = {{"0", 0},
                                                                    {"0.001", 1},
                                                                    {"0.1", 100},
                                                                    {"0.3", 300},
                                                                    {"1.005", 1'005},
                                                                    {"12.5", 12500},
                                                                    {"466.667", 466667},
                                                                    {"99999.999", 99'999'999},
                                                                    {"1350.001", 1'350'001}};
  for (const auto& [text, ps] : values) {
    const Result<BoardProfile> result = load(with("value = 1350", "value = " + text));
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(result.value().byte.gap, picoseconds(ps)) << text;
  }
}

TEST_F(ProfileTest, ReadsAnOptionalSupplyCurrent) {
  const Result<BoardProfile> result =
      load(with("[peer]", "supply_current_ma = { value = 132, basis = \"given\", source = \"table\" }\n[peer]"));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result.value().supply_current_ma, 132.0);
}

TEST_F(ProfileTest, LeavesOutAPathThatTheFileDoesNotPrice) {
  std::string text{good_board};
  const std::size_t from = text.find("dma_gap_ns");
  text.erase(from, text.find("select_ns") - from);
  const Result<BoardProfile> result = load(text);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_FALSE(result.value().dma.has_value());
}

TEST_F(ProfileTest, RefusesAMissingFile) {
  const Result<BoardProfile> result = load_board("boards/no_such_board.toml");
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message,
            "boards/no_such_board.toml: not a file, expected a board file such as boards/NAME.toml");
  EXPECT_FALSE(load_board(testing::TempDir()));
}

TEST_F(ProfileTest, RefusesWhatIsNotToml) {
  EXPECT_THAT(errors_of(with("mcu = \"MCU\"", "mcu = = 3")), ElementsAre(StartsWith("2: not valid TOML: ")));
  EXPECT_THAT(errors_of(with("mcu = \"MCU\"", "title = \"again\"")), ElementsAre(StartsWith("2: not valid TOML: ")));
}

TEST_F(ProfileTest, RefusesAnUnknownKeyAndNamesTheNearest) {
  EXPECT_THAT(errors_of(with("deselect_ns", "deselct_ns")),
              UnorderedElementsAre("15: deselct_ns is not a known key, the nearest is deselect_ns",
                                   HasSubstr("deselect_ns is missing")));
  EXPECT_THAT(errors_of(with("[[announce]]", "sytem = \"PC\"\n[[announce]]")),
              ElementsAre("25: peer.sytem is not a known key, the nearest is system"));
  EXPECT_THAT(errors_of(with("why =", "wy =")), ElementsAre("41: figure.wy is not a known key, the nearest is why"));
  EXPECT_THAT(errors_of(with("reason =", "season =")),
              UnorderedElementsAre("27: announce.season is not a known key, the nearest is reason",
                                   HasSubstr("announce.reason is missing")));
  EXPECT_THAT(errors_of(with("source = \"loop\"", "source = \"loop\", sauce = 1")),
              ElementsAre("8: byte_gap_ns.sauce is not a known key, the nearest is source"));
}

TEST_F(ProfileTest, RefusesAMissingKey) {
  EXPECT_THAT(errors_of(with("select_ns = { value = 500, basis = \"given\", source = \"estimate\" }\n", "")),
              ElementsAre("1: select_ns is missing, expected a number from 0 to 1000000"));
  EXPECT_THAT(errors_of(with("title = \"Board\"\n", "")),
              ElementsAre("1: title is missing, expected one line of text: what a person calls the board"));
  EXPECT_THAT(errors_of(with("segment_rule = \"full_mss\"\n", "")),
              ElementsAre("18: peer.segment_rule is missing, expected one of half_window, full_mss"));
  EXPECT_THAT(errors_of(with("value = 1350, ", "")),
              ElementsAre("8: byte_gap_ns.value is missing, expected a number from 0 to 100000"));
  EXPECT_THAT(errors_of(with("figure = \"F1\", source = \"loop\"", "figure = \"F1\"")),
              ElementsAre("8: byte_gap_ns.source is missing, expected one line of text: where the number comes from"));
  EXPECT_THAT(errors_of(with("published = 4.5\n", "")),
              ElementsAre("28: figure.published is missing, expected the published number, from 0.001 to 1e9"));
}

TEST_F(ProfileTest, RefusesAFileWithoutAPeer) {
  const std::string text = "[peer]\n";
  std::string board{good_board};
  const std::size_t from = board.find(text);
  board.erase(from, board.find("[[announce]]") - from);
  EXPECT_THAT(errors_of(board),
              ElementsAre("1: peer is missing, expected a table [peer] that says how the remote host behaves"));
}

TEST_F(ProfileTest, RefusesTheWrongType) {
  EXPECT_THAT(errors_of(with("title = \"Board\"", "title = 7")),
              ElementsAre("1: title is 7, expected one line of text: what a person calls the board"));
  EXPECT_THAT(
      errors_of(with("{ value = 500, basis = \"given\", source = \"estimate\" }", "500")),
      ElementsAre(
          "10: burst_setup_ns is 500, expected { value = a number, basis = \"given\" or \"fit\", source = \"...\" }"));
  EXPECT_THAT(errors_of(with("value = 1350", "value = \"1350\"")),
              ElementsAre("8: byte_gap_ns is \"1350\", expected a number from 0 to 100000"));
  EXPECT_THAT(errors_of(with("value = 1350", "value = true")),
              ElementsAre("8: byte_gap_ns is true, expected a number from 0 to 100000"));
  EXPECT_THAT(errors_of(with("published = 4.5", "published = \"4.5\"")),
              ElementsAre("32: figure.published is \"4.5\", expected the published number, from 0.001 to 1e9"));
  EXPECT_THAT(errors_of(with("ratio = 0.5", "ratio = [1]")),
              ElementsAre("34: figure.parameters.ratio is an array, expected a number or a text"));
  EXPECT_THAT(errors_of(with("[[announce]]", "[announce]")),
              ElementsAre("25: announce is a table, expected tables headed [[announce]]"));
}

TEST_F(ProfileTest, RefusesANumberOutOfRange) {
  EXPECT_THAT(errors_of(with("value = 1350", "value = -5")),
              ElementsAre("8: byte_gap_ns is -5, expected a number from 0 to 100000"));
  EXPECT_THAT(errors_of(with("value = 1350", "value = 100000.5")),
              ElementsAre("8: byte_gap_ns is 100000.5, expected a number from 0 to 100000"));
  EXPECT_THAT(errors_of(with("value = 1350", "value = nan")),
              ElementsAre("8: byte_gap_ns is nan, expected a number from 0 to 100000"));
  EXPECT_THAT(errors_of(with("value = 42_000_000", "value = 80_000_001")),
              ElementsAre("6: sclk_hz is 80000001, expected a whole number from 100000 to 80000000"));
  EXPECT_THAT(errors_of(with("value = 42_000_000", "value = 12571428.6")),
              ElementsAre("6: sclk_hz is 12571428.6, expected a whole number from 100000 to 80000000"));
  EXPECT_THAT(errors_of(with("value = 3,", "value = 1,")), ElementsAre("7: spi_mode is 1, expected 0 or 3"));
  EXPECT_THAT(errors_of(with("value = 200,", "value = 501,")),
              ElementsAre("22: peer.delayed_ack_ms is 501, expected a number from 0 to 500"));
  EXPECT_THAT(errors_of(with("published = 4.5", "published = 0")),
              ElementsAre("32: figure.published is 0, expected the published number, from 0.001 to 1e9"));
}

TEST_F(ProfileTest, RefusesANumberWithoutAnHonestOrigin) {
  EXPECT_THAT(errors_of(with("basis = \"given\"", "basis = \"guess\"")),
              ElementsAre("5: cpu_hz.basis is \"guess\", expected one of given, fit"));
  EXPECT_THAT(errors_of(with("source = \"manual\"", "source = \"\"")),
              ElementsAre("5: cpu_hz.source is \"\", expected one line of text: where the number comes from"));
  EXPECT_THAT(
      errors_of(with("source = \"manual\"", "source = \"two\\nlines\"")),
      ElementsAre("5: cpu_hz.source is \"two\\nlines\", expected one line of text: where the number comes from"));
  EXPECT_THAT(errors_of(with("figure = \"F1\", ", "")),
              ElementsAre("8: byte_gap_ns.figure is missing, expected one line of text: the id of the figure that the "
                          "number is fitted to"));
  EXPECT_THAT(errors_of(with("basis = \"given\", source = \"library\"",
                             "basis = \"given\", figure = \"F1\", source = \"library\"")),
              ElementsAre("7: spi_mode.figure is \"F1\", expected no figure beside basis = \"given\""));
}

TEST_F(ProfileTest, RefusesAFitToAFigureThatTheFileDoesNotPublish) {
  EXPECT_THAT(errors_of(with("figure = \"F1\"", "figure = \"F9\"")),
              ElementsAre("8: byte_gap_ns.figure is \"F9\", expected the id of a figure in this file"));
}

TEST_F(ProfileTest, RefusesTwoFitsToOneFigure) {
  EXPECT_THAT(errors_of(with("figure = \"F2\"", "figure = \"F1\"")),
              ElementsAre("9: burst_gap_ns.figure is \"F1\", expected a figure that no other number is fitted to"));
}

TEST_F(ProfileTest, RefusesAThirdFit) {
  EXPECT_THAT(
      errors_of(with("{ value = 52.75, basis = \"given\"", "{ value = 52.75, basis = \"fit\", figure = \"F1\"")),
      ElementsAre("23: peer.turnaround_us is a fit, expected \"given\": at most 2 numbers of a board may be "
                  "fitted, and byte_gap_ns and burst_gap_ns are already"));
}

TEST_F(ProfileTest, RefusesUnknownNames) {
  EXPECT_THAT(errors_of(with("\"ethernet2\"", "\"ethernet4\"")),
              ElementsAre("4: library is \"ethernet4\", expected one of ethernet2, ethernet3, pjrc_ethernet, "
                          "iolibrary, lwip_macraw, wizloop"));
  EXPECT_THAT(errors_of(with("\"W5500\"", "\"W5100\"")), ElementsAre("3: chip is \"W5100\", expected W5500"));
  EXPECT_THAT(errors_of(with("\"delayed\"", "\"sometimes\"")),
              ElementsAre("20: peer.ack_policy is \"sometimes\", expected one of immediate, every_second, delayed"));
  EXPECT_THAT(errors_of(with("\"full_mss\"", "\"nagle\"")),
              ElementsAre("21: peer.segment_rule is \"nagle\", expected one of half_window, full_mss"));
  EXPECT_THAT(errors_of(with("\"byte\"", "\"quad\"")),
              ElementsAre("31: figure.path is \"quad\", expected one of byte, burst, dma"));
  EXPECT_THAT(errors_of(with("\"Mbit/s\"", "\"MB/s\"")),
              ElementsAre("33: figure.unit is \"MB/s\", expected one of Mbit/s, ms, us, packets/s"));
  EXPECT_THAT(errors_of(with("\"sclk-above-rating\"", "\"sclk\"")),
              ElementsAre(AllOf(StartsWith("26: announce.rule is \"sclk\", expected one of sclk-above-rating, "),
                                EndsWith(", not-modelled"))));
}

TEST_F(ProfileTest, AStackOnTheBoardCostsNothingUnlessTheFileSaysSo) {
  const Result<BoardProfile> without = load(good_board);
  ASSERT_TRUE(without);
  EXPECT_EQ(without.value().lwip.packet, Duration::zero());
  EXPECT_EQ(without.value().lwip.byte, Duration::zero());
  const auto priced = load(with("[peer]",
                                "lwip_packet_ns = { value = 30_000, basis = \"given\", source = \"estimate\" }\n"
                                "lwip_byte_ns = { value = 37.5, basis = \"given\", source = \"estimate\" }\n[peer]"));
  ASSERT_TRUE(priced) << priced.error().message;
  EXPECT_EQ(priced.value().lwip.packet, 30us);
  EXPECT_EQ(priced.value().lwip.byte, picoseconds(37'500));
}

TEST_F(ProfileTest, RefusesTwoFiguresWithOneId) {
  EXPECT_THAT(errors_of(with("id = \"F2\"", "id = \"F1\"")),
              ElementsAre("9: burst_gap_ns.figure is \"F2\", expected the id of a figure in this file",
                          "36: figure.id is \"F1\", expected an id that no other figure of the file has"));
}

TEST_F(ProfileTest, RefusesAFigureOnAPathThatTheBoardDoesNotPrice) {
  std::string text = with("path = \"byte\"", "path = \"dma\"");
  const std::size_t from = text.find("dma_gap_ns");
  text.erase(from, text.find("select_ns") - from);
  EXPECT_THAT(errors_of(text),
              ElementsAre("28: figure.path is \"dma\", expected a path that the board prices: it has no dma_ keys"));
}

TEST_F(ProfileTest, RefusesHalfAPath) {
  EXPECT_THAT(errors_of(with("burst_setup_ns = { value = 500, basis = \"given\", source = \"estimate\" }\n", "")),
              ElementsAre("9: burst_setup_ns is missing, expected a number from 0 to 1000000, since the other burst_ "
                          "keys are there"));
  EXPECT_THAT(errors_of(with("dma_gap_ns = { value = 3, basis = \"given\", source = \"estimate\" }\n", "")),
              ElementsAre("11: dma_gap_ns is missing, expected a number from 0 to 10000, since the other dma_ keys "
                          "are there"));
}

constexpr std::string_view arduino_table = R"([arduino]
digital_write_ns = { value = 180, basis = "given", source = "estimate" }
begin_transaction_ns = { value = 320.5, basis = "given", source = "estimate" }
end_transaction_ns = { value = 120, basis = "given", source = "estimate" }
millis_ns = { value = 60, basis = "given", source = "estimate" }
)";

TEST_F(ProfileTest, PricesTheArduinoCoreWhereTheFileDoes) {
  const Result<BoardProfile> without = load(good_board);
  ASSERT_TRUE(without);
  EXPECT_FALSE(without.value().arduino.has_value());

  Result<BoardProfile> with_table = load(std::string{good_board} + std::string{arduino_table});
  ASSERT_TRUE(with_table) << with_table.error().message;
  BoardProfile& board = with_table.value();
  ASSERT_TRUE(board.arduino.has_value());
  EXPECT_EQ(board.arduino->digital_write, 180ns);
  EXPECT_EQ(board.arduino->begin_transaction, picoseconds(320'500));
  EXPECT_EQ(board.arduino->end_transaction, 120ns);
  EXPECT_EQ(board.arduino->millis, 60ns);
  EXPECT_EQ(board.constants.at("arduino.begin_transaction_ns").value, 320.5);
  ASSERT_TRUE(apply_override(board, "arduino.millis_ns", "75"));
  EXPECT_EQ(board.arduino->millis, 75ns);
}

TEST_F(ProfileTest, RefusesHalfAnArduinoTable) {
  std::string text = std::string{good_board} + std::string{arduino_table};
  const std::string line = "millis_ns = { value = 60, basis = \"given\", source = \"estimate\" }\n";
  text.erase(text.find(line), line.size());
  EXPECT_THAT(errors_of(text),
              ElementsAre(EndsWith("arduino.millis_ns is missing, expected a number from 0 to 1000000")));
  EXPECT_THAT(errors_of("arduino = 3\n" + std::string{good_board}),
              ElementsAre("1: arduino is 3, expected a table [arduino]"));

  Result<BoardProfile> without = load(good_board);
  ASSERT_TRUE(without);
  const auto refused = apply_override(without.value(), "arduino.millis_ns", "75");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message,
              StartsWith("board.arduino.millis_ns is 75, expected a board whose file has [arduino]; "));
}

TEST_F(ProfileTest, RefusesAPublishedNumberThatNobodyMeasures) {
  const auto published = [this](std::string_view value) {
    return errors_of(with("published = 4.5", "published = " + std::string{value}));
  };
  for (const std::string_view value : {"5e-324", "0.00099", "1.1e+09", "inf", "nan", "-4.5"}) {
    EXPECT_THAT(published(value), ElementsAre(AllOf(StartsWith("32: figure.published is "),
                                                    EndsWith(", expected the published number, from 0.001 to 1e9"))))
        << value;
  }
  for (const std::string_view value : {"0.001", "1e9", "1_000_000_000"}) {
    EXPECT_THAT(published(value), IsEmpty()) << value;
  }
}

std::string repeated(std::string_view piece, std::size_t times) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += piece;
  return text;
}

// The parser recurses with each of these: 50,000 ended the process.
TEST_F(ProfileTest, RefusesALineThatNestsTooDeep) {
  const std::string good{good_board};
  const std::string line = std::to_string(std::count(good.begin(), good.end(), '\n') + 1);
  EXPECT_THAT(errors_of(good + repeated("a.", 50'000) + "a = 1\n"),
              ElementsAre(line + ": 50000 dots and brackets in one line, expected at most 100"));
  EXPECT_THAT(errors_of(good + "[" + repeated("a.", 101) + "a]\n"),
              ElementsAre(line + ": 102 dots and brackets in one line, expected at most 100"));
  EXPECT_THAT(errors_of(good + "a = " + repeated("[", 101)),
              ElementsAre(line + ": 101 dots and brackets in one line, expected at most 100"));
  EXPECT_THAT(errors_of(good + "why = \"" + repeated(".", 100) + "\"\n"), Each(Not(HasSubstr("dots and brackets"))));
}

TEST_F(ProfileTest, SurvivesTheDeepestNestingThatItsLimitsAllow) {
  std::string text = "x = [\n";
  for (int i = 0; i < 120; ++i) text += "{ " + repeated("a.", 98) + "a = [\n";
  EXPECT_THAT(errors_of(text + "1\n" + repeated("]}\n", 120) + "]\n"), Not(IsEmpty()));
  EXPECT_THAT(errors_of(text), Not(IsEmpty()));
}

TEST_F(ProfileTest, RefusesAFileThatIsTooLarge) {
  const std::string good{good_board};
  const auto of_size = [&good](std::size_t size) { return good + "#" + std::string(size - good.size() - 1, 'x'); };
  EXPECT_TRUE(load(of_size(256 * 1024)));
  const Result<BoardProfile> larger = load(of_size(256 * 1024 + 1));
  ASSERT_FALSE(larger);
  EXPECT_EQ(larger.error().message, file_.string() + ": too large, expected a board file of at most 256 KiB");
}

TEST(BoardFileTest, SaysWhatIsNoFile) {
  for (const std::string file : {"no/such.toml", "/", "/dev/zero"}) {
    const Result<BoardProfile> result = load_board(file);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().message, file + ": not a file, expected a board file such as boards/NAME.toml");
  }
  const std::filesystem::path below_a_file = std::filesystem::path{WIZLOOP_BOARDS_DIR} / "README.md" / "x.toml";
  EXPECT_FALSE(load_board(below_a_file));
}

TEST_F(ProfileTest, NamesEverythingThatIsWrongAtOnce) {
  std::string text = with("value = 1350", "value = -1");
  text.replace(text.find("\"delayed\""), 9, "\"never\"");
  text.replace(text.find("\"Mbit/s\""), 8, "\"bit\"");
  EXPECT_THAT(errors_of(text), ElementsAre(StartsWith("8: byte_gap_ns is -1"), StartsWith("20: peer.ack_policy is"),
                                           StartsWith("33: figure.unit is")));
}

TEST_F(ProfileTest, AnOverrideReplacesOneNumber) {
  Result<BoardProfile> result = load(good_board);
  ASSERT_TRUE(result) << result.error().message;
  BoardProfile& board = result.value();
  ASSERT_TRUE(apply_override(board, "byte_gap_ns", "1200.5"));
  EXPECT_EQ(board.byte.gap, picoseconds(1'200'500));
  EXPECT_EQ(board.constants.at("byte_gap_ns").value, 1200.5);
  EXPECT_EQ(board.constants.at("byte_gap_ns").basis, Basis::given);
  EXPECT_EQ(board.constants.at("byte_gap_ns").source, "override");
  ASSERT_TRUE(apply_override(board, "sclk_hz", "8e6"));
  EXPECT_EQ(board.sclk.hz(), 8'000'000);
  ASSERT_TRUE(apply_override(board, "peer.turnaround_us", "80"));
  EXPECT_EQ(board.peer.turnaround, 80us);
  ASSERT_TRUE(apply_override(board, "dma_setup_ns", "0"));
  EXPECT_EQ(board.dma->setup, Duration::zero());
  EXPECT_EQ(board.dma->gap, 3ns);
}

TEST_F(ProfileTest, AnOverrideReplacesOneWord) {
  Result<BoardProfile> result = load(good_board);
  ASSERT_TRUE(result) << result.error().message;
  ASSERT_TRUE(apply_override(result.value(), "peer.ack_policy", "immediate"));
  EXPECT_EQ(result.value().peer.ack_policy, net::AckPolicy::immediate);
  ASSERT_TRUE(apply_override(result.value(), "peer.segment_rule", "half_window"));
  EXPECT_EQ(result.value().peer.segment_rule, net::SegmentRule::half_window);
}

TEST_F(ProfileTest, AnOverrideIsHeldToTheRangesOfTheFile) {
  Result<BoardProfile> result = load(good_board);
  ASSERT_TRUE(result) << result.error().message;
  BoardProfile& board = result.value();
  const auto refusal = [&board](std::string_view key, std::string_view value) {
    const Result<std::monostate> done = apply_override(board, key, value);
    return done ? "accepted" : done.error().message;
  };
  EXPECT_EQ(refusal("byte_gap_ns", "-5"), "board.byte_gap_ns is -5, expected a number from 0 to 100000");
  EXPECT_EQ(refusal("byte_gap_ns", "12ns"), "board.byte_gap_ns is 12ns, expected a number from 0 to 100000");
  EXPECT_EQ(refusal("byte_gap_ns", ""), "board.byte_gap_ns is empty, expected a number from 0 to 100000");
  EXPECT_EQ(refusal("byte_gap_ns", "inf"), "board.byte_gap_ns is inf, expected a number from 0 to 100000");
  EXPECT_EQ(refusal("spi_mode", "2"), "board.spi_mode is 2, expected 0 or 3");
  EXPECT_EQ(refusal("peer.segment_rule", "nagle"),
            "board.peer.segment_rule is nagle, expected one of half_window, full_mss");
  EXPECT_EQ(refusal("byte_gap", "3"), "board.byte_gap is not a known key, the nearest is board.byte_gap_ns");
  EXPECT_EQ(refusal("turnaround_us", "3"),
            "board.turnaround_us is not a known key, the nearest is board.peer.turnaround_us");
  EXPECT_EQ(board.byte.gap, 1350ns);
  EXPECT_EQ(board.constants.at("byte_gap_ns").basis, Basis::fit);

  board.name = "plain";
  board.dma.reset();
  EXPECT_EQ(refusal("dma_gap_ns", "3"), "board.dma_gap_ns is 3, expected a board that has this path; plain has not");
}

std::vector<std::filesystem::path> board_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{WIZLOOP_BOARDS_DIR}) {
    if (entry.path().extension() == ".toml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(BoardsTest, EveryBoardLoads) {
  EXPECT_GE(board_files().size(), 5u);
  for (const std::filesystem::path& file : board_files()) {
    const Result<BoardProfile> board = load_board(file);
    ASSERT_TRUE(board) << board.error().message;
    EXPECT_EQ(board.value().name, file.stem());
  }
}

TEST(BoardsTest, EveryBoardFitsAtMostTwoNumbersAndKeepsAFigureToPredictIfItCan) {
  for (const std::filesystem::path& file : board_files()) {
    const Result<BoardProfile> board = load_board(file);
    ASSERT_TRUE(board) << board.error().message;
    const auto fits = std::count_if(board.value().constants.begin(), board.value().constants.end(),
                                    [](const auto& entry) { return entry.second.basis == Basis::fit; });
    EXPECT_LE(fits, 2) << file;
    if (board.value().figures.size() > 1) {
      EXPECT_LT(fits, static_cast<std::ptrdiff_t>(board.value().figures.size())) << file;
    }
  }
}

TEST(BoardsTest, EveryBoardPricesAllThreePaths) {
  for (const std::filesystem::path& file : board_files()) {
    const Result<BoardProfile> board = load_board(file);
    ASSERT_TRUE(board) << board.error().message;
    EXPECT_TRUE(board.value().burst.has_value()) << file;
    EXPECT_TRUE(board.value().dma.has_value()) << file;
  }
}

TEST(BoardsTest, AClockAboveTheRatingIsAnnounced) {
  for (const std::filesystem::path& file : board_files()) {
    const Result<BoardProfile> board = load_board(file);
    ASSERT_TRUE(board) << board.error().message;
    const auto& announced = board.value().announced;
    const bool expected = std::any_of(announced.begin(), announced.end(),
                                      [](const Announcement& a) { return a.rule == Rule::sclk_above_rating; });
    EXPECT_EQ(expected, board.value().sclk.hz() > 33'300'000) << file;
  }
}

TEST(BoardsTest, PublishEachOfTheSeventeenFiguresOnce) {
  std::vector<std::string> ids;
  for (const std::filesystem::path& file : board_files()) {
    const Result<BoardProfile> board = load_board(file);
    ASSERT_TRUE(board) << board.error().message;
    for (const PublishedFigure& figure : board.value().figures) ids.push_back(figure.id);
  }
  EXPECT_THAT(ids, UnorderedElementsAre("SEED002", "SEED006", "SEED007", "SEED008", "SEED009", "SEED010", "SEED011",
                                        "SEED012", "SEED013", "SEED014", "SEED015", "SEED016", "SEED017", "SEED018",
                                        "SEED019", "SEED020", "SEED021"));
}

// The published numbers once more, written down independently of the board files.
TEST(BoardsTest, StateTheFiguresAsTheyWerePublished) {
  struct Row {
    std::string_view board;
    std::string_view path;
    double published;
    std::string_view unit;
  };
  const std::map<std::string, Row> rows = {
      {"SEED002", {"esp32-usr-es1", "byte", 23335, "ms"}},
      {"SEED006", {"stm32f405-arduino", "byte", 4.5, "Mbit/s"}},
      {"SEED007", {"stm32f405-arduino", "burst", 9, "Mbit/s"}},
      {"SEED008", {"stm32f405-arduino", "dma", 18, "Mbit/s"}},
      {"SEED009", {"stm32f405-cubeide", "dma", 30, "Mbit/s"}},
      {"SEED010", {"w55rp20", "byte", 5, "Mbit/s"}},
      {"SEED011", {"w55rp20", "byte", 3.75, "Mbit/s"}},
      {"SEED012", {"w55rp20", "byte", 6.12, "Mbit/s"}},
      {"SEED013", {"w55rp20", "byte", 1.05, "Mbit/s"}},
      {"SEED014", {"w55rp20-lwip", "dma", 2.5, "Mbit/s"}},
      {"SEED015", {"teensy40-w5500", "burst", 9, "Mbit/s"}},
      {"SEED016", {"teensy40-w5500", "burst", 11, "Mbit/s"}},
      {"SEED017", {"teensy40-w5500", "burst", 11, "Mbit/s"}},
      {"SEED018", {"teensy40-w5500", "burst", 21514, "packets/s"}},
      {"SEED019", {"teensy40-w5500", "burst", 9, "Mbit/s"}},
      {"SEED020", {"teensy40-w5500", "burst", 150, "us"}},
      {"SEED021", {"teensy40-w5500", "burst", 82, "us"}},
  };
  for (const std::filesystem::path& file : board_files()) {
    const Result<BoardProfile> board = load_board(file);
    ASSERT_TRUE(board) << board.error().message;
    for (const PublishedFigure& figure : board.value().figures) {
      const Row& row = rows.at(figure.id);
      EXPECT_EQ(board.value().name, row.board) << figure.id;
      EXPECT_EQ(figure.path, row.path) << figure.id;
      EXPECT_EQ(figure.published, row.published) << figure.id;
      EXPECT_EQ(figure.unit, row.unit) << figure.id;
    }
  }
}

}  // namespace
}  // namespace wizloop::bus
