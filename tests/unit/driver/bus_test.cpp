#include <utility>

#include "tests/unit/driver/driver_test.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;
using w5500::CommonRegister;
using w5500::SocketRegister;

class BusTest : public DriverTest {};
WIZLOOP_ON_EVERY_BUS(BusTest);

TEST_P(BusTest, ReadsVersionrByItsLiteralFrame) {
  std::uint8_t version = 0;
  ASSERT_TRUE(chip.read(CommonRegister::VERSIONR, &version, 1));
  EXPECT_EQ(version, 0x04);
  ASSERT_EQ(fake.frames().size(), 1u);
  EXPECT_THAT(fake.frames()[0].mosi, ElementsAre(0x00, 0x39, 0x00, 0x00));
  EXPECT_THAT(fake.frames()[0].miso, ElementsAre(0x01, 0x02, 0x03, 0x04));
}

TEST_P(BusTest, WritesASocketRegisterByItsLiteralFrame) {
  const std::uint8_t port[2] = {0x13, 0x89};
  ASSERT_TRUE(chip.write(0, SocketRegister::Sn_PORT, port, 2));
  ASSERT_TRUE(chip.write(7, SocketRegister::Sn_PORT, port, 2));
  EXPECT_THAT(fake.frames().at(0).mosi, ElementsAre(0x00, 0x04, 0x0C, 0x13, 0x89));
  EXPECT_THAT(fake.frames().at(1).mosi, ElementsAre(0x00, 0x04, 0xEC, 0x13, 0x89));
  EXPECT_EQ(fake.socket16(7, 0x04), 5001);
}

TEST_P(BusTest, ReachesTheBufferBlocks) {
  const std::uint8_t data[2] = {0xAB, 0xCD};
  std::uint8_t back[2] = {};
  ASSERT_TRUE(bus().write(w5500::tx_buffer_block(0), 0x07FF, data, 2));
  ASSERT_TRUE(bus().read(w5500::rx_buffer_block(0), 0x0102, back, 2));
  ASSERT_TRUE(bus().read(w5500::tx_buffer_block(0), 0x0FFF, back, 2));  // the same place, one ring later
  EXPECT_THAT(fake.frames().at(0).mosi, ElementsAre(0x07, 0xFF, 0x14, 0xAB, 0xCD));
  EXPECT_THAT(fake.frames().at(1).mosi, ElementsAre(0x01, 0x02, 0x18, 0x00, 0x00));
  EXPECT_THAT(back, ElementsAre(0xAB, 0xCD));
}

TEST_P(BusTest, MovesALongTransferInOneFrame) {
  const Bytes data = pattern(2048);
  Bytes back(data.size());
  ASSERT_TRUE(bus().write(w5500::tx_buffer_block(0), 0, data.data(), 2048));
  ASSERT_TRUE(bus().read(w5500::tx_buffer_block(0), 0, back.data(), 2048));
  EXPECT_EQ(fake.frames().size(), 2u);
  EXPECT_EQ(back, data);
}

// Each register of the driver's map against the table of the datasheet, written down once more.
TEST(RegisterMapTest, HasTheDatasheetsOffsets) {
  using C = CommonRegister;
  const std::pair<C, unsigned> common[] = {
      {C::MR, 0x00},     {C::GAR, 0x01},     {C::SUBR, 0x05},    {C::SHAR, 0x09}, {C::SIPR, 0x0F}, {C::INTLEVEL, 0x13},
      {C::IR, 0x15},     {C::IMR, 0x16},     {C::SIR, 0x17},     {C::SIMR, 0x18}, {C::RTR, 0x19},  {C::RCR, 0x1B},
      {C::PTIMER, 0x1C}, {C::PMAGIC, 0x1D},  {C::PHAR, 0x1E},    {C::PSID, 0x24}, {C::PMRU, 0x26}, {C::UIPR, 0x28},
      {C::UPORTR, 0x2C}, {C::PHYCFGR, 0x2E}, {C::VERSIONR, 0x39}};
  for (const auto& [name, offset] : common) EXPECT_EQ(static_cast<unsigned>(name), offset);
  using S = SocketRegister;
  const std::pair<S, unsigned> socket[] = {
      {S::Sn_MR, 0x00},         {S::Sn_CR, 0x01},     {S::Sn_IR, 0x02},    {S::Sn_SR, 0x03},
      {S::Sn_PORT, 0x04},       {S::Sn_DHAR, 0x06},   {S::Sn_DIPR, 0x0C},  {S::Sn_DPORT, 0x10},
      {S::Sn_MSSR, 0x12},       {S::Sn_TOS, 0x15},    {S::Sn_TTL, 0x16},   {S::Sn_RXBUF_SIZE, 0x1E},
      {S::Sn_TXBUF_SIZE, 0x1F}, {S::Sn_TX_FSR, 0x20}, {S::Sn_TX_RD, 0x22}, {S::Sn_TX_WR, 0x24},
      {S::Sn_RX_RSR, 0x26},     {S::Sn_RX_RD, 0x28},  {S::Sn_RX_WR, 0x2A}, {S::Sn_IMR, 0x2C},
      {S::Sn_FRAG, 0x2D},       {S::Sn_KPALVTR, 0x2F}};
  for (const auto& [name, offset] : socket) EXPECT_EQ(static_cast<unsigned>(name), offset);
}

TEST(RegisterMapTest, KeepsTheRawNumberOfAnUnknownState) {
  FakeW5500 fake;
  w5500::BurstBus bus{fake};
  w5500::Chip chip{bus, fake};
  w5500::TcpSocket socket{chip, 0};
  fake.set_state(0, 0x01);
  EXPECT_EQ(static_cast<unsigned>(socket.state().value()), 0x01u);
}

struct TransferCounts {
  unsigned byte_calls, buffer_calls, dma_transfers;
  bool operator==(const TransferCounts&) const = default;
};

TransferCounts counts(const FakeW5500::Frame& frame) {
  return {frame.byte_calls, frame.buffer_calls, frame.dma_transfers};
}

class BusCallsTest : public testing::Test {
 protected:
  void write(w5500::Bus& bus, std::uint16_t count) {
    ASSERT_TRUE(bus.write(w5500::tx_buffer_block(0), 0, data_.data(), count));
  }
  void read(w5500::Bus& bus, std::uint16_t count) {
    ASSERT_TRUE(bus.read(w5500::rx_buffer_block(0), 0, data_.data(), count));
  }

  FakeW5500 fake;
  Bytes data_ = pattern(2048);
};

TEST_F(BusCallsTest, ByteBusMakesOneCallPerByte) {
  w5500::ByteBus bus{fake};
  write(bus, 100);
  read(bus, 1);
  EXPECT_EQ(counts(fake.frames().at(0)), (TransferCounts{103, 0, 0}));
  EXPECT_EQ(counts(fake.frames().at(1)), (TransferCounts{4, 0, 0}));
}

TEST_F(BusCallsTest, BurstBusMakesOneCallForTheHeaderAndOneForTheData) {
  w5500::BurstBus bus{fake};
  write(bus, 100);
  read(bus, 1);
  EXPECT_EQ(counts(fake.frames().at(0)), (TransferCounts{0, 2, 0}));
  EXPECT_EQ(counts(fake.frames().at(1)), (TransferCounts{0, 2, 0}));
}

TEST_F(BusCallsTest, DmaBusUsesDmaFromItsThresholdOn) {
  w5500::DmaBus bus{fake};
  write(bus, 31);
  write(bus, 32);
  read(bus, 31);
  read(bus, 32);
  EXPECT_EQ(counts(fake.frames().at(0)), (TransferCounts{0, 2, 0}));
  EXPECT_EQ(counts(fake.frames().at(1)), (TransferCounts{0, 1, 1}));
  EXPECT_EQ(counts(fake.frames().at(2)), (TransferCounts{0, 2, 0}));
  EXPECT_EQ(counts(fake.frames().at(3)), (TransferCounts{0, 1, 1}));
}

TEST_F(BusCallsTest, DmaBusTakesAnotherThreshold) {
  w5500::DmaBus bus{fake, 4};
  write(bus, 3);
  write(bus, 4);
  EXPECT_EQ(counts(fake.frames().at(0)), (TransferCounts{0, 2, 0}));
  EXPECT_EQ(counts(fake.frames().at(1)), (TransferCounts{0, 1, 1}));
}

TEST_F(BusCallsTest, DmaBusFallsBackInTheSameFrameWhenThePlatformRefuses) {
  fake.dma_available = false;
  w5500::DmaBus bus{fake};
  write(bus, 512);
  ASSERT_EQ(fake.frames().size(), 1u);
  EXPECT_EQ(counts(fake.frames()[0]), (TransferCounts{0, 2, 0}));
  EXPECT_EQ(fake.frames()[0].data(), Bytes(data_.begin(), data_.begin() + 512));
}

TEST_F(BusCallsTest, DmaBusAbortsADmaThatDoesNotEnd) {
  fake.dma_hangs = true;
  w5500::DmaBus bus{fake};
  EXPECT_FALSE(bus.write(w5500::tx_buffer_block(0), 0, data_.data(), 512));
  EXPECT_LE(fake.elapsed_us(), 1000u + 512 * 100 + 3);
  fake.dma_hangs = false;
  write(bus, 512);  // the frame was closed and the DMA is free again
  EXPECT_EQ(fake.frames().at(1).data(), Bytes(data_.begin(), data_.begin() + 512));
  EXPECT_THAT(fake.violations(), testing::IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
