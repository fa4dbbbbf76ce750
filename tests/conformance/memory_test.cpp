// TX and RX memory: facts sections 4.1 and 4.2, and the fourth check of section 11. What lies in the RX memory (4.3) is
// with the protocols; SEND (4.4) is in command_test and the protocols.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class MemoryTest : public ConfiguredTest {
 protected:
  // A mark for each socket at the start of its ring, in both memories.
  void mark_all() {
    for (int n = 0; n < 8; ++n) {
      write(tx_of(n), 0, {static_cast<std::uint8_t>(0x10 + n)});
      write(rx_of(n), 0, {static_cast<std::uint8_t>(0x20 + n)});
    }
  }
  void set_sizes(std::string_view name, const std::array<std::uint64_t, 8>& sizes) {
    for (int n = 0; n < 8; ++n) set(n, name, 0);  // never more than 16 KiB on the way
    for (int n = 0; n < 8; ++n) set(n, name, sizes[static_cast<std::size_t>(n)]);
  }
};

// 11, 1.3, 4.1: a burst runs across the ring's end and goes on at its start; the offset is folded.
TEST_F(MemoryTest, BurstAcrossTheEndOfTheRingGoesOnAtItsStart) {
  write(tx_of(0), 0x07F8, counting(16));
  EXPECT_EQ(read(tx_of(0), 0x07F8, 16), counting(16));
  EXPECT_EQ(read(tx_of(0), 0x0000, 8), counting(8, 8));
  EXPECT_EQ(read(tx_of(0), 0x0800, 8), counting(8, 8));
}

TEST_F(MemoryTest, TheWholeOffsetSpaceFoldsIntoTheRing) {
  write(rx_of(2), 0x0123, counting(4));
  for (std::uint32_t base = 0; base < 0x10000; base += 0x0800) {
    EXPECT_EQ(read(rx_of(2), static_cast<std::uint16_t>(base + 0x0123), 4), counting(4)) << base;
  }
}

TEST_F(MemoryTest, BurstMayWrapTheAddressItself) {
  write(tx_of(1), 0xFFFC, counting(8));
  EXPECT_EQ(read(tx_of(1), 0x07FC, 4), counting(4));
  EXPECT_EQ(read(tx_of(1), 0x0000, 4), counting(4, 4));
}

// 4.1: 2 KiB each fill both memories, in socket order, without overlap.
TEST_F(MemoryTest, DefaultRingsAreTwoKilobytesEachAndApart) {
  for (int n = 0; n < 8; ++n) write(tx_of(n), 0, Octets(2048, static_cast<std::uint8_t>(0x80 + n)));
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(read(tx_of(n), 0, 2048), Octets(2048, static_cast<std::uint8_t>(0x80 + n)));
  }
}

TEST_F(MemoryTest, TxAndRxMemoryAreApart) {
  write(tx_of(0), 0, Octets(2048, 0x11));
  write(rx_of(0), 0, Octets(2048, 0x22));
  EXPECT_EQ(read(tx_of(0), 0, 2048), Octets(2048, 0x11));
}

// 4.1: the base of socket n is the sum of the sizes below n. Seen by making the rings of socket 0 and 1 one of 4 KiB.
TEST_F(MemoryTest, BaseIsTheSumOfTheSizesBelow) {
  write(tx_of(0), 0, Octets(2048, 0xA0));
  write(tx_of(1), 0, Octets(2048, 0xA1));
  write(tx_of(2), 0, Octets(2048, 0xA2));
  set_sizes("Sn_TXBUF_SIZE", {4, 2, 2, 2, 2, 2, 1, 1});
  Octets first = read(tx_of(0), 0, 4096);
  EXPECT_EQ(Octets(first.begin(), first.begin() + 2048), Octets(2048, 0xA0));
  EXPECT_EQ(Octets(first.begin() + 2048, first.end()), Octets(2048, 0xA1));
  EXPECT_EQ(read(tx_of(1), 0, 2048), Octets(2048, 0xA2));
}

// 4.1: one socket with all 16 KiB, the others with none.
TEST_F(MemoryTest, OneSocketMayHaveItAll) {
  set_sizes("Sn_TXBUF_SIZE", {16, 0, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 16384U);
  Octets data;
  for (int i = 0; i < 16384; ++i) data.push_back(static_cast<std::uint8_t>(i * 7 + i / 256));
  write(tx_of(0), 0, data);
  EXPECT_EQ(read(tx_of(0), 0, 16384), data);
  EXPECT_EQ(read(tx_of(0), 0x4000, 16384), data);
}

TEST_F(MemoryTest, EveryLegalSizeFoldsAtItsOwnLength) {
  for (const std::uint64_t kib : {1U, 2U, 4U, 8U, 16U}) {
    set_sizes("Sn_RXBUF_SIZE", {kib, 0, 0, 0, 0, 0, 0, 0});
    const auto size = static_cast<std::uint16_t>(kib * 1024);
    write(rx_of(0), static_cast<std::uint16_t>(size - 1), {0x5A, 0xA5});
    EXPECT_EQ(read(rx_of(0), 0, 1), Octets{0xA5}) << kib;
    EXPECT_EQ(read(rx_of(0), static_cast<std::uint16_t>(size - 1), 1), Octets{0x5A}) << kib;
  }
}

// 4.1, 12 no. 8: size 0.
TEST_F(MemoryTest, RingOfSizeZeroReadsZerosAndDropsWrites) {
  set(7, "Sn_TXBUF_SIZE", 0);
  EXPECT_EQ(get(7, "Sn_TX_FSR"), 0U);
  write(tx_of(7), 0, {1, 2, 3});
  EXPECT_EQ(read(tx_of(7), 0, 3), (Octets{0, 0, 0}));
}

// 12 no. 7: an illegal size acts as the next lower power of two.
TEST_F(MemoryTest, IllegalSizeIsRoundedDown) {
  set_sizes("Sn_TXBUF_SIZE", {3, 0, 0, 0, 0, 0, 0, 0});
  write(tx_of(0), 0, {0x77});
  EXPECT_EQ(read(tx_of(0), 2048, 1), Octets{0x77});
}

// 4.1, 8 no. 18, 12 no. 6: a sum above 16 KiB overlaps from the start.
TEST_F(MemoryTest, SizesAboveSixteenKilobytesOverlap) {
  set(0, "Sn_TXBUF_SIZE", 4);  // 4 + 7 x 2: the ring of socket 7 begins at 16 KiB, which is 0
  write(tx_of(7), 0, {0x77});
  EXPECT_EQ(read(tx_of(0), 0, 1), Octets{0x77});
}

// 4.1: access at any time, also while the socket is open, and of both memories both ways.
TEST_F(MemoryTest, BothMemoriesAreReadableAndWritableAtAnyTime) {
  open(0, mode::UDP, 5000);
  write(rx_of(0), 0x100, counting(8));
  write(tx_of(0), 0x100, counting(8, 9));
  EXPECT_EQ(read(rx_of(0), 0x100, 8), counting(8));
  EXPECT_EQ(read(tx_of(0), 0x100, 8), counting(8, 9));
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
}

// 4.2: all pointers start at 0 for UDP, also at a second OPEN.
TEST_F(MemoryTest, PointersStartAtZeroWithEachOpen) {
  REQUIRES(peer);
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  send(0, counting(100));
  peer().send(peer().udp(1, 5000, counting(10)));
  wait(1ms);
  receive(0, 18);
  EXPECT_EQ(get(0, "Sn_TX_RD"), 100U);
  EXPECT_EQ(get(0, "Sn_RX_RD"), 18U);
  command(0, cr::CLOSE);
  open(0, mode::UDP, 5000);
  for (const char* name : {"Sn_TX_RD", "Sn_TX_WR", "Sn_RX_RD", "Sn_RX_WR", "Sn_RX_RSR"}) EXPECT_EQ(get(0, name), 0U);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
}

// 4.2, others than TCP: FSR = size - (TX_WR - TX_RD), which falls at SEND (12 no. 12) and is back when it is done.
TEST_F(MemoryTest, FreeSizeFallsAtSendAndRisesWhenTheFrameHasLeft) {
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  write(tx_of(0), 0, counting(200));
  set(0, "Sn_TX_WR", 200);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
  set(0, "Sn_CR", cr::SEND);
  if (target().has(Feature::exact_time)) {  // before the frame has left
    EXPECT_EQ(get(0, "Sn_TX_FSR"), 1848U);
  }
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
}

// 4.2, 4.4: completion is TX_RD = TX_WR together with SENDOK.
TEST_F(MemoryTest, SendCompletesWithTxRdAtTxWr) {
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  write(tx_of(0), 0, counting(200));
  set(0, "Sn_TX_WR", 200);
  set(0, "Sn_CR", cr::SEND);
  for (int i = 0; i < 100 && interrupts(0) == 0; ++i) {
    if (target().has(Feature::exact_time)) {
      EXPECT_EQ(get(0, "Sn_TX_RD"), 0U);
    }
    wait(1us);
  }
  EXPECT_EQ(interrupts(0), ir::SENDOK);
  EXPECT_EQ(get(0, "Sn_TX_RD"), 200U);
}

// 4.2: 16-bit pointers run on across 0xFFFF, and the data with them.
TEST_F(MemoryTest, PointersRunAcrossFfff) {
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  std::uint32_t sent = 0;
  for (int i = 0; sent < 0x10000 + 3000; ++i) {
    const Octets data = counting(1400, static_cast<std::uint8_t>(i));
    send(0, data);
    wait(1ms);
    if (target().has(Feature::peer)) {
      ASSERT_EQ(peer().seen().back().data(), data);
    }
    sent += 1400;
    ASSERT_EQ(get(0, "Sn_TX_RD"), sent & 0xFFFF);
    ASSERT_EQ(get(0, "Sn_TX_FSR"), 2048U);
  }
}

TEST_F(MemoryTest, ReceivePointersRunAcrossFfff) {
  REQUIRES(peer);
  open(0, mode::UDP, 5000);
  std::uint32_t count = 0;
  for (int i = 0; count < 0x10000 + 3000; ++i) {
    const Octets data = counting(1400, static_cast<std::uint8_t>(i));
    peer().send(peer().udp(1, 5000, data));
    wait(1ms);
    ASSERT_EQ(get(0, "Sn_RX_RSR"), 1408U);
    const Octets record = receive(0, 1408);
    ASSERT_EQ(Octets(record.begin() + 8, record.end()), data);
    count += 1408;
    ASSERT_EQ(get(0, "Sn_RX_WR"), count & 0xFFFF);
  }
}

// 4.2: a write of RX_RD alone changes nothing until RECV.
TEST_F(MemoryTest, ReceivedSizeChangesOnlyWithRecv) {
  REQUIRES(peer);
  open(0, mode::UDP, 5000);
  peer().send(peer().udp(1, 5000, counting(100)));
  wait(1ms);
  set(0, "Sn_RX_RD", 108);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 108U);
  command(0, cr::RECV);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
}

// 4.2: the drain trick: RX_RD <- RX_WR, RECV.
TEST_F(MemoryTest, ReadPointerAtWritePointerEmptiesTheRing) {
  REQUIRES(peer);
  open(0, mode::UDP, 5000);
  for (int i = 0; i < 5; ++i) peer().send(peer().udp(1, 5000, counting(30)));
  wait(1ms);
  set(0, "Sn_RX_RD", get(0, "Sn_RX_WR"));
  command(0, cr::RECV);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0U);
}

// 4.2: TX_FSR with a bad TX_WR is not clamped, and the length of a SEND is not either.
TEST_F(MemoryTest, NonsensePointersGiveNonsense) {
  REQUIRES(peer);
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  set(0, "Sn_TX_WR", 3000);
  set(0, "Sn_CR", cr::SEND);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), (2048U - 3000U) & 0xFFFF);
  wait(1ms);
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 1472});
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 1472});
  EXPECT_FRAME({.kind = Kind::udp, .data_bytes = 56});
  EXPECT_SILENCE();
}

// 4.2: the multi-write habit of the Arduino family: a packet of 4 + 6 + 2 bytes at offsets from TX_WR read before.
TEST_F(MemoryTest, WritesBeforeSendStartFromTheLatchedPointer) {
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  std::uint64_t offset = 0;
  for (const std::size_t piece : {4U, 6U, 2U}) {
    const std::uint64_t at = get(0, "Sn_TX_WR") + offset;
    write(tx_of(0), static_cast<std::uint16_t>(at), counting(piece, static_cast<std::uint8_t>(offset)));
    set(0, "Sn_TX_WR", at + piece);
    offset += piece;
  }
  command(0, cr::SEND);
  wait(1ms);
  EXPECT_EQ(get(0, "Sn_TX_RD"), 12U);
  EXPECT_EQ(get(0, "Sn_TX_FSR"), 2048U);
  if (target().has(Feature::peer)) {
    ASSERT_EQ(peer().seen().size(), 1U);
    EXPECT_EQ(peer().seen()[0].data(), counting(12));
  }
}

}  // namespace
}  // namespace wizloop::conformance
