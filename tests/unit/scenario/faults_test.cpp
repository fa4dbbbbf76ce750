// Runs with faults from scenario parameters: each ends, in virtual time, with its figure or its failure; each says what
// struck; and a fault that never strikes changes nothing.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "harness/scenario/scenario.hpp"

namespace wizloop::scenario {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

RunRequest request(std::string scenario, std::string library = "wizloop", std::string path = "burst") {
  RunRequest request;
  request.scenario = std::move(scenario);
  request.board_file = std::filesystem::path{WIZLOOP_BOARDS_DIR} / "stm32f405-arduino.toml";
  request.path = std::move(path);
  request.library = std::move(library);
  return request;
}

RunRequest short_stream(std::string library = "wizloop") {
  RunRequest wanted = request("tcp_xmit", std::move(library));
  wanted.parameters = {{"total_bytes", "8192"}};
  return wanted;
}

// The same request on a board whose frames take so long that 60 s of polling are few of them.
RunRequest impatient(RunRequest wanted) {
  wanted.parameters["board.select_ns"] = "1000000";
  return wanted;
}

RunResult result_of(const RunRequest& wanted) {
  auto result = run(wanted);
  if (!result) {
    ADD_FAILURE() << result.error().message;
    return {};
  }
  return std::move(result).value();
}

TEST(ScenarioFaults, WithoutAFaultNoneIsListed) { EXPECT_THAT(result_of(short_stream()).faults, IsEmpty()); }

TEST(ScenarioFaults, SameSeedIsTheSameRunWithFaultsToo) {
  RunRequest wanted = short_stream();
  wanted.parameters["fault.link_jitter"] = "always,most=50us";
  const RunResult first = result_of(wanted);
  EXPECT_THAT(first.failure, IsEmpty());
  EXPECT_GT(first.faults[0].struck, 0U);
  EXPECT_EQ(result_of(wanted).fingerprint, first.fingerprint);
  wanted.seed = 2;
  EXPECT_NE(result_of(wanted).fingerprint, first.fingerprint);
}

TEST(ScenarioFaults, LostFramesCostThroughputAndTheStreamStillArrives) {
  RunRequest wanted = short_stream();
  const double healthy = result_of(wanted).figures[0].value;
  wanted.parameters["fault.link_loss"] = "every=7";
  const RunResult lossy = result_of(wanted);
  EXPECT_THAT(lossy.failure, IsEmpty());
  EXPECT_LT(lossy.figures[0].value, healthy / 2);
}

TEST(LinkPartner, TenMegabitIsSlower) {
  RunRequest wanted = request("tcp_recv");
  wanted.parameters = {{"total_bytes", "65536"}};
  const double fast = result_of(wanted).figures[0].value;
  wanted.parameters["link.partner"] = "10-full-negotiating";
  const RunResult slow = result_of(wanted);
  EXPECT_THAT(slow.failure, IsEmpty());
  EXPECT_GT(slow.figures[0].value, 1);
  EXPECT_LT(slow.figures[0].value, std::min(10.0, fast));
  EXPECT_EQ(slow.parameters.at("link.partner"), "10-full-negotiating");
}

TEST(LinkPartner, WrongOneSaysWhatWasExpected) {
  RunRequest wanted = short_stream();
  wanted.parameters["link.partner"] = "100";
  const auto result = run(wanted);
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().message, AllOf(HasSubstr("link.partner is \"100\""), HasSubstr("100-half-forced")));
}

TEST(ScenarioFaults, ARunWithAFaultEndsWithItsFailure) {
  RunRequest wanted = short_stream();
  wanted.parameters["fault.chip_version_zero"] = "always";
  EXPECT_EQ(result_of(impatient(wanted)).failure, "the library found no W5500");
}

TEST(ScenarioFaults, LibraryThatWaitsForEverEndsTheRunAsAHang) {
  RunRequest wanted = short_stream("iolibrary");  // polls Sn_CR until it reads 0, as the original does
  wanted.parameters["fault.spi_miso_stuck"] = "from=100ms,level=1";
  const RunResult result = result_of(impatient(wanted));
  EXPECT_THAT(result.failure, HasSubstr("hangs: a call had not returned after 60 s"));
  EXPECT_LT(result.virtual_time, 63s);
}

// Firmware that sleeps on INTn between its datagrams.
RunRequest driven_by_interrupts() {
  RunRequest wanted = request("udp_rtt", "wizloop");
  wanted.parameters = {{"pings", "10"}, {"wait", "interrupt"}};
  return wanted;
}

TEST(ScenarioInterrupts, FirmwareThatSleepsOnIntnReadsLessAndWaitsForTheSameReplies) {
  RunRequest wanted = driven_by_interrupts();
  const RunResult sleeping = result_of(wanted);
  wanted.parameters["wait"] = "poll";
  const RunResult polling = result_of(wanted);
  EXPECT_THAT(sleeping.failure, IsEmpty());
  EXPECT_LT(sleeping.spi_bytes, polling.spi_bytes);
  EXPECT_NEAR(sleeping.figures[0].value, polling.figures[0].value, 100);
}

TEST(ScenarioInterrupts, EachFaultOfIntnStrikesAndFirmwareThatSleepsForAWhileAtMostSurvivesIt) {
  for (const char* fault : {"fault.intn_lost", "fault.intn_late", "fault.intn_glitch", "fault.intn_stuck"}) {
    RunRequest wanted = driven_by_interrupts();
    wanted.parameters[fault] = "times=3";
    const RunResult result = result_of(wanted);
    EXPECT_GT(result.faults[0].struck, 0U) << fault;
    EXPECT_THAT(result.failure, IsEmpty()) << fault;
  }
}

TEST(ScenarioInterrupts, AnInterruptThatIsLostCostsTheLongestSleep) {
  RunRequest wanted = driven_by_interrupts();
  const double healthy_us = result_of(wanted).figures[0].value;
  wanted.parameters["fault.intn_lost"] = "nth=10";
  EXPECT_GT(result_of(wanted).figures[0].value, healthy_us);
}

TEST(ScenarioInterrupts, ALibraryThatOnlyPollsIsRefused) {
  RunRequest wanted = driven_by_interrupts();
  wanted.library = "ethernet3";
  EXPECT_EQ(run(wanted).error().message, "parameter wait is interrupt, but library ethernet3 never looks at INTn");
}

TEST(ScenarioFaults, AScenarioBringsFaultsThatAUserMayReplace) {
  RunRequest wanted = request("tcp_lossy");
  const RunResult as_given = result_of(wanted);
  EXPECT_THAT(as_given.failure, IsEmpty());
  ASSERT_THAT(as_given.faults, SizeIs(1));
  EXPECT_GT(as_given.faults[0].struck, 0U);
  EXPECT_EQ(as_given.parameters.at("fault.link_loss"), "ppm=10000");
  wanted.parameters["fault.link_loss"] = "nth=3";
  const RunResult replaced = result_of(wanted);
  EXPECT_EQ(replaced.faults[0].struck, 1U);
  EXPECT_EQ(replaced.parameters.at("fault.link_loss"), "nth=3");
}

TEST(ScenarioFaults, LibraryThatWaitsForASwallowedSendokIsSeenPollingForIt) {
  RunRequest wanted = short_stream("ethernet3");  // polls Sn_IR for SENDOK and nothing else, as the original does
  wanted.parameters["total_bytes"] = "65536";
  wanted.parameters["fault.chip_sendok_lost"] = "nth=10";
  const RunResult result = result_of(impatient(wanted));
  EXPECT_THAT(result.failure, HasSubstr("it polls S0 Sn_IR = 0x01, read without a change for 10 s"));
  EXPECT_THAT(result.unannounced, testing::Contains("endless-poll"));
}

TEST(ScenarioFaults, ThisDriverGivesUpOnASwallowedSendokBeforeItCountsAsAnEndlessPoll) {
  RunRequest wanted = short_stream();
  wanted.parameters["total_bytes"] = "65536";
  wanted.parameters["fault.chip_sendok_lost"] = "nth=10";
  const RunResult result = result_of(wanted);
  EXPECT_EQ(result.faults[0].struck, 1U);
  EXPECT_THAT(result.failure, testing::Not(HasSubstr("hangs")));
  EXPECT_THAT(result.unannounced, testing::Not(testing::Contains("endless-poll")));
}

TEST(ScenarioFaults, HostThatRestartsBeginsAgainWithTheChipAsItWas) {
  RunRequest wanted = request("udp_xmit", "ethernet3");  // never resets the chip, as the original does not
  wanted.parameters["fault.host_restart"] = "nth=5";
  const RunResult leaks = result_of(wanted);
  EXPECT_EQ(leaks.faults[0].struck, 1U);
  EXPECT_THAT(leaks.unannounced, testing::Contains("socket-leaked"));
  wanted.library = "wizloop";  // resets it at begin
  const RunResult cured = result_of(wanted);
  EXPECT_EQ(cured.faults[0].struck, 1U);
  EXPECT_THAT(cured.failure, IsEmpty());
  EXPECT_THAT(cured.figures, SizeIs(1));
}

TEST(ScenarioFaults, HostThatRestartsForEverEndsTheRun) {
  RunRequest wanted = short_stream();
  wanted.parameters["fault.host_restart"] = "always,boot=0s";
  EXPECT_EQ(result_of(wanted).failure, "the host restarted 1000 times");
}

TEST(ScenarioFaults, AnotherDeviceOnMisoIsSeenSelected) {
  RunRequest wanted = short_stream();
  wanted.parameters["fault.spi_miso_contention"] = "nth=1000,byte=255";  // all ones: the chip's bits win
  const RunResult result = result_of(wanted);
  EXPECT_EQ(result.faults[0].struck, 1U);
  EXPECT_THAT(result.unannounced, testing::ElementsAre("two-selects-low"));
}

TEST(ScenarioFaults, DmaFaultsStrikeOnTheDmaPath) {
  RunRequest wanted = request("tcp_xmit", "wizloop", "dma");
  wanted.parameters = {{"total_bytes", "8192"}, {"fault.dma_late", "nth=1,delay=100us"}};
  const RunResult result = result_of(wanted);
  EXPECT_THAT(result.failure, IsEmpty());
  EXPECT_EQ(result.faults[0].struck, 1U);
}

TEST(ScenarioFaults, PulledCableIsSeenByThePhyAndMended) {
  RunRequest wanted = request("tcp_recv", "wizloop");
  wanted.parameters = {{"total_bytes", "65536"}, {"fault.link_unplug", "from=100ms,until=110ms"}};
  const RunResult result = result_of(impatient(wanted));
  EXPECT_THAT(result.failure, IsEmpty());
  EXPECT_EQ(result.faults[0].struck, 1U);
  EXPECT_GT(result.virtual_time, 2s);  // until the PHYs have negotiated anew
}

// Record headers come in corrupted, and announce far more than any datagram holds.
TEST(ScenarioFaults, CorruptedRecordHeadersEndTheRunWithItsFailure) {
  RunRequest wanted = request("udp_recv", "ethernet3", "byte");
  wanted.board_file = std::filesystem::path{WIZLOOP_BOARDS_DIR} / "w55rp20.toml";
  wanted.parameters = {{"datagrams", "20"}, {"offered_bps", "1000000"}, {"fault.spi_flip", "every=20"}};
  wanted.seed = 2;  // the first announces 65279 bytes
  EXPECT_THAT(result_of(impatient(wanted)).failure, HasSubstr("hangs"));
}

TEST(ScenarioFaults, AReorderedDatagramIsNamedAsTheFailure) {
  RunRequest wanted = request("udp_pps", "ethernet2");
  wanted.parameters = {{"datagrams", "20"}, {"fault.link_reorder", "nth=7"}};
  EXPECT_THAT(result_of(wanted).failure, HasSubstr("PC received 21; numbers skipped: 1, out of order or twice: 1"));
}

TEST(ScenarioFaults, StrikesAreInTheTrace) {
  RunRequest wanted = short_stream();
  wanted.parameters["fault.link_duplicate"] = "nth=3";
  wanted.trace_file = std::filesystem::path{testing::TempDir()} / "scenario_faults_test.trace";
  result_of(wanted);
  std::ifstream trace{*wanted.trace_file};
  const std::string text{std::istreambuf_iterator<char>{trace}, {}};
  EXPECT_THAT(text, HasSubstr(" fault link_duplicate occasion=3 strike=1\n"));
  std::filesystem::remove(*wanted.trace_file);
}

TEST(ScenarioFaults, MistakesNameTheNearestFaultAndTheExpectedForm) {
  RunRequest wanted = short_stream();
  wanted.parameters = {{"fault.link_los", "always"}};
  EXPECT_EQ(run(wanted).error().message, "unknown fault.link_los; the nearest is fault.link_loss");
  wanted.parameters = {{"fault.link_loss", "sometimes"}};
  EXPECT_THAT(run(wanted).error().message, AllOf(HasSubstr("fault.link_loss is \"sometimes\""), HasSubstr("ppm=N")));
}

class EveryFault : public testing::TestWithParam<std::string_view> {
 protected:
  static bool is_scheduled() {
    const auto& table = fault_table();
    const auto spec = std::find_if(table.begin(), table.end(), [](const auto& of) { return of.name == GetParam(); });
    return spec->occasion.empty();
  }
  static std::string key() { return fmt::format("fault.{}", GetParam()); }
};

// A planned fault puts its layer in place; until it strikes, the run is the same to the last bit and picosecond.
TEST_P(EveryFault, ThatNeverStrikesLeavesTheRunAlone) {
  const RunResult healthy = result_of(short_stream());
  RunRequest wanted = short_stream();
  wanted.parameters[key()] = is_scheduled() ? "from=100s" : "nth=1000000000";
  const RunResult result = result_of(wanted);
  EXPECT_EQ(result.fingerprint, healthy.fingerprint);
  EXPECT_EQ(result.virtual_time, healthy.virtual_time);
  ASSERT_THAT(result.faults, SizeIs(1));
  EXPECT_EQ(result.faults[0].name, GetParam());
  EXPECT_EQ(result.faults[0].struck, 0U);
}

TEST_P(EveryFault, EndsTheRunOfEachLibraryWithFiguresOrAFailure) {
  for (const char* library : {"wizloop", "ethernet2", "iolibrary"}) {
    RunRequest wanted = impatient(short_stream(library));
    wanted.parameters[key()] = is_scheduled() ? "from=20ms,until=500ms" : "every=13";
    const RunResult result = result_of(wanted);
    EXPECT_LE(result.virtual_time, 601s) << library;
    EXPECT_TRUE(!result.failure.empty() || !result.figures.empty()) << library;
  }
}

std::vector<std::string_view> all_names() {
  std::vector<std::string_view> names;
  for (const FaultSpec& spec : fault_table()) names.push_back(spec.name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(ScenarioFaults, EveryFault, testing::ValuesIn(all_names()),
                         [](const auto& of) { return std::string{of.param}; });

}  // namespace
}  // namespace wizloop::scenario
