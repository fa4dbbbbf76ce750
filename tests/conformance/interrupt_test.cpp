// INTn, IR, SIR and their masks: facts sections 3.3 and 6 (datasheet 4.1, 4.2).
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class InterruptTest : public ConfiguredTest {
 protected:
  void SetUp() override {
    REQUIRES(interrupt_pin);
    ConfiguredTest::SetUp();
    for (int n = 0; n < 8; ++n) open(n, mode::UDP, static_cast<std::uint16_t>(5000 + n));
  }
  // An event that needs nobody else: SENDOK.
  void sent(int socket) { broadcast(socket, {1}); }
  // RECV, from the peer.
  void datagram(int socket) {
    peer().send(peer().udp(1, static_cast<std::uint16_t>(5000 + socket), Octets{1}));
    wait(50us);
  }
  bool low() {
    wait(1us);
    return !target().intn();
  }
};

constexpr Duration four_pll_clocks = picoseconds(26'667);
constexpr Duration received_to_recv = 3us;  // 9.3: last bit in until RECV

TEST_F(InterruptTest, PinIsHighWithoutMasks) {
  sent(0);
  EXPECT_FALSE(low());
  EXPECT_EQ(get("SIR"), 0x01U);
}

TEST_F(InterruptTest, SimrLetsEachSocketThrough) {
  for (int n = 0; n < 8; ++n) {
    set("SIMR", 1U << n);
    EXPECT_FALSE(low()) << n;
    sent(n);
    EXPECT_TRUE(low()) << n;
    clear_interrupts(n);
    EXPECT_FALSE(low()) << n;
  }
}

TEST_F(InterruptTest, SimrHidesTheOthers) {
  set("SIMR", 0xFE);
  sent(0);
  EXPECT_FALSE(low());
  EXPECT_EQ(get("SIR"), 0x01U);
}

TEST_F(InterruptTest, WritingAMaskActsAtOnce) {
  sent(0);
  set("SIMR", 0x01);
  EXPECT_TRUE(low());
  set("SIMR", 0x00);
  EXPECT_FALSE(low());
  set("SIMR", 0x01);
  set(0, "Sn_IMR", 0x0F);  // without SENDOK
  EXPECT_FALSE(low());
  set(0, "Sn_IMR", 0xFF);
  EXPECT_TRUE(low());
}

// 3.3, 8 no. 3: Sn_IR latches though masked; Sn_IMR gates SIR and INTn.
TEST_F(InterruptTest, SnImrGatesSirAndThePinButNotSnIr) {
  set("SIMR", 0xFF);
  set(0, "Sn_IMR", 0x00);
  sent(0);
  EXPECT_EQ(interrupts(0), ir::SENDOK);
  EXPECT_EQ(get("SIR"), 0U);
  EXPECT_FALSE(low());
}

TEST_F(InterruptTest, SnImrTakesEachCauseByItself) {
  REQUIRES(peer);
  set("SIMR", 0xFF);
  set(0, "Sn_IMR", ir::SENDOK);
  datagram(0);
  EXPECT_FALSE(low());
  address(0, wire::broadcast_ipv4, 9);
  send(0, {1});
  wait(100us);
  EXPECT_TRUE(low());
  EXPECT_EQ(interrupts(0), ir::SENDOK | ir::RECV);
  set(0, "Sn_IR", ir::SENDOK);
  EXPECT_FALSE(low());
  EXPECT_EQ(get("SIR"), 0U);
}

// 2: IMR = 0 masks the pin only, the IR bit still sets.
TEST_F(InterruptTest, CommonCausesGoThroughImr) {
  REQUIRES(peer);
  peer().send(peer().arp(wire::Arp::Operation::request, {peer_mac(), chip_ip}, chip_ip));
  wait(100us);
  EXPECT_EQ(get("IR"), 0x80U);
  EXPECT_FALSE(low());
  set("IMR", 0x40);
  EXPECT_FALSE(low());
  set("IMR", 0x80);
  EXPECT_TRUE(low());
  set("IR", 0x80);
  EXPECT_FALSE(low());
}

// 11, 12 no. 45: two sources, one cleared: stays low until all are.
TEST_F(InterruptTest, PinStaysLowUntilAllSourcesAreCleared) {
  REQUIRES(peer);
  REQUIRES(exact_time);
  set("SIMR", 0xFF);
  datagram(0);
  datagram(1);
  ASSERT_TRUE(low());
  clear_interrupts(0);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_FALSE(target().intn());
    wait(10ns);
  }
  clear_interrupts(1);
  EXPECT_FALSE(low());
}

// 3.3: clearing does not lose what comes with it: a second SEND sets SENDOK again.
TEST_F(InterruptTest, LaterEventSetsTheClearedBitAgain) {
  set("SIMR", 0xFF);
  sent(0);
  clear_interrupts(0);
  EXPECT_FALSE(low());
  sent(0);
  EXPECT_TRUE(low());
}

// 3.3: setting beats clearing if both occur in the same instant; a host that began to clear has not seen the event.
TEST_F(InterruptTest, EventInTheInstantOfItsClearingIsNotLost) {
  REQUIRES(peer);
  REQUIRES(exact_time);
  const auto left_after_clearing = [this](Duration after_event) {
    datagram(0);
    const Instant event = peer().send(peer().udp(1, 5000, Octets{2})) + received_to_recv;
    target().select();
    exchange(header(registers_of(0), offset_of("Sn_IR"), true));
    wait_until(event + after_event);
    exchange({0xFF});
    target().deselect();
    return interrupts(0);
  };
  EXPECT_EQ(left_after_clearing(Duration{}), ir::RECV);
  EXPECT_EQ(left_after_clearing(picoseconds(1)), 0U);
}

TEST_F(InterruptTest, CommonEventInTheInstantOfItsClearingIsNotLost) {
  REQUIRES(peer);
  REQUIRES(exact_time);
  const net::Station thief{{0x02, 0, 0, 0, 0, 0x66}, chip_ip};
  const Instant event = peer().send(peer().arp(wire::Arp::Operation::request, thief, peer_ip())) + received_to_recv;
  target().select();
  exchange(header(common_block, offset_of("IR"), true));
  wait_until(event);
  exchange({0xFF});
  target().deselect();
  EXPECT_EQ(get("IR"), 0x80U);
  set("IR", 0x80);
  EXPECT_EQ(get("IR"), 0x00U);
}

TEST_F(InterruptTest, PinFallsFourPllClocksAfterTheEvent) {
  REQUIRES(peer);
  REQUIRES(exact_time);
  set("SIMR", 0x01);
  const Instant last_bit = peer().send(peer().udp(1, 5000, Octets{1}));
  wait_until(last_bit + 3us);  // 9.3: last bit in until RECV
  ASSERT_EQ(interrupts(0), ir::RECV);
  wait(four_pll_clocks - picoseconds(1));
  EXPECT_TRUE(target().intn());
  wait(picoseconds(1));
  EXPECT_FALSE(target().intn());
}

TEST_F(InterruptTest, PinRisesFourPllClocksAfterTheCauseIsCleared) {
  REQUIRES(peer);
  REQUIRES(exact_time);
  set("SIMR", 0x01);
  datagram(0);
  ASSERT_TRUE(low());
  clear_interrupts(0);
  wait(four_pll_clocks - picoseconds(1));
  EXPECT_FALSE(target().intn());
  wait(picoseconds(1));
  EXPECT_TRUE(target().intn());
}

// 6: I_AWT = (L + 1) x 4 / 150 MHz.
class IntlevelTest : public InterruptTest, public testing::WithParamInterface<std::uint16_t> {};

TEST_P(IntlevelTest, PinStaysHighForItsPause) {
  REQUIRES(peer);
  REQUIRES(exact_time);
  const Duration pause = Frequency{150'000'000}.periods(4 * (std::int64_t{GetParam()} + 1));
  set("INTLEVEL", GetParam());
  set("SIMR", 0x01);
  datagram(0);
  ASSERT_TRUE(low());
  clear_interrupts(0);
  wait(four_pll_clocks);
  ASSERT_TRUE(target().intn());
  const Instant rise = now();
  // The next cause is there at once: RECV leaves data in the ring.
  command(0, cr::RECV);
  if (rise + pause > now()) {
    wait_until(rise + pause - picoseconds(1));
    EXPECT_TRUE(target().intn());
    wait(picoseconds(1));
  }
  wait(four_pll_clocks);
  EXPECT_FALSE(target().intn());
}

INSTANTIATE_TEST_SUITE_P(Levels, IntlevelTest, testing::Values(1, 0x00FF, 0xFFFF));

// MR.RST takes INTLEVEL back to 0, and with it the pause that goes on.
TEST_F(InterruptTest, SoftwareResetEndsThePause) {
  set("INTLEVEL", 0xFFFF);  // 1.7 ms
  set("SIMR", 0x01);
  sent(0);
  ASSERT_TRUE(low());
  clear_interrupts(0);
  ASSERT_FALSE(low());
  set("MR", 0x80);
  configure();
  set("SIMR", 0x01);
  open(0, mode::UDP, 5000);
  sent(0);
  EXPECT_TRUE(low());
}

TEST_F(InterruptTest, WithoutIntlevelThereIsNoPause) {
  REQUIRES(peer);
  REQUIRES(exact_time);
  set("SIMR", 0x01);
  datagram(0);
  ASSERT_TRUE(low());
  clear_interrupts(0);
  wait(four_pll_clocks);
  ASSERT_TRUE(target().intn());
  set(0, "Sn_CR", cr::RECV);
  wait(four_pll_clocks);
  EXPECT_FALSE(target().intn());
}

// Sn_IR's causes in TCP: CON once, DISCON, TIMEOUT, SENDOK.
class TcpInterruptTest : public TcpTest {};

TEST_F(TcpInterruptTest, EachCauseReachesThePin) {
  REQUIRES(interrupt_pin);
  set("RCR", 0);
  set("SIMR", 0x01);
  const auto expect_cause = [this](std::uint8_t cause) {
    wait(1us);
    EXPECT_EQ(interrupts(0), cause);
    EXPECT_FALSE(target().intn());
    clear_interrupts(0);
    wait(1us);
    EXPECT_TRUE(target().intn());
  };
  listen();
  tcp().syn();
  wait(1ms);
  ASSERT_TRUE(tcp().learn_board_iss());
  tcp().ack();
  wait(1ms);
  expect_cause(ir::CON);
  send(0, {1});
  wait(1ms);
  expect_cause(ir::SENDOK);
  tcp().ack();
  tcp().data(counting(5));
  wait(1ms);
  expect_cause(ir::RECV);
  tcp().fin();
  wait(1ms);
  expect_cause(ir::DISCON);
  command(0, cr::DISCON);
  wait(1s);
  expect_cause(ir::TIMEOUT);
}

}  // namespace
}  // namespace wizloop::conformance
