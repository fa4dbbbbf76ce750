// A datagram that a sketch of the Arduino family writes in pieces, on the chip: what comes out rests on Sn_TX_WR
// reading back its value at the last SEND.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "drivers/patterns/ethernet2.hpp"
#include "drivers/patterns/ethernet3.hpp"
#include "drivers/patterns/pjrc_ethernet.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "sim/net/services/udp_echo.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop::test {
namespace {

constexpr patterns::NetConfig network = {
    {0x02, 0, 0, 0, 0, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}, 2};

std::unique_ptr<patterns::Ethernet2> make(w5500::Bus& bus, w5500::Port& port, const patterns::Ethernet2*) {
  return std::make_unique<patterns::Ethernet2>(bus, bus, port);
}
std::unique_ptr<patterns::Ethernet3> make(w5500::Bus& bus, w5500::Port& port, const patterns::Ethernet3*) {
  return std::make_unique<patterns::Ethernet3>(bus, bus, port);
}
std::unique_ptr<patterns::PjrcEthernet> make(w5500::Bus& bus, w5500::Port& port, const patterns::PjrcEthernet*) {
  return std::make_unique<patterns::PjrcEthernet>(bus, port);
}

template <typename Library>
class ArduinoUdpTest : public testing::Test {
 protected:
  // Pieces of 4, 6 and 2 bytes; what the PC sends back.
  std::vector<std::uint8_t> echo_of_three_pieces(const std::string& tx_wr_readback) {
    testbed::TestbedSetup setup{.board = bus::load_board(WIZLOOP_BOARDS_DIR "/stm32f405-arduino.toml").value()};
    EXPECT_TRUE(testbed::apply_setting(setup, "chip.quirk.tx_wr_readback", tx_wr_readback));
    const auto bed = testbed::Testbed::create(std::move(setup)).value();
    SimPort port{bed->queue(), bed->bus(), bed->chip(), bed->board(), false};
    w5500::ByteBus bus{port};
    const auto library = make(bus, port, static_cast<const Library*>(nullptr));
    net::UdpEcho echo{bed->pc(), 7};
    EXPECT_TRUE(library->begin(network) && library->udp_open(50'000));
    const std::uint8_t data[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    EXPECT_TRUE(library->udp_begin_packet({{192, 168, 1, 10}, 7}));
    EXPECT_EQ(library->udp_write(data, 4), 4);
    EXPECT_EQ(library->udp_write(data + 4, 6), 6);
    EXPECT_EQ(library->udp_write(data + 10, 2), 2);
    EXPECT_TRUE(library->udp_end_packet());
    bed->bus().spend(50ms, Account::idle);
    std::vector<std::uint8_t> back(library->udp_parse());
    library->udp_read(back.data(), static_cast<std::uint16_t>(back.size()));
    return back;
  }
};

using Libraries = testing::Types<patterns::Ethernet2, patterns::Ethernet3, patterns::PjrcEthernet>;
TYPED_TEST_SUITE(ArduinoUdpTest, Libraries);

TYPED_TEST(ArduinoUdpTest, ThreePiecesAreOneDatagram) {
  EXPECT_EQ(this->echo_of_three_pieces("latched"), (std::vector<std::uint8_t>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
}

TYPED_TEST(ArduinoUdpTest, OnAChipThatReadsBackWhatWasWrittenTheyAre26BytesWithHoles) {
  const auto back = this->echo_of_three_pieces("plain");
  ASSERT_EQ(back.size(), 26u);
  EXPECT_EQ(std::vector<std::uint8_t>(back.begin(), back.begin() + 4), (std::vector<std::uint8_t>{1, 2, 3, 4}));
  EXPECT_EQ(std::vector<std::uint8_t>(back.begin() + 8, back.begin() + 14),
            (std::vector<std::uint8_t>{5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(std::vector<std::uint8_t>(back.begin() + 24, back.end()), (std::vector<std::uint8_t>{11, 12}));
}

}  // namespace
}  // namespace wizloop::test
