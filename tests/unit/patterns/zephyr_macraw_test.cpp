// Zephyr's driver: which frames it makes, and what wakes it.
#include "drivers/patterns/zephyr_macraw.hpp"

#include "tests/unit/patterns/raw_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

class ZephyrMacrawTest : public testing::Test {
 protected:
  ZephyrMacrawTest() { chip.stick(0x00, 0x2E, 0xBF); }
  void begin() {
    ASSERT_TRUE(driver.begin(raw_mac));
    driver.run(stack);
    chip.forget();
  }

  RegisterFile chip;
  FrameLog stack;
  RawRig<patterns::ZephyrMacraw> rig{chip};
  patterns::ZephyrMacraw& driver = rig.driver;
};

TEST_F(ZephyrMacrawTest, KnowsTheChipByRtr) {
  EXPECT_TRUE(driver.begin(raw_mac));
  EXPECT_THAT(chip.take_log(), ElementsAreArray(Lines{"w 00:0000 80", "w 00:0000 10", "w 00:0018 00",
                                                      "w 00:0009 02 00 00 00 00 01", "w 01:001e 10", "w 01:001f 10"} +
                                                other_sockets_emptied() +
                                                Lines{"r 00:0019 07 d0", "w 01:0000 84", "r 00:002e bf", "w 01:0001 01",
                                                      "r 01:0001 00", "w 00:0018 01"}));
  EXPECT_EQ(chip.slept_us(), 5000u);  // RSTn is not wired
}

TEST_F(ZephyrMacrawTest, FailsIfRtrIsAnother) {
  chip.script(0x00, 0x19, {0x00});
  EXPECT_FALSE(driver.begin(raw_mac));
}

TEST_F(ZephyrMacrawTest, PollsACommandFor100Milliseconds) {
  begin();
  chip.keeps_log = false;
  chip.stick(0x01, 0x01, 0x20);
  const std::uint32_t before = chip.port().now_us();
  driver.send_frame(raw_frame(60).data(), 60);
  EXPECT_NEAR(chip.port().now_us() - before, 100'000u, 100);
}

TEST_F(ZephyrMacrawTest, TakesOneFrameForEachRecvInFragments) {
  begin();
  chip.deliver(0, raw_record(300, 0xAA));
  rig.deliver(raw_record(60, 0xBB));
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0002 04", "w 01:0002 04", "r 01:0026 01 6c", "r 01:0028 00 00",
                                           "r 03:0000 01 2e", "r 03:0002 [128]", "r 03:0082 [128]", "r 03:0102 [44]",
                                           "w 01:0028 01 2e", "w 01:0001 40", "r 01:0001 00"));
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(300, 0xAA)));  // the other waits for its own RECV
}

TEST_F(ZephyrMacrawTest, ReadsTwiceAtTheEndOfTheRing) {
  begin();
  for (int i = 0; i < 16; ++i) {  // 16 x 1022 bytes: 32 are left
    rig.deliver(raw_record(1020));
    driver.run(stack);
  }
  chip.forget();
  rig.deliver(raw_record(60, 0xCC));
  driver.run(stack);
  const auto log = chip.take_log();
  EXPECT_EQ(log[4], "r 03:3fe0 00 3e");
  EXPECT_EQ(log[5], "r 03:3fe2 [30]");
  EXPECT_EQ(log[6], "r 03:0000 [30]");
  EXPECT_EQ(stack.frames.back(), raw_frame(60, 0xCC));
}

TEST_F(ZephyrMacrawTest, GoesByTheLevelOnceItIsAwake) {
  begin();
  chip.deliver(0, raw_record(60));
  chip.deliver(0, raw_record(61));
  chip.script(0x01, 0x02, {0x04, 0x04});
  rig.line.fall();
  rig.line.low_looks = 2;
  driver.run(stack);
  EXPECT_EQ(stack.frames.size(), 2u);
}

TEST_F(ZephyrMacrawTest, ALostEdgeIsNeverMadeUpFor) {
  begin();
  rig.deliver(raw_record(60));
  rig.line.take_fall();  // nobody noticed
  rig.line.low_looks = 0;
  for (int second = 0; second < 60; ++second) {
    chip.port().delay_us(1'000'000);
    driver.run(stack);
  }
  EXPECT_THAT(stack.frames, IsEmpty());
  EXPECT_EQ(chip.frames(), 60u);  // PHYCFGR, every time
}

TEST_F(ZephyrMacrawTest, ASendNeitherLooksForRoomNorWaitsForItself) {
  begin();
  const auto frame = raw_frame(60, 0xAA);
  ASSERT_TRUE(driver.send_frame(frame.data(), 60));
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 01:0024 07 fd", "w 02:07fd [60]", "w 01:0024 08 39", "w 01:0001 20", "r 01:0001 00"));
  EXPECT_EQ(chip.slept_us(), 0u);
  EXPECT_FALSE(driver.send_frame(frame.data(), 60));  // the first one's SENDOK is still missing
  EXPECT_NEAR(static_cast<double>(chip.slept_us()), 10'000, 500);
  rig.line.fall();
  rig.line.low_looks = 1;
  EXPECT_TRUE(driver.send_frame(frame.data(), 60));
}

TEST_F(ZephyrMacrawTest, WritesTwiceAtTheEndOfTheRing) {
  chip.tx_pointer = 0xFFF0;
  begin();
  ASSERT_TRUE(driver.send_frame(raw_frame(60).data(), 60));
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0024 ff f0", "w 02:3ff0 [16]", "w 02:0000 [44]", "w 01:0024 00 2c",
                                           "w 01:0001 20", "r 01:0001 00"));
}

TEST_F(ZephyrMacrawTest, WithoutMemoryTheFrameStays) {
  begin();
  stack.has_memory = false;
  rig.deliver(raw_record(60));
  driver.run(stack);
  EXPECT_EQ(chip.frames(), 5u);
  stack.has_memory = true;
  rig.deliver(raw_record(61));
  driver.run(stack);
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(60)));
}

TEST_F(ZephyrMacrawTest, LooksAtTheLinkTwiceASecondWhenNothingWakesIt) {
  chip.stick(0x00, 0x2E, 0xB8);
  begin();
  EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
  chip.stick(0x00, 0x2E, 0xBF);
  chip.port().delay_us(500'000);
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 00:002e bf"));
  EXPECT_TRUE(driver.link_up());
}

}  // namespace
}  // namespace wizloop::test
