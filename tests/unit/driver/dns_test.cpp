#include "drivers/w5500/dns.hpp"

#include <array>

#include "sim/net/services/dns_server.hpp"
#include "tests/unit/driver/testbed_test.hpp"

namespace wizloop::test {
namespace {

using net::DnsServer;
using testbed::pc_ip;
using testing::ElementsAre;
using w5500::DnsAnswer;
using w5500::DnsResolver;
using w5500::Result;
using wire::Dns;
using wire::DnsName;
using wire::ipv4;

constexpr std::uint8_t only_pc[2][4] = {{192, 168, 1, 10}, {}};
constexpr std::uint8_t pc_twice[2][4] = {{192, 168, 1, 10}, {192, 168, 1, 10}};
constexpr std::uint8_t absent_then_pc[2][4] = {{192, 168, 1, 77}, {192, 168, 1, 10}};

class DnsTest : public TestbedTest {
 protected:
  void build_board(const Settings& settings = {}) {
    build_with_address(settings);
    dns.emplace(*chip, std::uint8_t{6}, buffer.data(), static_cast<std::uint16_t>(buffer.size()), 1u);
  }
  void begin(DnsServer::Config config = {}, const Settings& settings = {}) {
    build_board(settings);
    if (config.names.empty()) {
      config.names = {{"broker.lan", ipv4(10, 0, 0, 1)}, {"many.lan", ipv4(10, 0, 0, 2)}};
      for (std::uint8_t n = 3; n < 9; ++n) config.names.push_back({"many.lan", ipv4(10, 0, 0, n)});
    }
    server.emplace(bed->pc(), config);
  }

  std::array<std::uint8_t, 512> buffer{};
  std::optional<DnsServer> server;
  std::optional<DnsResolver> dns;
};
WIZLOOP_ON_EVERY_BUS(DnsTest);

TEST_P(DnsTest, FindsAnAddress) {
  begin({.ttl_s = 77});
  const Duration taken = time_of([&] {
    const Result<DnsAnswer> found = dns->resolve("broker.lan", only_pc);
    ASSERT_TRUE(found) << found.error();
    EXPECT_EQ(found.value().count, 1);
    EXPECT_THAT(found.value().ip[0], ElementsAre(10, 0, 0, 1));
    EXPECT_EQ(found.value().ttl_s, 77u);
  });
  EXPECT_LT(taken, 5ms);
}

TEST_P(DnsTest, FindsSeveralLookUpsLong) {
  begin();
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(dns->resolve(i % 2 == 0 ? "BROKER.lan." : "many.LAN", only_pc));
  EXPECT_EQ(server->counters().answered, 10u);
}

TEST_P(DnsTest, KeepsTheFirstFourAddresses) {
  begin();
  const Result<DnsAnswer> found = dns->resolve("many.lan", only_pc);
  ASSERT_TRUE(found);
  EXPECT_EQ(found.value().count, 4);
  EXPECT_THAT(found.value().ip[3], ElementsAre(10, 0, 0, 5));
}

TEST_P(DnsTest, ANameThatDoesNotExistIsSaidAtOnce) {
  begin();
  const Duration taken = time_of([&] { EXPECT_EQ(dns->resolve("nobody.lan", pc_twice).error(), Error::no_such_name); });
  EXPECT_LT(taken, 5ms);
  EXPECT_EQ(server->counters().queries, 1u);
}

TEST_P(DnsTest, RefusesWhatIsNoName) {
  begin();
  const std::string long_label(64, 'a');
  const std::string longest =
      std::string(63, 'a') + "." + std::string(63, 'b') + "." + std::string(63, 'c') + "." + std::string(61, 'd');
  for (const std::string& name : {std::string{}, std::string{"."}, std::string{".a"}, std::string{"a..b"}, long_label,
                                  "x." + long_label, longest + "d", longest + ".e"}) {
    EXPECT_EQ(dns->start(name.c_str(), only_pc).error(), Error::invalid_argument) << name;
  }
  EXPECT_EQ(dns->start(nullptr, only_pc).error(), Error::invalid_argument);
  EXPECT_EQ(dns->start("broker.lan", {{}, {}}).error(), Error::invalid_argument);
  EXPECT_EQ(dns->poll().error(), Error::wrong_state);
  EXPECT_EQ(dns->resolve(longest.c_str(), only_pc).error(), Error::no_such_name);
  EXPECT_EQ(dns->resolve((longest + ".").c_str(), only_pc).error(), Error::no_such_name);
  EXPECT_EQ(server->counters().malformed, 0u);
}

TEST_P(DnsTest, RefusesABufferThatIsTooSmall) {
  begin();
  DnsResolver small{*chip, 6, buffer.data(), 127};
  EXPECT_EQ(small.start("broker.lan", only_pc).error(), Error::invalid_argument);
  DnsResolver none{*chip, 6, nullptr, 512};
  EXPECT_EQ(none.start("broker.lan", only_pc).error(), Error::invalid_argument);
  DnsResolver enough{*chip, 6, buffer.data(), 128};
  EXPECT_TRUE(enough.resolve("broker.lan", only_pc));
  EXPECT_EQ(enough.start(std::string(40, 'a').append(".").append(80, 'b').c_str(), only_pc).error(),
            Error::invalid_argument);
  // Cut to the buffer, but with an address in what is left.
  const Result<DnsAnswer> found = enough.resolve("many.lan", only_pc);
  ASSERT_TRUE(found);
  EXPECT_EQ(found.value().count, 4);
}

TEST_P(DnsTest, AsksAgainInEachRound) {
  begin({.ignored_queries = 2});
  const Duration taken = time_of([&] { EXPECT_TRUE(dns->resolve("broker.lan", only_pc)); });
  EXPECT_GE(taken, 3s);
  EXPECT_LT(taken, 3100ms);
  EXPECT_EQ(server->counters().queries, 3u);
}

TEST_P(DnsTest, GivesUpAfterThreeRounds) {
  begin({.ignored_queries = net::always});
  const Duration taken = time_of([&] { EXPECT_EQ(dns->resolve("broker.lan", only_pc).error(), Error::no_answer); });
  EXPECT_GE(taken, 7s);
  EXPECT_LT(taken, 7100ms);
  EXPECT_EQ(server->counters().queries, 3u);
}

TEST_P(DnsTest, GivesUpAtItsDeadline) {
  begin({.ignored_queries = net::always});
  const Duration taken =
      time_of([&] { EXPECT_EQ(dns->resolve("broker.lan", only_pc, 500'000).error(), Error::no_answer); });
  EXPECT_GE(taken, 500ms);
  EXPECT_LT(taken, 510ms);
}

TEST_P(DnsTest, AsksTheSecondServerWhenTheFirstIsAbsent) {
  begin();
  const Duration taken = time_of([&] { EXPECT_TRUE(dns->resolve("broker.lan", absent_then_pc)); });
  EXPECT_GE(taken, 1s);
  EXPECT_LT(taken, 1100ms);
}

TEST_P(DnsTest, ThePollsOfALookUpAreShort) {
  begin({.ignored_queries = net::always});
  ASSERT_TRUE(dns->start("broker.lan", absent_then_pc));
  Duration longest{};
  for (int i = 0; i < 500; ++i) {
    longest = std::max(longest, time_of([&] { EXPECT_FALSE(dns->poll().value()); }));
    idle(10ms);
  }
  EXPECT_LT(longest, 3ms);
  EXPECT_TRUE(dns->stop());
  EXPECT_EQ(dns->poll().error(), Error::wrong_state);
}

TEST_P(DnsTest, AServerThatFailsIsNotAskedAgain) {
  begin({.failed_queries = 1});
  EXPECT_TRUE(dns->resolve("broker.lan", pc_twice));
  EXPECT_EQ(server->counters().queries, 2u);
}

TEST_P(DnsTest, WhenAllServersFailThatIsSaidAtOnce) {
  begin({.failed_queries = 2});
  const Duration taken =
      time_of([&] { EXPECT_EQ(dns->resolve("broker.lan", pc_twice).error(), Error::server_failed); });
  EXPECT_LT(taken, 10ms);
}

TEST_P(DnsTest, AnAnswerCutShortIsReported) {
  begin({.truncated_queries = 2});
  EXPECT_EQ(dns->resolve("broker.lan", pc_twice).error(), Error::answer_truncated);
  EXPECT_TRUE(dns->resolve("broker.lan", only_pc));
}

TEST_P(DnsTest, ALateAnswerCounts) {
  begin({.answer_delay = 1500ms});
  const Duration taken = time_of([&] { EXPECT_TRUE(dns->resolve("broker.lan", only_pc)); });
  EXPECT_GE(taken, 1500ms);
  EXPECT_LT(taken, 1600ms);
}

TEST_P(DnsTest, FindsAnAddressOnACableThatLosesEachThirdFrame) {
  begin({}, {{"fault.link_loss", "every=3"}});
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(dns->resolve("broker.lan", only_pc)) << i;
}

TEST_P(DnsTest, WithoutACableThereIsNoAnswer) {
  begin();
  bed->link().set_up(false);
  bed->chip().plug(false);
  EXPECT_EQ(dns->resolve("broker.lan", absent_then_pc).error(), Error::no_answer);
}

class DnsOnABrokenDmaTest : public DnsTest {};
INSTANTIATE_TEST_SUITE_P(OnItsBus, DnsOnABrokenDmaTest, testing::Values(BusKind::dma), bus_name);

TEST_P(DnsOnABrokenDmaTest, AFailedTransferEndsOneLookUp) {
  for (int nth = 1; nth < 40; ++nth) {
    SCOPED_TRACE(nth);
    begin({}, {{"fault.dma_never", "nth=" + std::to_string(nth)}});
    const Error error = dns->resolve("broker.lan", only_pc).error();
    const bool unbroken = bed->fault(Fault::dma_never)->struck() == 0;
    EXPECT_EQ(error, unbroken ? Error::none : Error::bus_failed);
    if (unbroken) return;
    EXPECT_EQ(dns->resolve("broker.lan", only_pc).error(), Error::none);
    TearDown();
    server.reset();
  }
  ADD_FAILURE() << "each run was broken";
}

// On a chip that counts frames.
class DnsFramesTest : public DriverTest {};
WIZLOOP_ON_EVERY_BUS(DnsFramesTest);

TEST_P(DnsFramesTest, AQueryAndThePollsBehindIt) {
  std::array<std::uint8_t, 512> buffer;
  DnsResolver dns{chip, 6, buffer.data(), 512};
  ASSERT_TRUE(dns.start("broker.lan", only_pc));
  // Nothing there (2), poll, then as send_to(): data, poll, address, pointer, SEND.
  EXPECT_EQ(frames_of([&] { EXPECT_FALSE(dns.poll().value()); }), 8u);
  EXPECT_EQ(frames_of([&] { EXPECT_FALSE(dns.poll().value()); }), 3u);  // clears SENDOK
  EXPECT_EQ(frames_of([&] { EXPECT_FALSE(dns.poll().value()); }), 2u);
}

// A server made by hand: each answer is given byte for byte, with the number of the query.
class DnsAnswersTest : public DnsTest {
 protected:
  void SetUp() override {
    build_board();
    port53.emplace(bed->pc(), Dns::port, [this](const net::UdpPort::Address& from, wizloop::Bytes query) {
      asker = from;
      last.assign(query.begin(), query.end());
      for (const Bytes& message : answers) {
        Bytes numbered = message;
        if (numbered.size() >= 2 && keeps_number) std::copy_n(last.begin(), 2, numbered.begin());
        port53->send(from, numbered);
      }
    });
  }

  // Header and question "a.b", then records as given.
  static Bytes answer(std::uint8_t records, const Bytes& rest, std::uint8_t flags = 0x84, std::uint8_t rcode = 0) {
    Bytes message = {0, 0, flags, rcode, 0, 1, 0, records, 0, 0, 0, 0, 1, 'a', 1, 'b', 0, 0, 1, 0, 1};
    message.insert(message.end(), rest.begin(), rest.end());
    return message;
  }
  static Bytes join(std::initializer_list<Bytes> parts) {
    Bytes all;
    for (const Bytes& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  static Bytes record(const Bytes& name, std::uint8_t type, const Bytes& data, std::uint8_t klass = 1) {
    return join({name, {0, type, 0, klass, 0, 0, 0, 9, 0, static_cast<std::uint8_t>(data.size())}, data});
  }
  static Bytes address(const Bytes& name, std::uint8_t last_byte) { return record(name, 1, {10, 0, 0, last_byte}); }

  Error outcome(std::uint32_t timeout_us = 200'000) {
    const Result<DnsAnswer> found = dns->resolve("a.b", only_pc, timeout_us);
    if (found) address_found = found.value().ip[0][3];
    return found.error();
  }

  static inline const Bytes question = {0xC0, 12};  // a pointer to its name
  std::optional<net::UdpPort> port53;
  net::UdpPort::Address asker;
  Bytes last;
  std::vector<Bytes> answers;
  bool keeps_number = true;
  int address_found = 0;
};
WIZLOOP_ON_EVERY_BUS(DnsAnswersTest);

TEST_P(DnsAnswersTest, AsksByTheBook) {
  answers = {answer(1, address(question, 1))};
  EXPECT_EQ(outcome(), Error::none);
  ASSERT_EQ(last.size(), 21u);
  EXPECT_EQ(Bytes(last.begin() + 2, last.end()), (Bytes{1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 'a', 1, 'b', 0, 0, 1, 0, 1}));
  EXPECT_GE(asker.port, 49152);
}

TEST_P(DnsAnswersTest, FollowsAliasesInAnyOrder) {
  // a.b -> c.a.b -> d; offsets: the first record at 21, its data at 21 + 12.
  const Bytes first = record(question, 5, {1, 'c', 0xC0, 12});
  const Bytes c = {0xC0, 33};
  const Bytes second = record(c, 5, {1, 'd', 0});
  const Bytes d = {1, 'D', 0};  // without regard to case
  answers = {answer(3, join({first, second, address(d, 7)}))};
  EXPECT_EQ(outcome(), Error::none);
  EXPECT_EQ(address_found, 7);
  const Bytes full_c = {1, 'c', 1, 'a', 1, 'b', 0};
  answers = {answer(
      4, join({address(d, 8), record(full_c, 5, {1, 'd', 0}), address({1, 'x', 0}, 9), record(question, 5, full_c)}))};
  EXPECT_EQ(outcome(), Error::none);
  EXPECT_EQ(address_found, 8);
}

TEST_P(DnsAnswersTest, AnAliasWithoutAddressIsNoAddress) {
  answers = {answer(1, record(question, 5, {1, 'c', 0}))};
  EXPECT_EQ(outcome(), Error::no_address);
  answers = {answer(0, {})};
  EXPECT_EQ(outcome(), Error::no_address);
  answers = {answer(1, record(question, 28, Bytes(16)))};  // IPv6
  EXPECT_EQ(outcome(), Error::no_address);
  answers = {answer(1, record(question, 1, {1, 2, 3, 4}, 3))};  // another class
  EXPECT_EQ(outcome(), Error::no_address);
  answers = {answer(1, address({1, 'z', 0}, 1))};  // somebody else's
  EXPECT_EQ(outcome(), Error::no_address);
}

TEST_P(DnsAnswersTest, RingsOfAliasesAndPointersEnd) {
  answers = {answer(2, join({record(question, 5, {1, 'c', 0}), record({1, 'c', 0}, 5, question)}))};
  EXPECT_EQ(outcome(), Error::server_failed);
  answers = {answer(1, record({0xC0, 21}, 1, {1, 2, 3, 4}))};  // to itself
  EXPECT_EQ(outcome(), Error::no_address);
  answers = {answer(1, record({1, 'q', 0xC0, 21}, 1, {1, 2, 3, 4}))};  // to its own label, for ever
  EXPECT_EQ(outcome(), Error::no_address);
}

TEST_P(DnsAnswersTest, WhatDoesNotAnswerTheQuestionIsIgnored) {
  Bytes another = answer(1, address(question, 1));
  another[13] = 'x';
  Bytes another_type = answer(1, address(question, 1));
  another_type[18] = 28;
  Bytes another_class = answer(1, address(question, 1));
  another_class[20] = 3;
  Bytes nul = answer(1, address(question, 1));
  nul[15] = 0;
  Bytes dot = {0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0, 3, 'a', '.', 'b', 0, 0, 1, 0, 1};
  Bytes longer = {0, 0, 0x84, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 'a', 0, 'b', 0, 0, 0, 1, 0, 1};
  Bytes two = answer(1, address(question, 1));
  two[5] = 2;
  answers = {another,
             another_type,
             another_class,
             nul,
             dot,
             longer,
             two,
             answer(1, address(question, 1), 0x04),  // no response
             answer(1, address(question, 1), 0x94),  // another operation
             Bytes(11, 0x84),
             answer(1, address(question, 5))};
  EXPECT_EQ(outcome(), Error::none);
  EXPECT_EQ(address_found, 5);
  answers.pop_back();
  EXPECT_EQ(outcome(), Error::no_answer);
  keeps_number = false;
  answers = {answer(1, address(question, 1))};
  EXPECT_EQ(outcome(), Error::no_answer);
}

TEST_P(DnsAnswersTest, AnAnswerCutShortAnywhereDoesNoHarm) {
  const Bytes whole = answer(2, join({record(question, 5, {1, 'c', 0xC0, 12}), address({0xC0, 33}, 3)}));
  for (std::size_t size = 1; size < whole.size(); ++size) {
    answers = {Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))};
    const Error error = outcome(3'000);
    EXPECT_EQ(error, size < 21 ? Error::no_answer : Error::server_failed) << size;
  }
  answers = {whole};
  EXPECT_EQ(outcome(), Error::none);
}

TEST_P(DnsAnswersTest, AFailureMayLeaveTheQuestionOut) {
  answers = {{0, 0, 0x80, 5, 0, 0, 0, 0, 0, 0, 0, 0}};
  EXPECT_EQ(outcome(), Error::server_failed);
  answers = {answer(0, {}, 0x84, 3)};
  EXPECT_EQ(outcome(), Error::no_such_name);
}

TEST_P(DnsAnswersTest, AnAddressInAnAnswerCutShortIsTaken) {
  answers = {answer(2, address(question, 4), 0x86)};
  EXPECT_EQ(outcome(), Error::none);
  EXPECT_EQ(address_found, 4);
  answers = {answer(1, record(question, 5, {1, 'c', 0}), 0x86)};
  EXPECT_EQ(outcome(), Error::answer_truncated);
}

TEST_P(DnsAnswersTest, NumbersAndPortsDiffer) {
  answers = {answer(1, address(question, 1))};
  std::vector<int> seen;
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(outcome(), Error::none);
    seen.push_back(last[0] << 8 | last[1]);
    seen.push_back(asker.port);
  }
  std::sort(seen.begin(), seen.end());
  EXPECT_EQ(std::adjacent_find(seen.begin(), seen.end()), seen.end());
}

TEST_P(DnsAnswersTest, NoiseDoesNoHarm) {
  RandomStream noise = Random{7}.stream("noise");
  for (int i = 0; i < 100; ++i) {
    Bytes message = answer(3, {});
    while (message.size() < 120)
      message.push_back(static_cast<std::uint8_t>(noise.below(4) == 0 ? 0xC0 : noise.below(40)));
    answers = {message};
    const Error error = outcome(2'000);
    EXPECT_THAT(error, testing::AnyOf(Error::none, Error::no_answer, Error::no_address, Error::server_failed));
  }
}

}  // namespace
}  // namespace wizloop::test
