#include "tests/unit/patterns/library_fixture.hpp"

namespace wizloop::test {
namespace {

using ::testing::ElementsAre;

using Ethernet2Test = LibraryTest<patterns::Ethernet2>;

TEST_F(Ethernet2Test, BeginResetsThenSizesThenAddresses) {
  ASSERT_TRUE(library.begin(config_with(2)));
  const auto log = chip.take_log();
  ASSERT_EQ(log.size(), 22u);
  EXPECT_EQ(log[0], "r 00:0000 00");
  EXPECT_EQ(log[1], "w 00:0000 80");
  EXPECT_EQ(log[2], "w 01:001e 02");
  EXPECT_EQ(log[3], "w 01:001f 02");
  EXPECT_EQ(log[4], "w 05:001e 02");
  EXPECT_EQ(log[17], "w 1d:001f 02");
  EXPECT_EQ(log[18], "w 00:0009 02 00 00 00 00 01");
  EXPECT_EQ(log[19], "w 00:000f c0 a8 01 32");
  EXPECT_EQ(log[20], "w 00:0001 c0 a8 01 01");
  EXPECT_EQ(log[21], "w 00:0005 ff ff ff 00");
  EXPECT_EQ(chip.slept_us(), 1'000'000u);
}

TEST_F(Ethernet2Test, CannotChangeItsBufferSize) {
  begin(16);
  EXPECT_EQ(chip.socket(0, 0x1E), 2);
  EXPECT_EQ(chip.socket(7, 0x1F), 2);
}

TEST_F(Ethernet2Test, ConnectOpensASocketAndPollsEachMillisecond) {
  begin();
  chip.script(0x01, 0x03, {0x00, 0x15, 0x15});  // free; then twice SYNSENT
  ASSERT_TRUE(library.tcp_connect(peer, 4000));
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 01:0003 00", "w 01:0001 10", "r 01:0001 00", "w 01:0002 ff", "w 01:0000 01",  //
                          "w 01:0004 04", "w 01:0005 01", "w 01:0001 01", "r 01:0001 00",                  // port 1025
                          "w 01:000c c0 a8 01 09", "w 01:0010 13", "w 01:0011 89",                         //
                          "w 01:0001 04", "r 01:0001 00",                                                  //
                          "r 01:0003 15", "r 01:0003 15", "r 01:0003 17"));
  EXPECT_EQ(chip.slept_us(), 1000u);
}

TEST_F(Ethernet2Test, WriteWaitsForSendOk) {
  connect();
  chip.script(0x01, 0x02, {0x00, 0x00});  // SENDOK is late by two looks
  const auto bytes = counting(3);
  EXPECT_EQ(library.tcp_write(bytes.data(), 3), 3);
  EXPECT_THAT(
      chip.take_log(),
      ElementsAre("r 01:0020 08", "r 01:0021 00", "r 01:0020 08", "r 01:0021 00", "r 01:0003 17",  //
                  "r 01:0024 07", "r 01:0025 fd", "w 02:07fd 00 01 02",                            //
                  "w 01:0024 08", "w 01:0025 00", "w 01:0001 20", "r 01:0001 00",                  //
                  "r 01:0002 00", "r 01:0003 17", "r 01:0002 00", "r 01:0003 17", "r 01:0002 10", "w 01:0002 10"));
}

TEST_F(Ethernet2Test, WriteWaitsForFreeSpaceInTheBuffer) {
  connect();
  chip.script(0x01, 0x20, {0x00, 0x00});
  chip.script(0x01, 0x21, {0x10, 0x10});
  const auto bytes = counting(100);
  EXPECT_EQ(library.tcp_write(bytes.data(), 100), 100);
  EXPECT_EQ(chip.frames(), 14u + 5u);
}

TEST_F(Ethernet2Test, ReadsACounterAgainWhenItsHalvesDisagree) {
  connect();
  chip.deliver(0, counting(0x110));
  chip.script(0x01, 0x26, {0x00, 0x01});  // 0x00F0 grows to 0x0110 while it is read
  chip.script(0x01, 0x27, {0x10, 0x10});
  EXPECT_EQ(library.tcp_available(), 0x110);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00", "r 01:0027 10", "r 01:0026 01", "r 01:0027 10",  //
                                           "r 01:0026 01", "r 01:0027 10", "r 01:0026 01", "r 01:0027 10"));
}

TEST_F(Ethernet2Test, SendsAtMost2048BytesAndClaimsAll) {
  connect();
  const auto bytes = counting(5000);
  EXPECT_EQ(library.tcp_write(bytes.data(), 5000), 5000);
  ASSERT_EQ(chip.sent[0].size(), 1u);
  EXPECT_EQ(chip.sent[0][0], std::vector<std::uint8_t>(bytes.begin(), bytes.begin() + 2048));
}

TEST_F(Ethernet2Test, WriteOnADeadConnectionStillSendsAnEmptyFrame) {
  connect();
  chip.socket(0, 0x03) = 0x00;
  chip.on_command = [](int, std::uint8_t command) { return command == 0x20; };  // SEND is ignored
  const auto bytes = counting(3);
  EXPECT_EQ(library.tcp_write(bytes.data(), 3), 0);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0020 08", "r 01:0021 00", "r 01:0020 08", "r 01:0021 00",
                                           "r 01:0003 00", "r 01:0024 07", "r 01:0025 fd", "w 02:07fd", "w 01:0024 07",
                                           "w 01:0025 fd", "w 01:0001 20", "r 01:0001 00", "r 01:0002 00",
                                           "r 01:0003 00", "w 01:0001 10", "r 01:0001 00", "w 01:0002 ff"));
}

TEST_F(Ethernet2Test, ReadLooksTwiceCopiesAndGivesRecv) {
  connect();
  chip.deliver(0, counting(9));
  std::vector<std::uint8_t> buffer(2048);
  EXPECT_EQ(library.tcp_read(buffer.data(), size16(buffer)), 9);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00", "r 01:0027 09", "r 01:0026 00", "r 01:0027 09",
                                           "r 01:0028 00", "r 01:0029 00", "r 03:0000 [9]", "w 01:0028 00",
                                           "w 01:0029 09", "w 01:0001 40", "r 01:0001 00"));
}

TEST_F(Ethernet2Test, ReadOfNothingLooksAtTheState) {
  connect();
  std::uint8_t byte = 0;
  EXPECT_EQ(library.tcp_read(&byte, 1), 0);
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0026 00", "r 01:0027 00", "r 01:0003 17"));
}

TEST_F(Ethernet2Test, StopClosesByForceAfterASecond) {
  connect();
  chip.on_command = [](int, std::uint8_t command) { return command == 0x08; };  // the peer never answers the FIN
  library.tcp_stop();
  const auto log = chip.take_log();
  // DISCON 2; a status each millisecond of about a thousand, one more, CLOSE 3.
  EXPECT_NEAR(static_cast<double>(log.size()), 2 + 1000 + 1 + 3, 3);
  EXPECT_EQ(chip.socket(0, 0x03), 0x00);
  EXPECT_EQ(log.back(), "w 01:0002 ff");
}

TEST_F(Ethernet2Test, ServerShowsAClientOnlyOnceItSentData) {
  begin();
  ASSERT_TRUE(library.tcp_listen(5001));
  chip.socket(0, 0x03) = 0x17;
  EXPECT_FALSE(library.tcp_connected());
  EXPECT_EQ(chip.socket(1, 0x03), 0x14);  // and listens on the next socket meanwhile
  chip.deliver(0, counting(1));
  EXPECT_TRUE(library.tcp_connected());
  EXPECT_EQ(library.tcp_available(), 1);
}

TEST_F(Ethernet2Test, ADatagramInThreePiecesIsOne) {
  open_udp();
  const auto bytes = counting(12);
  ASSERT_TRUE(library.udp_begin_packet(peer));
  EXPECT_EQ(library.udp_write(bytes.data(), 4), 4);
  EXPECT_EQ(library.udp_write(bytes.data() + 4, 6), 6);
  EXPECT_EQ(library.udp_write(bytes.data() + 10, 2), 2);
  ASSERT_TRUE(library.udp_end_packet());
  EXPECT_THAT(chip.sent[0], ElementsAre(bytes));
}

TEST_F(Ethernet2Test, AnUnreadDatagramIsDiscardedByteByByte) {
  open_udp();
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, counting(10));
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, counting(5));
  ASSERT_EQ(library.udp_parse(), 10);
  chip.forget();
  EXPECT_EQ(library.udp_parse(), 5);
  EXPECT_EQ(chip.frames(), 10u * 11u + 15u);
}

TEST_F(Ethernet2Test, BuffersAndAddressesGoToTheDataBus) {
  begin();
  ASSERT_TRUE(library.tcp_connect(peer, 0));
  EXPECT_EQ(chip.frames_on_data_bus(), 1u);  // Sn_DIPR
  const auto bytes = counting(3);
  library.tcp_write(bytes.data(), 3);
  EXPECT_EQ(chip.frames_on_data_bus(), 2u);
}

}  // namespace
}  // namespace wizloop::test
