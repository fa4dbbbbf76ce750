// The driver of ESP-IDF: which frames it makes, and what wakes it.
#include "drivers/patterns/esp_idf_macraw.hpp"

#include "tests/unit/patterns/raw_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::IsEmpty;

class EspIdfMacrawTest : public testing::Test {
 protected:
  void begin(std::uint8_t phycfgr = 0xBF) {
    chip.stick(0x00, 0x2E, phycfgr);
    ASSERT_TRUE(driver.begin(raw_mac));
    rig.settle(stack);
  }

  RegisterFile chip;
  FrameLog stack;
  RawRig<patterns::EspIdfMacraw> rig{chip};
  patterns::EspIdfMacraw& driver = rig.driver;
};

TEST_F(EspIdfMacrawTest, BeginsWithTheSocketClosedUntilTheLinkIsUp) {
  chip.stick(0x00, 0x2E, 0xB8);
  EXPECT_TRUE(driver.begin(raw_mac));
  EXPECT_FALSE(driver.link_up());
  EXPECT_THAT(chip.take_log(),
              ElementsAreArray(Lines{"w 00:0000 80", "r 00:0000 00", "r 00:0039 04", "w 01:001e 10", "w 01:001f 10"} +
                               other_sockets_emptied() +
                               Lines{"w 00:0018 00", "w 01:0000 a4", "w 01:002c 04", "w 00:0013 ff ff",  //
                                     "r 00:002e b8", "w 00:002e 38", "w 00:002e b8", "r 00:002e b8",     //
                                     "w 00:0009 02 00 00 00 00 01",                                      //
                                     "r 00:002e b8", "r 00:002e b8", "w 00:002e 38", "w 00:002e b8", "r 00:002e b8"}));
  EXPECT_EQ(chip.slept_us(), 20'000u);
}

TEST_F(EspIdfMacrawTest, OpensWhenItsTimerSeesTheLinkAndClosesWhenItSeesItGo) {
  chip.stick(0x00, 0x2E, 0xB8);
  ASSERT_TRUE(driver.begin(raw_mac));
  chip.stick(0x00, 0x2E, 0xBF);
  chip.port().delay_us(1'000'000);
  chip.forget();
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), IsEmpty());
  chip.port().delay_us(1'000'000);
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 00:002e bf", "w 01:0001 01", "r 01:0001 00", "w 00:0018 01"));
  chip.stick(0x00, 0x2E, 0xB8);
  chip.port().delay_us(2'000'000);
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 00:002e b8", "w 00:0018 00", "w 01:0001 10", "r 01:0001 00"));
  EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
  EXPECT_THAT(chip.take_log(), IsEmpty());
}

TEST_F(EspIdfMacrawTest, WaitsForAVersionThatReadsZeroAfterTheReset) {
  chip.stick(0x00, 0x2E, 0xBF);
  chip.script(0x00, 0x39, {0, 0, 0});
  EXPECT_TRUE(driver.begin(raw_mac));
  EXPECT_EQ(chip.slept_us(), 30'000 + 20'000u);
}

TEST_F(EspIdfMacrawTest, GivesUpOnTheResetAndOnTheVersionAfterATenthOfASecondEach) {
  chip.stick(0x00, 0x39, 0x00);
  EXPECT_FALSE(driver.begin(raw_mac));
  EXPECT_EQ(chip.slept_us(), 100'000u);
  chip.stick(0x00, 0x00, 0x80);
  chip.forget();
  EXPECT_FALSE(driver.begin(raw_mac));
  EXPECT_EQ(chip.frames(), 1 + 10u);
  EXPECT_EQ(chip.slept_us(), 100'000u);
}

TEST_F(EspIdfMacrawTest, DrainsTheBufferAfterOneEdge) {
  begin();
  chip.deliver(0, raw_record(60, 0xAA));
  rig.deliver(raw_record(61, 0xBB));
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0002 04", "w 01:0002 04",                           //
                                           "r 01:0026 00 7d", "r 01:0026 00 7d", "r 01:0028 00 00",  //
                                           "r 03:0000 00 3e", "r 03:0002 [60]", "w 01:0028 00 3e",   //
                                           "w 01:0001 40", "r 01:0001 00",                           //
                                           "r 01:0026 00 3f", "r 01:0026 00 3f", "r 01:0028 00 3e",  //
                                           "r 03:003e 00 3f", "r 03:0040 [61]", "w 01:0028 00 7d",   //
                                           "w 01:0001 40", "r 01:0001 00"));
  EXPECT_THAT(stack.frames, ElementsAre(raw_frame(60, 0xAA), raw_frame(61, 0xBB)));
}

TEST_F(EspIdfMacrawTest, ALostEdgeCostsASecond) {
  begin();
  rig.deliver(raw_record(60));
  rig.line.take_fall();  // nobody noticed
  rig.line.low_looks = 0;
  chip.port().delay_us(900'000);
  driver.run(stack);
  EXPECT_THAT(stack.frames, IsEmpty());
  chip.port().delay_us(100'000);
  driver.run(stack);
  EXPECT_EQ(stack.frames.size(), 1u);
}

TEST_F(EspIdfMacrawTest, ABadLengthIsTakenNoNotice) {
  begin();
  rig.deliver(raw_record(20));
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0002 04", "w 01:0002 04", "r 01:0026 00 16", "r 01:0026 00 16",
                                           "r 01:0028 00 00", "r 03:0000 00 16"));
  EXPECT_THAT(stack.frames, IsEmpty());
}

TEST_F(EspIdfMacrawTest, ABadLengthBehindAGoodFrameHoldsTheTask) {
  begin();
  chip.deliver(0, raw_record(60));
  rig.deliver(raw_record(20));
  driver.run(stack);
  EXPECT_EQ(stack.frames.size(), 1u);
  EXPECT_EQ(chip.frames(), 10 + 1000 * 4u);  // the original stays for ever
}

TEST_F(EspIdfMacrawTest, WithoutMemoryItLooksAgainAndStepsOver) {
  begin();
  stack.has_memory = false;
  rig.deliver(raw_record(60));
  driver.run(stack);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0002 04", "w 01:0002 04", "r 01:0026 00 3e", "r 01:0026 00 3e",
                                           "r 01:0028 00 00", "r 03:0000 00 3e",                     //
                                           "r 01:0026 00 3e", "r 01:0026 00 3e", "r 01:0028 00 00",  //
                                           "r 03:0000 00 3e", "w 01:0028 00 3e", "w 01:0001 40", "r 01:0001 00"));
}

TEST_F(EspIdfMacrawTest, SendsAndLooksAtTheLinkBeforeEachLookForSendok) {
  begin();
  chip.script(0x01, 0x02, {0x00, 0x10});
  const auto frame = raw_frame(60, 0xAA);
  ASSERT_TRUE(driver.send_frame(frame.data(), 60));
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0020 40 00", "r 01:0020 40 00", "r 01:0024 07 fd", "w 02:07fd [60]",
                                           "w 01:0024 08 39", "w 01:0001 20", "r 01:0001 00", "r 00:002e bf",
                                           "r 01:0002 00", "r 00:002e bf", "r 01:0002 10", "w 01:0002 10"));
  EXPECT_THAT(chip.sent[0], ElementsAre(frame));
}

TEST_F(EspIdfMacrawTest, GivesUpOnSendokAfter200MicrosecondsOr1500AtTenMegabit) {
  for (const auto& [phycfgr, limit_us] : {std::pair<std::uint8_t, unsigned>{0xBF, 200}, {0xBD, 1500}}) {
    RegisterFile file;
    RawRig<patterns::EspIdfMacraw> one{file};
    file.stick(0x00, 0x2E, phycfgr);
    ASSERT_TRUE(one.driver.begin(raw_mac));
    one.settle(stack);
    file.stick(0x01, 0x02, 0x00);
    EXPECT_FALSE(one.driver.send_frame(raw_frame(60).data(), 60));
    // Seven frames come first; each microsecond a frame, and the last is the link.
    EXPECT_NEAR(static_cast<double>(file.frames()), 7 + limit_us + 1, 3) << limit_us;
    EXPECT_EQ(file.take_log().back().substr(0, 9), "r 00:002e");
  }
}

TEST_F(EspIdfMacrawTest, FailsAtOnceWithoutRoomOrLink) {
  begin();
  chip.script(0x01, 0x20, {0, 0});
  chip.script(0x01, 0x21, {59, 59});
  EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
  EXPECT_EQ(chip.frames(), 2u);
  chip.stick(0x00, 0x2E, 0xB8);
  EXPECT_FALSE(driver.send_frame(raw_frame(60).data(), 60));
}

}  // namespace
}  // namespace wizloop::test
