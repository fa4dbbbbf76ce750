// What the agent says to requests good and bad, and that it goes on afterwards.
#include "tests/unit/agent/agent_fixture.hpp"

#include <random>

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class Protocol : public AgentTest {};

TEST_F(Protocol, GreetsAtBoot) {
  EXPECT_EQ(greeting, "! hello agent=1 board=testboard chip=W5500 caps=full,byte,burst,dma,intn fw=1.2 line=200\r\n");
}

TEST_F(Protocol, HelloAnswersWhatTheGreetingSaid) { EXPECT_EQ(say("#5 hello\n"), "#5 ok" + greeting.substr(7)); }

TEST_F(Protocol, EveryRequestIsAnsweredOnceAndInOrder) {
  EXPECT_EQ(say("#1 path\r\n#2 path\r#3 path\n"), "#1 ok p=dma intn=0\r\n#2 ok p=dma intn=0\r\n#3 ok p=dma intn=0\r\n");
}

TEST_F(Protocol, CheckedRequestGetsACheckedAnswer) {
  EXPECT_EQ(say(with_crc("#9 path") + "\n"), with_crc("#9 ok p=dma intn=0") + "\r\n");
}

TEST_F(Protocol, WrongChecksumIsToldAndNothingIsDone) {
  EXPECT_EQ(say("#9 path p=byte *1234\n"), with_crc("#9 err crc") + "\r\n");
  EXPECT_EQ(say("#9 path\n"), "#9 ok p=dma intn=0\r\n");
}

TEST_F(Protocol, EveryWayToBeWrongHasItsCode) {
  const std::pair<std::string, std::string> cases[] = {
      {"hello", "#0 err syntax expected #SEQ VERB key=value ..."},
      {"#1", "#0 err syntax expected #SEQ VERB key=value ..."},
      {"#1 net ip", "#1 err syntax expected #SEQ VERB key=value ..."},
      {"#1 frobnicate", "#1 err unknown-verb try help"},
      {"#1 path q=1", "#1 err unknown-key q"},
      {"#1 path p=byte p=dma", "#1 err twice p"},
      {"#1 path p=fast", "#1 err bad-value p"},
      {"#1 path p=", "#1 err bad-value p"},
      {"#1 reg offset=1", "#1 err missing-key block"},
      {"#1 reg block=common", "#1 err missing-key offset"},
      {"#1 reg block=s8 offset=0", "#1 err bad-value block"},
      {"#1 reg block=common offset=65536", "#1 err bad-value offset"},
      {"#1 reg block=common offset=0 count=0", "#1 err bad-value count"},
      {"#1 reg block=common offset=0 data=123", "#1 err bad-value data"},
      {"#1 reg block=common offset=0 data=12 count=1", "#1 err bad-value count"},
      {"#1 reset pin=low", "#1 err not-supported"},
      {"#1 net ip=1.2.3", "#1 err bad-value ip"},
      {"#1 net rcr=256", "#1 err bad-value rcr"},
      {"#1 tcp-send ip=1.2.3.4", "#1 err missing-key port"},
      {"#1 tcp-send port=1 bytes=-1", "#1 err bad-value bytes"},
      {"#1 tcp-send port=1 chunk=5000", "#1 err bad-value chunk"},
      {"#1 tcp-send port=1 timeout_ms=0", "#1 err bad-value timeout_ms"},
      {"#1 cancel", "#1 err idle"},
      {"#1 help verb=nothing", "#1 err unknown-verb"},
      {std::string("#1 path\0", 8), "#1 err bad-byte"},
      {"#1 pa\xFFth", "#1 err bad-byte"},
      {"\xFF\xFE\x80", "#0 err bad-byte"},
      {"#1 path p=" + std::string(300, 'x'), "#1 err too-long line=200"},
      {std::string(300, 'x'), "#0 err too-long line=200"},
  };
  for (const auto& [request, answer] : cases) {
    EXPECT_EQ(say(request + "\n"), answer + "\r\n") << request;
    EXPECT_EQ(say("#2 path\n"), "#2 ok p=dma intn=0\r\n") << "after " << request;
  }
}

TEST_F(Protocol, SpiTokensAreHeldToTheirForm) {
  for (const char* tx : {"", ",", "00,", ",00", "0", "000", "0g", "+", "++", "00++", "w", "wx", "w-1", "w1000001", "i",
                         "+00", "00,+00", "w900000,w900000", "00 01"}) {
    EXPECT_THAT(say(std::string{"#1 spi tx="} + tx + "\n"),
                testing::AnyOf("#1 err bad-value tx\r\n", StartsWith("#1 err syntax")))
        << tx;
  }
  EXPECT_EQ(chip.frames().back().mosi.size(), 4U);  // nothing was sent: the last frame is the one that boot made
}

TEST_F(Protocol, SpiAnswersMisoOfEachFrame) {
  chip.frames().clear();
  EXPECT_THAT(say("#1 spi tx=00390000,w50,000f00+,+0000+,+0000\n"),
              StartsWith("#1 ok rx=01020304,010203,0A00,0002 us="));
  ASSERT_EQ(chip.frames().size(), 2U);
  EXPECT_EQ(chip.frames()[1].mosi, (Bytes{0x00, 0x0F, 0x00, 0, 0, 0, 0}));
}

TEST_F(Protocol, SpiTellsIntnWhereItIsAsked) {
  EXPECT_THAT(say("#1 spi tx=i0\n"), testing::MatchesRegex("#1 ok rx= us=[0-9]+ intn=1\r\n"));
  EXPECT_THAT(say("#1 spi tx=00390000\n"), testing::Not(HasSubstr("intn")));
}

TEST_F(Protocol, SelectThatWasLeftLowEndsBeforeAnyOtherVerb) {
  chip.frames().clear();
  say("#1 spi tx=00390000+\n");
  say("#2 reg block=common offset=0x39\n");
  ASSERT_EQ(chip.frames().size(), 2U);
  EXPECT_EQ(chip.frames()[0].mosi.size(), 4U);
  EXPECT_EQ(say("#3 spi tx=+00\n"), "#3 err bad-value tx\r\n");
}

TEST_F(Protocol, CtrlCAtRestDropsTheHalfTypedLine) { EXPECT_EQ(say("#1 pa\x03#2 path\n"), "#2 ok p=dma intn=0\r\n"); }

TEST_F(Protocol, OverrunIsToldAndTheSpoiledLineIsAnError) {
  say("#1 pa");
  console.overrun = true;
  EXPECT_EQ(say("th\n"), "! overrun\r\n");
  EXPECT_EQ(say("#2 path\n#3 path\n"), "#2 err overrun\r\n#3 ok p=dma intn=0\r\n");
}

TEST_F(Protocol, HelpListsVerbsAndKeys) {
  EXPECT_THAT(say("#1 help\n"), StartsWith("#1 ok verbs=hello,help,cancel,"));
  EXPECT_EQ(say("#1 help verb=path\n"), "#1 ok keys=p,intn\r\n");
}

TEST_F(Protocol, MissingChipIsToldByEveryoneWhoNeedsIt) {
  chip.stuck_miso = std::uint8_t{0xFF};
  EXPECT_EQ(say("#1 reset\n"), "#1 err no-chip\r\n");
  EXPECT_THAT(say("#2 hello\n"), HasSubstr(" chip=none "));
  EXPECT_THAT(say("#3 tcp-send ip=10.0.0.1 port=1\n"), StartsWith("#3 err no-chip"));
  chip.stuck_miso.reset();
  EXPECT_THAT(say("#4 reset\n"), StartsWith("#4 ok us="));
  EXPECT_THAT(say("#5 hello\n"), HasSubstr(" chip=W5500 "));
}

TEST_F(Protocol, DmaThatHangsIsABusError) {
  chip.dma_hangs = true;
  EXPECT_EQ(say("#1 reg block=common offset=0 count=40\n"), "#1 err bus-failed\r\n");
  EXPECT_THAT(say("#2 spi tx=00390000\n"), StartsWith("#2 err bus-failed"));
  EXPECT_EQ(say("#3 path p=burst\n"), "#3 ok p=burst intn=0\r\n");
  EXPECT_EQ(say("#4 reg block=common offset=0x39\n"), "#4 ok data=04\r\n");
}

// Whatever comes in: no crash (the sanitizers look too), and a good request afterwards is answered.
TEST_F(Protocol, NoiseOfEveryKindLeavesItUsable) {
  std::mt19937 random{1};
  const std::string pieces[] = {"#",
                                "1 ",
                                "tcp-send ",
                                "spi ",
                                "tx=",
                                "00,",
                                "+",
                                " *",
                                "12AB",
                                "\n",
                                "\r",
                                "\x03",
                                "\0",
                                "\xFF",
                                "reg ",
                                "net ",
                                "ip=",
                                "=",
                                "block=common ",
                                "offset=0 ",
                                "data=",
                                "count=9",
                                std::string(250, 'z'),
                                "#2 hello\n",
                                " ",
                                "p=",
                                "dma",
                                "w5",
                                "i0",
                                "help ",
                                "verb="};
  for (int round = 0; round < 300; ++round) {
    std::string noise;
    for (int i = 0; i < 20; ++i) {
      noise += random() % 4 == 0 ? std::string(1, static_cast<char>(random())) : pieces[random() % std::size(pieces)];
    }
    // A verb that waits for a peer would go on until its deadline.
    console.on_idle = [this] { console.input += '\x03'; };
    console.input += noise;
    for (int i = 0; i < 40; ++i) agent.run_once(1);
    console.on_idle = nullptr;
    say("\n");
    console.output.clear();
    ASSERT_THAT(say("#2 path p=burst\n"), testing::EndsWith("#2 ok p=burst intn=0\r\n")) << noise;
  }
}

}  // namespace
}  // namespace wizloop::test
