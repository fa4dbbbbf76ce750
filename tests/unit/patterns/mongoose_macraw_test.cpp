// Mongoose's built-in driver: which frames it makes.
#include "drivers/patterns/mongoose_macraw.hpp"

#include "tests/unit/patterns/raw_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

class MongooseMacrawTest : public testing::Test {
 protected:
  void begin(std::uint8_t phycfgr = 0xBF) {
    chip.stick(0x00, 0x2E, phycfgr);
    ASSERT_TRUE(driver.begin(raw_mac));
    chip.port().delay_us(1'000'000);
    driver.run(stack);
    chip.forget();
  }

  RegisterFile chip;
  FrameLog stack;
  patterns::MongooseMacraw driver{chip.data(), chip.port()};
};

TEST_F(MongooseMacrawTest, BeginsWithoutAnyWaitAndReadsTheStateInTheFrameAfterOpen) {
  EXPECT_TRUE(driver.begin(raw_mac));
  EXPECT_THAT(chip.take_log(), ElementsAre("w 00:0000 80", "w 00:002e 00", "w 00:002e f8", "w 01:001e 10",
                                           "w 01:001f 10", "w 01:0000 04", "w 01:0001 01", "r 01:0003 42"));
  EXPECT_EQ(chip.slept_us(), 0u);
}

TEST_F(MongooseMacrawTest, FailsToBeginIfTheStateIsOneFrameLate) {
  chip.script(0x01, 0x03, {0x00});
  EXPECT_FALSE(driver.begin(raw_mac));
}

TEST_F(MongooseMacrawTest, LooksAtTheLinkOnceASecondAndAtNothingElseWhileItIsDown) {
  begin(0xB8);
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), IsEmpty());
  EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
  EXPECT_THAT(chip.take_log(), IsEmpty());
  chip.port().delay_us(1'000'000);
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 00:002e b8"));
}

TEST_F(MongooseMacrawTest, LooksForAFrameInOne) {
  begin();
  EXPECT_EQ(driver.run(stack), 100u);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00 00"));
}

TEST_F(MongooseMacrawTest, TakesOneFrameATurnWithOneRecvThatIsNeverPolled) {
  begin();
  chip.deliver(0, raw_record(60, 0xAA));
  chip.deliver(0, raw_record(61, 0xBB));
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00 7d", "r 01:0026 00 7d", "r 01:0028 00 00", "r 03:0000 00 3e",
                                           "r 03:0002 [60]", "w 01:0028 00 3e", "w 01:0001 40"));
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(60, 0xAA)));
  driver.run(stack);
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(60, 0xAA), raw_frame(61, 0xBB)));
}

TEST_F(MongooseMacrawTest, StopsReadingACounterThatFallsAsWellAsOneThatStands) {
  begin();
  chip.deliver(0, raw_record(60));
  chip.script(0x01, 0x26, {0x00, 0x00, 0x00});
  chip.script(0x01, 0x27, {0x10, 0x3E, 0x20});
  driver.run(stack);
  EXPECT_EQ(stack.frames.size(), 1u);
  EXPECT_EQ(chip.frames(), 3 + 5u);
}

TEST_F(MongooseMacrawTest, StepsOverALengthThatCannotBe) {
  begin();
  chip.deliver(0, std::vector<std::uint8_t>{0x40, 0x00, 0x01});
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00 03", "r 01:0026 00 03", "r 01:0028 00 00", "r 03:0000 40 00",
                                           "w 01:0028 40 00", "w 01:0001 40"));
  EXPECT_THAT(stack.frames, IsEmpty());
}

TEST_F(MongooseMacrawTest, SendsAndClearsWhateverItSeesWhileItLooksForSendok) {
  begin();
  chip.script(0x01, 0x02, {0x00, 0x04, 0x10});
  const auto frame = raw_frame(60, 0xAA);
  ASSERT_TRUE(driver.send_frame(frame.data(), 60));
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 01:0020 40 00", "r 01:0024 07 fd", "w 02:07fd [60]", "w 01:0024 08 39", "w 01:0001 20",
                          "r 01:0002 00", "r 01:0002 04", "w 01:0002 04", "r 01:0002 10", "w 01:0002 10"));
  EXPECT_THAT(chip.sent[0], ElementsAre(frame));
}

TEST_F(MongooseMacrawTest, GivesUpOnSendokAfterFortyLooksAndSaysNothing) {
  begin();
  chip.stick(0x01, 0x02, 0x00);
  EXPECT_TRUE(driver.send_frame(raw_frame(60).data(), 60));
  EXPECT_EQ(chip.frames(), 5 + 40u);
}

TEST_F(MongooseMacrawTest, ReportsATimeout) {
  begin();
  chip.script(0x01, 0x02, {0x18});
  EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
  EXPECT_EQ(chip.take_log().back(), "w 01:0002 18");
}

TEST_F(MongooseMacrawTest, ABufferThatNeverEmptiesDoesNotHang) {
  begin();
  chip.keeps_log = false;
  chip.frame_us = 20'000;
  chip.stick(0x01, 0x20, 0x00);
  chip.stick(0x01, 0x21, 0x00);
  EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
}

TEST_F(MongooseMacrawTest, WithoutMemoryForAFrameItIsLost) {
  begin();
  chip.deliver(0, raw_record(60));
  stack.has_memory = false;
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), Contains("w 01:0028 00 3e"));
  EXPECT_THAT(stack.frames, IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
