// The chip model on interfaces of the kernel, in a network namespace of the test's own, with the programs of the host
// as peers.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include <filesystem>

#include "sim/net/switch.hpp"
#include "sim/realtime/net_spec.hpp"
#include "tests/unit/realtime/host_socket.hpp"
#include "tests/unit/realtime/own_network.hpp"
#include "tests/unit/realtime/program.hpp"
#include "tests/unit/realtime/real_board.hpp"

namespace wizloop::realtime {
namespace {

using net::End;
using test::HostSocket;
using test::Program;
using test::RealBoard;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using Octets = std::vector<std::uint8_t>;

Octets pattern(std::size_t bytes) {
  Octets data(bytes);
  for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(i);
  return data;
}

class SmallestFrame final : public net::LinkObserver {
 public:
  void on_frame(End from, Instant /*start*/, const wire::Frame& frame) override {
    if (from == End::host) bytes = std::min(bytes, frame.size);
  }
  std::size_t bytes = SIZE_MAX;
};

class InterfaceTest : public test::InOwnNetwork {
 protected:
  void SetUp() override {
    InOwnNetwork::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    board.link.observe(smallest);
  }

  void plug_in(const std::string& spec) {
    auto opened = open_bridge(parse_net(spec).value(), board.site());
    ASSERT_TRUE(opened) << opened.error().message;
    bridge = std::move(opened).value();
    board.plug_in(*bridge);
  }
  std::string error_of(const std::string& spec) {
    const auto opened = open_bridge(parse_net(spec).value(), board.site());
    return opened ? "opened" : opened.error().message;
  }

  std::string ping(const std::vector<std::string>& options, const std::string& whom = "192.168.1.20") {
    std::vector<std::string> words = {"ping", "-n", "-i", "0.01", "-W", "5"};
    words.insert(words.end(), options.begin(), options.end());
    words.push_back(whom);
    Program program{words};
    if (!board.run_until([&] { return program.ended(); })) return "ping does not end";
    return program.exit_code() == 0 ? "answered" : program.output();
  }
  // The kernel drops frames until it has noticed that there is a carrier.
  void wait_until_running(const std::string& interface) {
    ASSERT_TRUE(board.run_until([&] {
      ifreq flags{};
      interface.copy(flags.ifr_name, sizeof flags.ifr_name - 1);
      return ioctl(any_socket.descriptor(), SIOCGIFFLAGS, &flags) == 0 && (flags.ifr_flags & IFF_RUNNING) != 0;
    }));
  }
  // The board asks for a MAC: one frame.
  void let_the_board_send() {
    board.board.command(1, chip::sn_cr::CLOSE);
    board.open_udp(1, 9);
    board.board.set32(1, chip::socket::Sn_DIPR, test::peer_ip);
    board.board.set16(1, chip::socket::Sn_DPORT, 9);
    board.board.send(1, {1});
    board.run_until([] { return false; }, 5ms);
  }
  void expect_echo_of(const Octets& sent) {
    board.listen(0, 5000);
    HostSocket client = HostSocket::tcp();
    client.connect(5000, test::chip_ip);
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
  }
  bool reported(const std::string& what) const {
    return std::ranges::any_of(board.news,
                               [&](const std::string& news) { return news.find(what) != std::string::npos; });
  }
  // Handlers that run although nothing happens.
  std::size_t turns_at_rest() {
    board.run_until([] { return false; }, 5ms);
    std::size_t handlers = 0;
    for (int i = 0; i < 20; ++i) {
      board.io.restart();
      handlers += board.io.poll();
    }
    return handlers;
  }

  RealBoard board;
  HostSocket any_socket = HostSocket::udp();
  SmallestFrame smallest;
  std::unique_ptr<Bridge> bridge;
};

class Veth : public InterfaceTest {
 protected:
  void SetUp() override {
    InterfaceTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    command("ip link add wiz0 type veth peer name host0");
    command("ip address add 192.168.1.10/24 dev host0");
    for (const std::string interface : {"wiz0", "host0"}) {
      command("ip link set " + interface + " addrgenmode none");  // or IPv6 would talk in between
      command("ip link set " + interface + " up");
    }
    wait_until_running("host0");
  }
  void TearDown() override {
    bridge.reset();
    if (if_nametoindex("wiz0") != 0) command("ip link delete wiz0");
  }
};

TEST_F(Veth, PingReachesTheBoard) {
  plug_in("veth:wiz0");
  EXPECT_EQ(ping({"-c", "5"}), "answered");
  EXPECT_EQ(ping({"-c", "1", "-M", "do", "-s", "1472"}), "answered");
  EXPECT_THAT(ping({"-c", "1", "-M", "do", "-s", "1473"}), HasSubstr("message too long"));
}

TEST_F(Veth, PingTakesAtLeastItsTimeOnTheWire) {
  plug_in("veth:wiz0");
  Program program{{"ping", "-n", "-i", "0.005", "-c", "20", "-s", "1472", "192.168.1.20"}};
  ASSERT_TRUE(board.run_until([&] { return program.ended(); }));
  const std::string before = "rtt min/avg/max/mdev = ";
  const std::size_t at = program.output().find(before);
  ASSERT_NE(at, std::string::npos) << program.output();
  const auto shortest_us = static_cast<std::int64_t>(1000 * std::stod(program.output().substr(at + before.size())));
  EXPECT_GE(microseconds(shortest_us), 2 * wire::time_on_wire(wire::max_frame_bytes, board.link.bit_rate()));
}

// A board that is ahead of the wall clock does not leave the answer lying until a handler has its turn: none has here.
TEST_F(Veth, AnAnswerOfTheKernelComesWithWhatItAnswers) {
  plug_in("veth:wiz0");
  board.open_udp(1, 9);
  board.board.set32(1, chip::socket::Sn_DIPR, test::peer_ip);
  board.board.set16(1, chip::socket::Sn_DPORT, 9);
  board.board.send(1, {1});
  board.queue.advance_to(board.queue.now() + 1ms);
  EXPECT_EQ(bridge->counters().to_board, 2U);  // its MAC, and that nobody listens there
  EXPECT_EQ(bridge->counters().to_host, 2U);   // the question, and the datagram
}

TEST_F(Veth, BoardsOnASwitchShareABridge) {
  chip::Chip second{board.queue, board.board.frames, board.board.trace, board.board.findings, board.board.random};
  net::Link second_cable{board.queue, board.board.random, {}};
  second.connect(second_cable.transmitter(End::board));
  second_cable.attach(End::board, second);
  second.plug_in_settled();
  second.spi().select();
  for (const std::uint8_t byte :
       Octets{0x00, 0x01, 0x04, 192, 168, 1, 1, 255, 255, 255, 0, 2, 0, 0, 0, 0, 0x21, 192, 168, 1, 21}) {
    second.spi().exchange(byte);
  }
  second.spi().deselect();
  net::Link uplink{board.queue, board.board.random, {}};
  net::Switch lan{board.queue, board.board.frames, {}};
  lan.port(0).plug_into(board.link, End::host);
  lan.port(1).plug_into(second_cable, End::host);
  lan.port(2).plug_into(uplink, End::board);
  auto opened = open_bridge(parse_net("veth:wiz0").value(), board.site());
  ASSERT_TRUE(opened) << opened.error().message;
  bridge = std::move(opened).value();
  bridge->plug_into(uplink, End::host);

  EXPECT_EQ(ping({"-c", "3"}), "answered");
  EXPECT_EQ(ping({"-c", "3"}, "192.168.1.21"), "answered");
  bridge.reset();
}

TEST_F(Veth, ArpingFindsTheBoardAndEveryFrameIsPadded) {
  plug_in("veth:wiz0");
  Program arping{{"arping", "-c", "1", "-w", "5", "-I", "host0", "192.168.1.20"}};
  ASSERT_TRUE(board.run_until([&] { return arping.ended(); }));
  EXPECT_EQ(arping.exit_code(), 0) << arping.output();
  EXPECT_THAT(arping.output(), HasSubstr("02:00:00:00:00:20"));
  EXPECT_EQ(smallest.bytes, wire::min_frame_bytes);
}

TEST_F(Veth, OffloadsOfBothEndsAreSwitchedOffSoThatTcpCarriesEveryByte) {
  plug_in("veth:wiz0");
  EXPECT_TRUE(reported("has switched off offloads, as \"ethtool -K host0 tx off")) << board.news.size();
  expect_echo_of(pattern(60'000));
  EXPECT_EQ(bridge->counters().no_checksum + bridge->counters().too_long, 0U);

  board.news.clear();
  bridge.reset();
  EXPECT_EQ(error_of("veth:wiz0"), "opened");
  EXPECT_THAT(board.news, IsEmpty());
}

TEST_F(Veth, AFrameWithoutItsChecksumIsCountedAndReportedOnce) {
  plug_in("veth:wiz0");
  command("ethtool -K host0 tx on");
  HostSocket client = HostSocket::udp();
  client.connect(9, test::chip_ip);
  for (int i = 0; i < 3; ++i) client.send(pattern(10));
  ASSERT_TRUE(board.run_until([&] { return bridge->counters().no_checksum >= 3; }));
  EXPECT_EQ(std::ranges::count_if(board.news,
                                  [](const std::string& news) {
                                    return news.find("whose checksum was left to hardware") != std::string::npos;
                                  }),
            1);
}

TEST_F(Veth, FramesOverTheEthernetLimitAreCountedAndReported) {
  plug_in("veth:wiz0");
  command("ip link set wiz0 mtu 4000");
  command("ip link set host0 mtu 4000");
  ASSERT_EQ(ping({"-c", "1"}), "answered");
  EXPECT_THAT(ping({"-c", "1", "-W", "0.1", "-M", "do", "-s", "1473"}), HasSubstr("100% packet loss"));
  EXPECT_THAT(ping({"-c", "1", "-W", "0.1", "-M", "do", "-s", "3000"}), HasSubstr("100% packet loss"));
  EXPECT_EQ(bridge->counters().too_long, 2U);
  EXPECT_TRUE(reported("more than 1514 bytes"));
}

TEST_F(Veth, AnInterfaceThatGoesDownIsReportedAndServesAgainWhenItIsUp) {
  plug_in("veth:wiz0");
  command("ip link set wiz0 down");
  EXPECT_TRUE(board.run_until([&] { return reported("the interface is down"); }));
  let_the_board_send();
  EXPECT_GE(bridge->counters().host_refused, 1U);
  EXPECT_EQ(turns_at_rest(), 0U);

  command("ip link set wiz0 up");
  wait_until_running("host0");
  EXPECT_EQ(ping({"-c", "1"}), "answered");
  EXPECT_TRUE(reported("the interface is up again"));
  EXPECT_EQ(board.news.size(), 3U) << "with that of the offloads";
}

TEST_F(Veth, AnInterfaceThatIsDownAtTheStartIsReported) {
  command("ip link set wiz0 down");
  plug_in("veth:wiz0");
  EXPECT_TRUE(reported("veth:wiz0: the interface is down"));
  command("ip link set wiz0 up");
  wait_until_running("host0");
  EXPECT_EQ(ping({"-c", "1"}), "answered");
}

TEST_F(Veth, AnInterfaceThatGoesAwayIsReportedAndHarmsNothingElse) {
  plug_in("veth:wiz0");
  command("ip link delete host0");
  EXPECT_TRUE(board.run_until([&] { return reported("the interface is gone"); }));
  let_the_board_send();
  EXPECT_GE(bridge->counters().host_refused, 1U);
  EXPECT_EQ(turns_at_rest(), 0U);

  command("ip link add wiz0 type veth peer name host0");  // another one of that name
  command("ip link set wiz0 up");
  let_the_board_send();
  EXPECT_FALSE(reported("up again"));
}

TEST_F(Veth, WhatTheHostSendsOutOfTheInterfaceItselfIsNotForTheBoard) {
  command("ip address add 10.9.9.1/24 dev wiz0");
  plug_in("veth:wiz0");
  ASSERT_EQ(ping({"-c", "1"}), "answered");
  const std::uint64_t frames = bridge->counters().to_board;
  Program other{{"ping", "-n", "-c", "1", "-W", "0.05", "10.9.9.2"}};
  ASSERT_TRUE(board.run_until([&] { return other.ended(); }));
  EXPECT_EQ(bridge->counters().to_board, frames);
}

TEST_F(Veth, WhatTheCableDoesNotTakeWaitsInTheKernelOrIsCounted) {
  plug_in("veth:wiz0");
  ASSERT_EQ(ping({"-c", "1"}), "answered");
  board.open_udp(0, 7);
  HostSocket client = HostSocket::udp();
  client.connect(7, test::chip_ip);
  const std::uint64_t frames = bridge->counters().to_board;
  constexpr std::uint64_t datagrams = 1000;
  std::uint64_t sent = 0;
  for (std::uint64_t i = 0; i < datagrams; ++i) sent += client.send(pattern(1000)) != 0 ? 1 : 0;
  ASSERT_TRUE(board.run_until([&] {
    board.receive(0);
    return bridge->counters().to_board - frames + bridge->counters().not_read >= sent;
  })) << bridge->counters().to_board
      << ' ' << bridge->counters().not_read;
  EXPECT_LT(bridge->counters().to_board - board.link.counters(End::host).delivered, 60U);
}

TEST_F(Veth, AnInterfaceThatCannotBeIsAnErrorThatSaysWhatCan) {
  EXPECT_THAT(error_of("veth:nope0"), HasSubstr("veth:nope0: there is no interface nope0; \"ip -br link\" lists"));
  EXPECT_EQ(error_of("veth:lo"), "veth:lo: lo is not an Ethernet interface");
}

// In a process of its own, which gives up what it may.
using VethDeathTest = Veth;
TEST_F(VethDeathTest, WithoutPrivilegeTheErrorNamesTheWaysOut) {
  const auto without_privilege = [&](const std::string& spec) {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    __user_cap_data_struct none[2]{};
    if (syscall(SYS_capset, &header, none) != 0) _exit(1);
    std::fputs(error_of(spec).c_str(), stderr);
    _exit(0);
  };
  EXPECT_EXIT(without_privilege("veth:wiz0"), testing::ExitedWithCode(0),
              "needs CAP_NET_RAW: start as root, or inside \"unshare -Urn\", or take slirp");
}

class Tap : public InterfaceTest {
 protected:
  void SetUp() override {
    InterfaceTest::SetUp();
    if (HasFatalFailure() || IsSkipped()) return;
    if (access("/dev/net/tun", R_OK | W_OK) == 0) return;
    EXPECT_THAT(error_of("tap:wiz1"), HasSubstr("/dev/net/tun"));
    ASSERT_EQ(std::getenv("CI"), nullptr) << "/dev/net/tun is missing or closed: in CI it must be open";
    GTEST_SKIP() << "/dev/net/tun is missing or closed to this user";
  }

  void plug_in_with_address() {
    plug_in("tap:wiz1");
    command("ip address add 192.168.1.10/24 dev wiz1");
    wait_until_running("wiz1");
  }
};

TEST_F(Tap, AnInterfaceThatWasNotThereIsMadeAndVanishesWithTheBridge) {
  plug_in_with_address();
  EXPECT_TRUE(reported("has made the interface; give the host an address: ip address add ADDRESS/24 dev wiz1"));
  EXPECT_EQ(ping({"-c", "5"}), "answered");
  EXPECT_EQ(ping({"-c", "1", "-M", "do", "-s", "1472"}), "answered");
  expect_echo_of(pattern(60'000));
  EXPECT_EQ(smallest.bytes, wire::min_frame_bytes);

  bridge.reset();
  EXPECT_EQ(if_nametoindex("wiz1"), 0U);
}

TEST_F(Tap, AnInterfaceThatStaysIsTakenAsItIs) {
  command("ip tuntap add dev wiz1 mode tap");
  plug_in("tap:wiz1");
  EXPECT_TRUE(reported("the interface is down"));
  EXPECT_FALSE(reported("has made"));
  bridge.reset();
  EXPECT_NE(if_nametoindex("wiz1"), 0U);
  command("ip link delete wiz1");
}

TEST_F(Tap, AnInterfaceThatGoesDownIsReportedAndServesAgainWhenItIsUp) {
  plug_in_with_address();
  command("ip link set wiz1 down");
  let_the_board_send();
  EXPECT_TRUE(reported("the interface is down"));
  EXPECT_GE(bridge->counters().host_refused, 1U);
  EXPECT_EQ(turns_at_rest(), 0U);
  command("ip link set wiz1 up");
  wait_until_running("wiz1");
  EXPECT_EQ(ping({"-c", "1"}), "answered");
  EXPECT_TRUE(reported("the interface is up again"));
}

TEST_F(Tap, AnInterfaceThatGoesAwayIsReportedAndHarmsNothingElse) {
  plug_in_with_address();
  command("ip link delete wiz1");
  EXPECT_TRUE(board.run_until([&] { return reported("the interface is gone"); }));
  let_the_board_send();
  EXPECT_GE(bridge->counters().host_refused, 1U);
  EXPECT_EQ(turns_at_rest(), 0U);
}

TEST_F(Tap, AnInterfaceThatCannotBeTakenIsAnErrorThatSaysWhy) {
  plug_in("tap:wiz1");
  EXPECT_EQ(error_of("tap:wiz1"), "tap:wiz1: another program has the interface");
  EXPECT_THAT(error_of("tap:lo"), HasSubstr("is not a TAP"));
}

TEST_F(Tap, ByPacketSocketAnInterfaceThatMergesFramesIsRefusedWithTheCommandThatEndsIt) {
  command("ip tuntap add dev wiz1 mode tap");
  command("ethtool -K wiz1 gro on");
  EXPECT_EQ(error_of("veth:wiz1"),
            "veth:wiz1: wiz1 changes frames on their way to a packet socket; first do: ethtool -K wiz1 gro off");
  command("ethtool -K wiz1 gro off");
  EXPECT_EQ(error_of("veth:wiz1"), "opened");
  command("ip link delete wiz1");
}

}  // namespace
}  // namespace wizloop::realtime
