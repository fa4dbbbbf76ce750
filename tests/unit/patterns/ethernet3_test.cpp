#include "tests/unit/patterns/library_fixture.hpp"

namespace wizloop::test {
namespace {

using Ethernet3Test = LibraryTest<patterns::Ethernet3>;

TEST_F(Ethernet3Test, BeginDoesNotReset) {
  chip.socket(3, 0x16) = 0x40;
  ASSERT_TRUE(library.begin(config_with(2)));
  EXPECT_EQ(chip.take_log().front(), "w 01:001e 02");
  EXPECT_EQ(chip.socket(3, 0x16), 0x40);
}

TEST_F(Ethernet3Test, OneSocketGetsAllTheMemoryAfterTheOthersLostTheirs) {
  ASSERT_TRUE(library.begin(config_with(16)));
  const auto log = chip.take_log();
  ASSERT_EQ(log.size(), 20u);
  EXPECT_EQ(log[0], "w 05:001e 00");
  EXPECT_EQ(log[13], "w 1d:001f 00");
  EXPECT_EQ(log[14], "w 01:001e 10");
  EXPECT_EQ(log[15], "w 01:001f 10");
}

TEST_F(Ethernet3Test, FourSocketsShareTheMemory) {
  begin(4);
  EXPECT_EQ(chip.socket(0, 0x1E), 4);
  EXPECT_EQ(chip.socket(3, 0x1F), 4);
  EXPECT_EQ(chip.socket(4, 0x1E), 0);
}

TEST_F(Ethernet3Test, TcpWritesStayAt2048BytesInALargeBuffer) {
  begin(16);
  ASSERT_TRUE(library.tcp_connect(peer, 0));
  const auto bytes = counting(5000);
  EXPECT_EQ(library.tcp_write(bytes.data(), 5000), 5000);
  EXPECT_EQ(chip.sent[0].at(0).size(), 2048u);
}

TEST_F(Ethernet3Test, ClientsTakePortsFrom49153) {
  connect();
  EXPECT_EQ(chip.socket(0, 0x04), 0xC0);
  EXPECT_EQ(chip.socket(0, 0x05), 0x01);
}

TEST_F(Ethernet3Test, GivesUpAStopOneFrameBeforeEthernet2) {
  RegisterFile other_chip;
  const auto other = make(other_chip, static_cast<const patterns::Ethernet2*>(nullptr));
  ASSERT_TRUE(other->begin(config_with(2)));
  ASSERT_TRUE(other->tcp_connect(peer, 0));
  connect();
  other_chip.forget();
  for (RegisterFile* file : {&chip, &other_chip}) {
    file->frame_us = 0;
    file->on_command = [](int, std::uint8_t command) { return command == 0x08; };
  }
  library.tcp_stop();
  other->tcp_stop();
  EXPECT_EQ(chip.frames(), 2u + 1000u + 1u + 3u);
  EXPECT_EQ(other_chip.frames(), chip.frames() + 1);
}

}  // namespace
}  // namespace wizloop::test
