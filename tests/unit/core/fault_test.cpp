// The fault plan: what its texts say, what it refuses, and which occasions a fault strikes.
#include "sim/core/fault.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wizloop {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class FaultTest : public testing::Test, public TraceSink {
 protected:
  void on_event(const TraceEvent& event) override { events.push_back(to_text(event)); }

  void plan(std::string_view name, std::string_view text) {
    FaultPlan fresh;
    const auto added = fresh.add(name, text);
    ASSERT_TRUE(added) << added.error().message;
    faults.emplace(fresh, queue, Random{seed}, trace);
  }
  std::string refusal(std::string_view name, std::string_view text) {
    FaultPlan fresh;
    const auto added = fresh.add(name, text);
    return added ? "accepted" : added.error().message;
  }
  // One occasion each microsecond; the numbers of those that were struck.
  std::vector<int> strikes(Fault fault, int occasions) {
    std::vector<int> struck;
    for (int i = 1; i <= occasions; ++i) {
      queue.advance_to(queue.now() + 1us);
      if (faults->point(fault)->strikes()) struck.push_back(i);
    }
    return struck;
  }

  std::uint64_t seed = 1;
  EventQueue queue;
  Trace trace;
  std::optional<Faults> faults;
  std::vector<std::string> events;
};

TEST_F(FaultTest, TableIsInTheOrderOfTheEnumerationAndNamesAreLayerFirst) {
  ASSERT_EQ(fault_table().size(), fault_count);
  for (std::size_t i = 0; i < fault_count; ++i) {
    const FaultSpec& spec = fault_table()[i];
    EXPECT_EQ(static_cast<std::size_t>(spec.fault), i) << spec.name;
    EXPECT_TRUE(spec.name.starts_with(spec.layer)) << spec.name;
    EXPECT_FALSE(spec.meaning.empty()) << spec.name;
    FaultPlan plan;
    EXPECT_TRUE(plan.add(spec.name, spec.occasion.empty() ? "from=0s" : "always")) << spec.name;
  }
}

TEST_F(FaultTest, NothingIsPlannedByItself) {
  faults.emplace(FaultPlan{}, queue, Random{1}, trace);
  for (const FaultSpec& spec : fault_table()) EXPECT_EQ(faults->point(spec.fault), nullptr);
  EXPECT_FALSE(faults->planned("spi"));
  EXPECT_THAT(faults->struck(), IsEmpty());
}

TEST_F(FaultTest, NthStrikesThatOccasionAlone) {
  plan("link_loss", "nth=3");
  EXPECT_THAT(strikes(Fault::link_loss, 10), ElementsAre(3));
  EXPECT_TRUE(faults->planned("link"));
  EXPECT_FALSE(faults->planned("spi"));
}

TEST_F(FaultTest, EveryStrikesMultiplesAndTimesLimitsThem) {
  plan("link_loss", "every=3,times=2");
  EXPECT_THAT(strikes(Fault::link_loss, 12), ElementsAre(3, 6));
}

TEST_F(FaultTest, WindowIncludesItsStartAndExcludesItsEnd) {
  plan("link_loss", "from=3us,until=5us");
  EXPECT_THAT(strikes(Fault::link_loss, 8), ElementsAre(3, 4));
}

TEST_F(FaultTest, NthCountsWithinTheWindow) {
  plan("link_loss", "nth=2,from=5us");
  EXPECT_THAT(strikes(Fault::link_loss, 8), ElementsAre(6));
}

TEST_F(FaultTest, AtStrikesTheFirstOccasionFromThenOn) {
  plan("link_loss", "at=2500ns");
  EXPECT_THAT(strikes(Fault::link_loss, 8), ElementsAre(3));
}

TEST_F(FaultTest, ChanceFollowsTheSeed) {
  plan("link_loss", "ppm=200000");
  const auto first = strikes(Fault::link_loss, 1000);
  EXPECT_NEAR(static_cast<double>(first.size()), 200, 50);
  plan("link_loss", "ppm=200000");
  EXPECT_EQ(strikes(Fault::link_loss, 1000), first);
  seed = 2;
  plan("link_loss", "ppm=200000");
  EXPECT_NE(strikes(Fault::link_loss, 1000), first);
}

TEST_F(FaultTest, ChanceOfNothingNeverStrikes) {
  plan("link_loss", "ppm=0");
  EXPECT_THAT(strikes(Fault::link_loss, 1000), IsEmpty());
}

TEST_F(FaultTest, StrikeIsTracedAndCounted) {
  trace.add(*this);
  plan("spi_flip", "nth=2");
  strikes(Fault::spi_flip, 3);
  EXPECT_THAT(events, ElementsAre("0.000002000000 fault spi_flip occasion=2 strike=1"));
  ASSERT_EQ(faults->struck().size(), 1U);
  EXPECT_EQ(faults->struck()[0].name, "spi_flip");
  EXPECT_EQ(faults->struck()[0].struck, 1U);
}

TEST_F(FaultTest, ParametersHaveDefaultsAndTakeValues) {
  plan("spi_flip", "always");
  EXPECT_TRUE(faults->point(Fault::spi_flip)->is("line", "miso"));
  plan("spi_flip", "always,line=mosi,bit=6");
  EXPECT_TRUE(faults->point(Fault::spi_flip)->is("line", "mosi"));
  EXPECT_EQ(faults->point(Fault::spi_flip)->number("bit"), 6U);
  plan("dma_late", "nth=1,delay=25us");
  EXPECT_EQ(faults->point(Fault::dma_late)->time("delay"), 25us);
}

TEST_F(FaultTest, AnyIsDrawnAnewWithinItsRange) {
  plan("spi_flip", "always,bit=any");
  std::uint64_t seen = 0;
  for (int i = 0; i < 200; ++i) seen |= std::uint64_t{1} << faults->point(Fault::spi_flip)->number("bit");
  EXPECT_EQ(seen, 0xFFU);
}

TEST_F(FaultTest, ScheduledFaultKnowsItsWindow) {
  plan("link_unplug", "from=10ms,until=20ms");
  EXPECT_EQ(faults->point(Fault::link_unplug)->from(), Instant{10ms});
  EXPECT_EQ(faults->point(Fault::link_unplug)->until(), Instant{20ms});
  plan("link_unplug", "at=1s");
  EXPECT_EQ(faults->point(Fault::link_unplug)->from(), Instant{1s});
}

TEST_F(FaultTest, LaterTextReplacesTheEarlierOne) {
  FaultPlan two;
  ASSERT_TRUE(two.add("link_loss", "nth=1"));
  ASSERT_TRUE(two.add("link_loss", "nth=4"));
  EXPECT_EQ(two.all().size(), 1U);
  EXPECT_EQ(two.find(Fault::link_loss)->count, 4U);
  EXPECT_EQ(two.find(Fault::spi_flip), nullptr);
}

TEST_F(FaultTest, UnknownFaultGetsTheNearestName) {
  EXPECT_EQ(refusal("spi_filp", "always"), "unknown fault.spi_filp; the nearest is fault.spi_flip");
  EXPECT_THAT(refusal("link_lose", "always"), HasSubstr("fault.link_loss"));
}

TEST_F(FaultTest, RefusalsNameTheWordAndWhatWasExpected) {
  EXPECT_EQ(refusal("intn_glitch", "often"),
            "fault.intn_glitch is \"often\": \"often\" is none of its words; it takes always, nth=N, every=N, ppm=N, "
            "times=N, at=T, from=T, until=T");
  EXPECT_THAT(refusal("spi_flip", "nth=0"), HasSubstr("nth is \"0\", expected a whole number from 1"));
  EXPECT_THAT(refusal("spi_flip", "nth=-1"), HasSubstr("nth is \"-1\""));
  EXPECT_THAT(refusal("spi_flip", ""), HasSubstr("none of its words"));
  EXPECT_THAT(refusal("spi_flip", "always,"), HasSubstr("none of its words"));
  EXPECT_THAT(refusal("spi_flip", "bit=8"), AllOf(HasSubstr("bit is \"8\""), HasSubstr("from 0 to 7")));
  EXPECT_THAT(refusal("spi_flip", "line=sclk"), AllOf(HasSubstr("line is \"sclk\""), HasSubstr("miso, mosi")));
  EXPECT_THAT(refusal("spi_flip", "ppm=1000001"), HasSubstr("from 0 to 1000000"));
  EXPECT_THAT(refusal("spi_flip", "from=5"), AllOf(HasSubstr("from is \"5\""), HasSubstr("ps, ns, us, ms or s")));
  EXPECT_THAT(refusal("spi_flip", "at=99999999999999999s"), HasSubstr("at is"));
  EXPECT_THAT(refusal("link_delay", "delay=2305844s"), HasSubstr("ms or s, at most 2305843s"));
  EXPECT_EQ(refusal("link_delay", "delay=2305843s"), "accepted");
  EXPECT_THAT(refusal("spi_flip", "nth=1,every=2"), HasSubstr("exclude each other"));
  EXPECT_THAT(refusal("spi_flip", "at=1us,from=2us"), HasSubstr("at is a from of its own"));
  EXPECT_THAT(refusal("spi_flip", "nth=1,nth=2"), HasSubstr("nth is given twice"));
  EXPECT_THAT(refusal("spi_flip", "from=2us,until=1us"), HasSubstr("until is not after from"));
  EXPECT_THAT(refusal("dma_late", "nth=1,delay=x"), HasSubstr("delay is \"x\""));
  EXPECT_THAT(refusal("spi_miso_stuck", "level=any"), HasSubstr("level is \"any\""));
}

TEST_F(FaultTest, ScheduledFaultTakesTimesOnly) {
  EXPECT_THAT(refusal("link_unplug", "nth=1"), HasSubstr("it takes at=T, from=T, until=T"));
  EXPECT_THAT(refusal("link_unplug", "always"), HasSubstr("none of its words"));
}

}  // namespace
}  // namespace wizloop
