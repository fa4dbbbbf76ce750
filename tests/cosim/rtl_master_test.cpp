// The paths of the driver on an SPI master in RTL, clock by clock, and what a bus that prices bytes makes of the same.
#include "drivers/ports/rtl_master/rtl_master_port.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <numeric>
#include <tuple>
#include <utility>
#include <vector>

#include "drivers/patterns/wizloop_library.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "drivers/w5500/byte_bus.hpp"
#include "drivers/w5500/dma_bus.hpp"
#include "sim/net/services/udp_sink.hpp"
#include "sim/rtl/fronts.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop {
namespace {

enum class Path { byte, burst, dma };

// SCLK of 8, 20, 33.3 and 42 MHz.
constexpr RtlMasterClock clocks[] = {
    {Frequency{80'000'000}, 5}, {Frequency{80'000'000}, 2}, {Frequency{66'600'000}, 1}, {Frequency{84'000'000}, 1}};

std::shared_ptr<w5500::Bus> make_bus(Path path, w5500::Port& port) {
  if (path == Path::byte) return std::make_shared<w5500::ByteBus>(port);
  if (path == Path::burst) return std::make_shared<w5500::BurstBus>(port);
  return std::make_shared<w5500::DmaBus>(port);
}

std::unique_ptr<testbed::Testbed> make_bed(const RtlMasterClock& clock, const char* front = "cpp") {
  testbed::TestbedSetup setup{.board = RtlMasterPort::prices(clock)};
  setup.front = rtl::front_maker(front).value();
  setup.announced.push_back({Rule::sclk_above_rating, "42 MHz is tried here"});
  return testbed::Testbed::create(std::move(setup)).value();
}

struct Cost {
  std::uint64_t bytes = 0;
  std::uint64_t frames = 0;
  Duration time{};
};

// Frames without any loop that waits: registers, and a KiB each way, which must come back as it went.
void move_data(w5500::Bus& bus) {
  constexpr std::uint8_t s0_registers = 1, s0_tx = 2;
  std::vector<std::uint8_t> data(1024);
  std::iota(data.begin(), data.end(), std::uint8_t{7});
  std::vector<std::uint8_t> back(data.size());
  for (int round = 0; round < 4; ++round) {
    const std::uint8_t port[] = {0x13, 0x88};
    ASSERT_TRUE(bus.write(s0_registers, 0x0004, port, sizeof port));
    ASSERT_TRUE(bus.write(s0_tx, 0, data.data(), static_cast<std::uint16_t>(data.size())));
    ASSERT_TRUE(bus.read(s0_tx, 0, back.data(), static_cast<std::uint16_t>(back.size())));
    ASSERT_EQ(back, data);
  }
}

Cost on_rtl(const RtlMasterClock& clock, Path path) {
  const auto bed = make_bed(clock);
  bus::SpiWires wires{bed->queue(), bed->chip(), bed->pins(), bed->findings()};
  RtlMasterPort port{bed->queue(), bed->chip(), wires, clock};
  const Instant start = bed->now();
  move_data(*make_bus(path, port));
  EXPECT_THAT(bed->findings().failing(false), testing::IsEmpty());
  return {wires.bytes(), wires.frames(), bed->now() - start};
}

Cost priced(const RtlMasterClock& clock, Path path) {
  const auto bed = make_bed(clock);
  SimPort port{bed->queue(), bed->bus(), bed->chip(), bed->board(), false};
  const Instant start = bed->now();
  move_data(*make_bus(path, port));
  return {bed->bus().bytes(), bed->bus().frames(), bed->now() - start};
}

class RtlMasterPrices : public testing::TestWithParam<std::tuple<RtlMasterClock, Path>> {};

TEST_P(RtlMasterPrices, AreThoseOfTheRtl) {
  const auto& [clock, path] = GetParam();
  const Cost rtl = on_rtl(clock, path);
  const Cost bus = priced(clock, path);
  EXPECT_EQ(rtl.bytes, bus.bytes);
  EXPECT_EQ(rtl.frames, bus.frames);
  const double ratio = static_cast<double>(bus.time.count()) / static_cast<double>(rtl.time.count());
  RecordProperty("error_pct", fmt::format("{:.3f}", (ratio - 1) * 100));
  EXPECT_NEAR(ratio, 1, 0.02);
}

INSTANTIATE_TEST_SUITE_P(All, RtlMasterPrices,
                         testing::Combine(testing::ValuesIn(clocks),
                                          testing::Values(Path::byte, Path::burst, Path::dma)));

// On the pins of either front.
class RtlMasterPaths : public testing::TestWithParam<std::tuple<Path, const char*>> {};

TEST_P(RtlMasterPaths, TheDriverSendsDatagramsToThePc) {
  const RtlMasterClock clock{Frequency{66'600'000}, 1};
  const auto& [path, front] = GetParam();
  const auto bed = make_bed(clock, front);
  bus::SpiWires wires{bed->queue(), bed->chip(), bed->pins(), bed->findings()};
  RtlMasterPort port{bed->queue(), bed->chip(), wires, clock};
  const auto bus = make_bus(path, port);
  patterns::WizloopLibrary library{*bus, port};
  net::UdpSink sink{bed->pc(), 5001};
  const patterns::NetConfig network{
      {0x02, 0, 0, 0, 0, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}, 2};
  ASSERT_TRUE(library.begin(network));
  ASSERT_TRUE(library.udp_open(50001));
  std::vector<std::uint8_t> payload(1000, 0x55);
  for (std::uint32_t number = 0; number < 5; ++number) {
    store32(payload.data(), number);
    ASSERT_TRUE(library.udp_send({{192, 168, 1, 10}, 5001}, payload.data(), 1000));
  }
  bed->queue().advance_to(bed->now() + 1ms);
  EXPECT_EQ(sink.counters().datagrams, 5U);
  EXPECT_EQ(sink.counters().missing, 0U);
  EXPECT_THAT(bed->findings().failing(false), testing::IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, RtlMasterPaths,
                         testing::Combine(testing::Values(Path::byte, Path::burst, Path::dma),
                                          testing::Values("cpp", "rtl")));

class RtlMasterDma : public testing::Test {
 protected:
  RtlMasterClock clock{Frequency{80'000'000}, 5};
  std::unique_ptr<testbed::Testbed> bed = make_bed(clock);
  bus::SpiWires wires{bed->queue(), bed->chip(), bed->pins(), bed->findings()};
  RtlMasterPort port{bed->queue(), bed->chip(), wires, clock};
};

TEST_F(RtlMasterDma, ATransferThatIsNotOverIsEndedAndTheNextOneIsSound) {
  std::vector<std::uint8_t> data(1000, 0xAA);
  port.select();
  ASSERT_TRUE(port.start_dma(data.data(), nullptr, data.size()));
  EXPECT_FALSE(port.wait_dma(100));
  port.abort_dma();
  port.deselect();
  EXPECT_LT(wires.bytes(), 200U);
  std::uint8_t version = 0;
  EXPECT_TRUE(w5500::DmaBus{port}.read(0, 0x0039, &version, 1));
  EXPECT_EQ(version, 4);
}

}  // namespace
}  // namespace wizloop
