// The simulated UART: when bytes come and go, and which are lost.
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

class SimConsoleTest : public testing::Test {
 protected:
  SimConsoleTest() {
    auto created = testbed::Testbed::create({.board = profile("w55rp20")});
    WIZ_ASSERT(created);
    bed = std::move(created).value();
  }

  board::SimConsole console(const board::UartSetup& setup) { return {bed->queue(), bed->bus(), setup}; }
  std::string read_all(board::SimConsole& uart) {
    std::string all(4096, ' ');
    all.resize(uart.read(reinterpret_cast<std::uint8_t*>(all.data()), all.size()));
    return all;
  }
  static void write(board::SimConsole& uart, std::string_view text) {
    uart.write(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
  }

  std::unique_ptr<testbed::Testbed> bed;
};

TEST_F(SimConsoleTest, ByteIsThereWhenItsStopBitIs) {
  auto uart = console({.baud = 1'000'000});
  uart.type("ab");
  bed->queue().advance_to(Instant{} + 10us - 1ns);
  EXPECT_EQ(read_all(uart), "");
  bed->queue().advance_to(Instant{} + 10us);
  EXPECT_EQ(read_all(uart), "a");
  bed->queue().advance_to(Instant{} + 20us);
  EXPECT_EQ(read_all(uart), "b");
}

TEST_F(SimConsoleTest, WhatIsTypedTwiceFollowsOneAfterTheOther) {
  auto uart = console({.baud = 100'000});
  uart.type("ab");
  uart.type("c");
  bed->queue().advance_to(Instant{} + 299us);
  EXPECT_EQ(read_all(uart), "ab");
  bed->queue().advance_to(Instant{} + 300us);
  EXPECT_EQ(read_all(uart), "c");
}

TEST_F(SimConsoleTest, WaitEndsWithTheFirstByteOrItsTimeout) {
  auto uart = console({.baud = 1'000'000});
  uart.wait(500);
  EXPECT_EQ(bed->now(), Instant{} + 500us);
  uart.type("ab");
  uart.wait(500);
  EXPECT_EQ(bed->now(), Instant{} + 510us);
}

TEST_F(SimConsoleTest, FirmwareThatSleepsHearsWhatIsTypedMeanwhile) {
  auto uart = console({.baud = 1'000'000});
  bed->queue().schedule(1ms, [&] { uart.type("x"); });
  uart.wait(5000);
  EXPECT_EQ(bed->now(), Instant{} + 1010us);
}

TEST_F(SimConsoleTest, FullFifoLosesWhatComesAndSaysSoOnce) {
  auto uart = console({.baud = 1'000'000, .rx_fifo_bytes = 4});
  uart.type("abcdef");
  bed->queue().advance_to(Instant{} + 1ms);
  EXPECT_EQ(read_all(uart), "abcd");
  EXPECT_TRUE(uart.take_overrun());
  EXPECT_FALSE(uart.take_overrun());
  EXPECT_EQ(uart.counters().received, 6U);
  EXPECT_EQ(uart.counters().lost, 2U);
}

TEST_F(SimConsoleTest, OutputLeavesAtTheRateOfTheLine) {
  auto uart = console({.baud = 1'000'000});
  std::string heard;
  Instant heard_at{};
  uart.listen([&](Bytes bytes) {
    heard.append(bytes.begin(), bytes.end());
    heard_at = bed->now();
  });
  write(uart, "abc");
  EXPECT_EQ(bed->now(), Instant{});  // the FIFO took it
  bed->queue().advance_to(Instant{} + 1ms);
  EXPECT_EQ(heard, "abc");
  EXPECT_EQ(heard_at, Instant{} + 30us);
}

TEST_F(SimConsoleTest, FullTransmitFifoMakesFirmwareWait) {
  auto uart = console({.baud = 1'000'000, .tx_fifo_bytes = 4});
  std::string heard;
  uart.listen([&](Bytes bytes) { heard.append(bytes.begin(), bytes.end()); });
  write(uart, "abcdefgh");
  EXPECT_EQ(bed->now(), Instant{} + 40us);  // four of eight are still in it
  bed->queue().advance_to(Instant{} + 80us);
  EXPECT_EQ(heard, "abcdefgh");
}

}  // namespace
}  // namespace wizloop::test
