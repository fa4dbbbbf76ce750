// The portable driver on the chip model, on all three buses, while one thing goes wrong: each call comes back within
// its deadline, with success or an error; what it says has been delivered is right; and once the fault is over, a reset
// and a new session succeed. Faults that strike once are moved through the whole session, occasion by occasion, until a
// session ends unbroken; those that may strike each byte break each of a small session too, one by one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "drivers/w5500/dma_bus.hpp"
#include "drivers/w5500/socket.hpp"
#include "sim/bus/faulty_spi.hpp"
#include "sim/net/faulty_peer.hpp"
#include "sim/net/lwip_host.hpp"
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/udp_echo.hpp"

namespace wizloop::test {
namespace {

using w5500::Error;

enum class BusKind { byte, burst, dma };

// What a session under the fault may come to.
enum class Expect {
  success,     // the driver, or TCP, makes up for the fault
  right_data,  // success or an error, but nothing wrong is delivered
  any_data,    // SPI has no checksum: what passes over broken wires may be wrong without a sign
};

struct FaultCase {
  std::string name;
  std::string fault;
  std::string text;  // with "nth=N" the session is repeated for one N after the other
  Expect expect = Expect::right_data;
  int slices = 1;  // tests to share the many N of a fault that may strike each SPI byte or frame
};

// How much a session does. A small one comes up, connects, echoes a few bytes and closes: short enough to break each of
// its transfers by itself.
enum class Extent { whole, small };

struct Case {
  BusKind bus;
  FaultCase fault;
  int slice = 0;
};
void PrintTo(const Case& of, std::ostream* out) { *out << of.fault.name; }

constexpr wire::Ipv4Address pc_ip = wire::ipv4(192, 168, 1, 10);
constexpr wire::Ipv4Address board_ip = wire::ipv4(192, 168, 1, 20);
constexpr wire::MacAddress board_mac = {0x02, 0, 0, 0, 0, 0x20};
constexpr std::uint16_t echo_port = 7;
constexpr std::size_t stream_bytes = 1500;  // through a ring of 1 KiB
constexpr std::size_t small_stream_bytes = 12;
constexpr std::size_t datagram_bytes = 300;

bus::BoardProfile quick_board() {
  bus::BoardProfile profile;
  profile.cpu = Frequency{100'000'000};
  profile.sclk = Frequency{25'000'000};
  profile.byte = {.gap = 200ns};
  profile.burst = bus::BurstCost{.setup = 1us};
  profile.dma = bus::DmaCost{.setup = 1us, .complete = 1us};
  profile.select = 10us;  // few polls in a long wait
  profile.interrupt_latency = 1us;
  return profile;
}

// A board, a cable and a PC that echoes, with one fault planned.
class Rig final : private bus::AwaitedSource {
 public:
  Rig(const std::string& fault, const std::string& text) : faults_{plan(fault, text), queue, random_, trace_} {
    if (net::LinkFaults::wanted(faults_)) {
      link_.on_change([this](bool up) { chip_.plug(up); });
      link_.inject(faults_, frames_);
    }
    if (net::FaultyPeer::wanted(faults_)) {
      faulty_peer_.emplace(queue, frames_, faults_, net::FaultyPeer::Target{board_mac, board_ip});
      link_.filter_host(*faulty_peer_);
    }
    link_.attach(net::End::board, chip_);
    chip_.connect(link_.transmitter(net::End::board));
    chip_.plug_in_settled();
    chip_.inject(faults_);
    auto pc = net::LwipHost::create(
        queue, frames_, {.mac = {0x02, 0, 0, 0, 0, 0x10}, .ip = pc_ip, .profile = {.turnaround = 20us}, .seed = 1});
    if (!pc) ADD_FAILURE() << pc.error().message;
    pc_ = std::move(pc).value();
    pc_->plug_into(link_, net::End::host);
    tcp_echo_.emplace(*pc_, echo_port);
    udp_echo_.emplace(*pc_, echo_port);
    if (bus::FaultySpi::wanted(faults_)) faulty_spi_.emplace(chip_, chip_.spi(), faults_);
    bus_.emplace(queue, budget_, faulty_spi_ ? static_cast<chip::SpiTarget&>(*faulty_spi_) : chip_.spi(), profile_,
                 findings_, static_cast<const bus::AwaitedSource&>(*this));
    bus_->inject(faults_);
    port_.emplace(queue, *bus_, chip_, profile_, false);
    if (bus::FaultyIntn::wanted(faults_)) {
      faulty_intn_.emplace(queue, chip_, faults_);
      port_->connect_intn(*faulty_intn_);
    }
  }

  w5500::Port& port() { return *port_; }
  bool with_interrupts() const { return faulty_intn_.has_value(); }
  std::uint64_t struck() const { return faults_.struck()[0].struck; }
  void advance_to(Instant at) {
    if (at > queue.now()) queue.advance_to(at);
  }

  wire::FramePool frames_;
  EventQueue queue;

 private:
  static FaultPlan plan(const std::string& fault, const std::string& text) {
    FaultPlan made;
    const auto added = made.add(fault, text);
    if (!added) ADD_FAILURE() << added.error().message;
    return made;
  }
  Account awaited() const override { return Account::peer; }

  Random random_{1};
  Trace trace_;
  Findings findings_;
  Budget budget_;
  bus::BoardProfile profile_ = quick_board();
  Faults faults_;
  std::optional<net::FaultyPeer> faulty_peer_;
  net::Link link_{queue, random_, {}};
  chip::Chip chip_{queue, frames_, trace_, findings_, random_};
  std::unique_ptr<net::LwipHost> pc_;
  std::optional<net::TcpEcho> tcp_echo_;
  std::optional<net::UdpEcho> udp_echo_;
  std::optional<bus::FaultySpi> faulty_spi_;
  std::optional<bus::SpiBus> bus_;
  std::optional<bus::FaultyIntn> faulty_intn_;
  std::optional<SimPort> port_;
};

std::vector<std::uint8_t> pattern(std::size_t count, std::uint8_t first) {
  std::vector<std::uint8_t> bytes(count);
  for (std::size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::uint8_t>((first + i) % 251);
  return bytes;
}

// What firmware does in one session; stops at the first error, which it returns.
class Session {
 public:
  Session(Rig& rig, BusKind kind, std::uint16_t local_port, Expect expect, Extent extent)
      : rig_{rig},
        local_port_{local_port},
        expect_{expect},
        extent_{extent},
        byte_bus_{rig.port()},
        burst_bus_{rig.port()},
        dma_bus_{rig.port()},
        chip_{kind == BusKind::byte    ? static_cast<w5500::Bus&>(byte_bus_)
              : kind == BusKind::burst ? static_cast<w5500::Bus&>(burst_bus_)
                                       : dma_bus_,
              rig.port()} {}

  Error run() {
    Error error = set_up();
    if (error == Error::none) error = talk_tcp();
    if (error == Error::none && extent_ == Extent::whole) error = talk_udp();
    return error;
  }

 private:
  // The allowance beyond the timeouts that a call was given: a command accepted late, a CLOSE on the way out, a DMA
  // that does not end, each 100 ms at most, and the frames of a last look.
  static constexpr Duration slack = 500ms;

  template <typename Call>
  auto within(Duration limit, const char* what, Call call) {
    const Instant start = rig_.queue.now();
    auto outcome = call();
    const Duration took = rig_.queue.now() - start;
    EXPECT_LE(took, limit + slack) << what << " took " << took / 1us << " us";
    return outcome;
  }

  Error set_up() {
    Error error = within(100ms, "reset", [&] { return chip_.reset(100'000); }).error();
    if (error == Error::none)
      error = within(5s, "wait_for_link", [&] { return chip_.wait_for_link(5'000'000); }).error();
    w5500::Network network{{}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}};
    std::copy(board_mac.begin(), board_mac.end(), network.mac);
    if (error == Error::none) error = within(0s, "set_network", [&] { return chip_.set_network(network); }).error();
    if (error == Error::none) error = within(0s, "set_retry", [&] { return chip_.set_retry(100, 3); }).error();
    const w5500::BufferSizes sizes{{1, 1, 2, 2, 2, 2, 2, 2}, {1, 1, 2, 2, 2, 2, 2, 2}};
    if (error == Error::none) {
      error = within(0s, "set_buffer_sizes", [&] { return chip_.set_buffer_sizes(sizes); }).error();
    }
    if (error == Error::none && rig_.with_interrupts()) {
      error = within(0s, "use_interrupt_pin", [&] { return chip_.use_interrupt_pin(0x03); }).error();
    }
    return error;
  }

  Error talk_tcp() {
    w5500::TcpSocket socket{chip_, 0};
    const Error error = talk_tcp_on(socket);
    // Whatever happened, a socket can be closed, or says why it cannot.
    (void)within(0s, "close", [&] { return socket.close(); });
    return error;
  }

  Error talk_tcp_on(w5500::TcpSocket& socket) {
    Error error = within(0s, "open", [&] { return socket.open(local_port_); }).error();
    const w5500::Endpoint peer{{192, 168, 1, 10}, echo_port};
    if (error == Error::none) error = within(500ms, "connect", [&] { return socket.connect(peer, 500'000); }).error();
    if (error != Error::none) return error;

    const std::vector<std::uint8_t> sent = pattern(extent_ == Extent::whole ? stream_bytes : small_stream_bytes, 7);
    std::vector<std::uint8_t> received;
    std::size_t written = 0;
    while (received.size() < sent.size()) {
      const auto piece = std::min<std::size_t>(500, sent.size() - written);
      if (piece > 0) {
        const w5500::Progress progress =
            within(4 * 300ms, "write", [&] { return socket.write(&sent[written], piece, 300'000); });
        EXPECT_LE(progress.count, piece);
        written += progress.count;
        if (progress.error != Error::none) return progress.error;
      }
      const auto waiting = within(300ms, "wait_available", [&] { return socket.wait_available(300'000); });
      if (!waiting) return waiting.error();
      if (waiting.value() == 0 && piece == 0) return Error::peer_timeout;
      std::array<std::uint8_t, 2048> buffer{};
      const auto got = within(0s, "read", [&] { return socket.read(buffer.data(), buffer.size()); });
      if (!got) return got.error();
      EXPECT_LE(got.value(), buffer.size());
      received.insert(received.end(), buffer.begin(), buffer.begin() + got.value());
      if (expect_ == Expect::any_data && received.size() > 4 * sent.size()) return Error::implausible_counter;
    }
    if (expect_ != Expect::any_data) {
      EXPECT_EQ(received, sent);
    }
    error = within(0s, "flush", [&] { return socket.flush(300'000); }).error();
    if (error == Error::none) error = within(500ms, "disconnect", [&] { return socket.disconnect(500'000); }).error();
    return error;
  }

  Error talk_udp() {
    w5500::UdpSocket socket{chip_, 1};
    Error error = within(0s, "open", [&] { return socket.open(local_port_); }).error();
    const w5500::Endpoint peer{{192, 168, 1, 10}, echo_port};
    const std::vector<std::uint8_t> sent = pattern(datagram_bytes, 99);
    if (error == Error::none) {
      error =
          within(300ms, "send_to", [&] { return socket.send_to(peer, sent.data(), datagram_bytes, 300'000); }).error();
    }
    if (error == Error::none) error = within(300ms, "flush", [&] { return socket.flush(300'000); }).error();
    if (error != Error::none) return error;
    std::array<std::uint8_t, 512> buffer{};
    const auto got =
        within(300ms, "receive_from", [&] { return socket.receive_from(buffer.data(), buffer.size(), 300'000); });
    if (!got) return got.error();
    EXPECT_LE(got.value().stored, buffer.size());
    if (expect_ != Expect::any_data) {
      EXPECT_EQ(std::vector<std::uint8_t>(buffer.begin(), buffer.begin() + got.value().stored), sent);
      EXPECT_EQ(got.value().size, datagram_bytes);
      EXPECT_EQ(got.value().from.port, echo_port);
    }
    return within(0s, "close", [&] { return socket.close(); }).error();
  }

  Rig& rig_;
  std::uint16_t local_port_;
  Expect expect_;
  Extent extent_;
  w5500::ByteBus byte_bus_;
  w5500::BurstBus burst_bus_;
  w5500::DmaBus dma_bus_;
  w5500::Chip chip_;
};

bool strikes_once(const FaultCase& fault) { return fault.text.find("nth=N") != std::string::npos; }

// The text of a fault that strikes at its nth occasion.
std::string nth_of(const FaultCase& fault, std::uint64_t n) {
  std::string text = fault.text;
  text.replace(text.find("nth=N"), 5, "nth=" + std::to_string(n));
  return text + ",until=4s";
}

class DriverFaults : public testing::TestWithParam<Case> {
 protected:
  // One session under the fault, one after it.
  std::uint64_t break_and_recover(const std::string& text, Instant over, Extent extent) {
    const Case& of = GetParam();
    Rig rig{of.fault.fault, text};
    const Error error = Session{rig, of.bus, 50000, of.fault.expect, extent}.run();
    if (of.fault.expect == Expect::success) {
      EXPECT_EQ(error, Error::none) << "under " << of.fault.fault << "=" << text;
    }
    const std::uint64_t struck = rig.struck();
    rig.advance_to(std::max(over, rig.queue.now() + 100ms));
    EXPECT_EQ(Session(rig, of.bus, 50001, Expect::success, extent).run(), Error::none)
        << "after " << of.fault.fault << "=" << text;
    return struck;
  }
};

TEST_P(DriverFaults, CallsComeBackAndADriverThatStartsAnewWorks) {
  const FaultCase& fault = GetParam().fault;
  if (!strikes_once(fault)) {
    EXPECT_GT(break_and_recover(fault.text, Instant{5s}, Extent::whole), 0U);
    return;
  }
  bool struck = true;
  int turn = 0;
  int sessions = 0;
  // Where there are few occasions, each; of thousands of bytes ever fewer, as DriverFaultsOneByOne takes each.
  for (std::uint64_t n = 1; struck && !HasFailure(); n += fault.slices == 1 ? 1 : 1 + n / 16) {
    if (turn++ % fault.slices != GetParam().slice) continue;
    struck = break_and_recover(nth_of(fault, n), Instant{5s}, Extent::whole) > 0;
    ++sessions;
  }
  EXPECT_GT(sessions, 1) << "the fault never struck";
}

const std::vector<FaultCase>& fault_cases() {
  static const std::vector<FaultCase> cases = {
      {"MisoBitFlips", "spi_flip", "nth=N", Expect::any_data, 6},
      {"MosiBitFlips", "spi_flip", "nth=N,line=mosi", Expect::any_data, 6},
      {"MisoStuckLow", "spi_miso_stuck", "until=5s,level=0", Expect::any_data},
      {"MisoStuckHigh", "spi_miso_stuck", "until=5s,level=1", Expect::any_data},
      {"MisoIsContended", "spi_miso_contention", "nth=N", Expect::any_data, 6},
      {"ClockMissed", "spi_clock_missed", "nth=N", Expect::any_data, 6},
      {"ClockExtra", "spi_clock_extra", "nth=N", Expect::any_data, 6},
      {"SelectLost", "spi_select_lost", "nth=N", Expect::any_data, 6},
      {"SelectLostAndBack", "spi_select_lost", "nth=N,back=yes", Expect::any_data, 6},
      {"HalfClock", "spi_half_clock", "nth=N", Expect::any_data, 3},
      {"HalfClockThroughout", "spi_half_clock", "until=5s", Expect::any_data},
      {"CountersTear", "spi_torn_read", "ppm=300000,growth=1000", Expect::success},
      {"CommandSlow", "chip_command_slow", "nth=N,delay=5ms", Expect::success},
      {"CommandVerySlow", "chip_command_slow", "nth=N,delay=300ms"},
      {"ResetLate", "chip_reset_late", "nth=N,delay=20ms", Expect::success},
      {"ResetVeryLate", "chip_reset_late", "nth=N,delay=1s"},
      {"VersionZeroForAWhile", "chip_version_zero", "until=20ms", Expect::success},
      {"VersionZeroForLong", "chip_version_zero", "until=4s"},
      {"SendokLost", "chip_sendok_lost", "nth=N"},
      {"SendokLate", "chip_sendok_late", "nth=N,delay=20ms", Expect::success},
      {"SendokVeryLate", "chip_sendok_late", "nth=N,delay=2s"},
      {"BrownOut", "chip_brown_out", "nth=N", Expect::any_data, 6},
      {"IntnEdgeLost", "intn_lost", "nth=N", Expect::success},
      {"IntnLate", "intn_late", "nth=N,delay=50ms", Expect::success},
      {"IntnGlitches", "intn_glitch", "every=2,until=5s", Expect::success},
      {"IntnStuckHigh", "intn_stuck", "until=5s,level=high", Expect::success},
      {"IntnStuckLow", "intn_stuck", "until=5s,level=low", Expect::success},
      {"FrameLost", "link_loss", "nth=N"},
      {"FrameDuplicated", "link_duplicate", "nth=N", Expect::success},
      {"FrameReordered", "link_reorder", "nth=N", Expect::success},
      {"FrameCorrupted", "link_corrupt", "nth=N"},
      {"FrameCorruptedSilently", "link_corrupt_silent", "nth=N"},
      {"FrameLate", "link_delay", "nth=N,delay=20ms", Expect::success},
      {"Jitter", "link_jitter", "always,most=2ms", Expect::success},
      {"CablePulled", "link_unplug", "from=2ms,until=1s"},
      {"CableFlaps", "link_flap", "from=1ms,until=3s,down=1ms,up=500ms"},
      {"PeerResets", "peer_rst", "nth=N"},
      {"PeerFallsSilent", "peer_silence", "from=3ms,until=5s"},
      {"PeerClosesItsWindow", "peer_zero_window", "until=5s"},
      {"PeerHasATinyMss", "peer_tiny_mss", "always", Expect::success},
      {"PeerBreaksChecksums", "peer_bad_checksum", "nth=N"},
      {"PeerFloodsWithSyns", "peer_syn_flood", "until=5s,port=50000,count=2000"},
      {"PeerAnswersNoArp", "peer_no_arp", "until=5s"},
  };
  return cases;
}

std::vector<Case> every_case() {
  std::vector<Case> cases;
  for (const BusKind bus : {BusKind::byte, BusKind::burst, BusKind::dma}) {
    for (const FaultCase& fault : fault_cases()) {
      for (int slice = 0; slice < fault.slices; ++slice) cases.push_back({bus, fault, slice});
    }
  }
  for (const FaultCase& fault : std::initializer_list<FaultCase>{
           {"DmaLate", "dma_late", "nth=N,delay=500us", Expect::success},
           {"DmaVeryLate", "dma_late", "nth=N,delay=1s"},
           {"DmaShort", "dma_short", "nth=N,missing=7", Expect::any_data},
           {"DmaNeverEnds", "dma_never", "nth=N"},
           {"DmaStallsHalfway", "dma_never", "nth=N,moved=20"},
       }) {
    cases.push_back({BusKind::dma, fault, 0});
  }
  return cases;
}

std::string case_name(const testing::TestParamInfo<Case>& of) {
  const std::string bus = of.param.bus == BusKind::byte ? "Byte" : of.param.bus == BusKind::burst ? "Burst" : "Dma";
  const std::string slice = of.param.fault.slices > 1 ? "_" + std::to_string(of.param.slice + 1) : "";
  return bus + "_" + of.param.fault.name + slice;
}

INSTANTIATE_TEST_SUITE_P(OnEveryBus, DriverFaults, testing::ValuesIn(every_case()), case_name);

// Each single transfer of a small session is broken, n = 1, 2, 3 ... until a session ends unbroken: each byte for what
// strikes a byte, each frame for what strikes a frame. The slices share the n.
using DriverFaultsOneByOne = DriverFaults;

TEST_P(DriverFaultsOneByOne, EachTransferBrokenByItselfLeavesADriverThatRecovers) {
  const Case& of = GetParam();
  const auto slices = static_cast<std::uint64_t>(of.fault.slices);
  bool struck = true;
  std::uint64_t sessions = 0;
  for (auto n = static_cast<std::uint64_t>(of.slice) + 1; struck && !HasFailure(); n += slices) {
    struck = break_and_recover(nth_of(of.fault, n), Instant{5s}, Extent::small) > 0;
    ++sessions;
  }
  EXPECT_GT(sessions * slices, 100U) << "a session has more transfers than that";
}

std::vector<Case> one_by_one() {
  std::vector<Case> cases;
  for (const BusKind bus : {BusKind::byte, BusKind::burst, BusKind::dma}) {
    for (FaultCase fault : fault_cases()) {
      if (fault.slices == 1) continue;  // few occasions: DriverFaults takes each
      fault.slices = 5;
      for (int slice = 0; slice < fault.slices; ++slice) cases.push_back({bus, fault, slice});
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(OnEveryBus, DriverFaultsOneByOne, testing::ValuesIn(one_by_one()), case_name);

}  // namespace
}  // namespace wizloop::test
