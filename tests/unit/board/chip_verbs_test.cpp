// The verbs that set up the board and reach into its chip.
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

class ChipVerbs : public BoardTest {
 protected:
  static std::vector<std::string> paths() {
    if (kind.has_dma) return {"byte", "burst", "dma"};
    return {"byte", "burst"};
  }
};

TEST_F(ChipVerbs, GreetsAndSaysTheSameWhenAsked) {
  EXPECT_EQ(greeting, std::string{"! hello agent=1 board=w55rp20 chip=W5500 caps=full,byte,burst,"} +
                          (kind.has_dma ? "dma," : "") + "rst,intn fw=0.1.0 line=1024");
  EXPECT_EQ(ask("hello"), "ok" + greeting.substr(7));
}

TEST_F(ChipVerbs, NetTellsAndSets) {
  const std::string last_of_mac = std::string{kind.mac}.substr(10);
  EXPECT_EQ(ask("net"), "ok mac=02:00:00:00:00:" + last_of_mac +
                            " ip=192.168.1.20 mask=255.255.255.0 gw=" + kind.gateway + " rtr_us=200000 rcr=8");
  EXPECT_EQ(ask("net ip=10.1.2.3 mask=255.0.0.0 gw=10.0.0.1 mac=02:00:00:00:00:0a rtr_us=50000 rcr=3"),
            "ok mac=02:00:00:00:00:0A ip=10.1.2.3 mask=255.0.0.0 gw=10.0.0.1 rtr_us=50000 rcr=3");
  EXPECT_THAT(ask("reset"), StartsWith("ok us="));
  EXPECT_THAT(ask("net"), StartsWith("ok mac=02:00:00:00:00:0A ip=10.1.2.3"));
}

TEST_F(ChipVerbs, LinkTellsWhatWasNegotiated) {
  EXPECT_THAT(ask("link"), StartsWith("ok up=1 mbit_s=100 duplex=full phycfgr=BF us="));
  board->testbed().chip().plug(false);
  board->run_until(board->now() + 1s);
  EXPECT_THAT(ask("link"), StartsWith("ok up=0 phycfgr="));
}

TEST_F(ChipVerbs, EveryPathReadsTheSameRegister) {
  for (const std::string& path : paths()) {
    EXPECT_EQ(ask("path p=" + path), "ok p=" + path + " intn=0");
    EXPECT_EQ(ask("reg block=common offset=0x39"), "ok data=04");
  }
}

TEST_F(ChipVerbs, RegistersAndBuffersAreWrittenAndRead) {
  EXPECT_EQ(ask("reg block=common offset=9 count=6"), std::string{"ok data="} + kind.mac);
  EXPECT_EQ(ask("reg block=s3 offset=0x0c data=C0A80105"), "ok count=4");
  EXPECT_EQ(ask("reg block=s3 offset=0x0c count=4"), "ok data=C0A80105");
  EXPECT_EQ(ask("reg block=s0-tx offset=100 data=0011ff"), "ok count=3");
  EXPECT_EQ(ask("reg block=s0-tx offset=100 count=3"), "ok data=0011FF");
}

TEST_F(ChipVerbs, SpiExchangesFrames) {
  EXPECT_THAT(ask("spi tx=00390000"), StartsWith("ok rx=01020304 us="));  // what MISO shows under a header
  EXPECT_THAT(ask("spi tx=003900+,+00,w100,000F04C0A80114"), HasSubstr("04"));
}

}  // namespace
}  // namespace wizloop::test
