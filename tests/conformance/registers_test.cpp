// Every register of every block, by the suite's own transcription (w5500.hpp): facts sections 2, 2.1, 2.2, 3 and the
// second, third and fifth checks of section 11. Tests of what a register does are with its protocol.
#include <array>

#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class RegistersTest : public ConformanceTest {
 protected:
  std::uint64_t value(std::uint8_t bsb, const Register& row) {
    std::uint64_t number = 0;
    for (const std::uint8_t byte : read(bsb, row.offset, static_cast<std::size_t>(row.width))) {
      number = number << 8 | byte;
    }
    return number;
  }
  void store(std::uint8_t bsb, const Register& row, std::uint64_t number) {
    Octets bytes;
    for (int i = row.width - 1; i >= 0; --i) bytes.push_back(static_cast<std::uint8_t>(number >> (8 * i)));
    write(bsb, row.offset, bytes);
  }
  static std::uint64_t all_ones(const Register& row) {
    return row.width == 8 ? ~std::uint64_t{0} : (std::uint64_t{1} << (8 * row.width)) - 1;
  }
  template <typename Visit>
  void each_register(Visit visit) {
    for (const Register& row : common_registers) visit(common_block, row);
    for (int n = 0; n < 8; ++n) {
      for (const Register& row : socket_registers) visit(registers_of(n), row);
    }
  }
  // PHYCFGR 2:0 follow the link.
  static std::uint64_t still(const Register& row) { return row.name == "PHYCFGR" ? 0xF8 : all_ones(row); }
};

TEST_F(RegistersTest, EveryRegisterHasItsResetValue) {
  each_register([this](std::uint8_t bsb, const Register& row) {
    EXPECT_EQ(value(bsb, row) & still(row), row.reset) << row.name << " in block " << int{bsb};
  });
}

// 11: the common block as one burst.
TEST_F(RegistersTest, CommonBlockAfterResetReadsAsOneBurst) {
  Octets expected(0x3A, 0x00);
  expected[0x19] = 0x07;
  expected[0x1A] = 0xD0;
  expected[0x1B] = 0x08;
  expected[0x1C] = 0x28;
  expected[0x26] = 0xFF;
  expected[0x27] = 0xFF;
  expected[0x2E] = 0xBF;
  expected[0x39] = 0x04;
  EXPECT_EQ(read(common_block, 0, 0x3A), expected);
}

// 11: FF x 6 at 06, 80 at 16, 02 02 at 1E, 08 00 at 20, FF 40 00 00 at 2C, else 00.
TEST_F(RegistersTest, SocketBlockAfterResetReadsAsOneBurst) {
  Octets expected(0x30, 0x00);
  std::fill_n(expected.begin() + 0x06, 6, std::uint8_t{0xFF});
  expected[0x16] = 0x80;
  expected[0x1E] = expected[0x1F] = 0x02;
  expected[0x20] = 0x08;
  expected[0x2C] = 0xFF;
  expected[0x2D] = 0x40;
  for (int n = 0; n < 8; ++n) EXPECT_EQ(read(registers_of(n), 0, 0x30), expected) << n;
}

TEST_F(RegistersTest, WritableRegistersKeepEveryPattern) {
  each_register([this](std::uint8_t bsb, const Register& row) {
    if (row.access != Access::RW) return;
    for (const std::uint64_t pattern :
         {std::uint64_t{0x5555555555555555}, std::uint64_t{0xAAAAAAAAAAAAAAAA}, std::uint64_t{0}, ~std::uint64_t{0}}) {
      std::uint64_t written = pattern & row.kept;
      if (row.name == "Sn_RXBUF_SIZE" || row.name == "Sn_TXBUF_SIZE") written &= 0x10;  // legal sizes only
      store(bsb, row, written);
      EXPECT_EQ(value(bsb, row) & row.kept, written & row.kept) << row.name << " in block " << int{bsb};
    }
    store(bsb, row, row.reset);
  });
}

// Each one alone: a write touches no other register.
TEST_F(RegistersTest, WritingOneRegisterLeavesAllOthers) {
  const auto snapshot = [this] {
    Octets all = read(common_block, 0, 0x3A);
    for (int n = 0; n < 8; ++n) {
      const Octets block = read(registers_of(n), 0, 0x30);
      all.insert(all.end(), block.begin(), block.end());
    }
    return all;
  };
  const Octets before = snapshot();
  each_register([&](std::uint8_t bsb, const Register& row) {
    if (row.access != Access::RW || row.kept == 0 || row.name == "PHYCFGR") return;
    if (row.name == "Sn_RXBUF_SIZE" || row.name == "Sn_TXBUF_SIZE") return;  // move the counters, see memory_test
    store(bsb, row, ~row.reset & row.kept);
    Octets after = snapshot();
    const std::size_t at =
        bsb == common_block ? row.offset : 0x3AU + 0x30U * static_cast<std::size_t>(bsb / 4) + row.offset;
    for (std::size_t i = at; i < at + static_cast<std::size_t>(row.width); ++i) {
      EXPECT_NE(after[i], before[i]) << row.name;
      after[i] = before[i];
    }
    EXPECT_EQ(after, before) << row.name << " in block " << int{bsb};
    store(bsb, row, row.reset);
  });
}

TEST_F(RegistersTest, ReadOnlyRegistersIgnoreWrites) {
  each_register([this](std::uint8_t bsb, const Register& row) {
    if (row.access != Access::R) return;
    for (const std::uint64_t pattern : {~std::uint64_t{0}, std::uint64_t{0}}) {
      store(bsb, row, pattern & all_ones(row));
      EXPECT_EQ(value(bsb, row), row.reset) << row.name << " in block " << int{bsb};
    }
  });
}

// A set bit is needed to clear one: writing ones to bits that are 0 leaves them 0.
TEST_F(RegistersTest, ClearOnWriteRegistersCannotBeSet) {
  each_register([this](std::uint8_t bsb, const Register& row) {
    if (row.access != Access::RW1C) return;
    store(bsb, row, 0xFF);
    EXPECT_EQ(value(bsb, row), 0U) << row.name << " in block " << int{bsb};
  });
}

// 3.2: Sn_CR reads 0 once taken, whatever was written: every code of every socket, in the closed state.
TEST_F(RegistersTest, CommandRegisterClearsItselfForEveryCode) {
  for (int n = 0; n < 8; ++n) {
    for (int code = 0; code < 256; ++code) {
      set(n, "Sn_CR", static_cast<std::uint64_t>(code));
      wait(1us);
      ASSERT_EQ(get(n, "Sn_CR"), 0U) << n << " " << code;
      if (code == 0x01) continue;  // OPEN with Sn_MR = 0: closed
      ASSERT_EQ(status(n), sr::CLOSED) << n << " " << code;
    }
  }
}

// 2, 3: reserved offsets read 0 and keep nothing.
TEST_F(RegistersTest, ReservedOffsetsOfTheCommonBlockReadZero) {
  for (std::uint32_t offset = 0x2F; offset <= 0xFFFF; offset += offset < 0x200 ? 1 : 0x101) {
    if (offset == 0x39) continue;
    write(common_block, static_cast<std::uint16_t>(offset), {0xFF});
    ASSERT_EQ(read(common_block, static_cast<std::uint16_t>(offset), 1)[0], 0x00) << offset;
  }
  EXPECT_EQ(get("MR"), 0U);  // no folding of the address
}

TEST_F(RegistersTest, ReservedOffsetsOfTheSocketBlocksReadZero) {
  for (int n = 0; n < 8; ++n) {
    for (std::uint32_t offset = 0x17; offset <= 0xFFFF; offset += offset < 0x100 ? 1 : 0x101) {
      if (offset >= 0x1E && offset < 0x30) continue;
      write(registers_of(n), static_cast<std::uint16_t>(offset), {0xFF});
      ASSERT_EQ(read(registers_of(n), static_cast<std::uint16_t>(offset), 1)[0], 0x00) << n << " " << offset;
    }
  }
}

// 2.1: reserved bits of MR read 0.
TEST_F(RegistersTest, ModeRegisterKeepsItsDefinedBitsOnly) {
  for (int value = 0; value < 0x80; ++value) {
    set("MR", static_cast<std::uint64_t>(value));
    EXPECT_EQ(get("MR"), static_cast<std::uint64_t>(value & 0x3A));
  }
}

// 2.1: the probe of two libraries.
TEST_F(RegistersTest, ModeRegisterProbeOfTheLibraries) {
  for (const std::uint64_t value : {0x08U, 0x10U, 0x00U}) {
    set("MR", value);
    EXPECT_EQ(get("MR"), value);
  }
}

// 3: values are for each socket by itself.
TEST_F(RegistersTest, SocketsKeepTheirOwnValues) {
  for (int n = 0; n < 8; ++n) set(n, "Sn_DIPR", static_cast<std::uint64_t>(0x0A000001 + n));
  for (int n = 0; n < 8; ++n) EXPECT_EQ(get(n, "Sn_DIPR"), static_cast<std::uint64_t>(0x0A000001 + n));
}

// 4.1: TX_FSR shows a new size at once on a closed socket.
TEST_F(RegistersTest, FreeSizeFollowsTheBufferSize) {
  for (const std::uint64_t kib : {0U, 1U, 2U, 4U, 8U, 16U}) {
    set(0, "Sn_TXBUF_SIZE", kib);
    EXPECT_EQ(get(0, "Sn_TX_FSR"), kib * 1024);
  }
}

// 4.2: a read of Sn_TX_WR gives the value of the last SEND, not the one just written.
TEST_F(RegistersTest, WritePointerReadsAsOfTheLastSend) {
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  set(0, "Sn_TX_WR", 12);
  EXPECT_EQ(get(0, "Sn_TX_WR"), 0U);
  command(0, cr::SEND);
  EXPECT_EQ(get(0, "Sn_TX_WR"), 12U);
}

// 4.2: a read of Sn_RX_RD gives the value last written.
TEST_F(RegistersTest, ReadPointerReadsAsWritten) {
  open(0, mode::UDP, 5000);
  set(0, "Sn_RX_RD", 12);
  EXPECT_EQ(get(0, "Sn_RX_RD"), 12U);
}

class RegistersOfEventsTest : public PeerTest {};

// 11: W1C with some bits: Sn_IR = 14, write 10, leaves 04.
TEST_F(RegistersOfEventsTest, ClearingOneBitOfSnIrLeavesTheOther) {
  open(0, mode::UDP, 5000);
  address(0, wire::broadcast_ipv4, 9);
  send(0, {1});
  peer().send(peer().udp(1, 5000, Octets{1}));
  wait(1ms);
  ASSERT_EQ(interrupts(0), 0x14U);
  set(0, "Sn_IR", 0x00);
  EXPECT_EQ(interrupts(0), 0x14U);
  set(0, "Sn_IR", 0x10);
  EXPECT_EQ(interrupts(0), 0x04U);
  set(0, "Sn_IR", 0xFB);
  EXPECT_EQ(interrupts(0), 0x04U);
  set(0, "Sn_IR", 0x04);
  EXPECT_EQ(interrupts(0), 0x00U);
}

// 2: SIR follows Sn_IR and is cleared by clearing it.
TEST_F(RegistersOfEventsTest, SirHasABitPerSocketAndFollowsSnIr) {
  for (int n = 0; n < 8; ++n) open(n, mode::UDP, static_cast<std::uint16_t>(5000 + n));
  for (int n = 0; n < 8; ++n) {
    peer().send(peer().udp(1, static_cast<std::uint16_t>(5000 + n), Octets{1}));
    wait(100us);
    EXPECT_EQ(get("SIR"), (2U << n) - 1);
  }
  set("SIR", 0xFF);
  EXPECT_EQ(get("SIR"), 0xFFU);
  for (int n = 0; n < 8; ++n) {
    clear_interrupts(n);
    EXPECT_EQ(get("SIR"), 0xFFU & (0xFFU << (n + 1)));
  }
}

// 2: W1C of the common IR.
TEST_F(RegistersOfEventsTest, CommonIrClearsOnlyTheOnesWritten) {
  peer().send(peer().arp(wire::Arp::Operation::request, {peer_mac(), chip_ip}, chip_ip));
  wait(1ms);
  ASSERT_EQ(get("IR"), 0x80U);
  set("IR", 0x7F);
  EXPECT_EQ(get("IR"), 0x80U);
  set("IR", 0x80);
  EXPECT_EQ(get("IR"), 0x00U);
}

// 3: what the chip loads into the registers of a passive open.
TEST_F(RegistersOfEventsTest, PassiveOpenLoadsThePeer) {
  open(0, mode::TCP, 5000);
  command(0, cr::LISTEN);
  net::ScriptedConnection tcp{peer(), 40000, 5000};
  ASSERT_TRUE(tcp.establish_to_listener([this](Duration duration) { wait(duration); }));
  EXPECT_EQ(get(0, "Sn_DIPR"), peer_ip());
  EXPECT_EQ(get(0, "Sn_DPORT"), 40000U);
  EXPECT_EQ(read(registers_of(0), offset_of("Sn_DHAR"), 6), Octets(peer_mac().begin(), peer_mac().end()));
}

}  // namespace
}  // namespace wizloop::conformance
