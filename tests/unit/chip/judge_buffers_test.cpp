// What the judge says of the buffers and their pointers.
#include "tests/unit/chip/judge_test.hpp"

#include "sim/core/limits.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// TX buffer ----------------------------------------------------------------------------------------------------------

TEST_F(JudgeTest, WritingOverUnacknowledgedBytesIsFound) {
  board.configure();
  tcp.establish();
  const std::uint16_t at = board.get16(0, socket::Sn_TX_WR);
  board.send(0, Octets(2000, 1));
  finish_send();
  EXPECT_THAT(broken(), IsEmpty());
  board.write(TestBoard::tx_of(0), static_cast<std::uint16_t>(at + 2000), Octets(49, 2));  // one more than free
  ASSERT_THAT(seen(Rule::unsent_bytes_overwritten), SizeIs(1));
  EXPECT_THAT(seen(Rule::unsent_bytes_overwritten)[0], HasSubstr("S0 TX 49 bytes written"));
  EXPECT_THAT(seen(Rule::unsent_bytes_overwritten)[0], HasSubstr("Sn_TX_FSR = 48"));
}

TEST_F(JudgeTest, WritingTheNextDatagramBehindTheOneInFlightIsFree) {
  open_udp();
  board.send(0, Octets(1000, 1));
  board.write(TestBoard::tx_of(0), 1000, Octets(1048, 2));
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, WritingTheNextDatagramOverTheOneInFlightIsFound) {
  open_udp();
  board.send(0, Octets(1000, 1));
  board.write(TestBoard::tx_of(0), 0, {2});
  EXPECT_THAT(seen(Rule::unsent_bytes_overwritten),
              ElementsAre("S0 TX 1 bytes written at 0x0000, Sn_TX_WR = 0x03E8, Sn_TX_FSR = 1048"));
  EXPECT_EQ(first(Rule::unsent_bytes_overwritten).evidence.spi, "00 00 14 02");
}

TEST_F(JudgeTest, PointerAdvancedBeyondTheFreeSizeIsFound) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(2048, 1));
  board.set16(0, socket::Sn_TX_WR, 3000);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::write_beyond_free), ElementsAre("S0 Sn_TX_WR advanced by 3000 with Sn_TX_FSR = 2048"));
}

TEST_F(JudgeTest, TheWholeRingMayBeSent) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(2048, 1));
  board.set16(0, socket::Sn_TX_WR, 2048);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, BytesThatWereNeverWrittenAreFoundWhenSent) {
  open_udp();
  board.send(0, Octets(10, 1));
  finish_send();
  board.write(TestBoard::tx_of(0), 0, Octets(20, 2));  // at 0 in place of Sn_TX_WR = 10
  board.set16(0, socket::Sn_TX_WR, 30);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::uninitialised_bytes_sent),
              ElementsAre("S0 SEND of 20 bytes from 0x000A, not all of them written"));
}

TEST_F(JudgeTest, BytesOfAnEarlierLapDoNotCountAsWritten) {
  open_udp();
  for (int i = 0; i < 2; ++i) {
    board.send(0, Octets(1024, 1));
    finish_send();
  }
  EXPECT_THAT(broken(), IsEmpty());
  board.set16(0, socket::Sn_TX_WR, 2049);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::uninitialised_bytes_sent), SizeIs(1));
}

TEST_F(JudgeTest, ABurstAcrossTheRingEndIsWrittenOnce) {
  open_udp();
  for (int i = 0; i < 100; ++i) {
    board.send(0, Octets(999, 1));
    finish_send();
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, PartsOfADatagramOneBehindTheOtherAreFree) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(4, 1));
  board.write(TestBoard::tx_of(0), 4, Octets(6, 1));
  board.write(TestBoard::tx_of(0), 10, Octets(2, 1));
  board.set16(0, socket::Sn_TX_WR, 12);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), IsEmpty());
}

// B35: the tail at the ring's start is overwritten by the head of the same message.
TEST_F(JudgeTest, AWrappedWriteRepeatedAtTheRingStartIsFound) {
  open_udp();
  board.send(0, Octets(1472, 1));
  finish_send();
  board.send(0, Octets(556, 1));
  finish_send();
  board.write(TestBoard::tx_of(0), 2028, Octets(50, 1));
  board.write(TestBoard::tx_of(0), 0, Octets(30, 1));
  EXPECT_THAT(seen(Rule::bytes_written_twice),
              ElementsAre("S0 TX 30 bytes written at 0x0000, some of them already there"));
}

TEST_F(JudgeTest, ATransferDoneAgainFromItsStartIsNoSecondWrite) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(60, 1));
  board.write(TestBoard::tx_of(0), 0, Octets(100, 1));
  board.set16(0, socket::Sn_TX_WR, 100);
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), IsEmpty());
}

// B47.
// A transfer done again is at least as long: what is shorter is another write.
TEST_F(JudgeTest, AShorterWriteOverTheLastOneIsASecondWrite) {
  open_udp();
  board.write(TestBoard::tx_of(0), 0, Octets(100, 1));
  board.write(TestBoard::tx_of(0), 0, Octets(60, 1));
  EXPECT_THAT(seen(Rule::bytes_written_twice),
              ElementsAre("S0 TX 60 bytes written at 0x0000, some of them already there"));
}

TEST_F(JudgeTest, APointerFromBeforeTheConnectionIsStale) {
  board.configure();
  tcp.establish();
  board.write(TestBoard::tx_of(0), 0, Octets(10, 1));
  board.set16(0, socket::Sn_TX_WR, 10);
  board.command(0, sn_cr::SEND);
  ASSERT_THAT(seen(Rule::stale_write_pointer), SizeIs(1));
  EXPECT_THAT(seen(Rule::stale_write_pointer)[0],
              HasSubstr("S0 Sn_TX_WR = 0x000A, 10 from 0x0000 before the connection"));
  EXPECT_THAT(seen(Rule::write_beyond_free), SizeIs(1));
}

TEST_F(JudgeTest, APointerReadAfterTheConnectionIsFresh) {
  board.configure();
  tcp.establish();
  board.send(0, Octets(10, 1));
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, MemoryOfAClosedSocketIsFree) {
  board.write(TestBoard::tx_of(0), 0, Octets(100, 1));
  board.write(TestBoard::tx_of(0), 50, Octets(100, 1));
  board.read(TestBoard::rx_of(0), 0, 100);
  EXPECT_THAT(broken(), IsEmpty());
}

// B59 and B60.
TEST_F(JudgeTest, SendsAndBytesThatAreReadAreCountedWhetherOrNotTheSocketIsOpen) {
  open_udp();
  for (const std::size_t size : {10, 30}) {
    board.send(0, Octets(size, 1));
    finish_send();
  }
  board.read(TestBoard::rx_of(0), 0, 8);
  board.command(0, sn_cr::CLOSE);
  board.read(TestBoard::rx_of(0), 0, 100);
  board.read(TestBoard::rx_of(5), 0, 1);
  board.read(TestBoard::tx_of(0), 0, 50);
  board.write(TestBoard::rx_of(0), 0, Octets(20, 1));
  board.get16(0, socket::Sn_RX_RSR);
  const BufferUse& use = board.chip.buffer_use();
  EXPECT_EQ(use.sends, 2U);
  EXPECT_EQ(use.send_bytes, 40U);
  EXPECT_EQ(use.rx_bytes_read, 109U);
}

// RX buffer ----------------------------------------------------------------------------------------------------------

// B37.
TEST_F(JudgeTest, ReadingBeyondWhatWasReceivedIsFound) {
  board.configure();
  tcp.establish();
  tcp.data({1, 2, 3, 4});
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 4);
  EXPECT_THAT(broken(), IsEmpty());
  board.read(TestBoard::rx_of(0), 0, 16);
  EXPECT_THAT(seen(Rule::read_beyond_received),
              ElementsAre("S0 RX 16 bytes read from 0x0000, Sn_RX_RD = 0x0000, Sn_RX_RSR = 4"));
}

TEST_F(JudgeTest, ReadingFromAWrongOffsetIsFound) {
  board.configure();
  tcp.establish();
  tcp.data({1, 2, 3, 4});
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 4, 1);
  EXPECT_THAT(seen(Rule::read_beyond_received), SizeIs(1));
}

TEST_F(JudgeTest, OffsetsThatFoldIntoTheRingMayBeRead) {
  board.configure();
  tcp.establish();
  tcp.data({1, 2, 3, 4});
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0x8000, 4);
  board.read(TestBoard::rx_of(0), 0x0803, 1);
  EXPECT_THAT(broken(), IsEmpty());
}

// B07.
TEST_F(JudgeTest, ReceiveWithAPointerOutsideIsFound) {
  open_udp();
  board.arrive_udp(9, 7, Octets(20, 1));
  board.advance(1ms);
  board.set16(0, socket::Sn_RX_RD, 40);
  board.command(0, sn_cr::RECV);
  EXPECT_THAT(seen(Rule::read_pointer_outside), ElementsAre("S0 Sn_RX_RD = 0x0028, received 0x0000 to 0x001C"));
}

TEST_F(JudgeTest, ReceiveWithinOrUnchangedIsFree) {
  open_udp();
  board.arrive_udp(9, 7, Octets(20, 1));
  board.advance(1ms);
  board.command(0, sn_cr::RECV);
  board.set16(0, socket::Sn_RX_RD, 8);
  board.command(0, sn_cr::RECV);
  board.set16(0, socket::Sn_RX_RD, 28);
  board.command(0, sn_cr::RECV);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, ForgottenReceiveIsFoundOnceTheWindowIsClosed) {
  board.configure();
  tcp.establish();
  tcp.data(Octets(1460, 1));
  board.advance(1ms);
  tcp.data(Octets(588, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 2048);
  board.advance(limits::receive_overdue);
  EXPECT_THAT(seen(Rule::receive_forgotten), ElementsAre("S0 Sn_RX_RSR = 2048, data read and no RECV for 1000 ms"));
}

TEST_F(JudgeTest, ForgottenReceiveIsFoundOnceADatagramWasDropped) {
  open_udp();
  board.arrive_udp(9, 7, Octets(1400, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 1408);
  board.advance(10s);
  EXPECT_THAT(broken(), IsEmpty());  // there is room still
  board.arrive_udp(9, 7, Octets(1400, 1));
  board.advance(2s);
  EXPECT_THAT(seen(Rule::receive_forgotten), SizeIs(1));
}

TEST_F(JudgeTest, EachSocketsForgottenReceiveIsFoundOnce) {
  open_udp(0, 7);
  open_udp(1, 8);
  for (int n = 0; n < 2; ++n) {
    const auto port = static_cast<std::uint16_t>(7 + n);
    board.arrive_udp(9, port, Octets(1400, 1));
    board.advance(1ms);
    board.read(TestBoard::rx_of(n), 0, 1408);
    board.arrive_udp(9, port, Octets(1400, 1));
    board.advance(500ms);
  }
  board.advance(3s);
  ASSERT_THAT(seen(Rule::receive_forgotten), SizeIs(2));
  for (const Finding& finding : board.findings.all()) EXPECT_EQ(finding.count, 1U) << finding.seen;
}

TEST_F(JudgeTest, ForgottenReceiveIsFoundWhenTheSameRecordIsReadAgain) {
  open_udp();
  board.arrive_udp(9, 7, Octets(10, 1));
  board.advance(1ms);
  for (int i = 0; i < 20; ++i) {
    board.read(TestBoard::rx_of(0), 0, 18);
    board.advance(10s);
  }
  EXPECT_THAT(seen(Rule::receive_forgotten),
              ElementsAre("S0 RX read again from Sn_RX_RD = 0x0000, no RECV for 1000 ms"));
  EXPECT_EQ(first(Rule::receive_forgotten).count, 19U);
}

TEST_F(JudgeTest, AReadThatIsRepeatedAtOnceAndAPeekForgetNothing) {
  open_udp();
  board.arrive_udp(9, 7, Octets(10, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 8);
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 18);
  for (int i = 0; i < 5; ++i) {
    board.advance(10s);
    board.read(TestBoard::rx_of(0), 0, 1);
  }
  EXPECT_THAT(broken(), IsEmpty());
  // What comes after RECV is new data.
  board.set16(0, socket::Sn_RX_RD, 18);
  board.command(0, sn_cr::RECV);
  board.arrive_udp(9, 7, Octets(10, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 18, 18);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, ReceiveInTimeIsNotForgotten) {
  board.configure();
  tcp.establish();
  tcp.data(Octets(1460, 1));
  board.advance(1ms);
  board.read(TestBoard::rx_of(0), 0, 1460);
  board.advance(limits::receive_overdue / 2);
  board.set16(0, socket::Sn_RX_RD, 1460);
  board.command(0, sn_cr::RECV);
  board.advance(10s);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(JudgeTest, DataThatWasNotReadYetIsNotForgotten) {
  board.configure();
  tcp.establish();
  tcp.data(Octets(1460, 1));
  board.advance(10s);
  EXPECT_THAT(broken(), IsEmpty());
}

// B39: 0x00FF grows to 0x0100 between its bytes.
class TornReadTest : public JudgeTest {
 protected:
  void SetUp() override {
    open_udp();
    board.arrive_udp(9, 7, Octets(247, 1));
    board.advance(1ms);
  }
  // In two frames, with a datagram of one byte coming in between.
  void read_torn() {
    EXPECT_EQ(board.get8(0, socket::Sn_RX_RSR), 0x00);
    board.arrive_udp(9, 7, {1});
    board.advance(1ms);
    EXPECT_EQ(board.get8(0, socket::Sn_RX_RSR + 1), 0x08);
  }
};

TEST_F(TornReadTest, ATornCounterThatIsUsedIsFound) {
  read_torn();
  EXPECT_THAT(broken(), IsEmpty());
  board.read(TestBoard::rx_of(0), 0, 8);
  EXPECT_THAT(seen(Rule::torn_read), ElementsAre("S0 Sn_RX_RSR read as 0x0008, which it never was"));
}

TEST_F(TornReadTest, ATornCounterThatIsReadAgainIsFree) {
  read_torn();
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0x0108);
  board.read(TestBoard::rx_of(0), 0, 8);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(TornReadTest, WithinOneFrameToo) {
  SpiTarget& spi = board.chip.spi();
  spi.select();
  for (const int byte : {0x00, 0x26, 0x08}) spi.exchange(static_cast<std::uint8_t>(byte));
  board.arrive_udp(9, 7, {1});
  board.advance(1ms);
  EXPECT_EQ(spi.exchange(0), 0x00);
  EXPECT_EQ(spi.exchange(0), 0x08);
  spi.deselect();
  board.set16(0, socket::Sn_RX_RD, 8);
  EXPECT_THAT(seen(Rule::torn_read), SizeIs(1));
}

// From 0x0100 to 0x0200: the mix of both is 0x0100, which the counter was. Who reads until two agree may use it.
TEST_F(TornReadTest, AMixThatTheCounterWasIsWhole) {
  board.arrive_udp(9, 7, {1});  // 0x0108
  board.arrive_udp(9, 7, Octets(240, 1));
  board.advance(1ms);
  ASSERT_EQ(board.get16(0, socket::Sn_RX_RSR), 0x0200);
  EXPECT_EQ(board.get8(0, socket::Sn_RX_RSR), 0x02);
  board.arrive_udp(9, 7, Octets(248, 1));
  board.advance(1ms);
  EXPECT_EQ(board.get8(0, socket::Sn_RX_RSR + 1), 0x00);
  board.read(TestBoard::rx_of(0), 0, 8);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(TornReadTest, AMixThatTheCounterWasIsWholeWithinOneFrameToo) {
  board.arrive_udp(9, 7, {1});
  board.arrive_udp(9, 7, Octets(240, 1));
  board.advance(1ms);
  SpiTarget& spi = board.chip.spi();
  spi.select();
  for (const int byte : {0x00, 0x26, 0x08}) spi.exchange(static_cast<std::uint8_t>(byte));
  board.arrive_udp(9, 7, Octets(248, 1));
  board.advance(1ms);
  EXPECT_EQ(spi.exchange(0), 0x02);
  EXPECT_EQ(spi.exchange(0), 0x00);
  spi.deselect();
  board.set16(0, socket::Sn_RX_RD, 8);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(TornReadTest, ACounterThatHoldsStillIsWhole) {
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RSR), 0x00FF);
  board.read(TestBoard::rx_of(0), 0, 8);
  EXPECT_EQ(board.get8(0, socket::Sn_TX_FSR), 0x08);
  EXPECT_EQ(board.get8(0, socket::Sn_TX_FSR + 1), 0x00);
  board.set16(0, socket::Sn_TX_WR, 0);
  EXPECT_THAT(broken(), IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
