#include "sim/wire/link_mode.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace wizloop::wire {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view ends[] = {"10-half-forced",       "10-full-forced",      "100-half-forced",
                                     "100-full-forced",      "10-half-negotiating", "10-full-negotiating",
                                     "100-half-negotiating", "100-full-negotiating"};

std::string word(const LinkMode& mode) {
  return std::string{mode.fast ? "100" : "10"} + (mode.full_duplex ? "F" : "H");
}
// "100F 100H": this end, then the other; "-": no link.
std::string outcome(std::string_view own, std::string_view partner) {
  const auto modes = negotiate(link_abilities_of(own).value(), link_abilities_of(partner).value());
  return modes ? word(modes->own) + " " + word(modes->partner) : "-";
}

TEST(LinkMode, TwoThatNegotiateTakeTheBestThatBothOffer) {
  EXPECT_EQ(outcome("100-full-negotiating", "100-full-negotiating"), "100F 100F");
  EXPECT_EQ(outcome("100-full-negotiating", "100-half-negotiating"), "100H 100H");
  EXPECT_EQ(outcome("100-full-negotiating", "10-full-negotiating"), "10F 10F");
  EXPECT_EQ(outcome("100-half-negotiating", "10-full-negotiating"), "10H 10H");
}

TEST(LinkMode, OneThatNegotiatesIsHalfDuplexAtAForcedPartnersSpeed) {
  EXPECT_EQ(outcome("100-full-negotiating", "100-full-forced"), "100H 100F");
  EXPECT_EQ(outcome("100-full-negotiating", "10-full-forced"), "10H 10F");
  EXPECT_EQ(outcome("100-full-negotiating", "100-half-forced"), "100H 100H");
  EXPECT_EQ(outcome("10-full-negotiating", "100-full-forced"), "-");
}

TEST(LinkMode, TwoForcedEndsLinkIfTheirSpeedsAreEqual) {
  EXPECT_EQ(outcome("100-full-forced", "100-half-forced"), "100F 100H");
  EXPECT_EQ(outcome("10-half-forced", "10-half-forced"), "10H 10H");
  EXPECT_EQ(outcome("10-half-forced", "100-half-forced"), "-");
}

TEST(LinkMode, BothEndsSeeTheSameCable) {
  for (const std::string_view one : ends) {
    for (const std::string_view two : ends) {
      const auto there = negotiate(link_abilities_of(one).value(), link_abilities_of(two).value());
      const auto back = negotiate(link_abilities_of(two).value(), link_abilities_of(one).value());
      ASSERT_EQ(there.has_value(), back.has_value()) << one << " and " << two;
      if (!there) continue;
      EXPECT_EQ(there->own, back->partner) << one << " and " << two;
      EXPECT_EQ(there->partner, back->own) << one << " and " << two;
      EXPECT_EQ(there->own.fast, there->partner.fast) << one << " and " << two;
    }
  }
}

TEST(LinkMode, GigabitAloneLinksWithNobody) {
  for (const std::string_view end : ends) EXPECT_EQ(outcome(end, "1000-only"), "-") << end;
}

TEST(LinkMode, WrongTextSaysWhatWasExpected) {
  for (const std::string_view text : {"", "100", "100-full", "1000-full-forced", "100-full-forced ", "auto"}) {
    const auto abilities = link_abilities_of(text);
    ASSERT_FALSE(abilities) << text;
    EXPECT_THAT(abilities.error().message, HasSubstr("such as 100-half-forced")) << text;
  }
}

}  // namespace
}  // namespace wizloop::wire
