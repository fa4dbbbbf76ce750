// What an application may expect of each of the four libraries, and that none of them hangs on a chip that misbehaves.
#include "tests/unit/patterns/library_fixture.hpp"

namespace wizloop::test {
namespace {

template <typename Library>
class EveryLibraryTest : public LibraryTest<Library> {
 protected:
  using LibraryTest<Library>::chip;
  using LibraryTest<Library>::library;

  // Waits without an end then take few frames; nobody looks at them.
  void let_time_fly() {
    chip.frame_us = 20'000;
    chip.keeps_log = false;
  }
};

using Libraries =
    ::testing::Types<patterns::Ethernet2, patterns::Ethernet3, patterns::PjrcEthernet, patterns::IoLibrary>;
TYPED_TEST_SUITE(EveryLibraryTest, Libraries);

TYPED_TEST(EveryLibraryTest, CarriesAStreamInBothDirectionsAcrossTheEndOfTheRing) {
  this->accept(counting(1));
  std::vector<std::uint8_t> out;
  std::vector<std::uint8_t> in;
  std::vector<std::uint8_t> buffer(2048);
  std::vector<std::uint8_t> expected = counting(1);
  for (int round = 0; round < 5; ++round) {
    const auto piece = counting(700);
    this->chip.deliver(0, piece);
    expected.insert(expected.end(), piece.begin(), piece.end());
    while (this->library.tcp_available() != 0) {
      const auto got = this->library.tcp_read(buffer.data(), 300);
      in.insert(in.end(), buffer.begin(), buffer.begin() + got);
    }
    EXPECT_EQ(this->library.tcp_write(piece.data(), size16(piece)), 700);
  }
  EXPECT_EQ(in, expected);
  for (const auto& piece : this->chip.sent[0]) out.insert(out.end(), piece.begin(), piece.end());
  ASSERT_EQ(out.size(), 3500u);
  EXPECT_EQ(out, std::vector<std::uint8_t>(expected.begin() + 1, expected.end()));
}

TYPED_TEST(EveryLibraryTest, CarriesDatagrams) {
  this->open_udp();
  std::vector<std::uint8_t> buffer(2048);
  for (std::size_t size : {1u, 249u, 1472u}) {
    const auto bytes = counting(size);
    ASSERT_TRUE(this->library.udp_send(peer, bytes.data(), size16(bytes)));
    EXPECT_EQ(this->chip.sent[0].back(), bytes);
    this->chip.deliver_datagram(0, {192, 168, 1, 9}, 7, bytes);
    ASSERT_EQ(this->library.udp_parse(), size);
    ASSERT_EQ(this->library.udp_read(buffer.data(), size16(buffer)), size);
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), buffer.begin()));
    EXPECT_EQ(this->library.udp_read(buffer.data(), 1), 0);
    EXPECT_EQ(this->library.udp_parse(), 0);
  }
}

TYPED_TEST(EveryLibraryTest, ADatagramAboveTheBufferLosesItsTail) {
  this->open_udp();
  const auto bytes = counting(3000);
  EXPECT_TRUE(this->library.udp_send(peer, bytes.data(), 3000));
  EXPECT_EQ(this->chip.sent[0].at(0).size(), 2048u);
}

TYPED_TEST(EveryLibraryTest, AnUnansweredArpFailsTheDatagram) {
  this->open_udp();
  this->chip.on_command = [this](int n, std::uint8_t command) {
    if (command == 0x20) this->chip.socket(n, 0x02) = 0x08;  // TIMEOUT
    return command == 0x20;
  };
  const auto bytes = counting(8);
  EXPECT_FALSE(this->library.udp_send(peer, bytes.data(), 8));
  EXPECT_EQ(this->chip.socket(0, 0x02), 0x00);  // and is cleared
  this->chip.on_command = nullptr;
  EXPECT_TRUE(this->library.udp_send(peer, bytes.data(), 8));
}

TYPED_TEST(EveryLibraryTest, KeepsOnReadingAfterThePeerClosed) {
  this->accept(counting(10));
  this->chip.socket(0, 0x03) = 0x1C;  // CLOSE_WAIT
  std::vector<std::uint8_t> buffer(10);
  EXPECT_TRUE(this->library.tcp_connected());
  EXPECT_EQ(this->library.tcp_read(buffer.data(), 10), 10);
  EXPECT_FALSE(this->library.tcp_connected());
}

TYPED_TEST(EveryLibraryTest, ConnectsAgainAfterAStop) {
  this->connect();
  this->library.tcp_stop();
  EXPECT_FALSE(this->library.tcp_connected());
  EXPECT_TRUE(this->library.tcp_connect(peer, 0));
  EXPECT_TRUE(this->library.tcp_connected());
}

TYPED_TEST(EveryLibraryTest, RefusedConnectionsFail) {
  this->begin();
  this->chip.on_command = [this](int n, std::uint8_t command) {
    if (command == 0x04) this->chip.socket(n, 0x03) = 0x00;
    return command == 0x04;
  };
  EXPECT_FALSE(this->library.tcp_connect(peer, 0));
  EXPECT_FALSE(this->library.tcp_connected());
}

TYPED_TEST(EveryLibraryTest, AddressesThatNobodyHasFail) {
  this->begin();
  EXPECT_FALSE(this->library.tcp_connect({{0, 0, 0, 0}, 80}, 0));
  EXPECT_FALSE(this->library.tcp_connect({{255, 255, 255, 255}, 80}, 0));
  ASSERT_TRUE(this->library.udp_open(7));
  EXPECT_FALSE(this->library.udp_send({{0, 0, 0, 0}, 80}, counting(1).data(), 1));
  EXPECT_FALSE(this->library.udp_send({{192, 168, 1, 9}, 0}, counting(1).data(), 1));
}

TYPED_TEST(EveryLibraryTest, CallsWithoutASocketDoNothing) {
  this->begin();
  std::uint8_t byte = 0;
  EXPECT_FALSE(this->library.tcp_connected());
  EXPECT_EQ(this->library.tcp_write(&byte, 1), 0);
  EXPECT_EQ(this->library.tcp_available(), 0);
  EXPECT_EQ(this->library.tcp_read(&byte, 1), 0);
  this->library.tcp_stop();
  EXPECT_FALSE(this->library.udp_send(peer, &byte, 1));
  EXPECT_EQ(this->library.udp_parse(), 0);
  EXPECT_EQ(this->library.udp_read(&byte, 1), 0);
  EXPECT_EQ(this->chip.frames(), 0u);
}

TYPED_TEST(EveryLibraryTest, ABusThatFailsFailsBegin) {
  this->chip.bus_works = false;
  EXPECT_FALSE(this->library.begin(config_with(2)));
}

TYPED_TEST(EveryLibraryTest, ABusThatFailsFailsTheCalls) {
  this->accept(counting(10));
  this->chip.bus_works = false;
  std::vector<std::uint8_t> buffer(10);
  EXPECT_FALSE(this->library.tcp_connected());
  this->let_time_fly();
  EXPECT_EQ(this->library.tcp_write(buffer.data(), 10), 0);
  EXPECT_EQ(this->library.tcp_read(buffer.data(), 10), 0);
}

TYPED_TEST(EveryLibraryTest, ACommandThatIsNeverTakenFailsTheCalls) {
  this->connect();
  this->let_time_fly();
  this->chip.stick(0x01, 0x01, 0xFF);
  std::uint8_t byte = 0;
  EXPECT_EQ(this->library.tcp_write(&byte, 1), 0);
  this->chip.deliver(0, counting(1));
  EXPECT_EQ(this->library.tcp_read(&byte, 1), 0);
}

TYPED_TEST(EveryLibraryTest, AMissingSendOkDoesNotHang) {
  this->connect();
  this->let_time_fly();
  this->chip.stick(0x01, 0x02, 0x00);
  std::uint8_t byte = 0;
  this->library.tcp_write(&byte, 1);
  EXPECT_EQ(this->library.tcp_write(&byte, 1), 0);
}

TYPED_TEST(EveryLibraryTest, AMissingSendOkOfADatagramDoesNotHang) {
  this->open_udp();
  this->let_time_fly();
  this->chip.stick(0x01, 0x02, 0x00);
  std::uint8_t byte = 0;
  EXPECT_FALSE(this->library.udp_send(peer, &byte, 1));
}

TYPED_TEST(EveryLibraryTest, ABufferThatNeverEmptiesDoesNotHang) {
  this->connect();
  this->let_time_fly();
  this->chip.stick(0x01, 0x20, 0x00);
  std::uint8_t bytes[512] = {};
  EXPECT_EQ(this->library.tcp_write(bytes, 512), 0);
}

TYPED_TEST(EveryLibraryTest, AConnectionThatNeverComesUpDoesNotHang) {
  this->begin();
  this->let_time_fly();
  this->chip.on_command = [this](int n, std::uint8_t command) {
    if (command == 0x04) this->chip.socket(n, 0x03) = 0x15;
    return command == 0x04;
  };
  EXPECT_FALSE(this->library.tcp_connect(peer, 0));
}

TYPED_TEST(EveryLibraryTest, APeerThatNeverClosesDoesNotHang) {
  this->connect();
  this->let_time_fly();
  this->chip.on_command = [](int, std::uint8_t command) { return command == 0x08; };
  this->library.tcp_stop();
  EXPECT_FALSE(this->library.tcp_connected());
}

TYPED_TEST(EveryLibraryTest, AnAbsentChipDoesNotHang) {
  this->chip.present = false;
  this->let_time_fly();
  this->library.begin(config_with(2));
  std::uint8_t byte = 0;
  EXPECT_FALSE(this->library.tcp_connect(peer, 0));
  EXPECT_FALSE(this->library.tcp_listen(80));
  EXPECT_FALSE(this->library.udp_open(7));
  EXPECT_EQ(this->library.udp_parse(), 0);
  EXPECT_EQ(this->library.tcp_read(&byte, 1), 0);
}

}  // namespace
}  // namespace wizloop::test
