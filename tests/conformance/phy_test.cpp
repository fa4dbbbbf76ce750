// The PHY behind PHYCFGR: facts sections 7.1 and 7.2 (datasheet 4.1, 5.4).
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class PhyTest : public ConfiguredTest {
 protected:
  std::uint64_t phycfgr() { return get("PHYCFGR"); }
  // The datasheet's procedure: mode, reset, release.
  void force(std::uint64_t opmdc) {
    set("PHYCFGR", 0xC0 | opmdc << 3);
    set("PHYCFGR", 0x40 | opmdc << 3);
    set("PHYCFGR", 0xC0 | opmdc << 3);
  }
  // Waits until LNK shows, at most 5 s.
  bool link_comes() {
    for (int i = 0; i < 500; ++i) {
      if ((phycfgr() & 1) != 0) return true;
      wait(10ms);
    }
    return false;
  }
  // The cable goes into a port of another kind. False: no link comes.
  bool plug_into(std::string_view partner) {
    target().set_cable(false);
    wait(10ms);
    target().set_link_partner(wire::link_abilities_of(partner).value());
    target().set_cable(true);
    return link_comes();
  }
};

TEST_F(PhyTest, LinkedByPinsReadsBf) { EXPECT_EQ(phycfgr(), 0xBFU); }

TEST_F(PhyTest, LinkedWithOpmdReadsFf) {
  force(7);
  ASSERT_TRUE(link_comes());
  EXPECT_EQ(phycfgr(), 0xFFU);
}

TEST_F(PhyTest, WithoutLinkReadsBa) {
  REQUIRES(cable_switch);
  target().set_cable(false);
  wait(10ms);
  EXPECT_EQ(phycfgr(), 0xBAU);
}

// 7.1: every code of OPMDC that gives a link: DPX and SPD as the mode says.
TEST_F(PhyTest, EveryForcedModeShowsItsSpeedAndDuplex) {
  const std::pair<std::uint64_t, std::uint64_t> modes[] = {
      {0, 0xC1},  // 10 half
      {1, 0xCD},  // 10 full
      {2, 0xD3},  // 100 half
      {3, 0xDF},  // 100 full
      {4, 0xE3},  // 100 half, negotiating
      {7, 0xFF},  // all capable
  };
  for (const auto& [code, expected] : modes) {
    force(code);
    ASSERT_TRUE(link_comes()) << code;
    EXPECT_EQ(phycfgr(), expected) << code;
  }
}

// 7.1: the pins are read at RSTn; OPMDC keeps reading 111.
TEST_F(PhyTest, PinsChooseTheModeAtReset) {
  REQUIRES(mode_pins);
  REQUIRES(reset_pin);
  const std::pair<std::uint8_t, std::uint64_t> modes[] = {
      {0, 0xB9},  // 10 half
      {1, 0xBD},  // 10 full (observed)
      {2, 0xBB},  // 100 half
      {3, 0xBF},  // 100 full
      {4, 0xBB},  // 100 half, negotiating
      {7, 0xBF},  // all capable
  };
  for (const auto& [pins, expected] : modes) {
    target().set_pmode_pins(pins);
    target().set_rstn(false);
    wait(500us);
    target().set_rstn(true);
    wait(1ms);
    ASSERT_TRUE(link_comes()) << int{pins};
    EXPECT_EQ(phycfgr(), expected) << int{pins};
  }
}

// 101 and 110 are not used; default: no link.
TEST_F(PhyTest, PinsThatAreNotUsedGiveNoLink) {
  REQUIRES(mode_pins);
  REQUIRES(reset_pin);
  for (const auto pins : {std::uint8_t{5}, std::uint8_t{6}}) {
    target().set_pmode_pins(pins);
    target().set_rstn(false);
    wait(500us);
    target().set_rstn(true);
    wait(1ms);
    EXPECT_FALSE(link_comes()) << int{pins};
  }
}

TEST_F(PhyTest, PinsAreNotReadAtAnyOtherTime) {
  REQUIRES(mode_pins);
  target().set_pmode_pins(1);
  wait(10ms);
  EXPECT_EQ(phycfgr(), 0xBFU);
  set("MR", 0x80);
  wait(3s);
  EXPECT_EQ(phycfgr(), 0xBFU);
}

// 7.1: ioLibrary writes the mode with RST = 0 at once, clears RST again and sets it, without delay; ESP waits 10 ms.
TEST_F(PhyTest, ProceduresOfDriversChooseTheMode) {
  for (const Duration pause : {Duration{}, Duration{10ms}}) {
    force(7);
    ASSERT_TRUE(link_comes());
    set("PHYCFGR", 0x48);
    set("PHYCFGR", 0x48);
    wait(pause);
    set("PHYCFGR", 0xC8);
    ASSERT_TRUE(link_comes());
    EXPECT_EQ(phycfgr(), 0xCDU);
  }
}

TEST_F(PhyTest, PowerDownHasNoLinkAndRegistersWork) {
  force(6);
  wait(10s);
  EXPECT_EQ(phycfgr() & 1, 0U);
  EXPECT_EQ(get("VERSIONR"), 0x04U);
  set("RCR", 3);
  EXPECT_EQ(get("RCR"), 3U);
}

TEST_F(PhyTest, PowerDownHearsAndSaysNothing) {
  REQUIRES(peer);
  force(6);
  wait(10ms);
  peer().send(peer().ping(1, 1, counting(30)));
  wait(1ms);
  EXPECT_SILENCE();
}

// 7.2 and IEEE 802.3 clause 28: what a chip that negotiates makes of each kind of port. PHYCFGR shows speed and duplex;
// parallel detection cannot tell the duplex, so it is half.
TEST_F(PhyTest, NegotiationFindsTheBestCommonMode) {
  REQUIRES(cable_switch);
  REQUIRES(link_partner);
  const std::pair<std::string_view, std::uint64_t> partners[] = {
      {"100-full-negotiating", 0xBF}, {"100-half-negotiating", 0xBB}, {"10-full-negotiating", 0xBD},
      {"10-half-negotiating", 0xB9},  {"100-full-forced", 0xBB},      {"100-half-forced", 0xBB},
      {"10-full-forced", 0xB9},       {"10-half-forced", 0xB9},
  };
  for (const auto& [partner, expected] : partners) {
    ASSERT_TRUE(plug_into(partner)) << partner;
    EXPECT_EQ(phycfgr(), expected) << partner;
  }
}

// (observed) 0xF9: OPMD = 1, all capable, 10 half through negotiation.
TEST_F(PhyTest, NegotiatedTenHalfWithOpmdReadsF9) {
  REQUIRES(cable_switch);
  REQUIRES(link_partner);
  force(7);
  ASSERT_TRUE(plug_into("10-half-negotiating"));
  EXPECT_EQ(phycfgr(), 0xF9U);
}

// 7.2: a port without 10 and 100 Mbit/s, and a forced speed that the partner does not have.
TEST_F(PhyTest, WithoutACommonModeThereIsNoLink) {
  REQUIRES(cable_switch);
  REQUIRES(link_partner);
  EXPECT_FALSE(plug_into("1000-only"));
  force(3);
  EXPECT_FALSE(plug_into("10-full-negotiating"));
  EXPECT_FALSE(plug_into("10-full-forced"));
  force(1);
  EXPECT_FALSE(plug_into("100-full-forced"));
  force(4);
  EXPECT_FALSE(plug_into("10-half-negotiating"));
  EXPECT_TRUE(plug_into("100-half-negotiating"));
}

TEST_F(PhyTest, TwoForcedEndsLinkAtTheSameSpeedWhateverTheirDuplex) {
  REQUIRES(cable_switch);
  REQUIRES(link_partner);
  force(3);
  ASSERT_TRUE(plug_into("100-half-forced"));
  EXPECT_EQ(phycfgr(), 0xDFU);
  force(0);
  ASSERT_TRUE(plug_into("10-full-forced"));
  EXPECT_EQ(phycfgr(), 0xC1U);
}

// IEEE 802.3: 800 ns a byte, both ways. 60 bytes, FCS, preamble and SFD make 57.6 us.
TEST_F(PhyTest, TenMegabitTakesEightHundredNanosecondsAByte) {
  REQUIRES(peer);
  REQUIRES(cable_switch);
  REQUIRES(link_partner);
  REQUIRES(exact_time);
  ASSERT_TRUE(plug_into("10-full-negotiating"));
  peer().forget();
  const Instant request_in = peer().send(peer().ping(1, 1, counting(18)));
  wait(1ms);
  ASSERT_EQ(peer().seen().size(), 1U);
  EXPECT_EQ(request_in, target().now() - 1ms + picoseconds(57'600'000));
  EXPECT_EQ(peer().seen()[0].last_bit - peer().seen()[0].at, picoseconds(57'600'000));
}

// 7.1: RST = 0 holds the PHY; the mode is taken when it goes to 1.
TEST_F(PhyTest, HeldInResetItHasNoLink) {
  set("PHYCFGR", 0x38);
  wait(10s);
  EXPECT_EQ(phycfgr() & 0x81, 0U);
  set("PHYCFGR", 0xB8);
  EXPECT_TRUE(link_comes());
}

TEST_F(PhyTest, ModeWrittenWithoutResetChangesNothing) {
  set("PHYCFGR", 0xC8);  // OPMD, 10 full, RST stays 1
  wait(10ms);
  EXPECT_EQ(phycfgr(), 0xCFU);  // still 100 full
}

TEST_F(PhyTest, CodeWithoutOpmdIsNotUsed) {
  set("PHYCFGR", 0x88);
  set("PHYCFGR", 0x08);
  set("PHYCFGR", 0x88);  // 001, but by pins
  ASSERT_TRUE(link_comes());
  EXPECT_EQ(phycfgr() & 0x07, 0x07U);
}

TEST_F(PhyTest, StatusBitsCannotBeWritten) {
  set("PHYCFGR", 0xB8);
  EXPECT_EQ(phycfgr(), 0xBFU);
  REQUIRES(cable_switch);
  target().set_cable(false);
  wait(10ms);
  set("PHYCFGR", 0xBF);
  EXPECT_EQ(phycfgr(), 0xBAU);
}

// 7.2: negotiation takes about 2 s, a forced mode half a second.
TEST_F(PhyTest, NegotiationTakesTwoSeconds) {
  REQUIRES(cable_switch);
  REQUIRES(exact_time);
  target().set_cable(false);
  wait(10ms);
  target().set_cable(true);
  wait(2s - 1us);
  EXPECT_EQ(phycfgr(), 0xBAU);
  wait(1us);
  EXPECT_EQ(phycfgr(), 0xBFU);
}

TEST_F(PhyTest, ForcedModeTakesHalfASecond) {
  REQUIRES(exact_time);
  force(3);
  wait(500ms - 1us);
  EXPECT_EQ(phycfgr() & 1, 0U);
  wait(1us);
  EXPECT_EQ(phycfgr(), 0xDFU);
}

TEST_F(PhyTest, LinkGoesWithinAMillisecondOfThePlug) {
  REQUIRES(cable_switch);
  REQUIRES(exact_time);
  target().set_cable(false);
  wait(1ms);
  EXPECT_EQ(phycfgr() & 1, 0U);
}

TEST_F(PhyTest, ShortContactDoesNotMakeALink) {
  REQUIRES(cable_switch);
  target().set_cable(false);
  wait(10ms);
  target().set_cable(true);
  wait(1s);
  target().set_cable(false);
  wait(5s);
  EXPECT_EQ(phycfgr() & 1, 0U);
}

// 7.2: no interrupt on a link change.
TEST_F(PhyTest, LinkChangeRaisesNoInterrupt) {
  REQUIRES(cable_switch);
  REQUIRES(interrupt_pin);
  set("IMR", 0xF0);
  set("SIMR", 0xFF);
  target().set_cable(false);
  wait(10ms);
  EXPECT_TRUE(target().intn());
  target().set_cable(true);
  wait(3s);
  EXPECT_TRUE(target().intn());
  EXPECT_EQ(get("IR"), 0U);
}

// 7.2: sockets are unaffected, frames sent meanwhile are lost.
TEST_F(PhyTest, SocketsOutliveTheLink) {
  REQUIRES(peer);
  REQUIRES(cable_switch);
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  target().set_cable(false);
  wait(10ms);
  EXPECT_EQ(status(0), sr::UDP);
  send(0, counting(10));
  wait(10ms);
  EXPECT_SILENCE();
  target().set_cable(true);
  wait(3s);
  peer().send(peer().udp(1, 5000, counting(10)));
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 18U);
}

// DS 5.4, typical mA.
TEST_F(PhyTest, SupplyCurrentFollowsTheState) {
  REQUIRES(current_meter);
  REQUIRES(cable_switch);
  EXPECT_NEAR(target().supply_current_ma(), 128, 1);
  force(1);
  ASSERT_TRUE(link_comes());
  EXPECT_NEAR(target().supply_current_ma(), 75, 1);
  target().set_cable(false);
  wait(10ms);
  EXPECT_NEAR(target().supply_current_ma(), 65, 1);
  force(6);
  wait(10ms);
  EXPECT_NEAR(target().supply_current_ma(), 13, 1);
}

}  // namespace
}  // namespace wizloop::conformance
