// What the tests have in common: a fresh target for each, registers by their datasheet names, and sockets brought to
// where a test begins.
//
//   TEST_F(UdpTest, ...) {
//     open(0, mode::UDP, 5000);
//     peer().send(peer().udp(1111, 5000, Octets{1, 2, 3}));
//     wait(1ms);
//     EXPECT_EQ(get(0, "Sn_RX_RSR"), 11U);
//   }
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <optional>
#include <vector>

#include "tests/conformance/target.hpp"
#include "tests/conformance/w5500.hpp"

namespace wizloop::conformance {

using Octets = std::vector<std::uint8_t>;
using Kind = net::SeenFrame::Kind;
using net::FramePattern;
using wire::Ipv4Address;
using wire::MacAddress;

inline constexpr std::uint8_t FIN = 0x01, SYN = 0x02, RST = 0x04, PSH = 0x08, ACK = 0x10;

inline constexpr MacAddress chip_mac = {0x02, 0, 0, 0, 0, 0x20};
inline constexpr Ipv4Address chip_ip = wire::ipv4(192, 168, 1, 20);
inline constexpr Ipv4Address gateway_ip = wire::ipv4(192, 168, 1, 1);

// Latencies of the chip (facts 9.3); without a trace of silicon they hold for exact targets alone.
inline constexpr Duration segment_to_ack = 5us, syn_to_syn_ack = 10us, arp_to_reply = 10us, received = 4us;

#define REQUIRES(feature)                                                                       \
  if (!target().has(Feature::feature)) {                                                        \
    GTEST_SKIP() << "target '" << target().name() << "' has not " << name_of(Feature::feature); \
  }

// The next frame at the peer: at that instant, or whenever; and nothing further.
#define EXPECT_FRAME_AT(at, ...) EXPECT_EQ(peer().expect(at, __VA_ARGS__, target().jitter()), "")
#define EXPECT_FRAME(...) EXPECT_EQ(peer().expect(__VA_ARGS__), "")
#define EXPECT_SILENCE() EXPECT_EQ(peer().expect_silence(), "")

class ConformanceTest : public testing::Test {
 protected:
  Target& target() { return *target_; }

  // Time.
  Instant now() { return target().now(); }
  void wait(Duration duration) { target().wait(duration); }
  void wait_until(Instant at) {
    if (at > now()) target().wait(at - now());
  }

  // SPI. Whole frames; what MISO showed, header included.
  Octets spi(const Octets& mosi);
  Octets exchange(const Octets& mosi);  // inside a frame
  static Octets header(std::uint8_t bsb, std::uint16_t offset, bool write);
  Octets read(std::uint8_t bsb, std::uint16_t offset, std::size_t count);
  void write(std::uint8_t bsb, std::uint16_t offset, const Octets& data);

  // Registers, as wide as they are.
  std::uint64_t get(std::string_view name);
  void set(std::string_view name, std::uint64_t value);
  std::uint64_t get(int socket, std::string_view name);
  void set(int socket, std::string_view name, std::uint64_t value);
  static std::uint16_t offset_of(std::string_view name);

  // Writes Sn_CR and gives the chip a microsecond, in which each command is taken and shows in Sn_SR.
  void command(int socket, std::uint8_t code);
  std::uint64_t status(int socket) { return get(socket, "Sn_SR"); }
  std::uint64_t interrupts(int socket) { return get(socket, "Sn_IR"); }
  void clear_interrupts(int socket) { set(socket, "Sn_IR", 0xFF); }
  void open(int socket, std::uint8_t sn_mr, std::uint16_t port);
  // Where a SEND goes.
  void address(int socket, Ipv4Address ip, std::uint16_t port);
  // Puts data behind what was sent last, moves Sn_TX_WR and gives SEND.
  void send(int socket, const Octets& data, std::uint8_t code = cr::SEND);
  // Reads what waits, moves Sn_RX_RD and gives RECV.
  Octets receive(int socket, std::size_t count);
  // MAC, address, subnet /24, gateway .1.
  void configure();

  static Octets counting(std::size_t count, std::uint8_t from = 0) {
    Octets bytes(count);
    std::iota(bytes.begin(), bytes.end(), from);
    return bytes;
  }

 private:
  std::unique_ptr<Target> target_ = make_target();
};

// With the chip configured, whatever is on its wire. A test that asks for the peer says REQUIRES(peer) first.
class ConfiguredTest : public ConformanceTest {
 protected:
  void SetUp() override;
  net::ScriptedPeer& peer() { return target().peer(); }
  Ipv4Address peer_ip() { return peer().config().ip; }
  const MacAddress& peer_mac() { return peer().config().mac; }

  // One datagram to everybody, which needs no answer: SENDOK when it has left. The socket is open for UDP.
  void broadcast(int socket, const Octets& data);
  // The socket's next SEND asks for a MAC address that nobody has, also where the wire is a real one (RFC 5737).
  void address_nobody(int socket);
};

// All of its tests need a peer on the wire.
class PeerTest : public ConfiguredTest {
 protected:
  void SetUp() override;
};

// With one TCP connection between socket 0, port 5000, and the peer's port 40000.
class TcpTest : public PeerTest {
 protected:
  static constexpr std::uint16_t chip_port = 5000;
  static constexpr std::uint16_t peer_port = 40000;

  void SetUp() override;
  net::ScriptedConnection& tcp() { return *tcp_; }

  void listen(std::uint8_t mode_bits = 0);
  // OPEN and CONNECT to the peer, which answers ARP.
  void connect(std::uint8_t mode_bits = 0);
  // A passive open up to ESTABLISHED; Sn_IR cleared, nothing left to expect.
  void establish(std::uint8_t mode_bits = 0, std::uint16_t mss = 1460);
  // The sequence number of the chip's `n`th data byte.
  std::uint32_t chip_seq(std::uint32_t n) { return tcp().board_iss + 1 + n; }
  // The data of the frame that was expected last... of all segments seen, in order of sequence.
  Octets stream();

 private:
  std::optional<net::ScriptedConnection> tcp_;
};

}  // namespace wizloop::conformance
