// Cases about the ring buffers and the 16-bit pointers into them.
#include "tests/cases/case_test.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

// B05 ----------------------------------------------------------------------------------------------------------------

class B05_TxPointerBeyondTheData : public CaseTest {};

TEST_F(B05_TxPointerBeyondTheData, PointerMovedByMoreThanWasFreeIsFound) {
  tcp.establish();
  const std::uint16_t at = board.get16(0, socket::Sn_TX_WR);
  ASSERT_EQ(free_space(0), 2048);
  board.write(TestBoard::tx_of(0), at, Octets(2048, 0x55));
  board.set16(0, socket::Sn_TX_WR, static_cast<std::uint16_t>(at + 3000));
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(seen(Rule::write_beyond_free), ElementsAre("S0 Sn_TX_WR advanced by 3000 with Sn_TX_FSR = 2048"));
}

// The copy runs around the ring too, over data that was not sent yet.
TEST_F(B05_TxPointerBeyondTheData, UnclippedCopyOverwritesItsOwnBeginning) {
  tcp.establish();
  const std::uint16_t at = board.get16(0, socket::Sn_TX_WR);
  board.write(TestBoard::tx_of(0), at, counting(3000));
  board.set16(0, socket::Sn_TX_WR, static_cast<std::uint16_t>(at + 3000));
  board.command(0, sn_cr::SEND);
  EXPECT_THAT(broken(), ElementsAre("bytes-written-twice", "write-beyond-free"));
  EXPECT_EQ(free_space(0), static_cast<std::uint16_t>(2048 - 3000));  // not clamped
}

TEST_F(B05_TxPointerBeyondTheData, PointerMovedByWhatWasWrittenSendsJustThat) {
  tcp.establish();
  const std::uint16_t at = board.get16(0, socket::Sn_TX_WR);
  const Octets wanted = counting(3000);
  const Octets clipped(wanted.begin(), wanted.begin() + free_space(0));
  board.send(0, clipped);
  board.advance(1ms);
  EXPECT_EQ(static_cast<std::uint16_t>(board.get16(0, socket::Sn_TX_WR) - at), 2048);
  Octets wire;
  for (const SentFrame& frame : board.sent) {
    const Bytes payload = frame.tcp_payload();
    wire.insert(wire.end(), payload.begin(), payload.end());
  }
  EXPECT_EQ(wire, clipped);
  EXPECT_THAT(broken(), IsEmpty());
}

// B07 ----------------------------------------------------------------------------------------------------------------

class B07_ReadPointerFromTheWritePointer : public CaseTest {
 protected:
  void SetUp() override {
    open_udp(0, 5000);
    send(0, counting(40));
    board.arrive_udp(1111, 5000, counting(5));
    board.arrive_udp(1111, 5000, counting(7));
    board.advance(10us);
    ASSERT_EQ(waiting(0), 28);
  }
};

TEST_F(B07_ReadPointerFromTheWritePointer, PutsTheReadPointerOutsideOfWhatWasReceived) {
  peek(0, 13);
  board.set16(0, socket::Sn_RX_RD, board.get16(0, socket::Sn_TX_WR));
  board.command(0, sn_cr::RECV);
  EXPECT_EQ(waiting(0), 0xFFF4);  // 28 - 40
  EXPECT_THAT(seen(Rule::read_pointer_outside), ElementsAre("S0 Sn_RX_RD = 0x0028, received 0x0000 to 0x001C"));
}

TEST_F(B07_ReadPointerFromTheWritePointer, CuredMovesItByTheRecord) {
  receive(0, 8 + 5);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RD), 13);
  EXPECT_EQ(waiting(0), 15);
  receive(0, 8 + 7);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RD), 28);
  EXPECT_EQ(waiting(0), 0);
  EXPECT_THAT(broken(), IsEmpty());
}

// B28 ----------------------------------------------------------------------------------------------------------------

class B28_PointerFoldedByHand : public CaseTest {
 protected:
  // The next datagram begins `before_end` bytes before the end of the ring of 2 KiB.
  void open_before_the_end(int before_end) {
    board.command(0, sn_cr::CLOSE);
    open_udp(0, 5000);
    const auto filler = static_cast<std::size_t>(2048 - before_end);
    send(0, Octets(filler / 2, 0xEE));
    send(0, Octets(filler - filler / 2, 0xEE));
    board.sent.clear();
  }
};

TEST_F(B28_PointerFoldedByHand, FoldedPointerAsksForAlmostAllOfTheAddressSpace) {
  for (int split = 1; split < 60; ++split) {
    open_before_the_end(split);
    const std::uint16_t at = board.get16(0, socket::Sn_TX_WR);
    board.write(TestBoard::tx_of(0), at, counting(60));
    board.set16(0, socket::Sn_TX_WR, static_cast<std::uint16_t>((at + 60) % 2048));
    board.command(0, sn_cr::SEND);
  }
  ASSERT_FALSE(seen(Rule::write_beyond_free).empty());
  EXPECT_EQ(seen(Rule::write_beyond_free)[0], "S0 Sn_TX_WR advanced by 63548 with Sn_TX_FSR = 2048");
  EXPECT_EQ(times(Rule::write_beyond_free), 59U);
}

TEST_F(B28_PointerFoldedByHand, CuredSendsTheDataWholeAcrossTheEnd) {
  for (int split = 1; split < 60; ++split) {
    open_before_the_end(split);
    const std::uint16_t at = board.get16(0, socket::Sn_TX_WR);
    send(0, counting(60));
    EXPECT_EQ(board.get16(0, socket::Sn_TX_WR), at + 60);
    EXPECT_EQ(sent_udp(), counting(60)) << split;
  }
  EXPECT_THAT(broken(), IsEmpty());
}

// B35 ----------------------------------------------------------------------------------------------------------------

class B35_WrappedWriteRepeated : public CaseTest {
 protected:
  void SetUp() override {
    open_udp(0, 5000);
    send(0, Octets(1014, 0xEE));
    send(0, Octets(1014, 0xEE));
    board.sent.clear();
    ASSERT_EQ(board.get16(0, socket::Sn_TX_WR), 2028);
  }
  Octets ring(std::uint16_t from, std::size_t count) {
    Octets bytes;
    for (std::size_t i = 0; i < count; ++i) {
      bytes.push_back(board.chip.peek(Block{TestBoard::tx_of(0)}, static_cast<std::uint16_t>(from + i)));
    }
    return bytes;
  }
};

TEST_F(B35_WrappedWriteRepeated, HeadOverwritesTheTailAtTheRingsStart) {
  board.write(TestBoard::tx_of(0), 2028, counting(50));
  board.write(TestBoard::tx_of(0), 0, counting(30));
  board.set16(0, socket::Sn_TX_WR, 2078);
  board.command(0, sn_cr::SEND);
  board.advance(1ms);
  EXPECT_EQ(ring(0, 30), counting(30));  // should be the bytes 20 to 49
  EXPECT_THAT(broken(), ElementsAre("bytes-written-twice"));
  EXPECT_NE(sent_udp(), counting(50));
}

TEST_F(B35_WrappedWriteRepeated, CuredWritesOnceAndLetsTheChipFold) {
  send(0, counting(50));
  EXPECT_EQ(ring(2028, 20), counting(20));
  EXPECT_EQ(ring(0, 30), counting(30, 20));
  EXPECT_EQ(sent_udp(), counting(50));
  EXPECT_THAT(broken(), IsEmpty());
}

// B37 ----------------------------------------------------------------------------------------------------------------

class B37_PeekPastWhatWasReceived : public CaseTest {
 protected:
  void SetUp() override {
    tcp.establish();
    tcp.data({1, 2, 3, 4});
    board.advance(10us);
    ASSERT_EQ(waiting(0), 4);
  }
};

TEST_F(B37_PeekPastWhatWasReceived, StaleBytesAreFound) {
  peek(0, 16);
  EXPECT_THAT(seen(Rule::read_beyond_received),
              ElementsAre("S0 RX 16 bytes read from 0x0000, Sn_RX_RD = 0x0000, Sn_RX_RSR = 4"));
}

TEST_F(B37_PeekPastWhatWasReceived, CuredReadsNoMoreThanWaits) {
  EXPECT_THAT(peek(0, std::min<std::size_t>(16, waiting(0))), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(waiting(0), 4);
  EXPECT_THAT(broken(), IsEmpty());
}

// B39 ----------------------------------------------------------------------------------------------------------------

class B39_TornSizeRead : public CaseTest {
 protected:
  void SetUp() override {
    tcp.establish();
    tcp.data(Octets(0xFF, 1));
    board.advance(10us);
    ASSERT_EQ(waiting(0), 0x00FF);
  }
  // Sn_RX_RSR in one frame, while one more byte comes in between its halves.
  std::uint16_t read_torn() {
    SpiTarget& spi = board.chip.spi();
    spi.select();
    for (const std::uint8_t byte : Octets{0x00, 0x26, 0x08}) spi.exchange(byte);
    tcp.data({2});
    board.advance(10us);
    const std::uint8_t high = spi.exchange(0);
    const std::uint8_t low = spi.exchange(0);
    spi.deselect();
    return static_cast<std::uint16_t>(high << 8 | low);
  }
};

TEST_F(B39_TornSizeRead, OneReadMixesTheOldHighByteWithTheNewLowOne) { EXPECT_EQ(read_torn(), 0x0000); }

TEST_F(B39_TornSizeRead, UseOfSuchAReadingIsFound) {
  const std::uint16_t size = read_torn();
  release(0, size);
  EXPECT_THAT(seen(Rule::torn_read), ElementsAre("S0 Sn_RX_RSR read as 0x0000, which it never was"));
}

TEST_F(B39_TornSizeRead, LowByteReadFirstMixesTheOtherWay) {
  const std::uint8_t low = board.get8(0, socket::Sn_RX_RSR + 1);
  tcp.data({2});
  board.advance(10us);
  const std::uint8_t high = board.get8(0, socket::Sn_RX_RSR);
  EXPECT_EQ(high << 8 | low, 0x01FF);
}

TEST_F(B39_TornSizeRead, CuredReadsUntilTwoAgree) {
  std::uint16_t before = read_torn();
  std::uint16_t size = waiting(0);
  while (size != before) {
    before = size;
    size = waiting(0);
  }
  EXPECT_EQ(size, 0x0100);
  receive(0, size);
  EXPECT_EQ(waiting(0), 0);
  EXPECT_THAT(broken(), IsEmpty());
}

// B40 ----------------------------------------------------------------------------------------------------------------

class B40_FullBufferTakenForEmpty : public CaseTest {
 protected:
  void SetUp() override {
    for (int n = 1; n < socket_count; ++n) board.set8(n, socket::Sn_RXBUF_SIZE, 0);
    board.set8(0, socket::Sn_RXBUF_SIZE, 8);
    open_udp(0, 5000);
    for (int i = 0; i < 8; ++i) {
      board.arrive_udp(1111, 5000, Octets(1016, static_cast<std::uint8_t>(i)));
      board.advance(200us);
    }
  }
};

TEST_F(B40_FullBufferTakenForEmpty, SizeReachesTheWholeBuffer) { EXPECT_EQ(waiting(0), 0x2000); }

TEST_F(B40_FullBufferTakenForEmpty, ModuloOfTheSizeLeavesItFullForGood) {
  for (int i = 0; i < 100; ++i) {
    if (waiting(0) % 8192 != 0) receive(0, 1024);
    board.arrive_udp(1111, 5000, {9});
    board.advance(1ms);
  }
  EXPECT_EQ(waiting(0), 0x2000);
}

TEST_F(B40_FullBufferTakenForEmpty, CuredReadsAllEight) {
  for (std::uint8_t i = 0; i < 8; ++i) EXPECT_EQ(receive(0, 1024), udp_record(peer_ip, 1111, Octets(1016, i)));
  EXPECT_EQ(waiting(0), 0);
  EXPECT_THAT(broken(), IsEmpty());
}

// B47 ----------------------------------------------------------------------------------------------------------------

class B47_WritePointerFromBeforeTheConnection : public CaseTest {
 protected:
  void SetUp() override {
    tcp.connect();
    before = board.get16(0, socket::Sn_TX_WR);
    board.advance(100us);
    board.answer_arp();
    board.advance(1ms);
    tcp.iss = board.sent.back().tcp().sequence;
    wire::TcpHeader answer = tcp.header(wire::TcpHeader::syn | wire::TcpHeader::ack, tcp.iss + 1);
    answer.sequence = TestConnection::peer_iss;
    answer.mss = 1460;
    board.arrive_tcp(answer);
    board.advance(1ms);
    board.sent.clear();
    ASSERT_EQ(board.status(0), sn_sr::ESTABLISHED);
    ASSERT_EQ(before, 0);
  }
  std::uint16_t before = 0;
};

TEST_F(B47_WritePointerFromBeforeTheConnection, PointersStartAnewWhenTheConnectionComesUp) {
  EXPECT_EQ(board.get16(0, socket::Sn_TX_WR), static_cast<std::uint16_t>(tcp.iss + 1));
  EXPECT_EQ(board.get16(0, socket::Sn_TX_RD), static_cast<std::uint16_t>(tcp.iss + 1));
  EXPECT_NE(board.get16(0, socket::Sn_TX_WR), before);
  EXPECT_EQ(free_space(0), 0x0800);
}

TEST_F(B47_WritePointerFromBeforeTheConnection, OldValueSendsKilobytesOfJunk) {
  board.write(TestBoard::tx_of(0), before, counting(10));
  board.set16(0, socket::Sn_TX_WR, static_cast<std::uint16_t>(before + 10));
  board.command(0, sn_cr::SEND);
  board.advance(10ms);
  EXPECT_THAT(broken(), Contains("stale-write-pointer"));
  std::size_t junk = 0;
  for (const SentFrame& frame : board.sent) junk += frame.tcp_payload().size();
  EXPECT_GT(junk, 2048U);
}

TEST_F(B47_WritePointerFromBeforeTheConnection, CuredReadsItAnew) {
  board.send(0, counting(10));
  EXPECT_EQ(free_space(0), 0x0800 - 10);
  board.advance(1ms);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_THAT(board.sent[0].tcp_payload(), testing::ElementsAreArray(counting(10)));
  EXPECT_THAT(broken(), IsEmpty());
}

// B48 ----------------------------------------------------------------------------------------------------------------

class B48_PointersPastTheEndOfTheRing : public CaseTest {
 protected:
  // A socket whose next record begins at this value of Sn_RX_RD: records of 16 bytes or more.
  void read_up_to(std::uint16_t pointer) {
    open_udp(0, 5000);
    for (std::uint32_t at = 0; at < pointer;) {
      const std::uint32_t record = std::min<std::uint32_t>(1040, pointer - at);
      board.arrive_udp(1111, 5000, Octets(record - 8, 0xEE));
      board.advance(200us);
      release(0, record);
      at += record;
    }
    ASSERT_EQ(board.get16(0, socket::Sn_RX_RD), pointer);
  }
};

TEST_F(B48_PointersPastTheEndOfTheRing, PointerFoldedByHandMakesAnEmptyRingLookFull) {
  read_up_to(0x07F0);
  board.arrive_udp(1111, 5000, counting(72));
  board.advance(200us);
  ASSERT_EQ(waiting(0), 80);
  board.set16(0, socket::Sn_RX_RD, 0x0040);
  board.command(0, sn_cr::RECV);
  EXPECT_EQ(waiting(0), 0x0800);
  EXPECT_THAT(broken(), ElementsAre("read-pointer-outside"));
}

TEST_F(B48_PointersPastTheEndOfTheRing, CuredLetsThePointerRunOn) {
  read_up_to(0x07F0);
  board.arrive_udp(1111, 5000, counting(72));
  board.advance(200us);
  ASSERT_EQ(board.get16(0, socket::Sn_RX_WR), 0x0840);
  EXPECT_EQ(board.read(TestBoard::rx_of(0), 0x0800, 4), board.read(TestBoard::rx_of(0), 0x0000, 4));
  EXPECT_EQ(receive(0, 80), udp_record(peer_ip, 1111, counting(72)));
  EXPECT_EQ(waiting(0), 0);
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RD), 0x0840);
}

TEST_F(B48_PointersPastTheEndOfTheRing, PointerWrapsAtSixteenBits) {
  read_up_to(0xFFF0);
  board.arrive_udp(1111, 5000, counting(56));
  board.advance(200us);
  EXPECT_EQ(receive(0, 0x40), udp_record(peer_ip, 1111, counting(56)));
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RD), 0x0030);
  EXPECT_EQ(waiting(0), 0);
  EXPECT_THAT(broken(), IsEmpty());
}

// B49 ----------------------------------------------------------------------------------------------------------------

class B49_DataWrittenAtOffsetZero : public CaseTest {
 protected:
  void SetUp() override {
    open_udp(0, 5000);
    send(0, {1, 2, 3, 4});
    board.sent.clear();
  }
};

TEST_F(B49_DataWrittenAtOffsetZero, SendsWhateverLiesAtThePointer) {
  Octets at_pointer;
  for (std::uint16_t i = 4; i < 8; ++i) at_pointer.push_back(board.chip.peek(Block{TestBoard::tx_of(0)}, i));
  board.write(TestBoard::tx_of(0), 0, {5, 6, 7, 8});
  board.set16(0, socket::Sn_TX_WR, 8);
  board.command(0, sn_cr::SEND);
  board.advance(1ms);
  EXPECT_EQ(sent_udp(), at_pointer);
  EXPECT_THAT(broken(), ElementsAre("uninitialised-bytes-sent"));
}

TEST_F(B49_DataWrittenAtOffsetZero, CuredWritesAtThePointer) {
  send(0, {5, 6, 7, 8});
  EXPECT_THAT(sent_udp(), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(broken(), IsEmpty());
}

// B71 ----------------------------------------------------------------------------------------------------------------

class B71_BurstAcrossTheEndOfTheRing : public CaseTest {};

TEST_F(B71_BurstAcrossTheEndOfTheRing, StaysInTheSocketsOwnRing) {
  open_udp(0, 5000);
  open_udp(1, 5001);
  board.arrive_udp(1111, 5001, Octets(1472, 0x11));  // the neighbour's memory begins where the ring ends
  board.advance(200us);
  board.arrive_udp(1111, 5000, Octets(1012, 0xEE));
  board.advance(200us);
  release(0, 1020);
  board.arrive_udp(1111, 5000, Octets(1000, 0xEE));
  board.advance(200us);
  release(0, 1008);
  ASSERT_EQ(board.get16(0, socket::Sn_RX_RD), 2028);
  board.arrive_udp(1111, 5000, counting(92));
  board.advance(200us);
  EXPECT_EQ(receive(0, 100), udp_record(peer_ip, 1111, counting(92)));
  EXPECT_EQ(board.read(TestBoard::rx_of(0), 0, 4), counting(4, 12));
  EXPECT_EQ(waiting(1), 1480);
}

}  // namespace
}  // namespace wizloop::test
