// The portable driver on the chip model, as a client of the services that a network has: from no address at all to a
// lease, a name and the time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/socket.hpp"
#include "sim/net/lwip_host.hpp"
#include "sim/net/services/dhcp_server.hpp"
#include "sim/net/services/dns_server.hpp"
#include "sim/net/services/ntp_server.hpp"

namespace wizloop::test {
namespace {

using testing::ElementsAre;
using wire::Dhcp;
using wire::Dns;
using wire::Ntp;

constexpr wire::Ipv4Address pc_ip = wire::ipv4(192, 168, 1, 10);
constexpr wire::Ipv4Address leased_ip = wire::ipv4(192, 168, 1, 100);
constexpr w5500::Endpoint everybody{{255, 255, 255, 255}, Dhcp::server_port};

bus::BoardProfile quick_board() {
  bus::BoardProfile profile;
  profile.cpu = Frequency{100'000'000};
  profile.sclk = Frequency{25'000'000};
  profile.byte = {.gap = 200ns};
  profile.burst = bus::BurstCost{.setup = 1us};
  profile.select = 10us;  // few polls in a long wait
  profile.interrupt_latency = 1us;
  return profile;
}

// A board without an address, a cable and a PC.
class DriverServices : public testing::Test, private bus::AwaitedSource {
 protected:
  DriverServices() {
    link_.attach(net::End::board, model_);
    model_.connect(link_.transmitter(net::End::board));
    model_.plug_in_settled();
    auto pc = net::LwipHost::create(queue_, frames_,
                                    {.mac = {0x02, 0, 0, 0, 0, 0x10}, .ip = pc_ip, .profile = {.turnaround = 20us}});
    if (!pc) ADD_FAILURE() << pc.error().message;
    pc_ = std::move(pc).value();
    pc_->plug_into(link_, net::End::host);
    spi_.emplace(queue_, budget_, model_.spi(), profile_, findings_, static_cast<const bus::AwaitedSource&>(*this));
    port_.emplace(queue_, *spi_, model_, profile_, false);
    bus_.emplace(*port_);
    chip_.emplace(*bus_, *port_);
    EXPECT_TRUE(chip_->reset(100'000));
    set_address(0);
  }

  void set_address(wire::Ipv4Address ip) {
    w5500::Network network{{0x02, 0, 0, 0, 0, 0x20}, {}, {}, {}};
    store32(network.ip, ip);
    if (ip != 0) store32(network.subnet, wire::ipv4(255, 255, 255, 0));
    EXPECT_TRUE(chip_->set_network(network));
  }

  // Sends a question and returns the first answer within 100 ms, or nothing at all.
  std::vector<std::uint8_t> ask(std::uint16_t from, const w5500::Endpoint& to, Bytes question) {
    w5500::UdpSocket socket{*chip_, 0};
    EXPECT_TRUE(socket.open(from));
    EXPECT_TRUE(socket.send_to(to, question.data(), static_cast<std::uint16_t>(question.size())));
    std::array<std::uint8_t, 1472> buffer{};
    const auto got = socket.receive_from(buffer.data(), buffer.size(), 100'000);
    EXPECT_TRUE(socket.close());
    if (!got) return {};
    return {buffer.begin(), buffer.begin() + got.value().size};
  }

  std::optional<Dhcp> ask_dhcp(const w5500::Endpoint& to, const Dhcp& message) {
    answer_ = ask(Dhcp::client_port, to, message.emit());
    return answer_.empty() ? std::nullopt : Dhcp::parse(answer_);
  }

  EventQueue& queue() { return queue_; }
  net::LwipHost& pc() { return *pc_; }

 private:
  Account awaited() const override { return Account::peer; }

  wire::FramePool frames_;
  EventQueue queue_;
  Random random_{1};
  Trace trace_;
  Findings findings_;
  Budget budget_;
  bus::BoardProfile profile_ = quick_board();
  net::Link link_{queue_, random_, {}};
  chip::Chip model_{queue_, frames_, trace_, findings_, random_};
  std::unique_ptr<net::LwipHost> pc_;
  std::optional<bus::SpiBus> spi_;
  std::optional<SimPort> port_;
  std::optional<w5500::BurstBus> bus_;
  std::optional<w5500::Chip> chip_;
  std::vector<std::uint8_t> answer_;
};

// The chip hears no unicast to an address that it does not have yet: clients on it ask for broadcasts.
TEST_F(DriverServices, LeaseIsHadFromNoAddressAndRenewed) {
  net::DhcpServer dhcp{pc(), {.first = leased_ip, .routers = {pc_ip}, .dns_servers = {pc_ip}}};
  Dhcp message{.xid = 0x12345678, .flags = Dhcp::broadcast_flag, .chaddr = {0x02, 0, 0, 0, 0, 0x20}};
  auto answer = ask_dhcp(everybody, message);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, Dhcp::Type::offer);
  message.type = Dhcp::Type::request;
  message.requested_ip = answer->yiaddr;
  message.server_identifier = pc_ip;
  answer = ask_dhcp(everybody, message);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, Dhcp::Type::ack);
  EXPECT_EQ(answer->yiaddr, leased_ip);
  EXPECT_THAT(answer->dns_servers, ElementsAre(pc_ip));

  set_address(leased_ip);
  answer = ask_dhcp({{192, 168, 1, 10}, Dhcp::server_port},
                    {.xid = 7, .ciaddr = leased_ip, .chaddr = message.chaddr, .type = Dhcp::Type::request});
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->type, Dhcp::Type::ack);
  EXPECT_EQ(dhcp.counters().acks, 2u);
}

TEST_F(DriverServices, NameAndTimeAreTold) {
  net::DnsServer dns{pc(), {.names = {{"broker.lan", wire::ipv4(10, 0, 0, 1)}}}};
  net::NtpServer ntp{pc(), {.start_unix_s = 1'000'000'000}};
  set_address(leased_ip);
  const auto question = Dns{.header = {.id = 1}, .question = Dns::Question{.name = *wire::DnsName::of("broker.lan")}};
  const auto answer = Dns::parse(ask(5353, {{192, 168, 1, 10}, Dns::port}, question.emit()));
  ASSERT_TRUE(answer);
  ASSERT_EQ(answer->answers.size(), 1u);
  EXPECT_THAT(answer->answers[0].data, ElementsAre(10, 0, 0, 1));

  const auto time = Ntp::parse(ask(Ntp::port, {{192, 168, 1, 10}, Ntp::port}, Ntp{}.emit()));
  ASSERT_TRUE(time);
  EXPECT_EQ(time->transmit >> 32, Ntp::timestamp(1'000'000'000, queue().now() - Instant{}) >> 32);
}

}  // namespace
}  // namespace wizloop::test
