// Reset and power-up: facts section 1.6 (datasheet 5.5.1, 4.1 MR).
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class ResetTest : public ConfiguredTest {
 protected:
  // Something in every kind of register; a datagram in the ring too where there is somebody to send it.
  void make_a_mess() {
    set("RTR", 500);
    set("SIMR", 0xFF);
    set(0, "Sn_KPALVTR", 3);
    set(1, "Sn_RXBUF_SIZE", 4);
    open(0, mode::UDP, 5000);
    broadcast(0, {1, 2, 3});
    ASSERT_EQ(status(0), sr::UDP);
    ASSERT_EQ(interrupts(0), ir::SENDOK);
    if (!target().has(Feature::peer)) return;
    peer().forget();
    peer().send(peer().udp(1, 5000, Octets{1, 2, 3}));
    wait(1ms);
    ASSERT_EQ(interrupts(0), ir::SENDOK | ir::RECV);
  }
  void expect_reset_values() {
    EXPECT_EQ(get("RTR"), 2000U);
    EXPECT_EQ(get("SIMR"), 0U);
    EXPECT_EQ(get("SIPR"), 0U);
    EXPECT_EQ(get(0, "Sn_KPALVTR"), 0U);
    EXPECT_EQ(get(1, "Sn_RXBUF_SIZE"), 2U);
    EXPECT_EQ(status(0), sr::CLOSED);
    EXPECT_EQ(interrupts(0), 0U);
    EXPECT_EQ(get(0, "Sn_TX_RD"), 0U);
    EXPECT_EQ(get(0, "Sn_TX_WR"), 0U);
    EXPECT_EQ(get(0, "Sn_RX_WR"), 0U);
    EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  }
};

TEST_F(ResetTest, SoftwareResetRestoresRegistersAndClosesSockets) {
  make_a_mess();
  set("MR", 0x80);
  expect_reset_values();
}

TEST_F(ResetTest, SoftwareResetBitClearsItself) {
  set("MR", 0x90);  // PB with it
  EXPECT_EQ(get("MR"), 0x00U);
}

// 12 no. 42: usable in the next frame.
TEST_F(ResetTest, RegistersCanBeWrittenInTheNextFrame) {
  set("MR", 0x80);
  set("RCR", 3);
  EXPECT_EQ(get("RCR"), 3U);
}

// 1.6, 7.2: the PHY is not touched, PHYCFGR goes back to its reset value, the link stays.
TEST_F(ResetTest, SoftwareResetKeepsTheLink) {
  ASSERT_EQ(get("PHYCFGR"), 0xBFU);
  set("PHYCFGR", 0xF8);
  ASSERT_EQ(get("PHYCFGR"), 0xFFU);
  set("MR", 0x80);
  EXPECT_EQ(get("PHYCFGR"), 0xBFU);
}

// 1.6: nobody says that buffers are cleared.
TEST_F(ResetTest, SoftwareResetLeavesTheMemory) {
  write(tx_of(3), 100, counting(200));
  write(rx_of(5), 50, counting(200, 7));
  set("MR", 0x80);
  EXPECT_EQ(read(tx_of(3), 100, 200), counting(200));
  EXPECT_EQ(read(rx_of(5), 50, 200), counting(200, 7));
}

TEST_F(ResetTest, SoftwareResetInAConnectionSendsNothing) {
  REQUIRES(peer);
  net::ScriptedConnection tcp{peer(), 40000, 5000};
  open(0, mode::TCP, 5000);
  command(0, cr::LISTEN);
  ASSERT_TRUE(tcp.establish_to_listener([this](Duration duration) { wait(duration); }));
  send(0, counting(100));
  set("MR", 0x80);
  peer().forget();
  wait(60s);
  EXPECT_SILENCE();
}

TEST_F(ResetTest, ResetPinRestoresRegistersAndClosesSockets) {
  REQUIRES(reset_pin);
  make_a_mess();
  target().set_rstn(false);
  wait(500us);
  target().set_rstn(true);
  wait(1ms);
  expect_reset_values();
}

// 1.6, TPL and the proposed model of SPI before it: MISO 0, writes lost.
TEST_F(ResetTest, SpiIsDeadUntilThePllHasLocked) {
  REQUIRES(reset_pin);
  REQUIRES(exact_time);
  target().set_rstn(false);
  wait(500us);
  EXPECT_EQ(get("VERSIONR"), 0U);
  target().set_rstn(true);
  set("RCR", 3);
  EXPECT_EQ(get("VERSIONR"), 0U);
  wait(1ms - picoseconds(1));
  EXPECT_EQ(get("VERSIONR"), 0U);
  wait(picoseconds(1));
  EXPECT_EQ(get("VERSIONR"), 0x04U);
  EXPECT_EQ(get("RCR"), 8U);
}

// 1.6: RSTn resets the PHY as well: the link is gone and comes back by negotiation.
TEST_F(ResetTest, ResetPinDropsTheLink) {
  REQUIRES(reset_pin);
  target().set_rstn(false);
  wait(500us);
  target().set_rstn(true);
  wait(1ms);
  EXPECT_EQ(get("PHYCFGR"), 0xBAU);
  wait(2500ms + target().jitter());
  EXPECT_EQ(get("PHYCFGR"), 0xBFU);
}

// 1.6: RSTn held low, the chip is silent on the wire too.
TEST_F(ResetTest, HeldInResetItAnswersNothing) {
  REQUIRES(peer);
  REQUIRES(reset_pin);
  target().set_rstn(false);
  wait(1ms);
  peer().send(peer().ping(1, 1, Octets(32)));
  wait(1ms);
  EXPECT_SILENCE();
}

// 1.6: the reset recipes of drivers, and a supervisor that holds RSTn for longer than any of them.
TEST_F(ResetTest, RecipesOfDriversWork) {
  REQUIRES(reset_pin);
  struct Recipe {
    Duration low, high;
    bool soft;
  };
  for (const Recipe& recipe : {Recipe{500us, 1ms, true}, Recipe{100ms, 100ms, false}, Recipe{560ms, 1ms, false}}) {
    make_a_mess();
    target().set_rstn(false);
    wait(recipe.low);
    target().set_rstn(true);
    wait(recipe.high);
    if (recipe.soft) {
      set("MR", 0x80);
      wait(5ms);
    }
    expect_reset_values();
    wait(3s + target().jitter());  // link
    configure();
  }
}

// 1.6, 8 no. 4: some units show VERSIONR as 0 for a while, so drivers poll it for up to 20 ms.
TEST_F(ResetTest, VersionCanBePolledFromTheEndOfTheReset) {
  REQUIRES(reset_pin);
  target().set_rstn(false);
  wait(500us);
  target().set_rstn(true);
  std::uint64_t version = 0;
  for (int i = 0; i < 40 && version == 0; ++i) {
    wait(500us);
    version = get("VERSIONR");
  }
  EXPECT_EQ(version, 0x04U);
}

// 1.6, 8 no. 12: what a pulse of 100 us does is open; one that is long enough cures it.
TEST_F(ResetTest, FullPulseCuresOneThatWasTooShort) {
  REQUIRES(reset_pin);
  make_a_mess();
  for (const Duration low : {Duration{100us}, Duration{500us}}) {
    target().set_rstn(false);
    wait(low);
    target().set_rstn(true);
    wait(1ms);
  }
  expect_reset_values();
  EXPECT_EQ(get("VERSIONR"), 0x04U);
}

TEST_F(ResetTest, TooShortAPulseAndTooEarlyAnAccessAreFound) {
  REQUIRES(reset_pin);
  REQUIRES(judge);
  const auto pulse = [this](Duration low, Duration high) {
    target().set_rstn(false);
    wait(low);
    target().set_rstn(true);
    wait(high);
    get("VERSIONR");
    return target().broken_rules();
  };
  EXPECT_EQ(pulse(500us, 1ms), (std::vector<std::string>{}));
  EXPECT_EQ(pulse(500us - 1ns, 1ms), (std::vector<std::string>{"reset-too-short"}));
  EXPECT_EQ(pulse(500us, 1ms - 1ns), (std::vector<std::string>{"reset-too-short", "access-before-pll-lock"}));
}

// 6, 2: after reset INTn is high.
TEST_F(ResetTest, InterruptPinIsHighAfterReset) {
  REQUIRES(interrupt_pin);
  make_a_mess();
  wait(1us);
  ASSERT_FALSE(target().intn());
  set("MR", 0x80);
  wait(1us);
  EXPECT_TRUE(target().intn());
}

// 1.6, 8 no. 13: a reset of the host alone is not seen by the chip: sockets and timers live on.
TEST_F(ResetTest, StateOutlivesTheHost) {
  make_a_mess();
  wait(60s);  // nobody talks to it meanwhile
  EXPECT_EQ(status(0), sr::UDP);
  EXPECT_EQ(get(0, "Sn_TX_WR"), 3U);
  if (target().has(Feature::peer)) {
    EXPECT_EQ(get(0, "Sn_RX_RSR"), 11U);
  }
}

// 1.6: power off and on.
TEST_F(ResetTest, PowerCycleStartsFromResetValues) {
  REQUIRES(power_switch);
  make_a_mess();
  target().set_power(false);
  wait(10ms);
  EXPECT_EQ(get("VERSIONR"), 0U);
  target().set_power(true);
  wait(2ms);
  expect_reset_values();
  EXPECT_EQ(get("VERSIONR"), 0x04U);
}

TEST_F(ResetTest, WithoutPowerTheWireIsSilent) {
  REQUIRES(peer);
  REQUIRES(power_switch);
  net::ScriptedConnection tcp{peer(), 40000, 5000};
  open(0, mode::TCP, 5000);
  command(0, cr::LISTEN);
  ASSERT_TRUE(tcp.establish_to_listener([this](Duration duration) { wait(duration); }));
  send(0, counting(100));
  wait(1ms);
  peer().forget();
  target().set_power(false);
  wait(60s);
  peer().send(peer().ping(1, 1, Octets(32)));
  wait(1ms);
  EXPECT_SILENCE();
}

}  // namespace
}  // namespace wizloop::conformance
