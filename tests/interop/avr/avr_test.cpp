// The images of the agent on the parts that they are for, instruction by instruction: those for an ATmega2560 with the
// tests that every kind of board takes, that for an ATmega328P with all of its verbs. Each board is asked in the end
// how deep its stack went, which leaves a part of the RAM free that is stated here.
#include <algorithm>
#include <cstdio>
#include <string>

#include "sim/net/services/tcp_echo.hpp"
#include "tests/interop/avr/avr_board.hpp"
#include "tests/unit/board/board_fixture.hpp"

namespace wizloop::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// Never used, for what no test comes to: an eighth of the RAM.
constexpr int least_free_bytes(const AvrPart& part) { return part.ram_bytes / 8; }

struct Depth {
  int boards = 0;
  int static_bytes = 0;
  int stack_bytes = 0;
};
Depth depth_of(const AvrPart& part, const AvrBoard* board = nullptr) {
  static Depth depths[2];
  Depth& depth = depths[&part == &atmega328p];
  if (board != nullptr) {
    ++depth.boards;
    depth.static_bytes = board->static_ram_bytes();
    depth.stack_bytes = std::max<int>(depth.stack_bytes, board->deepest_stack_bytes());
  }
  return depth;
}

class MeasuredBoard final : public AvrBoard {
 public:
  MeasuredBoard(const AvrPart& part, board::BoardSetup setup, Chip chip = Chip::there)
      : AvrBoard{part, std::string{WIZLOOP_IMAGES} + "/agent-" + part.name + ".elf", std::move(setup), chip} {}
  ~MeasuredBoard() override {
    depth_of(part(), this);
    EXPECT_GE(part().ram_bytes - static_ram_bytes() - deepest_stack_bytes(), least_free_bytes(part()))
        << static_ram_bytes() << " static bytes, and " << deepest_stack_bytes() << " of stack";
  }
};

class Depths final : public testing::Environment {
 public:
  void TearDown() override {
    for (const AvrPart* part : {&atmega2560, &atmega328p}) {
      const Depth depth = depth_of(*part);
      if (depth.boards == 0) continue;
      std::printf("%s: %d bytes of RAM: %d static, %d of stack at most (%d boards), %d never used\n", part->name,
                  part->ram_bytes, depth.static_bytes, depth.stack_bytes, depth.boards,
                  part->ram_bytes - depth.static_bytes - depth.stack_bytes);
    }
  }
};
const testing::Environment* const depths = testing::AddGlobalTestEnvironment(new Depths);

class Avr : public testing::TestWithParam<const AvrPart*> {
 protected:
  MeasuredBoard& start(AvrBoard::Chip chip = AvrBoard::Chip::there) {
    board_ = std::make_unique<MeasuredBoard>(*GetParam(), setup_of("w55rp20"), chip);
    board_->boot();
    greeting = board_->run_until_line(1s).value_or("(no greeting)");
    return *board_;
  }
  std::string ask(std::string_view request) { return board_->ask(request, 10s).value_or("(no answer)"); }

  std::string greeting;

 private:
  std::unique_ptr<MeasuredBoard> board_;
};

TEST_P(Avr, GreetsWithItsChip) {
  start();
  EXPECT_THAT(greeting, StartsWith(std::string{"! hello agent=1 board="} + GetParam()->name + "-w5500 chip=W5500 "));
}

TEST_P(Avr, GreetsWithoutAChipToo) {
  start(AvrBoard::Chip::missing);
  EXPECT_THAT(greeting, StartsWith(std::string{"! hello agent=1 board="} + GetParam()->name + "-w5500 chip=none "));
}

// As a board on a desk can tell it, too. It cannot know of memory below what was written last, which a buffer in the
// deepest frame may leave as it was.
TEST_P(Avr, TellsItselfHowMuchStackWasNeverUsed) {
  const MeasuredBoard& board = start();
  ask("spi tx=000000.wrong");
  ask("link wait_ms=5000");
  const int said = static_cast<int>(number_of(ask("stats"), "stack_free_bytes"));
  const int untouched = GetParam()->ram_bytes - board.static_ram_bytes() - board.deepest_stack_bytes();
  EXPECT_GE(said, untouched);
  EXPECT_LE(said, untouched + 256);
}

INSTANTIATE_TEST_SUITE_P(Parts, Avr, testing::Values(&atmega2560, &atmega328p),
                         [](const auto& part) { return std::string{part.param->name}; });

class AvrReduced : public Avr {};

TEST_P(AvrReduced, DoesAllOfItsVerbs) {
  MeasuredBoard& board = start();
  net::TcpEcho echo{board.testbed().pc(), 7};
  EXPECT_EQ(ask("help"), "ok verbs=hello,help,cancel,reset,net,link,path,reg,spi,stats,tcp-echo");
  EXPECT_EQ(ask("help verb=tcp-echo"), "ok keys=ip,port,local,count,size,kib,tries,timeout_ms,every_ms");
  EXPECT_THAT(ask("hello"), StartsWith("ok agent=1 "));
  EXPECT_EQ(ask("cancel"), "err idle");
  EXPECT_THAT(ask("reset"), StartsWith("ok us="));
  EXPECT_THAT(ask("link mode=auto wait_ms=9000"), StartsWith("ok up=1 mbit_s=100 duplex=full "));
  EXPECT_THAT(ask("net rtr_us=100000 rcr=3 ip=192.168.1.20"), HasSubstr(" rtr_us=100000 rcr=3"));
  EXPECT_EQ(ask("path p=byte intn=1"), "ok p=byte intn=1");
  EXPECT_EQ(ask("path p=burst"), "ok p=burst intn=1");
  EXPECT_THAT(ask("reg block=common offset=0x39"), "ok data=04");
  EXPECT_THAT(ask("reg block=s3-tx offset=0 data=" + std::string(80, 'A')), "ok count=40");
  EXPECT_THAT(ask("reg block=s3-tx offset=0 count=40"), "ok data=" + std::string(80, 'A'));
  EXPECT_THAT(ask("spi tx=00390000,w10,0039+,+0000,i0"), StartsWith("ok rx=01020304,0102,0304 us="));
  EXPECT_THAT(ask("tcp-echo ip=192.168.1.10 port=7 count=5 size=128"),
              AllOf(StartsWith("ok bytes=640 "), HasSubstr(" bad=0 ")));
  EXPECT_THAT(ask("tcp-echo port=7000 timeout_ms=300 every_ms=100"), StartsWith("err timeout bytes=0 "));
  EXPECT_THAT(ask("tcp-echo ip=192.168.1.10 port=8 tries=2"), StartsWith("err refused bytes=0 "));
  EXPECT_EQ(ask(std::string(400, 'x')), "err too-long line=160");
  EXPECT_THAT(ask("stats"), HasSubstr(" errors="));
  for (const Finding& finding : board.testbed().findings().all()) ADD_FAILURE() << text_of(finding.rule).id;
}

INSTANTIATE_TEST_SUITE_P(Parts, AvrReduced, testing::Values(&atmega328p),
                         [](const auto& part) { return std::string{part.param->name}; });

std::unique_ptr<board::TalkingBoard> make(board::BoardSetup setup) {
  return std::make_unique<MeasuredBoard>(atmega2560, std::move(setup));
}

}  // namespace

const BoardKind kind{.has_dma = false, .mac = "020000000014", .gateway = "192.168.1.1", .make = make};

}  // namespace wizloop::test
