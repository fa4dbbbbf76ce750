#include "tests/unit/driver/driver_test.hpp"

namespace wizloop::test {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Ge;
using testing::Le;
using w5500::Endpoint;
using w5500::Progress;
using w5500::TcpSocket;

constexpr Endpoint server{{192, 168, 1, 10}, 5001};
constexpr unsigned socket_0 = 1, rx_0 = 3;  // blocks

class TcpSocketTest : public DriverTest {
 protected:
  void connect() {
    ASSERT_TRUE(socket.open(50000));
    ASSERT_TRUE(socket.connect(server));
    fake.frames().clear();
  }

  Progress write(const Bytes& data, std::uint32_t timeout_us = 50000) {
    return socket.write(data.data(), data.size(), timeout_us);
  }

  // "R 0001" or "W 0024": direction and offset of each register frame, "W data" and "R data" for the rings.
  std::vector<std::string> log() {
    std::vector<std::string> lines;
    for (const auto& frame : fake.frames()) {
      char text[16];
      std::snprintf(text, sizeof text, "%c %04X", frame.is_write() ? 'W' : 'R', frame.offset());
      lines.push_back(frame.block() % 4 >= 2 ? std::string{text, 2} + "data" : text);
    }
    return lines;
  }

  TcpSocket socket{chip, 0};
};
WIZLOOP_ON_EVERY_BUS(TcpSocketTest);

// ---- opening

TEST_P(TcpSocketTest, OpensAfterAClose) {
  fake.set_state(0, 0x17);  // left over from before a host reset
  fake.raise(0, 0x1F);
  EXPECT_TRUE(socket.open(50000));
  EXPECT_THAT(fake.commands(0), ElementsAre(0x10, 0x01));
  EXPECT_EQ(fake.socket(0, 0x00), 0x21);  // TCP, ND
  EXPECT_EQ(fake.socket16(0, 0x04), 50000);
  EXPECT_EQ(fake.socket(0, 0x02), 0x00);
  EXPECT_EQ(fake.socket(0, 0x03), 0x13);
}

TEST_P(TcpSocketTest, LeavesDelayedAcknowledgementsOnRequest) {
  TcpSocket delayed{chip, 1, {.immediate_ack = false}};
  EXPECT_TRUE(delayed.open(50000));
  EXPECT_EQ(fake.socket(1, 0x00), 0x01);
}

TEST_P(TcpSocketTest, RefusesImpossibleArguments) {
  TcpSocket ninth{chip, 8};
  EXPECT_EQ(ninth.open(50000).error(), Error::invalid_argument);
  EXPECT_EQ(ninth.state().error(), Error::invalid_argument);
  EXPECT_EQ(ninth.close().error(), Error::invalid_argument);
  EXPECT_EQ(socket.open(0).error(), Error::invalid_argument);
  EXPECT_EQ(socket.connect({{0, 0, 0, 0}, 80}).error(), Error::invalid_argument);
  EXPECT_EQ(socket.connect({{255, 255, 255, 255}, 80}).error(), Error::invalid_argument);
  EXPECT_EQ(socket.connect({{192, 168, 1, 10}, 0}).error(), Error::invalid_argument);
  EXPECT_TRUE(fake.frames().empty());
}

TEST_P(TcpSocketTest, RefusesToOpenWithoutBufferMemory) {
  fake.socket(0, 0x1F) = 0;
  EXPECT_EQ(socket.open(50000).error(), Error::invalid_argument);
  EXPECT_EQ(fake.socket(0, 0x03), 0x00);
}

TEST_P(TcpSocketTest, RefusesCallsThatItsStateDoesNotAllow) {
  std::uint8_t byte = 0;
  EXPECT_EQ(socket.connect(server).error(), Error::wrong_state);
  EXPECT_EQ(socket.listen().error(), Error::wrong_state);
  EXPECT_EQ(socket.write(&byte, 1).error, Error::wrong_state);
  EXPECT_EQ(socket.try_write(&byte, 1).error, Error::wrong_state);
  EXPECT_EQ(socket.read(&byte, 1).error(), Error::wrong_state);
  EXPECT_EQ(socket.available().error(), Error::wrong_state);
  EXPECT_EQ(socket.peer().error(), Error::wrong_state);
  EXPECT_EQ(socket.flush().error(), Error::wrong_state);
  ASSERT_TRUE(socket.open(50000));
  EXPECT_EQ(socket.accept().error(), Error::wrong_state);
}

// ---- connecting

TEST_P(TcpSocketTest, ConnectsWithAddressAndPortInOneFrame) {
  ASSERT_TRUE(socket.open(50000));
  fake.frames().clear();
  EXPECT_TRUE(socket.connect(server));
  // Poll, Sn_DIPR with Sn_DPORT, Sn_CR, poll, clear CON, pointers.
  EXPECT_THAT(log(), ElementsAre("R 0001", "W 000C", "W 0001", "R 0001", "W 0002", "R 0024"));
  EXPECT_THAT(fake.frames()[1].mosi, ElementsAre(0x00, 0x0C, 0x0C, 192, 168, 1, 10, 0x13, 0x89));
  EXPECT_THAT(fake.frames()[2].mosi, ElementsAre(0x00, 0x01, 0x0C, 0x04));
}

TEST_P(TcpSocketTest, WaitsThroughArpAndSyn) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command != 0x04) return false;
    fake.after_us(300, [&, n] { fake.set_state(n, 0x15); });
    fake.after_us(20000, [&, n] { fake.establish(n); });
    return true;
  };
  ASSERT_TRUE(socket.open(50000));
  const auto took = us_of([&] { EXPECT_TRUE(socket.connect(server)); });
  EXPECT_THAT(took, AllOf(Ge(20000u), Le(21500u)));
  EXPECT_LT(fake.frames().size(), 300u);  // it pauses between polls of a long wait
}

TEST_P(TcpSocketTest, TakesAConnectionThatThePeerHasAlreadyHalfClosed) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command != 0x04) return false;
    fake.establish(n);
    fake.receive(n, {1, 2, 3});
    fake.set_state(n, 0x1C);
    return true;
  };
  ASSERT_TRUE(socket.open(50000));
  ASSERT_TRUE(socket.connect(server));
  Bytes got(8);
  EXPECT_EQ(socket.read(got.data(), 8).value(), 3);
  EXPECT_EQ(socket.read(got.data(), 8).error(), Error::closed_by_peer);
}

TEST_P(TcpSocketTest, ReportsARefusedConnection) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command == 0x04) fake.after_us(200, [&, n] { fake.set_state(n, 0x00); });
    return command == 0x04;
  };
  ASSERT_TRUE(socket.open(50000));
  EXPECT_EQ(socket.connect(server).error(), Error::refused);
}

TEST_P(TcpSocketTest, ReportsAPeerThatDoesNotAnswer) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command == 0x04) fake.after_us(30000, [&, n] { fake.time_out(n); });
    return command == 0x04;
  };
  ASSERT_TRUE(socket.open(50000));
  EXPECT_EQ(socket.connect(server).error(), Error::peer_timeout);
}

TEST_P(TcpSocketTest, TellsATimeoutFromARefusalWhenItComesBetweenTwoBytesOfAPoll) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command == 0x04) fake.set_state(n, 0x15);
    return command == 0x04;
  };
  ASSERT_TRUE(socket.open(50000));
  fake.on_read = [&](unsigned block, unsigned offset, std::uint8_t value) {
    if (block == socket_0 && offset == 0x03 && value == 0x15) {
      fake.time_out(0);  // after Sn_IR was read in this frame
      return std::uint8_t{0x00};
    }
    return value;
  };
  EXPECT_EQ(socket.connect(server).error(), Error::peer_timeout);
}

TEST_P(TcpSocketTest, DropsAHalfOpenConnectionAtItsOwnDeadline) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command == 0x04) fake.set_state(n, 0x15);
    return command == 0x04;
  };
  ASSERT_TRUE(socket.open(50000));
  const auto took = us_of([&] { EXPECT_EQ(socket.connect(server, 10000).error(), Error::state_timeout); });
  EXPECT_LE(took, 10800u);
  EXPECT_EQ(fake.socket(0, 0x03), 0x00);
  EXPECT_EQ(fake.commands(0).back(), 0x10);
}

// ---- serving

TEST_P(TcpSocketTest, AcceptsAPeer) {
  ASSERT_TRUE(socket.open(5001));
  ASSERT_TRUE(socket.listen());
  EXPECT_FALSE(socket.accept().value());
  fake.set_state(0, 0x16);
  EXPECT_FALSE(socket.accept().value());
  for (unsigned i = 0; i < 4; ++i) fake.socket(0, 0x0C + i) = static_cast<std::uint8_t>(10 + i);
  fake.set_socket16(0, 0x10, 40000);
  fake.establish(0);
  EXPECT_TRUE(socket.accept().value());
  EXPECT_TRUE(socket.accept().value());  // and stays accepted
  EXPECT_THAT(socket.peer().value().ip, ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(socket.peer().value().port, 40000);
  EXPECT_TRUE(write(pattern(10)));
  EXPECT_EQ(fake.sent_bytes(0), pattern(10));
}

TEST_P(TcpSocketTest, WaitsForAPeer) {
  ASSERT_TRUE(socket.open(5001));
  ASSERT_TRUE(socket.listen());
  fake.after_us(5000, [&] { fake.establish(0); });
  const auto took = us_of([&] { EXPECT_TRUE(socket.accept(100000).value()); });
  EXPECT_THAT(took, AllOf(Ge(5000u), Le(5500u)));
}

TEST_P(TcpSocketTest, AcceptsNobodyWithinItsDeadline) {
  ASSERT_TRUE(socket.open(5001));
  ASSERT_TRUE(socket.listen());
  const auto took = us_of([&] { EXPECT_FALSE(socket.accept(20000).value()); });
  EXPECT_THAT(took, AllOf(Ge(20000u), Le(20100u)));
}

TEST_P(TcpSocketTest, ListensToAPeerThatComesAtOnce) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command == 0x02) fake.establish(n);
    return command == 0x02;
  };
  ASSERT_TRUE(socket.open(5001));
  EXPECT_TRUE(socket.listen());
  EXPECT_TRUE(socket.accept().value());
}

TEST_P(TcpSocketTest, ReportsAHandshakeThatFailedHalfWay) {
  ASSERT_TRUE(socket.open(5001));
  ASSERT_TRUE(socket.listen());
  fake.set_state(0, 0x16);
  fake.after_us(3000, [&] { fake.time_out(0); });
  EXPECT_EQ(socket.accept(100000).error(), Error::peer_timeout);
  ASSERT_TRUE(socket.open(5001));
  ASSERT_TRUE(socket.listen());
  fake.set_state(0, 0x00);  // RST in SYNRECV
  EXPECT_EQ(socket.accept().error(), Error::closed_by_peer);
}

// ---- writing

TEST_P(TcpSocketTest, WritesBehindTheConnectionsOwnTxPointer) {
  fake.first_tx_pointer = 0xA5C3;  // never the 0 of OPEN
  connect();
  EXPECT_TRUE(write({0xDE, 0xAD, 0xBE, 0xEF}));
  // Poll, Sn_TX_FSR twice, data, Sn_TX_WR, SEND.
  EXPECT_THAT(log(), ElementsAre("R 0001", "R 0020", "R 0020", "W data", "W 0024", "W 0001"));
  EXPECT_THAT(fake.frames()[3].mosi, ElementsAre(0xA5, 0xC3, 0x14, 0xDE, 0xAD, 0xBE, 0xEF));
  EXPECT_THAT(fake.frames()[4].mosi, ElementsAre(0x00, 0x24, 0x0C, 0xA5, 0xC7));
  EXPECT_THAT(fake.frames()[5].mosi, ElementsAre(0x00, 0x01, 0x0C, 0x20));
}

TEST_P(TcpSocketTest, ReadsTheTxPointerAgainForTheNextConnection) {
  connect();
  EXPECT_TRUE(write(pattern(100)));
  ASSERT_TRUE(socket.disconnect());
  fake.first_tx_pointer = 0x7000;
  connect();
  EXPECT_TRUE(write(pattern(5)));
  EXPECT_EQ(fake.sent(0).back().data, pattern(5));
}

TEST_P(TcpSocketTest, SpendsFiveFramesPerPieceWhileSpaceIsKnown) {
  connect();
  ASSERT_TRUE(write(pattern(100)));
  fake.frames().clear();
  ASSERT_TRUE(write(pattern(100)));
  // The data go ahead of the poll that shows SENDOK of the piece before.
  EXPECT_THAT(log(), ElementsAre("W data", "R 0001", "W 0002", "W 0024", "W 0001"));
  EXPECT_THAT(fake.frames()[2].mosi, ElementsAre(0x00, 0x02, 0x0C, 0x10));
}

TEST_P(TcpSocketTest, SpendsTwoFramesMoreWhenItHasToLookForSpace) {
  connect();
  ASSERT_TRUE(write(pattern(1024)));
  ASSERT_TRUE(write(pattern(1024)));
  fake.frames().clear();
  ASSERT_TRUE(write(pattern(1024)));
  EXPECT_THAT(log(), ElementsAre("R 0001", "W 0002", "R 0020", "R 0020", "W data", "W 0024", "W 0001"));
}

TEST_P(TcpSocketTest, LoadsThePieceThatFollowsWhileOneIsOnTheWire) {
  fake.send_us = 5000;
  connect();
  ASSERT_TRUE(write(pattern(1000)));
  fake.frames().clear();
  ASSERT_TRUE(write(pattern(1000)));
  EXPECT_EQ(log().front(), "W data");
  EXPECT_EQ(fake.sent_bytes(0).size(), 2000u);
}

TEST_P(TcpSocketTest, SendsAWriteLargerThanTheBufferWhole) {
  fake.send_us = 300;
  connect();
  const Bytes data = pattern(20000);
  const Progress progress = write(data);
  EXPECT_TRUE(progress);
  EXPECT_EQ(progress.count, 20000u);
  EXPECT_TRUE(socket.flush());
  EXPECT_EQ(fake.sent_bytes(0), data);
  EXPECT_LE(fake.frames().size(), 20 * 60u);
}

TEST_P(TcpSocketTest, CutsWritesIntoWholeSegmentsOfALargeBuffer) {
  ASSERT_TRUE(chip.set_buffer_sizes({{16}, {16}}));
  connect();
  const Bytes data = pattern(20000);
  EXPECT_TRUE(write(data));
  EXPECT_EQ(fake.sent(0).at(0).data.size(), 5u * 1460);
  EXPECT_EQ(fake.sent_bytes(0), data);
}

TEST_P(TcpSocketTest, WritesAcrossTheWrapOfThePointer) {
  fake.first_tx_pointer = 0xFC00;
  connect();
  const Bytes data = pattern(5000);
  EXPECT_TRUE(write(data));
  EXPECT_EQ(fake.sent_bytes(0), data);
}

TEST_P(TcpSocketTest, WrapsOnePieceAtTheEndOfThePointersRange) {
  fake.first_tx_pointer = 0xFFFE;
  connect();
  EXPECT_TRUE(write({1, 2, 3, 4}));
  EXPECT_THAT(fake.frames()[3].mosi, ElementsAre(0xFF, 0xFE, 0x14, 1, 2, 3, 4));
  EXPECT_THAT(fake.frames()[4].mosi, ElementsAre(0x00, 0x24, 0x0C, 0x00, 0x02));
  EXPECT_EQ(fake.sent_bytes(0), (Bytes{1, 2, 3, 4}));
}

TEST_P(TcpSocketTest, TellsHowMuchItAcceptedWhenThePeerStopsAcknowledging) {
  fake.acknowledges = false;
  connect();
  Progress progress{};
  const auto took = us_of([&] { progress = write(pattern(5000), 20000); });
  EXPECT_EQ(progress.error, Error::space_timeout);
  EXPECT_EQ(progress.count, 2048u);
  EXPECT_EQ(fake.sent_bytes(0), pattern(2048));
  EXPECT_LE(took, 20000u + 3000 + 1100);
}

TEST_P(TcpSocketTest, DoesNotTakeTheSpaceOfASendThatIsNotAcceptedYetForFree) {
  fake.acknowledges = false;
  fake.command_us = 40;  // Sn_TX_FSR falls with the command; the fake watches what is written over
  connect();
  const Progress progress = write(pattern(5000), 10000);
  EXPECT_EQ(progress.error, Error::space_timeout);
  EXPECT_EQ(progress.count, 2048u);
}

TEST_P(TcpSocketTest, KnowsOfNoSpaceFromTheConnectionBefore) {
  ASSERT_TRUE(chip.set_buffer_sizes({{16}, {16}}));
  connect();
  EXPECT_TRUE(write(pattern(10)));
  ASSERT_TRUE(socket.disconnect());
  ASSERT_TRUE(chip.set_buffer_sizes({{2}, {2}}));
  fake.acknowledges = false;
  connect();
  EXPECT_EQ(write(pattern(5000), 10000).count, 2048u);
}

TEST_P(TcpSocketTest, GoesOnWithAWriteOnceThePeerAcknowledges) {
  fake.acknowledges = false;
  connect();
  EXPECT_EQ(write(pattern(3000), 5000).count, 2048u);
  fake.after_us(1000, [&] {
    fake.acknowledges = true;
    fake.acknowledge_all(0);
  });
  EXPECT_TRUE(write(pattern(952, 40)));
  EXPECT_EQ(fake.sent_bytes(0).size(), 3000u);
}

TEST_P(TcpSocketTest, WaitsForEachPieceAnew) {
  fake.send_us = 8000;
  connect();
  EXPECT_TRUE(write(pattern(8192), 10000));  // 64 ms in all, 8 ms at a time
}

TEST_P(TcpSocketTest, ReportsASendThatNeverEnds) {
  fake.sends_hang = true;
  connect();
  EXPECT_TRUE(write(pattern(10)));  // the chip has taken it
  Progress progress{};
  const auto took = us_of([&] { progress = write(pattern(10), 10000); });
  EXPECT_EQ(progress.error, Error::send_timeout);
  EXPECT_EQ(progress.count, 0u);
  EXPECT_LE(took, 10100u);
  EXPECT_EQ(socket.flush(5000).error(), Error::send_timeout);
  fake.sends_hang = false;
  ASSERT_TRUE(socket.open(50000));
  EXPECT_EQ(socket.disconnect(5000).error(), Error::wrong_state);  // at once, nothing is under way any more
  connect();
  EXPECT_TRUE(write(pattern(10)));
}

// The peer has acknowledged everything, so that the chip has nothing left to send.
TEST_P(TcpSocketTest, WaitsOneSecondForASendokThatTheChipHasLost) {
  fake.sends_hang = true;
  connect();
  EXPECT_TRUE(write(pattern(10)));
  fake.after_us(500000, [&] {
    fake.set_socket16(0, 0x22, fake.socket16(0, 0x24));
    fake.acknowledge_all(0);
  });
  Progress progress{};
  const auto took = us_of([&] { progress = write(pattern(10), 10000000); });
  EXPECT_EQ(progress.error, Error::send_timeout);
  EXPECT_GE(took, 1000000u);
  EXPECT_LE(took, 1100000u);
}

TEST_P(TcpSocketTest, LetsASlowPeerKeepASendWaitingUntilTheDeadline) {
  fake.sends_hang = true;
  connect();
  EXPECT_TRUE(write(pattern(10)));
  const auto took = us_of([&] { EXPECT_EQ(write(pattern(10), 3000000).error, Error::send_timeout); });
  EXPECT_GE(took, 3000000u);
}

TEST_P(TcpSocketTest, TellsAClosingPeerFromOneThatVanished) {
  connect();
  EXPECT_TRUE(write(pattern(10)));
  fake.set_state(0, 0x00);
  EXPECT_EQ(write(pattern(10)).error, Error::closed_by_peer);
  connect();
  EXPECT_TRUE(write(pattern(10)));
  fake.time_out(0);
  EXPECT_EQ(write(pattern(10)).error, Error::peer_timeout);
}

TEST_P(TcpSocketTest, StopsAWriteThatThePeerResetsHalfWay) {
  fake.acknowledges = false;
  connect();
  fake.after_us(6000, [&] { fake.set_state(0, 0x00); });
  const Progress progress = write(pattern(5000), 50000);
  EXPECT_EQ(progress.error, Error::closed_by_peer);
  EXPECT_EQ(progress.count, 2048u);
}

TEST_P(TcpSocketTest, WritesToAPeerThatHasHalfClosed) {
  connect();
  fake.set_state(0, 0x1C);
  EXPECT_TRUE(write(pattern(10)));
  EXPECT_EQ(fake.sent_bytes(0), pattern(10));
}

TEST_P(TcpSocketTest, ClearsSendokAsSoonAsAnyCallSeesIt) {
  connect();
  EXPECT_TRUE(write(pattern(10)));
  EXPECT_EQ(fake.socket(0, 0x02), 0x10);
  EXPECT_TRUE(socket.available());
  EXPECT_EQ(fake.socket(0, 0x02), 0x00);
  EXPECT_TRUE(socket.flush());
}

TEST_P(TcpSocketTest, TryWriteTakesWhatFits) {
  fake.acknowledges = false;
  connect();
  EXPECT_EQ(socket.try_write(pattern(3000).data(), 3000).count, 2048u);
  const Progress none = socket.try_write(pattern(10).data(), 10);
  EXPECT_TRUE(none);
  EXPECT_EQ(none.count, 0u);
  fake.acknowledge_all(0);
  EXPECT_EQ(socket.try_write(pattern(10).data(), 10).count, 10u);
}

TEST_P(TcpSocketTest, TryWriteDoesNotWaitForTheLastSend) {
  fake.send_us = 10000;
  connect();
  EXPECT_EQ(socket.try_write(pattern(100).data(), 100).count, 100u);
  Progress progress{};
  const auto took = us_of([&] { progress = socket.try_write(pattern(100).data(), 100); });
  EXPECT_TRUE(progress);
  EXPECT_EQ(progress.count, 0u);
  EXPECT_LE(took, 20u);
}

TEST_P(TcpSocketTest, TryWriteReportsAClosedConnection) {
  connect();
  fake.set_state(0, 0x00);
  EXPECT_EQ(socket.try_write(pattern(10).data(), 10).error, Error::closed_by_peer);
}

// ---- reading

TEST_P(TcpSocketTest, ReadsWhatWaitsAndGivesItsMemoryBack) {
  connect();
  fake.receive(0, {10, 20, 30});
  EXPECT_EQ(socket.available().value(), 3);
  fake.frames().clear();
  Bytes got(3);
  EXPECT_EQ(socket.read(got.data(), 3).value(), 3);
  EXPECT_THAT(got, ElementsAre(10, 20, 30));
  EXPECT_THAT(log(), ElementsAre("R data", "W 0028", "W 0001"));
  EXPECT_THAT(fake.frames()[0].mosi, ElementsAre(0x00, 0x00, 0x18, 0, 0, 0));
  EXPECT_THAT(fake.frames()[1].mosi, ElementsAre(0x00, 0x28, 0x0C, 0x00, 0x03));
  EXPECT_THAT(fake.frames()[2].mosi, ElementsAre(0x00, 0x01, 0x0C, 0x40));
  EXPECT_EQ(fake.socket16(0, 0x26), 0);
}

TEST_P(TcpSocketTest, SpendsSixFramesPerReadOfAStream) {
  connect();
  Bytes got(1460);
  for (int i = 0; i < 3; ++i) {
    fake.receive(0, pattern(1460));
    fake.frames().clear();
    EXPECT_EQ(socket.read(got.data(), 1460).value(), 1460);
    // Poll, Sn_RX_RSR twice, data, Sn_RX_RD, RECV.
    EXPECT_THAT(log(), ElementsAre("R 0001", "R 0026", "R 0026", "R data", "W 0028", "W 0001"));
  }
}

TEST_P(TcpSocketTest, SpendsFourFramesPerReadOfWhatIsKnownToWait) {
  connect();
  fake.receive(0, pattern(1000));
  Bytes got(100);
  EXPECT_EQ(socket.read(got.data(), 100).value(), 100);
  EXPECT_EQ(socket.available().value(), 900);
  EXPECT_EQ(socket.read(got.data(), 100).value(), 100);
  fake.frames().clear();
  EXPECT_EQ(socket.read(got.data(), 100).value(), 100);
  EXPECT_THAT(log(), ElementsAre("R data", "R 0001", "W 0028", "W 0001"));
  EXPECT_EQ(got, pattern(100, 200));
}

TEST_P(TcpSocketTest, AnswersTwoFramesWhenNothingWaits) {
  connect();
  EXPECT_EQ(frames_of([&] { EXPECT_EQ(socket.available().value(), 0); }), 2u);
  std::uint8_t byte = 0;
  EXPECT_EQ(socket.read(&byte, 1).value(), 0);
}

TEST_P(TcpSocketTest, ReadsAcrossTheWrapOfThePointer) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command != 0x04) return false;
    fake.establish(n);
    fake.set_rx_pointers(n, 0xFF80);  // far into a stream
    return true;
  };
  connect();
  Bytes all;
  for (int i = 0; i < 4; ++i) {
    fake.receive(0, pattern(100, static_cast<std::uint8_t>(i)));
    Bytes got(100);
    EXPECT_EQ(socket.read(got.data(), 100).value(), 100);
    EXPECT_EQ(got, pattern(100, static_cast<std::uint8_t>(i)));
  }
  EXPECT_EQ(fake.socket16(0, 0x28), 0xFF80 + 400 - 0x10000);
}

TEST_P(TcpSocketTest, DiscardsByMovingThePointerAlone) {
  connect();
  fake.receive(0, pattern(500));
  EXPECT_EQ(socket.discard(400).value(), 400);
  for (const auto& frame : fake.frames()) EXPECT_NE(frame.block(), rx_0);
  Bytes got(200);
  EXPECT_EQ(socket.read(got.data(), 200).value(), 100);
  got.resize(100);
  EXPECT_EQ(got, pattern(100, static_cast<std::uint8_t>(400 % 251)));
}

TEST_P(TcpSocketTest, ReadsWhatCameBeforeTheFin) {
  connect();
  fake.receive(0, pattern(50));
  fake.set_state(0, 0x1C);
  Bytes got(100);
  EXPECT_EQ(socket.read(got.data(), 100).value(), 50);
  EXPECT_EQ(socket.read(got.data(), 100).error(), Error::closed_by_peer);
  EXPECT_EQ(socket.available().error(), Error::closed_by_peer);
}

TEST_P(TcpSocketTest, SeesDataThatComeWithTheFinBetweenItsTwoFrames) {
  connect();
  bool first = true;
  fake.on_read = [&](unsigned block, unsigned offset, std::uint8_t value) {
    if (block == socket_0 && offset == 0x03 && first) {
      first = false;
      fake.receive(0, pattern(7));
      fake.set_state(0, 0x1C);
      return std::uint8_t{0x1C};
    }
    return value;
  };
  EXPECT_EQ(socket.available().value(), 7);
}

TEST_P(TcpSocketTest, WaitsForData) {
  connect();
  fake.after_us(7000, [&] { fake.receive(0, pattern(5)); });
  const auto took = us_of([&] { EXPECT_EQ(socket.wait_available(100000).value(), 5); });
  EXPECT_THAT(took, AllOf(Ge(7000u), Le(7600u)));
  EXPECT_EQ(socket.discard(5).value(), 5);
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.wait_available(3000).value(), 0); }), 3100u);
}

TEST_P(TcpSocketTest, SleepsOnTheInterruptPinInsteadOfPolling) {
  ASSERT_TRUE(chip.use_interrupt_pin(0x01));
  connect();
  fake.after_us(900, [&] { fake.receive(0, pattern(5)); });
  const auto took = us_of([&] { EXPECT_EQ(socket.wait_available(100000).value(), 5); });
  EXPECT_THAT(took, AllOf(Ge(900u), Le(930u)));
  EXPECT_EQ(fake.interrupt_waits(), 1u);
  EXPECT_LE(fake.frames().size(), 6u);
  EXPECT_EQ(fake.socket(0, 0x02), 0x00);  // else INTn would stay low
}

TEST_P(TcpSocketTest, PollsWhereTheInterruptPinIsNotWired) {
  fake.interrupt_pin_wired = false;
  ASSERT_TRUE(chip.use_interrupt_pin(0x01));
  connect();
  fake.after_us(900, [&] { fake.receive(0, pattern(5)); });
  EXPECT_EQ(socket.wait_available(100000).value(), 5);
}

// ---- counters

TEST_P(TcpSocketTest, ReadsACounterAgainThatWasTorn) {
  connect();
  fake.receive(0, pattern(0x00F0));
  bool torn = false;
  fake.on_read = [&](unsigned block, unsigned offset, std::uint8_t value) {
    if (block == socket_0 && offset == 0x27 && !torn) {
      torn = true;
      fake.receive(0, pattern(0x20));  // 0x00 was read of 0x00F0, now comes 0x10 of 0x0110
      return std::uint8_t{0x10};
    }
    return value;
  };
  EXPECT_EQ(socket.available().value(), 0x0110);
}

TEST_P(TcpSocketTest, ReadsTornFreeSpaceAgain) {
  connect();
  int reads = 0;
  fake.on_read = [&](unsigned block, unsigned offset, std::uint8_t value) {
    if (block == socket_0 && offset == 0x20 && ++reads == 1) return std::uint8_t{0x0F};  // 0x0F00, above the ring
    return value;
  };
  EXPECT_TRUE(write(pattern(100)));
  EXPECT_EQ(reads, 3);
  EXPECT_EQ(fake.sent_bytes(0), pattern(100));
}

TEST_P(TcpSocketTest, GivesUpOnACounterThatIsNeverStable) {
  connect();
  std::uint8_t noise = 0;
  fake.on_read = [&](unsigned block, unsigned offset, std::uint8_t value) {
    if (block == socket_0 && (offset == 0x27 || offset == 0x21)) return static_cast<std::uint8_t>(noise += 3);
    return value;
  };
  EXPECT_LE(frames_of([&] { EXPECT_EQ(socket.available().error(), Error::unstable_counter); }), 20u);
  EXPECT_EQ(write(pattern(10)).error, Error::unstable_counter);
}

TEST_P(TcpSocketTest, DoesNotBelieveACounterAboveItsBuffer) {
  connect();
  fake.set_socket16(0, 0x26, 0x0801);
  fake.set_socket16(0, 0x20, 0x7F5A);
  EXPECT_EQ(socket.available().error(), Error::implausible_counter);
  EXPECT_EQ(write(pattern(10)).error, Error::implausible_counter);
}

// ---- closing

TEST_P(TcpSocketTest, DisconnectsAfterTheLastSendHasLeft) {
  fake.send_us = 2000;
  connect();
  EXPECT_TRUE(write(pattern(10)));
  EXPECT_TRUE(socket.disconnect());
  EXPECT_THAT(fake.commands(0), ElementsAre(0x10, 0x01, 0x04, 0x20, 0x08, 0x10));
  EXPECT_EQ(fake.socket(0, 0x03), 0x00);
  EXPECT_EQ(write(pattern(1)).error, Error::wrong_state);
}

TEST_P(TcpSocketTest, WaitsForBothDirectionsToClose) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command != 0x08) return false;
    fake.set_state(n, 0x18);
    fake.after_us(3000, [&, n] { fake.set_state(n, 0x1B); });
    fake.after_us(6000, [&, n] { fake.set_state(n, 0x00); });
    return true;
  };
  connect();
  const auto took = us_of([&] { EXPECT_TRUE(socket.disconnect()); });
  EXPECT_THAT(took, AllOf(Ge(6000u), Le(6600u)));
}

TEST_P(TcpSocketTest, DropsAPeerThatDoesNotCloseInTime) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command == 0x08) fake.set_state(n, 0x18);
    return command == 0x08;
  };
  connect();
  const auto took = us_of([&] { EXPECT_EQ(socket.disconnect(10000).error(), Error::state_timeout); });
  EXPECT_LE(took, 10800u);
  EXPECT_EQ(fake.socket(0, 0x03), 0x00);
}

TEST_P(TcpSocketTest, ReportsAFinThatNobodyAcknowledged) {
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command != 0x08) return false;
    fake.set_state(n, 0x18);
    fake.after_us(2000, [&, n] { fake.time_out(n); });
    return true;
  };
  connect();
  EXPECT_EQ(socket.disconnect().error(), Error::peer_timeout);
}

TEST_P(TcpSocketTest, ReportsThatItDroppedAConnectionThatWasNotUp) {
  ASSERT_TRUE(socket.open(5001));
  ASSERT_TRUE(socket.listen());
  fake.set_state(0, 0x16);
  EXPECT_EQ(socket.disconnect().error(), Error::wrong_state);
  EXPECT_EQ(fake.socket(0, 0x03), 0x00);
  EXPECT_TRUE(socket.disconnect());  // closed is closed
}

TEST_P(TcpSocketTest, ReportsAtDisconnectThatThePeerWasFaster) {
  connect();
  fake.set_state(0, 0x00);
  EXPECT_EQ(socket.disconnect().error(), Error::closed_by_peer);
}

TEST_P(TcpSocketTest, SaysGoodbyeToAPeerThatTakesNoMore) {
  fake.send_us = 1'000'000;
  connect();
  EXPECT_TRUE(write(pattern(10)));
  EXPECT_EQ(socket.disconnect(0).error(), Error::send_timeout);
  EXPECT_THAT(fake.commands(0), ElementsAre(0x10, 0x01, 0x04, 0x20, 0x08, 0x10));
}

TEST_P(TcpSocketTest, DisconnectsInStepsThatWaitForNothing) {
  fake.send_us = 2000;
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command != 0x08) return false;
    fake.set_state(n, 0x18);
    fake.after_us(3000, [&, n] { fake.set_state(n, 0x1B); });
    return true;
  };
  connect();
  EXPECT_TRUE(write(pattern(10)));
  unsigned steps = 0;
  for (bool parted = false; !parted; ++steps) {
    EXPECT_LE(us_of([&] { parted = socket.try_disconnect().value(); }), 300u);
    fake.delay_us(100);
    ASSERT_LT(steps, 100u);
  }
  EXPECT_GE(steps, 10u);
  EXPECT_THAT(fake.commands(0), ElementsAre(0x10, 0x01, 0x04, 0x20, 0x08, 0x10));
}

TEST_P(TcpSocketTest, ReportsInStepsWhatBecameOfTheConnection) {
  connect();
  fake.set_state(0, 0x00);
  EXPECT_EQ(socket.try_disconnect().error(), Error::closed_by_peer);
  EXPECT_TRUE(socket.try_disconnect().value());  // closed is closed
  fake.on_command = [&](unsigned n, std::uint8_t command) {
    if (command == 0x08) fake.set_state(n, 0x18);
    return command == 0x08;
  };
  connect();
  EXPECT_FALSE(socket.try_disconnect().value());
  fake.time_out(0);
  EXPECT_EQ(socket.try_disconnect().error(), Error::peer_timeout);
}

TEST_P(TcpSocketTest, ClosesAtOnce) {
  connect();
  EXPECT_TRUE(socket.close());
  EXPECT_EQ(fake.socket(0, 0x03), 0x00);
  EXPECT_EQ(socket.available().error(), Error::wrong_state);
}

// ---- a chip that does not do its part

TEST_P(TcpSocketTest, WaitsForASlowCommandBeforeItActsOnItsOutcome) {
  fake.command_us = 40;  // several frames
  fake.send_us = 100;
  connect();
  const Bytes data = pattern(6000);
  EXPECT_TRUE(write(data));
  EXPECT_TRUE(socket.flush());
  EXPECT_EQ(fake.sent_bytes(0), data);
  fake.receive(0, pattern(2048));
  Bytes got(2048);
  EXPECT_EQ(socket.read(got.data(), 1000).value(), 1000);
  EXPECT_EQ(socket.read(got.data() + 1000, 2000).value(), 1048);
  EXPECT_EQ(got, pattern(2048));
  EXPECT_EQ(socket.available().value(), 0);
  EXPECT_TRUE(socket.disconnect());
}

struct Call {
  const char* name;
  std::function<Error()> make;
};

TEST_P(TcpSocketTest, EndsEachCallWhenSnCrNeverClears) {
  Bytes buffer(16);
  const Call calls[] = {
      {"open", [&] { return socket.open(50000).error(); }},
      {"disconnect", [&] { return socket.disconnect(20000).error(); }},
      {"close", [&] { return socket.close().error(); }},
  };
  for (const Call& call : calls) {
    fake.commands_hang = false;
    fake.socket(0, 0x01) = 0;
    connect();
    fake.commands_hang = true;
    const auto took = us_of([&] { EXPECT_EQ(call.make(), Error::command_timeout) << call.name; });
    EXPECT_LE(took, 2 * 101500u) << call.name;
  }
}

TEST_P(TcpSocketTest, EndsDataCallsWhenSnCrNeverClears) {
  Bytes buffer(16);
  const Call calls[] = {
      {"write", [&] { return write(pattern(10), 20000).error; }},
      {"flush", [&] { return socket.flush(20000).error(); }},
      {"available", [&] { return socket.available().error(); }},
      {"read", [&] { return socket.read(buffer.data(), 16).error(); }},
      {"discard", [&] { return socket.discard(16).error(); }},
      {"wait_available", [&] { return socket.wait_available(20000).error(); }},
  };
  for (const Call& call : calls) {
    fake.commands_hang = false;
    fake.socket(0, 0x01) = 0;
    connect();
    fake.commands_hang = true;
    EXPECT_TRUE(write(pattern(10)));  // its SEND hangs
    const auto took = us_of([&] { EXPECT_EQ(call.make(), Error::command_timeout) << call.name; });
    EXPECT_LE(took, 101500u) << call.name;
    const Progress nothing = socket.try_write(pattern(10).data(), 10);
    EXPECT_EQ(nothing.count, 0u);
  }
}

TEST_P(TcpSocketTest, OpensAgainAfterTheChipWasResetUnderAHangingCommand) {
  connect();
  fake.commands_hang = true;
  EXPECT_TRUE(write(pattern(10)));
  fake.commands_hang = false;
  ASSERT_TRUE(chip.reset());
  connect();
  EXPECT_TRUE(write(pattern(10)));
  EXPECT_EQ(fake.sent_bytes(0), pattern(10));
}

TEST_P(TcpSocketTest, EndsEachCallWhenTheStateNeverChanges) {
  fake.on_command = [](unsigned, std::uint8_t command) { return command != 0x10; };
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.open(50000).error(), Error::state_timeout); }), 101500u);
  fake.set_state(0, 0x13);
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.listen().error(), Error::state_timeout); }), 101500u);
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.connect(server, 30000).error(), Error::state_timeout); }), 31500u);
  fake.on_command = [](unsigned, std::uint8_t) { return true; };
  fake.set_state(0, 0x17);
  EXPECT_LE(us_of([&] { EXPECT_EQ(socket.close().error(), Error::state_timeout); }), 101500u);
}

TEST_P(TcpSocketTest, EndsEachCallWhenMisoIsStuck) {
  for (const auto level : {std::uint8_t{0x00}, std::uint8_t{0xFF}}) {
    fake.stuck_miso.reset();
    connect();
    fake.stuck_miso = level;
    Bytes buffer(16);
    const Call calls[] = {
        {"write", [&] { return write(pattern(10), 20000).error; }},
        {"try_write", [&] { return socket.try_write(buffer.data(), 16).error; }},
        {"read", [&] { return socket.read(buffer.data(), 16).error(); }},
        {"available", [&] { return socket.available().error(); }},
        {"flush", [&] { return socket.flush(20000).error(); }},
        {"wait_available", [&] { return socket.wait_available(20000).error(); }},
        {"disconnect", [&] { return socket.disconnect(20000).error(); }},
        {"connect", [&] { return socket.connect(server, 20000).error(); }},
        {"listen", [&] { return socket.listen().error(); }},
        {"accept", [&] { return socket.accept(20000).error(); }},
        {"open", [&] { return socket.open(50000).error(); }},
    };
    for (const Call& call : calls) {
      const auto took = us_of([&] { EXPECT_NE(call.make(), Error::none) << call.name; });
      EXPECT_LE(took, 2 * 101500u) << call.name;
    }
  }
}

class BrokenDmaTest : public TcpSocketTest {};
INSTANTIATE_TEST_SUITE_P(OnItsBus, BrokenDmaTest, testing::Values(BusKind::dma), bus_name);

// Break the nth DMA for n = 0, 1, 2 ... until a run ends unbroken: each break is reported, and doing it again goes on
// where the break was.
TEST_P(BrokenDmaTest, GoesOnAfterIt) {
  for (unsigned n = 0;; ++n) {
    connect();
    const auto sent_before = fake.sent_bytes(0).size();
    fake.hanging_dma = fake.dma_count() + n;
    int broken = 0;
    const Bytes data = pattern(3000);
    std::size_t done = 0;
    while (done < data.size()) {
      const Progress progress = socket.write(data.data() + done, data.size() - done, 50000);
      done += progress.count;
      if (progress) continue;
      ASSERT_EQ(progress.error, Error::bus_failed);
      ++broken;
    }
    fake.receive(0, pattern(1500));
    Bytes got(1500);
    std::size_t read = 0;
    while (read < got.size()) {
      const auto result =
          socket.read(got.data() + read, static_cast<std::uint16_t>(std::min<std::size_t>(700, got.size() - read)));
      if (!result) {
        ASSERT_EQ(result.error(), Error::bus_failed);
        ++broken;
      } else {
        read += result.value();
      }
    }
    const Bytes all = fake.sent_bytes(0);
    EXPECT_EQ(Bytes(all.begin() + static_cast<std::ptrdiff_t>(sent_before), all.end()), data);
    EXPECT_EQ(got, pattern(1500));
    if (broken == 0) {
      EXPECT_EQ(n, 6u);  // three pieces out, three in
      break;
    }
    ASSERT_EQ(broken, 1);
  }
}

TEST_P(TcpSocketTest, KeepsItsDeadlinesAcrossTheWrapOfTheClock) {
  fake.acknowledges = false;
  connect();
  fake.set_now_us(0xFFFFF000);
  Progress progress{};
  const auto took = us_of([&] { progress = write(pattern(3000), 20000); });
  EXPECT_EQ(progress.error, Error::space_timeout);
  EXPECT_THAT(took, AllOf(Ge(20000u), Le(25000u)));
}

}  // namespace
}  // namespace wizloop::test
