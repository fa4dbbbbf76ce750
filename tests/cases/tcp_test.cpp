// Cases about connections: opening, closing, timeouts and windows.
#include <array>

#include "tests/cases/case_test.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::ElementsAre;
using testing::IsEmpty;
using wire::TcpHeader;

class TcpCaseTest : public CaseTest {
 protected:
  bool sent_flag(std::uint8_t flag) const {
    return std::ranges::any_of(board.sent, [flag](const SentFrame& frame) { return frame.tcp().has(flag); });
  }
  // How long a write of that many bytes is held up if it waits for space.
  Duration blocked_until_free(std::uint16_t wanted) {
    const Instant from = board.now();
    while (free_space(0) < wanted && board.status(0) == sn_sr::ESTABLISHED) board.advance(1ms);
    return board.now() - from;
  }
};

// B03 ----------------------------------------------------------------------------------------------------------------

class B03_WriteBlocksAfterTheCableIsPulled : public TcpCaseTest {
 protected:
  // 100 bytes every 100 ms to a peer that has gone silent, as long as they fit; how many did.
  int write_while_it_fits() {
    int writes = 0;
    while (free_space(0) >= 100) {
      send(0, Octets(100, 1));
      board.advance(99ms);
      ++writes;
    }
    return writes;
  }
  void SetUp() override { tcp.establish(); }
};

TEST_F(B03_WriteBlocksAfterTheCableIsPulled, WriteThatWaitsForSpaceHangsUntilTheChipGivesUp) {
  EXPECT_EQ(write_while_it_fits(), 20);
  EXPECT_EQ(free_space(0), 48);
  const Instant given_up = board.sent[0].at + 31'800ms;  // of the first SEND that nobody acknowledged
  const Duration left = given_up - board.now();
  const Duration blocked = blocked_until_free(100);
  EXPECT_GE(blocked, left);
  EXPECT_LE(blocked, left + 1ms);  // it looks once a millisecond
  EXPECT_EQ(blocked / 1s, 29);     // 31.8 s less the two seconds of writes
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(B03_WriteBlocksAfterTheCableIsPulled, CuredLooksAtTheSpaceAndLearnsOfTheTimeout) {
  EXPECT_EQ(write_while_it_fits(), 20);
  EXPECT_EQ(free_space(0), 48);
  const Instant first_unacknowledged = board.sent[0].at;
  board.advance(first_unacknowledged + 31'800ms - board.now() - 1us);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  EXPECT_EQ(board.interrupts(0) & sn_ir::TIMEOUT, 0);
  board.advance(2us);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0) & sn_ir::TIMEOUT, sn_ir::TIMEOUT);
  EXPECT_THAT(broken(), IsEmpty());
}

// B04 ----------------------------------------------------------------------------------------------------------------

class B04_StopWithoutABound : public TcpCaseTest {
 protected:
  void SetUp() override {
    tcp.establish();
    board.command(0, sn_cr::DISCON);
    EXPECT_EQ(board.status(0), sn_sr::FIN_WAIT);
  }
};

TEST_F(B04_StopWithoutABound, SilentPeerHoldsTheWaitForTheWholeTimeout) {
  board.advance(1ms);
  const Instant fin = board.sent[0].at;
  while (board.status(0) != sn_sr::CLOSED) board.advance(1ms);
  EXPECT_EQ((board.now() - fin) / 1ms, 31'800);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  EXPECT_EQ(board.sent.size(), 9U);  // the FIN and RCR retries
}

TEST_F(B04_StopWithoutABound, CuredForcesItWithCloseWhenItsOwnTimeIsUp) {
  const Instant deadline = board.now() + 1s;
  while (board.status(0) != sn_sr::CLOSED && board.now() < deadline) board.advance(10ms);
  EXPECT_EQ(board.status(0), sn_sr::FIN_WAIT);
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(broken(), IsEmpty());
}

// B16 ----------------------------------------------------------------------------------------------------------------

class B16_DataLeftUnreadAfterTheFin : public TcpCaseTest {
 protected:
  void SetUp() override {
    tcp.establish();
    board.arrive_tcp(tcp.header(TcpHeader::ack | TcpHeader::psh | TcpHeader::fin, tcp.iss + 1), counting(300));
    board.advance(1ms);
    ASSERT_EQ(board.status(0), sn_sr::CLOSE_WAIT);
    ASSERT_EQ(waiting(0), 300);
    ASSERT_EQ(board.interrupts(0), sn_ir::RECV | sn_ir::DISCON);
    board.set8(0, socket::Sn_IR, 0xFF);
  }
};

TEST_F(B16_DataLeftUnreadAfterTheFin, DriverThatReadsInEstablishedAloneGetsNothing) {
  Octets got;
  if (board.status(0) == sn_sr::ESTABLISHED) got = receive(0, waiting(0));
  board.command(0, sn_cr::DISCON);
  EXPECT_THAT(got, IsEmpty());
  EXPECT_EQ(waiting(0), 300);  // all of the reply, never looked at
}

TEST_F(B16_DataLeftUnreadAfterTheFin, CuredReadsToTheEndAndThenDisconnects) {
  EXPECT_EQ(receive(0, 300), counting(300));
  EXPECT_EQ(waiting(0), 0);
  board.sent.clear();
  board.command(0, sn_cr::DISCON);
  EXPECT_EQ(board.status(0), sn_sr::LAST_ACK);
  board.advance(1ms);
  tcp.seq += 301;
  tcp.acknowledge(tcp.iss + 2);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(broken(), IsEmpty());
}

// B18 ----------------------------------------------------------------------------------------------------------------

class B18_CloseWithoutDisconnect : public TcpCaseTest {
 protected:
  void SetUp() override { tcp.establish(); }
};

TEST_F(B18_CloseWithoutDisconnect, LeavesThePeerWithHalfAConnection) {
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(seen(Rule::close_without_disconnect), ElementsAre("S0 Sn_CR = 0x10"));
  board.advance(60s);
  EXPECT_THAT(board.sent, IsEmpty());
  tcp.data({1});  // only when the peer speaks does it hear that nobody is there
  board.advance(1ms);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_TRUE(sent_flag(TcpHeader::rst));
}

TEST_F(B18_CloseWithoutDisconnect, CuredSaysGoodbye) {
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_TRUE(sent_flag(TcpHeader::fin));
  EXPECT_THAT(broken(), IsEmpty());
}

// B19 ----------------------------------------------------------------------------------------------------------------

class B19_WaitForAnEventAlreadyConsumed : public TcpCaseTest {
 protected:
  void SetUp() override {
    tcp.establish();
    tcp.fin();
    board.advance(1ms);
    ASSERT_EQ(board.interrupts(0), sn_ir::DISCON);
    board.set8(0, socket::Sn_IR, 0xFF);
    board.command(0, sn_cr::DISCON);
    ASSERT_EQ(board.status(0), sn_sr::LAST_ACK);
    board.advance(1ms);
    tcp.acknowledge(tcp.iss + 2);
    board.advance(1ms);
  }
};

TEST_F(B19_WaitForAnEventAlreadyConsumed, BitDoesNotComeASecondTime) {
  board.advance(1000s);
  EXPECT_EQ(board.interrupts(0) & sn_ir::DISCON, 0);
}

TEST_F(B19_WaitForAnEventAlreadyConsumed, CuredLooksAtTheState) {
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(broken(), IsEmpty());
}

// B20 ----------------------------------------------------------------------------------------------------------------

class B20_AcceptMissesAHastyClient : public TcpCaseTest {
 protected:
  void SetUp() override {
    tcp.listen();
    tcp.syn();  // and all the rest before firmware looks again
    board.advance(1ms);
    tcp.iss = board.sent.back().tcp().sequence;
    tcp.acknowledge(tcp.iss + 1);
    tcp.data(counting(20));
    board.advance(1ms);
    tcp.fin();
    board.advance(1ms);
  }
};

TEST_F(B20_AcceptMissesAHastyClient, LoopThatWaitsForEstablishedSpins) {
  const Instant deadline = board.now() + 60s;
  bool accepted = false;
  while (!accepted && board.now() < deadline) {
    accepted = board.status(0) == sn_sr::ESTABLISHED;
    board.advance(10ms);
  }
  EXPECT_FALSE(accepted);
  EXPECT_EQ(board.status(0), sn_sr::CLOSE_WAIT);
}

TEST_F(B20_AcceptMissesAHastyClient, CuredTakesCloseWaitForAConnection) {
  EXPECT_EQ(board.status(0), sn_sr::CLOSE_WAIT);
  EXPECT_EQ(receive(0, waiting(0)), counting(20));
  board.sent.clear();
  board.command(0, sn_cr::DISCON);
  board.advance(1ms);
  tcp.acknowledge(tcp.iss + 2);
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(broken(), IsEmpty());
}

// B23 ----------------------------------------------------------------------------------------------------------------

class B23_SecondClientRefused : public TcpCaseTest {
 protected:
  void listen(int n) {
    board.set8(n, socket::Sn_MR, sn_mr::TCP);
    board.set16(n, socket::Sn_PORT, 80);
    board.command(n, sn_cr::OPEN);
    board.command(n, sn_cr::LISTEN);
  }
  // The flags of what the chip answers to a SYN from that port; a SYN/ACK is acknowledged.
  std::uint8_t client(std::uint16_t port) {
    board.sent.clear();
    TcpHeader header;
    header.source_port = port;
    header.destination_port = 80;
    header.sequence = 1000;
    header.flags = TcpHeader::syn;
    header.window = 8192;
    board.arrive_tcp(header);
    board.advance(500us);
    if (board.sent.size() != 1) return 0;
    const TcpHeader answer = board.sent[0].tcp();
    EXPECT_EQ(answer.destination_port, port);
    if (answer.has(TcpHeader::syn)) {
      header.sequence = 1001;
      header.acknowledgment = answer.sequence + 1;
      header.flags = TcpHeader::ack;
      board.arrive_tcp(header);
    }
    board.advance(500us);
    return answer.flags;
  }
};

TEST_F(B23_SecondClientRefused, OneListenerServesOneClient) {
  listen(0);
  EXPECT_EQ(client(40001), TcpHeader::syn | TcpHeader::ack);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  EXPECT_EQ(client(40002), TcpHeader::rst | TcpHeader::ack);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
}

// A driver that opens the next listener only once it has noticed the first client: how long SYNs are refused meanwhile.
TEST_F(B23_SecondClientRefused, GapUntilTheNextListenerRefusesClients) {
  listen(0);
  client(40001);
  Instant refused_last{};
  for (std::uint16_t port = 40002; port < 40007; ++port) {  // one a millisecond
    EXPECT_EQ(client(port), TcpHeader::rst | TcpHeader::ack) << port;
    refused_last = board.sent[0].at;
  }
  listen(1);
  EXPECT_EQ(client(40007), TcpHeader::syn | TcpHeader::ack);
  EXPECT_EQ(board.status(1), sn_sr::ESTABLISHED);
  // From the SYN/ACK of the one to the next: 1 ms apart, and a microsecond for OPEN and LISTEN.
  EXPECT_EQ((board.sent[0].at - refused_last) / 1us, 1001 + 5);
}

TEST_F(B23_SecondClientRefused, CuredKeepsAListenerInReserve) {
  listen(0);
  listen(1);
  EXPECT_EQ(client(40001), TcpHeader::syn | TcpHeader::ack);
  EXPECT_EQ(client(40002), TcpHeader::syn | TcpHeader::ack);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  EXPECT_EQ(board.status(1), sn_sr::ESTABLISHED);
  EXPECT_EQ(board.get16(0, socket::Sn_DPORT), 40001);
  EXPECT_EQ(board.get16(1, socket::Sn_DPORT), 40002);
  EXPECT_THAT(broken(), IsEmpty());
}

// B36 ----------------------------------------------------------------------------------------------------------------

class B36_ReplyThatNeverFitsAtOnce : public TcpCaseTest {
 protected:
  static constexpr std::size_t reply_bytes = 7362;
  static constexpr int clients = 3;

  // One of three browsers: acknowledges what it has got when it is asked to.
  struct Client {
    std::uint16_t port = 0;
    std::uint32_t next = 0;  // the sequence number that it wants next
    Octets got;
  };

  void SetUp() override {
    for (int n = 0; n < clients; ++n) {
      board.set8(n, socket::Sn_MR, sn_mr::TCP);
      board.set16(n, socket::Sn_PORT, 80);
      board.command(n, sn_cr::OPEN);
      board.command(n, sn_cr::LISTEN);
      Client& client = client_[static_cast<std::size_t>(n)];
      client.port = static_cast<std::uint16_t>(40001 + n);
      TcpHeader syn = segment(client, TcpHeader::syn);
      syn.sequence = 1000;
      syn.mss = 1460;
      board.arrive_tcp(syn);
      board.advance(1ms);
      client.next = board.sent.back().tcp().sequence + 1;
      board.arrive_tcp(segment(client, TcpHeader::ack));
      board.advance(1ms);
      ASSERT_EQ(board.status(n), sn_sr::ESTABLISHED);
      board.set8(n, socket::Sn_IR, 0xFF);
    }
    board.sent.clear();
  }
  static TcpHeader segment(const Client& client, std::uint8_t flags) {
    TcpHeader header;
    header.source_port = client.port;
    header.destination_port = 80;
    header.sequence = 1001;
    header.acknowledgment = client.next;
    header.flags = flags;
    header.window = 8192;
    return header;
  }
  // What came out goes to its clients; the third acknowledges in each tenth round alone.
  void deliver(int round) {
    for (const SentFrame& frame : board.sent) {
      Client& client = client_[frame.tcp().destination_port - 40001U];
      if (frame.tcp().sequence != client.next) continue;  // sent again
      const Bytes payload = frame.tcp_payload();
      client.got.insert(client.got.end(), payload.begin(), payload.end());
      client.next += static_cast<std::uint32_t>(payload.size());
    }
    board.sent.clear();
    for (int n = 0; n < clients; ++n) {
      if (n < 2 || round % 10 == 0) board.arrive_tcp(segment(client_[static_cast<std::size_t>(n)], TcpHeader::ack));
    }
    board.advance(1ms);
  }

  std::array<Client, clients> client_;
};

TEST_F(B36_ReplyThatNeverFitsAtOnce, SendOfAllOrNothingSendsNothing) {
  for (int round = 0; round < 100; ++round) {
    for (int n = 0; n < clients; ++n) {
      if (free_space(n) >= reply_bytes) board.send(n, counting(reply_bytes));
    }
    deliver(round);
  }
  for (const Client& client : client_) EXPECT_THAT(client.got, IsEmpty());
  EXPECT_EQ(free_space(0), 2048);
}

TEST_F(B36_ReplyThatNeverFitsAtOnce, CuredSendsWhatFitsAndServesEachInTurn) {
  const Octets reply = counting(reply_bytes);
  std::array<std::size_t, clients> sent{};
  for (int round = 0; round < 100; ++round) {
    for (int n = 0; n < clients; ++n) {
      std::size_t& done = sent[static_cast<std::size_t>(n)];
      const std::size_t piece = std::min<std::size_t>(reply_bytes - done, free_space(n));
      if (piece == 0) continue;
      const auto from = reply.begin() + static_cast<std::ptrdiff_t>(done);
      send(n, Octets(from, from + static_cast<std::ptrdiff_t>(piece)));
      done += piece;
    }
    deliver(round);
  }
  for (const Client& client : client_) EXPECT_EQ(client.got, reply) << client.port;
  EXPECT_THAT(broken(), IsEmpty());
}

// B45 ----------------------------------------------------------------------------------------------------------------

class B45_KeepAliveBeforeAnyData : public TcpCaseTest {
 protected:
  void establish_with_keep_alive() {
    tcp.establish();
    board.set8(0, socket::Sn_KPALVTR, 2);  // times five seconds
    ASSERT_EQ(board.status(0), sn_sr::ESTABLISHED);
  }
};

TEST_F(B45_KeepAliveBeforeAnyData, WithoutDataADeadPeerIsNeverNoticed) {
  establish_with_keep_alive();
  board.advance(3600s);
  EXPECT_THAT(board.sent, IsEmpty());
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  EXPECT_EQ(board.interrupts(0), 0);
}

TEST_F(B45_KeepAliveBeforeAnyData, CuredSendsAByteFirstAndIsToldAfterTheRetries) {
  establish_with_keep_alive();
  send(0, {1});
  tcp.acknowledge(tcp.iss + 2);
  const Instant heard = board.now();
  board.sent.clear();
  board.advance(9'999ms);
  EXPECT_THAT(board.sent, IsEmpty());
  board.advance(2ms);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_EQ((board.sent[0].at - heard) / 1ms, 10'000);
  EXPECT_EQ(board.sent[0].tcp().sequence, tcp.iss + 1);  // the byte before the next one
  board.advance(32s);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(broken(), IsEmpty());
}

// B46 ----------------------------------------------------------------------------------------------------------------

class B46_PeerStopsReading : public TcpCaseTest {
 protected:
  // 2048 bytes that the peer takes, its window then being shut; then 100 more. The peer answers each probe.
  void SetUp() override {
    tcp.establish();
    send(0, Octets(2048, 1));
    tcp.window = 0;
    tcp.acknowledge(tcp.iss + 1 + 2048);
    board.advance(1ms);
    board.sent.clear();
    board.send(0, Octets(100, 2));
  }
  void answer_probes_for(Duration duration) {
    const Instant end = board.now() + duration;
    while (board.now() < end) {
      board.advance(10ms);
      if (board.sent.empty()) continue;
      board.sent.clear();
      tcp.acknowledge(tcp.iss + 1 + 2048);
    }
  }
};

TEST_F(B46_PeerStopsReading, SendNeverEndsWhileThePeerAnswers) {
  answer_probes_for(120s);
  EXPECT_EQ(free_space(0), 2048 - 100);
  EXPECT_EQ(board.interrupts(0), 0);
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
}

TEST_F(B46_PeerStopsReading, WhetherTheChipGivesUpIsASwitch) {
  TestBoard limited{TestBoard::with("chip.quirk.zero_window_probe", "limited")};
  limited.configure();
  TestConnection connection{limited};
  connection.window = 0;
  connection.establish();
  limited.send(0, Octets(100, 2));
  for (int i = 0; i < 12'000 && limited.status(0) == sn_sr::ESTABLISHED; ++i) {
    limited.advance(10ms);
    connection.acknowledge(connection.iss + 1);
  }
  EXPECT_EQ(limited.status(0), sn_sr::CLOSED);
  EXPECT_EQ(limited.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(B46_PeerStopsReading, OpenWindowLetsItGo) {
  answer_probes_for(5s);
  tcp.window = 8192;
  tcp.acknowledge(tcp.iss + 1 + 2048);
  board.advance(1ms);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_EQ(board.sent[0].tcp_payload().size(), 100U);
}

TEST_F(B46_PeerStopsReading, CuredHasALimitOfItsOwn) {
  const Instant deadline = board.now() + 10s;
  while (board.interrupts(0) == 0 && board.now() < deadline) answer_probes_for(100ms);
  EXPECT_EQ(board.interrupts(0), 0);
  board.command(0, sn_cr::DISCON);
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(broken(), IsEmpty());
}

// B52 ----------------------------------------------------------------------------------------------------------------

class B52_ConnectTakesLongToFail : public TcpCaseTest {
 protected:
  // From the first frame of this try until the socket is closed again.
  Duration time_to_fail(bool arp_answered) {
    tcp.connect();
    board.advance(100us);
    if (arp_answered) {
      board.sent.clear();
      board.answer_arp();
      board.advance(100us);
    }
    const Instant from = board.sent.at(0).at;
    while (board.status(0) != sn_sr::CLOSED) board.advance(100us);
    return board.now() - from;
  }
  void set_rcr(std::uint8_t rcr) { board.write(0, common::RCR, {rcr}); }
};

TEST_F(B52_ConnectTakesLongToFail, NobodyHasTheAddress) {
  EXPECT_EQ(time_to_fail(false) / 1ms, 1800);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  EXPECT_EQ(board.sent.size(), 9U);
}

TEST_F(B52_ConnectTakesLongToFail, PeerDropsEachSyn) {
  EXPECT_EQ(time_to_fail(true) / 1ms, 31'800);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
}

TEST_F(B52_ConnectTakesLongToFail, FewerRetriesFailSooner) {
  set_rcr(5);
  EXPECT_EQ(time_to_fail(true) / 1ms, 12'600);
  board.set8(0, socket::Sn_IR, 0xFF);
  set_rcr(2);
  EXPECT_EQ(time_to_fail(true) / 1ms, 1400);
  EXPECT_EQ(board.interrupts(0), sn_ir::TIMEOUT);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(B52_ConnectTakesLongToFail, RefusalIsKnownAtOnce) {
  tcp.connect();
  board.advance(100us);
  board.answer_arp();
  board.advance(100us);
  const std::uint32_t iss = board.sent.back().tcp().sequence;
  board.arrive_tcp(tcp.header(TcpHeader::rst | TcpHeader::ack, iss + 1));
  board.advance(10us);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_EQ(board.interrupts(0) & sn_ir::TIMEOUT, 0);
}

// B56 ----------------------------------------------------------------------------------------------------------------

class B56_OrderOfTheClosingStates : public TcpCaseTest {
 protected:
  void SetUp() override { tcp.establish(); }
  void disconnect() {
    board.command(0, sn_cr::DISCON);
    note();
    board.advance(1ms);
  }
  void note() {
    const std::uint8_t status = board.status(0);
    if (states.empty() || states.back() != status) states.push_back(status);
  }
  void step() {
    board.advance(1ms);
    note();
  }
  Octets states = {sn_sr::ESTABLISHED};
};

TEST_F(B56_OrderOfTheClosingStates, Passive) {
  tcp.fin();
  step();
  disconnect();
  tcp.acknowledge(tcp.iss + 2);
  step();
  EXPECT_THAT(states, ElementsAre(0x17, 0x1C, 0x1D, 0x00));
}

TEST_F(B56_OrderOfTheClosingStates, Active) {
  disconnect();
  tcp.acknowledge(tcp.iss + 2);
  step();
  tcp.fin();
  step();
  board.advance(300ms);
  note();
  EXPECT_THAT(states, ElementsAre(0x17, 0x18, 0x1B, 0x00));
}

TEST_F(B56_OrderOfTheClosingStates, BothFinsCross) {
  disconnect();
  board.arrive_tcp(tcp.header(TcpHeader::ack | TcpHeader::fin, tcp.iss + 1));
  step();
  ++tcp.seq;
  tcp.acknowledge(tcp.iss + 2);
  step();
  board.advance(300ms);
  note();
  EXPECT_THAT(states, ElementsAre(0x17, 0x18, 0x1A, 0x1B, 0x00));
}

TEST_F(B56_OrderOfTheClosingStates, CloseEndsEachAtOnce) {
  disconnect();
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  tcp.listen();
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  tcp.establish();
  tcp.fin();
  board.advance(1ms);
  ASSERT_EQ(board.status(0), sn_sr::CLOSE_WAIT);
  board.command(0, sn_cr::CLOSE);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  EXPECT_THAT(broken(), IsEmpty());
}

// B58 ----------------------------------------------------------------------------------------------------------------

class B58_StaleInterruptOfTheLastConnection : public TcpCaseTest {
 protected:
  void SetUp() override {
    tcp.establish();
    tcp.fin();
    board.advance(1ms);
    board.command(0, sn_cr::CLOSE);  // Sn_IR still holds DISCON
  }
  void connect() {
    tcp.connect();
    board.advance(100us);
    board.answer_arp();
    board.advance(1ms);
    TcpHeader answer = tcp.header(TcpHeader::syn | TcpHeader::ack, board.sent.back().tcp().sequence + 1);
    board.arrive_tcp(answer);
    board.advance(1ms);
    ASSERT_EQ(board.status(0), sn_sr::ESTABLISHED);
  }
};

TEST_F(B58_StaleInterruptOfTheLastConnection, MakesTheNextConnectionLookClosed) {
  connect();
  EXPECT_EQ(board.interrupts(0), sn_ir::CON | sn_ir::DISCON);
}

TEST_F(B58_StaleInterruptOfTheLastConnection, CuredClearsItFirst) {
  board.set8(0, socket::Sn_IR, 0xFF);
  connect();
  EXPECT_EQ(board.interrupts(0), sn_ir::CON);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(B58_StaleInterruptOfTheLastConnection, AChipWhoseOpenClearsItNeedsNoCure) {
  TestBoard cleared{TestBoard::with("chip.quirk.sn_ir_at_open", "cleared")};
  cleared.configure();
  TestConnection connection{cleared};
  connection.establish();
  connection.fin();
  cleared.advance(1ms);
  cleared.command(0, sn_cr::CLOSE);
  ASSERT_NE(cleared.interrupts(0) & sn_ir::DISCON, 0);
  connection.connect();
  EXPECT_EQ(cleared.interrupts(0), 0);
}

// B70 ----------------------------------------------------------------------------------------------------------------

class B70_FailedConnectLeavesAMiddleState : public TcpCaseTest {};

TEST_F(B70_FailedConnectLeavesAMiddleState, ClosedPortEndsInClosed) {
  tcp.connect();
  board.advance(100us);
  board.answer_arp();
  board.advance(1ms);
  EXPECT_EQ(board.status(0), sn_sr::SYNSENT);
  board.arrive_tcp(tcp.header(TcpHeader::rst | TcpHeader::ack, board.sent.back().tcp().sequence + 1));
  board.advance(10us);
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
}

TEST_F(B70_FailedConnectLeavesAMiddleState, ResetForgetsTheConnectionAndTheNextRunIsClean) {
  tcp.establish();
  board.write(0, common::MR, {mr::RST});
  EXPECT_EQ(board.status(0), sn_sr::CLOSED);
  board.configure();
  tcp.data({1});  // what the peer still sends to the old connection is refused
  board.advance(1ms);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_TRUE(sent_flag(TcpHeader::rst));
  board.sent.clear();
  tcp.seq = TestConnection::peer_iss + 1;
  tcp.establish();
  EXPECT_EQ(board.status(0), sn_sr::ESTABLISHED);
  tcp.data(counting(10));
  board.advance(1ms);
  EXPECT_EQ(receive(0, waiting(0)), counting(10));
  EXPECT_THAT(broken(), IsEmpty());
}

}  // namespace
}  // namespace wizloop::test
