// Cases about INTn and its masks, multicast, and a host that restarts without its chip.
#include "sim/wire/igmp.hpp"
#include "tests/cases/case_test.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::IsEmpty;

// B09 ----------------------------------------------------------------------------------------------------------------

class B09_MasksCombinedWithAnd : public CaseTest {
 protected:
  void SetUp() override {
    for (int n = 0; n < 2; ++n) {
      open_udp(n, static_cast<std::uint16_t>(5000 + n));
      board.set8(n, socket::Sn_IMR, sn_ir::RECV);
    }
  }
  void mask(int simr) {
    board.write(0, common::SIMR, {static_cast<std::uint8_t>(simr)});
    board.arrive_udp(1111, 5000, {1});
    board.advance(10us);
  }
};

TEST_F(B09_MasksCombinedWithAnd, MaskOfNoSocketKeepsIntnHigh) {
  mask(0x01 & 0x02);
  EXPECT_THAT(board.read(0, common::SIMR, 1), ElementsAre(0x00));
  EXPECT_THAT(board.read(0, common::SIR, 1), ElementsAre(0x01));
  EXPECT_TRUE(board.chip.intn());
  board.advance(1s);
  EXPECT_THAT(seen(Rule::interrupt_masked), ElementsAre("SIMR = 0x00, no SPI access for 500 ms"));
  EXPECT_EQ(times(Rule::interrupt_ignored), 0U);
}

TEST_F(B09_MasksCombinedWithAnd, MaskOfNoSocketIsFoundThoughTheLinkIsWatched) {
  mask(0x01 & 0x02);
  for (int i = 0; i < 110; ++i) {
    board.advance(100ms);
    board.read(0, common::PHYCFGR, 1);
  }
  EXPECT_THAT(seen(Rule::interrupt_masked), ElementsAre("SIMR = 0x00, S0 Sn_IR = 0x04, not accessed for 10 s"));
}

TEST_F(B09_MasksCombinedWithAnd, CuredMaskOfBothLetsItFall) {
  mask(0x01 | 0x02);
  EXPECT_THAT(board.read(0, common::SIMR, 1), ElementsAre(0x03));
  EXPECT_FALSE(board.chip.intn());
  EXPECT_THAT(broken(), IsEmpty());
}

// B17 ----------------------------------------------------------------------------------------------------------------

class B17_MulticastOnTheFirstSocketOnly : public CaseTest {
 protected:
  static constexpr wire::Ipv4Address group = wire::ipv4(239, 255, 255, 250);

  // S3 opened for the group, whose address is written to that socket.
  void open_s3(int addressed) {
    board.write(TestBoard::registers_of(addressed), socket::Sn_DHAR, {0x01, 0x00, 0x5E, 0x7F, 0xFF, 0xFA});
    board.set32(addressed, socket::Sn_DIPR, group);
    board.set16(addressed, socket::Sn_DPORT, 1900);
    board.set16(3, socket::Sn_PORT, 1900);
    board.set8(3, socket::Sn_MR, sn_mr::UDP | sn_mr::MULTI);
    board.command(3, sn_cr::OPEN);
    board.advance(1ms);
  }
  void send_to_group() {
    board.arrive_udp(1111, 1900, counting(30), group, wire::multicast_mac(group));
    board.advance(10us);
  }
};

TEST_F(B17_MulticastOnTheFirstSocketOnly, GroupWrittenElsewhereReceivesNothing) {
  open_s3(0);
  send_to_group();
  EXPECT_EQ(waiting(3), 0);
  EXPECT_THAT(seen(Rule::multicast_without_group), ElementsAre("S3 Sn_DIPR = 0.0.0.0, Sn_DHAR = ff:ff:ff:ff:ff:ff"));
}

TEST_F(B17_MulticastOnTheFirstSocketOnly, CuredJoinsAndReceives) {
  open_s3(3);
  ASSERT_EQ(board.sent.size(), 1U);
  const auto report = wire::Igmp::parse(board.sent[0].ip_payload());
  ASSERT_TRUE(report);
  EXPECT_EQ(report->type, wire::Igmp::report_v2);
  EXPECT_EQ(report->group, group);
  send_to_group();
  EXPECT_EQ(receive(3, waiting(3)), udp_record(peer_ip, 1111, counting(30)));
  EXPECT_THAT(broken(), IsEmpty());
}

// B21 ----------------------------------------------------------------------------------------------------------------

class B21_HostRestartsChipDoesNot : public CaseTest {
 protected:
  // A life of the host: takes the first socket that is closed; -1 if there is none.
  int open_first_free() {
    for (int n = 0; n < socket_count; ++n) {
      if (board.status(n) != sn_sr::CLOSED) continue;
      open_udp(n, static_cast<std::uint16_t>(5000 + n));
      return n;
    }
    return -1;
  }
};

TEST_F(B21_HostRestartsChipDoesNot, EachLifeTakesTheNextSocketUntilNoneIsLeft) {
  for (int life = 0; life < 8; ++life) EXPECT_EQ(open_first_free(), life);
  EXPECT_EQ(open_first_free(), -1);
  for (int n = 0; n < socket_count; ++n) EXPECT_EQ(board.status(n), sn_sr::UDP);
}

TEST_F(B21_HostRestartsChipDoesNot, SocketOfAnEarlierLifeIsFound) {
  open_first_free();
  board.chip.note_host_restart();
  EXPECT_EQ(board.status(0), sn_sr::UDP);  // the chip has noticed nothing
  EXPECT_EQ(open_first_free(), 1);
  EXPECT_THAT(seen(Rule::socket_leaked), ElementsAre("S0 Sn_SR = 0x22 from before the restart, while S1 is opened"));
}

TEST_F(B21_HostRestartsChipDoesNot, CuredResetsTheChipAtStart) {
  for (int life = 0; life < 8; ++life) {
    board.chip.note_host_restart();
    board.write(0, common::MR, {0x80});
    board.configure();
    EXPECT_EQ(open_first_free(), 0);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

// B31 ----------------------------------------------------------------------------------------------------------------

class B31_InterruptPinNotWired : public CaseTest {
 protected:
  void SetUp() override {
    board.write(0, common::SIMR, {0x01});
    open_udp(0, 5000);
    board.arrive_udp(1111, 5000, {1});
    board.advance(10us);
    ASSERT_FALSE(board.chip.intn());
  }
};

TEST_F(B31_InterruptPinNotWired, NobodyComesWhileIntnIsLow) {
  board.advance(1s);
  EXPECT_THAT(seen(Rule::interrupt_ignored), ElementsAre("INTn low, no SPI access for 500 ms"));
  EXPECT_EQ(times(Rule::interrupt_masked), 0U);
}

TEST_F(B31_InterruptPinNotWired, CuredPollsAsWell) {
  board.advance(100ms);
  board.set8(0, socket::Sn_IR, sn_ir::RECV);
  EXPECT_EQ(receive(0, waiting(0)), udp_record(peer_ip, 1111, {1}));
  board.advance(10s);
  EXPECT_TRUE(board.chip.intn());
  EXPECT_THAT(broken(), IsEmpty());
}

// B32 ----------------------------------------------------------------------------------------------------------------

class B32_LinkUpMissedUnderTraffic : public CaseTest {
 protected:
  void SetUp() override {
    open_udp(0, 5000);
    board.chip.plug(false);
    board.advance(2ms);
    board.chip.plug(true);
    board.advance(2s);  // and 50 datagrams a second from now on
  }
  // Waits for a datagram, which comes after 20 ms; false if none does within `timeout`.
  bool receive_within(Duration timeout) {
    board.advance(std::min<Duration>(timeout, 20ms));
    if (timeout < 20ms) return false;
    board.arrive_udp(1111, 5000, {1});
    board.advance(10us);
    board.set8(0, socket::Sn_IR, sn_ir::RECV);
    receive(0, waiting(0));
    return true;
  }
  bool link() { return (board.read(0, common::PHYCFGR, 1)[0] & 0x01) != 0; }
};

TEST_F(B32_LinkUpMissedUnderTraffic, LoopThatLooksWhenNothingComesNeverLooks) {
  bool up = false;
  for (const Instant end = board.now() + 60s; board.now() < end;) {
    if (!receive_within(500ms)) up = link();
  }
  EXPECT_FALSE(up);
  EXPECT_TRUE(link());
}

TEST_F(B32_LinkUpMissedUnderTraffic, CuredLooksByTheClock) {
  const Instant start = board.now();
  Instant next_look = start + 500ms;
  bool up = false;
  while (!up && board.now() < start + 60s) {
    receive_within(500ms);
    if (board.now() < next_look) continue;
    next_look += 500ms;
    up = link();
  }
  EXPECT_TRUE(up);
  EXPECT_LT(board.now() - start, 1s);
  EXPECT_THAT(broken(), IsEmpty());
}

// B57 ----------------------------------------------------------------------------------------------------------------

class B57_PinBetweenTwoSources : public testing::Test, private InterruptPin::Listener {
 protected:
  // Falling edges when two sockets are pending and only the first is served.
  int falls_of_one_service(const ChipConfig& config) {
    TestBoard board{config};
    board.configure();
    board.chip.connect_intn(*this);
    board.write(0, common::INTLEVEL, {0x0F, 0xFF});
    board.write(0, common::SIMR, {0x03});
    for (int n = 0; n < 2; ++n) {
      board.set8(n, socket::Sn_MR, sn_mr::UDP);
      board.set16(n, socket::Sn_PORT, static_cast<std::uint16_t>(5000 + n));
      board.command(n, sn_cr::OPEN);
      board.arrive_udp(1111, static_cast<std::uint16_t>(5000 + n), {1});
      board.advance(10us);
    }
    board.set8(0, socket::Sn_IR, 0xFF);
    board.advance(1ms);
    EXPECT_FALSE(board.chip.intn());
    return falls;
  }

 private:
  void on_intn(bool high) override { falls += high ? 0 : 1; }
  int falls = 0;
};

TEST_F(B57_PinBetweenTwoSources, SiliconStaysLowAndADriverThatWaitsForAnEdgeIsDeaf) {
  EXPECT_EQ(falls_of_one_service({}), 1);
}

TEST_F(B57_PinBetweenTwoSources, DatasheetPulses) {
  EXPECT_EQ(falls_of_one_service(TestBoard::with("chip.quirk.intn_between_sources", "pulses")), 2);
}

}  // namespace
}  // namespace wizloop::test
