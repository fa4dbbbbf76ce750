#include <gmock/gmock.h>

#include <cstring>

#include "tests/unit/capi/bed.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::uint32_t board_ip = 0xC0A80114, pc_ip = 0xC0A8010A;

TEST(CapiPc, EchoesAndCounts) {
  Bed bed;
  bed.open_udp();
  const int echo = wizloop_pc_serve(bed, "udp-echo", "port=7");
  bed.send({1, 2, 3});
  wizloop_advance_ns(bed, 10 * ms);
  std::uint64_t bytes = 0;
  EXPECT_EQ(wizloop_pc_count(bed, echo, "bytes", &bytes), WIZLOOP_OK);
  EXPECT_EQ(bytes, 3u);
  EXPECT_EQ(bed.read(s0, 0x27), 8 + 3);  // Sn_RX_RSR
}

TEST(CapiPc, BadServicesSayWhatWasExpected) {
  Bed bed;
  std::uint64_t value = 0;
  const auto error = [&](const char* service, const char* options) {
    EXPECT_EQ(wizloop_pc_serve(bed, service, options), WIZLOOP_E_ARGUMENT);
    return std::string{wizloop_error()};
  };
  EXPECT_THAT(error("no-such", nullptr), HasSubstr("tcp-echo"));
  EXPECT_THAT(error("tcp-echo", "port=0"), HasSubstr("from 1 to 65535"));
  EXPECT_THAT(error("tcp-echo", "port"), HasSubstr("key=value"));
  EXPECT_THAT(error("tcp-echo", "porty=7"), HasSubstr("porty"));
  EXPECT_THAT(error("ping", "to=1.2.3"), HasSubstr("192.168.1.20"));
  EXPECT_THAT(error("ping", nullptr), HasSubstr("to=IP"));
  const int echo = wizloop_pc_serve(bed, "tcp-echo", nullptr);
  EXPECT_EQ(wizloop_pc_count(bed, echo, "no-such", &value), WIZLOOP_E_ARGUMENT);
  EXPECT_THAT(wizloop_error(), HasSubstr("connections"));
  EXPECT_EQ(wizloop_pc_count(bed, 17, "bytes", &value), WIZLOOP_E_ARGUMENT);
}

TEST(CapiPc, APortIsTakenOnce) {
  Bed bed;
  ASSERT_EQ(wizloop_pc_serve(bed, "tcp-sink", "port=80"), 0);
  EXPECT_EQ(wizloop_pc_serve(bed, "tcp-echo", "port=80"), WIZLOOP_E_ARGUMENT);
  EXPECT_THAT(wizloop_error(), HasSubstr("port 80 is in use"));
  EXPECT_EQ(wizloop_pc_tcp_listen(bed, 80), WIZLOOP_E_ARGUMENT);
  ASSERT_GE(wizloop_pc_serve(bed, "dhcp", nullptr), 0);
  EXPECT_EQ(wizloop_pc_serve(bed, "dhcp", nullptr), WIZLOOP_E_ARGUMENT);
  const int port = wizloop_pc_udp_open(bed, 5);
  EXPECT_EQ(wizloop_pc_udp_open(bed, 5), WIZLOOP_E_ARGUMENT);
  wizloop_pc_close(bed, port);
  EXPECT_GE(wizloop_pc_udp_open(bed, 5), 0);
}

TEST(CapiPc, DoesNotTalkToItself) {
  Bed bed;
  EXPECT_EQ(wizloop_pc_tcp_connect(bed, pc_ip, 80), WIZLOOP_E_ARGUMENT);
  EXPECT_EQ(wizloop_pc_tcp_connect(bed, 0x7F000001, 80), WIZLOOP_E_ARGUMENT);
  EXPECT_EQ(wizloop_pc_serve(bed, "ping", "to=192.168.1.10"), WIZLOOP_E_ARGUMENT);
  EXPECT_THAT(wizloop_error(), HasSubstr("own"));
}

TEST(CapiPc, HasSoManySocketsAndNoMore) {
  Bed bed;
  int last = 0;
  for (int i = 0; i < 2000 && last >= 0; ++i) last = wizloop_pc_udp_open(bed, 0);
  EXPECT_EQ(last, WIZLOOP_E_ARGUMENT);
  EXPECT_THAT(wizloop_error(), HasSubstr("1024 sockets"));
}

TEST(CapiPc, ServesWhatADriverNeedsToComeUp) {
  Bed bed;
  const int dhcp = wizloop_pc_serve(bed, "dhcp", "first=192.168.1.50 count=2 lease_s=60 ignored_discovers=1");
  ASSERT_GE(dhcp, 0) << wizloop_error();
  ASSERT_GE(wizloop_pc_serve(bed, "ntp", nullptr), 0) << wizloop_error();
  const int dns = wizloop_pc_serve(bed, "dns", "pc.example=192.168.1.10 delay_ms=5");
  ASSERT_GE(dns, 0) << wizloop_error();
  // A query for pc.example, class IN, type A, to port 53.
  bed.open_udp();
  bed.write(s0, 0x0C, {192, 168, 1, 10, 0, 53});
  bed.send(
      {0x12, 0x34, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2, 'p', 'c', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 0, 0, 1, 0, 1});
  wizloop_advance_ns(bed, 4 * ms);
  EXPECT_EQ(bed.read(s0, 0x27), 0);
  wizloop_advance_ns(bed, 4 * ms);
  EXPECT_GT(bed.read(s0, 0x27), 8 + 28);
  std::uint64_t answered = 0, leases = 9;
  EXPECT_EQ(wizloop_pc_count(bed, dns, "answered", &answered), WIZLOOP_OK);
  EXPECT_EQ(wizloop_pc_count(bed, dhcp, "leases", &leases), WIZLOOP_OK);
  EXPECT_EQ(answered, 1u);
  EXPECT_EQ(leases, 0u);
  EXPECT_EQ(wizloop_pc_serve(bed, "dns", "pc.example=here"), WIZLOOP_E_ARGUMENT);
  EXPECT_THAT(wizloop_error(), HasSubstr("here"));
}

TEST(CapiPc, TcpClientOfTheTestTalksToAServerOnTheBoard) {
  Bed bed;
  bed.configure();
  bed.write(s0, 0x00, {1});
  bed.write(s0, 0x04, {0, 80});
  bed.command(0x01);
  bed.command(0x02);  // LISTEN
  const int client = wizloop_pc_tcp_connect(bed, board_ip, 80);
  ASSERT_GE(client, 0) << wizloop_error();
  EXPECT_EQ(wizloop_pc_state(bed, client), WIZLOOP_PC_WAITING);
  wizloop_advance_ns(bed, 10 * ms);
  EXPECT_EQ(wizloop_pc_state(bed, client), WIZLOOP_PC_CONNECTED);
  EXPECT_EQ(wizloop_pc_send(bed, client, "get", 3), 3);
  wizloop_advance_ns(bed, 10 * ms);
  EXPECT_EQ(bed.read(s0, 0x27), 3);
  bed.write(s0, 0x28, {0, 0});
  bed.send({'o', 'k'});
  wizloop_advance_ns(bed, 300 * ms);
  char answer[8] = {};
  EXPECT_EQ(wizloop_pc_receive(bed, client, answer, sizeof answer), 2);
  EXPECT_STREQ(answer, "ok");
  bed.command(0x08);  // DISCON
  wizloop_advance_ns(bed, 10 * ms);
  EXPECT_EQ(wizloop_pc_state(bed, client), WIZLOOP_PC_PEER_CLOSED);
  EXPECT_EQ(wizloop_pc_close(bed, client), WIZLOOP_OK);
  wizloop_advance_ns(bed, 10 * ms);
  EXPECT_EQ(wizloop_pc_state(bed, client), WIZLOOP_PC_CLOSED);
  EXPECT_EQ(bed.peek(s0, 0x03), 0x1B);  // TIME_WAIT: the board was first
}

TEST(CapiPc, ConnectionToAClosedPortIsLost) {
  Bed bed;
  bed.configure();
  const int client = wizloop_pc_tcp_connect(bed, board_ip, 81);
  wizloop_advance_ns(bed, 1 * s);
  EXPECT_EQ(wizloop_pc_state(bed, client), WIZLOOP_PC_LOST);
}

TEST(CapiPc, UdpSocketsGiveDatagramsOneByOne) {
  Bed bed;
  bed.open_udp();
  const int port = wizloop_pc_udp_open(bed, 7);
  bed.send({1, 2, 3});
  wizloop_advance_ns(bed, 1 * ms);
  bed.write(s0, 0x02, {0x10});
  bed.send({4});
  wizloop_advance_ns(bed, 1 * ms);
  std::uint8_t data[2] = {};
  std::uint32_t ip = 0;
  std::uint16_t from = 0;
  EXPECT_EQ(wizloop_pc_receive_from(bed, port, &ip, &from, data, sizeof data), 3);
  EXPECT_EQ(ip, board_ip);
  EXPECT_EQ(from, 5000);
  EXPECT_THAT(data, ElementsAre(1, 2));
  EXPECT_EQ(wizloop_pc_receive_from(bed, port, nullptr, nullptr, data, sizeof data), 1);
  EXPECT_EQ(wizloop_pc_receive_from(bed, port, nullptr, nullptr, data, sizeof data), 0);
  EXPECT_EQ(wizloop_pc_send_to(bed, port, board_ip, 5000, "x", 1), 1);
  wizloop_advance_ns(bed, 1 * ms);
  EXPECT_EQ(bed.read(s0, 0x27), 8 + 1);
  EXPECT_EQ(wizloop_pc_send(bed, port, "x", 1), WIZLOOP_E_ARGUMENT);
  EXPECT_EQ(wizloop_pc_close(bed, port), WIZLOOP_OK);
  EXPECT_EQ(wizloop_pc_state(bed, port), WIZLOOP_PC_CLOSED);
}

TEST(CapiPc, PulledCableKeepsDatagramsBack) {
  Bed bed;
  bed.open_udp();
  const int sink = wizloop_pc_serve(bed, "udp-sink", "port=7");
  EXPECT_EQ(bed.read(common, 0x2E) & 1, 1);
  EXPECT_EQ(wizloop_link(bed, 0), WIZLOOP_OK);
  wizloop_advance_ns(bed, 1 * s);
  EXPECT_EQ(bed.read(common, 0x2E) & 1, 0);
  bed.send({1, 2, 3});
  wizloop_advance_ns(bed, 1 * s);
  std::uint64_t packets = 9;
  wizloop_pc_count(bed, sink, "packets", &packets);
  EXPECT_EQ(packets, 0u);
}

// A station of one's own ---------------------------------------------------------------------------------------------

struct Recorder {
  wizloop_t* bed = nullptr;
  std::vector<std::vector<std::uint8_t>> frames;
};

TEST(CapiStation, TakesThePlaceOfThePcAndAnswersFromWithinTheCall) {
  Recorder recorder;
  const wizloop_station station = {[](void* context, const std::uint8_t* frame, std::size_t bytes, std::uint64_t) {
                                     auto* const to = static_cast<Recorder*>(context);
                                     to->frames.emplace_back(frame, frame + bytes);
                                     if (bytes < 42 || frame[12] != 0x08 || frame[13] != 0x06) return;
                                     std::uint8_t reply[60] = {};  // ARP: who asks gets 02:00:00:00:00:77
                                     std::memcpy(reply, frame, 42);
                                     std::memcpy(reply, frame + 6, 6);
                                     const std::uint8_t own[] = {2, 0, 0, 0, 0, 0x77};
                                     std::memcpy(reply + 6, own, 6);
                                     reply[21] = 2;
                                     std::memcpy(reply + 22, own, 6);
                                     std::memcpy(reply + 28, frame + 38, 4);
                                     std::memcpy(reply + 32, frame + 22, 10);
                                     EXPECT_EQ(wizloop_deliver(to->bed, reply, sizeof reply), WIZLOOP_OK)
                                         << wizloop_error();
                                   },
                                   &recorder};
  wizloop_config config = WIZLOOP_CONFIG_INIT;
  config.station = &station;
  Bed bed{config};
  recorder.bed = bed;
  bed.open_udp();
  bed.send({1, 2, 3});
  wizloop_advance_ns(bed, 5 * ms);
  ASSERT_EQ(recorder.frames.size(), 2u);  // ARP, then the datagram
  EXPECT_EQ(recorder.frames[1][5], 0x77);
  EXPECT_EQ(wizloop_pc_serve(bed, "udp-echo", nullptr), WIZLOOP_E_STATE);
  EXPECT_EQ(wizloop_deliver(bed, recorder.frames[1].data(), 13), WIZLOOP_E_ARGUMENT);
}

TEST(CapiStation, WithoutOneNobodyDeliversFrames) {
  Bed bed;
  const std::uint8_t frame[60] = {};
  EXPECT_EQ(wizloop_deliver(bed, frame, sizeof frame), WIZLOOP_E_STATE);
  EXPECT_THAT(wizloop_error(), HasSubstr("PC"));
}

}  // namespace
}  // namespace wizloop::test
