// Cases about datagrams, buffer sizes, several sockets, and identification by addresses.
#include "tests/cases/case_test.hpp"

namespace wizloop::test {
namespace {

using namespace chip;
using testing::Each;
using testing::ElementsAre;
using testing::IsEmpty;

// B06 ----------------------------------------------------------------------------------------------------------------

class B06_TwoDatagramsReadAsOne : public CaseTest {
 protected:
  static constexpr wire::Ipv4Address first_peer = wire::ipv4(10, 0, 0, 2);
  static constexpr wire::Ipv4Address second_peer = wire::ipv4(10, 0, 0, 3);

  void SetUp() override {
    open_udp(0, 5000);
    datagram(first_peer, 1111, 5000, {'h', 'e', 'l', 'l', 'o'});
    datagram(second_peer, 2222, 5000, {'s', 'e', 'c', 'o', 'n', 'd', '!'});
    ASSERT_EQ(waiting(0), 28);
  }
};

TEST_F(B06_TwoDatagramsReadAsOne, ReadingAllThatWaitsMixesBoth) {
  const Octets all = receive(0, waiting(0));
  const Octets payload(all.begin() + 8, all.end());
  EXPECT_EQ(payload.size(), 20U);  // 5 + 8 of a header + 7
  EXPECT_EQ(waiting(0), 0);        // and the second sender is gone
}

TEST_F(B06_TwoDatagramsReadAsOne, CuredReadsRecordByRecord) {
  EXPECT_EQ(receive(0, 8 + 5), udp_record(first_peer, 1111, {'h', 'e', 'l', 'l', 'o'}));
  EXPECT_EQ(waiting(0), 15);
  EXPECT_EQ(receive(0, 8 + 7), udp_record(second_peer, 2222, {'s', 'e', 'c', 'o', 'n', 'd', '!'}));
  EXPECT_EQ(waiting(0), 0);
  EXPECT_THAT(broken(), IsEmpty());
}

// B08 ----------------------------------------------------------------------------------------------------------------

class B08_OpenBeforeEachSend : public CaseTest {};

TEST_F(B08_OpenBeforeEachSend, SecondOpenOfALifeIsFound) {
  for (int i = 0; i < 3; ++i) {
    open_udp(0, 5000);
    send(0, {1});
    open_udp(1, 5001);
    send(1, {2});
  }
  EXPECT_EQ(times(Rule::open_on_open_socket), 4U);
  EXPECT_THAT(seen(Rule::open_on_open_socket),
              ElementsAre("S0 Sn_CR = 0x01 while Sn_SR = 0x22", "S1 Sn_CR = 0x01 while Sn_SR = 0x22"));
}

TEST_F(B08_OpenBeforeEachSend, SendToNobodyIsFoundBeforeItIsSent) {
  open_udp(0, 5000);
  board.set32(0, socket::Sn_DIPR, 0);
  board.send(0, {1});
  EXPECT_THAT(seen(Rule::destination_missing), ElementsAre("S0 Sn_DIPR = 0x00000000, Sn_DPORT = 6000"));
  EXPECT_THAT(board.sent, IsEmpty());
}

TEST_F(B08_OpenBeforeEachSend, CuredOpensOnce) {
  open_udp(0, 5000);
  open_udp(1, 5001);
  for (std::uint8_t i = 0; i < 3; ++i) {
    send(0, {i});
    EXPECT_THAT(sent_udp(), ElementsAre(i));
    send(1, {i, i});
    EXPECT_THAT(sent_udp(), ElementsAre(i, i));
  }
  EXPECT_THAT(broken(), IsEmpty());
}

// B10 ----------------------------------------------------------------------------------------------------------------

class B10_BufferSizeAsACode : public CaseTest {
 protected:
  void SetUp() override {
    for (int n = 1; n < socket_count; ++n) {
      board.set8(n, socket::Sn_RXBUF_SIZE, 0);
      board.set8(n, socket::Sn_TXBUF_SIZE, 0);
    }
  }
};

TEST_F(B10_BufferSizeAsACode, CodeOfTwoToThePowerGivesAnotherSize) {
  board.set8(0, socket::Sn_TXBUF_SIZE, 2);  // log2 of 4
  open_udp(0, 5000);
  EXPECT_EQ(free_space(0), 2048);
}

TEST_F(B10_BufferSizeAsACode, CodeOfEightIsNoSizeAtAll) {
  board.set8(0, socket::Sn_TXBUF_SIZE, 3);
  EXPECT_THAT(seen(Rule::illegal_buffer_size), ElementsAre("S0 Sn_TXBUF_SIZE = 3"));
}

TEST_F(B10_BufferSizeAsACode, CuredWritesKibibytesAndReadsThemBack) {
  for (const std::uint8_t kib : Octets{0, 1, 2, 4, 8, 16}) {
    board.set8(0, socket::Sn_RXBUF_SIZE, kib);
    board.set8(0, socket::Sn_TXBUF_SIZE, kib);
    EXPECT_EQ(board.get8(0, socket::Sn_RXBUF_SIZE), kib);
    EXPECT_EQ(board.get8(0, socket::Sn_TXBUF_SIZE), kib);
    EXPECT_EQ(free_space(0), kib * 1024);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

// B11 ----------------------------------------------------------------------------------------------------------------

class B11_BuffersTakenForSmaller : public CaseTest {};

TEST_F(B11_BuffersTakenForSmaller, DriverThatBelievesInOneKibibyteNeedsTwoSends) {
  tcp.establish();
  const Octets data = counting(2048);
  int sends = 0;
  for (std::size_t at = 0; at < data.size(); at += 1024, ++sends) {
    board.send(0, Octets(data.begin() + static_cast<std::ptrdiff_t>(at),
                         data.begin() + static_cast<std::ptrdiff_t>(at) + 1024));
    EXPECT_EQ(free_space(0), sends == 0 ? 1024 : 0);  // the configured 2048 less the fill: half of it lies idle
    finish_send(0);
  }
  EXPECT_EQ(sends, 2);
}

TEST_F(B11_BuffersTakenForSmaller, DefaultBufferTakes2048BytesAtOnce) {
  EXPECT_EQ(board.get8(0, socket::Sn_TXBUF_SIZE), 2);
  tcp.establish();
  EXPECT_EQ(free_space(0), 0x0800);
  board.send(0, counting(2048));
  EXPECT_EQ(free_space(0), 0);
  finish_send(0);
  ASSERT_EQ(board.sent.size(), 2U);
  EXPECT_EQ(board.sent[0].tcp_payload().size(), 1460U);
  EXPECT_EQ(board.sent[1].tcp_payload().size(), 588U);
  EXPECT_THAT(broken(), IsEmpty());
}

// B22 ----------------------------------------------------------------------------------------------------------------

class B22_LeaseRenewalLeaksASocket : public CaseTest {
 protected:
  int open_sockets() {
    int open = 0;
    for (int n = 0; n < socket_count; ++n) open += board.status(n) != sn_sr::CLOSED ? 1 : 0;
    return open;
  }
  int free_socket() {
    for (int n = 0; n < socket_count; ++n) {
      if (board.status(n) == sn_sr::CLOSED) return n;
    }
    return -1;
  }
};

TEST_F(B22_LeaseRenewalLeaksASocket, NoSocketIsLeftAfterEightRenewals) {
  int renewals = 0;
  for (; renewals < 10; ++renewals) {
    const int n = free_socket();
    if (n < 0) break;
    open_udp(n, 68);
    send(n, Octets(244, 0));
  }
  EXPECT_EQ(renewals, 8);
  EXPECT_EQ(open_sockets(), 8);
}

TEST_F(B22_LeaseRenewalLeaksASocket, CuredClosesWhatItOpened) {
  const int before = open_sockets();
  for (int renewals = 0; renewals < 10; ++renewals) {
    const int n = free_socket();
    ASSERT_EQ(n, 0);
    open_udp(n, 68);
    send(n, Octets(244, 0));
    board.command(n, sn_cr::CLOSE);
  }
  EXPECT_EQ(open_sockets(), before);
  EXPECT_THAT(broken(), IsEmpty());
}

// B34 ----------------------------------------------------------------------------------------------------------------

class B34_DhcpNeverBinds : public CaseTest {
 protected:
  static constexpr wire::Ipv4Address leased = wire::ipv4(192, 168, 1, 77);
  static constexpr std::uint8_t discover = 1, offer = 2, request = 3, ack = 5;

  void SetUp() override { board.write(0, common::SIPR, {0, 0, 0, 0}); }

  // BOOTP with the option that names the type (RFC 2131, RFC 2132 9.6), as far as it matters here.
  static Octets message(std::uint8_t op, std::uint8_t type) {
    Octets bytes(240);
    bytes[0] = op;
    store32(&bytes[4], 0x12345678);
    if (op == 2) store32(&bytes[16], leased);
    std::ranges::copy(chip_mac, bytes.begin() + 28);
    store32(&bytes[236], 0x63825363);
    for (const std::uint8_t byte : {std::uint8_t{53}, std::uint8_t{1}, type, std::uint8_t{255}}) bytes.push_back(byte);
    return bytes;
  }
  void open_client(std::uint8_t sn_mr) {
    board.set8(0, socket::Sn_MR, sn_mr);
    board.set16(0, socket::Sn_PORT, 68);
    board.set32(0, socket::Sn_DIPR, wire::broadcast_ipv4);
    board.set16(0, socket::Sn_DPORT, 67);
    board.command(0, sn_cr::OPEN);
  }
  // Sends one message; what the server gets: the type, or 0.
  std::uint8_t ask(std::uint8_t type) {
    board.sent.clear();
    send(0, message(1, type));
    if (board.sent.size() != 1) return 0;
    EXPECT_EQ(board.sent[0].ip().source, 0U);
    EXPECT_EQ(board.sent[0].ip().destination, wire::broadcast_ipv4);
    EXPECT_EQ(board.sent[0].ethernet().destination, wire::broadcast_mac);
    EXPECT_EQ(board.sent[0].udp().source_port, 68);
    EXPECT_EQ(board.sent[0].udp().destination_port, 67);
    return board.sent[0].udp_payload()[242];
  }
  // The server's answer, by broadcast; what the client reads of it.
  std::uint8_t answer(std::uint8_t type) {
    board.arrive_udp(67, 68, message(2, type), wire::broadcast_ipv4, wire::broadcast_mac);
    board.advance(1ms);
    const Octets record = receive(0, 8 + 244);
    EXPECT_EQ(load32(&record[8 + 16]), leased);
    return record[8 + 242];
  }
};

TEST_F(B34_DhcpNeverBinds, ModeMaskedAwayRestartsWithoutEnd) {
  for (int restart = 0; restart < 10; ++restart) {
    board.command(0, sn_cr::CLOSE);
    open_client(sn_mr::UDP & 0xF0);  // the protocol is lost
    EXPECT_EQ(board.status(0), sn_sr::CLOSED);
    EXPECT_EQ(ask(discover), 0);
    board.advance(5s);
  }
  EXPECT_THAT(broken(), testing::Contains("illegal-command"));
}

TEST_F(B34_DhcpNeverBinds, CuredBindsWithinFiveSeconds) {
  const Instant start = board.now();
  open_client(sn_mr::UDP);
  EXPECT_EQ(board.status(0), sn_sr::UDP);
  EXPECT_EQ(ask(discover), discover);
  EXPECT_EQ(answer(offer), offer);
  EXPECT_EQ(ask(request), request);
  EXPECT_EQ(answer(ack), ack);
  board.write(0, common::SIPR, {192, 168, 1, 77});
  EXPECT_LT(board.now() - start, 5s);
  EXPECT_EQ(board.read(0, common::SIPR, 4), (Octets{192, 168, 1, 77}));
  board.advance(60s);
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(B34_DhcpNeverBinds, LeaseThatIsNeverWrittenIsFound) {
  open_client(sn_mr::UDP);
  ask(discover);
  answer(offer);
  ask(request);
  answer(ack);
  board.advance(60s);
  EXPECT_THAT(seen(Rule::lease_not_applied), ElementsAre("granted 192.168.1.77, SIPR = 0.0.0.0"));
}

// B50 ----------------------------------------------------------------------------------------------------------------

class B50_SendMacToAWrongAddress : public CaseTest {
 protected:
  void send_by(std::uint8_t command) {
    board.set32(0, socket::Sn_DIPR, peer_ip);
    board.write(TestBoard::registers_of(0), socket::Sn_DHAR, {0x02, 0, 0, 0, 0, 0x99});
    board.write(TestBoard::tx_of(0), 0, {1, 2, 3});
    board.set16(0, socket::Sn_TX_WR, 3);
    board.command(0, command);
    board.advance(100us);
  }
};

TEST_F(B50_SendMacToAWrongAddress, LeavesAsAddressedWithoutArpAndReportsSuccess) {
  open_udp(0, 5000);
  send_by(sn_cr::SEND_MAC);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_FALSE(board.sent[0].is_arp());
  EXPECT_THAT(board.sent[0].ethernet().destination, ElementsAre(0x02, 0, 0, 0, 0, 0x99));
  EXPECT_EQ(board.sent[0].ip().destination, peer_ip);
  EXPECT_THAT(board.sent[0].udp_payload(), ElementsAre(1, 2, 3));
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  EXPECT_EQ(board.get16(0, socket::Sn_TX_RD), 3);
  EXPECT_THAT(broken(), IsEmpty());  // no rule is broken: the chip cannot know
}

TEST_F(B50_SendMacToAWrongAddress, CuredAsksForTheAddress) {
  open_udp(0, 5000);
  send_by(sn_cr::SEND);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_TRUE(board.sent[0].is_arp());
  board.answer_arp();
  board.advance(100us);
  ASSERT_EQ(board.sent.size(), 2U);
  EXPECT_EQ(board.sent[1].ethernet().destination, peer_mac);
  EXPECT_EQ(board.interrupts(0), sn_ir::SENDOK);
  EXPECT_THAT(broken(), IsEmpty());
}

// B54 ----------------------------------------------------------------------------------------------------------------

class B54_BuffersOverCommitted : public CaseTest {};

TEST_F(B54_BuffersOverCommitted, SixteenForOneAndTwoForTheOthersIsFound) {
  board.set8(0, socket::Sn_RXBUF_SIZE, 16);
  open_udp(0, 5000);
  EXPECT_THAT(seen(Rule::buffers_over_committed), ElementsAre("RX total 30 KiB of 16"));
}

TEST_F(B54_BuffersOverCommitted, CuredTakesFromTheOthersFirst) {
  for (int n = 1; n < socket_count; ++n) board.set8(n, socket::Sn_RXBUF_SIZE, 0);
  board.set8(0, socket::Sn_RXBUF_SIZE, 16);
  open_udp(0, 5000);
  EXPECT_THAT(broken(), IsEmpty());
}

// B55 ----------------------------------------------------------------------------------------------------------------

class B55_NoFragments : public CaseTest {
 protected:
  static constexpr std::uint16_t more_fragments = 0x2000;

  void fragment(std::uint8_t protocol, const Octets& piece, std::uint16_t flags_and_offset) {
    board.arrive_ip(protocol, piece, chip_ip, chip_mac, flags_and_offset);
    board.advance(1ms);
  }
};

TEST_F(B55_NoFragments, LargestUnfragmentedPingIsAnswered) {
  board.arrive_ping(1, 1472);
  board.advance(1ms);
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_EQ(board.sent[0].ip_payload().size(), 8U + 1472U);
}

TEST_F(B55_NoFragments, FragmentedPingIsNot) {
  Octets message(8 + 1473, 0xA5);
  wire::IcmpHeader{wire::IcmpHeader::echo_request, 0, 7, 1}.emit(message);
  fragment(wire::protocol_icmp, Octets(message.begin(), message.begin() + 1480), more_fragments);
  fragment(wire::protocol_icmp, Octets(message.begin() + 1480, message.end()), 1480 / 8);
  EXPECT_THAT(board.sent, IsEmpty());
}

TEST_F(B55_NoFragments, FragmentedDatagramIsDropped) {
  open_udp(0, 5000);
  const Octets message = TestBoard::udp_message(1111, 5000, Octets(2000, 1));
  fragment(wire::protocol_udp, Octets(message.begin(), message.begin() + 1480), more_fragments);
  fragment(wire::protocol_udp, Octets(message.begin() + 1480, message.end()), 1480 / 8);
  EXPECT_EQ(waiting(0), 0);
  EXPECT_EQ(board.interrupts(0), 0);
  EXPECT_THAT(board.sent, IsEmpty());  // nor does anybody hear of it
}

TEST_F(B55_NoFragments, LongSendLeavesAsDatagramsOfTheirOwn) {
  open_udp(0, 5000);
  send(0, counting(2000));
  ASSERT_EQ(board.sent.size(), 2U);
  EXPECT_EQ(board.sent[0].udp_payload().size(), 1472U);
  EXPECT_EQ(board.sent[1].udp_payload().size(), 528U);
  EXPECT_EQ(sent_udp(), counting(2000));
  EXPECT_THAT(broken(), IsEmpty());
}

// B65 ----------------------------------------------------------------------------------------------------------------

class B65_SecondFrameOfATickLost : public CaseTest {};

TEST_F(B65_SecondFrameOfATickLost, TenFramesOfOneInstantAreTenRecords) {
  open_udp(0, 5000);
  int total = 0;
  for (std::uint8_t i = 0; i < 10; ++i) {
    board.arrive_udp(1111, 5000, Octets(std::size_t{1} + i, i));
    total += 8 + 1 + i;
  }
  board.advance(10us);
  EXPECT_EQ(waiting(0), total);
  for (std::uint8_t i = 0; i < 10; ++i) {
    EXPECT_EQ(receive(0, std::size_t{9} + i), udp_record(peer_ip, 1111, Octets(std::size_t{1} + i, i)));
  }
  EXPECT_EQ(waiting(0), 0);
}

// B66 ----------------------------------------------------------------------------------------------------------------

class B66_OnlyTheFirstSocketWorks : public CaseTest {
 protected:
  static std::uint16_t port_of(int n) { return static_cast<std::uint16_t>(5000 + n); }
  static Octets data_of(int n) { return counting(100, static_cast<std::uint8_t>(16 * n)); }
  void echo(int n) {
    const Octets record = receive(n, waiting(n));
    ASSERT_EQ(record, udp_record(peer_ip, 1111, data_of(n)));
    send(n, Octets(record.begin() + 8, record.end()));
    EXPECT_EQ(sent_udp(), data_of(n));
  }
};

TEST_F(B66_OnlyTheFirstSocketWorks, EachEchoesAlone) {
  for (int n = 0; n < socket_count; ++n) {
    open_udp(n, port_of(n));
    board.arrive_udp(1111, port_of(n), data_of(n));
    board.advance(20us);
    for (int other = 0; other < socket_count; ++other) {
      EXPECT_EQ(waiting(other), other == n ? 108 : 0);
      EXPECT_EQ(board.status(other), other == n ? sn_sr::UDP : sn_sr::CLOSED);
    }
    echo(n);
    board.command(n, sn_cr::CLOSE);
  }
  EXPECT_THAT(broken(), IsEmpty());
}

TEST_F(B66_OnlyTheFirstSocketWorks, AllEchoTogether) {
  for (int n = 0; n < socket_count; ++n) open_udp(n, port_of(n));
  for (int n = 0; n < socket_count; ++n) {
    board.arrive_udp(1111, port_of(n), data_of(n));
    board.advance(20us);
  }
  for (int n = 0; n < socket_count; ++n) echo(n);
  EXPECT_THAT(broken(), IsEmpty());
}

// B68 ----------------------------------------------------------------------------------------------------------------

class B68_LocalPortNotTheOneChosen : public CaseTest {};

TEST_F(B68_LocalPortNotTheOneChosen, DatagramsComeFromSnPortAndArriveThere) {
  open_udp(0, 68);
  board.set16(0, socket::Sn_DPORT, 67);
  send(0, {1});
  ASSERT_EQ(board.sent.size(), 1U);
  EXPECT_EQ(board.sent[0].udp().source_port, 68);
  EXPECT_EQ(board.sent[0].udp().destination_port, 67);
  board.arrive_udp(67, 68, {2});
  board.advance(10us);
  EXPECT_EQ(waiting(0), 9);
}

TEST_F(B68_LocalPortNotTheOneChosen, EachRunConnectsFromThePortThatItAskedFor) {
  for (const std::uint16_t port : std::initializer_list<std::uint16_t>{49152, 49153, 49152}) {
    board.set8(0, socket::Sn_MR, sn_mr::TCP);
    board.set16(0, socket::Sn_PORT, port);
    board.command(0, sn_cr::OPEN);
    board.set32(0, socket::Sn_DIPR, peer_ip);
    board.set16(0, socket::Sn_DPORT, 80);
    board.command(0, sn_cr::CONNECT);
    board.advance(100us);
    board.answer_arp();
    board.advance(1ms);
    EXPECT_EQ(board.sent.back().tcp().source_port, port);
    board.command(0, sn_cr::CLOSE);
  }
}

}  // namespace
}  // namespace wizloop::test
