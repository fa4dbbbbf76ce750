#include "sim/net/services/dns_server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using wire::Dns;
using wire::DnsName;
using wire::ipv4;
using Rcode = Dns::Rcode;

constexpr UdpPort::Address client = {board_ip, 5353};
constexpr UdpPort::Address server_port = {pc_ip, Dns::port};

struct DnsServerTest : testing::Test {
  void start(DnsServer::Config config = {}) {
    config.names = {{"broker.lan", ipv4(10, 0, 0, 1)}, {"two.lan", ipv4(10, 0, 0, 2)}, {"two.lan", ipv4(10, 0, 0, 3)}};
    server.emplace(*net.pc, config);
  }
  static Dns query(std::string_view name, std::uint16_t type = Dns::type_a) {
    return {.header = {.id = 0xABCD, .recursion_desired = true},
            .question = Dns::Question{.name = *DnsName::of(name), .type = type}};
  }
  // The answer, if there is one within 10 ms.
  std::optional<Dns> ask(const Dns& question) {
    const std::vector<std::uint8_t> answer = exchange(question.emit());
    return answer.empty() ? std::nullopt : Dns::parse(answer);
  }
  std::vector<std::uint8_t> exchange(Bytes payload) {
    net.datagrams.clear();
    net.send_udp(client, server_port, payload);
    net.run(10ms);
    if (net.datagrams.empty()) return {};
    EXPECT_EQ(net.datagrams.size(), 1u);
    EXPECT_EQ(net.datagrams[0].datagram.header.source_port, 53);
    EXPECT_EQ(net.datagrams[0].datagram.header.destination_port, 5353);
    return net.datagrams[0].datagram.payload;
  }

  HostAndStation net{{}};
  std::optional<DnsServer> server;
};

TEST_F(DnsServerTest, AnswersByteForByte) {
  start();
  const std::uint8_t question[] = {0xAB, 0xCD, 0x01, 0x00, 0,   1,   0,   0, 0,   0,   0,   0,  //
                                   6,    'B',  'r',  'o',  'k', 'e', 'r', 3, 'l', 'a', 'n', 0, 0, 1, 0, 1};
  EXPECT_THAT(exchange(question), ElementsAre(0xAB, 0xCD, 0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0,                    //
                                              6, 'B', 'r', 'o', 'k', 'e', 'r', 3, 'l', 'a', 'n', 0, 0, 1, 0, 1,  //
                                              0xC0, 12, 0, 1, 0, 1, 0, 0, 1, 44, 0, 4, 10, 0, 0, 1));
  EXPECT_EQ(server->counters().queries, 1u);
  EXPECT_EQ(server->counters().answered, 1u);
}

TEST_F(DnsServerTest, GivesAllAddressesOfANameInTheirOrder) {
  start({.ttl_s = 7});
  const auto answer = ask(query("two.lan"));
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->answers.size(), 2u);
  EXPECT_THAT(answer->answers[0].data, ElementsAre(10, 0, 0, 2));
  EXPECT_THAT(answer->answers[1].data, ElementsAre(10, 0, 0, 3));
  EXPECT_EQ(answer->answers[1].ttl_s, 7u);
}

TEST_F(DnsServerTest, SaysThatOtherNamesDoNotExist) {
  start();
  const auto answer = ask(query("nowhere.lan"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header.rcode, Rcode::name_error);
  EXPECT_EQ(answer->header.id, 0xABCD);
  EXPECT_EQ(answer->question->name, DnsName::of("nowhere.lan"));
  EXPECT_EQ(answer->answers.size(), 0u);
  EXPECT_EQ(server->counters().unknown, 1u);
}

TEST_F(DnsServerTest, HasNoOtherRecordsThanAddresses) {
  start();
  constexpr std::uint16_t type_aaaa = 28;
  const auto answer = ask(query("broker.lan", type_aaaa));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header.rcode, Rcode::no_error);
  EXPECT_EQ(answer->answers.size(), 0u);
  EXPECT_EQ(server->counters().without_address, 1u);
  EXPECT_EQ(ask(query("broker.lan", Dns::type_any))->answers.size(), 1u);
}

TEST_F(DnsServerTest, ServesNothingButQueriesAboutTheInternet) {
  start();
  Dns other = query("broker.lan");
  other.question->klass = 3;
  EXPECT_EQ(ask(other)->header.rcode, Rcode::refused);
  other.question->klass = Dns::class_any;
  EXPECT_EQ(ask(other)->header.rcode, Rcode::no_error);
  other.header.opcode = 4;
  const std::vector<std::uint8_t> answer = exchange(other.emit());
  EXPECT_THAT(answer, ElementsAre(0xAB, 0xCD, 0xA1, 0x84, 0, 0, 0, 0, 0, 0, 0, 0));
  EXPECT_EQ(server->counters().not_served, 2u);
}

TEST_F(DnsServerTest, ToleratesEdns) {
  start();
  std::vector<std::uint8_t> question = query("broker.lan").emit();
  question[11] = 1;
  const std::uint8_t opt[] = {0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0};
  question.insert(question.end(), std::begin(opt), std::end(opt));
  const auto answer = Dns::parse(exchange(question));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->answers.size(), 1u);
  EXPECT_EQ(answer->header.other_count, 0);
}

TEST_F(DnsServerTest, AnswersABrokenQuestionWithAFormatError) {
  start();
  const std::vector<std::uint8_t> question = query("broker.lan").emit();
  for (std::size_t size = Dns::header_bytes; size < question.size(); ++size) {
    EXPECT_THAT(exchange(Bytes{question}.first(size)), ElementsAre(0xAB, 0xCD, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0))
        << size;
  }
  EXPECT_EQ(server->counters().malformed, question.size() - Dns::header_bytes);
}

TEST_F(DnsServerTest, IsSilentToAnswersAndToWhatIsTooShort) {
  start();
  Dns answer = query("broker.lan");
  answer.header.response = true;
  EXPECT_TRUE(exchange(answer.emit()).empty());
  EXPECT_TRUE(exchange(Bytes{query("a").emit()}.first(11)).empty());
  EXPECT_TRUE(exchange({}).empty());
  EXPECT_EQ(server->counters().malformed, 3u);
  EXPECT_EQ(server->counters().queries, 0u);
}

TEST_F(DnsServerTest, IgnoresFailsAndTruncatesAsOftenAsItIsTold) {
  start({.ignored_queries = 2, .failed_queries = 1, .truncated_queries = 1});
  EXPECT_FALSE(ask(query("broker.lan")));
  EXPECT_FALSE(ask(query("broker.lan")));
  EXPECT_EQ(ask(query("broker.lan"))->header.rcode, Rcode::server_failure);
  const auto truncated = ask(query("broker.lan"));
  ASSERT_TRUE(truncated);
  EXPECT_TRUE(truncated->header.truncated);
  EXPECT_EQ(truncated->answers.size(), 0u);
  EXPECT_EQ(ask(query("broker.lan"))->answers.size(), 1u);
  EXPECT_EQ(server->counters().queries, 5u);
  EXPECT_EQ(server->counters().ignored, 2u);
  EXPECT_EQ(server->counters().failed, 1u);
  EXPECT_EQ(server->counters().truncated, 1u);
}

TEST_F(DnsServerTest, AnswersLateByItsDelay) {
  start({.answer_delay = 3s});
  net.pc->resolve(board_ip);
  net.run(1ms);
  const std::vector<std::uint8_t> question = query("broker.lan").emit();
  const Instant asked = net.send_udp(client, server_port, question);
  net.run(10s);
  ASSERT_EQ(net.datagrams.size(), 1u);
  EXPECT_EQ(net.datagrams[0].at, asked + 3s + wire::time_on_wire(42 + question.size() + 16, fast_ethernet));
}

TEST_F(DnsServerTest, CutsAnAnswerOfTooManyAddressesAtHalfAKilobyte) {
  std::vector<DnsServer::Entry> names(100, {"x", ipv4(10, 0, 0, 1)});
  server.emplace(*net.pc, DnsServer::Config{.names = names});
  const std::vector<std::uint8_t> payload = exchange(query("x").emit());
  EXPECT_LE(payload.size(), 512u);
  const auto answer = Dns::parse(payload);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->header.truncated);
  EXPECT_EQ(answer->answers.size(), (512u - 19u) / 16u);
  EXPECT_EQ(server->counters().truncated, 1u);
}

TEST_F(DnsServerTest, SurvivesWhateverComes) {
  start();
  RandomStream random = Random{9}.stream("dns");
  for (int i = 0; i < 2000; ++i) {
    std::vector<std::uint8_t> payload = query(random.below(2) == 0 ? "broker.lan" : "x").emit();
    for (std::size_t n = random.below(6); n > 0; --n) {
      payload[random.below(payload.size())] = static_cast<std::uint8_t>(random.next());
    }
    payload.resize(random.below(4) == 0 ? random.below(1472) : payload.size());
    net.send_udp(random.below(8) == 0 ? UdpPort::Address{0, 68} : client, server_port, payload);
    net.run(1ms);
  }
  EXPECT_GT(server->counters().answered, 100u);
  EXPECT_GT(server->counters().malformed, 100u);
  EXPECT_GT(server->counters().unknown, 100u);
}

}  // namespace
}  // namespace wizloop::net
