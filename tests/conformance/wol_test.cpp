// Wake on LAN: facts sections 2.1 (WOL), 2.2 (MP) and 5.10.
#include "tests/conformance/fixture.hpp"

namespace wizloop::conformance {
namespace {

class WolTest : public PeerTest {
 protected:
  void SetUp() override {
    PeerTest::SetUp();
    if (IsSkipped()) return;
    set("MR", 0x20);
  }
  static Octets magic(const MacAddress& mac, int repeats = 16) {
    Octets payload(6, 0xFF);
    for (int i = 0; i < repeats; ++i) payload.insert(payload.end(), mac.begin(), mac.end());
    return payload;
  }
  std::uint64_t ir_after(const Octets& payload, const net::ScriptedPeer::IpOptions& options = {}) {
    peer().send(peer().udp(1, 9, payload, options));
    wait(1ms);
    return get("IR");
  }
};

TEST_F(WolTest, MagicPacketRaisesMpWhateverThePort) {
  open(0, mode::UDP, 5000);
  EXPECT_EQ(ir_after(magic(chip_mac)), 0x10U);
  set("IR", 0x10);
  EXPECT_EQ(get("IR"), 0U);
}

TEST_F(WolTest, BroadcastMagicPacketCountsToo) {
  open(0, mode::UDP, 5000);
  EXPECT_EQ(ir_after(magic(chip_mac), {.destination = wire::broadcast_ipv4, .destination_mac = wire::broadcast_mac}),
            0x10U);
}

TEST_F(WolTest, MagicOfAnotherOrTooShortDoesNot) {
  open(0, mode::UDP, 5000);
  EXPECT_EQ(ir_after(magic(peer_mac())), 0U);
  EXPECT_EQ(ir_after(magic(chip_mac, 15)), 0U);
  EXPECT_EQ(ir_after(counting(200)), 0U);
}

TEST_F(WolTest, NeedsTheModeBit) {
  set("MR", 0x00);
  open(0, mode::UDP, 5000);
  EXPECT_EQ(ir_after(magic(chip_mac)), 0U);
}

TEST_F(WolTest, NeedsAnOpenUdpSocket) { EXPECT_EQ(ir_after(magic(chip_mac)), 0U); }

TEST_F(WolTest, ReachesThePinThroughImr) {
  REQUIRES(interrupt_pin);
  open(0, mode::UDP, 5000);
  set("IMR", 0x10);
  ir_after(magic(chip_mac));
  EXPECT_FALSE(target().intn());
}

}  // namespace
}  // namespace wizloop::conformance
