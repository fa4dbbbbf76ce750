// Runs on either SPI front: the same frames on the wire, the same findings, at the same picosecond.
#include "harness/scenario/scenario.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "sim/core/fault.hpp"
#include "sim/rtl/fronts.hpp"
#include "sim/rtl/lock_step.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop::scenario {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const std::filesystem::path boards{WIZLOOP_BOARDS_DIR};

RunResult value_of(const RunRequest& request) {
  auto result = run(request);
  EXPECT_TRUE(result) << result.error().message;
  return result ? std::move(result).value() : RunResult{};
}

RunRequest a_request(const std::string& board, const std::string& path, std::map<std::string, std::string> parameters) {
  RunRequest request;
  request.scenario = "tcp_xmit";
  request.board_file = boards / (board + ".toml");
  request.path = path;
  request.parameters = std::move(parameters);
  return request;
}

RunResult on(std::string_view front, RunRequest request) {
  request.front = front;
  return value_of(request);
}

std::vector<std::string> texts(const std::vector<Finding>& findings) {
  std::vector<std::string> all;
  for (const Finding& finding : findings) {
    all.push_back(std::string{text_of(finding.rule).id} + ": " + finding.seen + " x" + std::to_string(finding.count) +
                  " at " + std::to_string(finding.at.time_since_epoch().count()) + " " + finding.evidence.spi);
  }
  return all;
}

void expect_same(const RunResult& cpp, const RunResult& other) {
  EXPECT_EQ(other.failure, cpp.failure);
  EXPECT_EQ(other.fingerprint, cpp.fingerprint);
  EXPECT_EQ(other.virtual_time, cpp.virtual_time);
  EXPECT_EQ(other.spi_bytes, cpp.spi_bytes);
  EXPECT_EQ(other.frames_on_wire, cpp.frames_on_wire);
  EXPECT_EQ(texts(other.findings), texts(cpp.findings));
  EXPECT_EQ(other.unannounced, cpp.unannounced);
  ASSERT_EQ(other.assumptions.size(), cpp.assumptions.size());
  for (std::size_t i = 0; i < cpp.assumptions.size(); ++i) {
    EXPECT_EQ(other.assumptions[i].name, cpp.assumptions[i].name);
  }
}

struct BoardAndPath {
  std::string board;
  std::string path;
};
void PrintTo(const BoardAndPath& of, std::ostream* out) { *out << of.board << " " << of.path; }

std::vector<BoardAndPath> every_board_and_path() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator{boards}) {
    if (file.path().extension() == ".toml") names.push_back(file.path().stem().string());
  }
  std::ranges::sort(names);
  std::vector<BoardAndPath> all;
  for (const std::string& name : names) {
    for (const char* path : {"byte", "burst", "dma"}) all.push_back({name, path});
  }
  return all;
}

// What the assertions at the pins have to find where the judge of the C++ front has these findings. Those of SCLK and
// MOSI stand for a clock that no board file may name.
std::vector<std::string> limits_of(const std::vector<Finding>& findings) {
  constexpr std::pair<Rule, const char*> selects[] = {{Rule::select_high_too_short, "TCS"},
                                                      {Rule::select_setup_too_short, "TCSS"},
                                                      {Rule::select_hold_too_short, "TCSH"}};
  std::vector<std::string> limits;
  for (const auto& [rule, limit] : selects) {
    if (std::ranges::find(findings, rule, &Finding::rule) != findings.end()) limits.emplace_back(limit);
  }
  return limits;
}

class BoardRunTest : public testing::TestWithParam<BoardAndPath> {};

TEST_P(BoardRunTest, SixtyFourKibibytesAreTheSameOnBothFronts) {
  const RunRequest request = a_request(GetParam().board, GetParam().path, {{"total_bytes", "65536"}});
  const RunResult cpp = on("cpp", request);
  EXPECT_THAT(cpp.failure, IsEmpty());
  for (const char* front : {"rtl", "both"}) {
    const RunResult other = on(front, request);
    expect_same(cpp, other);
    EXPECT_EQ(other.broken_limits, limits_of(cpp.findings)) << front;
  }
}

INSTANTIATE_TEST_SUITE_P(Seed, BoardRunTest, testing::ValuesIn(every_board_and_path()), [](const auto& of) {
  std::string name = of.param.board + "_" + of.param.path;
  std::ranges::replace(name, '-', '_');
  return name;
});

// A host that breaks limits, and those that it breaks: the same for the judge in C++ and for the assertions.
struct BrokenLimits {
  std::map<std::string, std::string> settings;
  std::vector<std::string> limits;
};
void PrintTo(const BrokenLimits& of, std::ostream* out) { *out << testing::PrintToString(of.settings); }

class BrokenLimitsTest : public testing::TestWithParam<BrokenLimits> {};

TEST_P(BrokenLimitsTest, AreThoseOfTheJudge) {
  for (const char* path : {"byte", "dma"}) {
    RunRequest request = a_request("stm32f405-arduino", path, GetParam().settings);
    request.parameters.insert({{"total_bytes", "2048"}, {"board.burst_gap_ns", "0"}, {"board.dma_complete_ns", "0"}});
    const RunResult cpp = on("cpp", request);
    for (const char* front : {"rtl", "both"}) {
      const RunResult other = on(front, request);
      expect_same(cpp, other);
      EXPECT_EQ(other.broken_limits, GetParam().limits) << path << " " << front;
      EXPECT_EQ(limits_of(cpp.findings), GetParam().limits) << path;
    }
  }
}

using Settings = std::map<std::string, std::string>;
const Settings at_once = {{"board.select_ns", "0"}, {"board.deselect_ns", "0"}, {"board.byte_gap_ns", "0"}};

Settings with(Settings settings, const Settings& more) {
  for (const auto& [key, value] : more) settings.insert_or_assign(key, value);
  return settings;
}

INSTANTIATE_TEST_SUITE_P(
    Each, BrokenLimitsTest,
    testing::Values(
        BrokenLimits{with(at_once, {{"board.select_ns", "30"}, {"board.deselect_ns", "5"}}), {}},
        BrokenLimits{with(at_once, {{"board.select_ns", "29"}, {"board.deselect_ns", "5"}}), {"TCS"}},
        BrokenLimits{with(at_once, {{"board.select_ns", "31"}, {"board.deselect_ns", "4"}}), {"TCSH"}},
        BrokenLimits{with(at_once, {{"board.select_ns", "34"}, {"board.spi_mode", "3"}}), {"TCS"}},
        BrokenLimits{with(at_once, {{"board.select_ns", "35"}, {"board.spi_mode", "3"}}), {}},
        BrokenLimits{with(at_once, {{"board.deselect_ns", "30"}, {"board.select_ns", "4"}, {"board.spi_mode", "3"}}),
                     {"TCSS"}},
        BrokenLimits{at_once, {"TCS", "TCSH"}},
        BrokenLimits{
            with(at_once, {{"board.select_ns", "30"}, {"board.deselect_ns", "5"}, {"board.sclk_hz", "80000000"}}),
            {}}));

// Of a board whose pins move at another clock than its bus says, so that the judge sees nothing of it.
std::vector<std::string> findings_of_pins_at_90_mhz(std::string_view front, std::string_view fault) {
  testbed::TestbedSetup setup{.board = bus::load_board(boards / "w55rp20.toml").value()};
  if (!fault.empty()) {
    EXPECT_TRUE(testbed::apply_setting(setup, "fault.spi_flip", fault));
  }
  chip::PinFront* pins = nullptr;
  setup.front = [&pins, make = rtl::front_maker(front).value()](const EventQueue& queue,
                                                                chip::Chip::BehindFront behind) {
    auto made = make(queue, behind);
    pins = made.get();
    return made;
  };
  const auto bed = testbed::Testbed::create(std::move(setup)).value();
  pins->set_timing({.sclk = Frequency{90'000'000}, .mode = 0, .select = 500ns, .deselect = 300ns});
  for (int frame = 0; frame < 2; ++frame) {
    bed->bus().select();
    for (const int byte : {0x00, 0x39, 0x00, 0x00}) bed->bus().exchange(static_cast<std::uint8_t>(byte));
    bed->bus().deselect();
  }
  std::vector<std::string> seen;
  for (const Finding& finding : bed->findings().all()) {
    if (finding.rule == Rule::sclk_above_limit) seen.push_back(finding.seen);
  }
  return seen;
}

TEST(AssertionsTest, WhatOnlyTheyFindIsAFindingOfTheRun) {
  for (const char* front : {"rtl", "both"}) {
    EXPECT_THAT(findings_of_pins_at_90_mhz(front, ""), testing::ElementsAre("TWH is broken at the pins of the RTL"));
  }
}

TEST(AssertionsTest, AreNotHeededBehindWiresThatAreBrokenOnPurpose) {
  EXPECT_THAT(findings_of_pins_at_90_mhz("rtl", "nth=1000"), IsEmpty());
}

struct PlannedFault {
  std::string name;
  std::string text;
};
void PrintTo(const PlannedFault& fault, std::ostream* out) { *out << fault.name << " " << fault.text; }

// Each fault of the wires, once and often, with each of its choices and both ends of its numbers.
std::vector<PlannedFault> every_spi_fault() {
  std::vector<PlannedFault> all;
  for (const FaultSpec& spec : fault_table()) {
    if (spec.layer != "spi") continue;
    std::vector<std::string> choices = {""};
    for (const FaultParameter& parameter : spec.parameters) {
      const std::string setting = "," + std::string{parameter.name} + "=";
      for (const std::string_view choice : parameter.choices) choices.push_back(setting + std::string{choice});
      if (!parameter.choices.empty()) continue;
      for (const auto number : {parameter.least, parameter.most}) choices.push_back(setting + std::to_string(number));
    }
    // There are few reads of a counter, and a byte is one of many.
    const bool is_rare = spec.name == "spi_torn_read";
    for (const std::string& choice : choices) {
      for (const char* when : {"nth=4", is_rare ? "nth=10" : "nth=40", is_rare ? "ppm=500000" : "ppm=20000"}) {
        all.push_back({std::string{spec.name}, when + choice});
      }
    }
  }
  return all;
}

// What a host that asks and writes without waiting for anything gets for it.
struct Session {
  std::vector<std::uint8_t> miso;
  std::vector<std::string> findings;
  std::uint64_t struck = 0;
  std::string difference;
};

// Draws nothing.
class NoDrawing final : public WaveFile {
  void begin(Instant, std::span<const WaveValue>) override {}
  void change(Instant, std::size_t, const WaveValue&) override {}
  std::optional<Error> close(Instant, std::string_view) override { return std::nullopt; }
};

Session session_on(std::string_view front, const PlannedFault& fault, std::string_view mode, bool is_drawn = false) {
  auto board = bus::load_board(boards / "stm32f405-arduino.toml");
  testbed::TestbedSetup setup{.board = std::move(board).value()};
  EXPECT_TRUE(testbed::apply_setting(setup, "fault." + fault.name, fault.text));
  EXPECT_TRUE(testbed::apply_setting(setup, "board.spi_mode", mode));
  setup.front = rtl::front_maker(front).value();
  if (is_drawn) {
    setup.wave = testbed::WaveRequest{.file = {}, .open = [](const auto&, auto, auto) {
                                        return Result<std::unique_ptr<WaveFile>>{std::make_unique<NoDrawing>()};
                                      }};
  }
  const auto bed = testbed::Testbed::create(std::move(setup));
  Session session;
  bus::SpiBus& bus = bed.value()->bus();
  const auto frame = [&](std::vector<std::uint8_t> bytes, std::size_t more) {
    bytes.resize(bytes.size() + more);
    bus.select();
    for (std::uint8_t& byte : bytes) session.miso.push_back(bus.exchange(byte));
    bus.deselect();
  };
  frame({0x00, 0x01, 0x04, 192, 168, 1, 1, 255, 255, 255, 0, 2, 0, 0, 0, 0, 0x20, 192, 168, 1, 20}, 0);
  frame({0x00, 0x00, 0x0C, 0x02, 0x00, 0x00, 0x00, 0x13, 0x88}, 0);  // S0 UDP, port 5000
  frame({0x00, 0x01, 0x0C, 0x01}, 0);                                // OPEN
  frame({0x00, 0x0C, 0x0C, 192, 168, 1, 10, 0x00, 0x09}, 0);
  for (std::uint8_t round = 0; round < 12; ++round) {
    frame({0x00, 0x39, 0x00}, 1);  // VERSIONR
    frame({0x00, 0x02, 0x08}, 2);  // Sn_IR, Sn_SR
    frame({0x00, 0x20, 0x08}, 2);  // Sn_TX_FSR
    frame({0x00, 0x24, 0x0E, 0x00, round}, 0);
    frame({0x00, 0x00, 0x14, round, 2, 3, 4, 5, 6, 7, 8}, 24);
    frame({0x00, 0x00, 0x10}, 32);
    frame({0x00, 0x01, 0x0D, 0x20}, 0);  // SEND
    bus.spend(50us, Account::cpu);
    frame({0x00, 0x02, 0x0D, 0xFF}, 0);
    frame({0x00, 0x00, 0x03}, 4);  // MR and GAR, fixed length
  }
  session.findings = texts(bed.value()->findings().all());
  for (const StruckFault& struck : bed.value()->faults()) session.struck += struck.struck;
  session.difference = bed.value()->front_difference();
  return session;
}

class SpiFaultTest : public testing::TestWithParam<PlannedFault> {};

TEST_P(SpiFaultTest, HasTheSameFindingsOnBothFrontsAndWhereTheyAreDrawn) {
  for (const char* mode : {"0", "3"}) {
    const Session cpp = session_on("cpp", GetParam(), mode);
    for (const auto& [front, is_drawn] : {std::pair{"rtl", false}, {"both", false}, {"both", true}, {"cpp", true}}) {
      const Session other = session_on(front, GetParam(), mode, is_drawn);
      EXPECT_EQ(other.difference, "");
      EXPECT_EQ(other.miso, cpp.miso) << front;
      EXPECT_EQ(other.findings, cpp.findings) << front;
      EXPECT_EQ(other.struck, cpp.struck) << front;
    }
    EXPECT_GT(cpp.struck, 0U);
  }
}

// Some of them do earn findings here, or the above would say little.
TEST(SpiFaultsTest, MostFaultsEarnAFinding) {
  const std::size_t without = session_on("cpp", {"spi_flip", "nth=1000000"}, "0").findings.size();
  std::size_t found = 0, all = 0;
  for (const PlannedFault& fault : every_spi_fault()) {
    if (!fault.text.starts_with("ppm")) continue;
    ++all;
    if (session_on("rtl", fault, "0").findings.size() > without) ++found;
  }
  EXPECT_GT(2 * found, all) << found << " of " << all;
}

INSTANTIATE_TEST_SUITE_P(Every, SpiFaultTest, testing::ValuesIn(every_spi_fault()));

// Sn_TX_WR passes FFFF, and RTL whose address stays there writes the next byte elsewhere.
RunRequest with_fronts_that_differ(const std::filesystem::path& mismatch_file) {
  RunRequest request = a_request("stm32f405-arduino", "burst", {{"total_bytes", "131072"}});
  request.mismatch_file = mismatch_file;
  request.front_maker = [mismatch_file](const EventQueue& queue, chip::Chip::BehindFront behind) {
    rtl::Straps straps = rtl::Straps::of(behind.quirks);
    straps.address_sticks = true;
    return std::make_unique<rtl::LockStep>(queue, behind,
                                           rtl::LockStepOptions{.waveform = mismatch_file, .straps = straps});
  };
  return request;
}

TEST(FrontTest, ARunWhoseFrontsDifferFailsWithWordsAndAWaveform) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  RunRequest request = with_fronts_that_differ(std::filesystem::path{folder != nullptr ? folder : testing::TempDir()} /
                                               "scenario_test.fst");
  const RunResult result = value_of(request);
  EXPECT_THAT(result.failure, HasSubstr("the SPI fronts differ at 1.0"));
  EXPECT_THAT(result.failure, HasSubstr("the next byte of S0 TX is at 0x0000 in C++ and at 0xFFFF in RTL; "));
  EXPECT_THAT(result.failure, HasSubstr("scenario_test.fst shows the pins"));
  EXPECT_TRUE(std::filesystem::remove(request.mismatch_file));
  request.front_maker = {};
  EXPECT_THAT(on("both", request).failure, IsEmpty());
}

TEST(FrontTest, ADifferenceIsToldEvenIfItsWaveformCannotBeWritten) {
  const RunResult result = value_of(with_fronts_that_differ("/no/such/folder/scenario_test.fst"));
  EXPECT_THAT(result.failure, HasSubstr("the SPI fronts differ at 1.0"));
  EXPECT_THAT(result.failure,
              HasSubstr("/no/such/folder/scenario_test.fst: cannot be written: No such file or directory"));
}

TEST(FrontTest, ANameThatIsNoFrontIsRefused) {
  RunRequest request = a_request("w55rp20", "byte", {});
  request.front = "vhdl";
  const auto result = run(request);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().message, "unknown SPI front \"vhdl\", expected cpp, rtl or both");
}

}  // namespace
}  // namespace wizloop::scenario
