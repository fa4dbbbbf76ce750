// SPI frames: facts sections 1.2, 1.3 and 1.4 (datasheet 2.2 to 2.4), and the first check of section 11.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

using SpiTest = ConformanceTest;

// 11, 1.3: MISO in the header.
TEST_F(SpiTest, VersionrReadsFourBehindOneTwoThree) { EXPECT_EQ(spi({0x00, 0x39, 0x00, 0x00}), (Octets{1, 2, 3, 4})); }

// 1.2: address high byte first, control = BSB << 3 | RWB << 2 | OM.
TEST_F(SpiTest, AddressIsTwoBytesHighFirstAndControlHoldsBlockAndDirection) {
  spi({0x00, 0x01, 0x04, 192, 168, 1, 254});  // GAR
  EXPECT_EQ(spi({0x00, 0x01, 0x00, 0, 0, 0, 0}), (Octets{1, 2, 3, 192, 168, 1, 254}));
  spi({0x00, 0x04, 0x0C, 0x13, 0x88});  // S0_PORT
  EXPECT_EQ(spi({0x00, 0x04, 0x08, 0, 0}), (Octets{1, 2, 3, 0x13, 0x88}));
  EXPECT_EQ(spi({0x00, 0x04, 0x28, 0, 0}), (Octets{1, 2, 3, 0, 0}));  // S1_PORT is another one
  spi({0x00, 0x10, 0x14, 0xAB});                                      // S0 TX buffer
  EXPECT_EQ(spi({0x00, 0x10, 0x10, 0}), (Octets{1, 2, 3, 0xAB}));
}

// 1.2: each of the 24 blocks of the sockets is a place of its own.
TEST_F(SpiTest, EveryBlockIsReachedByItsOwnNumber) {
  for (int n = 0; n < 8; ++n) {
    write(registers_of(n), offset_of("Sn_PORT"), {static_cast<std::uint8_t>(0x40 + n), 1});
    write(tx_of(n), 0x0100, {static_cast<std::uint8_t>(0x50 + n)});
    write(rx_of(n), 0x0100, {static_cast<std::uint8_t>(0x60 + n)});
  }
  for (int n = 0; n < 8; ++n) {
    EXPECT_EQ(read(registers_of(n), offset_of("Sn_PORT"), 1)[0], 0x40 + n);
    EXPECT_EQ(read(tx_of(n), 0x0100, 1)[0], 0x50 + n);
    EXPECT_EQ(read(rx_of(n), 0x0100, 1)[0], 0x60 + n);
  }
}

// 1.2, 12 no. 2: reserved blocks read 0 and take nothing.
TEST_F(SpiTest, ReservedBlocksReadZeroAndIgnoreWrites) {
  for (std::uint8_t bsb = 4; bsb < 32; bsb = static_cast<std::uint8_t>(bsb + 4)) {
    write(bsb, 0x0000, {0x12, 0x34});
    EXPECT_EQ(read(bsb, 0x0000, 2), (Octets{0, 0})) << int{bsb};
  }
  EXPECT_EQ(get("MR"), 0U);
  EXPECT_EQ(get("VERSIONR"), 0x04U);
}

// 1.2: VDM takes any length.
TEST_F(SpiTest, VariableLengthReadsAnyNumberOfBytes) {
  for (std::size_t count = 1; count <= 0x3A; ++count) {
    const Octets bytes = read(common_block, 0, count);
    ASSERT_EQ(bytes.size(), count);
    if (count > 0x19) {
      EXPECT_EQ(bytes[0x19], 0x07);  // RTR
    }
    if (count == 0x3A) {
      EXPECT_EQ(bytes[0x39], 0x04);
    }
  }
}

// 1.3: the address rises with each byte, read and write, in every block.
TEST_F(SpiTest, AddressRisesWithEachByteWritten) {
  write(common_block, 0x0001, {10, 0, 0, 1, 255, 0, 0, 0, 2, 3, 4, 5, 6, 7, 10, 0, 0, 9});
  EXPECT_EQ(get("GAR"), 0x0A000001U);
  EXPECT_EQ(get("SUBR"), 0xFF000000U);
  EXPECT_EQ(get("SHAR"), 0x020304050607U);
  EXPECT_EQ(get("SIPR"), 0x0A000009U);
}

// 1.3, 12 no. 5: the address wraps inside the block.
TEST_F(SpiTest, AddressWrapsFromFfffToZeroInTheSameBlock) {
  write(common_block, 0xFFFF, {0x55, 0x10, 1, 2, 3, 4});  // nothing at FFFF, then MR, GAR
  EXPECT_EQ(get("MR"), 0x10U);
  EXPECT_EQ(get("GAR"), 0x01020304U);
  EXPECT_EQ(read(registers_of(0), 0xFFFE, 4), (Octets{0, 0, 0, 0}));
  set(0, "Sn_MR", 0x21);
  EXPECT_EQ(read(registers_of(0), 0xFFFE, 3), (Octets{0, 0, 0x21}));
}

// 1.3: FDM with SCSn kept low, frames back to back.
TEST_F(SpiTest, FixedLengthFramesFollowEachOtherWithoutDeselect) {
  target().select();
  EXPECT_EQ(exchange({0x00, 0x39, 0x01, 0}), (Octets{1, 2, 3, 4}));
  exchange({0x00, 0x19, 0x06, 0x12, 0x34});  // two bytes into RTR
  EXPECT_EQ(exchange({0x00, 0x19, 0x02, 0, 0}), (Octets{1, 2, 3, 0x12, 0x34}));
  exchange({0x00, 0x01, 0x07, 1, 2, 3, 4});  // four bytes into GAR
  EXPECT_EQ(exchange({0x00, 0x01, 0x03, 0, 0, 0, 0}), (Octets{1, 2, 3, 1, 2, 3, 4}));
  exchange({0x00, 0x18, 0x05, 0x81});  // one byte into SIMR
  EXPECT_EQ(exchange({0x00, 0x18, 0x01, 0}), (Octets{1, 2, 3, 0x81}));
  target().deselect();
}

// 1.3: FDM on the buffers too.
TEST_F(SpiTest, FixedLengthFramesReachTheBuffers) {
  target().select();
  exchange({0x00, 0x20, 0x17, 1, 2, 3, 4});  // S0 TX, four bytes
  exchange({0x00, 0x24, 0x16, 5, 6});        // two
  exchange({0x00, 0x26, 0x15, 7});           // one
  EXPECT_EQ(exchange({0x00, 0x20, 0x13, 0, 0, 0, 0}), (Octets{1, 2, 3, 1, 2, 3, 4}));
  target().deselect();
  EXPECT_EQ(read(tx_of(0), 0x0024, 3), (Octets{5, 6, 7}));
}

// 1.3: any other length in FDM loses step, with nothing to get it back but the end of the select.
TEST_F(SpiTest, WrongLengthInFixedModeLosesStepUntilTheNextSelect) {
  target().select();
  exchange({0x00, 0x18, 0x05, 0x81, 0x42});             // a byte too many: it is the next address byte
  EXPECT_EQ(exchange({0x00, 0x39, 0x01, 0})[0], 0x02);  // the chip is in its second header byte here
  target().deselect();
  EXPECT_EQ(get("SIMR"), 0x81U);
  EXPECT_EQ(get("VERSIONR"), 0x04U);
}

// 1.3, 12 no. 3: OM not 00 while the host toggles SCSn.
TEST_F(SpiTest, FixedLengthWithASelectPerFrameWorksAndDeselectResynchronises) {
  EXPECT_EQ(spi({0x00, 0x39, 0x01, 0}), (Octets{1, 2, 3, 4}));
  EXPECT_EQ(spi({0x00, 0x19, 0x03, 0, 0}), (Octets{1, 2, 3, 0x07, 0xD0}));  // ended after two of four
  EXPECT_EQ(get("VERSIONR"), 0x04U);
}

// 12 no. 1: MISO during the data of a write.
TEST_F(SpiTest, MisoIsZeroDuringTheDataOfAWrite) {
  EXPECT_EQ(spi({0x00, 0x19, 0x04, 0x12, 0x34}), (Octets{1, 2, 3, 0, 0}));
  EXPECT_EQ(spi({0x00, 0x00, 0x14, 1, 2, 3}), (Octets{1, 2, 3, 0, 0, 0}));
}

// 1.3: a byte takes effect once its eighth bit is in, not at the end of the frame.
TEST_F(SpiTest, AByteTakesEffectBeforeTheFrameEnds) {
  open(0, mode::UDP, 5000);
  target().select();
  exchange({0x00, 0x01, 0x0C, cr::CLOSE});  // S0_CR, the frame is still open
  wait(1us);
  exchange({0x08});  // the W1C bits of S0_IR come next in the same frame
  target().deselect();
  EXPECT_EQ(status(0), sr::CLOSED);
}

// 1.3: a partial last byte is dropped.
TEST_F(SpiTest, APartialLastByteIsDropped) {
  REQUIRES(bit_clock);
  for (int bits = 1; bits < 8; ++bits) {
    target().select();
    exchange({0x00, 0x19, 0x04, 0x11});
    target().clock_bits(0xFF, bits);
    target().deselect();
    EXPECT_EQ(get("RTR"), 0x11D0U) << bits;
  }
}

// 1.3: a header that is cut short, or has no data, does nothing.
TEST_F(SpiTest, FramesCutShortHaveNoEffect) {
  for (const Octets& frame : {Octets{}, Octets{0x00}, Octets{0x00, 0x19}, Octets{0x00, 0x19, 0x04}}) {
    spi(frame);
    EXPECT_EQ(get("RTR"), 0x07D0U);
  }
}

// 1.3, 8 no. 5: it is in step again as soon as SCSn rises.
TEST_F(SpiTest, ABrokenFrameLeavesTheNextOneWhole) {
  for (std::size_t cut = 0; cut <= 3; ++cut) {
    spi(Octets(cut, 0x00));
    EXPECT_EQ(spi({0x00, 0x39, 0x00, 0x00}), (Octets{1, 2, 3, 4}));
  }
}

// 1.3: nothing clears or moves by being read.
TEST_F(SpiTest, ReadingHasNoSideEffect) {
  REQUIRES(peer);
  configure();
  target().peer().talk_to({chip_mac, chip_ip});
  open(0, mode::UDP, 5000);
  target().peer().send(target().peer().udp(1, 5000, Octets{1, 2, 3}));
  wait(1ms);
  const Octets before = read(registers_of(0), 0, 0x30);
  read(rx_of(0), 0, 64);
  read(registers_of(0), 0, 0x30);
  EXPECT_EQ(read(registers_of(0), 0, 0x30), before);
  EXPECT_EQ(interrupts(0), ir::RECV);
  EXPECT_EQ(get("SIR"), 0x01U);
}

// 1.3: without select nothing is heard.
TEST_F(SpiTest, BytesWithoutSelectAreIgnored) {
  REQUIRES(bare_clocks);
  exchange({0x00, 0x19, 0x04, 0x11, 0x22});
  EXPECT_EQ(get("RTR"), 0x07D0U);
}

// The same frame in any split.
TEST_F(SpiTest, AFrameMayPauseAnywhere) {
  const Octets frame = {0x07, 0xFE, 0x14, 1, 2, 3, 4, 5};  // S0 TX, across the end of the ring
  for (std::size_t first = 0; first <= frame.size(); ++first) {
    write(tx_of(0), 0x07FE, Octets(5, 0));
    target().select();
    exchange(Octets(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(first)));
    wait(10us);
    exchange(Octets(frame.begin() + static_cast<std::ptrdiff_t>(first), frame.end()));
    target().deselect();
    EXPECT_EQ(read(tx_of(0), 0x07FE, 5), (Octets{1, 2, 3, 4, 5})) << first;
  }
}

// 1.4: big endian, byte by byte; a half-written register is live.
TEST_F(SpiTest, SixteenBitRegistersAreWrittenByteByByte) {
  write(common_block, offset_of("RTR"), {0x01});
  EXPECT_EQ(get("RTR"), 0x01D0U);
  write(common_block, static_cast<std::uint16_t>(offset_of("RTR") + 1), {0x02});
  EXPECT_EQ(get("RTR"), 0x0102U);
}

class TornReadTest : public ConfiguredTest {};

// 1.4, 8 no. 1: RX_RSR grows from 00F0 to 0110 between its bytes and reads 0010.
TEST_F(TornReadTest, ReceivedSizeTearsBetweenItsBytes) {
  REQUIRES(peer);
  open(0, mode::UDP, 5000);
  peer().send(peer().udp(1, 5000, Octets(0xF0 - 8)));
  wait(1ms);
  ASSERT_EQ(get(0, "Sn_RX_RSR"), 0x00F0U);
  target().select();
  exchange(header(registers_of(0), offset_of("Sn_RX_RSR"), false));
  const Octets high = exchange({0});
  // The low byte is fetched at the last edge of the high one; a second frame shows the other half of the tear.
  target().deselect();
  peer().send(peer().udp(1, 5000, Octets(0x20 - 8)));
  wait(1ms);
  const Octets low = read(registers_of(0), static_cast<std::uint16_t>(offset_of("Sn_RX_RSR") + 1), 1);
  EXPECT_EQ(high[0] << 8 | low[0], 0x0010);
  EXPECT_EQ(get(0, "Sn_RX_RSR"), 0x0110U);
}

// 1.4: TX_FSR grows from 06FF to 0800 and reads 0600.
TEST_F(TornReadTest, FreeSizeTearsBetweenItsBytes) {
  REQUIRES(exact_time);
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  const std::uint64_t start = get(0, "Sn_TX_WR");
  set(0, "Sn_TX_WR", start + 0x0101);
  set(0, "Sn_CR", cr::SEND);
  wait(1us);
  ASSERT_EQ(get(0, "Sn_TX_FSR"), 0x06FFU);
  const Octets high = read(registers_of(0), offset_of("Sn_TX_FSR"), 1);
  wait(1ms);
  const Octets low = read(registers_of(0), static_cast<std::uint16_t>(offset_of("Sn_TX_FSR") + 1), 1);
  EXPECT_EQ(high[0] << 8 | low[0], 0x0600);
}

}  // namespace
}  // namespace wizloop::conformance
