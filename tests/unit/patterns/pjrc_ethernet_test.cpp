#include "tests/unit/patterns/library_fixture.hpp"

namespace wizloop::test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using PjrcEthernetTest = LibraryTest<patterns::PjrcEthernet>;

TEST_F(PjrcEthernetTest, BeginProbesForAW5200ThenForAW5500) {
  ASSERT_TRUE(library.begin(config_with(2)));
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 10:0000 00 00", "r 00:0000 00 00", "r 10:0000 00 00", "r 00:0000 00 00",  //
                          "w 00:0000 80", "r 00:0000 00", "w 00:0000 08", "r 00:0000 08", "w 00:0000 10",
                          "r 00:0000 10", "w 00:0000 00", "r 00:0000 00", "r 00:0039 04",  //
                          "w 00:0009 02 00 00 00 00 01", "w 00:000f c0 a8 01 32", "w 00:0001 c0 a8 01 01",
                          "w 00:0005 ff ff ff 00"));
  EXPECT_EQ(chip.slept_us(), 560'000u);
}

TEST_F(PjrcEthernetTest, AWarmChipKeepsTheW5200ProbeBusyFor20Milliseconds) {
  const std::uint8_t gateway[] = {192, 168, 1, 1};
  chip.registers().write(0, 0x0001, gateway, 4);
  chip.forget();
  ASSERT_TRUE(library.begin(config_with(2)));
  EXPECT_EQ(chip.frames(), 17u - 4u + 1u + 20u);
  EXPECT_EQ(chip.slept_us(), 580'000u);
}

TEST_F(PjrcEthernetTest, ASecondBeginOnlySetsTheAddresses) {
  begin();
  ASSERT_TRUE(library.begin(config_with(2)));
  EXPECT_EQ(chip.frames(), 4u);
}

TEST_F(PjrcEthernetTest, AnotherVersionIsNoW5500) {
  chip.stick(0x00, 0x39, 0x03);
  EXPECT_FALSE(library.begin(config_with(2)));
  EXPECT_FALSE(library.tcp_connect(peer, 0));
}

TEST_F(PjrcEthernetTest, ConnectUsesOneFrameForEachRegister) {
  begin();
  ASSERT_TRUE(library.tcp_connect(peer, 4000));
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0003 00", "w 01:0000 21", "w 01:0002 ff", "w 01:0004 c0 01",
                                           "w 01:0001 01", "r 01:0001 00", "r 01:0028 00 00", "w 01:000c c0 a8 01 09",
                                           "w 01:0010 13 89", "w 01:0001 04", "r 01:0001 00", "r 01:0003 17"));
  EXPECT_EQ(chip.slept_us(), 250u);
}

TEST_F(PjrcEthernetTest, ConnectGivesUpAfterASecond) {
  begin();
  chip.on_command = [&](int n, std::uint8_t command) {
    if (command == 0x04) chip.socket(n, 0x03) = 0x15;
    return command == 0x04;
  };
  EXPECT_FALSE(library.tcp_connect(peer, 0));
  EXPECT_NEAR(static_cast<double>(chip.slept_us()), 1e6, 5e3);
  EXPECT_EQ(chip.socket(0, 0x03), 0x00);
}

TEST_F(PjrcEthernetTest, ConnectTakesAClosingSocketAsALastResort) {
  begin();
  for (int n = 0; n < RegisterFile::socket_count; ++n) chip.socket(n, 0x03) = 0x17;
  chip.socket(5, 0x03) = 0x1B;  // TIME_WAIT
  ASSERT_TRUE(library.tcp_connect(peer, 0));
  const auto log = chip.take_log();
  EXPECT_EQ(log[7], "r 1d:0003 17");
  EXPECT_EQ(log[8], "w 15:0001 10");
}

TEST_F(PjrcEthernetTest, WriteWaitsForSendOk) {
  connect();
  chip.script(0x01, 0x02, {0x00});
  const auto bytes = counting(3);
  EXPECT_EQ(library.tcp_write(bytes.data(), 3), 3);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0020 08 00", "r 01:0020 08 00", "r 01:0003 17", "r 01:0024 07 fd",
                                           "w 02:87fd 00 01 02", "w 01:0024 08 00", "w 01:0001 20", "r 01:0001 00",  //
                                           "r 01:0002 00", "r 01:0003 17", "r 01:0002 10", "w 01:0002 10"));
}

TEST_F(PjrcEthernetTest, SendsAtMostOneBufferAndClaimsAll) {
  connect();
  const auto bytes = counting(5000);
  EXPECT_EQ(library.tcp_write(bytes.data(), 5000), 5000);
  EXPECT_EQ(chip.sent[0].at(0), std::vector<std::uint8_t>(bytes.begin(), bytes.begin() + 2048));
}

TEST_F(PjrcEthernetTest, LargeBuffersRaiseTheLimitAndLeaveFewerSockets) {
  begin(8);
  EXPECT_EQ(chip.socket(1, 0x1E), 8);
  EXPECT_EQ(chip.socket(2, 0x1E), 0);
  ASSERT_TRUE(library.tcp_connect(peer, 0));
  ASSERT_TRUE(library.udp_open(7));
  const auto bytes = counting(9000);
  library.tcp_write(bytes.data(), 9000);
  EXPECT_EQ(chip.sent[0].at(0).size(), 8192u);
  chip.forget();
  ASSERT_TRUE(library.udp_send(peer, bytes.data(), 100));
  EXPECT_THAT(chip.take_log(), ::testing::Contains("w 06:a7fd [100]"));  // 0x8000 + 8 KiB + offset
  EXPECT_FALSE(library.tcp_listen(80));                                  // no third socket
}

TEST_F(PjrcEthernetTest, ReadsTheCounterOnceAndThenFromTheCache) {
  accept(counting(600));
  std::vector<std::uint8_t> buffer(2048);
  EXPECT_EQ(library.tcp_available(), 600);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 02 58", "r 01:0026 02 58"));
  EXPECT_EQ(library.tcp_available(), 600);
  EXPECT_THAT(chip.take_log(), IsEmpty());
  EXPECT_EQ(library.tcp_read(buffer.data(), 100), 100);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 03:c000 [100]"));
  EXPECT_EQ(library.tcp_read(buffer.data(), 149), 149);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 03:c064 [149]"));  // 249 bytes: no RECV yet
  EXPECT_EQ(library.tcp_read(buffer.data(), 1), 1);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 03:c0f9 f9", "w 01:0028 00 fa", "w 01:0001 40", "r 01:0001 00"));
}

TEST_F(PjrcEthernetTest, GivesRecvWhenItsCacheIsUsedUp) {
  accept(counting(10));
  std::vector<std::uint8_t> buffer(2048);
  EXPECT_EQ(library.tcp_available(), 10);
  chip.forget();
  EXPECT_EQ(library.tcp_read(buffer.data(), 10), 10);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 03:c000 [10]", "w 01:0028 00 0a", "w 01:0001 40", "r 01:0001 00"));
}

TEST_F(PjrcEthernetTest, CountsBytesReadButNotReportedOutOfTheCounter) {
  accept(counting(200));
  std::vector<std::uint8_t> buffer(2048);
  EXPECT_EQ(library.tcp_available(), 200);
  EXPECT_EQ(library.tcp_read(buffer.data(), 100), 100);  // RECV held back: the chip still counts 200
  chip.deliver(0, counting(50));
  chip.forget();
  EXPECT_EQ(library.tcp_read(buffer.data(), 2048), 150);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00 fa", "r 01:0026 00 fa", "r 03:c064 [150]", "w 01:0028 00 fa",
                                           "w 01:0001 40", "r 01:0001 00"));
}

TEST_F(PjrcEthernetTest, ReadsACounterUntilTwoReadsAgree) {
  accept(counting(0x110));
  chip.script(0x01, 0x26, {0x00, 0x01});
  chip.script(0x01, 0x27, {0xF0, 0x10});
  EXPECT_EQ(library.tcp_available(), 0x110);
  EXPECT_EQ(chip.frames(), 3u);
}

TEST_F(PjrcEthernetTest, ServerShowsAClientWithoutDataAndListensAgain) {
  begin();
  ASSERT_TRUE(library.tcp_listen(5001));
  EXPECT_FALSE(library.tcp_connected());
  chip.socket(0, 0x03) = 0x17;
  EXPECT_TRUE(library.tcp_connected());
  EXPECT_EQ(chip.socket(1, 0x03), 0x14);
}

TEST_F(PjrcEthernetTest, ADatagramInThreePiecesIsOne) {
  open_udp();
  const auto bytes = counting(12);
  ASSERT_TRUE(library.udp_begin_packet(peer));
  EXPECT_EQ(library.udp_write(bytes.data(), 4), 4);
  EXPECT_EQ(library.udp_write(bytes.data() + 4, 6), 6);
  EXPECT_EQ(library.udp_write(bytes.data() + 10, 2), 2);
  ASSERT_TRUE(library.udp_end_packet());
  EXPECT_THAT(chip.sent[0], ElementsAre(bytes));
}

TEST_F(PjrcEthernetTest, SkipsAnUnreadDatagramWithoutReadingIt) {
  open_udp();
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, counting(300));
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, counting(5));
  ASSERT_EQ(library.udp_parse(), 300);
  chip.forget();
  EXPECT_EQ(library.udp_parse(), 5);
  EXPECT_THAT(chip.take_log(),
              ElementsAre("w 01:0028 01 34", "w 01:0001 40", "r 01:0001 00", "r 03:c134 c0 a8 01 09 00 07 00 05"));
}

}  // namespace
}  // namespace wizloop::test
