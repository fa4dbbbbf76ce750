// chip.quirk.NAME, chip.latency.NAME_ns and chip.preset: what a user may type, and what he is told when it is wrong.
#include "sim/chip/chip_config.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace wizloop::chip {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string message(std::string_view name, std::string_view value) {
  ChipConfig config;
  const auto set = set_chip_option(config, name, value);
  return set ? "no error" : set.error().message;
}

TEST(ChipConfigTest, SetsAQuirkByName) {
  ChipConfig config;
  ASSERT_TRUE(set_chip_option(config, "chip.quirk.tx_wr_readback", "plain"));
  EXPECT_EQ(config.quirks.chosen(Quirk::tx_wr_readback), "plain");
  EXPECT_TRUE(config.quirks.touched().empty());
  EXPECT_EQ(config.quirks.choice<TxWrReadback>(Quirk::tx_wr_readback), TxWrReadback::plain);
  EXPECT_THAT(config.quirks.touched(), testing::ElementsAre(Quirk::tx_wr_readback));
}

TEST(ChipConfigTest, SetsALatencyToThePicosecond) {
  ChipConfig config;
  ASSERT_TRUE(set_chip_option(config, "chip.latency.arp_to_reply_ns", "250.75"));
  EXPECT_EQ(config.latencies.arp_to_reply, picoseconds(250'750));
  ASSERT_TRUE(set_chip_option(config, "chip.latency.arp_to_reply_ns", "0"));
  EXPECT_EQ(config.latencies.arp_to_reply, Duration{});
}

TEST(ChipConfigTest, StrictIsAPreset) {
  ChipConfig config;
  EXPECT_FALSE(config.strict);
  ASSERT_TRUE(set_chip_option(config, "chip.preset", "strict"));
  EXPECT_TRUE(config.strict);
  ASSERT_TRUE(set_chip_option(config, "chip.preset", "silicon"));
  EXPECT_FALSE(config.strict);
}

TEST(ChipConfigTest, ErrorsNameTheNearestOptionOrTheValuesAllowed) {
  EXPECT_THAT(message("chip.quirk.tx_wr_readbak", "plain"), HasSubstr("the nearest is chip.quirk.tx_wr_readback"));
  EXPECT_THAT(message("chip.latency.arp_to_reply", "1"), HasSubstr("the nearest is chip.latency.arp_to_reply_ns"));
  EXPECT_THAT(message("chip.presets", "strict"), HasSubstr("the nearest is chip.preset"));
  EXPECT_THAT(message("chip.quirk.tx_wr_readback", "both"), AllOf(HasSubstr("\"both\""), HasSubstr("latched, plain")));
  EXPECT_THAT(message("chip.preset", "lenient"), HasSubstr("silicon, strict"));
  for (const char* bad :
       {"", "-1", "1.2345", "1.", "ns", "1e3", "1000000000001", "99999999999999999999", "+1", "1.-1"}) {
    EXPECT_THAT(message("chip.latency.arp_to_reply_ns", bad), HasSubstr("nanoseconds from 0 to 1000000000000")) << bad;
  }
}

TEST(ChipConfigTest, EveryOptionOfTheCatalogueTakesItsOwnDefaultAndEachChoice) {
  std::set<std::string> names;
  for (const ChipOption& option : chip_options()) {
    EXPECT_TRUE(names.insert(option.name).second) << option.name;
    EXPECT_FALSE(option.source.empty() || option.question.empty()) << option.name;
    ChipConfig config;
    EXPECT_TRUE(set_chip_option(config, option.name, option.default_value)) << option.name;
    for (const std::string_view choice : option.choices) {
      EXPECT_TRUE(set_chip_option(config, option.name, choice)) << option.name << " " << choice;
    }
    if (option.kind == ChipOption::Kind::quirk) {
      EXPECT_GE(option.choices.size(), 2U) << option.name;
    }
  }
}

TEST(QuirkTableTest, IsIndexedByQuirk) {
  for (std::size_t i = 0; i < quirk_table().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(quirk_table()[i].quirk), i);
  }
}

}  // namespace
}  // namespace wizloop::chip
