// Whole runs: each scenario on each library, path and board; the same run twice; what a user may get wrong.
#include "harness/scenario/scenario.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sim/bus/profile.hpp"
#include "sim/chip/quirks.hpp"
#include "tests/support/allocation_counter.hpp"

namespace wizloop::scenario {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

const std::filesystem::path boards{WIZLOOP_BOARDS_DIR};

RunRequest request(std::string scenario, std::string path = "burst", std::string library = "") {
  RunRequest request;
  request.scenario = std::move(scenario);
  request.board_file = boards / "stm32f405-arduino.toml";
  request.path = std::move(path);
  request.library = std::move(library);
  return request;
}

// A short run of any scenario.
std::map<std::string, std::string> brief(const std::string& scenario) {
  if (scenario == "tcp_xmit" || scenario == "tcp_recv" || scenario == "tcp_lossy") return {{"total_bytes", "65536"}};
  if (scenario == "udp_pps" || scenario == "udp_recv") return {{"datagrams", "50"}};
  if (scenario == "udp_rtt" || scenario == "ping_rtt") return {{"pings", "10"}};
  return {};
}

struct Case {
  std::string scenario;
  std::string library;
  std::string path;
};

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const ScenarioInfo& info : catalogue()) {
    for (const char* library : {"ethernet2", "ethernet3", "pjrc_ethernet", "iolibrary", "lwip_macraw", "mongoose",
                                "qnethernet", "esp_idf", "nuttx", "zephyr", "wizloop"}) {
      for (const char* path : {"byte", "burst", "dma"}) cases.push_back({std::string{info.name}, library, path});
    }
  }
  return cases;
}

class EveryRun : public testing::TestWithParam<Case> {};

TEST_P(EveryRun, PassesAndIsTheSameTwice) {
  RunRequest wanted = request(GetParam().scenario, GetParam().path, GetParam().library);
  wanted.parameters = brief(GetParam().scenario);
  const auto first = run(wanted);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_THAT(first.value().failure, IsEmpty());
  ASSERT_FALSE(first.value().figures.empty());
  EXPECT_GT(first.value().figures[0].value, 0);
  EXPECT_EQ(first.value().budget.sum(), first.value().measured);

  const auto second = run(wanted);
  ASSERT_TRUE(second);
  EXPECT_EQ(first.value().fingerprint, second.value().fingerprint);
  EXPECT_EQ(first.value().virtual_time, second.value().virtual_time);
}

INSTANTIATE_TEST_SUITE_P(Scenario, EveryRun, testing::ValuesIn(every_case()), [](const auto& of) {
  return of.param.scenario + "_" + of.param.library + "_" + of.param.path;
});

TEST(ScenarioTest, AStackOnTheBoardIsLessThanHalfAsFastAsTheChips) {
  const auto mbit = [](const char* board, const char* path) {
    RunRequest wanted;
    wanted.scenario = "tcp_recv";
    wanted.board_file = boards / board;
    wanted.path = path;
    wanted.parameters = {{"total_bytes", "262144"}};
    const auto result = run(wanted);
    EXPECT_TRUE(result && result.value().failure.empty());
    return result ? result.value().figures.at(0).value : 0.0;
  };
  EXPECT_GT(mbit("w55rp20.toml", "byte"), 2 * mbit("w55rp20-lwip.toml", "dma"));
}

TEST(ScenarioTest, AStackOnTheBoardMakesUpForLostAndDamagedFrames) {
  for (const char* fault : {"fault.link_loss", "fault.link_corrupt_silent", "fault.link_reorder"}) {
    for (const char* scenario : {"tcp_recv", "tcp_xmit"}) {
      RunRequest wanted = request(scenario, "dma");
      wanted.board_file = boards / "w55rp20-lwip.toml";
      wanted.parameters = {{"total_bytes", "100000"}, {fault, "ppm=20000"}};
      const auto result = run(wanted);
      ASSERT_TRUE(result) << result.error().message;
      EXPECT_EQ(result.value().failure, "") << fault << " " << scenario;
    }
  }
}

TEST(ScenarioTest, AnotherSeedIsAnotherRun) {
  RunRequest wanted = request("tcp_xmit");
  wanted.parameters = brief("tcp_xmit");
  const auto one = run(wanted);
  wanted.seed = 2;
  const auto two = run(wanted);
  ASSERT_TRUE(one && two);
  EXPECT_NE(one.value().fingerprint, two.value().fingerprint);
}

TEST(ScenarioTest, ThroughputNeverExceedsWhatTheClockCanCarry) {
  for (const char* path : {"byte", "burst", "dma"}) {
    RunRequest wanted = request("tcp_recv", path, "wizloop");
    wanted.parameters = {{"total_bytes", "262144"}, {"read_bytes", "16384"}, {"buffer_kib", "16"}};
    const auto result = run(wanted);
    ASSERT_TRUE(result && result.value().failure.empty());
    EXPECT_LT(result.value().figures[0].value, 42.0) << path;
  }
}

TEST(ScenarioTest, BetterPathsAreFaster) {
  std::vector<double> mbit;
  for (const char* path : {"byte", "burst", "dma"}) {
    RunRequest wanted = request("tcp_xmit", path, "wizloop");
    const auto result = run(wanted);
    ASSERT_TRUE(result && result.value().failure.empty());
    mbit.push_back(result.value().figures[0].value);
  }
  EXPECT_LT(mbit[0], mbit[1]);
  EXPECT_LT(mbit[1], mbit[2]);
}

TEST(ScenarioTest, TheSteadyPathAllocatesNothing) {
  // Eight times the bytes and frames must not cost one allocation more.
  for (const char* scenario : {"tcp_xmit", "tcp_recv"}) {
    for (const auto& [path, library] : {std::pair{"byte", ""}, {"dma", ""}, {"dma", "lwip_macraw"}}) {
      std::vector<std::uint64_t> allocations;
      for (const char* bytes : {"262144", "262144", "2097152"}) {
        RunRequest wanted = request(scenario, path, library);
        wanted.parameters = {{"total_bytes", bytes}};
        const std::uint64_t before = allocation_count();
        ASSERT_TRUE(run(wanted));
        allocations.push_back(allocation_count() - before);
      }
      // The first run of a process also fills what is kept for good; two stacks reach their largest heap a little
      // later.
      const std::uint64_t growth = library == std::string_view{"lwip_macraw"} ? 8 : 0;
      EXPECT_LE(allocations[2], allocations[1] + growth) << scenario << " " << path << " " << library;
    }
  }
}

TEST(ScenarioTest, BoardConstantsCanBeOverridden) {
  RunRequest wanted = request("tcp_xmit", "byte");
  wanted.parameters = {{"total_bytes", "65536"}, {"board.byte_gap_ns", "10000"}};
  const auto slow = run(wanted);
  ASSERT_TRUE(slow) << slow.error().message;
  EXPECT_LT(slow.value().figures[0].value, 0.8);
  EXPECT_EQ(slow.value().parameters.at("board.byte_gap_ns"), "10000");
}

TEST(ScenarioTest, LosslessSearchFindsARateThatLosesNothing) {
  RunRequest wanted = request("udp_recv", "burst");
  wanted.parameters = {{"datagrams", "20"}, {"payload_bytes", "1000"}, {"search", "lossless"}};
  const auto result = run(wanted);
  ASSERT_TRUE(result && result.value().failure.empty());
  EXPECT_EQ(result.value().figures[1].value, 0);  // lost
  // A microsecond less between the datagrams and one is lost.
  const auto interval_us = result.value().figures[2].value;
  wanted.parameters = {{"datagrams", "20"},
                       {"payload_bytes", "1000"},
                       {"offered_bps", std::to_string(static_cast<long>(8e9 / (interval_us - 1)))}};
  const auto faster = run(wanted);
  ASSERT_TRUE(faster);
  EXPECT_GT(faster.value().figures[1].value, 0);
}

// What a run of extreme parameters comes to: empty if it passed.
std::string failure_of(std::string scenario, std::string path, std::string library,
                       std::map<std::string, std::string> parameters) {
  RunRequest wanted = request(std::move(scenario), std::move(path), std::move(library));
  wanted.parameters = std::move(parameters);
  const auto result = run(wanted);
  return result ? result.value().failure : result.error().message;
}

TEST(ScenarioTest, AReaderThatPausesNearTheEndStillGetsEveryByte) {
  // The PC's last segment waits longer for the window than its stack's persist timer.
  EXPECT_EQ(failure_of("tcp_recv", "byte", "wizloop",
                       {{"total_bytes", "20000"}, {"read_bytes", "4"}, {"board.call_cpu_ns", "5000000"}}),
            "");
}

TEST(ScenarioTest, DmaWorksOnTheSlowestBoard) {
  EXPECT_EQ(failure_of("tcp_recv", "dma", "wizloop",
                       {{"total_bytes", "5000"}, {"board.sclk_hz", "100000"}, {"board.dma_gap_ns", "10000"}}),
            "");
}

TEST(ScenarioTest, ASlowPcLosesNothing) {
  for (const char* scenario : {"udp_xmit", "udp_pps", "udp_recv", "udp_rtt", "ping_rtt", "tcp_xmit", "tcp_recv"}) {
    auto parameters = brief(scenario);
    parameters["board.peer.turnaround_us"] = "50000";
    if (std::string{scenario} == "udp_recv") parameters["offered_bps"] = "1000000";
    EXPECT_EQ(failure_of(scenario, "burst", "wizloop", parameters), "") << scenario;
  }
}

TEST(ScenarioTest, LosslessSearchFailsWhereNoRateIsLossless) {
  EXPECT_THAT(failure_of("udp_recv", "byte", "ethernet2",
                         {{"datagrams", "20"}, {"search", "lossless"}, {"board.byte_gap_ns", "100000"}}),
              HasSubstr("lost even with one every 20 ms"));
}

TEST(ScenarioTest, BufferSizesAreThoseOfTheChip) {
  EXPECT_THAT(failure_of("tcp_recv", "burst", "wizloop", {{"buffer_kib", "3"}}), HasSubstr("2, 4, 8, 16"));
}

TEST(ScenarioTest, BufferSizeThatTheLibraryCannotChangeIsRefused) {
  EXPECT_EQ(failure_of("tcp_xmit", "burst", "ethernet2", {{"buffer_kib", "16"}}),
            "parameter buffer_kib is 16, but library ethernet2 knows no layout other than its own");
  for (const char* library : {"ethernet3", "pjrc_ethernet", "iolibrary", "wizloop"}) {
    EXPECT_EQ(failure_of("tcp_xmit", "burst", library, {{"buffer_kib", "16"}, {"total_bytes", "65536"}}), "")
        << library;
  }
}

// A board that has announced nothing, faster than the rating allows.
RunRequest too_fast() {
  RunRequest wanted = request("udp_xmit");
  wanted.board_file = boards / "w55rp20.toml";
  wanted.parameters = {{"board.sclk_hz", "40000000"}};
  return wanted;
}

TEST(Announcements, FindingThatNobodyAnnouncedFailsTheRun) {
  const auto result = run(too_fast());
  ASSERT_TRUE(result);
  EXPECT_EQ(result.value().failure, "findings that nobody announced: sclk-above-rating");
  EXPECT_THAT(result.value().unannounced, SizeIs(1));
  EXPECT_THAT(result.value().announced, IsEmpty());
}

TEST(Announcements, AUserAcceptsAFindingWithAReason) {
  RunRequest wanted = too_fast();
  wanted.parameters["finding.sclk-above-rating"] = "40 MHz was tried on this board";
  wanted.parameters["finding.illegal-command"] = "and is not met";
  const auto result = run(wanted);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result.value().failure, IsEmpty());
  ASSERT_THAT(result.value().announced, SizeIs(1));
  EXPECT_EQ(result.value().announced[0].reason, "40 MHz was tried on this board");
  EXPECT_EQ(result.value().announced[0].origin, Origin::command);
  EXPECT_FALSE(result.value().announced[0].suppressed);
}

TEST(Announcements, ASuppressedFindingIsStillCountedAndFailsAStrictRun) {
  RunRequest wanted = too_fast();
  wanted.parameters["suppress.sclk-above-rating"] = "40 MHz was tried on this board";
  const auto result = run(wanted);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_THAT(result.value().failure, IsEmpty());
  ASSERT_THAT(result.value().findings, SizeIs(2));  // the other is a note on the library, which never resets
  ASSERT_THAT(result.value().announced, SizeIs(1));
  EXPECT_TRUE(result.value().announced[0].suppressed);
  wanted.parameters["chip.preset"] = "strict";
  EXPECT_EQ(run(wanted).value().failure, "findings under chip.preset=strict: sclk-above-rating, never-reset");
}

TEST(Announcements, ALibraryAnnouncesWhatItsOriginalEarnsUnlessAUserSaysOtherwise) {
  RunRequest wanted = request("udp_rtt", "burst", "pjrc_ethernet");
  wanted.parameters = brief("udp_rtt");
  const auto origin_of_probes = [&] {
    const auto result = run(wanted);
    WIZ_ASSERT(result && result.value().failure.empty());
    return std::ranges::find(result.value().announced, Rule::reserved_block, &Announcement::rule)->origin;
  };
  EXPECT_EQ(origin_of_probes(), Origin::library);
  wanted.parameters["finding.reserved-block"] = "of mine";
  EXPECT_EQ(origin_of_probes(), Origin::command);
}

TEST(Announcements, NeedAKnownIdAndAReason) {
  EXPECT_EQ(failure_of("udp_xmit", "byte", "", {{"finding.sclk-over-rating", "fine"}}),
            "unknown finding finding.sclk-over-rating; the nearest is finding.sclk-above-rating");
  EXPECT_EQ(failure_of("udp_xmit", "byte", "", {{"suppress.illegal-command", " "}}),
            "suppress.illegal-command is empty, expected the reason why the finding is accepted");
}

TEST(ScenarioTest, ChipOptionsAreTakenAndReported) {
  RunRequest wanted = request("ping_rtt");
  wanted.parameters = brief("ping_rtt");
  const auto normal = run(wanted);
  wanted.parameters["chip.latency.ping_to_reply_ns"] = "60000";
  const auto slow = run(wanted);
  ASSERT_TRUE(normal && slow) << slow.error().message;
  EXPECT_NEAR(slow.value().figures[0].value - normal.value().figures[0].value, 50, 1);
  EXPECT_EQ(slow.value().parameters.at("chip.latency.ping_to_reply_ns"), "60000");
  wanted.parameters = {{"chip.quirk.tx_wr_readbak", "plain"}};
  EXPECT_THAT(run(wanted).error().message, HasSubstr("chip.quirk.tx_wr_readback"));
}

// Whatever the silicon does where the datasheet is silent, correct firmware is innocent.
class EveryAnswer : public testing::TestWithParam<std::string> {};

TEST_P(EveryAnswer, FindsNothingInOurDriver) {
  const std::string option = fmt::format("chip.quirk.{}", GetParam());
  const auto& table = chip::quirk_table();
  const auto quirk = std::find_if(table.begin(), table.end(), [](const auto& of) { return of.name == GetParam(); });
  for (const std::string_view choice : quirk->choices) {
    for (const char* scenario : {"tcp_xmit", "tcp_recv", "udp_rtt", "udp_recv"}) {
      RunRequest wanted = request(scenario, "burst", "wizloop");
      wanted.board_file = boards / "esp32-usr-es1.toml";
      wanted.parameters = brief(scenario);
      if (wanted.parameters.contains("total_bytes")) wanted.parameters["total_bytes"] = "8192";
      wanted.parameters[option] = std::string{choice};
      const auto result = run(wanted);
      ASSERT_TRUE(result) << result.error().message;
      for (const Finding& finding : result.value().findings) {
        ADD_FAILURE() << option << "=" << choice << ", " << scenario << ": " << text_of(finding.rule).id << ": "
                      << finding.seen;
      }
    }
  }
}

std::vector<std::string> every_quirk() {
  std::vector<std::string> names;
  for (const chip::QuirkSpec& spec : chip::quirk_table()) names.emplace_back(spec.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(ScenarioTest, EveryAnswer, testing::ValuesIn(every_quirk()),
                         [](const auto& of) { return of.param; });

TEST(ScenarioTest, ARunNamesTheAssumptionsThatItTouched) {
  RunRequest wanted = request("udp_rtt", "burst", "ethernet3");
  wanted.parameters = brief("udp_rtt");
  wanted.parameters["chip.quirk.arp_before_send"] = "each_send";
  const auto result = run(wanted);
  ASSERT_TRUE(result) << result.error().message;
  const auto& assumptions = result.value().assumptions;
  const auto found = std::ranges::find(assumptions, "chip.quirk.arp_before_send", &Assumption::name);
  ASSERT_NE(found, assumptions.end());
  EXPECT_EQ(found->choice, "each_send");
  EXPECT_EQ(found->trust, "sibling");
}

TEST(ScenarioTest, ARunNamesTheLatenciesThatItTouchedInNanoseconds) {
  RunRequest wanted = request("ping_rtt");
  wanted.parameters = brief("ping_rtt");
  wanted.parameters["chip.latency.ping_to_reply_ns"] = "50000.5";
  const auto result = run(wanted);
  ASSERT_TRUE(result) << result.error().message;
  const auto& assumptions = result.value().assumptions;
  const auto found = std::ranges::find(assumptions, "chip.latency.ping_to_reply_ns", &Assumption::name);
  ASSERT_NE(found, assumptions.end());
  EXPECT_EQ(found->choice, "50000.500");
  EXPECT_EQ(found->trust, "unverified");
  EXPECT_EQ(std::ranges::count(assumptions, "chip.latency.segment_to_ack_ns", &Assumption::name), 0);
}

TEST(ScenarioTest, StrictFailsOnFindingsThatTheBoardAnnounced) {
  RunRequest wanted = request("ping_rtt");
  wanted.parameters = brief("ping_rtt");
  const auto silicon = run(wanted);
  wanted.parameters["chip.preset"] = "strict";
  const auto strict = run(wanted);
  ASSERT_TRUE(silicon && strict) << strict.error().message;
  EXPECT_THAT(silicon.value().failure, IsEmpty());
  EXPECT_EQ(strict.value().failure, "findings under chip.preset=strict: sclk-above-rating");
}

TEST(ScenarioTest, CaptureAndTraceAreWritten) {
  const std::filesystem::path folder{testing::TempDir()};
  RunRequest wanted = request("tcp_xmit");
  wanted.parameters = {{"total_bytes", "4096"}};
  wanted.pcap_file = folder / "scenario_test.pcapng";
  wanted.trace_file = folder / "scenario_test.trace";
  wanted.wave_file = folder / "scenario_test.vcd";
  const auto with_files = run(wanted);
  ASSERT_TRUE(with_files);
  EXPECT_GT(std::filesystem::file_size(*wanted.pcap_file), 4096U);
  std::ifstream trace{*wanted.trace_file};
  std::string line;
  ASSERT_TRUE(std::getline(trace, line));
  EXPECT_EQ(line, "0.000000000000 chip.phy link_up mbit_s=100 duplex=full partner_duplex=full");
  ASSERT_TRUE(std::getline(trace, line));
  EXPECT_THAT(line, HasSubstr(" chip.s0 command Sn_CR=0x"));
  RunRequest without = wanted;
  without.pcap_file.reset();
  without.trace_file.reset();
  without.wave_file.reset();
  EXPECT_EQ(run(without).value().fingerprint, with_files.value().fingerprint);  // watching changes nothing
  std::filesystem::remove(*wanted.pcap_file);
  std::filesystem::remove(*wanted.trace_file);
  std::filesystem::remove(*wanted.wave_file);
}

TEST(ScenarioTest, AWindowBehindTheEndOfTheRunIsRefusedAsEmpty) {
  RunRequest wanted = request("tcp_xmit");
  wanted.parameters = {{"total_bytes", "4096"}};
  wanted.wave_file = std::filesystem::path{testing::TempDir()} / "scenario_window_test.vcd";
  wanted.wave_window = "100s..";
  const auto result = run(wanted);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, testing::StartsWith("\"100s..\" begins behind the end of the run, at 1."));
  wanted.wave_window = "1s..100s";
  EXPECT_TRUE(run(wanted));
  std::filesystem::remove(*wanted.wave_file);
}

TEST(ScenarioTest, ErrorsNameWhatIsWrongAndWhatWasExpected) {
  const auto message = [](RunRequest wanted) {
    const auto result = run(wanted);
    return result ? std::string{"no error"} : result.error().message;
  };
  EXPECT_THAT(message(request("tcp_xmt")), AllOf(HasSubstr("\"tcp_xmt\""), HasSubstr("tcp_xmit")));
  EXPECT_THAT(message(request("tcp_xmit", "spi")), AllOf(HasSubstr("\"spi\""), HasSubstr("byte, burst or dma")));
  EXPECT_THAT(message(request("tcp_xmit", "byte", "ethernet9")), HasSubstr("\"ethernet9\""));
  RunRequest wanted = request("tcp_xmit");
  wanted.parameters = {{"write_bytes", "0"}};
  EXPECT_THAT(message(wanted), AllOf(HasSubstr("write_bytes"), HasSubstr("\"0\""), HasSubstr("from 1 to 16384")));
  wanted.parameters = {{"write_byte", "1"}};
  EXPECT_THAT(message(wanted), AllOf(HasSubstr("write_byte"), HasSubstr("write_bytes")));
  wanted.parameters = {{"timed", "all"}};
  EXPECT_THAT(message(wanted), HasSubstr("data, connection"));
  wanted.parameters = {{"board.byte_gap_ns", "-1"}};
  EXPECT_THAT(message(wanted), HasSubstr("byte_gap_ns"));
  wanted = request("tcp_xmit");
  wanted.board_file = "no/such/board.toml";
  EXPECT_THAT(message(wanted), HasSubstr("no/such/board.toml"));
  wanted = request("tcp_xmit");
  wanted.pcap_file = "/no/such/folder/x.pcapng";
  EXPECT_THAT(message(wanted), HasSubstr("/no/such/folder/x.pcapng"));
}

TEST(ScenarioTest, AFigureNamesAScenarioThatThereIs) {
  const std::filesystem::path file = std::filesystem::path{testing::TempDir()} / "scenario_test_board.toml";
  std::ifstream good{boards / "w55rp20.toml"};
  std::string text{std::istreambuf_iterator<char>{good}, {}};
  text.replace(text.find("\"udp_recv\""), 10, "\"udp_revc\"");
  std::ofstream{file} << text;
  const auto board = load_board(file);
  ASSERT_FALSE(board);
  EXPECT_THAT(board.error().message, AllOf(HasSubstr("SEED011"), HasSubstr("\"udp_revc\""), HasSubstr("udp_recv")));
  std::filesystem::remove(file);
}

TEST(ScenarioTest, AFullDiskIsTheMachinesFaultAndAPathThatCannotBeIsTheUsers) {
  const auto kind = [](std::string_view pcap_file, std::string_view trace_file) {
    RunRequest wanted = request("tcp_xmit");
    wanted.parameters = {{"total_bytes", "4096"}};
    if (!pcap_file.empty()) wanted.pcap_file = pcap_file;
    if (!trace_file.empty()) wanted.trace_file = trace_file;
    const auto result = run(wanted);
    WIZ_ASSERT(!result);
    EXPECT_THAT(result.error().message, StartsWith(std::string{pcap_file.empty() ? trace_file : pcap_file} + ": "));
    return result.error().kind;
  };
  EXPECT_EQ(kind("/dev/full", ""), ErrorKind::machine);
  EXPECT_EQ(kind("", "/dev/full"), ErrorKind::machine);
  EXPECT_EQ(kind("/no/such/folder/x", ""), ErrorKind::user);
  EXPECT_EQ(kind("", "/no/such/folder/x"), ErrorKind::user);
}

TEST(CatalogueTest, HasTheEightScenariosByName) {
  std::vector<std::string_view> names;
  for (const ScenarioInfo& info : catalogue()) names.push_back(info.name);
  EXPECT_THAT(names, testing::ElementsAre("ping_rtt", "tcp_lossy", "tcp_recv", "tcp_xmit", "udp_pps", "udp_recv",
                                          "udp_rtt", "udp_xmit"));
}

}  // namespace
}  // namespace wizloop::scenario
