// tcp-server, with clients on the PC that play scripts.
#include <random>

#include "sim/net/services/tcp_source.hpp"
#include "tests/unit/board/board_fixture.hpp"
#include "tests/unit/board/script_client.hpp"

namespace wizloop::test {
namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string word(std::uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16), static_cast<char>(value >> 8),
          static_cast<char>(value)};
}

std::string pattern_text(std::size_t count) {
  std::string text(count, 0);
  for (std::size_t i = 0; i < count; ++i) text[i] = static_cast<char>(i);
  return text;
}

std::string iperf_header(std::uint32_t flags, std::uint32_t port, std::uint32_t amount) {
  return word(flags) + word(1) + word(port) + word(131072) + word(0) + word(amount) + std::string(36, '\0');
}

class TcpServer : public BoardTest {
 protected:
  // Connects when the server has had time to listen.
  std::unique_ptr<ScriptClient> client;
  std::unique_ptr<ScriptClient> second;
  void connect(std::uint16_t port, std::function<void(ScriptClient&)> script = {}) {
    board->queue().schedule(5ms, [this, port, script = std::make_shared<decltype(script)>(std::move(script))] {
      client = std::make_unique<ScriptClient>(pc(), testbed::board_ip, port);
      if (*script) (*script)(*client);
    });
  }
};

TEST_F(TcpServer, SinkChecksWhatComes) {
  connect(7000, [](ScriptClient& c) { c.after(0, pattern_text(20000) + "x").close_after(0); });
  const std::string answer = ask("tcp-server port=7000 mode=sink conns=1");
  EXPECT_THAT(answer, StartsWith("ok conns=1 ended=1 bytes_in=20001 bytes_out=0 bad=1 us="));
  EXPECT_THAT(board->heard(),
              testing::ElementsAre(AllOf(StartsWith("! conn seq=2 peer=192.168.1.10:"),
                                         HasSubstr(" in=20001 out=0 bad=1 us="), EndsWith(" closed=ok"))));
}

TEST_F(TcpServer, SourceSendsWhatItWasToldTo) {
  connect(7000);
  EXPECT_THAT(ask("tcp-server port=7000 mode=source bytes=30000 conns=1"),
              StartsWith("ok conns=1 ended=1 bytes_in=0 bytes_out=30000 "));
  EXPECT_EQ(client->received, pattern_text(30000));
  EXPECT_TRUE(client->peer_closed);
}

TEST_F(TcpServer, EchoServesTwoAtOnce) {
  connect(7000, [](ScriptClient& c) { c.after(0, "hello").close_after(105).after(5, std::string(100, 'x')); });
  board->queue().schedule(6ms, [this] {
    second = std::make_unique<ScriptClient>(pc(), testbed::board_ip, 7000);
    second->after(0, std::string(5000, 'y')).close_after(5000);
  });
  at(300ms, "\x03");
  client = nullptr;
  EXPECT_THAT(ask("tcp-server port=7000 mode=echo"), StartsWith("err cancelled conns=2 "));
  EXPECT_THAT(client->received, StartsWith("hello"));
  EXPECT_EQ(second->received, std::string(5000, 'y'));
}

TEST_F(TcpServer, EndsAfterItsTime) {
  const Instant start = board->now();
  EXPECT_THAT(ask("tcp-server port=7000 mode=sink s=3"), StartsWith("ok conns=0 ended=0 "));
  EXPECT_GE(board->now() - start, 3s);
  EXPECT_LT(board->now() - start, 3010ms);
}

TEST_F(TcpServer, ClientThatSaysNothingKeepsNobodyOut) {
  connect(7000);
  board->queue().schedule(20ms, [this] {
    second = std::make_unique<ScriptClient>(pc(), testbed::board_ip, 7000);
    second->after(0, pattern_text(1000)).close_after(0);
  });
  EXPECT_THAT(ask("tcp-server port=7000 mode=sink conns=1"), HasSubstr("bytes_in=1000 "));
}

TEST_F(TcpServer, IperfServesTwoStreamsAtOnce) {
  connect(5001, [](ScriptClient& c) {
    c.after(0, iperf_header(0x40010078, 5001, 0xFFFFFF9C) + std::string(30000, '7')).close_after(0);
  });
  board->queue().schedule(5ms, [this] {
    second = std::make_unique<ScriptClient>(pc(), testbed::board_ip, 5001);
    second->after(0, iperf_header(0x40010078, 5001, 0xFFFFFF9C) + std::string(30000, '8')).close_after(0);
  });
  EXPECT_THAT(ask("tcp-server mode=iperf conns=2"), StartsWith("ok conns=2 ended=2 bytes_in=60120 "));
}

TEST_F(TcpServer, CancelledAtAnyMomentLeavesNoSocketOpen) {
  for (Duration moment = 4900us; moment < 9ms; moment += 100us) {
    connect(7000);
    at(moment, "\x03");
    EXPECT_THAT(ask("tcp-server port=7000 mode=source bytes=100"), StartsWith("err cancelled "));
    EXPECT_THAT(ask("udp-recv port=7000 timeout_ms=1"), StartsWith("err timeout ")) << moment / 1us;
    board->run_until(board->now() + 10ms);  // whoever has connected too late is refused
  }
}

TEST_F(TcpServer, PartsFromAPeerThatHasGoneSilent) {
  connect(7000);
  board->queue().schedule(20ms, [this] { board->testbed().link().set_up(false); });
  at(40ms, "\x03");
  EXPECT_THAT(ask("tcp-server port=7000 mode=source"), StartsWith("err cancelled conns=1 ended=1 "));
  EXPECT_THAT(board->heard(), testing::Contains(EndsWith(" closed=state-timeout")));
}

// The fourth SEND never ends as far as firmware can see.
class TcpServerWithoutSendok : public BoardTest {
 protected:
  TcpServerWithoutSendok() : BoardTest{kind.make(setup())} {}

  static board::BoardSetup setup() {
    board::BoardSetup setup = setup_of("w55rp20");
    WIZ_ASSERT(testbed::apply_setting(setup.testbed, "fault.chip_sendok_lost", "nth=4"));
    return setup;
  }
};

TEST_F(TcpServerWithoutSendok, GivesUpAndSaysGoodbyeAllTheSame) {
  std::unique_ptr<ScriptClient> client;
  board->queue().schedule(5ms, [&] { client = std::make_unique<ScriptClient>(pc(), testbed::board_ip, 7000); });
  at(40ms, "\x03");
  EXPECT_THAT(ask("tcp-server port=7000 mode=source"), StartsWith("err cancelled conns=1 ended=1 "));
  EXPECT_THAT(board->heard(), testing::Contains(EndsWith(" closed=state-timeout")));
  EXPECT_TRUE(client->peer_closed);
}

TEST_F(TcpServer, WantsItsMode) {
  EXPECT_EQ(ask("tcp-server port=7000"), "err missing-key mode");
  EXPECT_EQ(ask("tcp-server mode=sink"), "err missing-key port");
}

class Http : public TcpServer {
 protected:
  std::string get(std::string_view request) {
    connect(80, [request = std::string{request}](ScriptClient& c) { c.after(0, request); });
    EXPECT_THAT(ask("tcp-server mode=http conns=1"), StartsWith("ok conns=1 ended=1 "));
    EXPECT_TRUE(client->peer_closed);
    return client->received;
  }
};

TEST_F(Http, ServesItsPage) {
  const std::string answer = get("GET / HTTP/1.1\r\nHost: board\r\nUser-Agent: test\r\n\r\n");
  EXPECT_THAT(answer, StartsWith("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: "));
  EXPECT_THAT(answer, HasSubstr("\r\nConnection: close\r\n\r\n<!DOCTYPE html>"));
  EXPECT_THAT(answer, HasSubstr("W5500 at 192.168.1.20, firmware 0.1.0"));
  const std::size_t body = answer.size() - (answer.find("\r\n\r\n") + 4);
  EXPECT_THAT(answer, HasSubstr("Content-Length: " + std::to_string(body) + "\r\n"));
}

TEST_F(Http, ServesItsStatsAsText) {
  EXPECT_THAT(get("GET /stats HTTP/1.0\r\n\r\n"), AllOf(HasSubstr("text/plain"), HasSubstr("\nconnections 1\n")));
}

TEST_F(Http, HeadHasNoBody) { EXPECT_THAT(get("HEAD / HTTP/1.1\r\n\r\n"), EndsWith("Connection: close\r\n\r\n")); }

TEST_F(Http, TellsWhatItDoesNotHaveOrKnow) {
  EXPECT_THAT(get("GET /secret HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404 "));
  EXPECT_THAT(get("POST / HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 501 "));
  EXPECT_THAT(get("GET nonsense\n\n"), StartsWith("HTTP/1.1 400 "));
  EXPECT_THAT(get("GET"
                  "\n\n"),
              StartsWith("HTTP/1.1 501 "));
  EXPECT_THAT(get("GET / HTTP/1.1\r\nX: " + std::string(9000, 'x')), StartsWith("HTTP/1.1 431 "));
}

TEST_F(Http, GivesUpAClientThatSaysNothing) {
  connect(80);
  const Instant start = board->now();
  EXPECT_THAT(ask("tcp-server mode=http conns=1"), StartsWith("ok conns=1 ended=1 bytes_in=0 bytes_out=0 "));
  EXPECT_LT(board->now() - start, 11s);
}

TEST_F(Http, ConnectionThatClosesHoldsUpNobodyElse) {
  connect(80, [](ScriptClient& c) { c.after(0, "GET / HTTP/1.1\r\n\r\n"); });
  board->queue().schedule(20ms, [this] {
    second = std::make_unique<ScriptClient>(pc(), testbed::board_ip, 80);
    second->after(0, "GET /stats HTTP/1.1\r\n\r\n");
  });
  board->queue().schedule(50ms, [this] { EXPECT_THAT(second->received, HasSubstr("connections 2\n")); });
  EXPECT_THAT(ask("tcp-server mode=http conns=2"), StartsWith("ok conns=2 ended=2 "));
}

TEST_F(TcpServer, IperfTakesAPlainStream) {
  connect(5001, [](ScriptClient& c) {
    c.after(0, iperf_header(0x40010078, 5001, 0xFFFFFF9C) + std::string(50000, '7')).close_after(0);
  });
  EXPECT_THAT(ask("tcp-server mode=iperf conns=1"), StartsWith("ok conns=1 ended=1 bytes_in=50060 bytes_out=0 "));
}

TEST_F(TcpServer, IperfSendsAfterwardsForDashR) {
  std::unique_ptr<ScriptClient> back;
  net::TcpListener listener{pc(), 6010, [&](tcp_pcb* pcb) {
                              back = std::make_unique<ScriptClient>(pc(), pcb);
                              return true;
                            }};
  connect(5001, [](ScriptClient& c) {
    c.after(0, iperf_header(0xC0010078, 6010, 40000) + std::string(3000, '7')).close_after(0);
  });
  EXPECT_THAT(ask("tcp-server mode=iperf conns=2"), StartsWith("ok conns=2 ended=2 bytes_in=3060 bytes_out=40000 "));
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->received, pattern_text(40000));
}

TEST_F(TcpServer, IperfSendsAtTheSameTimeForDashD) {
  std::unique_ptr<ScriptClient> back;
  net::TcpListener listener{pc(), 6010, [&](tcp_pcb* pcb) {
                              back = std::make_unique<ScriptClient>(pc(), pcb);
                              return true;
                            }};
  // 0.2 s, and meanwhile the client sends a megabyte.
  connect(5001, [](ScriptClient& c) {
    c.after(0, iperf_header(0xC0010079, 6010, static_cast<std::uint32_t>(-20)) + std::string(200000, '7'))
        .close_after(0);
  });
  const std::string answer = ask("tcp-server mode=iperf conns=2");
  EXPECT_THAT(answer, StartsWith("ok conns=2 ended=2 bytes_in=200060 "));
  ASSERT_NE(back, nullptr);
  EXPECT_EQ(back->received, pattern_text(number_of(answer, "bytes_out")));
  EXPECT_GT(back->received.size(), 10000U);
}

TEST_F(TcpServer, IperfSendsOnTheClientsConnectionForReverse) {
  connect(5001, [](ScriptClient& c) { c.after(0, iperf_header(0x44010078, 5001, static_cast<std::uint32_t>(-10))); });
  const std::string answer = ask("tcp-server mode=iperf conns=1");
  EXPECT_THAT(answer, StartsWith("ok conns=1 ended=1 bytes_in=60 "));
  EXPECT_EQ(client->received, pattern_text(number_of(answer, "bytes_out")));
  EXPECT_GT(client->received.size(), 10000U);
}

class Iperf3 : public TcpServer {
 protected:
  static constexpr char cookie[] = "abcdefghijklmnopqrstuvwxyz0123456789";  // and its 0

  static std::string json(const std::string& text) { return word(static_cast<std::uint32_t>(text.size())) + text; }
  std::string cookie_text() { return {cookie, sizeof cookie}; }
  std::vector<std::unique_ptr<ScriptClient>> streams;
  std::unique_ptr<ScriptClient> listener;
};

TEST_F(Iperf3, TakesTwoStreamsAndExchangesResults) {
  connect(5201, [this](ScriptClient& c) {
    c.after(0, cookie_text())
        .after(1, json(R"({"tcp":true,"omit":0,"time":1,"num":0,"parallel":2,"len":131072,"client_version":"3.12"})"));
  });
  board->queue().schedule(30ms, [this] {
    ASSERT_EQ(client->received, "\x09\x0A");
    for (int i = 0; i < 2; ++i) {
      streams.push_back(std::make_unique<ScriptClient>(pc(), testbed::board_ip, 5201));
      streams.back()->after(0, cookie_text() + std::string(10000 * static_cast<std::size_t>(i + 1), 'd'));
    }
  });
  board->queue().schedule(500ms, [this] {
    ASSERT_EQ(client->received, "\x09\x0A\x01\x02");
    client->after(4, "\x04").after(5, json(R"({"cpu_util_total":1.5,"streams":[]})"));
  });
  board->queue().schedule(600ms, [this] { client->after(6, "\x10"); });
  const std::string answer = ask("tcp-server mode=iperf3 conns=3");
  EXPECT_THAT(answer, StartsWith("ok conns=3 ended=3 "));
  EXPECT_EQ(client->received.substr(4, 1), "\x0D");
  const std::string results = client->received.substr(9);
  EXPECT_EQ(client->received.substr(5, 4), word(static_cast<std::uint32_t>(results.size() - 1)));
  EXPECT_THAT(results, StartsWith("{\"cpu_util_total\":0,"));
  EXPECT_THAT(results, HasSubstr("{\"id\":1,\"bytes\":10000,\"retransmits\":-1,"));
  EXPECT_THAT(results, HasSubstr("{\"id\":3,\"bytes\":20000,"));
  EXPECT_THAT(results, HasSubstr("\"end_time\":0.4"));
  EXPECT_THAT(results, EndsWith("}]}\x0E"));
}

TEST_F(Iperf3, ReverseGoesOnSendingUntilTheResultsCome) {
  connect(5201, [this](ScriptClient& c) {
    c.after(0, cookie_text()).after(1, json(R"({"tcp":true,"parallel":1,"reverse":true})"));
  });
  board->queue().schedule(30ms, [this] {
    streams.push_back(std::make_unique<ScriptClient>(pc(), testbed::board_ip, 5201));
    streams.back()->after(0, cookie_text());
  });
  board->queue().schedule(200ms, [this] { client->after(4, "\x04"); });
  std::size_t at_end = 0;
  board->queue().schedule(210ms, [&] { at_end = streams[0]->received.size(); });
  board->queue().schedule(300ms, [&] {
    EXPECT_GT(streams[0]->received.size(), at_end);
    client->after(5, json("{}"));
  });
  board->queue().schedule(400ms, [this] { client->after(6, "\x10"); });
  EXPECT_THAT(ask("tcp-server mode=iperf3 conns=2"), StartsWith("ok conns=2 ended=2 "));
  EXPECT_EQ(streams[0]->received, pattern_text(streams[0]->received.size()));
  EXPECT_TRUE(streams[0]->peer_closed);
}

TEST_F(Iperf3, WhatIsStillOnItsWayAtTheEndIsTakenButNotCounted) {
  connect(5201, [this](ScriptClient& c) { c.after(0, cookie_text()).after(1, json(R"({"tcp":true,"parallel":1})")); });
  board->queue().schedule(30ms, [this] {
    streams.push_back(std::make_unique<ScriptClient>(pc(), testbed::board_ip, 5201));
    streams[0]->after(0, cookie_text() + std::string(300'000, 'd')).close_after(0);
  });
  // All at once, while the stream goes on for some 100 ms more.
  board->queue().schedule(60ms,
                          [this] { client->after(4, "\x04").after(5, json("{}")).after(6, "\x10").close_after(6); });
  EXPECT_THAT(ask("tcp-server mode=iperf3 conns=2"), StartsWith("ok conns=2 ended=2 bytes_in=300"));
  EXPECT_TRUE(streams[0]->peer_closed);
  EXPECT_FALSE(streams[0]->lost);
  EXPECT_THAT(client->received, testing::Not(HasSubstr("\"bytes\":300000,")));
}

TEST_F(Iperf3, SecondClientIsDeniedAndTheFirstGoesOn) {
  connect(5201, [this](ScriptClient& c) { c.after(0, cookie_text()); });
  board->queue().schedule(30ms, [this] {
    second = std::make_unique<ScriptClient>(pc(), testbed::board_ip, 5201);
    second->after(0, std::string(37, 'z'));
  });
  at(100ms, "\x03");
  EXPECT_THAT(ask("tcp-server mode=iperf3"), StartsWith("err cancelled conns=2 "));
  EXPECT_EQ(second->received, "\xFF");
  EXPECT_EQ(client->received, "\x09");
}

TEST_F(Iperf3, RefusesWhatItCannotDo) {
  for (const char* wanted : {R"({"udp":true,"parallel":1})", R"({"tcp":true,"parallel":9})", R"({"parallel":0})",
                             R"({"tcp":true,"bidirectional":1})"}) {
    connect(5201, [this, wanted](ScriptClient& c) { c.after(0, cookie_text()).after(1, json(wanted)); });
    EXPECT_THAT(ask("tcp-server mode=iperf3 conns=1"), StartsWith("ok conns=1 ended=1 ")) << wanted;
    EXPECT_THAT(client->received, StartsWith("\x09\xFE")) << wanted;
    EXPECT_EQ(client->received.size(), 10U) << wanted;
  }
}

TEST_F(Iperf3, NonsenseEndsTheConnectionAlone) {
  for (const std::string& text : {word(0xFFFFFFFF), word(20000), word(4) + "{{{{" + "\x63\x63\x63", std::string{}}) {
    connect(5201, [this, text](ScriptClient& c) { c.after(0, cookie_text()).after(1, text).close_after(1); });
    EXPECT_THAT(ask("tcp-server mode=iperf3 conns=1"), StartsWith("ok conns=1 ended=1 "));
  }
}

class EveryMode : public TcpServer, public testing::WithParamInterface<const char*> {};

TEST_P(EveryMode, NoiseOnAConnectionHarmsNobody) {
  std::mt19937 random{7};
  for (int round = 0; round < 8; ++round) {
    std::string noise(100 + random() % 2000, 0);
    for (char& byte : noise) byte = static_cast<char>(random());
    connect(7000, [noise](ScriptClient& c) { c.after(0, noise).close_after(0); });
    EXPECT_THAT(ask(std::string{"tcp-server port=7000 conns=1 timeout_ms=300 mode="} + GetParam()),
                testing::AnyOf(StartsWith("ok conns="), StartsWith("err timeout conns=")));
    EXPECT_THAT(ask("hello"), StartsWith("ok agent=1 "));
  }
}

INSTANTIATE_TEST_SUITE_P(Modes, EveryMode, testing::Values("sink", "source", "echo", "http", "iperf", "iperf3"),
                         [](const auto& of) { return std::string{of.param}; });

}  // namespace
}  // namespace wizloop::test
