// Host code drives a W5500 through the agent: the driver on the bridge, frames in pieces and batches, and what becomes
// of a request whose line is damaged.
#include "drivers/ports/spi_bridge/spi_bridge.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include "drivers/w5500/chip.hpp"
#include "drivers/w5500/socket.hpp"
#include "sim/net/services/tcp_echo.hpp"
#include "tests/support/agent_on_loopback.hpp"

namespace wizloop::spi_bridge {
namespace {

using test::AgentOnLoopback;
using testing::ElementsAre;
using testing::HasSubstr;
using Octets = std::vector<std::uint8_t>;

board::BoardSetup board_setup() {
  auto profile = bus::load_board(std::filesystem::path{WIZLOOP_BOARDS_DIR} / "stm32f405-arduino.toml");
  WIZ_ASSERT(static_cast<bool>(profile));
  return {.testbed = {.board = std::move(profile).value()}};
}

class SpiBridgeTest : public testing::Test {
 protected:
  void connect(AgentOnLoopback::Damage to_board = {}, AgentOnLoopback::Damage from_board = {}) {
    agent.emplace(board_setup(), std::move(to_board), std::move(from_board));
    auto opened = AgentChannel::open(agent->address());
    ASSERT_TRUE(opened) << opened.error().message;
    channel = std::move(opened).value();
    auto attached = SpiBridge::attach(*channel);
    ASSERT_TRUE(attached) << attached.error().message;
    bridge = std::move(attached).value();
  }

  Octets exchange(const Octets& mosi, bool joins = false, bool holds = false) {
    Octets miso(mosi.size());
    EXPECT_TRUE(bridge->exchange(mosi, miso, joins, holds));
    return miso;
  }

  ~SpiBridgeTest() override { channel.reset(); }

  std::optional<AgentOnLoopback> agent;
  std::unique_ptr<AgentChannel> channel;
  std::unique_ptr<SpiBridge> bridge;
};

TEST_F(SpiBridgeTest, AFrameReadsTheVersionOfTheChip) {
  connect();
  EXPECT_EQ(bridge->board(), "stm32f405-arduino");
  EXPECT_THAT(exchange({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(bridge->counters().frames, 1u);
  EXPECT_GT(bridge->counters().board_us, 0u);
}

TEST_F(SpiBridgeTest, AFrameMayComeInPieces) {
  connect();
  exchange({0x00, 0x39}, false, true);
  exchange({0x00}, true, true);
  EXPECT_THAT(exchange({0x00}, true, false), ElementsAre(4));
}

TEST_F(SpiBridgeTest, SelectRisesBeforeTheBoardWaits) {
  connect();
  BridgePort port{*bridge};
  port.select();
  port.exchange(nullptr, nullptr, 2);
  port.deselect();
  port.delay_us(5);
  EXPECT_FALSE(bridge->failure());
  // Joined to a frame that is over: the board refuses.
  Octets miso(1);
  EXPECT_FALSE(bridge->exchange(Octets{0}, miso, true, false));
  EXPECT_THAT(bridge->failure()->message, HasSubstr("bad-value"));
}

TEST_F(SpiBridgeTest, MoreThanALineIsCutWhereTheFrameGoesOn) {
  connect();
  Octets write = {0x00, 0x00, 0x14};  // TX buffer of socket 0
  for (int i = 0; i < 2048; ++i) write.push_back(static_cast<std::uint8_t>(i * 7));
  exchange(write);
  Octets read(write.size());
  read[2] = 0x10;
  const Octets back = exchange(read);
  EXPECT_TRUE(std::equal(write.begin() + 3, write.end(), back.begin() + 3));
  EXPECT_GT(bridge->counters().lines, 8u);
}

TEST_F(SpiBridgeTest, PostedFramesShareALine) {
  connect();
  for (std::uint8_t i = 0; i < 4; ++i)
    EXPECT_TRUE(bridge->post(Octets{0x00, static_cast<std::uint8_t>(0x0F + i), 0x04, i}));
  EXPECT_EQ(bridge->counters().lines, 0u);
  EXPECT_THAT(exchange({0x00, 0x0F, 0x00, 0, 0, 0, 0}), ElementsAre(1, 2, 3, 0, 1, 2, 3));
  EXPECT_EQ(bridge->counters().lines, 1u);
}

TEST_F(SpiBridgeTest, TheDriverTalksTcpThroughIt) {
  board::BoardSetup setup = board_setup();
  connect();
  BridgeBus bus{*bridge};
  BridgePort port{*bridge};
  w5500::Chip chip{bus, port};
  ASSERT_TRUE(chip.reset());
  EXPECT_TRUE(chip.set_network({{2, 0, 0, 0, 0, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 10}}));
  EXPECT_TRUE(chip.wait_for_link(5'000'000));
  w5500::TcpSocket socket{chip, 0};
  ASSERT_TRUE(socket.open(50000));
  // Nobody listens at the PC, which says so.
  const auto connected = socket.connect({{192, 168, 1, 10}, 5001});
  EXPECT_EQ(connected.error(), w5500::Error::refused);
  EXPECT_FALSE(bridge->failure());
}

TEST_F(SpiBridgeTest, ResetPinAndIntnAreTheBoards) {
  connect();
  EXPECT_TRUE(bridge->has("rst"));
  exchange({0x00, 0x0F, 0x04, 9});
  EXPECT_TRUE(bridge->set_reset_pin(false));
  EXPECT_TRUE(bridge->wait(600));
  EXPECT_TRUE(bridge->set_reset_pin(true));
  EXPECT_TRUE(bridge->wait(2000));
  EXPECT_THAT(exchange({0x00, 0x0F, 0x00, 0}), ElementsAre(1, 2, 3, 0));
  EXPECT_EQ(bridge->intn_low(0), false);
}

// Counts lines and damages the nth that has this in it.
AgentOnLoopback::Damage nth(int n, std::string word, std::function<std::string(std::string)> how) {
  return [n, word = std::move(word), how = std::move(how)](std::string line) mutable {
    return line.find(word) != std::string::npos && --n == 0 ? how(std::move(line)) : line;
  };
}

std::string flip(std::string line) {
  line[line.size() / 2] = line[line.size() / 2] == '0' ? '1' : '0';
  return line;
}

TEST_F(SpiBridgeTest, ARequestThatIsDamagedOnItsWayIsAskedAgain) {
  connect(nth(1, "spi", flip));
  exchange({0x00, 0x0F, 0x04, 7});  // a write: the agent says that it did not do it
  EXPECT_THAT(exchange({0x00, 0x0F, 0x00, 0}), ElementsAre(1, 2, 3, 7));
  EXPECT_EQ(channel->counters().retries, 1u);
  EXPECT_EQ(channel->counters().damaged, 1u);
}

TEST_F(SpiBridgeTest, AByteThatIsNoneOnItsWayIsAskedAgain) {
  connect(nth(1, "spi", [](std::string line) {
    line[line.size() / 2] = static_cast<char>(line[line.size() / 2] | 0x80);
    return line;
  }));
  exchange({0x00, 0x0F, 0x04, 7});  // refused without a checksum, which could not be read
  EXPECT_THAT(exchange({0x00, 0x0F, 0x00, 0}), ElementsAre(1, 2, 3, 7));
  EXPECT_EQ(channel->counters().retries, 1u);
}

TEST_F(SpiBridgeTest, ABoardThatStartsAnewIsNotWaitedFor) {
  connect({}, nth(1, "rx=", [](std::string) { return std::string{"! hello agent=1 board=b chip=W5500\r\n"}; }));
  Octets miso(4);
  EXPECT_FALSE(bridge->exchange(Octets{0x00, 0x0F, 0x04, 7}, miso, false, false));
  EXPECT_THAT(bridge->failure()->message, HasSubstr("the board has started anew"));
}

TEST_F(SpiBridgeTest, ALineThatIsClosedIsSaidToBe) {
  boost::asio::io_context io;
  boost::asio::ip::tcp::acceptor acceptor{io, {boost::asio::ip::address_v4::loopback(), 0}};
  auto opened = AgentChannel::open("tcp:127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  ASSERT_TRUE(opened);
  acceptor.accept().close();
  const auto answer = opened.value()->ask("hello", 5s, true);
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("the line is closed"));
}

TEST_F(SpiBridgeTest, AReadWhoseAnswerIsDamagedIsAskedAgain) {
  connect({}, nth(1, "rx=", flip));
  EXPECT_THAT(exchange({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(channel->counters().retries, 1u);
}

TEST_F(SpiBridgeTest, AWriteWhoseAnswerIsDamagedIsNotRepeated) {
  connect({}, nth(1, "rx=", flip));
  Octets miso(4);
  EXPECT_FALSE(bridge->exchange(Octets{0x00, 0x0F, 0x04, 7}, miso, false, false));
  EXPECT_THAT(bridge->failure()->message, HasSubstr("the answer was damaged"));
  EXPECT_EQ(channel->counters().retries, 0u);
  EXPECT_FALSE(bridge->post(miso));
}

TEST_F(SpiBridgeTest, EventsAndLogBetweenAreNotAnswers) {
  connect({}, [](std::string line) {
    return line.find("rx=") == std::string::npos ? line
                                                 : "! progress seq=1 bytes=1\r\nlog #1 ok\r\n#0 err syntax\r\n" + line;
  });
  EXPECT_THAT(exchange({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
}

TEST(AgentChannel, AnAddressThatIsNoneSaysWhatWasExpected) {
  for (const char* wrong : {"", "ttyACM0", "serial:/dev/x@fast", "tcp:host", "tcp::1", "tcp:host:"}) {
    const auto opened = AgentChannel::open(wrong);
    ASSERT_FALSE(opened) << wrong;
    EXPECT_THAT(opened.error().message, HasSubstr("expected serial:PORT[@BAUD] or tcp:HOST:PORT")) << wrong;
  }
}

TEST(AgentChannel, APortThatCannotBeOpenedIsNamed) {
  const auto opened = AgentChannel::open("serial:/nonexistent/tty");
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("serial:/nonexistent/tty cannot be opened: No such file"));
}

TEST(AgentChannel, APortThatAnotherProgramHoldsIsLeftToIt) {
  const int terminal = posix_openpt(O_RDWR | O_NOCTTY);
  ASSERT_TRUE(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
  const std::string address = std::string{"serial:"} + ptsname(terminal);
  const auto first = AgentChannel::open(address);
  ASSERT_TRUE(first) << first.error().message;
  const auto second = AgentChannel::open(address);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, HasSubstr("in use by another program"));
  close(terminal);
}

TEST(AgentChannel, ReplyGivesItsValuesByKey) {
  const Reply reply{"ok rx=01,02 us=7 flag"};
  EXPECT_EQ(reply.text("rx"), "01,02");
  EXPECT_EQ(reply.number("us"), 7u);
  EXPECT_EQ(reply.number("rx"), 0u);
  EXPECT_EQ(reply.text("none"), "");
}

}  // namespace
}  // namespace wizloop::spi_bridge
