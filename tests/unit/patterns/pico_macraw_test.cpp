// The raw-Ethernet driver of the Arduino core for the RP2040: which frames it makes.
#include "drivers/patterns/pico_macraw.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/support/register_file_bus.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;

constexpr std::uint8_t mac[6] = {0x02, 0, 0, 0, 0, 0x01};

class PicoMacrawTest : public testing::Test {
 protected:
  void begin() {
    ASSERT_TRUE(device.begin(mac));
    chip.forget();
  }
  // A frame as the chip stores it.
  void deliver(std::size_t bytes) {
    std::vector<std::uint8_t> record(bytes + 2, 0xEE);
    record[0] = static_cast<std::uint8_t>(record.size() >> 8);
    record[1] = static_cast<std::uint8_t>(record.size() & 0xFF);
    chip.deliver(0, record);
  }

  RegisterFile chip;
  patterns::PicoMacraw device{chip.data(), chip.port()};
};

TEST_F(PicoMacrawTest, BeginsWithAResetAndAllMemoryForSocketZero) {
  EXPECT_TRUE(device.begin(mac));
  EXPECT_THAT(chip.take_log(), ElementsAre("w 00:0000 80", "r 00:0000 00", "w 00:0009 02 00 00 00 00 01",
                                           "w 01:001e 10", "w 01:001f 10", "w 00:0009 02 00 00 00 00 01",
                                           "w 01:0000 04", "w 01:0001 01", "r 01:0001 00", "r 01:0003 42"));
  EXPECT_EQ(chip.slept_us(), 0u);
}

TEST_F(PicoMacrawTest, KnowsAnAbsentChipByItsSocketState) {
  chip.present = false;
  chip.keeps_log = false;
  EXPECT_FALSE(device.begin(mac));
}

TEST_F(PicoMacrawTest, LooksForAFrameInThreeFrames) {
  begin();
  EXPECT_EQ(device.frame_size(), 0);
  EXPECT_THAT(chip.take_log(), ElementsAre("w 01:0002 04", "r 01:0026 00", "r 01:0027 00"));
}

TEST_F(PicoMacrawTest, TakesLengthAndFrameWithARecvEach) {
  begin();
  deliver(60);
  ASSERT_EQ(device.frame_size(), 60);
  EXPECT_THAT(chip.take_log(), ElementsAre("w 01:0002 04", "r 01:0026 00", "r 01:0027 3e", "r 01:0026 00",
                                           "r 01:0027 3e", "r 01:0028 00", "r 01:0029 00", "r 03:0000 00 3e",
                                           "w 01:0028 00", "w 01:0029 02", "w 01:0001 40", "r 01:0001 00"));
  std::vector<std::uint8_t> frame(60);
  ASSERT_TRUE(device.read_frame(frame.data(), 60));
  EXPECT_THAT(frame, testing::Each(0xEE));
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0028 00", "r 01:0029 02", "r 03:0002 [60]", "w 01:0028 00",
                                           "w 01:0029 3e", "w 01:0001 40", "r 01:0001 00"));
  EXPECT_EQ(device.frame_size(), 0);
}

TEST_F(PicoMacrawTest, DiscardsAFrameUnread) {
  begin();
  deliver(60);
  deliver(61);
  ASSERT_EQ(device.frame_size(), 60);
  device.discard_frame(60);
  EXPECT_EQ(device.frame_size(), 61);
}

TEST_F(PicoMacrawTest, SendsAndWaitsForSendok) {
  begin();
  chip.on_command = [this](int n, std::uint8_t command) {
    if (command == 0x20) chip.script(1, 0x02, {0x00, 0x10});
    return n != 0;
  };
  const std::vector<std::uint8_t> frame(60, 0xAA);
  ASSERT_TRUE(device.send_frame(frame.data(), 60));
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 01:0020 40", "r 01:0021 00", "r 01:0020 40", "r 01:0021 00", "r 01:0003 42",
                          "r 01:0024 07", "r 01:0025 fd", "w 02:07fd [60]", "w 01:0024 08", "w 01:0025 39",
                          "w 01:0001 20", "r 01:0001 00", "r 01:0002 00", "r 01:0002 10", "w 01:0002 10"));
  EXPECT_THAT(chip.sent[0], ElementsAre(frame));
}

TEST_F(PicoMacrawTest, FailsOnATimeoutAndOnAClosedSocket) {
  begin();
  const std::vector<std::uint8_t> frame(60);
  chip.script(1, 0x02, {0x08});
  EXPECT_FALSE(device.send_frame(frame.data(), 60));
  EXPECT_EQ(chip.take_log().back(), "w 01:0002 08");
  chip.socket(0, 0x03) = 0x00;
  EXPECT_FALSE(device.send_frame(frame.data(), 60));
  EXPECT_EQ(chip.take_log().back(), "r 01:0003 00");
}

TEST_F(PicoMacrawTest, DoesNotHangOnAChipThatStopsAnswering) {
  begin();
  chip.keeps_log = false;
  chip.frame_us = 20'000;
  const std::vector<std::uint8_t> frame(60);
  chip.stick(1, 0x02, 0x00);  // no SENDOK
  EXPECT_FALSE(device.send_frame(frame.data(), 60));
  chip.stick(1, 0x20, 0x00);  // no room
  chip.stick(1, 0x21, 0x00);
  EXPECT_FALSE(device.send_frame(frame.data(), 60));
  chip.stick(1, 0x01, 0xFF);  // no command is taken
  deliver(60);
  EXPECT_EQ(device.frame_size(), 0);
}

TEST_F(PicoMacrawTest, ABusThatFailsFailsTheCalls) {
  begin();
  deliver(60);
  chip.bus_works = false;
  chip.keeps_log = false;
  chip.frame_us = 20'000;
  std::vector<std::uint8_t> frame(60);
  EXPECT_EQ(device.frame_size(), 0);
  EXPECT_FALSE(device.read_frame(frame.data(), 60));
  EXPECT_FALSE(device.send_frame(frame.data(), 60));
}

}  // namespace
}  // namespace wizloop::test
