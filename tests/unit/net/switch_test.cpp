#include "sim/net/switch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <vector>

#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A station at the end of a cable whose other end is in a switch; named by the last byte of its MAC address.
class Station final : public wire::FrameSink {
 public:
  Station(EventQueue& queue, wire::FramePool& pool, SwitchPort& port, Frequency bit_rate)
      : queue_{queue}, pool_{pool}, port_{port}, link_{queue, Random{1}, {.bit_rate = bit_rate}} {
    link_.attach(End::board, *this);
    port.plug_into(link_, End::host);
  }
  ~Station() { port_.unplug(); }

  wire::FramePtr frame(const wire::MacAddress& from, const wire::MacAddress& to, std::size_t size) {
    wire::FramePtr made = pool_.take();
    made->size = size;
    made->bytes.fill(0);
    wire::EthernetHeader{to, from, 0x88B5}.emit(made->bytes.data());  // a type for experiments
    return made;
  }
  void send(wire::FramePtr frame) {
    const Instant start = std::max(queue_.now(), free_at_);
    free_at_ = start + wire::time_on_wire(frame->size, link_.bit_rate()) + wire::inter_packet_gap(link_.bit_rate());
    link_.transmitter(End::board).accept(std::move(frame), start);
  }
  void accept(wire::FramePtr frame, Instant at) override {
    heard.push_back(frame->bytes[11]);
    arrivals.push_back(at.time_since_epoch());
    sizes.push_back(frame->size);
  }

  std::vector<int> heard;  // last byte of the sender's MAC address
  std::vector<Duration> arrivals;
  std::vector<std::size_t> sizes;

 private:
  EventQueue& queue_;
  wire::FramePool& pool_;
  SwitchPort& port_;
  Link link_;
  Instant free_at_{};
};

constexpr wire::MacAddress mac(std::uint8_t station) { return {0x02, 0, 0, 0, 0, station}; }

class SwitchTest : public testing::Test {
 protected:
  void make(const SwitchProfile& profile, std::size_t stations, Frequency bit_rate = fast_ethernet) {
    lan.emplace(queue, pool, profile);
    while (all.size() < stations) add(bit_rate);
  }
  Station& add(Frequency bit_rate) { return all.emplace_back(queue, pool, lan->port(all.size()), bit_rate); }
  Station& at(std::size_t port) { return all[port]; }
  // From the station at a port, by the name of the port.
  void send(std::uint8_t from, const wire::MacAddress& to, std::size_t size = 60) {
    at(from).send(at(from).frame(mac(from), to, size));
  }
  void run(Duration duration) { queue.advance_to(queue.now() + duration); }
  // Each station is heard once by the switch.
  void introduce_all() {
    for (std::uint8_t port = 0; port < all.size(); ++port) send(port, wire::broadcast_mac);
    run(1ms);
    for (Station& station : all) station.heard.clear(), station.arrivals.clear(), station.sizes.clear();
  }

  wire::FramePool pool;
  EventQueue queue;
  std::optional<Switch> lan;
  std::deque<Station> all;
};

constexpr Duration time_of(std::size_t size) { return wire::time_on_wire(size, fast_ethernet); }
constexpr Duration gap = wire::inter_packet_gap(fast_ethernet);

TEST_F(SwitchTest, SendsAFrameForAnUnknownStationToAllOthers) {
  make({.ports = 4}, 3);  // nothing is in the last port
  send(0, mac(1));
  run(1ms);
  EXPECT_THAT(at(0).heard, IsEmpty());
  EXPECT_THAT(at(1).heard, ElementsAre(0));
  EXPECT_THAT(at(2).heard, ElementsAre(0));
}

TEST_F(SwitchTest, LearnsWhereAStationIsFromWhatItSends) {
  make({.ports = 3}, 3);
  send(1, wire::broadcast_mac);
  run(1ms);
  send(0, mac(1));
  run(1ms);
  EXPECT_THAT(at(1).heard, ElementsAre(0));
  EXPECT_THAT(at(2).heard, ElementsAre(1)) << "the broadcast alone";
}

TEST_F(SwitchTest, SendsBroadcastsAndGroupsToAllOthers) {
  make({.ports = 3}, 3);
  introduce_all();
  send(0, wire::broadcast_mac);
  run(1ms);
  send(1, {0x01, 0x00, 0x5E, 0x01, 0x02, 0x03});
  run(1ms);
  EXPECT_THAT(at(0).heard, ElementsAre(1));
  EXPECT_THAT(at(1).heard, ElementsAre(0));
  EXPECT_THAT(at(2).heard, ElementsAre(0, 1));
}

TEST_F(SwitchTest, StoresAFrameAndForwardsItOnceItsLastBitIsIn) {
  make({.ports = 2}, 2);
  introduce_all();
  const Duration start = queue.now().time_since_epoch();
  send(0, mac(1), 1514);
  run(1ms);
  EXPECT_THAT(at(1).arrivals, ElementsAre(start + 2 * time_of(1514)));
  EXPECT_THAT(at(1).sizes, ElementsAre(1514u));
}

TEST_F(SwitchTest, SendsAtTheBitRateOfTheLinkThatTheFrameLeavesBy) {
  make({.ports = 2}, 1);
  add(Frequency{10'000'000});
  send(0, mac(1), 100);
  run(1ms);
  EXPECT_THAT(at(1).arrivals, ElementsAre(time_of(100) + 10 * time_of(100)));
}

TEST_F(SwitchTest, SendsFramesForOneStationOneAfterAnother) {
  make({.ports = 3}, 3);
  introduce_all();
  const Duration start = queue.now().time_since_epoch();
  send(0, mac(2));
  send(1, mac(2));
  run(1ms);
  EXPECT_THAT(at(2).heard, ElementsAre(0, 1));
  EXPECT_THAT(at(2).arrivals, ElementsAre(start + 2 * time_of(60), start + 3 * time_of(60) + gap));
}

TEST_F(SwitchTest, DropsFromTheTailOfAFullQueueAndCountsThat) {
  make({.ports = 3, .queue_frames = 4}, 3);
  introduce_all();
  const std::uint64_t sent = lan->port(2).counters().sent;
  for (int i = 0; i < 10; ++i) {
    send(0, mac(2));
    send(1, mac(2));
  }
  run(10ms);
  const SwitchPortCounters& out = lan->port(2).counters();
  EXPECT_EQ(out.sent - sent + out.queue_full, 20u);
  EXPECT_GT(out.queue_full, 0u);
  EXPECT_EQ(at(2).heard.size(), out.sent - sent);
  EXPECT_EQ(lan->port(2).waiting(), 0u);
}

TEST_F(SwitchTest, HoldsAsManyFramesAsItsQueueIsLong) {
  make({.ports = 3, .queue_frames = 4}, 2);
  add(Frequency{10'000'000});
  introduce_all();
  for (int i = 0; i < 6; ++i) send(0, mac(2));  // the tenth part of their time each: all come in before one has left
  run(time_of(60) * 7);
  EXPECT_EQ(lan->port(2).waiting(), 4u);
  EXPECT_EQ(lan->port(2).counters().queue_full, 1u);
  run(10ms);
  EXPECT_EQ(at(2).heard.size(), 5u);
}

TEST_F(SwitchTest, ForgetsAStationThatIsSilent) {
  make({.ports = 3, .ageing = 10s}, 3);
  introduce_all();
  run(9s);
  send(0, mac(1));
  run(1ms);
  EXPECT_THAT(at(2).heard, IsEmpty());
  run(2s);
  send(0, mac(1));
  run(1ms);
  EXPECT_THAT(at(2).heard, ElementsAre(0));
}

TEST_F(SwitchTest, FollowsAStationThatMoves) {
  make({.ports = 3}, 3);
  introduce_all();
  at(2).send(at(2).frame(mac(1), wire::broadcast_mac, 60));
  run(1ms);
  at(1).heard.clear(), at(2).heard.clear();
  send(0, mac(1));
  run(1ms);
  EXPECT_THAT(at(1).heard, IsEmpty());
  EXPECT_THAT(at(2).heard, ElementsAre(0));
}

TEST_F(SwitchTest, ForgetsTheStationsOfAPortThatIsUnplugged) {
  make({.ports = 4}, 4);
  introduce_all();
  lan->port(3).unplug();
  EXPECT_EQ(lan->stations(), 3u);
  send(0, mac(3));
  run(1ms);
  EXPECT_THAT(at(1).heard, ElementsAre(0));
  EXPECT_THAT(at(2).heard, ElementsAre(0));
  EXPECT_THAT(at(3).heard, IsEmpty());
}

TEST_F(SwitchTest, LosesWhatWaitsAtAPortThatIsUnplugged) {
  make({.ports = 2}, 2);
  introduce_all();
  for (int i = 0; i < 3; ++i) send(0, mac(1));
  run(3 * time_of(60) + 2 * gap);
  lan->port(1).unplug();
  run(1ms);
  EXPECT_EQ(lan->port(1).waiting(), 0u);
}

TEST_F(SwitchTest, KeepsAFrameForItsOwnSideToItself) {
  make({.ports = 3}, 3);
  introduce_all();
  at(1).send(at(1).frame(mac(9), mac(1), 60));  // both behind one port
  run(1ms);
  EXPECT_THAT(at(0).heard, IsEmpty());
  EXPECT_THAT(at(1).heard, IsEmpty());
  EXPECT_EQ(lan->port(1).counters().at_home, 1u);
}

TEST_F(SwitchTest, DropsDamagedFrames) {
  make({.ports = 2}, 2);
  auto bad = at(0).frame(mac(0), mac(1), 60);
  bad->fcs_good = false;
  at(0).send(std::move(bad));
  send(0, mac(1), 59);
  send(0, mac(1), 1515);
  run(1ms);
  EXPECT_THAT(at(1).heard, IsEmpty());
  EXPECT_EQ(lan->port(0).counters().damaged, 3u);
  EXPECT_EQ(lan->stations(), 0u) << "learnt from a damaged frame";
}

TEST_F(SwitchTest, EndsWhatIsMeantForSwitches) {
  make({.ports = 2}, 2);
  send(0, {0x01, 0x80, 0xC2, 0x00, 0x00, 0x01});  // PAUSE
  send(0, {0x01, 0x80, 0xC2, 0x00, 0x00, 0x10});  // the first that is not reserved
  run(1ms);
  EXPECT_THAT(at(1).heard, ElementsAre(0));
  EXPECT_EQ(lan->port(0).counters().reserved, 1u);
}

TEST_F(SwitchTest, DoesNotTakeAGroupForAStation) {
  make({.ports = 2}, 2);
  at(0).send(at(0).frame(wire::broadcast_mac, mac(1), 60));
  run(1ms);
  EXPECT_EQ(lan->stations(), 0u);
}

TEST_F(SwitchTest, KnowsNoMoreStationsThanItHasRoomForButServesThemAll) {
  make({.ports = 2, .ageing = 10s, .addresses = 3}, 2);
  for (std::uint8_t station = 10; station < 20; ++station) {
    at(0).send(at(0).frame(mac(station), wire::broadcast_mac, 60));
  }
  run(1ms);
  EXPECT_EQ(lan->stations(), 3u);
  send(1, mac(19));
  run(1ms);
  EXPECT_THAT(at(0).heard, ElementsAre(1));
  run(20s);  // now those three are old
  at(0).send(at(0).frame(mac(19), wire::broadcast_mac, 60));
  run(1ms);
  EXPECT_EQ(lan->stations(), 1u);
}

// Three PCs, each with a lwIP of its own: two send to the third at once, over one cable.
struct Lan {
  explicit Lan(std::size_t queue_frames) : lan{queue, pool, {.ports = 4, .queue_frames = queue_frames}} {
    for (std::uint8_t i = 0; i < 3; ++i) {
      Link& link = links.emplace_back(queue, Random{7}, LinkProfile{});
      link.observe(fingerprinter);
      hosts.push_back(make_host(queue, pool, {.mac = mac(i), .ip = wire::ipv4(192, 168, 1, i + 1), .seed = i + 1u}));
      hosts.back()->plug_into(link, End::board);
      lan.port(i).plug_into(link, End::host);
    }
  }
  ~Lan() {
    for (std::size_t i = 0; i < lan.ports(); ++i) lan.port(i).unplug();
  }
  void run(Duration duration) { queue.advance_to(queue.now() + duration); }

  wire::FramePool pool;
  EventQueue queue;
  Fingerprint fingerprint;
  FingerprintObserver fingerprinter{fingerprint};
  Switch lan;
  std::deque<Link> links;
  std::vector<std::unique_ptr<LwipHost>> hosts;
};

// Their windows together hold more than the queue: TCP has to find its share by losing frames.
std::uint64_t send_from_two_at_once(std::size_t queue_frames, bool expect_drops) {
  Lan net{queue_frames};
  TcpSink sink{*net.hosts[2], 5001};
  constexpr std::uint64_t bytes = 256 * 1024;
  TcpSource first{*net.hosts[0], {.bytes = bytes}};
  TcpSource second{*net.hosts[1], {.bytes = bytes}};
  first.connect(wire::ipv4(192, 168, 1, 3), 5001);
  second.connect(wire::ipv4(192, 168, 1, 3), 5001);
  net.run(60s);
  EXPECT_EQ(sink.counters().bytes, 2 * bytes);
  EXPECT_EQ(sink.counters().mismatches, 0u);
  EXPECT_EQ(net.lan.port(2).counters().queue_full > 0, expect_drops);
  return net.fingerprint.value();
}

TEST(SwitchedTcpTest, CarriesTwoStreamsToOneStation) { send_from_two_at_once(256, false); }

TEST(SwitchedTcpTest, LetsStreamsRecoverFromItsOverflow) { send_from_two_at_once(16, true); }

TEST(SwitchedTcpTest, IsTheSameInEachRun) {
  EXPECT_EQ(send_from_two_at_once(16, true), send_from_two_at_once(16, true));
}

}  // namespace
}  // namespace wizloop::net
