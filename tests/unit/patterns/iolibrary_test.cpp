#include "tests/unit/patterns/library_fixture.hpp"

namespace wizloop::test {
namespace {

using ::testing::ElementsAre;

using IoLibraryTest = LibraryTest<patterns::IoLibrary>;

TEST_F(IoLibraryTest, BeginCarriesTheAddressesOverTheReset) {
  ASSERT_TRUE(library.begin(config_with(2)));
  const auto log = chip.take_log();
  ASSERT_EQ(log.size(), 31u);
  EXPECT_EQ(log[0], "r 00:0009 00 00 00 00 00 00");
  EXPECT_EQ(log[3], "r 00:000f 00 00 00 00");
  EXPECT_EQ(log[4], "w 00:0000 80");
  EXPECT_EQ(log[5], "r 00:0000 00");
  EXPECT_EQ(log[6], "w 00:0009 00 00 00 00 00 00");
  EXPECT_EQ(log[10], "w 01:001f 02");  // all TX sizes
  EXPECT_EQ(log[18], "w 01:001e 02");  // then all RX sizes
  EXPECT_EQ(log[26], "r 00:0039 04");
  EXPECT_EQ(log[27], "w 00:0009 02 00 00 00 00 01");
  EXPECT_EQ(log[30], "w 00:000f c0 a8 01 32");
  EXPECT_EQ(chip.slept_us(), 0u);
}

TEST_F(IoLibraryTest, SocketZeroGetsTheLargeBufferAndTheNextOnesTheRest) {
  begin(8);
  std::vector<int> tx;
  std::vector<int> rx;
  for (int n = 0; n < RegisterFile::socket_count; ++n) {
    tx.push_back(chip.socket(n, 0x1F));
    rx.push_back(chip.socket(n, 0x1E));
  }
  EXPECT_THAT(tx, ElementsAre(8, 2, 2, 2, 2, 0, 0, 0));
  EXPECT_EQ(rx, tx);
}

TEST_F(IoLibraryTest, AnotherVersionIsNoW5500) {
  chip.stick(0x00, 0x39, 0x51);
  EXPECT_FALSE(library.begin(config_with(2)));
}

TEST_F(IoLibraryTest, ConnectChecksOpensAndPollsWithoutAPause) {
  begin();
  chip.on_command = [&](int, std::uint8_t command) {
    if (command == 0x04) chip.script(0x01, 0x03, {0x15, 0x15});  // SYNSENT for two looks
    return false;
  };
  ASSERT_TRUE(library.tcp_connect(peer, 4000));
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 00:000f c0 a8 01 32", "w 01:0001 10", "r 01:0001 00", "w 01:0002 1f", "r 01:0003 00",
                          "w 01:0000 01", "w 01:0004 0f", "w 01:0005 a0", "w 01:0001 01", "r 01:0001 00",
                          "r 01:0003 13",  //
                          "r 01:0000 01", "r 01:0003 13", "w 01:0010 13", "w 01:0011 89", "r 01:0000 01",
                          "w 01:000c c0 a8 01 09", "w 01:0001 04", "r 01:0001 00",  //
                          "r 01:0003 15", "r 01:0002 00", "r 01:0003 15", "r 01:0003 17"));
  EXPECT_EQ(chip.slept_us(), 0u);
}

TEST_F(IoLibraryTest, ConnectReportsATimeout) {
  begin();
  chip.on_command = [&](int n, std::uint8_t command) {
    if (command == 0x04) chip.socket(n, 0x03) = 0x00, chip.socket(n, 0x02) = 0x08;
    return command == 0x04;
  };
  EXPECT_FALSE(library.tcp_connect(peer, 0));
  EXPECT_EQ(chip.take_log().back(), "w 01:0002 08");
}

TEST_F(IoLibraryTest, WriteReturnsBeforeSendOkAndTheNextOneLooks) {
  connect();
  chip.script(0x01, 0x02, {0x00});
  const auto bytes = counting(3);
  EXPECT_EQ(library.tcp_write(bytes.data(), 3), 3);
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 01:0000 01", "r 01:0003 17", "r 01:001f 02", "r 01:0020 08", "r 01:0021 00",
                          "r 01:0020 08", "r 01:0021 00", "r 01:0003 17", "r 01:0024 07", "r 01:0025 fd",
                          "w 02:07fd 00 01 02", "w 01:0024 08", "w 01:0025 00", "w 01:0001 20", "r 01:0001 00"));
  EXPECT_EQ(library.tcp_write(bytes.data(), 3), 0);  // no SENDOK yet
  EXPECT_THAT(chip.take_log(), ElementsAre("r 01:0000 01", "r 01:0003 17", "r 01:0002 00"));
  EXPECT_EQ(library.tcp_write(bytes.data(), 3), 3);
  const auto log = chip.take_log();
  EXPECT_EQ(log[2], "r 01:0002 10");
  EXPECT_EQ(log[3], "w 01:0002 10");
  EXPECT_EQ(log.size(), 17u);
}

TEST_F(IoLibraryTest, WriteSendsOneBufferAndSaysSo) {
  connect();
  const auto bytes = counting(3000);
  EXPECT_EQ(library.tcp_write(bytes.data(), 3000), 2048);
  EXPECT_EQ(chip.sent[0].at(0).size(), 2048u);
}

TEST_F(IoLibraryTest, WriteClosesASocketThatTimedOut) {
  connect();
  const auto bytes = counting(3);
  ASSERT_EQ(library.tcp_write(bytes.data(), 3), 3);
  chip.script(0x01, 0x02, {0x08});
  EXPECT_EQ(library.tcp_write(bytes.data(), 3), 0);
  EXPECT_EQ(chip.socket(0, 0x03), 0x00);
}

TEST_F(IoLibraryTest, ReadWaitsForTheFirstByte) {
  connect();
  chip.deliver(0, counting(9));
  chip.script(0x01, 0x26, {0x00});
  chip.script(0x01, 0x27, {0x00});  // nothing at the first look
  std::vector<std::uint8_t> buffer(2048);
  EXPECT_EQ(library.tcp_read(buffer.data(), size16(buffer)), 9);
  EXPECT_THAT(
      chip.take_log(),
      ElementsAre("r 01:0000 01", "r 01:001e 02", "r 01:0026 00", "r 01:0027 00", "r 01:0003 17", "r 01:0026 00",
                  "r 01:0027 09", "r 01:0026 00", "r 01:0027 09", "r 01:0003 17", "r 01:0028 00", "r 01:0029 00",
                  "r 03:0000 [9]", "w 01:0028 00", "w 01:0029 09", "w 01:0001 40", "r 01:0001 00"));
}

TEST_F(IoLibraryTest, ReadEndsWhenThePeerIsDone) {
  connect();
  chip.socket(0, 0x03) = 0x1C;
  EXPECT_FALSE(library.tcp_connected());
  std::uint8_t byte = 0;
  EXPECT_EQ(library.tcp_read(&byte, 1), 0);
  EXPECT_EQ(chip.socket(0, 0x03), 0x00);
}

TEST_F(IoLibraryTest, TcpAndUdpTakeDifferentSockets) {
  connect();
  ASSERT_TRUE(library.udp_open(7));
  EXPECT_EQ(chip.socket(0, 0x03), 0x17);
  EXPECT_EQ(chip.socket(1, 0x03), 0x22);
}

TEST_F(IoLibraryTest, SendToWritesTheDestinationTwice) {
  open_udp();
  chip.script(0x01, 0x02, {0x00});  // SENDOK is late by one look
  const auto bytes = counting(3);
  ASSERT_TRUE(library.udp_send(peer, bytes.data(), 3));
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 01:0000 02", "r 01:0000 02", "w 01:000c c0 a8 01 09", "w 01:0010 13", "w 01:0011 89",
                          "r 01:0003 22", "w 01:000c c0 a8 01 09", "w 01:0010 13", "w 01:0011 89",  //
                          "r 01:001f 02", "r 01:0020 08", "r 01:0021 00", "r 01:0020 08", "r 01:0021 00",
                          "r 01:0003 22",  //
                          "r 01:0024 07", "r 01:0025 fd", "w 02:07fd 00 01 02", "w 01:0024 08", "w 01:0025 00",
                          "w 01:0001 20", "r 01:0001 00", "r 01:0002 00", "r 01:0002 10", "w 01:0002 10"));
}

TEST_F(IoLibraryTest, RecvFromTakesTheHeaderWithARecvOfItsOwn) {
  open_udp();
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, counting(10));
  ASSERT_EQ(library.udp_parse(), 10);
  EXPECT_THAT(chip.take_log(),
              ElementsAre("r 01:0026 00", "r 01:0027 12", "r 01:0026 00", "r 01:0027 12",  // getSn_RX_RSR
                          "r 01:0000 02", "r 01:0026 00", "r 01:0027 12", "r 01:0026 00", "r 01:0027 12",
                          "r 01:0003 22", "r 01:0028 00", "r 01:0029 00", "r 03:0000 c0 a8 01 09 00 07 00 0a",
                          "w 01:0028 00", "w 01:0029 08", "w 01:0001 40", "r 01:0001 00"));
  std::vector<std::uint8_t> buffer(6);
  EXPECT_EQ(library.udp_read(buffer.data(), 6), 6);
  EXPECT_EQ(chip.take_log().size(), 7u);
  EXPECT_EQ(library.udp_read(buffer.data(), 6), 4);  // a further recvfrom: it checks the mode again
  EXPECT_EQ(chip.take_log().size(), 8u);
}

TEST_F(IoLibraryTest, AnUnreadDatagramIsReadAway) {
  open_udp();
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, counting(10));
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, counting(5));
  ASSERT_EQ(library.udp_parse(), 10);
  chip.forget();
  EXPECT_EQ(library.udp_parse(), 5);
  EXPECT_EQ(chip.frames(), 7u + 17u);
}

TEST_F(IoLibraryTest, AnEmptyDatagramIsConsumed) {
  open_udp();
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, {});
  chip.deliver_datagram(0, {192, 168, 1, 9}, 7, counting(5));
  EXPECT_EQ(library.udp_parse(), 0);
  EXPECT_EQ(chip.frames(), 17u + 2u);  // a RECV for its header, another for its payload
  EXPECT_EQ(library.udp_parse(), 5);
}

TEST_F(IoLibraryTest, OnlyBufferFunctionsUseTheDataBus) {
  connect();
  const auto bytes = counting(3);
  library.tcp_write(bytes.data(), 3);
  EXPECT_EQ(chip.frames_on_data_bus(), 1u);
}

}  // namespace
}  // namespace wizloop::test
