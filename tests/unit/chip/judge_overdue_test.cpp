// What the judge says of what firmware leaves undone.
#include "tests/unit/chip/judge_test.hpp"

#include <algorithm>

#include "sim/core/limits.hpp"
#include "tests/support/planned_faults.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

// What firmware leaves undone ----------------------------------------------------------------------------------------

TEST_F(JudgeTest, AnInterruptThatNobodyServesIsFound) {
  board.write(0, common::SIMR, {0x01});
  open_udp();
  board.arrive_udp(9, 7, {1});
  board.advance(limits::interrupt_unserved + 1ms);
  EXPECT_THAT(seen(Rule::interrupt_ignored), ElementsAre("INTn low, no SPI access for 500 ms"));
  EXPECT_THAT(first(Rule::interrupt_ignored).evidence.spi, IsEmpty());
}

TEST_F(JudgeTest, AnInterruptThatIsPolledAtTimesIsServed) {
  board.write(0, common::SIMR, {0x01});
  open_udp();
  board.arrive_udp(9, 7, {1});
  for (int i = 0; i < 20; ++i) {
    board.advance(400ms);
    board.interrupts(0);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, AnInterruptThatWasClearedIsServed) {
  board.write(0, common::SIMR, {0x01});
  open_udp();
  board.arrive_udp(9, 7, {1});
  board.advance(1ms);
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(10s);
  EXPECT_THAT(broken(), IsEmpty());
}

// B09. Each of these shows that firmware wants interrupts.
TEST_F(JudgeTest, AnInterruptThatSimrMasksIsFoundInFirmwareThatWantsInterrupts) {
  using Wish = void (*)(TestBoard&);
  const Wish wishes[] = {
      [](TestBoard& of) {
        of.write(0, common::SIMR, {0x01});
        of.write(0, common::SIMR, {0x00});
      },
      [](TestBoard& of) { of.write(0, common::IMR, {0x80}); },
      [](TestBoard& of) { of.set8(0, socket::Sn_IMR, sn_ir::RECV); },
      [](TestBoard& of) { of.chip.note_intn_awaited(); },
  };
  for (const Wish wish : wishes) {
    for (const bool wishes_first : {true, false}) {
      TestBoard deaf;
      deaf.write(0, common::MR, {mr::RST});
      deaf.set8(0, socket::Sn_MR, sn_mr::UDP);
      deaf.set16(0, socket::Sn_PORT, 7);
      deaf.command(0, sn_cr::OPEN);
      if (wishes_first) wish(deaf);
      deaf.configure();
      deaf.arrive_udp(9, 7, {1});
      deaf.advance(1ms);
      if (!wishes_first) wish(deaf);
      deaf.advance(limits::interrupt_unserved + 1ms);
      ASSERT_THAT(deaf.findings.all(), SizeIs(1));
      EXPECT_EQ(deaf.findings.all()[0].rule, Rule::interrupt_masked);
      EXPECT_EQ(deaf.findings.all()[0].seen, "SIMR = 0x00, no SPI access for 500 ms");
    }
  }
}

TEST_F(JudgeTest, FirmwareThatWantsNoInterruptsPollsAndIsNotDeaf) {
  open_udp();
  board.arrive_udp(9, 7, {1});
  board.advance(20s);
  board.write(0, common::SIMR, {0x00});  // not even if it masks everything on purpose
  board.write(0, common::IMR, {0x00});
  board.arrive_udp(9, 7, {1});
  board.advance(20s);
  EXPECT_THAT(broken(), IsEmpty());
}

// The bus is never silent: PHYCFGR is read each 100 ms.
TEST_F(JudgeTest, AMaskedInterruptIsFoundWhenItsSocketHasNotBeenVisitedForLong) {
  const auto watch_link = [this](Duration how_long) {
    for (Duration spent{}; spent < how_long; spent += 100ms) {
      board.advance(100ms);
      board.read(0, common::PHYCFGR, 1);
    }
  };
  open_udp();
  board.write(0, common::SIMR, {0x02});
  board.arrive_udp(9, 7, {1});
  watch_link(limits::socket_unserved - 1s);
  board.get16(0, socket::Sn_RX_RSR);  // it polls this socket: it knows
  watch_link(3 * limits::socket_unserved);
  EXPECT_THAT(broken(), IsEmpty());
  board.set8(0, socket::Sn_IR, 0xFF);
  board.advance(1ms);
  board.arrive_udp(9, 7, {2});
  watch_link(limits::socket_unserved + 1s);
  EXPECT_THAT(seen(Rule::interrupt_masked), ElementsAre("SIMR = 0x02, S0 Sn_IR = 0x04, not accessed for 10 s"));
  EXPECT_EQ(first(Rule::interrupt_masked).count, 1U);
  EXPECT_EQ(first(Rule::interrupt_masked).evidence.state, "SOCK_UDP");
}

// B01.
TEST_F(JudgeTest, ARegisterPolledWithoutAnExitIsFound) {
  open_udp();
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.write(0, common::RTR, {0xFF, 0xFF, 0xFF});  // the retries take longer than anybody waits
  board.send(0, {1});
  for (int i = 0; i < 7000; ++i) {
    board.interrupts(0);
    board.advance(10ms);
  }
  ASSERT_THAT(seen(Rule::endless_poll), SizeIs(1));
  EXPECT_EQ(seen(Rule::endless_poll)[0], "S0 Sn_IR = 0x00, read without a change for 60 s");
  EXPECT_EQ(first(Rule::endless_poll).count, 1U);
  board.interrupts(0);  // the count says how long it went on, not how often it was read
  EXPECT_EQ(first(Rule::endless_poll).count, 1U);
}

TEST_F(JudgeTest, ACommandRegisterThatIsPolledForLongIsFoundSooner) {
  TestBoard stuck{TestBoard::with("chip.quirk.illegal_command", "stuck")};
  stuck.set8(0, socket::Sn_CR, sn_cr::LISTEN);  // of a closed socket
  for (int i = 0; i < 1100; ++i) {
    EXPECT_EQ(stuck.get8(0, socket::Sn_CR), sn_cr::LISTEN);
    stuck.advance(10ms);
  }
  ASSERT_THAT(stuck.findings.all(), SizeIs(2));
  EXPECT_EQ(stuck.findings.all()[1].seen, "S0 Sn_CR = 0x02, read without a change for 10 s");
}

TEST_F(JudgeTest, ARegisterThatReadsWhatFirmwareWaitsForIsNoEndlessPoll) {
  for (int i = 0; i < 1100; ++i) {
    EXPECT_EQ(board.get8(0, socket::Sn_CR), 0x00);
    EXPECT_THAT(board.read(0, common::MR, 1), ElementsAre(0x00));
    EXPECT_THAT(board.read(0, common::VERSIONR, 1), ElementsAre(0x04));
    board.advance(10ms);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

// B02: the chip has forgotten what firmware waits for.
TEST_F(JudgeTest, AResultOfSendThatNeverComesIsAnEndlessPoll) {
  PlannedFaults faults{board.queue, board.trace, PlannedFaults::Texts{{"chip_sendok_lost", "nth=1"}}};
  board.chip.inject(*faults);
  open_udp();
  board.send(0, {1});
  board.arrive_udp(9, 7, {1});
  for (int i = 0; i < 1100; ++i) {
    board.interrupts(0);
    board.advance(10ms);
  }
  EXPECT_THAT(seen(Rule::endless_poll), ElementsAre("S0 Sn_IR = 0x04, read without a change for 10 s"));
}

TEST_F(JudgeTest, ASocketThatHasSentMayBePolledForEver) {
  open_udp();
  board.send(0, {1});
  finish_send();
  for (int i = 0; i < 1100; ++i) {
    board.interrupts(0);
    board.advance(10ms);
  }
  board.send(0, {1});  // and whose SENDOK stands
  for (int i = 0; i < 1100; ++i) {
    board.interrupts(0);
    board.advance(10ms);
  }
  EXPECT_THAT(seen(Rule::endless_poll), IsEmpty());
}

TEST_F(JudgeTest, WaitingForClientsDataOrACableMayTakeForEver) {
  board.configure();
  tcp.listen();
  for (int i = 0; i < 7000; ++i) {
    board.status(0);
    board.interrupts(0);
    board.get16(0, socket::Sn_RX_RSR);
    board.get16(0, socket::Sn_TX_FSR);
    board.read(0, common::PHYCFGR, 1);
    board.advance(10ms);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, AWaitThatTheChipEndsIsNotEndless) {
  open_udp();
  board.set32(0, socket::Sn_DIPR, peer_ip);
  board.send(0, {1});
  while (board.interrupts(0) == 0) board.advance(1ms);  // ARP gives up after 1.8 s
  EXPECT_THAT(broken(), IsEmpty());
}

// B21.
TEST_F(JudgeTest, ASocketOfAnEarlierHostLifeIsLeaked) {
  open_udp(0, 7);
  board.chip.note_host_restart();
  EXPECT_THAT(broken(), IsEmpty());
  open_udp(1, 8);
  EXPECT_THAT(seen(Rule::socket_leaked), ElementsAre("S0 Sn_SR = 0x22 from before the restart, while S1 is opened"));
}

TEST_F(JudgeTest, AResetOrCloseAfterAHostRestartLeaksNothing) {
  open_udp(0, 7);
  board.chip.note_host_restart();
  board.write(0, common::MR, {mr::RST});
  open_udp(1, 8);
  board.chip.note_host_restart();
  board.command(1, sn_cr::CLOSE);
  open_udp(0, 7);
  EXPECT_THAT(broken(), IsEmpty());
}

// DHCP ---------------------------------------------------------------------------------------------------------------

class LeaseTest : public JudgeTest {
 protected:
  static constexpr wire::Ipv4Address granted = wire::ipv4(192, 168, 1, 77);

  void SetUp() override {
    open_udp(0, 68);
    board.write(0, common::SIPR, {0, 0, 0, 0});
  }
  void arrive_reply(std::uint8_t type, const wire::MacAddress& client = chip_mac) {
    Octets message(240);
    message[0] = 2;
    store32(&message[16], granted);
    std::ranges::copy(client, message.begin() + 28);
    store32(&message[236], 0x63825363);
    for (const int byte : {0, 54, 4, 192, 168, 1, 1, 53, 1, 0, 255}) message.push_back(static_cast<std::uint8_t>(byte));
    message[message.size() - 2] = type;
    board.arrive_udp(67, 68, message, 0xFFFFFFFF, wire::broadcast_mac);
    board.advance(1ms);
  }
};

TEST_F(LeaseTest, ALeaseThatSiprNeverGetsIsFound) {
  arrive_reply(5);
  board.advance(limits::lease_overdue);
  EXPECT_THAT(seen(Rule::lease_not_applied), ElementsAre("granted 192.168.1.77, SIPR = 0.0.0.0"));
}

TEST_F(LeaseTest, ASendFromAnotherSocketWithoutTheLeaseIsFoundAtOnce) {
  arrive_reply(5);
  board.set8(1, socket::Sn_MR, sn_mr::UDP);
  board.set16(1, socket::Sn_PORT, 5000);
  board.set32(1, socket::Sn_DIPR, 0xFFFFFFFF);
  board.set16(1, socket::Sn_DPORT, 9);
  board.command(1, sn_cr::OPEN);
  board.send(1, {1});
  EXPECT_THAT(seen(Rule::lease_not_applied), SizeIs(1));
  board.advance(1min);
  EXPECT_EQ(first(Rule::lease_not_applied).count, 1U);
}

TEST_F(LeaseTest, ALeaseThatWasGivenBackIsNotWanting) {
  for (const std::uint8_t type : {std::uint8_t{4}, std::uint8_t{7}}) {  // DECLINE, RELEASE
    arrive_reply(5);
    Octets message(240);
    message[0] = 1;
    std::ranges::copy(chip_mac, message.begin() + 28);
    store32(&message[236], 0x63825363);
    for (const int byte : {53, 1, int{type}, 255}) message.push_back(static_cast<std::uint8_t>(byte));
    board.set32(0, socket::Sn_DIPR, 0xFFFFFFFF);
    board.set16(0, socket::Sn_DPORT, 67);
    board.send(0, message);
    finish_send();
    board.advance(limits::lease_overdue);
    EXPECT_THAT(seen(Rule::lease_not_applied), IsEmpty());
  }
}

TEST_F(LeaseTest, ALeaseInSiprIsApplied) {
  arrive_reply(5);
  board.write(0, common::SIPR, {192, 168, 1, 77});
  board.advance(1min);
  EXPECT_THAT(broken(), IsEmpty());
}

// As ioLibrary's DHCP client does before it takes the address.
TEST_F(LeaseTest, ProbingTheLeasedAddressIsNoUseWithoutOne) {
  arrive_reply(5);
  board.set32(0, socket::Sn_DIPR, granted);
  board.set16(0, socket::Sn_DPORT, 5000);
  board.send(0, {1});
  EXPECT_THAT(broken(), IsEmpty());
}

// Servers broadcast to clients that ask for it.
TEST_F(LeaseTest, ALeaseOfAnotherClientGrantsNothing) {
  arrive_reply(5, peer_mac);
  board.advance(1min);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(LeaseTest, OffersAndOtherDatagramsGrantNothing) {
  arrive_reply(2);
  board.arrive_udp(67, 68, Octets(239, 2), 0xFFFFFFFF, wire::broadcast_mac);
  Octets cut(242, 0);
  cut[0] = 2;
  store32(&cut[16], granted);
  store32(&cut[236], 0x63825363);
  cut[240] = 53;
  board.arrive_udp(67, 68, cut, 0xFFFFFFFF, wire::broadcast_mac);
  board.advance(1min);
  EXPECT_THAT(seen(Rule::lease_not_applied), IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
