#include "sim/bus/pin_probe.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "sim/bus/faulty_spi.hpp"
#include "tests/support/test_board.hpp"

namespace wizloop::bus {
namespace {

using test::TestBoard;
using testing::ElementsAre;
using testing::IsEmpty;

// What one signal does: "0 from 100 ns" as "100:0".
class Drawn final : public WaveFile {
 public:
  using Changes = std::vector<std::vector<std::string>>;
  explicit Drawn(Changes& changes) : changes_{changes} {}

  void begin(Instant, std::span<const WaveValue> values) override { changes_.resize(values.size()); }
  void change(Instant at, std::size_t signal, const WaveValue& value) override {
    EXPECT_GE(at, latest_) << "signal " << signal;
    latest_ = at;
    const bool is_text = PinWave::signals[signal].kind == WaveSignal::text;
    const std::string shown = is_text ? std::string{value.text} : !value.driven ? "z" : value.high ? "1" : "0";
    changes_[signal].push_back(fmt::format("{}:{}", at.time_since_epoch() / 1ns, shown));
  }
  std::optional<Error> close(Instant, std::string_view) override { return std::nullopt; }

 private:
  Changes& changes_;
  Instant latest_{};
};

// SCLK at 10 MHz: half a period is 50 ns, a byte 800 ns.
BoardProfile priced(int spi_mode) {
  BoardProfile profile;
  profile.sclk = Frequency{10'000'000};
  profile.spi_mode = spi_mode;
  profile.byte = {.gap = 200ns};
  profile.burst = BurstCost{};
  profile.select = 400ns;
  profile.deselect = 100ns;
  return profile;
}

class PinProbeTest : public testing::Test, protected AwaitedSource {
 protected:
  explicit PinProbeTest(int spi_mode = 0) : profile{priced(spi_mode)} { probe.follow(bus); }
  Account awaited() const override { return Account::peer; }

  std::uint8_t read(std::uint8_t offset_low, std::uint8_t control) {
    bus.select();
    for (const std::uint8_t mosi : {std::uint8_t{0}, offset_low, control}) bus.exchange(mosi);
    const std::uint8_t value = bus.exchange(0x00);
    bus.deselect();
    return value;
  }
  // In nanoseconds, up to the end of the run.
  const std::vector<std::string>& of(std::size_t signal) {
    if (!std::exchange(closed, true)) {
      EXPECT_FALSE(probe.close());
    }
    return changes[signal];
  }
  std::vector<std::string> first(std::size_t signal, std::size_t count) {
    std::vector<std::string> some = of(signal);
    some.resize(std::min(some.size(), count));
    return some;
  }

  Drawn::Changes changes;
  bool closed = false;
  TestBoard board;
  BoardProfile profile;
  Budget budget;
  PinProbe probe{board.queue, board.chip, board.chip.spi(), std::make_unique<Drawn>(changes), WaveWindow{}};
  SpiBus bus{board.queue, budget, probe, profile, board.findings, *this};
};

class PinProbeInMode3 : public PinProbeTest {
 protected:
  PinProbeInMode3() : PinProbeTest{3} {}
};

constexpr std::size_t access = 6, block = 7, offset = 8, name = 9, data = 10;

TEST_F(PinProbeTest, SelectsAfterTheCostAndLetsGoBeforeIt) {
  read(0x39, 0x00);
  // Four bytes of 800 ns and a gap of 200 ns each, from 400 ns on.
  EXPECT_THAT(of(PinWave::SCSn), ElementsAre("400:0", "4400:1"));
}

TEST_F(PinProbeTest, EndsARunThatIsInterruptedBetweenTwoFramesAndHasDrawnTheFirst) {
  std::atomic<bool> interrupted = false;
  probe.heed(interrupted);
  read(0x39, 0x00);
  interrupted = true;
  EXPECT_THROW(read(0x39, 0x00), RunInterrupted);
  EXPECT_THAT(of(PinWave::SCSn), ElementsAre("400:0", "4400:1"));
}

TEST_F(PinProbeInMode3, KeepsToTheSetUpTimeWhereTheFirstEdgeIsDueAtOnce) {
  read(0x39, 0x00);
  EXPECT_THAT(of(PinWave::SCSn), ElementsAre("395:0", "4400:1"));
}

TEST_F(PinProbeTest, KeepsToTheHoldTimeWhereNoGapFollowsTheLastByte) {
  const std::uint8_t mosi[] = {0x00, 0x39, 0x00, 0x00};
  bus.select();
  bus.exchange(mosi, nullptr, sizeof mosi);
  bus.deselect();
  EXPECT_THAT(of(PinWave::SCSn), ElementsAre("400:0", "3605:1"));
}

TEST_F(PinProbeTest, Mode0IdlesLowAndEndsAByteWithAFallingEdge) {
  read(0x39, 0x00);
  EXPECT_THAT(first(PinWave::SCLK, 4), ElementsAre("450:1", "500:0", "550:1", "600:0"));
  EXPECT_EQ(of(PinWave::SCLK).size(), 2U * 8 * 4);
  EXPECT_EQ(of(PinWave::SCLK)[15], "1200:0");
  EXPECT_EQ(of(PinWave::SCLK)[16], "1450:1");
}

TEST_F(PinProbeInMode3, Mode3IdlesHighAndSamplesOnTheSameEdges) {
  read(0x39, 0x00);
  EXPECT_THAT(first(PinWave::SCLK, 4), ElementsAre("400:0", "450:1", "500:0", "550:1"));
  EXPECT_EQ(of(PinWave::SCLK)[15], "1150:1");
  EXPECT_EQ(of(PinWave::SCLK)[16], "1400:0");
}

TEST_F(PinProbeTest, DataChangeOnTheFallingEdgesAndMisoIsReleasedAfterwards) {
  EXPECT_EQ(read(0x39, 0x00), 4);
  // 0x39 = 0011 1001, from 1400 ns on, then zeros.
  EXPECT_THAT(of(PinWave::MOSI), ElementsAre("1600:1", "1900:0", "2100:1", "2400:0"));
  // 01, 02, 03, 04: what the next byte begins with is there once the last one has ended.
  EXPECT_THAT(of(PinWave::MISO), ElementsAre("400:0", "1100:1", "1200:0", "2000:1", "2100:0", "3000:1", "3200:0",
                                             "3900:1", "4000:0", "4400:z"));
}

TEST_F(PinProbeTest, NamesWhatTheBytesMean) {
  read(0x39, 0x00);
  EXPECT_THAT(of(name), ElementsAre("3200:VERSIONR", "4200:-"));
  EXPECT_THAT(of(block), ElementsAre("3200:common", "4400:-"));
  EXPECT_THAT(of(offset), ElementsAre("3200:0039", "4200:003A", "4400:-"));
  EXPECT_THAT(of(data), ElementsAre("4200:04", "4400:-"));
  EXPECT_THAT(of(access), ElementsAre("3200:read", "4400:-"));
}

TEST_F(PinProbeTest, NamesSocketsAndTheirBuffers) {
  read(0x24, 0x28);  // Sn_TX_WR of socket 1
  read(0x00, 0x34);  // a write to its TX buffer
  EXPECT_THAT(of(name), ElementsAre("3200:S1.Sn_TX_WR", "4400:-", "7700:S1.TX", "8900:-"));
  EXPECT_THAT(of(block), ElementsAre("3200:S1", "4400:-", "7700:S1.TX", "8900:-"));
  EXPECT_THAT(of(access), ElementsAre("3200:read", "4400:-", "7700:write", "8900:-"));
}

TEST_F(PinProbeTest, TellsFramesOfFixedLengthApart) {
  bus.select();
  for (const int mosi : {0x00, 0x39, 0x01, 0x00, 0x00, 0x0F, 0x01, 0x00}) bus.exchange(static_cast<std::uint8_t>(mosi));
  EXPECT_THAT(of(name), ElementsAre("3200:VERSIONR", "4200:-", "7200:SIPR", "8200:-"));
}

TEST_F(PinProbeTest, ABurstIsDrawnByteByByte) {
  const std::uint8_t mosi[] = {0x00, 0x00, 0x14, 0xFF, 0x00};  // 2 bytes into the TX buffer of socket 0
  bus.select();
  bus.exchange(mosi, nullptr, sizeof mosi);
  bus.deselect();
  EXPECT_EQ(of(PinWave::SCLK).size(), 2U * 8 * 5);
  EXPECT_EQ(of(PinWave::SCLK).back(), "4400:0");
  EXPECT_THAT(of(data), ElementsAre("3600:FF", "4400:00", "4405:-"));
}

TEST_F(PinProbeTest, DrawsResetAndWhoeverLetsSelectGo) {
  bus.select();
  bus.exchange(0x00);
  board.chip.set_rstn(false);
  board.chip.let_select_go();
  board.queue.advance_to(Instant{600us});
  board.chip.set_rstn(true);
  EXPECT_THAT(of(PinWave::RSTn), ElementsAre("1400:0", "600000:1"));
  EXPECT_THAT(of(PinWave::SCSn), ElementsAre("400:0", "1400:1"));
}

TEST_F(PinProbeTest, DrawsIntnAmongTheEdgesOfTheByteThatItFallsInto) {
  board.configure();
  board.write(0, chip::common::SIMR, {0x01});
  board.set8(0, chip::socket::Sn_MR, chip::sn_mr::UDP);
  board.set16(0, chip::socket::Sn_PORT, 5000);
  board.command(0, chip::sn_cr::OPEN);
  board.arrive_udp(1111, 5000, {1});
  bus.select();
  for (int byte = 0; byte < 1000 && board.chip.intn(); ++byte) bus.exchange(0x00);
  EXPECT_FALSE(board.chip.intn());
  EXPECT_THAT(of(PinWave::INTn), ElementsAre(testing::EndsWith(":0")));
}

TEST_F(PinProbeTest, ClocksOutsideOfAFrameLeaveMisoAlone) {
  bus.exchange(0xAA);
  EXPECT_EQ(of(PinWave::SCLK).size(), 16U);
  EXPECT_THAT(of(PinWave::MISO), IsEmpty());
  EXPECT_THAT(of(name), IsEmpty());
}

// Wires in front of the probe that break the second byte of a read of VERSIONR, from 1400 ns on.
class BrokenWiresTest : public PinProbeTest {
 protected:
  explicit BrokenWiresTest(int spi_mode = 0) : PinProbeTest{spi_mode} {}

  std::size_t rises_of_sclk() {
    return static_cast<std::size_t>(
        std::ranges::count_if(of(PinWave::SCLK), [](const std::string& change) { return change.ends_with(":1"); }));
  }
  std::uint8_t read_over(const char* fault, const char* how) {
    EXPECT_TRUE(plan.add(fault, how));
    Faults faults{plan, board.queue, board.random, board.trace};
    FaultySpi wires{board.chip, probe, faults, &probe};
    SpiBus faulty{board.queue, budget, wires, profile, board.findings, *this};
    probe.follow(faulty);
    faulty.select();
    for (const int mosi : {0x00, 0x39, 0x00}) faulty.exchange(static_cast<std::uint8_t>(mosi));
    const std::uint8_t value = faulty.exchange(0x00);
    faulty.deselect();
    probe.follow(bus);
    return value;
  }

  FaultPlan plan;
};

class BrokenWiresInMode3 : public BrokenWiresTest {
 protected:
  BrokenWiresInMode3() : BrokenWiresTest{3} {}
};

TEST_F(BrokenWiresTest, AClockThatIsMissedIsNotDrawnAndBytesEndABitLate) {
  read_over("spi_clock_missed", "nth=2,bit=7");
  EXPECT_EQ(rises_of_sclk(), 31U);
  EXPECT_EQ(of(PinWave::SCLK)[16], "1550:1");  // and not 1450
  EXPECT_THAT(of(data), IsEmpty());            // the fourth byte is a bit short
}

TEST_F(BrokenWiresInMode3, AClockThatIsMissedIsNotDrawnEither) {
  read_over("spi_clock_missed", "nth=2,bit=7");
  EXPECT_EQ(rises_of_sclk(), 31U);
}

TEST_F(BrokenWiresTest, AnExtraClockIsASpikeBehindItsEdge) {
  read_over("spi_clock_extra", "nth=2,bit=7");
  EXPECT_EQ(rises_of_sclk(), 33U);
  const std::vector<std::string> spike(of(PinWave::SCLK).begin() + 16, of(PinWave::SCLK).begin() + 20);
  EXPECT_THAT(spike, ElementsAre("1450:1", "1462:0", "1475:1", "1500:0"));
}

TEST_F(BrokenWiresTest, AFlippedBitIsDrawnWhereItIs) {
  read_over("spi_flip", "nth=2,bit=7,line=mosi");
  EXPECT_EQ(of(PinWave::MOSI)[0], "1400:1");  // 0xB9
  EXPECT_EQ(of(PinWave::MOSI)[1], "1500:0");
  EXPECT_EQ(of(offset)[0], "3200:00B9");
}

TEST_F(BrokenWiresTest, ASelectThatIsLostRisesInTheFrame) {
  read_over("spi_select_lost", "nth=2");
  EXPECT_THAT(of(PinWave::SCSn), ElementsAre("400:0", "1400:1"));
  EXPECT_EQ(rises_of_sclk(), 32U);
  EXPECT_EQ(of(PinWave::MISO).back(), "1400:z");
}

TEST_F(BrokenWiresTest, ASelectThatComesBackFallsAQuarterOfAPeriodLater) {
  read_over("spi_select_lost", "nth=2,back=yes");
  EXPECT_THAT(of(PinWave::SCSn), ElementsAre("400:0", "1400:1", "1425:0", "4400:1"));
  EXPECT_EQ(of(offset)[0], "4200:3900");  // 39 00 00 is a header now
}

}  // namespace
}  // namespace wizloop::bus
