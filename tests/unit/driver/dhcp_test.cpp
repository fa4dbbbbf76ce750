#include "drivers/w5500/dhcp.hpp"

#include "sim/net/services/dhcp_server.hpp"
#include "tests/unit/driver/testbed_test.hpp"

namespace wizloop::test {
namespace {

using net::DhcpServer;
using testbed::pc_ip;
using testing::ElementsAre;
using w5500::DhcpClient;
using w5500::DhcpLease;
using w5500::DhcpOptions;
using w5500::DhcpState;
using w5500::Network;
using wire::Dhcp;
using wire::ipv4;

constexpr wire::Ipv4Address pool_start = ipv4(192, 168, 1, 100);
constexpr std::uint8_t mac[6] = {0x02, 0, 0, 0, 0, 0x20};

class DhcpTest : public TestbedTest {
 protected:
  void begin(DhcpServer::Config config, const DhcpOptions& options = {}, const Settings& settings = {}) {
    build(settings);
    if (config.first == 0) config.first = pool_start;
    server.emplace(bed->pc(), config);
    begin_client(options);
  }
  void begin_client(const DhcpOptions& options = {}) {
    client.emplace(*chip, std::uint8_t{7}, options);
    ASSERT_TRUE(client->start(mac));
  }

  // Polls until the client is in this state; false if that takes longer.
  bool reach(DhcpState state, Duration within, Duration interval = 10ms) {
    const Instant end = bed->now() + within;
    while (bed->now() < end) {
      EXPECT_TRUE(client->poll());
      if (client->state() == state) return true;
      idle(interval);
    }
    return false;
  }
  void poll_for(Duration duration, Duration interval = 10ms) {
    const Instant end = bed->now() + duration;
    while (bed->now() < end) {
      EXPECT_TRUE(client->poll());
      idle(interval);
    }
  }

  Network network() { return chip->network().value(); }
  // Of the chip, as the client should have set it.
  wire::Ipv4Address sipr() { return load32(network().ip); }

  std::optional<DhcpServer> server;
  std::optional<DhcpClient> client;
};
WIZLOOP_ON_EVERY_BUS(DhcpTest);

TEST_P(DhcpTest, GetsALeaseAndGivesItToTheChip) {
  begin({.routers = {pc_ip}, .dns_servers = {ipv4(192, 168, 1, 11), ipv4(192, 168, 1, 12)}, .lease_s = 7200});
  EXPECT_EQ(sipr(), 0u);
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  EXPECT_THAT(network().ip, ElementsAre(192, 168, 1, 100));
  EXPECT_THAT(network().subnet, ElementsAre(255, 255, 255, 0));
  EXPECT_THAT(network().gateway, ElementsAre(192, 168, 1, 10));
  EXPECT_THAT(network().mac, ElementsAre(2, 0, 0, 0, 0, 0x20));
  const DhcpLease& lease = client->lease();
  EXPECT_THAT(lease.server, ElementsAre(192, 168, 1, 10));
  EXPECT_THAT(lease.dns[0], ElementsAre(192, 168, 1, 11));
  EXPECT_THAT(lease.dns[1], ElementsAre(192, 168, 1, 12));
  EXPECT_EQ(lease.lease_s, 7200u);
  EXPECT_EQ(lease.renewal_s, 3600u);
  EXPECT_EQ(lease.rebinding_s, 6300u);
  EXPECT_EQ(client->counters().sent, 2u);
  EXPECT_EQ(client->counters().ignored, 0u);
}

TEST_P(DhcpTest, AcquiresInOneCall) {
  begin({}, {.probe = false});
  const Duration taken = time_of([&] { EXPECT_TRUE(client->acquire(1'000'000)); });
  EXPECT_LT(taken, 20ms);
  EXPECT_EQ(sipr(), pool_start);
}

TEST_P(DhcpTest, AcquiringEndsAtItsDeadline) {
  begin({.ignored_discovers = net::always});
  const Duration taken = time_of([&] { EXPECT_EQ(client->acquire(300'000).error(), Error::state_timeout); });
  EXPECT_GE(taken, 300ms);
  EXPECT_LT(taken, 310ms);
  EXPECT_EQ(sipr(), 0u);
}

TEST_P(DhcpTest, APollIsShortAndTakesTwoFramesWhileNothingComes) {
  begin({.ignored_discovers = net::always});
  EXPECT_TRUE(client->poll());
  idle(100ms);
  EXPECT_TRUE(client->poll());  // clears SENDOK
  EXPECT_LT(time_of([&] { EXPECT_TRUE(client->poll()); }), 100us);
}

TEST_P(DhcpTest, TheProbeTakesAsLongAsTheChipAsksForTheAddress) {
  begin({});
  const Duration with_probe = time_of([&] { ASSERT_TRUE(reach(DhcpState::bound, 5s)); });
  EXPECT_GE(with_probe, 1800ms);  // RTR x (RCR + 1)
  EXPECT_LT(with_probe, 1900ms);
}

TEST_P(DhcpTest, AsksAgainWhenDiscoversAreLost) {
  begin({.ignored_discovers = 2}, {.probe = false});
  const Duration taken = time_of([&] { ASSERT_TRUE(reach(DhcpState::bound, 60s)); });
  EXPECT_GE(taken, 10s);  // 4 and 8 seconds, each plus or minus one
  EXPECT_LE(taken, 14100ms);
  EXPECT_EQ(server->counters().discovers, 3u);
}

TEST_P(DhcpTest, AsksAgainWhenRequestsAreLost) {
  begin({.ignored_requests = 3}, {.probe = false});
  const Duration taken = time_of([&] { ASSERT_TRUE(reach(DhcpState::bound, 60s)); });
  EXPECT_GE(taken, 25s);
  EXPECT_LE(taken, 31100ms);
  EXPECT_EQ(server->counters().discovers, 1u);
  EXPECT_EQ(server->counters().requests, 4u);
}

TEST_P(DhcpTest, BeginsAnewWhenFourRequestsAreLost) {
  begin({.ignored_requests = 4}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 100s, 100ms));
  EXPECT_EQ(server->counters().discovers, 2u);
  EXPECT_EQ(server->counters().requests, 5u);
}

TEST_P(DhcpTest, WaitsAMinuteAtMostBetweenDiscovers) {
  begin({.ignored_discovers = net::always});
  poll_for(190s, 200ms);  // at about 0, 4, 12, 28, 60, 124 and 188 s
  EXPECT_EQ(server->counters().discovers, 7u);
  EXPECT_EQ(client->state(), DhcpState::selecting);
}

TEST_P(DhcpTest, BeginsAnewASecondAfterANak) {
  begin({.refused_requests = 1}, {.probe = false});
  const Duration taken = time_of([&] { ASSERT_TRUE(reach(DhcpState::bound, 10s)); });
  EXPECT_GE(taken, 1s);
  EXPECT_LT(taken, 1100ms);
  EXPECT_EQ(client->counters().naks, 1u);
  EXPECT_EQ(server->counters().discovers, 2u);
}

TEST_P(DhcpTest, ToldOfAnAddressThatIsTakenItDeclinesAndGetsAnother) {
  begin({.addresses = 2});
  occupy(pool_start);
  ASSERT_TRUE(reach(DhcpState::waiting, 5s));
  EXPECT_EQ(sipr(), 0u);
  EXPECT_EQ(client->counters().conflicts, 1u);
  const Duration taken = time_of([&] { ASSERT_TRUE(reach(DhcpState::bound, 20s)); });
  EXPECT_GE(taken, 10s);
  EXPECT_EQ(server->counters().declines, 1u);
  EXPECT_EQ(sipr(), pool_start + 1);
}

TEST_P(DhcpTest, DeclinesALeaseWhoseAddressAnotherStationAnnounces) {
  begin({.addresses = 2}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  announce(pool_start);
  EXPECT_TRUE(client->poll());
  EXPECT_EQ(client->state(), DhcpState::waiting);
  EXPECT_EQ(sipr(), 0u);
  idle(10ms);
  EXPECT_EQ(server->counters().declines, 1u);
  ASSERT_TRUE(reach(DhcpState::bound, 20s));
  EXPECT_EQ(sipr(), pool_start + 1);
}

TEST_P(DhcpTest, RenewsAtT1WithItsServer) {
  begin({.lease_s = 600}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  poll_for(298s, 1s);
  EXPECT_EQ(server->counters().requests, 1u);
  poll_for(4s, 100ms);
  EXPECT_EQ(server->counters().requests, 2u);
  EXPECT_EQ(server->counters().acks, 2u);
  EXPECT_EQ(client->state(), DhcpState::bound);
  EXPECT_LT(client->lease_age_s(), 5u);
  EXPECT_EQ(sipr(), pool_start);
}

TEST_P(DhcpTest, RenewsForHoursAndKeepsRightAcrossTheWrapOfTheClock) {
  begin({.lease_s = 3600}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  poll_for(110min, 10s);  // the clock wraps after 71.6 minutes
  EXPECT_EQ(server->counters().acks, 4u);
  EXPECT_EQ(server->counters().discovers, 1u);
  EXPECT_EQ(sipr(), pool_start);
}

TEST_P(DhcpTest, ASilentServerIsAskedAgainThenAnyServerThenAllBeginsAnew) {
  begin({.lease_s = 800, .ignored_requests = 0}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  server.reset();  // T1 400 s, T2 700 s
  std::optional<net::UdpPort> silent;
  std::vector<std::pair<Duration, wire::Ipv4Address>> asked;  // when, and with which address
  const Instant start = bed->now();
  silent.emplace(bed->pc(), Dhcp::server_port, [&](const net::UdpPort::Address& from, wizloop::Bytes payload) {
    const auto message = Dhcp::parse(payload);
    ASSERT_TRUE(message);
    asked.push_back({bed->now() - start, from.ip});
    EXPECT_EQ(message->type, Dhcp::Type::request);
    EXPECT_EQ(message->ciaddr, pool_start);
    EXPECT_FALSE(message->server_identifier);
    EXPECT_FALSE(message->requested_ip);
  });
  ASSERT_TRUE(reach(DhcpState::renewing, 405s, 1s));
  ASSERT_TRUE(reach(DhcpState::rebinding, 305s, 1s));
  const Instant rebinding = bed->now();
  while (client->state() == DhcpState::rebinding && bed->now() < rebinding + 110s) {
    EXPECT_EQ(sipr(), pool_start);
    EXPECT_TRUE(client->poll());
    if (client->state() != DhcpState::rebinding) break;
    idle(1s);
  }
  EXPECT_EQ(client->state(), DhcpState::selecting);
  EXPECT_EQ(sipr(), 0u);
  EXPECT_LE(bed->now() - start, 802s);
  std::vector<int> seconds;
  for (const auto& [at, from] : asked) seconds.push_back(static_cast<int>(at / 1s));
  // Half of what is left until T2, but a minute at least; then half of what is left of the lease.
  EXPECT_THAT(seconds, ElementsAre(testing::AllOf(testing::Ge(399), testing::Le(401)),
                                   testing::AllOf(testing::Ge(549), testing::Le(553)),
                                   testing::AllOf(testing::Ge(624), testing::Le(629)),
                                   testing::AllOf(testing::Ge(685), testing::Le(693)),
                                   testing::AllOf(testing::Ge(699), testing::Le(702)),
                                   testing::AllOf(testing::Ge(759), testing::Le(764))));
}

TEST_P(DhcpTest, AServerThatHasGoneDoesNotHoldUpThePolls) {
  begin({.lease_s = 600}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  bed->link().set_up(false);  // ARP for the server stays unanswered
  bed->chip().plug(false);
  Duration longest{};
  const Instant end = bed->now() + 310s;
  while (bed->now() < end) {
    longest = std::max(longest, time_of([&] { EXPECT_TRUE(client->poll()); }));
    idle(100ms);
  }
  EXPECT_EQ(client->state(), DhcpState::renewing);
  EXPECT_LT(longest, 5ms);
}

TEST_P(DhcpTest, ANakWhileRenewingTakesTheAddressAway) {
  begin({.lease_s = 600}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  server.reset();
  server.emplace(bed->pc(), DhcpServer::Config{.first = pool_start + 50, .lease_s = 600, .refused_requests = 1});
  ASSERT_TRUE(reach(DhcpState::waiting, 310s, 500ms));
  EXPECT_EQ(sipr(), 0u);
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  EXPECT_EQ(sipr(), pool_start + 50);
}

TEST_P(DhcpTest, AnInfiniteLeaseIsNeverRenewed) {
  begin({.lease_s = DhcpServer::infinite}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  poll_for(2h, 1h);
  EXPECT_EQ(server->counters().requests, 1u);
  EXPECT_EQ(sipr(), pool_start);
}

TEST_P(DhcpTest, ReleasesItsAddress) {
  begin({}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  EXPECT_TRUE(client->release());
  EXPECT_EQ(client->state(), DhcpState::stopped);
  EXPECT_EQ(sipr(), 0u);
  EXPECT_EQ(client->poll().value(), DhcpState::stopped);
  idle(11s);
  EXPECT_EQ(server->counters().releases, 1u);
  EXPECT_EQ(client->acquire(1'000'000).error(), Error::wrong_state);
  ASSERT_TRUE(client->start(mac));  // and may begin again
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
}

TEST_P(DhcpTest, ReleasingToAServerThatHasGoneSaysSo) {
  begin({}, {.probe = false});
  ASSERT_TRUE(reach(DhcpState::bound, 5s));
  bed->link().set_up(false);
  bed->chip().plug(false);
  EXPECT_EQ(client->release().error(), Error::peer_timeout);
  EXPECT_EQ(sipr(), 0u);
  EXPECT_EQ(client->state(), DhcpState::stopped);
}

TEST_P(DhcpTest, GetsALeaseOnACableThatLosesEachThirdFrame) {
  begin({}, {.probe = false}, {{"fault.link_loss", "every=3"}});
  EXPECT_TRUE(reach(DhcpState::bound, 200s, 100ms));
  EXPECT_EQ(sipr(), pool_start);
}

TEST_P(DhcpTest, TwoBoardsDoNotAskInStep) {
  begin({.ignored_discovers = net::always});
  std::vector<std::uint32_t> transactions;
  server.reset();
  net::UdpPort watch{bed->pc(), Dhcp::server_port, [&](const net::UdpPort::Address&, wizloop::Bytes payload) {
                       transactions.push_back(Dhcp::parse(payload)->xid);
                     }};
  EXPECT_TRUE(client->poll());
  idle(1ms);
  for (std::uint32_t seed : {0u, 0u, 1u}) {
    client.emplace(*chip, std::uint8_t{7}, DhcpOptions{.seed = seed});
    ASSERT_TRUE(client->start(mac));
    EXPECT_TRUE(client->poll());
    idle(1ms);
  }
  ASSERT_EQ(transactions.size(), 4u);
  EXPECT_EQ(transactions[0], transactions[1]);  // equal seeds, equal runs
  EXPECT_EQ(transactions[1], transactions[2]);
  EXPECT_NE(transactions[2], transactions[3]);
}

TEST_P(DhcpTest, ASendokThatTheChipLosesCostsOneWait) {
  begin({}, {.probe = false}, {{"fault.chip_sendok_lost", "nth=1"}});
  EXPECT_TRUE(reach(DhcpState::bound, 20s));
  EXPECT_EQ(sipr(), pool_start);
}

class DhcpOnABrokenDmaTest : public DhcpTest {};
INSTANTIATE_TEST_SUITE_P(OnItsBus, DhcpOnABrokenDmaTest, testing::Values(BusKind::dma), bus_name);

TEST_P(DhcpOnABrokenDmaTest, AFailedTransferIsReportedAndOvercome) {
  for (int nth = 1; nth < 60; ++nth) {
    SCOPED_TRACE(nth);
    begin({}, {.probe = false}, {{"fault.dma_never", "nth=" + std::to_string(nth)}});
    int errors = 0;
    while (client->state() != DhcpState::bound && bed->now() < Instant{30s}) {
      const auto state = client->poll();
      if (!state) {
        EXPECT_EQ(state.error(), Error::bus_failed);
        ++errors;
      }
      idle(10ms);
    }
    EXPECT_EQ(client->state(), DhcpState::bound);
    EXPECT_EQ(sipr(), pool_start);
    const bool unbroken = bed->fault(Fault::dma_never)->struck() == 0;
    EXPECT_EQ(errors, unbroken ? 0 : 1);
    TearDown();
    client.reset();
    server.reset();
    if (unbroken) return;
  }
  ADD_FAILURE() << "each run was broken";
}

// On a chip that counts frames.
class DhcpFramesTest : public DriverTest {};
WIZLOOP_ON_EVERY_BUS(DhcpFramesTest);

TEST_P(DhcpFramesTest, ADiscoverAndThePollsBehindIt) {
  DhcpClient client{chip, 7};
  ASSERT_TRUE(client.start(mac));
  // Nothing there (2), poll, address, 5 pieces of 64 bytes, pointer, SEND; and a poll for make_ready().
  EXPECT_EQ(frames_of([&] { EXPECT_TRUE(client.poll()); }), 12u);
  ASSERT_EQ(fake.sent(7).size(), 1u);
  EXPECT_EQ(fake.sent(7)[0].data.size(), 300u);
  EXPECT_EQ(frames_of([&] { EXPECT_TRUE(client.poll()); }), 3u);  // clears SENDOK
  EXPECT_EQ(frames_of([&] { EXPECT_TRUE(client.poll()); }), 2u);
}

// A server made by hand: each answer is given byte for byte.
class DhcpAnswersTest : public DhcpTest {
 protected:
  void SetUp() override {
    build();
    server_port.emplace(bed->pc(), Dhcp::server_port, [this](const net::UdpPort::Address&, wizloop::Bytes payload) {
      last.assign(payload.begin(), payload.end());
      asked.push_back(*Dhcp::parse(last));
    });
    begin_client({.host_name = "board-17", .probe = false});
    EXPECT_TRUE(client->poll());
    idle(10ms);
    ASSERT_EQ(asked.size(), 1u);
  }

  Dhcp answer(Dhcp::Type type) const {
    return {.op = Dhcp::reply,
            .xid = asked.back().xid,
            .yiaddr = pool_start,
            .chaddr = asked.back().chaddr,
            .type = type,
            .server_identifier = pc_ip,
            .subnet_mask = ipv4(255, 255, 0, 0),
            .lease_s = 100};
  }
  void say(const std::vector<std::uint8_t>& message) {
    server_port->send({wire::broadcast_ipv4, Dhcp::client_port}, message);
    idle(10ms);
    EXPECT_TRUE(client->poll());
    idle(10ms);
  }
  void say(const Dhcp& message) { say(message.emit()); }
  void accept_offer() {
    say(answer(Dhcp::Type::offer));
    ASSERT_EQ(client->state(), DhcpState::requesting);
    ASSERT_EQ(asked.size(), 2u);
  }

  std::optional<net::UdpPort> server_port;
  std::vector<std::uint8_t> last;
  std::vector<Dhcp> asked;
};
WIZLOOP_ON_EVERY_BUS(DhcpAnswersTest);

TEST_P(DhcpAnswersTest, TheDiscoverSaysWhoAsksForWhat) {
  const Dhcp discover = *Dhcp::parse(last);
  EXPECT_EQ(last.size(), 300u);
  EXPECT_EQ(discover.type, Dhcp::Type::discover);
  EXPECT_EQ(discover.op, Dhcp::request);
  EXPECT_TRUE(discover.wants_broadcast());
  EXPECT_EQ(discover.ciaddr, 0u);
  EXPECT_THAT(discover.chaddr, ElementsAre(2, 0, 0, 0, 0, 0x20));
  EXPECT_EQ(discover.host_name, "board-17");
  EXPECT_THAT(discover.client_identifier, ElementsAre(1, 2, 0, 0, 0, 0, 0x20));
  EXPECT_THAT(discover.parameter_list, ElementsAre(1, 3, 6, 51, 58, 59));
  EXPECT_FALSE(discover.requested_ip);
  EXPECT_FALSE(discover.server_identifier);
}

TEST_P(DhcpAnswersTest, TheRequestNamesTheOfferAndItsServer) {
  accept_offer();
  const Dhcp request = *Dhcp::parse(last);
  EXPECT_EQ(request.type, Dhcp::Type::request);
  EXPECT_EQ(request.xid, asked[0].xid);
  EXPECT_EQ(request.ciaddr, 0u);
  EXPECT_EQ(request.requested_ip, pool_start);
  EXPECT_EQ(request.server_identifier, pc_ip);
  EXPECT_EQ(request.host_name, "board-17");
  say(answer(Dhcp::Type::ack));
  EXPECT_EQ(client->state(), DhcpState::bound);
  EXPECT_THAT(network().subnet, ElementsAre(255, 255, 0, 0));
}

TEST_P(DhcpAnswersTest, WhatIsNoAnswerIsIgnored) {
  std::vector<std::vector<std::uint8_t>> wrong;
  const auto but = [&](auto change) {
    Dhcp message = answer(Dhcp::Type::offer);
    change(message);
    wrong.push_back(message.emit());
  };
  but([](Dhcp& m) { m.xid ^= 1; });
  but([](Dhcp& m) { m.chaddr[5] ^= 1; });
  but([](Dhcp& m) { m.op = Dhcp::request; });
  but([](Dhcp& m) { m.type = Dhcp::Type::ack; });
  but([](Dhcp& m) { m.type = Dhcp::Type::nak; });
  but([](Dhcp& m) { m.server_identifier.reset(); });
  but([](Dhcp& m) { m.lease_s.reset(); });
  but([](Dhcp& m) { m.lease_s = 0; });
  for (const wire::Ipv4Address ip : {0u, ipv4(127, 0, 0, 1), ipv4(224, 0, 0, 1), ipv4(255, 255, 255, 255)}) {
    but([&](Dhcp& m) { m.yiaddr = ip; });
  }
  std::vector<std::uint8_t> message = answer(Dhcp::Type::offer).emit();
  message[236] ^= 1;  // cookie
  wrong.push_back(message);
  message[236] ^= 1;
  message[2] = 8;  // hardware address length
  wrong.push_back(message);
  message[2] = 6;
  message[241] = 0;  // length of the type
  wrong.push_back(message);
  wrong.push_back({message.begin(), message.begin() + 239});
  wrong.push_back(std::vector<std::uint8_t>(1, 2));
  for (const auto& each : wrong) {
    say(each);
    EXPECT_EQ(client->state(), DhcpState::selecting);
  }
  EXPECT_EQ(client->counters().ignored, wrong.size());
  server_port.emplace(bed->pc(), std::uint16_t{6767}, [](const net::UdpPort::Address&, wizloop::Bytes) {});
  say(answer(Dhcp::Type::offer));  // from another port
  EXPECT_EQ(client->state(), DhcpState::selecting);
}

TEST_P(DhcpAnswersTest, AnAnswerCutShortAnywhereDoesNoHarm) {
  const std::vector<std::uint8_t> offer = answer(Dhcp::Type::offer).emit();
  constexpr std::size_t options_end = 240 + 3 + 3 * 6;  // type; server, lease, mask
  for (std::size_t size = 1; size < options_end; ++size) {
    if (size > 20 && size < 230 && size % 20 != 0) continue;
    // Cut behind an option it is whole, as the end mark may be missing, but the lease comes before the mask.
    if (size >= 240 + 3 + 2 * 6 && (size - 243) % 6 == 0) continue;
    say({offer.begin(), offer.begin() + static_cast<std::ptrdiff_t>(size)});
    ASSERT_EQ(client->state(), DhcpState::selecting) << size;
  }
  say(answer(Dhcp::Type::offer));
  EXPECT_EQ(client->state(), DhcpState::requesting);
}

TEST_P(DhcpAnswersTest, AnotherServersAnswersAreIgnored) {
  accept_offer();
  for (const Dhcp::Type type : {Dhcp::Type::offer, Dhcp::Type::ack, Dhcp::Type::nak}) {
    Dhcp message = answer(type);
    message.server_identifier = ipv4(192, 168, 1, 99);
    say(message);
    EXPECT_EQ(client->state(), DhcpState::requesting);
  }
  say(answer(Dhcp::Type::ack));
  EXPECT_EQ(client->state(), DhcpState::bound);
}

TEST_P(DhcpAnswersTest, OptionsMayGoOnInTheOtherFields) {
  accept_offer();
  Dhcp ack = answer(Dhcp::Type::ack);
  ack.lease_s.reset();
  ack.subnet_mask.reset();
  std::vector<std::uint8_t> message = ack.emit();
  const std::size_t end = 240 + 3 + 6;
  ASSERT_EQ(message[end], 255);
  const std::uint8_t overload[] = {52, 1, 3, 255};
  std::copy(std::begin(overload), std::end(overload), &message[end]);
  const std::uint8_t in_sname[] = {1, 4, 255, 255, 255, 128, 255};
  std::copy(std::begin(in_sname), std::end(in_sname), &message[44]);
  const std::uint8_t in_file[] = {0, 51, 4, 0, 0, 1, 0, 3, 8, 192, 168, 1, 1, 192, 168, 1, 2, 255};
  std::copy(std::begin(in_file), std::end(in_file), &message[108]);
  say(message);
  ASSERT_EQ(client->state(), DhcpState::bound);
  EXPECT_EQ(client->lease().lease_s, 256u);
  EXPECT_THAT(client->lease().subnet, ElementsAre(255, 255, 255, 128));
  EXPECT_THAT(client->lease().router, ElementsAre(192, 168, 1, 1));
}

TEST_P(DhcpAnswersTest, WhatTheServerLeftOutOrMadeNoSenseOfIsFilledIn) {
  accept_offer();
  Dhcp ack = answer(Dhcp::Type::ack);
  ack.yiaddr = ipv4(172, 16, 5, 6);
  ack.subnet_mask.reset();
  ack.renewal_s = 99;
  ack.rebinding_s = 100;  // not before the end of the lease
  say(ack);
  ASSERT_EQ(client->state(), DhcpState::bound);
  EXPECT_THAT(client->lease().subnet, ElementsAre(255, 255, 0, 0));  // class B
  EXPECT_THAT(client->lease().router, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(client->lease().rebinding_s, 88u);
  EXPECT_EQ(client->lease().renewal_s, 50u);
}

TEST_P(DhcpAnswersTest, AnAnswerToAnEarlierTransactionIsIgnored) {
  const Dhcp late = answer(Dhcp::Type::offer);
  say(answer(Dhcp::Type::offer));
  say(answer(Dhcp::Type::nak));
  ASSERT_TRUE(reach(DhcpState::selecting, 2s));
  say(late);
  EXPECT_EQ(client->state(), DhcpState::selecting);
}

TEST_P(DhcpAnswersTest, AFloodOfDatagramsDoesNotHoldUpAPoll) {
  for (int i = 0; i < 7; ++i)
    server_port->send({wire::broadcast_ipv4, Dhcp::client_port}, std::vector<std::uint8_t>(250));
  idle(10ms);
  EXPECT_LT(time_of([&] { EXPECT_TRUE(client->poll()); }), 10ms);
  EXPECT_EQ(client->counters().ignored, 4u);
}

}  // namespace
}  // namespace wizloop::test
