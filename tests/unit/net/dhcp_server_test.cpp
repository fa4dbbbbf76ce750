#include "sim/net/services/dhcp_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

using testing::ElementsAre;
using wire::Dhcp;
using wire::ipv4;
using Type = Dhcp::Type;

constexpr wire::Ipv4Address pool_start = ipv4(192, 168, 1, 100);
constexpr UdpPort::Address unaddressed = {0, Dhcp::client_port};
constexpr UdpPort::Address everybody = {wire::broadcast_ipv4, Dhcp::server_port};

// A client made by hand: each message it sends is given, and each answer is read.
struct DhcpServerTest : testing::Test {
  void start(DhcpServer::Config config = {}) {
    if (config.first == 0) config.first = pool_start;
    server.emplace(*net.pc, config);
  }

  static Dhcp from_client(Type type, std::uint8_t client = 1) {
    return {.xid = 0x1000u + client, .flags = Dhcp::broadcast_flag, .chaddr = {0x02, 0, 0, 0, 0, client}, .type = type};
  }
  static Dhcp selecting(wire::Ipv4Address wanted, std::uint8_t client = 1) {
    Dhcp message = from_client(Type::request, client);
    message.requested_ip = wanted;
    message.server_identifier = pc_ip;
    return message;
  }

  // The answer, if there is one within 10 ms.
  std::optional<Dhcp> ask(const Dhcp& message, const UdpPort::Address& from = unaddressed,
                          const UdpPort::Address& to = everybody) {
    net.datagrams.clear();
    net.send_udp(from, to, message.emit());
    net.run(10ms);
    return last_answer();
  }
  std::optional<Dhcp> last_answer() const {
    if (net.datagrams.empty()) return std::nullopt;
    EXPECT_EQ(net.datagrams.size(), 1u);
    const auto answer = Dhcp::parse(net.datagrams[0].datagram.payload);
    EXPECT_TRUE(answer);
    return answer;
  }
  const UdpDatagram& last_datagram() const { return net.datagrams.at(0).datagram; }

  // The address that a client gets by DISCOVER and REQUEST, or 0.
  wire::Ipv4Address acquire(std::uint8_t client = 1) {
    const auto offer = ask(from_client(Type::discover, client));
    if (!offer) return 0;
    const auto ack = ask(selecting(offer->yiaddr, client));
    return ack && ack->type == Type::ack ? ack->yiaddr : 0;
  }
  static Dhcp renewing(wire::Ipv4Address address, std::uint8_t client = 1) {
    Dhcp message = from_client(Type::request, client);
    message.flags = 0;
    message.ciaddr = address;
    return message;
  }

  HostAndStation net{{}};
  std::optional<DhcpServer> server;
};

TEST_F(DhcpServerTest, OffersAnAddressWithAllThatAClientNeeds) {
  start({.routers = {pc_ip}, .dns_servers = {pc_ip, pc_ip + 1}, .domain_name = "lan", .lease_s = 800});
  const auto offer = ask(from_client(Type::discover));
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->op, Dhcp::reply);
  EXPECT_EQ(offer->type, Type::offer);
  EXPECT_EQ(offer->xid, 0x1001u);
  EXPECT_EQ(offer->chaddr, board_mac);
  EXPECT_EQ(offer->yiaddr, pool_start);
  EXPECT_EQ(offer->server_identifier, pc_ip);
  EXPECT_EQ(offer->subnet_mask, ipv4(255, 255, 255, 0));
  EXPECT_THAT(offer->routers, ElementsAre(pc_ip));
  EXPECT_THAT(offer->dns_servers, ElementsAre(pc_ip, pc_ip + 1));
  EXPECT_EQ(offer->domain_name, "lan");
  EXPECT_EQ(offer->lease_s, 800u);
  EXPECT_EQ(offer->renewal_s, 400u);
  EXPECT_EQ(offer->rebinding_s, 700u);

  const auto ack = ask(selecting(offer->yiaddr));
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->type, Type::ack);
  EXPECT_EQ(ack->yiaddr, pool_start);
  EXPECT_EQ(ack->lease_s, 800u);
  EXPECT_THAT(ack->routers, ElementsAre(pc_ip));
  EXPECT_EQ(server->counters().discovers, 1u);
  EXPECT_EQ(server->counters().offers, 1u);
  EXPECT_EQ(server->counters().requests, 1u);
  EXPECT_EQ(server->counters().acks, 1u);
}

TEST_F(DhcpServerTest, SendsOnlyWhatIsAskedForAndConfigured) {
  start({.routers = {pc_ip}, .dns_servers = {pc_ip}, .renewal_s = 7, .rebinding_s = 9});
  const std::uint8_t list[] = {Dhcp::Code::router, Dhcp::Code::ntp_server};
  Dhcp discover = from_client(Type::discover);
  discover.parameter_list = list;
  const auto offer = ask(discover);
  ASSERT_TRUE(offer);
  EXPECT_THAT(offer->routers, ElementsAre(pc_ip));
  EXPECT_THAT(offer->dns_servers, ElementsAre());
  EXPECT_THAT(offer->ntp_servers, ElementsAre());
  EXPECT_EQ(offer->renewal_s, 7u);
  EXPECT_EQ(offer->rebinding_s, 9u);
}

TEST_F(DhcpServerTest, BroadcastsToAClientThatAsksForIt) {
  start();
  ASSERT_TRUE(ask(from_client(Type::discover)));
  EXPECT_EQ(last_datagram().destination, wire::broadcast_mac);
  EXPECT_EQ(last_datagram().ip.source, pc_ip);
  EXPECT_EQ(last_datagram().ip.destination, wire::broadcast_ipv4);
  EXPECT_EQ(last_datagram().header.source_port, 67);
  EXPECT_EQ(last_datagram().header.destination_port, 68);
  EXPECT_GE(last_datagram().payload.size(), 300u);
}

TEST_F(DhcpServerTest, SendsToTheAddressItGivesAwayWithoutArp) {
  start();
  Dhcp discover = from_client(Type::discover);
  discover.flags = 0;
  ASSERT_TRUE(ask(discover));
  EXPECT_EQ(last_datagram().destination, board_mac);
  EXPECT_EQ(last_datagram().ip.destination, pool_start);
  EXPECT_EQ(last_datagram().header.destination_port, 68);
  EXPECT_EQ(net.pc->counters().sent, 1u);
}

TEST_F(DhcpServerTest, RenewsForAClientThatUsesItsAddress) {
  start({.first = board_ip, .lease_s = 100});
  ASSERT_EQ(acquire(), board_ip);
  net.run(50s);
  const auto ack = ask(renewing(board_ip), {board_ip, 68}, {pc_ip, 67});
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->type, Type::ack);
  EXPECT_EQ(ack->ciaddr, board_ip);
  EXPECT_EQ(ack->yiaddr, board_ip);
  EXPECT_EQ(ack->lease_s, 100u);
  EXPECT_EQ(last_datagram().destination, board_mac);
  EXPECT_EQ(last_datagram().ip.destination, board_ip);

  net.run(99s);  // the first lease would be over, the renewed one holds
  EXPECT_FALSE(ask(from_client(Type::discover, 2)));
  net.run(2s);
  EXPECT_TRUE(ask(from_client(Type::discover, 2)));
}

TEST_F(DhcpServerTest, GivesEachClientItsOwnAddressAndTheSameOneAgain) {
  start({.addresses = 3});
  EXPECT_EQ(acquire(1), pool_start);
  EXPECT_EQ(acquire(2), pool_start + 1);
  EXPECT_EQ(acquire(1), pool_start);
  EXPECT_EQ(acquire(3), pool_start + 2);
  EXPECT_FALSE(ask(from_client(Type::discover, 4)));
  EXPECT_EQ(server->counters().no_address, 1u);
}

TEST_F(DhcpServerTest, TellsClientsApartByIdentifierBeforeHardwareAddress) {
  start({.addresses = 3});
  const std::uint8_t identifier[] = {0, 'a', 'b'};
  Dhcp discover = from_client(Type::discover);
  discover.client_identifier = identifier;
  ASSERT_EQ(acquire(), pool_start);
  auto offer = ask(discover);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->yiaddr, pool_start + 1);
  discover.chaddr[5] = 77;
  offer = ask(discover);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->yiaddr, pool_start + 1);
}

TEST_F(DhcpServerTest, GivesTheAddressAskedForIfItIsFree) {
  start({.addresses = 5});
  ASSERT_EQ(acquire(1), pool_start);
  Dhcp discover = from_client(Type::discover, 2);
  discover.requested_ip = pool_start + 4;
  auto offer = ask(discover);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->yiaddr, pool_start + 4);
  discover = from_client(Type::discover, 3);
  discover.requested_ip = pool_start;
  offer = ask(discover);
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->yiaddr, pool_start + 1);
}

TEST_F(DhcpServerTest, LeavesOutItsOwnAddressAndThoseOfTheSubnet) {
  start({.first = pc_ip - 1, .addresses = 3});
  EXPECT_EQ(acquire(1), pc_ip - 1);
  EXPECT_EQ(acquire(2), pc_ip + 1);
  EXPECT_EQ(acquire(3), 0u);
  server.reset();
  start({.first = ipv4(192, 168, 1, 254), .addresses = 2});
  EXPECT_EQ(acquire(1), ipv4(192, 168, 1, 254));
  EXPECT_EQ(acquire(2), 0u);
}

TEST_F(DhcpServerTest, TakesTheAddressThatWasFreeLongest) {
  start({.addresses = 2, .lease_s = 100});
  ASSERT_EQ(acquire(1), pool_start);
  net.run(10s);
  ASSERT_EQ(acquire(2), pool_start + 1);
  net.run(200s);
  EXPECT_EQ(acquire(3), pool_start);
  EXPECT_EQ(acquire(2), pool_start + 1);  // had it last
}

TEST_F(DhcpServerTest, HoldsAnOfferForAMinute) {
  start();
  ASSERT_TRUE(ask(from_client(Type::discover, 1)));
  EXPECT_FALSE(ask(from_client(Type::discover, 2)));
  net.run(61s);
  EXPECT_TRUE(ask(from_client(Type::discover, 2)));
}

TEST_F(DhcpServerTest, TakesBackAReleasedAddress) {
  start();
  ASSERT_EQ(acquire(1), pool_start);
  Dhcp release = from_client(Type::release, 2);
  release.ciaddr = pool_start;
  EXPECT_FALSE(ask(release));  // not by another client
  EXPECT_EQ(acquire(2), 0u);
  release.chaddr = board_mac;
  EXPECT_FALSE(ask(release));
  EXPECT_EQ(acquire(2), pool_start);
  EXPECT_EQ(server->counters().releases, 2u);
}

TEST_F(DhcpServerTest, DoesNotOfferADeclinedAddressForAWhile) {
  start({.addresses = 2});
  ASSERT_EQ(acquire(1), pool_start);
  Dhcp decline = from_client(Type::decline);
  decline.server_identifier = pc_ip;
  decline.requested_ip = pool_start;
  EXPECT_FALSE(ask(decline));
  EXPECT_EQ(server->counters().declines, 1u);
  EXPECT_EQ(acquire(1), pool_start + 1);
  EXPECT_EQ(acquire(2), 0u);
  net.run(DhcpServer::decline_hold);
  EXPECT_EQ(acquire(2), pool_start);
}

TEST_F(DhcpServerTest, InformsAClientThatHasAnAddress) {
  start({.routers = {pc_ip}});
  Dhcp inform = from_client(Type::inform);
  inform.ciaddr = board_ip;
  const auto ack = ask(inform, {board_ip, 68}, {pc_ip, 67});
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->type, Type::ack);
  EXPECT_EQ(ack->yiaddr, 0u);
  EXPECT_FALSE(ack->lease_s);
  EXPECT_FALSE(ack->renewal_s);
  EXPECT_THAT(ack->routers, ElementsAre(pc_ip));
  EXPECT_EQ(last_datagram().ip.destination, board_ip);
  EXPECT_EQ(server->counters().informs, 1u);

  inform.ciaddr = 0;
  EXPECT_FALSE(ask(inform));
  EXPECT_EQ(server->counters().malformed, 1u);
}

TEST_F(DhcpServerTest, RefusesAnAddressThatIsNotTheClients) {
  start({.addresses = 3});
  ASSERT_EQ(acquire(1), pool_start);
  ASSERT_EQ(acquire(2), pool_start + 1);
  Dhcp reboot = from_client(Type::request, 1);
  for (const wire::Ipv4Address wrong : {pool_start + 1, pool_start + 2, ipv4(10, 0, 0, 1)}) {
    reboot.requested_ip = wrong;
    reboot.flags = 0;
    const auto nak = ask(reboot);
    ASSERT_TRUE(nak);
    EXPECT_EQ(nak->type, Type::nak);
    EXPECT_EQ(nak->yiaddr, 0u);
    EXPECT_EQ(nak->server_identifier, pc_ip);
    EXPECT_FALSE(nak->lease_s);
    EXPECT_EQ(last_datagram().ip.destination, wire::broadcast_ipv4);  // whatever the flag says
  }
  const auto nak = ask(selecting(pool_start - 1));
  ASSERT_TRUE(nak);
  EXPECT_EQ(nak->type, Type::nak);
  EXPECT_EQ(server->counters().naks, 4u);
}

TEST_F(DhcpServerTest, RemembersAClientThatRestarts) {
  start({.addresses = 3});
  ASSERT_EQ(acquire(1), pool_start);
  Dhcp reboot = from_client(Type::request);
  reboot.requested_ip = pool_start;
  const auto ack = ask(reboot);
  ASSERT_TRUE(ack);
  EXPECT_EQ(ack->type, Type::ack);
  EXPECT_EQ(ack->yiaddr, pool_start);
}

TEST_F(DhcpServerTest, IsSilentToAStrangerThatRestartsButRenewsWhatIsFree) {
  start({.addresses = 3});
  Dhcp reboot = from_client(Type::request);
  reboot.requested_ip = pool_start;
  EXPECT_FALSE(ask(reboot));
  EXPECT_EQ(server->counters().not_for_us, 1u);
  EXPECT_FALSE(ask(renewing(pool_start - 1)));  // perhaps of another server
  EXPECT_EQ(server->counters().not_for_us, 2u);
  net.send_udp({board_ip, 68}, everybody, renewing(pool_start + 2).emit());
  net.run(10ms);
  EXPECT_EQ(server->counters().acks, 1u);
}

TEST_F(DhcpServerTest, FreesWhatItOfferedWhenTheClientTakesAnotherServer) {
  start();
  ASSERT_TRUE(ask(from_client(Type::discover, 1)));
  Dhcp elsewhere = selecting(pool_start + 50);
  elsewhere.server_identifier = pc_ip + 1;
  EXPECT_FALSE(ask(elsewhere));
  EXPECT_EQ(server->counters().not_for_us, 1u);
  EXPECT_EQ(acquire(2), pool_start);
}

TEST_F(DhcpServerTest, AnswersThroughARelayAgent) {
  start();
  Dhcp discover = from_client(Type::discover);
  discover.giaddr = board_ip;
  const auto offer = ask(discover, {board_ip, 67}, {pc_ip, 67});
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->giaddr, board_ip);
  EXPECT_EQ(last_datagram().ip.destination, board_ip);
  EXPECT_EQ(last_datagram().header.destination_port, 67);
}

TEST_F(DhcpServerTest, IgnoresAndRefusesAsOftenAsItIsTold) {
  start({.ignored_discovers = 2, .ignored_requests = 1, .refused_requests = 2});
  EXPECT_FALSE(ask(from_client(Type::discover)));
  EXPECT_FALSE(ask(from_client(Type::discover)));
  EXPECT_TRUE(ask(from_client(Type::discover)));
  EXPECT_FALSE(ask(selecting(pool_start)));
  std::vector<Type> answers;
  for (int i = 0; i < 3; ++i) {
    const auto answer = ask(selecting(pool_start));
    ASSERT_TRUE(answer);
    answers.push_back(answer->type);
  }
  EXPECT_THAT(answers, ElementsAre(Type::nak, Type::nak, Type::ack));
  EXPECT_EQ(server->counters().ignored, 3u);
}

TEST_F(DhcpServerTest, KeepsSilentForEver) {
  start({.ignored_discovers = always});
  for (int i = 0; i < 20; ++i) EXPECT_FALSE(ask(from_client(Type::discover)));
  EXPECT_EQ(server->counters().ignored, 20u);
}

TEST_F(DhcpServerTest, AnswersLateByItsDelay) {
  start({.answer_delay = 3s});
  const Instant asked = net.send_udp(unaddressed, everybody, from_client(Type::discover).emit());
  net.run(1s);
  const Instant asked_again = net.send_udp(unaddressed, everybody, from_client(Type::discover).emit());
  net.run(10s);
  ASSERT_EQ(net.datagrams.size(), 2u);
  const Duration on_wire = wire::time_on_wire(14 + 20 + 8 + 300, fast_ethernet);
  EXPECT_EQ(net.datagrams[0].at, asked + 3s + on_wire);
  EXPECT_EQ(net.datagrams[1].at, asked_again + 3s + on_wire);
}

TEST_F(DhcpServerTest, LosesAnswersWhenTooManyAreLateAndKeepsNoneWhenItGoes) {
  start({.answer_delay = 3s});
  for (std::size_t i = 0; i < LateAnswers::max_held + 5; ++i) {
    net.send_udp(unaddressed, everybody, from_client(Type::discover).emit());
  }
  net.run(100ms);
  EXPECT_EQ(server->counters().lost_answers, 5u);
  server.reset();
  net.run(10s);
  EXPECT_EQ(net.datagrams.size(), 0u);
}

TEST_F(DhcpServerTest, LeasesForEverWithoutRenewal) {
  start({.lease_s = DhcpServer::infinite});
  const auto offer = ask(from_client(Type::discover));
  ASSERT_TRUE(offer);
  EXPECT_EQ(offer->lease_s, 0xFFFFFFFF);
  EXPECT_FALSE(offer->renewal_s);
  ASSERT_EQ(acquire(), pool_start);
  net.run(2h);
  EXPECT_EQ(acquire(2), 0u);
}

TEST_F(DhcpServerTest, CountsWhatIsNotARequest) {
  start();
  Dhcp offer = from_client(Type::offer);
  EXPECT_FALSE(ask(offer));
  offer.op = Dhcp::reply;
  EXPECT_FALSE(ask(offer));
  EXPECT_FALSE(ask(from_client(Type::request)));  // of no address
  net.send_udp(unaddressed, everybody, Bytes{});
  net.run(1ms);
  EXPECT_EQ(server->counters().malformed, 4u);
}

TEST_F(DhcpServerTest, SurvivesWhateverComes) {
  start({.addresses = 8, .routers = {pc_ip}});
  RandomStream random = Random{9}.stream("dhcp");
  const auto byte = [&] { return static_cast<std::uint8_t>(random.next()); };
  for (int i = 0; i < 2000; ++i) {
    const auto some_ip = [&] {
      const wire::Ipv4Address choices[] = {
          0,        pool_start + byte() % 8, pc_ip,
          board_ip, wire::broadcast_ipv4,    static_cast<wire::Ipv4Address>(random.next())};
      return choices[random.below(std::size(choices))];
    };
    Dhcp message = from_client(static_cast<Type>(1 + random.below(8)), static_cast<std::uint8_t>(random.below(12)));
    message.flags = static_cast<std::uint16_t>(random.next());
    message.ciaddr = some_ip();
    if (random.below(8) == 0) message.giaddr = some_ip();
    if (random.below(2) == 0) message.requested_ip = some_ip();
    if (random.below(2) == 0) message.server_identifier = some_ip();
    std::vector<std::uint8_t> payload = message.emit();
    if (random.below(4) == 0) {
      for (std::size_t n = random.below(8); n > 0; --n) payload[random.below(payload.size())] = byte();
    }
    if (random.below(8) == 0) payload.resize(random.below(payload.size()));
    net.send_udp(random.below(2) == 0 ? unaddressed : UdpPort::Address{board_ip, 68}, everybody, payload);
    net.run(1ms);
  }
  const DhcpServer::Counters& counters = server->counters();
  EXPECT_GT(counters.offers, 20u);
  EXPECT_GT(counters.acks, 20u);
  EXPECT_GT(counters.naks, 20u);
  EXPECT_GT(counters.malformed, 100u);
  EXPECT_GT(counters.declines, 20u);
}

}  // namespace
}  // namespace wizloop::net
