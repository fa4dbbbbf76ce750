// The chip model and frames of a script on the one side, ordinary sockets of this machine on the other, without any
// privilege.
#include "sim/realtime/slirp_bridge.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <filesystem>

#include "sim/net/scripted_peer.hpp"
#include "sim/realtime/net_spec.hpp"
#include "sim/wire/dhcp.hpp"
#include "tests/unit/realtime/host_socket.hpp"
#include "tests/unit/realtime/real_board.hpp"

namespace wizloop::realtime {
namespace {

using net::End;
using test::HostSocket;
using test::RealBoard;
using testing::HasSubstr;
using Octets = std::vector<std::uint8_t>;

constexpr std::string_view around_the_board = "slirp:net=192.168.1.0/24,guest=192.168.1.20";
constexpr wire::Ipv4Address gateway = wire::ipv4(192, 168, 1, 2);

Octets pattern(std::size_t bytes) {
  Octets data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i);
  return data;
}

std::size_t open_descriptors() {
  const std::filesystem::directory_iterator all{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class SlirpBoard : public testing::Test {
 protected:
  void plug_in(const std::string& options = {}) {
    auto opened = open_bridge(parse_net(std::string{around_the_board} + options).value(), board.site());
    ASSERT_TRUE(opened) << opened.error().message;
    bridge = std::move(opened).value();
    board.plug_in(*bridge);
  }
  void plug_in_with_forward(std::string_view protocol, std::uint16_t guest_port) {
    port = HostSocket::free_port(protocol == "tcp" ? SOCK_STREAM : SOCK_DGRAM);
    plug_in(fmt::format(",hostfwd={}:{}:{}", protocol, port, guest_port));
  }

  RealBoard board;
  std::unique_ptr<Bridge> bridge;
  std::uint16_t port = 0;
};

TEST_F(SlirpBoard, AConnectionToAForwardedPortReachesTheBoardAndBringsBackEveryByte) {
  plug_in_with_forward("tcp", 5000);
  board.listen(0, 5000);
  HostSocket client = HostSocket::tcp();
  client.connect(port);

  const Octets sent = pattern(60'000);
  Octets received;
  std::size_t taken = 0;
  ASSERT_TRUE(board.run_until([&] {
    taken += client.send(Bytes{sent}.subspan(taken));
    board.echo_tcp(0);
    const Octets more = client.receive();
    received.insert(received.end(), more.begin(), more.end());
    return received.size() >= sent.size();
  })) << received.size();
  EXPECT_EQ(received, sent);
  EXPECT_EQ(bridge->counters().too_long + bridge->counters().host_refused + bridge->counters().bad_fcs, 0U);
}

TEST_F(SlirpBoard, TheBoardConnectsToASocketOfTheHost) {
  plug_in();
  HostSocket listener = HostSocket::tcp();
  const std::uint16_t host_port = listener.bind();
  listener.listen();
  board.connect(0, gateway, host_port);
  HostSocket connection = HostSocket::tcp();
  ASSERT_TRUE(board.run_until([&] { return listener.accept(connection); }));
  ASSERT_TRUE(board.run_until([&] { return board.board.status(0) == chip::sn_sr::ESTABLISHED; }));

  board.board.send(0, {'h', 'e', 'l', 'l', 'o'});
  Octets received;
  ASSERT_TRUE(board.run_until([&] { return !(received = connection.receive()).empty(); }));
  EXPECT_EQ(received, (Octets{'h', 'e', 'l', 'l', 'o'}));

  connection.close();
  EXPECT_TRUE(board.run_until([&] { return board.board.status(0) == chip::sn_sr::CLOSE_WAIT; }));
}

TEST_F(SlirpBoard, AConnectionToAPortWhereNobodyListensIsRefused) {
  plug_in();
  board.connect(0, gateway, HostSocket::free_port());
  EXPECT_TRUE(board.run_until([&] { return board.board.status(0) == chip::sn_sr::CLOSED; }));
}

TEST_F(SlirpBoard, AClientOfAPortWhereTheBoardDoesNotListenIsClosed) {
  plug_in_with_forward("tcp", 5000);
  HostSocket client = HostSocket::tcp();
  client.connect(port);
  EXPECT_TRUE(board.run_until([&] { return client.at_end() || errno == ECONNRESET; }));
}

TEST_F(SlirpBoard, TwoClientsAtOnceHaveAConnectionEach) {
  plug_in_with_forward("tcp", 5000);
  HostSocket clients[] = {HostSocket::tcp(), HostSocket::tcp()};
  for (int i = 0; i < 2; ++i) {
    board.listen(i, 5000);
    clients[i].connect(port);
    ASSERT_TRUE(board.run_until([&] { return board.board.status(i) == chip::sn_sr::ESTABLISHED; })) << i;
  }
  for (int i = 0; i < 2; ++i) clients[i].send(Octets{static_cast<std::uint8_t>(i)});
  for (int i = 0; i < 2; ++i) {
    Octets received;
    ASSERT_TRUE(board.run_until([&] {
      board.echo_tcp(i);
      return !(received = clients[i].receive()).empty();
    })) << i;
    EXPECT_EQ(received, Octets{static_cast<std::uint8_t>(i)});
  }
}

TEST_F(SlirpBoard, DatagramsGoBothWays) {
  plug_in_with_forward("udp", 7);
  board.open_udp(0, 7);
  HostSocket client = HostSocket::udp();
  client.connect(port);
  for (const std::size_t bytes : {1, 512, 1472}) {
    client.send(pattern(bytes));
    Octets received;
    ASSERT_TRUE(board.run_until([&] {
      board.echo_udp(0);
      return !(received = client.receive()).empty();
    })) << bytes;
    EXPECT_EQ(received, pattern(bytes));
  }
}

TEST_F(SlirpBoard, AFasterSenderThanTheCableWaitsInItsSocket) {
  plug_in_with_forward("udp", 7);
  board.open_udp(0, 7);
  HostSocket client = HostSocket::udp();
  client.connect(port);
  constexpr std::uint64_t datagrams = 150;  // as many as the host keeps for a socket
  for (std::uint64_t i = 0; i < datagrams; ++i) client.send(pattern(1000));
  ASSERT_TRUE(board.run_until([&] {
    board.receive(0);
    return bridge->counters().to_board > datagrams / 2;
  })) << bridge->counters().to_board;
  EXPECT_LT(bridge->counters().to_board - board.link.counters(End::host).delivered, 60U);
}

TEST_F(SlirpBoard, AClientThatResetsItsConnectionInMidTransferEndsOnlyThat) {
  plug_in_with_forward("tcp", 5000);
  board.listen(0, 5000);
  HostSocket client = HostSocket::tcp();
  client.connect(port);
  ASSERT_TRUE(board.run_until([&] { return board.board.status(0) == chip::sn_sr::ESTABLISHED; }));
  ASSERT_TRUE(board.run_until([&] { return !client.at_end(); }));
  client.abort();
  for (int i = 0; i < 3; ++i) {  // into a socket that is not there any more: SIGPIPE, if it were not ignored
    board.board.send(0, pattern(1000));
    board.board.advance(5ms);
  }
  EXPECT_TRUE(board.run_until([&] { return board.board.status(0) != chip::sn_sr::ESTABLISHED; }));

  board.board.command(0, chip::sn_cr::CLOSE);
  board.listen(0, 5000);
  HostSocket next = HostSocket::tcp();
  next.connect(port);
  EXPECT_TRUE(board.run_until([&] { return board.board.status(0) == chip::sn_sr::ESTABLISHED; }));
}

TEST_F(SlirpBoard, AnOpenConnectionThatIsIdleCostsNoTurnsOfTheLoop) {
  plug_in_with_forward("tcp", 5000);
  board.listen(0, 5000);
  HostSocket client = HostSocket::tcp();
  client.connect(port);
  ASSERT_TRUE(board.run_until([&] { return board.board.status(0) == chip::sn_sr::ESTABLISHED; }));
  board.run_until([] { return false; }, 20ms);  // until the handshake's last acknowledgment has been sent

  const std::uint64_t frames = bridge->counters().to_board + bridge->counters().to_host;
  const std::uint64_t events = board.queue.events_run();
  std::size_t handlers = 0;
  for (int i = 0; i < 20; ++i) {
    board.io.restart();
    handlers += board.io.poll();
  }
  board.board.advance(100ms);
  EXPECT_EQ(handlers, 0U);
  EXPECT_LE(board.queue.events_run() - events, 4U);
  EXPECT_EQ(bridge->counters().to_board + bridge->counters().to_host, frames);
}

TEST_F(SlirpBoard, LeavesNoDescriptorOpen) {
  const std::size_t before = open_descriptors();
  {
    RealBoard own;
    HostSocket client = HostSocket::tcp();
    port = HostSocket::free_port();
    auto opened = open_bridge(parse_net(fmt::format("{},hostfwd=tcp:{}:5000,hostfwd=udp:{}:7", around_the_board, port,
                                                    HostSocket::free_port(SOCK_DGRAM)))
                                  .value(),
                              own.site());
    ASSERT_TRUE(opened) << opened.error().message;
    own.plug_in(*opened.value());
    own.listen(0, 5000);
    client.connect(port);
    ASSERT_TRUE(own.run_until([&] { return own.board.status(0) == chip::sn_sr::ESTABLISHED; }));
    EXPECT_GE(open_descriptors(), before + 6);  // the loop's, epoll, two forwards, both ends of the connection
  }
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(SlirpBoard, APortThatIsTakenIsAnErrorThatNamesIt) {
  for (const std::string_view protocol : {"tcp", "udp"}) {
    HostSocket taken{protocol == "tcp" ? SOCK_STREAM : SOCK_DGRAM};
    const std::uint16_t its_port = taken.bind();
    if (protocol == "tcp") taken.listen();
    const auto refused =
        open_bridge(parse_net(fmt::format("slirp:hostfwd={}:{}:5000", protocol, its_port)).value(), board.site());
    ASSERT_FALSE(refused) << protocol;
    EXPECT_THAT(
        refused.error().message,
        HasSubstr(fmt::format("the host refuses {} port {} at 127.0.0.1: Address already in use; another program "
                              "has it",
                              protocol, its_port)));
  }
}

TEST_F(SlirpBoard, ASecondBridgeCannotTakeTheSameDatagramPort) {
  plug_in_with_forward("udp", 7);
  EXPECT_FALSE(open_bridge(parse_net(fmt::format("slirp:hostfwd=udp:{}:7", port)).value(), board.site()));
}

TEST_F(SlirpBoard, AnAddressThatIsNotOfThisMachineIsAnErrorThatSaysSo) {
  const auto refused = open_bridge(parse_net("slirp:hostfwd=tcp:192.0.2.1:5000:5000").value(), board.site());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("no interface of this machine has that address"));
}

TEST_F(SlirpBoard, AddressesThatCannotBeAreErrorsThatSayWhatCan) {
  const auto error_of = [&](const std::string& spec) {
    const auto opened = open_bridge(parse_net(spec).value(), board.site());
    return opened ? std::string{"accepted"} : opened.error().message;
  };
  EXPECT_THAT(error_of("slirp:net=10.0.2.0/30"), HasSubstr("expected /8 to /27"));
  EXPECT_THAT(error_of("slirp:net=10.0.2.1/24"), HasSubstr("expected 10.0.2.0"));
  EXPECT_THAT(error_of("slirp:guest=10.0.3.15"), HasSubstr("expected an address of 10.0.2.0/24 from 10.0.2.4 on"));
  EXPECT_THAT(error_of("slirp:guest=10.0.2.3"), HasSubstr("expected an address of 10.0.2.0/24"));
  EXPECT_THAT(error_of("slirp:guest=10.0.2.255"), HasSubstr("expected an address of 10.0.2.0/24"));
  EXPECT_THAT(error_of("slirp:hostfwd=tcp:5001:10.0.2.2:5001"), HasSubstr("a port forward to 10.0.2.2, expected"));
}

// Frames of a script in place of the chip, in virtual time alone.
class SlirpScript : public testing::Test {
 protected:
  void plug_in(const std::string& spec) {
    auto opened =
        open_bridge(parse_net(spec).value(), {io, queue, frames, {}, [this] { queue.advance_to(wall_clock); }});
    ASSERT_TRUE(opened) << opened.error().message;
    bridge = std::move(opened).value();
    bridge->plug_into(link, End::host);
    board.plug_into(link, End::board);
    board.talk_to({{0x52, 0x55, 10, 0, 2, 2}, wire::ipv4(10, 0, 2, 2)});
  }
  void advance(Duration duration) {
    wall_clock = queue.now();
    io.restart();
    io.poll();
    queue.advance_to(wall_clock + duration);
  }
  Octets dhcp_discover() {
    wire::Dhcp discover;
    discover.xid = 0x12345678;
    discover.flags = wire::Dhcp::broadcast_flag;
    discover.chaddr = board.config().mac;
    return board.udp(68, 67, discover.emit(),
                     {.source = 0, .destination = wire::broadcast_ipv4, .destination_mac = wire::broadcast_mac});
  }

  wire::FramePool frames;
  EventQueue queue;
  Instant wall_clock{};
  boost::asio::io_context io;
  net::Link link{queue, Random{1}, {}};
  net::ScriptedPeer board{queue, frames, {.mac = test::chip_mac, .ip = wire::ipv4(10, 0, 2, 15)}};
  std::unique_ptr<Bridge> bridge;
};

TEST_F(SlirpScript, ItsDhcpServerOffersTheBoardItsAddress) {
  plug_in("slirp:guest=10.0.2.20");
  board.send(dhcp_discover());
  advance(1ms);
  const net::SeenFrame* frame = board.next();
  ASSERT_NE(frame, nullptr);
  const auto data = frame->data();
  const auto offer = wire::Dhcp::parse(data);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->type, wire::Dhcp::Type::offer);
  EXPECT_EQ(offer->yiaddr, wire::ipv4(10, 0, 2, 20));
  EXPECT_EQ(offer->routers, std::vector{wire::ipv4(10, 0, 2, 2)});
  EXPECT_EQ(offer->dns_servers, std::vector{wire::ipv4(10, 0, 2, 3)});
}

TEST_F(SlirpScript, ItsDhcpServerCanBeOff) {
  plug_in("slirp:dhcp=off");
  board.send(dhcp_discover());
  advance(100ms);
  EXPECT_EQ(board.expect_silence(), "");
}

TEST_F(SlirpScript, TheHostAnswersPing) {
  plug_in("slirp");
  board.answer_arp(true);
  board.send(board.ping(7, 1, Octets{1, 2, 3}));
  advance(10ms);
  EXPECT_EQ(board.expect({.kind = net::SeenFrame::Kind::arp, .target = wire::ipv4(10, 0, 2, 15)}), "");
  EXPECT_EQ(board.expect({.kind = net::SeenFrame::Kind::icmp, .data_bytes = 3}), "");
}

TEST_F(SlirpScript, ItsTcpRetransmitsInVirtualTimeWithoutAnySocketThatIsReady) {
  const std::uint16_t port = HostSocket::free_port();
  plug_in(fmt::format("slirp:hostfwd=tcp:{}:5000", port));
  board.answer_arp(true);
  HostSocket client = HostSocket::tcp();
  client.connect(port);
  for (int i = 0; i < 30; ++i) advance(1s);  // the board's SYN ACK never comes

  std::vector<Instant> syns;
  while (const net::SeenFrame* frame = board.next()) {
    if (frame->kind() == net::SeenFrame::Kind::tcp) syns.push_back(frame->at);
  }
  ASSERT_GE(syns.size(), 3U);
  EXPECT_GE(syns[1] - syns[0], Duration{1s});
  EXPECT_GT(syns[2] - syns[1], syns[1] - syns[0]);
}

TEST_F(SlirpScript, WhatComesFromTheHostComesAtTheInstantThatTheCallerGives) {
  const std::uint16_t port = HostSocket::free_port(SOCK_DGRAM);
  plug_in(fmt::format("slirp:hostfwd=udp:{}:7", port));
  HostSocket client = HostSocket::udp();
  client.connect(port);
  client.send(Octets{1});
  wall_clock = Instant{300ms};
  io.poll();
  queue.advance_to(Instant{301ms});
  EXPECT_EQ(board.expect(Instant{300ms}, {.kind = net::SeenFrame::Kind::arp, .target = wire::ipv4(10, 0, 2, 15)}), "");
}

TEST_F(SlirpScript, ABridgeMayEndWhileItsSocketsAreReady) {
  const std::uint16_t port = HostSocket::free_port(SOCK_DGRAM);
  plug_in(fmt::format("slirp:hostfwd=udp:{}:7", port));
  HostSocket client = HostSocket::udp();
  client.connect(port);
  client.send(Octets{1});
  boost::asio::post(io, [&] { bridge.reset(); });
  advance(1s);
  EXPECT_EQ(board.expect_silence(), "");
}

TEST_F(SlirpScript, ShortAndDamagedFramesHarmNobody) {
  plug_in("slirp");
  const Octets whole = board.ping(7, 1, Octets(64));
  for (std::size_t bytes = 14; bytes < whole.size(); ++bytes) {
    board.send(Bytes{whole}.first(bytes));
    advance(1ms);
  }
  board.send(whole, false);
  advance(1ms);
  EXPECT_EQ(bridge->counters().bad_fcs, 1U);
}

TEST_F(SlirpScript, ALostBoardIsOnlyALostBoard) {
  const std::uint16_t port = HostSocket::free_port();
  plug_in(fmt::format("slirp:hostfwd=tcp:{}:5000", port));
  link.set_up(false);
  HostSocket client = HostSocket::tcp();
  client.connect(port);
  bool ended = false;
  for (int i = 0; i < 600 && !ended; ++i) {
    advance(1s);
    ended = client.at_end() || (client.send(Octets{1}) == 0 && errno != EAGAIN);
  }
  EXPECT_TRUE(ended);
}

}  // namespace
}  // namespace wizloop::realtime
