// What the tests of the driver's network clients share: a simulated board with its chip, a cable and the PC, the three
// buses, and the driver above the one that the test names. Every test ends with the question whether the judge found
// anything: a client that works must not.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "drivers/ports/sim/sim_port.hpp"
#include "sim/testbed/testbed.hpp"
#include "sim/wire/arp.hpp"
#include "tests/unit/driver/driver_test.hpp"

namespace wizloop::test {

// A board's world at the far end of a cable, in which a second station may hold an address.
class TestbedTest : public testing::TestWithParam<BusKind> {
 protected:
  using Settings = std::vector<std::pair<std::string, std::string>>;

  void build(const Settings& settings = {}) {
    testbed::TestbedSetup setup{.board = bus::load_board(WIZLOOP_BOARDS_DIR "/stm32f405-arduino.toml").value()};
    for (const auto& [name, value] : settings) ASSERT_TRUE(testbed::apply_setting(setup, name, value)) << name;
    bed = testbed::Testbed::create(std::move(setup)).value();
    bed->link().observe(neighbour_);
    port.emplace(bed->queue(), bed->bus(), bed->chip(), bed->board(), false);
    byte_bus_.emplace(*port);
    burst_bus_.emplace(*port);
    dma_bus_.emplace(*port);
    chip.emplace(bus(), *port);
    ASSERT_TRUE(chip->reset());
  }

  // And the board has its address.
  void build_with_address(const Settings& settings = {}) {
    build(settings);
    ASSERT_TRUE(chip->set_network({{0x02, 0, 0, 0, 0, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {}}));
  }

  void TearDown() override {
    if (bed == nullptr) return;
    for (const Rule rule : bed->findings().failing()) ADD_FAILURE() << "finding: " << text_of(rule).id;
  }

  w5500::Bus& bus() {
    switch (GetParam()) {
      case BusKind::byte:
        return *byte_bus_;
      case BusKind::burst:
        return *burst_bus_;
      default:
        return *dma_bus_;
    }
  }

  void idle(Duration duration) { bed->bus().spend(duration, Account::idle); }

  template <typename Call>
  Duration time_of(Call call) {
    const Instant before = bed->now();
    call();
    return bed->now() - before;
  }

  // Another station answers for this address from now on.
  void occupy(wire::Ipv4Address ip) { neighbour_.occupied = ip; }
  // The other station says so unasked, as a switched-on board does.
  void announce(wire::Ipv4Address ip) {
    neighbour_.say(wire::Arp::Operation::request, ip, wire::broadcast_mac, ip);
    idle(1ms);
  }

  // The other station sends an IP packet to the board.
  void arrive(std::uint8_t protocol, const Bytes& payload, wire::Ipv4Address from) {
    neighbour_.send_packet(protocol, payload, from);
    idle(1ms);
  }

  std::unique_ptr<testbed::Testbed> bed;
  std::optional<SimPort> port;
  std::optional<w5500::Chip> chip;

 private:
  class Neighbour final : public net::LinkObserver {
   public:
    explicit Neighbour(TestbedTest& test) : test_{test} {}

    void on_frame(net::End from, Instant, const wire::Frame& frame) override {
      if (from != net::End::board || occupied == 0) return;
      const auto ethernet = wire::EthernetHeader::parse(frame.data());
      if (!ethernet || ethernet->type != wire::type_arp) return;
      const auto arp = wire::Arp::parse(frame.data().subspan(wire::ethernet_header_bytes));
      if (!arp || arp->operation != wire::Arp::Operation::request || arp->target_ip != occupied) return;
      // Once the request is through, and long before the PC has anything to say.
      test_.bed->queue().schedule_at(test_.bed->now() + 20us, [this, arp] {
        say(wire::Arp::Operation::reply, occupied, arp->sender_mac, arp->sender_ip);
      });
    }

    void send_packet(std::uint8_t protocol, const Bytes& payload, wire::Ipv4Address from) {
      wire::FramePtr frame = test_.bed->frames().take();
      frame->size = wire::ethernet_header_bytes + wire::Ipv4Header::bytes + payload.size();
      std::uint8_t* at = frame->bytes.data();
      wire::EthernetHeader{testbed::board_mac, mac, wire::type_ipv4}.emit(at);
      at += wire::ethernet_header_bytes;
      wire::Ipv4Header{.total_length = static_cast<std::uint16_t>(wire::Ipv4Header::bytes + payload.size()),
                       .protocol = protocol,
                       .source = from,
                       .destination = testbed::board_ip}
          .emit(at);
      std::copy(payload.begin(), payload.end(), at + wire::Ipv4Header::bytes);
      frame->pad();
      test_.bed->link().transmitter(net::End::host).accept(std::move(frame), test_.bed->now());
    }

    void say(wire::Arp::Operation operation, wire::Ipv4Address own, const wire::MacAddress& to, wire::Ipv4Address ip) {
      wire::FramePtr frame = test_.bed->frames().take();
      frame->size = wire::ethernet_header_bytes + wire::Arp::bytes;
      wire::EthernetHeader{to, mac, wire::type_arp}.emit(frame->bytes.data());
      wire::Arp{operation, mac, own, to, ip}.emit(&frame->bytes[wire::ethernet_header_bytes]);
      frame->pad();
      test_.bed->link().transmitter(net::End::host).accept(std::move(frame), test_.bed->now());
    }

    wire::Ipv4Address occupied = 0;

   private:
    static constexpr wire::MacAddress mac = {0x02, 0, 0, 0, 0, 0x99};

    TestbedTest& test_;
  };

  Neighbour neighbour_{*this};
  std::optional<w5500::ByteBus> byte_bus_;
  std::optional<w5500::BurstBus> burst_bus_;
  std::optional<w5500::DmaBus> dma_bus_;
};

}  // namespace wizloop::test
