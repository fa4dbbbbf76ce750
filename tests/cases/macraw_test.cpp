// Cases about raw frames on socket 0: records, filters, and a SEND that does not end.
#include <optional>
#include <utility>

#include "tests/cases/case_test.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;

class MacrawCaseTest : public CaseTest {
 protected:
  void open(std::uint8_t filters = 0) {
    board.set8(0, socket::Sn_MR, static_cast<std::uint8_t>(sn_mr::MACRAW | filters));
    board.command(0, sn_cr::OPEN);
    ASSERT_EQ(board.status(0), sn_sr::MACRAW);
  }
  static Octets frame(std::uint8_t fill, std::size_t bytes = 60, const wire::MacAddress& to = chip_mac,
                      std::uint16_t type = 0x88B5) {
    Octets all(bytes, fill);
    wire::EthernetHeader{to, peer_mac, type}.emit(all.data());
    return all;
  }
  void arrive(const Octets& bytes) {
    board.arrive(bytes);
    board.advance(10us);
  }
  // The length in front of the next frame, itself included; `spoilt` is what the wires make of it.
  std::uint16_t header() {
    const Octets raw = peek(0, 2);
    return spoilt ? *std::exchange(spoilt, std::nullopt) : load16(raw.data());
  }
  // The receive loop as it should be: frames that can be, and a fresh start where one cannot.
  std::vector<Octets> receive_all() {
    std::vector<Octets> frames;
    while (const std::uint16_t size = waiting(0)) {
      const std::uint16_t record = header();
      if (record < 16 || record > 1516 || record > size) {
        release(0, size);
        continue;
      }
      Octets bytes = receive(0, record);
      frames.emplace_back(bytes.begin() + 2, bytes.end());
    }
    return frames;
  }

  std::optional<std::uint16_t> spoilt;
};

// B01 ----------------------------------------------------------------------------------------------------------------

class B01_EndlessWaitWithoutLink : public MacrawCaseTest {
 protected:
  void SetUp() override {
    open();
    board.chip.plug(false);
    board.advance(2ms);
    ASSERT_EQ(board.read(0, common::PHYCFGR, 1)[0] & 0x01, 0);
    board.send(0, frame(0x55));
  }
};

TEST_F(B01_EndlessWaitWithoutLink, LoopWithoutAnExitSpins) {
  for (int reads = 0; reads < 2000; ++reads) {
    ASSERT_EQ(board.interrupts(0), 0);
    board.advance(10ms);
  }
  EXPECT_EQ(board.get8(0, socket::Sn_CR), 0);
  EXPECT_THAT(broken(), ElementsAre("endless-poll"));
  ASSERT_EQ(seen(Rule::endless_poll).size(), 1U);
  EXPECT_THAT(seen(Rule::endless_poll)[0], HasSubstr("S0 Sn_IR"));
}

TEST_F(B01_EndlessWaitWithoutLink, CuredGivesUpReopensAndSendsWhenTheLinkIsBack) {
  const Instant deadline = board.now() + 100ms;
  while ((board.interrupts(0) & sn_ir::SENDOK) == 0 && board.now() < deadline) board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), 0);
  board.command(0, sn_cr::CLOSE);
  board.chip.plug(true);
  board.advance(3s);
  open();
  board.sent.clear();
  board.send(0, frame(0x66));
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_EQ(board.sent[0].bytes, frame(0x66));
  EXPECT_THAT(broken(), IsEmpty());
}

// B24 ----------------------------------------------------------------------------------------------------------------

class B24_LengthNotChecked : public MacrawCaseTest, public testing::WithParamInterface<std::uint16_t> {};

TEST_P(B24_LengthNotChecked, UncheckedLengthLosesStep) {
  open();
  for (std::uint8_t i = 1; i <= 3; ++i) arrive(frame(i));
  spoilt = GetParam();
  release(0, header());
  const std::uint16_t next = load16(peek(0, 2).data());
  EXPECT_FALSE(next == 62 && waiting(0) == 2 * 62);
}

TEST_P(B24_LengthNotChecked, CuredDropsWhatCannotBeAndGoesOn) {
  open();
  for (std::uint8_t i = 1; i <= 3; ++i) arrive(frame(i));
  spoilt = GetParam();
  EXPECT_THAT(receive_all(), IsEmpty());
  EXPECT_EQ(waiting(0), 0);
  arrive(frame(4));
  EXPECT_EQ(waiting(0), 62);
  EXPECT_THAT(receive_all(), ElementsAreArray({frame(4)}));
  EXPECT_THAT(broken(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Lengths, B24_LengthNotChecked, testing::Values(0xFFFF, 0x0001, 0x0000));

// B25 ----------------------------------------------------------------------------------------------------------------

class B25_LengthZeroTurnsInto65534 : public MacrawCaseTest {
 protected:
  void SetUp() override {
    open();
    arrive(frame(1));
    ASSERT_EQ(waiting(0), 62);
    spoilt = 0x0000;
  }
};

TEST_F(B25_LengthZeroTurnsInto65534, LengthLessTwoIsAlmostTheWholeAddressSpace) {
  const auto length = static_cast<std::uint16_t>(header() - 2);
  EXPECT_EQ(length, 65534);
  const Octets all = board.read(TestBoard::rx_of(0), 2, length);  // 32 times around the ring of 2 KiB
  EXPECT_TRUE(std::equal(all.begin(), all.begin() + 60, all.begin() + 2048));
  EXPECT_THAT(seen(Rule::read_beyond_received),
              ElementsAre("S0 RX 65534 bytes read from 0x0002, Sn_RX_RD = 0x0000, Sn_RX_RSR = 62"));
}

TEST_F(B25_LengthZeroTurnsInto65534, CuredDiscards) {
  EXPECT_THAT(receive_all(), IsEmpty());
  arrive(frame(2));
  EXPECT_THAT(receive_all(), ElementsAreArray({frame(2)}));
  EXPECT_THAT(broken(), IsEmpty());
}

// B29 ----------------------------------------------------------------------------------------------------------------

class B29_RestOfADroppedFrameNotSkipped : public MacrawCaseTest {
 protected:
  void SetUp() override {
    open();
    for (std::uint8_t i = 1; i <= 3; ++i) arrive(frame(i, 100));
    ASSERT_EQ(waiting(0), 3 * 102);
    receive(0, 102);
  }
};

TEST_F(B29_RestOfADroppedFrameNotSkipped, PayloadIsReadAsTheNextLength) {
  release(0, 2);                                 // the second length, then no memory for its frame
  EXPECT_EQ(load16(peek(0, 2).data()), 0x0200);  // the first bytes of a MAC address
}

TEST_F(B29_RestOfADroppedFrameNotSkipped, CuredSkipsTheWholeRecord) {
  const std::uint16_t before = board.get16(0, socket::Sn_RX_RD);
  release(0, load16(peek(0, 2).data()));
  EXPECT_EQ(board.get16(0, socket::Sn_RX_RD) - before, 102);
  EXPECT_THAT(receive_all(), ElementsAreArray({frame(3, 100)}));
  EXPECT_THAT(broken(), IsEmpty());
}

// B33 ----------------------------------------------------------------------------------------------------------------

class B33_MulticastFloodCrossesSpi : public MacrawCaseTest {
 protected:
  // A hundred multicast frames, IPv4 and IPv6 in turn, and one for us; bytes that cross SPI for it.
  std::size_t spi_bytes_for_a_flood() {
    std::size_t bytes = 0;
    for (int i = 0; i < 101; ++i) {
      if (i == 50) {
        arrive(frame(0x01));
      } else if (i % 2 == 0) {
        arrive(frame(0x02, 60, {0x01, 0x00, 0x5E, 0, 0, 0xFB}, wire::type_ipv4));
      } else {
        arrive(frame(0x03, 60, {0x33, 0x33, 0, 0, 0, 0xFB}, wire::type_ipv6));
      }
      const std::uint16_t size = waiting(0);
      if (size != 0) bytes += receive(0, size).size();
    }
    return bytes;
  }
};

TEST_F(B33_MulticastFloodCrossesSpi, WithoutFiltersEachFrameDoes) {
  open();
  EXPECT_EQ(spi_bytes_for_a_flood(), 101U * 62);
}

TEST_F(B33_MulticastFloodCrossesSpi, CuredFiltersLetOurOwnThrough) {
  open(sn_mr::MFEN | sn_mr::MMB | sn_mr::MIP6B);
  EXPECT_EQ(spi_bytes_for_a_flood(), 62U);
  EXPECT_THAT(broken(), IsEmpty());
}

// B65 ----------------------------------------------------------------------------------------------------------------

class B65_RawFramesOfOneInstant : public MacrawCaseTest {};

TEST_F(B65_RawFramesOfOneInstant, TenAreTenRecordsInOrder) {
  open();
  std::vector<Octets> sent;
  int total = 0;
  for (std::uint8_t i = 0; i < 10; ++i) {
    sent.push_back(frame(i, std::size_t{60} + i));
    board.arrive(sent.back());
    total += 2 + 60 + i;
  }
  board.advance(10us);
  EXPECT_EQ(waiting(0), total);
  EXPECT_EQ(receive_all(), sent);
}

}  // namespace
}  // namespace wizloop::test
