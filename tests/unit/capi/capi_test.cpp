#include <gmock/gmock.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <thread>

#include "tests/unit/capi/bed.hpp"

namespace wizloop::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

wizloop_config with_board(const char* board) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.board = board;
  return config;
}

// Frames -------------------------------------------------------------------------------------------------------------

TEST(CapiSpi, TakesAFrameInAnySplit) {
  Bed bed;
  const std::uint8_t header[] = {0x00, 0x39, 0x00};
  std::uint8_t whole[4] = {0x00, 0x39, 0x00, 0x00};
  wizloop_scsn(bed, 0);
  EXPECT_EQ(wizloop_spi_transfer(bed, whole, whole, 4), WIZLOOP_OK);  // in place
  wizloop_scsn(bed, 1);
  EXPECT_THAT(whole, ElementsAre(0x01, 0x02, 0x03, 0x04));

  wizloop_scsn(bed, 0);
  for (const std::uint8_t byte : header) wizloop_spi_byte(bed, byte);
  EXPECT_EQ(wizloop_spi_transfer(bed, nullptr, nullptr, 0), WIZLOOP_OK);
  EXPECT_EQ(wizloop_spi_byte(bed, 0), 0x04);
  wizloop_scsn(bed, 1);

  std::uint8_t version = 0;
  const wizloop_segment segments[] = {
      {header, nullptr, 1}, {header + 1, nullptr, 2}, {nullptr, nullptr, 0}, {nullptr, &version, 1}};
  EXPECT_EQ(wizloop_spi_transaction(bed, segments, 4), WIZLOOP_OK);
  EXPECT_EQ(version, 0x04);
  EXPECT_THAT(bed.rules(), IsEmpty());
}

TEST(CapiSpi, PricesByteBurstAndDmaByTheBoardFile) {
  Bed bed{with_board("stm32f405-arduino")};
  const auto cost = [&](auto action) {
    wizloop_scsn(bed, 0);
    const std::uint64_t before = wizloop_now_ps(bed);
    action();
    const std::uint64_t after = wizloop_now_ps(bed);
    wizloop_scsn(bed, 1);
    return after - before;
  };
  double byte_gap = 0, burst_gap = 0, burst_setup = 0, select = 0;
  ASSERT_EQ(wizloop_price(bed, "byte_gap_ns", &byte_gap), 1);
  ASSERT_EQ(wizloop_price(bed, "burst_gap_ns", &burst_gap), 1);
  ASSERT_EQ(wizloop_price(bed, "burst_setup_ns", &burst_setup), 1);
  ASSERT_EQ(wizloop_price(bed, "select_ns", &select), 1);
  EXPECT_EQ(wizloop_price(bed, "no_such_key", &select), 0);
  const double byte_ps = 8e12 / 42e6;
  EXPECT_NEAR(static_cast<double>(cost([&] { wizloop_spi_byte(bed, 0); })), byte_ps + byte_gap * 1000, 1);
  EXPECT_NEAR(static_cast<double>(cost([&] { wizloop_spi_transfer(bed, nullptr, nullptr, 10); })),
              10 * (byte_ps + burst_gap * 1000) + burst_setup * 1000, 10);
  std::uint8_t data[4] = {0, 0x39, 0, 0};
  const std::uint64_t dma = cost([&] {
    EXPECT_EQ(wizloop_dma_start(bed, data, data, 4), WIZLOOP_OK);
    EXPECT_EQ(wizloop_dma_wait(bed, 1 * s), 1);
  });
  EXPECT_GT(dma, 6'000'000u);  // set-up and completion: 6 us
  EXPECT_EQ(data[3], 0x04);
}

TEST(CapiSpi, SaysThatABoardHasNoDma) {
  const std::string file = testing::TempDir() + "no-dma.toml";
  std::ifstream from{WIZLOOP_SOURCE_BOARDS "/w55rp20.toml"};
  std::string text{std::istreambuf_iterator<char>{from}, {}};
  text = std::regex_replace(text, std::regex{"\\ndma_[^\n]*"}, "");
  text = std::regex_replace(text, std::regex{"path = \"dma\""}, "path = \"burst\"");
  std::ofstream{file} << text;
  Bed bed{with_board(file.c_str())};
  wizloop_scsn(bed, 0);
  std::uint8_t data[4] = {};
  EXPECT_EQ(wizloop_dma_start(bed, data, data, 4), WIZLOOP_E_PRICE);
  EXPECT_THAT(wizloop_error(), HasSubstr("no-dma"));
  wizloop_scsn(bed, 1);
}

TEST(CapiSpi, RunsAtWhatFirmwareAsksForUpToWhatTheBoardHas) {
  Bed bed{with_board("stm32f405-arduino")};
  const auto byte_ps = [&] {
    wizloop_scsn(bed, 0);
    const std::uint64_t before = wizloop_now_ps(bed);
    wizloop_spi_byte(bed, 0);
    const std::uint64_t after = wizloop_now_ps(bed);
    wizloop_scsn(bed, 1);
    return static_cast<double>(after - before);
  };
  double gap_ns = 0;
  wizloop_price(bed, "byte_gap_ns", &gap_ns);
  wizloop_spi_clock(bed, 8'000'000, 0);
  EXPECT_NEAR(byte_ps(), 1'000'000 + gap_ns * 1000, 1);
  wizloop_spi_clock(bed, 80'000'000, 0);
  EXPECT_NEAR(byte_ps(), 8e12 / 42e6 + gap_ns * 1000, 1);
}

TEST(CapiSpi, EdgesOfScsnCostWhatTheyAreTold) {
  Bed bed{with_board("stm32f405-arduino")};
  const auto edge_ps = [&](int level) {
    const std::uint64_t before = wizloop_now_ps(bed);
    wizloop_scsn(bed, level);
    return wizloop_now_ps(bed) - before;
  };
  EXPECT_EQ(edge_ps(0), 500'000u);  // select_ns of the file
  EXPECT_EQ(wizloop_scsn_price(bed, 180'000, 170'500), WIZLOOP_E_STATE);
  EXPECT_EQ(edge_ps(1), 300'000u);
  EXPECT_EQ(wizloop_scsn_price(bed, 180'000, 170'500), WIZLOOP_OK);
  EXPECT_EQ(edge_ps(0), 180'000u);
  EXPECT_EQ(edge_ps(1), 170'500u);
  EXPECT_EQ(wizloop_scsn_price(bed, 1'000'000'001, 0), WIZLOOP_E_ARGUMENT);
}

TEST(CapiSpi, Mode1IsFoundAndReadsGarbage) {
  Bed bed;
  EXPECT_EQ(wizloop_spi_clock(bed, 8'000'000, 1), WIZLOOP_OK);
  EXPECT_NE(bed.read(common, 0x39), 0x04);
  EXPECT_THAT(bed.rules(), Contains("spi-mode-unsupported"));
  EXPECT_EQ(wizloop_spi_clock(bed, 8'000'000, 3), WIZLOOP_OK);
  EXPECT_EQ(bed.read(common, 0x39), 0x04);
  EXPECT_EQ(wizloop_spi_clock(bed, 8'000'000, 4), WIZLOOP_E_ARGUMENT);
}

TEST(CapiSpi, DriverThatNeverSelectsIsFound) {
  Bed bed;
  for (int i = 0; i < 4; ++i) EXPECT_GE(wizloop_spi_byte(bed, 0), 0);
  EXPECT_THAT(bed.rules(), ElementsAre("clocks-without-select"));
}

TEST(CapiSpi, ReadWithNoResetIsFound) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  wizloop_t* const bed = wizloop_create(&config);
  std::uint8_t version = 0;
  wizloop_rstn(bed, 0);
  wizloop_advance_ns(bed, 1 * ms);
  wizloop_rstn(bed, 1);
  wizloop_read(bed, common, 0x39, &version, 1);
  EXPECT_NE(version, 0x04);
  wizloop_finding finding;
  ASSERT_EQ(wizloop_finding_count(bed), 1);
  ASSERT_EQ(wizloop_finding_get(bed, 0, &finding), WIZLOOP_OK);
  EXPECT_STREQ(finding.rule, "access-before-pll-lock");
  EXPECT_EQ(wizloop_failing(bed), 1);
  EXPECT_EQ(wizloop_announced(bed, "access-before-pll-lock"), nullptr);
  wizloop_announce(bed, "access-before-pll-lock", "a cold start that waits elsewhere");
  EXPECT_STREQ(wizloop_announced(bed, "access-before-pll-lock"), "a cold start that waits elsewhere");
  EXPECT_EQ(wizloop_announced(bed, "no-such-rule"), nullptr);
  EXPECT_EQ(wizloop_announce(bed, "endless-pol", "a typo"), WIZLOOP_E_ARGUMENT);
  EXPECT_STREQ(wizloop_error(), "there is no rule \"endless-pol\"; the nearest is endless-poll");
  EXPECT_EQ(wizloop_failing(bed), 0);
  EXPECT_EQ(wizloop_destroy(bed), WIZLOOP_OK);
}

// Time and INTn ------------------------------------------------------------------------------------------------------

struct Edges {
  wizloop_t* bed;
  std::vector<std::pair<std::uint64_t, int>> seen;
};
void note_edge(void* context, int level) {
  auto* const edges = static_cast<Edges*>(context);
  edges->seen.emplace_back(wizloop_now_ns(edges->bed), level);
}

TEST(CapiIntn, CallsBackWithinASleepAtTheInstantOfTheEdge) {
  Bed bed;
  bed.open_udp();
  bed.write(common, 0x18, {1});  // SIMR
  wizloop_pc_serve(bed, "udp-echo", nullptr);
  bed.write(s0, 0x02, {0x1F});
  Edges edges{bed, {}};
  wizloop_on_intn(bed, note_edge, &edges);
  bed.write(s0, 0x2C, {0x04});  // Sn_IMR: RECV
  bed.send({1, 2, 3});
  const std::uint64_t before = wizloop_now_ns(bed);
  EXPECT_EQ(wizloop_advance_ns(bed, 50 * ms), WIZLOOP_OK);
  EXPECT_EQ(wizloop_now_ns(bed), before + 50 * ms);
  ASSERT_EQ(edges.seen.size(), 1u);
  EXPECT_EQ(edges.seen[0].second, 0);
  EXPECT_LT(edges.seen[0].first, before + 1 * ms);
  bed.write(s0, 0x02, {0x04});
  wizloop_advance_ns(bed, 1 * ms);
  ASSERT_EQ(edges.seen.size(), 2u);
  EXPECT_EQ(edges.seen[1].second, 1);
  EXPECT_EQ(wizloop_intn(bed), 1);
}

TEST(CapiIntn, WaitsWithADeadline) {
  Bed bed;
  bed.open_udp();
  bed.write(common, 0x18, {1});
  bed.write(s0, 0x02, {0x1F});
  bed.write(s0, 0x2C, {0x04});
  const std::uint64_t before = wizloop_now_ns(bed);
  EXPECT_EQ(wizloop_wait_intn(bed, 5 * ms), 0);
  EXPECT_EQ(wizloop_now_ns(bed), before + 5 * ms);
  wizloop_pc_serve(bed, "udp-echo", nullptr);
  bed.send({1});
  EXPECT_EQ(wizloop_wait_intn(bed, 1 * s), 1);
  EXPECT_EQ(wizloop_intn(bed), 0);
  EXPECT_LT(wizloop_now_ns(bed), before + 10 * ms);
}

void clear_from_interrupt(void* context, int level) {
  auto* const bed = static_cast<Bed*>(context);
  if (level == 0) bed->write(s0, 0x02, {0x04});
}

TEST(CapiIntn, HandlerMayCallIn) {
  Bed bed;
  bed.open_udp();
  bed.write(common, 0x18, {1});
  bed.write(s0, 0x02, {0x1F});
  bed.write(s0, 0x2C, {0x04});
  wizloop_pc_serve(bed, "udp-echo", nullptr);
  wizloop_on_intn(bed, clear_from_interrupt, &bed);
  bed.send({1});
  wizloop_advance_ns(bed, 10 * ms);
  EXPECT_EQ(wizloop_intn(bed), 1);
  EXPECT_EQ(bed.peek(s0, 0x02) & 0x04, 0);
}

void count(void* context) { ++*static_cast<int*>(context); }

TEST(CapiTicks, ComeEachPeriodAlsoForFirmwareThatOnlyPolls) {
  Bed bed;
  int ticks = 0;
  EXPECT_EQ(wizloop_on_tick(bed, 1 * ms, count, &ticks), WIZLOOP_OK);
  wizloop_advance_ns(bed, 10 * ms);
  EXPECT_EQ(ticks, 10);
  const std::uint64_t until = wizloop_now_ns(bed) + 5 * ms;
  while (wizloop_now_ns(bed) < until) bed.read(common, 0x39);
  EXPECT_EQ(ticks, 15);
  wizloop_on_tick(bed, 0, nullptr, nullptr);
  wizloop_advance_ns(bed, 10 * ms);
  EXPECT_EQ(ticks, 15);
}

TEST(CapiTicks, WaitForTheEndOfAFrame) {
  Bed bed;
  int ticks = 0;
  wizloop_on_tick(bed, 1 * ms, count, &ticks);
  wizloop_scsn(bed, 0);
  wizloop_advance_ns(bed, 3 * ms);
  EXPECT_EQ(ticks, 0);
  wizloop_scsn(bed, 1);
  EXPECT_EQ(ticks, 3);
}

TEST(CapiTime, ComputingGoesOnWhereAnInterruptBrokeIn) {
  Bed bed{with_board("stm32f405-arduino")};
  const auto handler = [](void* context) { wizloop_spend_ns(static_cast<wizloop_t*>(context), 100'000); };
  wizloop_on_tick(bed, 1 * ms, handler, static_cast<wizloop_t*>(bed));
  const std::uint64_t before = wizloop_now_ns(bed);
  wizloop_spend_ns(bed, 3'500'000);
  const std::uint64_t took = wizloop_now_ns(bed) - before;
  EXPECT_EQ(took, 3'500'000u + 3 * (100'000 + 500));  // three handlers and the board's latency for each
}

TEST(CapiTime, TellsTheNextEvent) {
  Bed bed;
  bed.configure();
  EXPECT_EQ(wizloop_pc_serve(bed, "ping", "to=192.168.1.20 count=2 interval_ms=100"), 0);
  wizloop_advance_ns(bed, 50 * ms);
  EXPECT_LE(wizloop_next_event_ns(bed), wizloop_now_ns(bed) + 100 * ms);
  EXPECT_EQ(wizloop_advance_ns(bed, UINT64_MAX), WIZLOOP_E_ARGUMENT);
}

// Wires ---------------------------------------------------------------------------------------------------------------

TEST(CapiWires, AHostMovesThemByItself) {
  Bed bed;
  const auto drive = [&](int scsn, int sclk, int mosi) {
    const int levels = wizloop_spi_levels(bed, scsn, sclk, mosi);
    EXPECT_EQ(wizloop_advance_ps(bed, 50'000), WIZLOOP_OK);
    return levels;
  };
  const std::uint64_t start = wizloop_now_ps(bed);
  EXPECT_EQ(drive(1, 0, 0), WIZLOOP_MISO | WIZLOOP_INTN);
  drive(0, 0, 0);
  std::uint32_t miso = 0;
  for (int bit = 31; bit >= 0; --bit) {
    const int mosi = 0x00'39'00'00 >> bit & 1;  // a read of VERSIONR
    miso = miso << 1 | (drive(0, 0, mosi) & WIZLOOP_MISO);
    drive(0, 1, mosi);
  }
  drive(0, 0, 0);
  drive(1, 0, 0);
  EXPECT_EQ(miso, 0x01020304U);
  EXPECT_EQ(wizloop_now_ps(bed), start + (1U + 1 + 64 + 2) * 50'000);
  std::uint64_t bytes = 0;
  EXPECT_EQ(wizloop_counter(bed, "spi_bytes", &bytes), WIZLOOP_OK);
  EXPECT_EQ(bytes, 4U);
  EXPECT_THAT(wizloop_report(bed), testing::HasSubstr(", 4 SPI bytes in 1 frames"));
  EXPECT_EQ(wizloop_spi_levels(bed, 2, 0, 0), WIZLOOP_E_ARGUMENT);
  EXPECT_STREQ(wizloop_error(), "SCSn: level 2, expected 0 or 1");
  EXPECT_EQ(wizloop_spi_levels(bed, 0, 0, 3), WIZLOOP_E_ARGUMENT);
  EXPECT_STREQ(wizloop_error(), "MOSI: level 3, expected 0 or 1");
  wizloop_scsn(bed, 0);
  EXPECT_EQ(wizloop_spi_levels(bed, 0, 0, 0), WIZLOOP_E_STATE);
}

TEST(CapiWires, ABadFileForTheirWaveformIsTold) {
  Bed bed;
  EXPECT_EQ(wizloop_spi_wave(bed, "/no/such/folder/x.vcd"), WIZLOOP_E_ARGUMENT);
  EXPECT_STREQ(wizloop_error(), "/no/such/folder/x.vcd: cannot be written: No such file or directory");
}

// The guard ----------------------------------------------------------------------------------------------------------

void poll_for_ever(void* context) {
  auto* const bed = static_cast<Bed*>(context);
  while (bed->read(s0, 0x03) != 0x13) continue;  // Sn_SR, of a socket that nobody opened
}

TEST(CapiGuard, EndsAnEndlessPollWithTheNameOfTheRegister) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.poll_limit_ns = 100 * ms;
  Bed bed{config};
  EXPECT_EQ(wizloop_run(bed, poll_for_ever, &bed), WIZLOOP_E_HANG);
  EXPECT_THAT(wizloop_error(), HasSubstr("S0 Sn_SR = 0x00"));
  EXPECT_THAT(bed.rules(), ElementsAre("endless-poll"));
  EXPECT_EQ(bed.read(common, 0x39), 0x04);  // and the chip is there for what comes next
}

TEST(CapiGuard, TellsWhatIsPolledBeforeItBites) {
  Bed bed;
  EXPECT_STREQ(wizloop_polled(nullptr), "");
  EXPECT_STREQ(wizloop_polled(bed), "");
  const std::uint64_t start = wizloop_now_ns(bed);
  while (wizloop_now_ns(bed) < start + 20 * ms) bed.read(s0, 0x03);
  EXPECT_STREQ(wizloop_polled(bed), "S0 Sn_SR = 0x00 for 0.019 s");
  bed.read(common, 0x39);
  bed.read(common, 0x0F);
  bed.read(common, 0x39);
  EXPECT_THAT(std::string{wizloop_polled(bed)}, Not(HasSubstr("Sn_SR")));
}

TEST(CapiGuard, RunsTheDestructorsOfFirmwareThatItEnds) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.poll_limit_ns = 10 * ms;
  Bed bed{config};
  struct Context {
    Bed* bed;
    bool destroyed;
  } context{&bed, false};
  const auto firmware = [](void* of) {
    struct Local {
      bool* flag;
      ~Local() { *flag = true; }
    } const local{&static_cast<Context*>(of)->destroyed};
    poll_for_ever(static_cast<Context*>(of)->bed);
  };
  EXPECT_EQ(wizloop_run(bed, firmware, &context), WIZLOOP_E_HANG);
  EXPECT_TRUE(context.destroyed);
}

TEST(CapiGuard, EndsARunThatHasNoEnd) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.run_limit_ns = 1 * s;
  Bed bed{config};
  const auto sleeper = [](void* of) {
    while (true) wizloop_advance_ns(static_cast<wizloop_t*>(of), 10 * ms);
  };
  EXPECT_EQ(wizloop_run(bed, sleeper, static_cast<wizloop_t*>(bed)), WIZLOOP_E_HANG);
  EXPECT_THAT(wizloop_error(), HasSubstr("has not ended"));
}

TEST(CapiGuard, LetsARunThatHadNoEndGoOnForAsLongAgain) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.run_limit_ns = 100 * ms;
  Bed bed{config};
  const auto sleeper = [](void* of) {
    while (true) wizloop_advance_ns(static_cast<wizloop_t*>(of), 10 * ms);
  };
  EXPECT_EQ(wizloop_run(bed, sleeper, static_cast<wizloop_t*>(bed)), WIZLOOP_E_HANG);
  EXPECT_EQ(bed.read(common, 0x39), 0x04);
  EXPECT_EQ(wizloop_run(bed, sleeper, static_cast<wizloop_t*>(bed)), WIZLOOP_E_HANG);
}

TEST(CapiGuard, EndsFirmwareThatCatchesEverything) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.poll_limit_ns = 10 * ms;
  Bed bed{config};
  const auto stubborn = [](void* of) {
    for (int i = 0; i < 3; ++i) {
      try {
        poll_for_ever(of);
      } catch (...) {
      }
    }
    poll_for_ever(of);
  };
  EXPECT_EQ(wizloop_run(bed, stubborn, &bed), WIZLOOP_E_HANG);
}

TEST(CapiTime, WaitsForEverOnlyUntilTheRunIsOver) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.run_limit_ns = 1 * s;
  config.on_hang = WIZLOOP_HANG_RETURN;
  Bed bed{config};
  EXPECT_EQ(wizloop_wait_intn(bed, UINT64_MAX), WIZLOOP_E_HANG);
  EXPECT_GE(wizloop_now_ns(bed), 1 * s);
}

TEST(CapiTicks, AreSlowerThanTheInterruptThatServesThem) {
  Bed bed{with_board("stm32f405-arduino")};
  int ticks = 0;
  EXPECT_EQ(wizloop_on_tick(bed, 100, count, &ticks), WIZLOOP_E_ARGUMENT);
  EXPECT_THAT(wizloop_error(), HasSubstr("500 ns"));
  EXPECT_EQ(wizloop_on_tick(bed, INT64_MAX / 1000, count, &ticks), WIZLOOP_OK);
  wizloop_advance_ns(bed, 1 * ms);
  EXPECT_EQ(ticks, 0);
}

TEST(CapiSpi, RefusesATransferThatNoFrameHolds) {
  Bed bed;
  wizloop_spi_clock(bed, 8'000'000, 1);
  wizloop_scsn(bed, 0);
  EXPECT_EQ(wizloop_spi_transfer(bed, nullptr, nullptr, SIZE_MAX), WIZLOOP_E_ARGUMENT);
  wizloop_scsn(bed, 1);
}

TEST(CapiGuard, ReturnsTheCodeFromEachCallIfAskedTo) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.poll_limit_ns = 10 * ms;
  config.on_hang = WIZLOOP_HANG_RETURN;
  Bed bed{config};
  std::uint8_t value = 0;
  int code = WIZLOOP_OK;
  while (code == WIZLOOP_OK) code = wizloop_read(bed, s0, 0x03, &value, 1);
  EXPECT_EQ(code, WIZLOOP_E_HANG);
  const std::uint64_t now = wizloop_now_ps(bed);
  EXPECT_EQ(wizloop_advance_ns(bed, 1 * ms), WIZLOOP_E_HANG);
  EXPECT_EQ(wizloop_now_ps(bed), now);
}

// No SCSn ends a frame.
TEST(CapiGuard, NamesTheRegisterWhereSelectIsTiedLow) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.poll_limit_ns = 10 * ms;
  config.on_hang = WIZLOOP_HANG_RETURN;
  Bed bed{config};
  wizloop_scsn(bed, 0);
  const std::uint8_t header[] = {0x00, 0x03, 0x09};
  std::uint8_t value = 0;
  int code = WIZLOOP_OK;
  for (int i = 0; i < 100'000 && code == WIZLOOP_OK; ++i) {
    wizloop_spi_transfer(bed, header, nullptr, sizeof header);
    code = wizloop_spi_transfer(bed, nullptr, &value, 1);
  }
  EXPECT_EQ(code, WIZLOOP_E_HANG);
  EXPECT_THAT(wizloop_error(), HasSubstr("firmware hangs: it has read S0 Sn_SR = 0x00 for 0.01 s"));
  EXPECT_EQ(wizloop_failing(bed), 1);
}

TEST(CapiGuardDeathTest, OtherwiseEndsTheProcessAndSaysWhy) {
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.poll_limit_ns = 10 * ms;
  Bed bed{config};
  EXPECT_DEATH(poll_for_ever(&bed), "firmware hangs: it has read S0 Sn_SR");
}

// Handles and threads ------------------------------------------------------------------------------------------------

TEST(CapiHandle, NullIsAnErrorEverywhere) {
  std::uint8_t byte = 0;
  std::uint64_t count = 0;
  double price = 0;
  wizloop_finding finding;
  const wizloop_segment segment = {&byte, &byte, 1};
  const int codes[] = {wizloop_destroy(nullptr),
                       wizloop_scsn(nullptr, 0),
                       wizloop_scsn_price(nullptr, 0, 0),
                       wizloop_rstn(nullptr, 0),
                       wizloop_intn(nullptr),
                       wizloop_pmode(nullptr, 7),
                       wizloop_on_intn(nullptr, nullptr, nullptr),
                       wizloop_spi_clock(nullptr, 1, 0),
                       wizloop_spi_byte(nullptr, 0),
                       wizloop_spi_transfer(nullptr, nullptr, nullptr, 0),
                       wizloop_dma_start(nullptr, &byte, &byte, 1),
                       wizloop_dma_wait(nullptr, 0),
                       wizloop_dma_abort(nullptr),
                       wizloop_spi_transaction(nullptr, &segment, 1),
                       wizloop_other_select(nullptr, 0),
                       wizloop_read(nullptr, 0, 0, &byte, 1),
                       wizloop_write(nullptr, 0, 0, &byte, 1),
                       wizloop_peek(nullptr, 0, 0, &byte, 1),
                       wizloop_advance_ns(nullptr, 1),
                       wizloop_spend_ns(nullptr, 1),
                       wizloop_wait_intn(nullptr, 1),
                       wizloop_on_tick(nullptr, 1, nullptr, nullptr),
                       wizloop_price(nullptr, "", &price),
                       wizloop_link(nullptr, 1),
                       wizloop_deliver(nullptr, &byte, 60),
                       wizloop_pc_serve(nullptr, "", nullptr),
                       wizloop_pc_count(nullptr, 0, "", &count),
                       wizloop_pc_tcp_connect(nullptr, 0, 1),
                       wizloop_pc_tcp_listen(nullptr, 1),
                       wizloop_pc_udp_open(nullptr, 1),
                       wizloop_pc_state(nullptr, 0),
                       wizloop_pc_send(nullptr, 0, &byte, 1),
                       wizloop_pc_receive(nullptr, 0, &byte, 1),
                       wizloop_pc_send_to(nullptr, 0, 0, 1, &byte, 1),
                       wizloop_pc_receive_from(nullptr, 0, nullptr, nullptr, &byte, 1),
                       wizloop_pc_close(nullptr, 0),
                       wizloop_finding_count(nullptr),
                       wizloop_finding_get(nullptr, 0, &finding),
                       wizloop_failing(nullptr),
                       wizloop_on_finding(nullptr, nullptr, nullptr),
                       wizloop_on_trace(nullptr, nullptr, nullptr),
                       wizloop_counter(nullptr, "", &count)};
  for (const int code : codes) EXPECT_EQ(code, WIZLOOP_E_HANDLE);
  EXPECT_STREQ(wizloop_error(), "the handle is NULL");
  EXPECT_EQ(wizloop_now_ps(nullptr), 0u);
  EXPECT_STREQ(wizloop_report(nullptr), "");
  const auto nothing = [](void*) {};
  EXPECT_EQ(wizloop_run(nullptr, nothing, nullptr), WIZLOOP_E_HANDLE);
}

TEST(CapiHandle, DestroyedTwiceOrUsedAfterwardsIsAnError) {
  wizloop_t* const bed = wizloop_create(nullptr);
  ASSERT_NE(bed, nullptr);
  EXPECT_EQ(wizloop_destroy(bed), WIZLOOP_OK);
  EXPECT_EQ(wizloop_destroy(bed), WIZLOOP_E_HANDLE);
  EXPECT_STREQ(wizloop_error(), "the handle was destroyed");
  EXPECT_EQ(wizloop_spi_byte(bed, 0), WIZLOOP_E_HANDLE);
}

TEST(CapiHandle, BadConfigurationsSayWhatWasExpected) {
  const auto error = [](auto change) {
    wizloop_config config = WIZLOOP_CONFIG_INIT;
    change(config);
    EXPECT_EQ(wizloop_create(&config), nullptr);
    return std::string{wizloop_error()};
  };
  static const char* const no_such[] = {"chip.quirk.no_such=1"};
  static const char* const no_value[] = {"chip.preset"};
  EXPECT_THAT(error([](auto& config) { config.size = 3; }), HasSubstr("WIZLOOP_CONFIG_INIT"));
  EXPECT_THAT(error([](auto& config) { config.abi = 99; }), HasSubstr("99"));
  EXPECT_THAT(error([](auto& config) { config.board = "no-such-board"; }), HasSubstr("no-such-board.toml"));
  EXPECT_THAT(error([](auto& config) { config.board = "./no/such.toml"; }), HasSubstr("./no/such.toml"));
  EXPECT_THAT(error([](auto& config) { config.settings = no_such, config.setting_count = 1; }), HasSubstr("no_such"));
  EXPECT_THAT(error([](auto& config) { config.settings = no_value, config.setting_count = 1; }),
              HasSubstr("NAME=VALUE"));
  EXPECT_THAT(error([](auto& config) { config.setting_count = 1; }), HasSubstr("settings is NULL"));
  EXPECT_THAT(error([](auto& config) { config.pcap_file = "/no/such/folder/x"; }), HasSubstr("/no/such/folder/x"));
  EXPECT_THAT(error([](auto& config) { config.on_hang = 7; }), HasSubstr("7"));
}

TEST(CapiHandle, SeveralChipsLiveEachInATimeOfItsOwn) {
  Bed one, other;
  one.write(common, 0x0F, {1, 1, 1, 1});
  wizloop_advance_ns(one, 1 * s);
  EXPECT_EQ(other.read(common, 0x0F), 0);
  EXPECT_LT(wizloop_now_ns(other), 2 * ms);
}

TEST(CapiThreads, TakeTurns) {
  Bed bed;
  const auto reader = [&bed] {
    for (int i = 0; i < 2000; ++i) {
      std::uint8_t version = 0;
      ASSERT_EQ(wizloop_read(bed, common, 0x39, &version, 1), WIZLOOP_OK);
      ASSERT_EQ(version, 0x04);
    }
  };
  std::thread other{reader};
  reader();
  other.join();
  EXPECT_THAT(bed.rules(), IsEmpty());
}

TEST(CapiThreads, AFrameThatAnotherThreadGoesOnWithIsFound) {
  Bed bed;
  wizloop_scsn(bed, 0);
  wizloop_spi_byte(bed, 0);
  std::thread other{[&bed] { wizloop_spi_byte(bed, 0x39); }};
  other.join();
  wizloop_scsn(bed, 1);
  EXPECT_THAT(bed.rules(), Contains("frame-of-two-threads"));
}

// Callbacks from within the model ------------------------------------------------------------------------------------

TEST(CapiTrace, GivesALineForEachEventAndLetsNobodyCallIn) {
  Bed bed;
  struct Context {
    wizloop_t* bed;
    std::vector<std::string> lines;
    int code = 1;
  } context{bed, {}, 1};
  const auto note = [](void* of, const char* line) {
    auto* const to = static_cast<Context*>(of);
    to->lines.emplace_back(line);
    to->code = wizloop_spi_byte(to->bed, 0);
  };
  wizloop_on_trace(bed, note, &context);
  bed.open_udp();
  EXPECT_THAT(context.lines, Contains(HasSubstr("chip.s0")));
  EXPECT_EQ(context.code, WIZLOOP_E_STATE);
}

TEST(CapiFindings, AreToldOnceWhenTheCallIsDone) {
  Bed bed;
  std::vector<std::string> told;
  const auto note = [](void* of, const wizloop_finding* finding) {
    static_cast<std::vector<std::string>*>(of)->emplace_back(std::string{finding->rule} + " " + finding->severity);
  };
  wizloop_on_finding(bed, note, &told);
  bed.write(common, 0x39, {1});
  bed.write(common, 0x39, {1});
  EXPECT_THAT(told, ElementsAre("write-to-read-only warning"));
  EXPECT_EQ(wizloop_failing(bed), 1);
  EXPECT_EQ(wizloop_announce(bed, "write-to-read-only", "the driver probes for another chip"), WIZLOOP_OK);
  EXPECT_EQ(wizloop_failing(bed), 0);
  EXPECT_EQ(wizloop_announce(bed, "no-such-rule", "because"), WIZLOOP_E_ARGUMENT);
  EXPECT_EQ(wizloop_announce(bed, "torn-read", ""), WIZLOOP_E_ARGUMENT);
}

TEST(CapiCounters, AddUpToTheRun) {
  Bed bed{with_board("w55rp20")};
  bed.open_udp();
  std::uint64_t sum = 0;
  for (const char* const account : {"spi_clock_ns", "byte_gap_ns", "select_ns", "dma_setup_ns", "cpu_ns", "chip_ns",
                                    "wire_ns", "peer_ns", "idle_ns"}) {
    std::uint64_t value = 0;
    ASSERT_EQ(wizloop_counter(bed, account, &value), WIZLOOP_OK);
    sum += value;
  }
  EXPECT_NEAR(static_cast<double>(sum), static_cast<double>(wizloop_now_ns(bed)), 9);  // each is rounded down
  std::uint64_t value = 0;
  EXPECT_EQ(wizloop_counter(bed, "no_such", &value), WIZLOOP_E_ARGUMENT);
  EXPECT_THAT(wizloop_error(), HasSubstr("spi_bytes"));
  EXPECT_THAT(wizloop_report(bed), HasSubstr("fingerprint"));
}

}  // namespace
}  // namespace wizloop::test
