// Cases about SPI wires, pins, resets and the PHY, and about what a driver makes of a chip that misbehaves. Where a
// cured driver is wanted it is the one of drivers/w5500.
#include <functional>
#include <optional>
#include <string>

#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/chip.hpp"
#include "drivers/w5500/dma_bus.hpp"
#include "drivers/w5500/socket.hpp"
#include "sim/bus/faulty_spi.hpp"
#include "sim/bus/spi_bus.hpp"
#include "tests/cases/case_test.hpp"
#include "tests/support/planned_faults.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A host on the wires to the bench: 1 us per byte, so that each wait that looks at the clock ends. Without RSTn.
class BenchPort : public w5500::Port {
 public:
  BenchPort(TestBoard& board, SpiTarget& wires) : board_{board}, wires_{wires} {}

  void select() override { wires_.select(); }
  void deselect() override { wires_.deselect(); }
  uint8_t exchange(uint8_t mosi) override {
    board_.advance(1us);
    return wires_.exchange(mosi);
  }
  void exchange(const uint8_t* mosi, uint8_t* miso, size_t count) override {
    for (size_t i = 0; i < count; ++i) {
      const uint8_t in = exchange(mosi == nullptr ? uint8_t{0} : mosi[i]);
      if (miso != nullptr) miso[i] = in;
    }
  }
  bool start_dma(const uint8_t*, uint8_t*, size_t) override { return false; }
  bool wait_dma(uint32_t) override { return false; }
  void abort_dma() override {}
  uint32_t now_us() override {
    board_.advance(1us);
    return static_cast<uint32_t>(board_.now().time_since_epoch() / 1us);
  }
  void delay_us(uint32_t us) override { board_.advance(1us * std::int64_t{us}); }
  bool set_reset_pin(bool) override { return false; }
  bool wait_for_interrupt(uint32_t) override { return false; }

 private:
  TestBoard& board_;
  SpiTarget& wires_;
};

// A bench whose wires or chip can be made faulty, and the driver on it.
class WiresCaseTest : public CaseTest {
 protected:
  void plan(std::string_view name, std::string_view text) {
    faults.emplace(board.queue, board.trace, PlannedFaults::Texts{{name, text}});
    wires.emplace(board.chip, board.chip.spi(), **faults);
    board.chip.inject(**faults);
    port.emplace(board, *wires);
    bus.emplace(*port);
    driver.emplace(*bus, *port);
  }
  Duration time_of(const std::function<void()>& call) {
    const Instant from = board.now();
    call();
    return board.now() - from;
  }
  // One SPI frame over the wires; what MISO showed.
  Octets frame(const Octets& mosi) {
    Octets miso;
    wires->select();
    for (const std::uint8_t byte : mosi) miso.push_back(wires->exchange(byte));
    wires->deselect();
    return miso;
  }
  std::uint8_t phycfgr() { return board.read(0, common::PHYCFGR, 1)[0]; }

  std::optional<PlannedFaults> faults;
  std::optional<wizloop::bus::FaultySpi> wires;
  std::optional<BenchPort> port;
  std::optional<w5500::BurstBus> bus;
  std::optional<w5500::Chip> driver;
};

// The same wires behind the SPI bus of a board, which sees what the controller samples.
class BusCaseTest : public WiresCaseTest, protected wizloop::bus::AwaitedSource {
 protected:
  BusCaseTest() {
    profile.cpu = Frequency{72'000'000};
    profile.sclk = Frequency{8'000'000};
    profile.select = 1us;
    profile.deselect = 1us;
  }
  Account awaited() const override { return Account::peer; }

  wizloop::bus::SpiBus& spi_bus() {
    if (!spi_bus_) {
      SpiTarget& target = wires ? static_cast<SpiTarget&>(*wires) : board.chip.spi();
      spi_bus_.emplace(board.queue, budget, target, profile, board.findings,
                       static_cast<const wizloop::bus::AwaitedSource&>(*this));
    }
    return *spi_bus_;
  }
  std::uint8_t last_miso(const Octets& mosi) {
    std::uint8_t miso = 0;
    spi_bus().select();
    for (const std::uint8_t byte : mosi) miso = spi_bus().exchange(byte);
    spi_bus().deselect();
    return miso;
  }
  void write(std::uint8_t bsb, std::uint16_t offset, const Octets& data) {
    Octets mosi = {static_cast<std::uint8_t>(offset >> 8), static_cast<std::uint8_t>(offset),
                   static_cast<std::uint8_t>(bsb << 3 | 0x04)};
    mosi.insert(mosi.end(), data.begin(), data.end());
    last_miso(mosi);
  }

  wizloop::bus::BoardProfile profile;
  Budget budget;

 private:
  std::optional<wizloop::bus::SpiBus> spi_bus_;
};

// B02 ----------------------------------------------------------------------------------------------------------------

class B02_SendThatNeverCompletes : public WiresCaseTest {};

TEST_F(B02_SendThatNeverCompletes, WaitForSendokOrTimeoutSeesRecvAlone) {
  plan("chip_sendok_lost", "nth=1");
  open_udp(0, 5000);
  board.send(0, {1});
  board.arrive_udp(1111, 5000, {2});
  board.advance(1000s);
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
}

TEST_F(B02_SendThatNeverCompletes, LoopWithoutAnExitIsFound) {
  plan("chip_sendok_lost", "nth=1");
  open_udp(0, 5000);
  board.send(0, {1});
  for (int reads = 0; reads < 2000; ++reads) {
    ASSERT_EQ(board.interrupts(0), 0);
    board.advance(10ms);
  }
  EXPECT_THAT(broken(), ElementsAre("endless-poll"));
}

TEST_F(B02_SendThatNeverCompletes, CuredHasADeadlineBehindThatOfArpAndResets) {
  plan("chip_sendok_lost", "nth=1");
  open_udp(0, 5000);
  board.send(0, {1});
  board.arrive_udp(1111, 5000, {2});
  const Instant deadline = board.now() + 2s;  // ARP would have given up after 1.8 s
  while ((board.interrupts(0) & (sn_ir::SENDOK | sn_ir::TIMEOUT)) == 0 && board.now() < deadline) board.advance(10ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
  board.write(0, common::MR, {mr::RST});
  board.configure();  // the reset took the addresses too
  open_udp(0, 5000);
  board.sent.clear();
  board.send(0, {3});
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_EQ(board.sent[0].ethernet().source, chip_mac);
  EXPECT_EQ(board.sent[0].ip().source, chip_ip);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(B02_SendThatNeverCompletes, StrikesOnlyWherePlanned) {
  open_udp(0, 5000);
  board.send(0, {1});
  board.arrive_udp(1111, 5000, {2});
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK | sn_ir::RECV);
}

// B12 ----------------------------------------------------------------------------------------------------------------

class B12_LinkGetterAlwaysSaysOff : public WiresCaseTest {};

TEST_F(B12_LinkGetterAlwaysSaysOff, LinkIsBitZeroInBothDirections) {
  plan("spi_flip", "nth=1000000");  // healthy wires
  EXPECT_EQ(phycfgr() & 0x07, 0x07);
  EXPECT_TRUE(driver->phy().value().LNK());
  board.chip.plug(false);
  board.advance(2ms);
  EXPECT_EQ(phycfgr() & 0x01, 0x00);
  EXPECT_FALSE(driver->phy().value().LNK());
  EXPECT_THAT(broken(), IsEmpty());
}

// B13 ----------------------------------------------------------------------------------------------------------------

class B13_PhyResetByAccident : public WiresCaseTest {};

TEST_F(B13_PhyResetByAccident, ModeWrittenWithBitSevenLowDropsTheLinkForGood) {
  ASSERT_EQ(phycfgr(), 0xBF);
  board.write(0, common::PHYCFGR, {0x78});
  EXPECT_EQ(phycfgr() & 0x81, 0x00);
  board.arrive_ping(1, 32);
  board.advance(60s);
  EXPECT_EQ(phycfgr(), 0x7A);  // RST still 0, no link
  EXPECT_THAT(board.sent, IsEmpty());
}

TEST_F(B13_PhyResetByAccident, CuredEndsTheResetAndWaitsForTheNegotiation) {
  board.write(0, common::PHYCFGR, {0x78});
  board.write(0, common::PHYCFGR, {0xF8});
  EXPECT_EQ(phycfgr() & 0x01, 0x00);
  board.advance(2s - 1us);
  EXPECT_EQ(phycfgr() & 0x01, 0x00);
  board.advance(2us);
  EXPECT_EQ(phycfgr(), 0xFF);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(B13_PhyResetByAccident, ModeFourIsHalfDuplex) {
  board.write(0, common::PHYCFGR, {0x60});
  board.write(0, common::PHYCFGR, {0xE0});
  board.advance(2s);
  EXPECT_EQ(phycfgr(), 0xE3);  // link, 100 Mbit/s, DPX 0
  plan("spi_flip", "nth=1000000");
  EXPECT_FALSE(driver->phy().value().DPX());
  EXPECT_TRUE(driver->phy().value().SPD());
  EXPECT_THAT(broken(), IsEmpty());
}

// B14 ----------------------------------------------------------------------------------------------------------------

class B14_SettingsReadBackAsZeros : public BusCaseTest {};

TEST_F(B14_SettingsReadBackAsZeros, DeadMisoReadsZerosWhateverWasWritten) {
  plan("spi_miso_stuck", "always,level=0");
  ASSERT_TRUE(driver->set_network({{2, 0, 0, 0, 0, 1}, {10, 0, 0, 2}, {255, 255, 255, 0}, {10, 0, 0, 1}}));
  const w5500::Network network = driver->network().value();
  EXPECT_THAT(network.mac, Each(0));
  EXPECT_THAT(network.ip, Each(0));
  EXPECT_THAT(network.subnet, Each(0));
  EXPECT_THAT(network.gateway, Each(0));
  // It is not that the address was not set: the chip has it, and what is dead is the way back.
  EXPECT_EQ(board.read(0, common::SIPR, 4), (Octets{10, 0, 0, 2}));
  last_miso({0x00, 0x39, 0x00, 0x00});
  ASSERT_EQ(seen(Rule::wrong_version).size(), 1U);
  EXPECT_THAT(seen(Rule::wrong_version)[0], AllOf(HasSubstr("VERSIONR = 0x00"), HasSubstr("MISO")));
}

TEST_F(B14_SettingsReadBackAsZeros, CuredAsksWhoIsThereFirst) {
  plan("spi_miso_stuck", "always,level=0");
  EXPECT_EQ(driver->identify(1000).error(), w5500::Error::no_chip);
  plan("spi_flip", "nth=1000000");
  EXPECT_TRUE(driver->identify(1000));
  ASSERT_TRUE(driver->set_network({{2, 0, 0, 0, 0, 1}, {10, 0, 0, 2}, {255, 255, 255, 0}, {10, 0, 0, 1}}));
  EXPECT_THAT(driver->network().value().ip, ElementsAre(10, 0, 0, 2));
}

// B15 ----------------------------------------------------------------------------------------------------------------

class B15_EndlessLoopWithoutAChip : public WiresCaseTest, public testing::WithParamInterface<const char*> {};

TEST_P(B15_EndlessLoopWithoutAChip, WaitForTheCommandRegisterNeverEndsOnAStuckLine) {
  plan("spi_miso_stuck", GetParam());
  const Octets cr_read = {0x00, 0x01, 0x08, 0x00};
  const Octets sr_read = {0x00, 0x03, 0x08, 0x00};
  frame({0x00, 0x01, 0x0C, sn_cr::CLOSE});
  for (int i = 0; i < 1000; ++i) {
    board.advance(1ms);
    // One of the two loops of a driver is without an end: CR to read 0, or the state to read INIT.
    EXPECT_TRUE(frame(cr_read)[3] != 0 || frame(sr_read)[3] != sn_sr::INIT);
  }
}

TEST_P(B15_EndlessLoopWithoutAChip, CuredGivesUpInTime) {
  plan("spi_miso_stuck", GetParam());
  const Duration reset = time_of([this] { EXPECT_EQ(driver->reset(10'000).error(), w5500::Error::no_chip); });
  EXPECT_LT(reset, 20ms);
  w5500::TcpSocket socket{*driver, 0};
  const Duration open = time_of([&socket] { EXPECT_FALSE(socket.open(5000)); });
  EXPECT_LT(open, 1s);
}

INSTANTIATE_TEST_SUITE_P(Levels, B15_EndlessLoopWithoutAChip, testing::Values("always,level=1", "always,level=0"));

// B27 ----------------------------------------------------------------------------------------------------------------

class B27_OneOddReadingEndsItAll : public WiresCaseTest {
 protected:
  // Which of five datagrams arrive whole at an application when the byte number `nth` that is read has a bit flipped;
  // whether it opens its socket anew after an error.
  std::vector<bool> arrived_with_glitch(int nth, bool reopens) {
    board.command(0, sn_cr::CLOSE);
    const std::int64_t from_us = board.now().time_since_epoch() / 1us + 10'000;
    plan("spi_flip", "bit=3,from=" + std::to_string(from_us) + "us,nth=" + std::to_string(nth));
    w5500::UdpSocket socket{*driver, 0};
    EXPECT_TRUE(socket.open(5000));
    board.advance_to(1us * from_us);
    std::vector<bool> arrived;
    for (std::uint8_t i = 0; i < 5; ++i) {
      board.arrive_udp(1111, 5000, counting(20, i));
      board.advance(1ms);
      Octets data(20);
      const auto got = socket.receive_from(data.data(), 20);
      arrived.push_back(got && data == counting(20, i));
      if (reopens && !got && got.error() != w5500::Error::no_datagram) {
        EXPECT_TRUE(socket.open(5000));
      }
    }
    EXPECT_EQ(faults->struck(Fault::spi_flip), 1U);
    return arrived;
  }
};

TEST_F(B27_OneOddReadingEndsItAll, ErrorTakenForTheEndLosesAllThatFollows) {
  open_udp(0, 5000);
  plan("spi_flip", "line=miso,bit=3,nth=4");  // the first look at Sn_SR shows a state that does not exist
  bool ended = false;
  int taken = 0;
  for (std::uint8_t i = 0; i < 5; ++i) {
    board.arrive_udp(1111, 5000, counting(20, i));
    board.advance(1ms);
    ended = ended || frame({0x00, 0x03, 0x08, 0x00})[3] != sn_sr::UDP;
    if (!ended) ++taken;
  }
  EXPECT_EQ(faults->struck(Fault::spi_flip), 1U);
  EXPECT_EQ(taken, 0);
  EXPECT_EQ(board.status(0), sn_sr::UDP);  // while the socket has been there all along
}

TEST_F(B27_OneOddReadingEndsItAll, CuredLooksTwice) {
  EXPECT_THAT(arrived_with_glitch(6, false), Each(true));  // the same byte, and nothing is opened anew
}

TEST_F(B27_OneOddReadingEndsItAll, CuredOpensAnewAndLosesOneDatagramAtMost) {
  for (int nth = 1; nth <= 100; ++nth) {
    const std::vector<bool> arrived = arrived_with_glitch(nth, true);
    EXPECT_GE(std::ranges::count(arrived, true), 4) << nth;
    EXPECT_TRUE(arrived.back()) << nth;
  }
}

// B30 ----------------------------------------------------------------------------------------------------------------

class B30_ResetWaitTooShort : public WiresCaseTest {
 protected:
  // How long MR.RST stays set.
  void reset_takes(std::string_view delay) { plan("chip_reset_late", "nth=1,delay=" + std::string{delay}); }
};

TEST_F(B30_ResetWaitTooShort, ShiftedConstantNeverResets) {
  open_udp(0, 5000);
  board.write(0, common::MR, {0x08});
  EXPECT_EQ(board.status(0), sn_sr::UDP);
}

TEST_F(B30_ResetWaitTooShort, TwentyMillisecondsAreTooShortForABoardThatTakesTwentyFive) {
  reset_takes("25ms");
  EXPECT_EQ(driver->reset(20'000).error(), w5500::Error::no_chip);
}

TEST_F(B30_ResetWaitTooShort, CuredWaitsLongEnoughForEachBoard) {
  for (const std::string_view delay : {"0ms", "1ms", "25ms", "150ms"}) {
    reset_takes(delay);
    EXPECT_TRUE(driver->reset(200'000)) << delay;
  }
  EXPECT_THAT(broken(), IsEmpty());
}

// B42 ----------------------------------------------------------------------------------------------------------------

class B42_VersionReadsZeroAfterReset : public WiresCaseTest {};

TEST_F(B42_VersionReadsZeroAfterReset, StrictCheckRefusesAChipThatStillWakes) {
  plan("chip_version_zero", "until=10ms");
  EXPECT_EQ(frame({0x00, 0x39, 0x00, 0x00})[3], 0x00);
  board.advance_to(10ms);
  EXPECT_EQ(frame({0x00, 0x39, 0x00, 0x00})[3], 0x04);
}

TEST_F(B42_VersionReadsZeroAfterReset, CuredPollsUntilItsDeadline) {
  for (const int ready_ms : {1, 10, 50}) {
    const std::int64_t ready_us = board.now().time_since_epoch() / 1us + 1000 * ready_ms;
    plan("chip_version_zero", "until=" + std::to_string(ready_us) + "us");
    EXPECT_TRUE(driver->identify(100'000)) << ready_ms;
    EXPECT_GE(board.now(), Instant{1us * ready_us});
  }
  plan("chip_version_zero", "always");
  EXPECT_EQ(driver->identify(100'000).error(), w5500::Error::wrong_version);
}

TEST_F(B42_VersionReadsZeroAfterReset, AccessBeforeThePllHasLockedIsFoundWithItsTime) {
  board.chip.set_rstn(false);
  board.advance(1ms);
  board.chip.set_rstn(true);
  board.advance(200us);
  EXPECT_THAT(board.read(0, common::VERSIONR, 1), ElementsAre(0x00));
  EXPECT_THAT(seen(Rule::access_before_pll_lock), ElementsAre("SPI frame 200000 ns after RSTn rose"));
  board.advance(800us);
  EXPECT_THAT(board.read(0, common::VERSIONR, 1), ElementsAre(0x04));
}

// B44 ----------------------------------------------------------------------------------------------------------------

class B44_LinkChangeRaisesNoInterrupt : public WiresCaseTest {};

TEST_F(B44_LinkChangeRaisesNoInterrupt, IntnStaysHighAndOnlyPollingTells) {
  board.write(0, common::IMR, {0xF0});
  board.write(0, common::SIMR, {0xFF});
  open_udp(0, 5000);
  board.chip.plug(false);
  board.advance(2ms);
  EXPECT_TRUE(board.chip.intn());
  EXPECT_EQ(phycfgr() & 0x01, 0);
  board.chip.plug(true);
  board.advance(3s);
  EXPECT_TRUE(board.chip.intn());
  EXPECT_EQ(phycfgr() & 0x01, 1);
  EXPECT_THAT(broken(), IsEmpty());
}

// B38 ----------------------------------------------------------------------------------------------------------------

// DMA that stores whole words: up to three bytes behind the last one are overwritten.
class WordDmaPort final : public BenchPort {
 public:
  using BenchPort::BenchPort;
  bool start_dma(const uint8_t* mosi, uint8_t* miso, size_t count) override {
    exchange(mosi, miso, count);
    for (size_t i = count; miso != nullptr && i % 4 != 0; ++i) miso[i] = 0;
    return true;
  }
  bool wait_dma(uint32_t) override { return true; }
};

class B38_DmaClobbersWhatLiesBehind : public CaseTest {
 protected:
  static constexpr std::uint8_t guard = 0xA5;

  // Sn_RX_RSR of socket 0 as the driver reads it, and the two bytes behind.
  Octets size_and_guard(std::uint16_t dma_from_bytes) {
    WordDmaPort port{board, board.chip.spi()};
    w5500::DmaBus bus{port, dma_from_bytes};
    Octets memory(4, guard);
    EXPECT_TRUE(bus.read(w5500::socket_block(0), socket::Sn_RX_RSR, memory.data(), 2));
    return memory;
  }
  void SetUp() override {
    open_udp(0, 5000);
    board.arrive_udp(1111, 5000, counting(20));
    board.advance(10us);
  }
};

TEST_F(B38_DmaClobbersWhatLiesBehind, ShortReadByDmaOverwritesTheNextVariables) {
  EXPECT_THAT(size_and_guard(1), ElementsAre(0, 28, 0, 0));
}

TEST_F(B38_DmaClobbersWhatLiesBehind, CuredReadsRegistersWithoutDma) {
  EXPECT_THAT(size_and_guard(32), ElementsAre(0, 28, guard, guard));
  EXPECT_THAT(broken(), IsEmpty());
}

// B41 ----------------------------------------------------------------------------------------------------------------

class B41_WhatAWrongVersionMeans : public BusCaseTest {
 protected:
  // What is found when VERSIONR is read over such wires.
  std::string found_with(std::string_view fault, std::string_view text) {
    plan(fault, text);
    last_miso({0x00, 0x39, 0x00, 0x00});
    return seen(Rule::wrong_version).empty() ? "" : seen(Rule::wrong_version)[0];
  }
};

TEST_F(B41_WhatAWrongVersionMeans, GoodChipAnswersOneTwoThreeFour) {
  EXPECT_EQ(board.spi({0x00, 0x39, 0x00, 0x00}), Octets({0x01, 0x02, 0x03, 0x04}));
  EXPECT_EQ(found_with("spi_flip", "nth=1000000"), "");
}

TEST_F(B41_WhatAWrongVersionMeans, ZeroMeansLowMisoOrReset) {
  EXPECT_THAT(found_with("spi_miso_stuck", "always,level=0"), AllOf(HasSubstr("VERSIONR = 0x00"), HasSubstr("reset")));
}

TEST_F(B41_WhatAWrongVersionMeans, OnesMeanNoChip) {
  EXPECT_THAT(found_with("spi_miso_stuck", "always,level=1"),
              AllOf(HasSubstr("VERSIONR = 0xFF"), HasSubstr("no chip")));
}

TEST_F(B41_WhatAWrongVersionMeans, EightIsOneBitOut) {
  EXPECT_THAT(found_with("spi_clock_extra", "nth=3,bit=0"), AllOf(HasSubstr("VERSIONR = 0x08"), HasSubstr("SPI mode")));
}

TEST_F(B41_WhatAWrongVersionMeans, HalfAClockOffIsTheWrongMode) {
  EXPECT_THAT(found_with("spi_half_clock", "always,line=miso"), HasSubstr("SPI mode"));
}

TEST_F(B41_WhatAWrongVersionMeans, AddressOf24BitsReadsAnRxBufferInstead) {
  // 00 00 39: offset 0, control byte 0x39 = block 7, the RX buffer of socket 1, one byte, read.
  const std::uint8_t noise = board.chip.peek(Block{7}, 0);
  EXPECT_EQ(last_miso({0x00, 0x00, 0x39, 0x00}), noise);
  EXPECT_NE(noise, 0x04);
  ASSERT_EQ(seen(Rule::wrong_version).size(), 1U);
  EXPECT_THAT(seen(Rule::wrong_version)[0], HasSubstr("24 bits"));
}

// B43 ----------------------------------------------------------------------------------------------------------------

class B43_RegistersShiftedByABit : public BusCaseTest {
 protected:
  void SetUp() override {
    open_udp(0, 5000);
    board.send(0, {1});
    board.advance(1ms);
    ASSERT_EQ(board.interrupts(0), 0x10);
  }
};

TEST_F(B43_RegistersShiftedByABit, ClockTooManyMakes20Of10AndNamesTheShift) {
  plan("spi_clock_extra", "nth=3,bit=0");
  EXPECT_EQ(last_miso({0x00, 0x02, 0x08, 0x00}), 0x20);
  EXPECT_THAT(seen(Rule::reserved_bits_read), ElementsAre("S0 Sn_IR = 0x20: 0x10 sampled one bit late"));
}

TEST_F(B43_RegistersShiftedByABit, WireHalfAClockOffSetsReservedBitsToo) {
  plan("spi_half_clock", "always,line=miso");
  EXPECT_EQ(last_miso({0x00, 0x02, 0x08, 0x00}), 0x88);  // the last bit of the header before it
  EXPECT_EQ(times(Rule::reserved_bits_read), 1U);
}

TEST_F(B43_RegistersShiftedByABit, CuredWiresShowWhatTheChipHolds) {
  plan("spi_flip", "nth=1000000");
  EXPECT_EQ(last_miso({0x00, 0x02, 0x08, 0x00}), 0x10);
  EXPECT_THAT(broken(), IsEmpty());
}

// B53 ----------------------------------------------------------------------------------------------------------------

class B53_AnotherDeviceOnTheBus : public BusCaseTest {};

TEST_F(B53_AnotherDeviceOnTheBus, TwoSelectsLowAreFoundWithTheirTime) {
  board.advance(5ms);
  spi_bus().other_select(true);
  EXPECT_EQ(last_miso({0x00, 0x39, 0x00, 0x00}), 0x04);
  EXPECT_THAT(seen(Rule::two_selects_low), ElementsAre("SCSn of the W5500 fell while another device was selected"));
  EXPECT_GE(board.findings.all()[0].at, Instant{5ms});
}

TEST_F(B53_AnotherDeviceOnTheBus, DeviceThatDrivesMisoSpoilsALength) {
  plan("spi_miso_contention", "always,byte=3");
  EXPECT_EQ(last_miso({0x00, 0x1E, 0x08, 0x00}) & ~0x03, 0);
  EXPECT_EQ(last_miso({0x00, 0x20, 0x08, 0x00}), 0x00);  // the high byte of Sn_TX_FSR is 0x08
}

TEST_F(B53_AnotherDeviceOnTheBus, CuredTakesTurns) {
  spi_bus().other_select(true);
  spi_bus().exchange(0x40);
  spi_bus().other_select(false);
  EXPECT_EQ(last_miso({0x00, 0x39, 0x00, 0x00}), 0x04);
  EXPECT_THAT(broken(), IsEmpty());
}

// B26 ----------------------------------------------------------------------------------------------------------------

class B26_LateSendokTakenForTheNext : public WiresCaseTest {};

TEST_F(B26_LateSendokTakenForTheNext, CreditOfTheFirstFrameAppearsWithNothingInFlight) {
  plan("chip_sendok_late", "nth=1,delay=10ms");
  open_udp(0, 5000);
  board.send(0, {1});
  board.advance(5ms);  // and the driver gives up
  EXPECT_EQ(board.interrupts(0), 0);
  send(0, {2});
  EXPECT_EQ(board.interrupts(0), 0);
  board.advance(5ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
}

TEST_F(B26_LateSendokTakenForTheNext, SendWhileTheChipStillSendsIsFound) {
  open_udp(0, 5000);
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {1});  // waits for ARP, longer than the driver does
  board.advance(10ms);
  board.send(0, {2});
  EXPECT_EQ(times(Rule::send_while_sending), 1U);
}

TEST_F(B26_LateSendokTakenForTheNext, CuredWaitsForTheResultOfTheLastOne) {
  open_udp(0, 5000);
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {1});
  board.advance(10ms);
  board.answer_arp();
  const Instant deadline = board.now() + 2s;
  while ((board.interrupts(0) & (sn_ir::SENDOK | sn_ir::TIMEOUT)) == 0 && board.now() < deadline) board.advance(10us);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  board.set8(0, socket::Sn_IR, sn_ir::SENDOK);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_RD), board.get16(0, socket::Sn_TX_WR));
  send(0, {2});
  EXPECT_THAT(broken(), IsEmpty());
}

// B51 ----------------------------------------------------------------------------------------------------------------

class B51_SlowClockCorruptsTheData : public BusCaseTest {
 protected:
  // What leaves when 255 bytes are written and sent at this clock.
  Octets sent_at(Frequency sclk) {
    profile.sclk = sclk;
    open_udp(0, 5000);
    write(TestBoard::tx_of(0), 0, counting(255));
    write(TestBoard::registers_of(0), socket::Sn_TX_WR, {0x00, 0xFF});
    write(TestBoard::registers_of(0), socket::Sn_CR, {sn_cr::SEND});
    finish_send(0);
    return sent_udp();
  }
};

TEST_F(B51_SlowClockCorruptsTheData, At290Kilohertz) { EXPECT_EQ(sent_at(Frequency{290'000}), counting(255)); }

TEST_F(B51_SlowClockCorruptsTheData, At1100Kilohertz) {
  EXPECT_EQ(sent_at(Frequency{1'100'000}), counting(255));
  EXPECT_THAT(broken(), IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
