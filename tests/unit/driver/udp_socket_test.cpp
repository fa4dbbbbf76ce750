#include "tests/unit/driver/driver_test.hpp"

namespace wizloop::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;
using w5500::Datagram;
using w5500::Endpoint;
using w5500::Result;
using w5500::UdpSocket;

constexpr Endpoint peer{{192, 168, 1, 10}, 7};
constexpr Endpoint other{{192, 168, 1, 11}, 7};

class UdpSocketTest : public DriverTest {
 protected:
  void open() {
    ASSERT_TRUE(socket.open(4660));
    fake.frames().clear();
  }

  Result<void> send(const Bytes& data, const Endpoint& to = peer, std::uint32_t timeout_us = 50000) {
    return socket.send_to(to, data.data(), static_cast<std::uint16_t>(data.size()), timeout_us);
  }

  void arrive(const Bytes& payload, std::uint8_t last_of_ip = 10) {
    fake.receive_datagram(1, {192, 168, 1, last_of_ip}, 7, payload);
  }

  UdpSocket socket{chip, 1};
};
WIZLOOP_ON_EVERY_BUS(UdpSocketTest);

TEST_P(UdpSocketTest, Opens) {
  EXPECT_TRUE(socket.open(4660));
  EXPECT_EQ(fake.socket(1, 0x00), 0x02);
  EXPECT_EQ(fake.socket16(1, 0x04), 4660);
  EXPECT_EQ(fake.socket(1, 0x03), 0x22);
}

TEST_P(UdpSocketTest, RefusesWhatCannotBeSent) {
  Bytes data(1473);
  EXPECT_EQ(send({1}).error(), Error::wrong_state);
  open();
  EXPECT_EQ(send({}).error(), Error::invalid_argument);
  EXPECT_EQ(send(data).error(), Error::invalid_argument);
  EXPECT_EQ(send({1}, {{192, 168, 1, 10}, 0}).error(), Error::invalid_argument);
  EXPECT_TRUE(fake.frames().empty());
  ASSERT_TRUE(socket.close());
  fake.socket(1, 0x1F) = 1;
  open();
  EXPECT_EQ(send(pattern(1025)).error(), Error::invalid_argument);  // above its TX memory
}

TEST_P(UdpSocketTest, SendsADatagramInFiveFrames) {
  open();
  EXPECT_TRUE(send({0xAA, 0xBB}));
  ASSERT_EQ(fake.frames().size(), 5u);
  EXPECT_THAT(fake.frames()[0].mosi, ElementsAre(0x00, 0x00, 0x34, 0xAA, 0xBB));
  EXPECT_THAT(fake.frames()[1].mosi, ElementsAre(0x00, 0x01, 0x28, 0, 0, 0));
  EXPECT_THAT(fake.frames()[2].mosi, ElementsAre(0x00, 0x0C, 0x2C, 192, 168, 1, 10, 0, 7));
  EXPECT_THAT(fake.frames()[3].mosi, ElementsAre(0x00, 0x24, 0x2C, 0x00, 0x02));
  EXPECT_THAT(fake.frames()[4].mosi, ElementsAre(0x00, 0x01, 0x2C, 0x20));
  // To the same peer the address stays, but SENDOK of the last datagram has to be cleared.
  fake.frames().clear();
  EXPECT_TRUE(send({0xCC}));
  ASSERT_EQ(fake.frames().size(), 5u);
  EXPECT_THAT(fake.frames()[2].mosi, ElementsAre(0x00, 0x02, 0x2C, 0x10));
  ASSERT_EQ(fake.sent(1).size(), 2u);
  EXPECT_THAT(fake.sent(1)[1].data, ElementsAre(0xCC));
}

TEST_P(UdpSocketTest, ChangesThePeerOnlyBetweenTwoSends) {
  fake.send_us = 500;
  open();
  EXPECT_TRUE(send({1}, peer));
  fake.delay_us(1000);
  EXPECT_EQ(frames_of([&] { EXPECT_TRUE(send({2}, other)); }), 6u);  // data, poll, clear SENDOK, address, pointer, SEND
  EXPECT_TRUE(send({3}, peer));
  ASSERT_EQ(fake.sent(1).size(), 3u);
  EXPECT_THAT(fake.sent(1)[0].destination, ElementsAre(192, 168, 1, 10, 0, 7));
  EXPECT_THAT(fake.sent(1)[1].destination, ElementsAre(192, 168, 1, 11, 0, 7));
  EXPECT_THAT(fake.sent(1)[2].destination, ElementsAre(192, 168, 1, 10, 0, 7));
}

TEST_P(UdpSocketTest, LoadsADatagramWhileTheLastOneIsOnTheWire) {
  fake.send_us = 2000;
  open();
  EXPECT_TRUE(send(pattern(500)));
  fake.frames().clear();
  EXPECT_TRUE(send(pattern(500)));
  EXPECT_EQ(fake.frames().front().data().size(), 500u);
}

TEST_P(UdpSocketTest, WaitsWhenTwoDatagramsDoNotFitTheBuffer) {
  fake.send_us = 2000;
  open();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(send(pattern(1472, static_cast<std::uint8_t>(i))));  // wraps at 0xFFFF twice
  for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(fake.sent(1).at(i).data, pattern(1472, static_cast<std::uint8_t>(i)));
}

TEST_P(UdpSocketTest, ReportsAnUnansweredArpOnce) {
  fake.sends_hang = true;
  open();
  EXPECT_TRUE(send(pattern(10)));
  fake.after_us(5000, [&] { fake.time_out(1); });
  EXPECT_EQ(socket.flush().error(), Error::peer_timeout);
  fake.sends_hang = false;
  EXPECT_TRUE(send(pattern(20)));
  EXPECT_TRUE(socket.flush());
  EXPECT_EQ(fake.sent(1).back().data, pattern(20));
}

TEST_P(UdpSocketTest, ReportsAnUnansweredArpByTheNextCallIfNobodyAsks) {
  fake.sends_hang = true;
  open();
  EXPECT_TRUE(send(pattern(10)));
  fake.after_us(5000, [&] { fake.time_out(1); });
  EXPECT_EQ(send(pattern(20)).error(), Error::peer_timeout);
  EXPECT_EQ(fake.sent(1).size(), 1u);
  fake.sends_hang = false;
  EXPECT_TRUE(send(pattern(20)));
  EXPECT_EQ(fake.sent(1).back().data, pattern(20));
}

TEST_P(UdpSocketTest, SendsNoOldDataWhenTheChipKeptThemAfterATimeout) {
  fake.sends_hang = true;
  open();
  EXPECT_TRUE(send(pattern(10)));
  fake.after_us(100, [&] { fake.time_out(1, true); });
  EXPECT_EQ(socket.flush().error(), Error::peer_timeout);
  fake.sends_hang = false;
  EXPECT_TRUE(send(pattern(20, 100)));
  EXPECT_EQ(fake.sent(1).back().data, pattern(20, 100));
}

TEST_P(UdpSocketTest, EndsASendThatNeverEnds) {
  fake.sends_hang = true;
  open();
  EXPECT_TRUE(send(pattern(10)));
  const auto took = us_of([&] { EXPECT_EQ(send(pattern(10), peer, 10000).error(), Error::send_timeout); });
  EXPECT_LE(took, 10100u);
}

TEST_P(UdpSocketTest, ReceivesADatagramInSevenFrames) {
  open();
  arrive(pattern(100));
  Bytes got(200);
  Result<Datagram> datagram = Error::no_datagram;
  EXPECT_EQ(frames_of([&] { datagram = socket.receive_from(got.data(), 200); }), 7u);
  ASSERT_TRUE(datagram);
  EXPECT_THAT(datagram.value().from.ip, ElementsAre(192, 168, 1, 10));
  EXPECT_EQ(datagram.value().from.port, 7);
  EXPECT_EQ(datagram.value().size, 100);
  EXPECT_EQ(datagram.value().stored, 100);
  got.resize(100);
  EXPECT_EQ(got, pattern(100));
  EXPECT_EQ(fake.socket16(1, 0x26), 0);
}

TEST_P(UdpSocketTest, SpendsFiveFramesPerDatagramThatIsKnownToWait) {
  open();
  for (std::uint8_t i = 0; i < 3; ++i) arrive(pattern(50, i));
  Bytes got(50);
  EXPECT_TRUE(socket.receive_from(got.data(), 50));
  for (std::uint8_t i = 1; i < 3; ++i) {
    // Header, payload, poll, Sn_RX_RD, RECV.
    EXPECT_EQ(frames_of([&] { EXPECT_TRUE(socket.receive_from(got.data(), 50)); }), 5u);
    EXPECT_EQ(got, pattern(50, i));
  }
  EXPECT_EQ(frames_of([&] { EXPECT_EQ(socket.receive_from(got.data(), 50).error(), Error::no_datagram); }), 2u);
}

TEST_P(UdpSocketTest, TellsTheTrueLengthOfADatagramAboveTheCallersBuffer) {
  open();
  arrive(pattern(300));
  arrive(pattern(20), 99);
  Bytes got(100);
  const auto cut = socket.receive_from(got.data(), 100);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut.value().size, 300);
  EXPECT_EQ(cut.value().stored, 100);
  EXPECT_EQ(got, pattern(100));
  const auto next = socket.receive_from(got.data(), 100);
  ASSERT_TRUE(next);
  EXPECT_EQ(next.value().from.ip[3], 99);
  EXPECT_EQ(next.value().size, 20);
}

TEST_P(UdpSocketTest, ReadsADatagramPieceByPiece) {
  open();
  arrive(pattern(100));
  ASSERT_EQ(socket.next_datagram().value().size, 100);
  Bytes got(100);
  EXPECT_EQ(socket.read(got.data(), 30).value(), 30);
  EXPECT_NE(fake.socket16(1, 0x26), 0);  // RECV comes with the last byte
  EXPECT_EQ(socket.read(got.data() + 30, 100).value(), 70);
  EXPECT_EQ(got, pattern(100));
  EXPECT_EQ(socket.read(got.data(), 1).value(), 0);
  EXPECT_EQ(fake.socket16(1, 0x26), 0);
}

TEST_P(UdpSocketTest, SkipsTheRestOfADatagram) {
  open();
  arrive(pattern(100));
  arrive(pattern(60));
  arrive(pattern(40));
  Bytes got(10);
  ASSERT_EQ(socket.next_datagram().value().size, 100);
  EXPECT_EQ(socket.read(got.data(), 10).value(), 10);
  ASSERT_EQ(socket.next_datagram().value().size, 60);  // on to the next one drops the rest
  EXPECT_TRUE(socket.skip_rest());
  EXPECT_EQ(fake.socket16(1, 0x26), 48);
  ASSERT_EQ(socket.next_datagram().value().size, 40);
}

TEST_P(UdpSocketTest, ReceivesAnEmptyDatagram) {
  open();
  arrive({});
  arrive({5});
  std::uint8_t byte = 0;
  const auto empty = socket.receive_from(&byte, 1);
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty.value().size, 0);
  EXPECT_EQ(socket.receive_from(&byte, 1).value().stored, 1);
  EXPECT_EQ(byte, 5);
}

TEST_P(UdpSocketTest, ReceivesAcrossTheWrapOfThePointer) {
  open();
  Bytes got(1000);
  for (unsigned i = 0; i < 140; ++i) {  // 141120 bytes
    arrive(pattern(1000, static_cast<std::uint8_t>(i)));
    ASSERT_EQ(socket.receive_from(got.data(), 1000).value().stored, 1000);
    ASSERT_EQ(got, pattern(1000, static_cast<std::uint8_t>(i)));
  }
}

TEST_P(UdpSocketTest, FindsItsStepAgainAfterARecordThatIsNone) {
  open();
  fake.receive(1, {192, 168, 1, 10, 0, 7, 0x04, 0x00, 1, 2, 3});  // says 1024 bytes, there are 3
  Bytes got(100);
  EXPECT_EQ(socket.receive_from(got.data(), 100).error(), Error::out_of_step);
  arrive(pattern(20));
  EXPECT_EQ(socket.receive_from(got.data(), 100).value().size, 20);
  fake.receive(1, {1, 2, 3});  // not even a header
  EXPECT_EQ(socket.receive_from(got.data(), 100).error(), Error::out_of_step);
  EXPECT_EQ(socket.receive_from(got.data(), 100).error(), Error::no_datagram);
}

TEST_P(UdpSocketTest, KeepsADatagramWhoseCounterToreTwiceAlike) {
  open();
  arrive(pattern(300));  // Sn_RX_RSR is 0x0134
  int reads = 0;
  fake.on_read = [&](unsigned block, unsigned offset, std::uint8_t value) {
    if (block == 4 * 1 + 1 && offset == 0x26 && ++reads <= 2) return std::uint8_t{0x00};
    return value;
  };
  Bytes got(300);
  EXPECT_EQ(socket.receive_from(got.data(), 300).value().stored, 300);
  EXPECT_EQ(got, pattern(300));
}

TEST_P(UdpSocketTest, WaitsForADatagram) {
  open();
  fake.after_us(4000, [&] { arrive(pattern(10)); });
  Bytes got(10);
  const auto took = us_of([&] { EXPECT_TRUE(socket.receive_from(got.data(), 10, 100000)); });
  EXPECT_THAT(took, AllOf(Ge(4000u), Le(4400u)));
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.receive_from(got.data(), 10, 2000).error(), Error::no_datagram); }), 2100u);
}

TEST_P(UdpSocketTest, SleepsOnTheInterruptPin) {
  ASSERT_TRUE(chip.use_interrupt_pin(0x02));
  open();
  fake.after_us(800, [&] { arrive(pattern(10)); });
  Bytes got(10);
  const auto took = us_of([&] { EXPECT_TRUE(socket.receive_from(got.data(), 10, 100000)); });
  EXPECT_THAT(took, AllOf(Ge(800u), Le(880u)));
  EXPECT_EQ(fake.interrupt_waits(), 1u);
}

TEST_P(UdpSocketTest, SeesASocketThatSomebodyElseClosed) {
  open();
  fake.set_state(1, 0x00);
  std::uint8_t byte = 0;
  EXPECT_EQ(socket.receive_from(&byte, 1).error(), Error::wrong_state);
  EXPECT_EQ(send({1}).error(), Error::wrong_state);
}

TEST_P(UdpSocketTest, ClosesAndOpensAgain) {
  open();
  arrive(pattern(10));
  ASSERT_EQ(socket.next_datagram().value().size, 10);
  EXPECT_TRUE(socket.close());
  std::uint8_t byte = 0;
  EXPECT_EQ(socket.receive_from(&byte, 1).error(), Error::wrong_state);
  EXPECT_EQ(socket.read(&byte, 1).error(), Error::wrong_state);
  EXPECT_EQ(socket.skip_rest().error(), Error::wrong_state);
  open();
  EXPECT_TRUE(send({9}));
  arrive(pattern(3));
  EXPECT_EQ(socket.next_datagram().value().size, 3);
}

TEST_P(UdpSocketTest, KnowsNothingOfADatagramThatACloseEnded) {
  fake.sends_hang = true;
  open();
  EXPECT_TRUE(send(pattern(1472)));
  EXPECT_TRUE(socket.close());
  fake.sends_hang = false;
  open();
  EXPECT_TRUE(send(pattern(1472)));
  EXPECT_EQ(fake.frames().front().data().size(), 1472u);  // nothing to wait for first
}

TEST_P(UdpSocketTest, AddressesThePeerAgainAfterAReset) {
  open();
  EXPECT_TRUE(send({1}));
  ASSERT_TRUE(chip.reset());
  open();
  EXPECT_TRUE(send({2}));
  EXPECT_THAT(fake.sent(1).back().destination, ElementsAre(192, 168, 1, 10, 0, 7));
}

TEST_P(UdpSocketTest, EndsEachCallWhenTheChipHangs) {
  open();
  fake.commands_hang = true;
  EXPECT_TRUE(send({1}));
  std::uint8_t byte = 0;
  EXPECT_LE(us_of([&] { EXPECT_EQ(send({1}, peer, 20000).error(), Error::command_timeout); }), 21000u);
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.flush(20000).error(), Error::command_timeout); }), 21000u);
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.receive_from(&byte, 1).error(), Error::command_timeout); }), 101500u);
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.close().error(), Error::command_timeout); }), 101500u);
}

TEST_P(UdpSocketTest, EndsEachCallWhenMisoIsStuck) {
  for (const auto level : {std::uint8_t{0x00}, std::uint8_t{0xFF}}) {
    fake.stuck_miso.reset();
    open();
    fake.stuck_miso = level;
    std::uint8_t byte = 0;
    EXPECT_LE(us_of([&] { EXPECT_FALSE(send({1}, peer, 20000)); }), 21000u);
    EXPECT_LE(us_of([&] { EXPECT_FALSE(socket.receive_from(&byte, 1)); }), 101500u);
    EXPECT_LE(us_of([&] { EXPECT_FALSE(socket.receive_from(&byte, 1, 20000)); }), 121500u);
    EXPECT_LE(us_of([&] { EXPECT_FALSE(socket.open(4660)); }), 203000u);
  }
}

// One wrong byte on MISO where Sn_SR is read: the socket is as open as before.
TEST_P(UdpSocketTest, TakesASecondLookBeforeItBelievesThatItIsClosed) {
  for (const auto misread : Bytes{0x00, 0x02, 0x62, 0xFF}) {
    open();
    int wrong = 1;
    fake.on_read = [&](unsigned block, unsigned offset, std::uint8_t value) {
      return block == 5 && offset == 0x03 && wrong-- > 0 ? misread : value;
    };
    EXPECT_TRUE(send({1})) << int{misread};
    wrong = 1;
    EXPECT_TRUE(send({2})) << int{misread};
    wrong = 1;
    EXPECT_EQ(socket.next_datagram().error(), Error::no_datagram) << int{misread};
    arrive({3});
    wrong = 1;
    EXPECT_TRUE(socket.next_datagram()) << int{misread};
    wrong = 1;
    EXPECT_TRUE(socket.flush(50000)) << int{misread};
    fake.on_read = nullptr;
    ASSERT_TRUE(socket.close());
  }
}

TEST_P(UdpSocketTest, BelievesASocketThatIsClosedTwice) {
  open();
  fake.set_state(1, 0x00);
  EXPECT_EQ(send({1}).error(), Error::wrong_state);
  EXPECT_EQ(socket.next_datagram().error(), Error::wrong_state);
}

TEST_P(UdpSocketTest, SendsADatagramMadeInPieces) {
  open();
  EXPECT_EQ(frames_of([&] {
              EXPECT_TRUE(socket.start_datagram(peer));
              EXPECT_TRUE(socket.append(pattern(700).data(), 700));
              EXPECT_TRUE(socket.append(pattern(300, 5).data(), 300));
              EXPECT_TRUE(socket.send_datagram());
            }),
            6u);  // poll, address, two pieces, pointer, SEND
  Bytes whole = pattern(700);
  const Bytes second = pattern(300, 5);
  whole.insert(whole.end(), second.begin(), second.end());
  ASSERT_EQ(fake.sent(1).size(), 1u);
  EXPECT_EQ(fake.sent(1)[0].data, whole);
  for (int i = 0; i < 100; ++i) {  // across the end of the ring
    ASSERT_TRUE(socket.start_datagram(peer));
    ASSERT_TRUE(socket.append(whole.data(), 500));
    ASSERT_TRUE(socket.append(whole.data() + 500, 500));
    ASSERT_TRUE(socket.send_datagram());
    EXPECT_EQ(fake.sent(1).back().data, whole);
  }
}

TEST_P(UdpSocketTest, WaitsForTheLastDatagramBeforeItMakesTheNext) {
  fake.send_us = 2000;
  open();
  EXPECT_TRUE(send(pattern(10)));
  EXPECT_EQ(socket.append(pattern(10).data(), 10).error(), Error::wrong_state);
  EXPECT_EQ(socket.start_datagram(peer, 100).error(), Error::send_timeout);
  EXPECT_GE(us_of([&] { EXPECT_TRUE(socket.start_datagram(peer)); }), 1000u);
  EXPECT_TRUE(socket.append(pattern(10).data(), 10));
}

TEST_P(UdpSocketTest, RefusesPiecesThatMakeNoDatagram) {
  const Bytes data = pattern(1473);
  EXPECT_EQ(socket.start_datagram(peer).error(), Error::wrong_state);
  EXPECT_EQ(socket.append(data.data(), 1).error(), Error::wrong_state);
  EXPECT_EQ(socket.send_datagram().error(), Error::wrong_state);
  open();
  EXPECT_EQ(socket.start_datagram({{192, 168, 1, 10}, 0}).error(), Error::invalid_argument);
  EXPECT_TRUE(socket.start_datagram(peer));
  EXPECT_EQ(socket.send_datagram().error(), Error::wrong_state);  // of nothing
  EXPECT_EQ(socket.append(data.data(), 1473).error(), Error::invalid_argument);
  EXPECT_TRUE(socket.append(data.data(), 1000));
  EXPECT_EQ(socket.append(data.data(), 473).error(), Error::invalid_argument);
  EXPECT_TRUE(socket.append(data.data(), 472));
  EXPECT_TRUE(socket.start_datagram(peer));  // anew
  EXPECT_TRUE(socket.append(data.data(), 7));
  EXPECT_TRUE(socket.send_datagram());
  EXPECT_EQ(fake.sent(1).back().data, pattern(7));
}

}  // namespace
}  // namespace wizloop::test
