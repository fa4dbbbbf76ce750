// INTn (datasheet 4.1: IR, IMR, SIR, SIMR, INTLEVEL) and the PHY behind PHYCFGR.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/test_board.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;

constexpr Duration settled = 1us;

class InterruptTest : public testing::Test, private InterruptPin::Listener {
 protected:
  InterruptTest() {
    board.configure();
    board.chip.connect_intn(*this);
    for (int n = 0; n < 2; ++n) {
      board.set8(n, socket::Sn_MR, sn_mr::UDP);
      board.set16(n, socket::Sn_PORT, static_cast<std::uint16_t>(5000 + n));
      board.command(n, sn_cr::OPEN);
    }
  }
  void datagram(int socket) {
    board.arrive_udp(1, static_cast<std::uint16_t>(5000 + socket), {1});
    board.advance(10us);
  }

  TestBoard board;
  int falls = 0;
  Instant last_fall{};
  Instant last_rise{};

 private:
  void on_intn(bool high) override {
    (high ? last_rise : last_fall) = board.now();
    falls += high ? 0 : 1;
  }
};

TEST_F(InterruptTest, StaysHighUntilSimrLetsTheSocketThrough) {
  datagram(0);
  EXPECT_TRUE(board.chip.intn());
  EXPECT_THAT(board.read(0, common::SIR, 1), ElementsAre(0x01));
  board.write(0, common::SIMR, {0x01});
  board.advance(settled);
  EXPECT_FALSE(board.chip.intn());
}

TEST_F(InterruptTest, SocketMaskGatesSirButNotSnIr) {
  board.set8(0, socket::Sn_IMR, 0x00);
  datagram(0);
  EXPECT_THAT(board.read(0, common::SIR, 1), ElementsAre(0x00));
  EXPECT_EQ(board.interrupts(0), sn_ir::RECV);
}

TEST_F(InterruptTest, FallsFourPllClocksAfterTheEventAndRisesWhenTheCauseIsCleared) {
  board.write(0, common::SIMR, {0xFF});
  board.arrive_udp(1, 5000, {1});
  const Instant received = board.now() + 3us;
  board.advance(10us);
  EXPECT_EQ(last_fall - received, picoseconds(26'667));
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(settled);
  EXPECT_TRUE(board.chip.intn());
}

TEST_F(InterruptTest, StaysLowBetweenTwoSources) {
  board.write(0, common::SIMR, {0xFF});
  datagram(0);
  datagram(1);
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(settled);
  EXPECT_FALSE(board.chip.intn());
  EXPECT_EQ(falls, 1);
  board.set8(1, socket::Sn_IR, 0xFF);
  board.advance(settled);
  EXPECT_TRUE(board.chip.intn());
}

TEST_F(InterruptTest, IntlevelKeepsThePinHighForItsPause) {
  board.write(0, common::INTLEVEL, {0x00, 0xFF});
  board.write(0, common::SIMR, {0xFF});
  datagram(0);
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(picoseconds(26'667));
  ASSERT_TRUE(board.chip.intn());
  datagram(1);
  board.advance(10us);
  EXPECT_EQ(falls, 2);
  EXPECT_GE(last_fall - last_rise, Frequency{150'000'000}.periods(4 * 256));
}

TEST_F(InterruptTest, CommonCausesGoThroughImr) {
  board.write(0, common::IMR, {ir::CONFLICT});
  board.arrive_arp(wire::Arp::Operation::request, peer_mac, chip_ip, chip_ip);
  board.advance(10us);
  EXPECT_FALSE(board.chip.intn());
  board.write(0, common::IR, {0xFF});
  board.advance(settled);
  EXPECT_TRUE(board.chip.intn());
}

std::uint8_t phycfgr(TestBoard& board) { return board.read(0, common::PHYCFGR, 1)[0]; }

TEST(PhyTest, NoLinkReadsBa) {
  TestBoard board;
  board.chip.plug(false);
  board.advance(2ms);
  EXPECT_EQ(phycfgr(board), 0xBA);
}

TEST(PhyTest, PluggedInTakesTwoSecondsToNegotiate) {
  TestBoard board;
  board.chip.plug(false);
  board.advance(2ms);
  board.chip.plug(true);
  board.advance(1999ms);
  EXPECT_EQ(phycfgr(board) & 1, 0);
  board.advance(1ms);
  EXPECT_EQ(phycfgr(board), 0xBF);
}

TEST(PhyTest, ForcedTenFullReadsCd) {
  TestBoard board;
  board.write(0, common::PHYCFGR, {0xC8});  // OPMD, 001
  board.write(0, common::PHYCFGR, {0x48});  // RST low
  EXPECT_EQ(phycfgr(board) & 1, 0);
  board.write(0, common::PHYCFGR, {0xC8});
  board.advance(500ms);
  EXPECT_EQ(phycfgr(board), 0xCD);
}

// The pool that frames come from must outlive the queue that holds frames in flight; AddressSanitizer sees it if not.
TEST(ChipTest, MayEndWithAFrameInReception) {
  TestBoard board;
  board.configure();
  board.arrive_ping(1, 32);
  EXPECT_TRUE(board.chip.busy());
}

TEST(PhyTest, SoftwareResetReleasesAPhyThatWasHeldInReset) {
  TestBoard board;
  board.write(0, common::PHYCFGR, {0x38});
  board.write(0, common::MR, {0x80});
  board.advance(2s);
  EXPECT_EQ(phycfgr(board), 0xBF);
}

TEST(PhyTest, RaisingAHighResetPinDoesNothing) {
  TestBoard board;
  board.configure();
  board.chip.set_rstn(true);
  EXPECT_EQ(phycfgr(board), 0xBF);
  EXPECT_THAT(board.read(0, common::SIPR, 1), ElementsAre(192));
}

TEST(ChipTest, WithoutPowerItIsDeafAndWithItAgainAllStartsAnew) {
  TestBoard board;
  board.configure();
  board.chip.set_power(false);
  EXPECT_THAT(board.read(0, common::VERSIONR, 1), ElementsAre(0x00));
  board.arrive_ping(1, 32);
  board.advance(5s);
  EXPECT_TRUE(board.sent.empty());
  board.chip.set_power(true);
  board.advance(2ms);
  EXPECT_THAT(board.read(0, common::VERSIONR, 1), ElementsAre(0x04));
  EXPECT_THAT(board.read(0, common::SIPR, 4), ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(phycfgr(board) & 1, 0);
  board.advance(5s);
  EXPECT_EQ(phycfgr(board), 0xBF);
}

TEST(PhyTest, FramesGoAtTheRateOfTheMode) {
  TestBoard board;
  board.configure();
  board.write(0, common::PHYCFGR, {0x48});
  board.write(0, common::PHYCFGR, {0xC8});  // 10 Mbit/s
  board.advance(500ms);
  board.chip.set_rstn(false);
  board.advance(1ms);
  board.chip.set_rstn(true);
  board.advance(3s);
  board.configure();
  board.arrive_ping(1, 8);
  board.arrive_ping(2, 8);
  board.advance(1ms);
  ASSERT_EQ(board.sent.size(), 2U);
  EXPECT_EQ(board.sent[1].at - board.sent[0].at, 6720ns);  // 100 Mbit/s again
}

TEST(PhyTest, SupplyCurrentFollowsTheState) {
  TestBoard board;
  EXPECT_EQ(board.chip.supply_current_ma(true), 132);
  EXPECT_EQ(board.chip.supply_current_ma(false), 128);
  board.chip.plug(false);
  board.advance(2ms);
  EXPECT_EQ(board.chip.supply_current_ma(false), 65);
  board.write(0, common::PHYCFGR, {0x70});
  board.write(0, common::PHYCFGR, {0xF0});  // power down
  EXPECT_EQ(board.chip.supply_current_ma(false), 13);
}

// A cable to a partner of some kind, and a UDP socket that broadcasts.
class DuplexTest : public testing::Test {
 protected:
  void link_to(std::string_view partner) {
    board.configure();
    board.chip.set_link_partner(wire::link_abilities_of(partner).value());
    board.chip.plug(false);
    board.advance(10ms);
    board.chip.plug(true);
    board.advance(3s);
    board.set8(0, socket::Sn_MR, sn_mr::UDP);
    board.set32(0, socket::Sn_DIPR, wire::broadcast_ipv4);
    board.set16(0, socket::Sn_DPORT, 9);
    board.command(0, sn_cr::OPEN);
  }
  // A frame of 1514 bytes begins to come in now; returns when its last bit will be in.
  Instant incoming() {
    frame = board.frames.copy(std::vector<std::uint8_t>(1514));
    static_cast<wire::FrameSink&>(board.chip).announce(*frame, board.now());
    return board.now() + wire::time_on_wire(1514, Frequency{100'000'000});
  }
  void arrive(Instant last_bit) {
    board.queue.advance_to(last_bit);
    static_cast<wire::FrameSink&>(board.chip).accept(std::move(frame), last_bit);
    board.advance(1ms);
  }
  std::size_t not_modelled() const {
    std::size_t count = 0;
    for (const Finding& finding : board.findings.all()) count += finding.rule == Rule::not_modelled ? 1 : 0;
    return count;
  }

  TestBoard board;
  wire::FramePtr frame;
};

TEST_F(DuplexTest, HalfDuplexWaitsForTheOtherEndAndTheGap) {
  link_to("100-half-negotiating");
  const Instant last_bit = incoming();
  board.send(0, {1});
  arrive(last_bit);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_EQ(board.sent[0].at, last_bit + 960ns);
  EXPECT_EQ(not_modelled(), 0U);
}

TEST_F(DuplexTest, FullDuplexDoesNotWait) {
  link_to("100-full-negotiating");
  const Instant last_bit = incoming();
  board.send(0, {1});
  arrive(last_bit);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_LT(board.sent[0].at, last_bit);
  EXPECT_EQ(not_modelled(), 0U);
}

// A port forced to 100 full, which a chip that negotiates takes for half duplex.
TEST_F(DuplexTest, FramesBothWaysAtOnceAreNotModelledWhereAnEndIsHalfDuplex) {
  link_to("100-full-forced");
  board.send(0, std::vector<std::uint8_t>(1000, 1));
  board.advance(10us);
  ASSERT_EQ(board.sent.size(), 1U);
  arrive(incoming());
  ASSERT_EQ(not_modelled(), 1U);
  for (const Finding& finding : board.findings.all()) {
    if (finding.rule != Rule::not_modelled) continue;
    EXPECT_EQ(finding.seen.substr(0, 48), "half duplex at the chip: frames went both ways a");
  }
}

}  // namespace
}  // namespace wizloop::test
