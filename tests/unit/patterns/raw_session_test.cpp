// Each raw driver through whole sessions on the chip, with lwIP above it and the PC's lwIP at the far end: it carries
// pings, streams and datagrams, earns exactly the findings that its original would, and recovers as that does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drivers/patterns/esp_idf_macraw.hpp"
#include "drivers/patterns/lwip_macraw.hpp"
#include "drivers/patterns/mongoose_macraw.hpp"
#include "drivers/patterns/nuttx_macraw.hpp"
#include "drivers/patterns/pico_macraw.hpp"
#include "drivers/patterns/qnethernet_macraw.hpp"
#include "drivers/patterns/zephyr_macraw.hpp"
#include "drivers/ports/sim/sim_interrupt_line.hpp"
#include "drivers/ports/sim/sim_port.hpp"
#include "drivers/w5500/burst_bus.hpp"
#include "sim/net/services/pattern.hpp"
#include "sim/net/services/pinger.hpp"
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/udp_echo.hpp"
#include "sim/net/services/udp_source.hpp"
#include "sim/testbed/testbed.hpp"

namespace wizloop::test {
namespace {

using testbed::board_ip;
using testing::ElementsAre;

constexpr patterns::NetConfig network = {
    {0x02, 0, 0, 0, 0, 0x20}, {192, 168, 1, 20}, {255, 255, 255, 0}, {192, 168, 1, 1}, 2};
constexpr patterns::Endpoint echo_port{{192, 168, 1, 10}, 7};
using Settings = std::vector<std::pair<std::string, std::string>>;

class Session {
 public:
  explicit Session(const std::string& driver_name, const Settings& settings = {})
      : bed{create(settings)},
        port{bed->queue(), bed->bus(), bed->chip(), bed->board(), /*reset_wired=*/driver_name == "nuttx"},
        bus{port},
        intn{bed->chip(), bed->faulty_intn()},
        driver{make_driver(driver_name)},
        library{patterns::LwipMacraw::create(*driver, port, patterns::LwipMacraw::Core::plain, 1, [](std::uint16_t) {})
                    .value()},
        echo{bed->pc(), 7} {
    bed->bus().start_watchdog(120s);
  }

  bool begin() { return library->begin(network); }
  void rest(Duration duration) {
    const Instant until = bed->now() + duration;
    while (bed->now() < until) {
      const Duration due = microseconds(library->run_background());
      if (bed->now() < until) bed->bus().spend(std::min(due, until - bed->now()), Account::idle);
    }
  }
  // Whether a datagram comes back.
  bool echoes(std::uint16_t bytes = 60) {
    const Bytes data = net::pattern(bytes, bytes);
    if (!library->udp_send(echo_port, data.data(), bytes)) return false;
    for (const Instant end = bed->now() + 100ms; bed->now() < end; rest(1ms)) {
      if (library->udp_parse() != bytes) continue;
      std::array<std::uint8_t, 1472> back{};
      library->udp_read(back.data(), bytes);
      return std::equal(data.begin(), data.end(), back.begin());
    }
    return false;
  }
  // The fifth at the latest: while the link or the chip was away, ARP may have been lost, and a datagram with it.
  bool echoes_again() {
    for (int attempt = 0; attempt < 5; ++attempt) {
      if (echoes()) return true;
      rest(1s);
    }
    return false;
  }
  std::vector<Rule> findings() const { return bed->findings().failing(); }

  std::unique_ptr<testbed::Testbed> bed;
  SimPort port;
  w5500::BurstBus bus;
  SimInterruptLine intn;
  std::shared_ptr<patterns::RawDriver> driver;
  std::unique_ptr<patterns::LwipMacraw> library;
  net::UdpEcho echo;

 private:
  static std::unique_ptr<testbed::Testbed> create(const Settings& settings) {
    testbed::TestbedSetup setup{.board = bus::load_board(WIZLOOP_BOARDS_DIR "/stm32f405-arduino.toml").value()};
    for (const auto& [name, value] : settings) EXPECT_TRUE(testbed::apply_setting(setup, name, value)) << name;
    return testbed::Testbed::create(std::move(setup)).value();
  }
  std::shared_ptr<patterns::RawDriver> make_driver(const std::string& name) {
    if (name == "pico") return std::make_shared<patterns::PicoMacraw>(bus, port);
    if (name == "mongoose") return std::make_shared<patterns::MongooseMacraw>(bus, port);
    if (name == "esp_idf") return std::make_shared<patterns::EspIdfMacraw>(bus, port, intn);
    if (name == "nuttx") return std::make_shared<patterns::NuttxMacraw>(bus, port, intn);
    if (name == "qnethernet") return std::make_shared<patterns::QnEthernetMacraw>(bus, port);
    return std::make_shared<patterns::ZephyrMacraw>(bus, port, intn);
  }
};

class RawSession : public testing::TestWithParam<std::string> {
 protected:
  bool is(std::initializer_list<std::string> names) const { return std::ranges::count(names, GetParam()) > 0; }
};

TEST_P(RawSession, CarriesPingsAStreamAndDatagrams) {
  Session session{GetParam()};
  net::TcpEcho stream_echo{session.bed->pc(), 7};
  ASSERT_TRUE(session.begin());
  net::Pinger pinger{session.bed->pc(),
                     {.target = board_ip, .count = 3, .interval = 30ms, .start = session.bed->now()}};
  session.rest(300ms);
  EXPECT_EQ(pinger.counters().answered, 3u);

  ASSERT_TRUE(session.library->udp_open(50'000));
  EXPECT_TRUE(session.echoes(1));
  EXPECT_TRUE(session.echoes(1472));

  ASSERT_TRUE(session.library->tcp_connect(echo_port, 0));
  const Bytes data = net::pattern(0, 8000);
  ASSERT_EQ(session.library->tcp_write(data.data(), 8000), 8000);
  std::vector<std::uint8_t> back;
  for (const Instant end = session.bed->now() + 3s; back.size() < 8000 && session.bed->now() < end; session.rest(1ms)) {
    std::array<std::uint8_t, 2048> buffer;
    const std::uint16_t got = session.library->tcp_read(buffer.data(), 2048);
    back.insert(back.end(), buffer.begin(), buffer.begin() + got);
  }
  EXPECT_TRUE(std::equal(back.begin(), back.end(), data.begin(), data.end()));
  session.library->tcp_stop();
  session.rest(100ms);
  EXPECT_EQ(stream_echo.counters().peer_closed, 1u);
}

TEST_P(RawSession, EarnsWhatItsOriginalWould) {
  Session session{GetParam()};
  ASSERT_TRUE(session.begin());
  ASSERT_TRUE(session.library->udp_open(50'000));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(session.echoes(1472)) << i;
  if (is({"pico", "mongoose"})) {
    EXPECT_THAT(session.findings(), ElementsAre(Rule::buffers_over_committed));
  } else if (is({"qnethernet"})) {
    EXPECT_THAT(session.findings(), ElementsAre(Rule::send_result_not_cleared));
  } else if (!is({"zephyr"})) {
    EXPECT_THAT(session.findings(), testing::IsEmpty());
  }
}

TEST_P(RawSession, CommandsThatTakeLongerThanTwoFramesFailThoseThatNeverPoll) {
  Session session{GetParam(),
                  {{"chip.latency.command_accepted_ns", "50000"}, {"chip.latency.command_to_status_ns", "50000"}}};
  EXPECT_EQ(session.begin(), !is({"mongoose", "nuttx"}));
}

TEST_P(RawSession, AVersionThatReadsZeroForAWhileFailsWhoLooksOnce) {
  Session session{GetParam(), {{"chip.latency.versionr_valid_ns", "30000000"}}};
  EXPECT_EQ(session.begin(), !is({"qnethernet"}));
}

TEST_P(RawSession, AResetThatTakesThreeMillisecondsFailsWhoDoesNotWait) {
  Session session{GetParam(), {{"chip.latency.software_reset_ns", "3000000"}}};
  EXPECT_EQ(session.begin(), !is({"pico", "mongoose"}));
}

TEST_P(RawSession, ComesBackAfterThePlugWasOut) {
  Session session{GetParam()};
  ASSERT_TRUE(session.begin());
  ASSERT_TRUE(session.library->udp_open(50'000));
  ASSERT_TRUE(session.echoes());
  session.bed->chip().plug(false);
  session.rest(2100ms);
  session.bed->chip().plug(true);
  session.rest(2100ms);
  EXPECT_TRUE(session.echoes_again());
}

TEST_P(RawSession, DrainsABufferThatOverflowed) {
  Session session{GetParam()};
  ASSERT_TRUE(session.begin());
  ASSERT_TRUE(session.library->udp_open(50'000));
  ASSERT_TRUE(session.echoes());
  net::UdpSource flood{
      session.bed->pc(),
      {.to = {board_ip, 49'999}, .payload_bytes = 1400, .interval = 500us, .count = 40, .start = session.bed->now()}};
  session.bed->bus().spend(50ms, Account::cpu);  // and the driver has no turn
  EXPECT_GT(session.bed->chip().records_dropped(), 0u);
  session.rest(500ms);
  EXPECT_TRUE(session.echoes_again());
}

TEST_P(RawSession, ASendokThatNeverComesIsOutlived) {
  Session session{GetParam(), {{"fault.chip_sendok_lost", "nth=4"}}};
  ASSERT_TRUE(session.begin());
  ASSERT_TRUE(session.library->udp_open(50'000));
  if (is({"pico"})) {
    session.bed->bus().start_watchdog(100ms);  // it waits for ever
    const auto send = [&] {
      for (int i = 0; i < 6; ++i) session.echoes();
    };
    EXPECT_THROW(send(), bus::FirmwareHangs);
    return;
  }
  int lost = 0;
  for (int i = 0; i < 6; ++i) lost += session.echoes() ? 0 : 1;
  if (is({"nuttx"})) {
    EXPECT_GT(lost, 1);                            // nothing leaves any more,
    session.bed->bus().spend(60s, Account::idle);  // but after a minute it begins anew
    session.rest(3s);
  } else {
    EXPECT_LE(lost, 1);
  }
  EXPECT_TRUE(session.echoes_again());
}

// The cause stays, so INTn never falls again, and the wire shows its level as high.
TEST_P(RawSession, AnEdgeThatTheWireLosesStopsReceptionWhereIntnWakesTheDriver) {
  Session session{GetParam(), {{"fault.intn_lost", "nth=6"}}};
  ASSERT_TRUE(session.begin());
  ASSERT_TRUE(session.library->udp_open(50'000));
  int answered = 0;
  for (int i = 0; i < 10; ++i) answered += session.echoes() ? 1 : 0;
  if (is({"pico", "mongoose", "qnethernet"})) {
    EXPECT_EQ(answered, 10);
  } else {
    EXPECT_GT(answered, 0);
    EXPECT_FALSE(session.echoes());
  }
}

TEST_P(RawSession, AnEdgeThatComesLateIsSeen) {
  Session session{GetParam(), {{"fault.intn_late", "every=3,delay=1ms"}}};
  ASSERT_TRUE(session.begin());
  ASSERT_TRUE(session.library->udp_open(50'000));
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(session.echoes()) << i;
}

INSTANTIATE_TEST_SUITE_P(EveryDriver, RawSession,
                         testing::Values("pico", "mongoose", "esp_idf", "nuttx", "qnethernet", "zephyr"),
                         [](const auto& of) { return of.param; });

}  // namespace
}  // namespace wizloop::test
