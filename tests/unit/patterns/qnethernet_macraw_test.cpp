// QNEthernet's driver: which frames it makes.
#include "drivers/patterns/qnethernet_macraw.hpp"

#include "tests/unit/patterns/raw_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;
using testing::Not;

class QnEthernetMacrawTest : public testing::Test {
 protected:
  QnEthernetMacrawTest() { chip.stick(0x00, 0x2E, 0xBF); }
  void begin() {
    ASSERT_TRUE(driver.begin(raw_mac));
    rig.settle(stack);
  }

  RegisterFile chip;
  FrameLog stack;
  RawRig<patterns::QnEthernetMacraw> rig{chip};
  patterns::QnEthernetMacraw& driver = rig.driver;
};

TEST_F(QnEthernetMacrawTest, BeginsWithTheCheckOfTheArduinoLibraryAndTheOtherSocketsFirst) {
  EXPECT_TRUE(driver.begin(raw_mac));
  EXPECT_THAT(chip.take_log(),
              ElementsAreArray(Lines{"w 00:0000 80", "r 00:0000 00",                                    //
                                     "w 00:0000 08", "r 00:0000 08", "w 00:0000 10", "r 00:0000 10",    //
                                     "w 00:0000 00", "r 00:0000 00", "r 00:0039 04",                    //
                                     "r 00:002e bf", "w 00:002e ff", "r 00:002e bf", "w 00:002e 3f",    //
                                     "r 00:002e bf", "w 00:002e bf", "w 01:0000 84", "w 01:0002 ff"} +  //
                               other_sockets_emptied() +
                               Lines{"w 01:001e 10", "w 01:001f 10", "w 01:002c 00", "w 01:0001 01", "r 01:0001 00",
                                     "r 01:0003 42", "w 00:0009 02 00 00 00 00 01"}));
  EXPECT_EQ(chip.slept_us(), 560'000u);
}

TEST_F(QnEthernetMacrawTest, WaitsTwentyMillisecondsForTheReset) {
  chip.script(0x00, 0x00, {0x80, 0x80, 0x00});
  EXPECT_TRUE(driver.begin(raw_mac));
  EXPECT_EQ(chip.slept_us(), 562'000u);
  chip.stick(0x00, 0x00, 0x80);
  chip.forget();
  EXPECT_FALSE(driver.begin(raw_mac));
  EXPECT_EQ(chip.slept_us(), 580'000u);
}

TEST_F(QnEthernetMacrawTest, FailsOnAnotherVersionAndOnAStateThatIsNotMacraw) {
  chip.script(0x00, 0x39, {0x51});
  EXPECT_FALSE(driver.begin(raw_mac));
  chip.script(0x01, 0x03, {0x00});
  EXPECT_FALSE(driver.begin(raw_mac));
}

TEST_F(QnEthernetMacrawTest, ReadsAllThatIsThereInOneBurstWithOneRecv) {
  begin();
  chip.deliver(0, raw_record(60, 0xAA));
  chip.deliver(0, raw_record(61, 0xBB));
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00 7d", "r 01:0026 00 7d", "r 01:0028 00 00", "r 03:0000 [125]",
                                           "w 01:0028 00 7d", "w 01:0001 40", "r 01:0001 00",  //
                                           "r 01:0026 00 00", "r 01:0026 00 00"));
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(60, 0xAA), raw_frame(61, 0xBB)));
}

TEST_F(QnEthernetMacrawTest, ACounterThatTwoReadsSeeDifferentlyIsNothingYet) {
  begin();
  chip.deliver(0, raw_record(60));
  chip.script(0x01, 0x27, {0x10, 0x3E});
  driver.run(stack);
  EXPECT_THAT(stack.frames, IsEmpty());
  driver.run(stack);
  EXPECT_EQ(stack.frames.size(), 1u);
}

TEST_F(QnEthernetMacrawTest, ALengthBelowTwoClosesAndOpensTheSocket) {
  begin();
  chip.deliver(0, std::vector<std::uint8_t>{0x00, 0x00, 0x55, 0x55});
  driver.run(stack);
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 01:0026 00 04", "r 01:0026 00 04", "r 01:0028 00 00", "r 03:0000 00 00 55 55",
                          "w 01:0001 10", "r 01:0001 00", "w 01:0001 01", "r 01:0001 00", "r 01:0003 42",  //
                          "r 01:0026 00 00", "r 01:0026 00 00"));
  chip.deliver(0, raw_record(60));
  driver.run(stack);
  EXPECT_EQ(stack.frames.size(), 1u);
}

TEST_F(QnEthernetMacrawTest, AFrameThatIsTooLongIsSteppedOver) {
  begin();
  chip.deliver(0, raw_record(1519));
  chip.deliver(0, raw_record(60));
  driver.run(stack);
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(60)));
}

TEST_F(QnEthernetMacrawTest, ASendIsOverWhenTheNextFindsItSo) {
  begin();
  const auto frame = raw_frame(60, 0xAA);
  ASSERT_TRUE(driver.send_frame(frame.data(), 60));
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0020 40 00", "r 01:0020 40 00", "r 01:0024 07 fd", "w 02:07fd [60]",
                                           "w 01:0024 08 39", "w 01:0001 20", "r 01:0001 00"));
  chip.script(0x01, 0x22, {0x07, 0x08});
  chip.script(0x01, 0x23, {0xFD, 0x39});
  ASSERT_TRUE(driver.send_frame(frame.data(), 60));
  const auto log = chip.take_log();
  EXPECT_EQ(log[0], "r 01:0022 07 fd");
  EXPECT_EQ(log[1], "r 01:0022 08 39");
  EXPECT_THAT(log, Not(Contains(testing::StartsWith("w 01:0002"))));  // SENDOK stays
}

TEST_F(QnEthernetMacrawTest, ASendThatNeverEndsDoesNotHangTheNext) {
  begin();
  ASSERT_TRUE(driver.send_frame(raw_frame(60).data(), 60));
  chip.stick(0x01, 0x22, 0x00);
  chip.keeps_log = false;
  chip.frame_us = 20'000;
  EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
}

TEST_F(QnEthernetMacrawTest, LooksAtTheLinkEightTimesASecond) {
  begin();
  chip.port().delay_us(125'000);
  driver.run(stack);
  EXPECT_EQ(chip.take_log().back(), "r 00:002e bf");
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00 00", "r 01:0026 00 00"));
}

}  // namespace
}  // namespace wizloop::test
