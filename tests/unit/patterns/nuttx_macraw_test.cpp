// NuttX's driver: which frames it makes, and what it takes for the end.
#include "drivers/patterns/nuttx_macraw.hpp"

#include "tests/unit/patterns/raw_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

class NuttxMacrawTest : public testing::Test {
 protected:
  NuttxMacrawTest() {
    chip.stick(0x00, 0x2E, 0xBF);
    chip.tx_pointer = 0;
  }
  void begin() {
    ASSERT_TRUE(driver.begin(raw_mac));
    chip.forget();
  }
  // INTn is low for one look, with these causes.
  void interrupt(std::uint8_t sn_ir, std::uint8_t sir = 0x01) {
    chip.socket(0, 0x02) = sn_ir;
    chip.script(0x00, 0x17, {sir});
    rig.line.fall();
    rig.line.low_looks = 1;
    driver.run(stack);
  }

  RegisterFile chip;
  FrameLog stack;
  RawRig<patterns::NuttxMacraw> rig{chip};
  patterns::NuttxMacraw& driver = rig.driver;
};

TEST_F(NuttxMacrawTest, BeginsWithRstnAloneAndReadsTheStateInTheFrameAfterOpen) {
  EXPECT_TRUE(driver.begin(raw_mac));
  EXPECT_THAT(chip.take_log(),
              ElementsAreArray(Lines{"w 00:0009 02 00 00 00 00 01", "w 01:0000 84", "w 01:001e 10", "w 01:001f 10"} +
                               other_sockets_emptied() +
                               Lines{"w 01:002c 04", "w 00:0018 01", "w 01:0001 01", "r 01:0003 42", "r 00:002e bf"}));
  EXPECT_EQ(chip.slept_us(), 1500u);
}

TEST_F(NuttxMacrawTest, FailsToBeginIfTheStateIsOneFrameLate) {
  chip.script(0x01, 0x03, {0x00});
  EXPECT_FALSE(driver.begin(raw_mac));
  EXPECT_FALSE(driver.link_up());
}

TEST_F(NuttxMacrawTest, GivesUpOnTheLinkAfterTenSeconds) {
  chip.stick(0x00, 0x2E, 0xB8);
  EXPECT_FALSE(driver.begin(raw_mac));
  EXPECT_EQ(chip.slept_us(), 1500 + 10'000'000u);
}

TEST_F(NuttxMacrawTest, MakesNoFrameWhileIntnIsHigh) {
  begin();
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), IsEmpty());
}

TEST_F(NuttxMacrawTest, ReadsThreeRegistersInOneAndDrainsTheBuffer) {
  begin();
  chip.deliver(0, raw_record(60, 0xAA));
  chip.deliver(0, raw_record(61, 0xBB));
  interrupt(0x04);
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 00:0015 00 00 01", "r 01:0002 04", "w 01:0002 04",                        //
                          "r 01:0026 00 7d", "r 01:0026 00 7d", "r 01:0028 00 00", "r 03:0000 00 3e",  //
                          "r 03:0002 [60]", "w 01:0028 00 3e", "w 01:0001 40",                         //
                          "r 01:0026 00 3f", "r 01:0026 00 3f", "r 01:0028 00 3e", "r 03:003e 00 3f",  //
                          "r 03:0040 [61]", "w 01:0028 00 7d", "w 01:0001 40",                         //
                          "r 01:0026 00 00", "r 01:0026 00 00"));
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(60, 0xAA), raw_frame(61, 0xBB)));
}

TEST_F(NuttxMacrawTest, LooksAgainAsLongAsTheLevelIsLow) {
  begin();
  chip.deliver(0, raw_record(60));
  chip.socket(0, 0x02) = 0x04;
  chip.stick(0x00, 0x17, 0x01);
  rig.line.is_low = true;  // and it never fell
  driver.run(stack);
  EXPECT_EQ(stack.frames.size(), 1u);
}

TEST_F(NuttxMacrawTest, QueuesFramesInTheChipAndSendsEachAtTheSendokOfTheOneBefore) {
  begin();
  const auto frame = raw_frame(60, 0xAA);
  ASSERT_TRUE(driver.send_frame(frame.data(), 60));
  EXPECT_THAT(chip.take_log(), ElementsAre("w 02:0000 [60]", "w 01:0024 00 3c", "w 01:002c 14", "w 01:0001 20"));
  ASSERT_TRUE(driver.send_frame(frame.data(), 50));
  EXPECT_THAT(chip.take_log(), ElementsAre("w 02:003c [50]"));
  interrupt(0x10);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 00:0015 00 00 01", "r 01:0002 10", "w 01:0002 10", "r 01:0022 00 3c",
                                           "w 01:0024 00 6e", "w 01:0001 20"));
  interrupt(0x10);
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 00:0015 00 00 01", "r 01:0002 10", "w 01:0002 10", "r 01:0022 00 6e", "w 01:002c 04"));
  EXPECT_THAT(chip.sent[0], ElementsAre(frame, raw_frame(50, 0xAA)));
}

TEST_F(NuttxMacrawTest, TakesTenFramesUntilOneIsSent) {
  begin();
  const auto frame = raw_frame(60);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(driver.send_frame(frame.data(), 60)) << i;
  EXPECT_FALSE(driver.send_frame(frame.data(), 60));
  interrupt(0x10);
  EXPECT_TRUE(driver.send_frame(frame.data(), 60));
}

TEST_F(NuttxMacrawTest, AMinuteWithoutSendokBeginsAnew) {
  begin();
  ASSERT_TRUE(driver.send_frame(raw_frame(60).data(), 60));
  ASSERT_TRUE(driver.send_frame(raw_frame(60).data(), 60));
  chip.forget();
  chip.port().delay_us(59'000'000);
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), IsEmpty());
  chip.port().delay_us(1'000'000);
  driver.run(stack);
  EXPECT_EQ(chip.take_log()[0], "w 00:0009 02 00 00 00 00 01");
  ASSERT_TRUE(driver.send_frame(raw_frame(60).data(), 60));
  EXPECT_EQ(chip.take_log()[0], "w 02:0000 [60]");  // what waited is lost
}

TEST_F(NuttxMacrawTest, ACauseThatCannotBeIsTheEndUntilTheNextBegin) {
  for (const std::uint8_t sn_ir : {std::uint8_t{0x00}, std::uint8_t{0x08}, std::uint8_t{0x05}}) {
    begin();
    interrupt(sn_ir);
    EXPECT_FALSE(driver.link_up()) << int{sn_ir};
    chip.forget();
    EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
    rig.line.fall();
    driver.run(stack);
    EXPECT_THAT(chip.take_log(), IsEmpty());
    rig.line.rise();
  }
  begin();
  interrupt(0x04, 0x03);  // a socket that is not open
  EXPECT_FALSE(driver.link_up());
  begin();
  EXPECT_TRUE(driver.link_up());
}

TEST_F(NuttxMacrawTest, AnInterruptWithoutASourceIsLeftAlone) {
  begin();
  interrupt(0x00, 0x00);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 00:0015 00 00 00"));
  EXPECT_TRUE(driver.link_up());
}

TEST_F(NuttxMacrawTest, CausesOfTheChipsOwnStackAreClearedAndNoMore) {
  begin();
  chip.script(0x00, 0x15, {0x80});
  interrupt(0x00, 0x00);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 00:0015 80 00 00", "w 00:0015 80"));
}

TEST_F(NuttxMacrawTest, AFrameLongerThanWhatIsThereIsTheEnd) {
  begin();
  chip.deliver(0, std::vector<std::uint8_t>{0x10, 0x00, 0xAA});
  interrupt(0x04);
  EXPECT_FALSE(driver.link_up());
}

TEST_F(NuttxMacrawTest, ACounterThatNeverSettlesIsTheEnd) {
  begin();
  for (int i = 0; i < 101; ++i) chip.script(0x01, 0x27, {i % 2});
  interrupt(0x04);
  EXPECT_FALSE(driver.link_up());
}

TEST_F(NuttxMacrawTest, AFrameOfABadSizeIsSteppedOver) {
  begin();
  chip.deliver(0, raw_record(1515));
  chip.deliver(0, raw_record(13));
  chip.deliver(0, raw_record(60));
  interrupt(0x04);
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(60)));
}

}  // namespace
}  // namespace wizloop::test
