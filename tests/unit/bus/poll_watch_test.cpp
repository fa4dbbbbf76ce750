#include "sim/bus/poll_watch.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace wizloop::bus {
namespace {

constexpr std::uint8_t socket0_read = 0x08;
constexpr std::uint8_t socket0_write = 0x0C;
constexpr std::uint8_t socket0_tx_write = 0x14;

class PollWatchTest : public testing::Test {
 protected:
  // A frame of one data byte that takes 5 us of SPI clock, begun while firmware would be waiting for `awaited`.
  void frame(std::uint8_t offset, std::uint8_t control, std::uint8_t miso, Account awaited = Account::peer) {
    budget.set_awaited(awaited);
    watch.on_frame_start();
    budget.charge(Account::spi_clock, 5us);
    for (const std::uint8_t byte : std::vector<std::uint8_t>{0x00, offset, control}) watch.on_byte(byte, 0);
    watch.on_header_end();
    watch.on_byte(0, miso);
    watch.on_frame_end();
  }

  Budget budget;
  PollWatch watch{budget};
};

TEST_F(PollWatchTest, TwoEqualReadsAreWork) {
  frame(0x20, socket0_read, 8);
  frame(0x20, socket0_read, 8);
  watch.settle();
  EXPECT_EQ(budget.totals()[Account::spi_clock], 10us);
  EXPECT_EQ(budget.totals()[Account::peer], 0us);
}

TEST_F(PollWatchTest, ALoopIsWaitingFromTheEndOfItsFirstReadToTheStartOfItsLast) {
  for (int i = 0; i < 5; ++i) frame(0x26, socket0_read, 0);
  frame(0x26, socket0_read, 1);  // the news
  watch.settle();
  EXPECT_EQ(budget.totals()[Account::spi_clock], 10us);
  EXPECT_EQ(budget.totals()[Account::peer], 20us);
}

TEST_F(PollWatchTest, EachMomentOfALoopGoesToWhatHeldFirmwareUpThen) {
  frame(0x02, socket0_read, 0, Account::chip);
  frame(0x02, socket0_read, 0, Account::chip);
  frame(0x02, socket0_read, 0, Account::wire);
  frame(0x02, socket0_read, 0, Account::wire);
  frame(0x02, socket0_read, 0, Account::chip);
  frame(0x02, socket0_read, 0x10, Account::peer);
  watch.settle();
  EXPECT_EQ(budget.totals()[Account::spi_clock], 10us);
  EXPECT_EQ(budget.totals()[Account::chip], 10us);
  EXPECT_EQ(budget.totals()[Account::wire], 10us);
  EXPECT_EQ(budget.totals().sum(), 30us);
}

TEST_F(PollWatchTest, ALoopOverTwoRegistersCounts) {
  for (int i = 0; i < 4; ++i) {
    frame(0x03, socket0_read, 0x17);
    frame(0x02, socket0_read, 0);
  }
  watch.settle();
  EXPECT_EQ(budget.totals()[Account::peer], 30us);  // from the end of the first read to the start of the last
  EXPECT_EQ(budget.totals()[Account::spi_clock], 10us);
}

TEST_F(PollWatchTest, AWriteOrBufferDataEndsAStretch) {
  frame(0x26, socket0_read, 0);
  frame(0x26, socket0_read, 0);
  frame(0x00, socket0_tx_write, 0);
  frame(0x26, socket0_read, 0);
  frame(0x01, socket0_write, 0);
  frame(0x26, socket0_read, 0);
  watch.settle();
  EXPECT_EQ(budget.totals()[Account::spi_clock], 30us);
}

TEST_F(PollWatchTest, TimeBetweenTheFramesOfALoopIsWaitingToo) {
  for (int i = 0; i < 3; ++i) {
    frame(0x26, socket0_read, 0);
    budget.charge(Account::cpu, 100us);
  }
  watch.settle();
  EXPECT_EQ(budget.totals()[Account::peer], 205us);
  EXPECT_EQ(budget.totals()[Account::cpu], 100us);  // after the last read
  EXPECT_EQ(budget.totals()[Account::spi_clock], 10us);
}

TEST_F(PollWatchTest, AFrameWithoutDataMeansNothing) {
  watch.on_frame_start();
  budget.charge(Account::spi_clock, 1us);
  watch.on_byte(0, 0);
  watch.on_frame_end();
  watch.settle();
  EXPECT_EQ(budget.totals()[Account::spi_clock], 1us);
}

}  // namespace
}  // namespace wizloop::bus
