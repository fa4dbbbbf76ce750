#include "sim/core/finding.hpp"

#include <gtest/gtest.h>

#include <set>

namespace wizloop {
namespace {

TEST(FindingsTest, KeepTheFirstOfEachKindAndCountTheRest) {
  Findings findings;
  findings.add(Instant{} + 1us, Rule::sclk_above_rating, "SCLK 42000000 Hz, rated 33300000 Hz");
  findings.add(Instant{} + 2us, Rule::sclk_above_rating, "SCLK 42000000 Hz, rated 33300000 Hz");
  findings.add(Instant{} + 3us, Rule::sclk_above_rating, "SCLK 42000000 Hz, rated 33300000 Hz");
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all()[0].at, Instant{} + 1us);
  EXPECT_EQ(findings.all()[0].rule, Rule::sclk_above_rating);
  EXPECT_EQ(findings.all()[0].seen, "SCLK 42000000 Hz, rated 33300000 Hz");
  EXPECT_EQ(findings.all()[0].count, 3u);
}

TEST(FindingsTest, TellApartWhatWasSeenAndWhichRuleItBroke) {
  Findings findings;
  findings.add(Instant{}, Rule::reserved_block, "BSB 4");
  findings.add(Instant{}, Rule::reserved_block, "BSB 8");
  findings.add(Instant{}, Rule::reserved_register, "BSB 4");
  findings.add(Instant{}, Rule::reserved_block, "BSB 4");
  ASSERT_EQ(findings.all().size(), 3u);
  EXPECT_EQ(findings.all()[0].count, 2u);
  EXPECT_EQ(findings.all()[1].seen, "BSB 8");
  EXPECT_EQ(findings.all()[2].rule, Rule::reserved_register);
}

TEST(FindingsTest, StartEmpty) { EXPECT_TRUE(Findings{}.all().empty()); }

TEST(RuleTextTest, EachRuleHasAnIdOfItsOwnAndSaysWhatAndHowToCureIt) {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < rule_count; ++i) {
    const RuleText& text = text_of(static_cast<Rule>(i));
    ids.insert(text.id);
    EXPECT_FALSE(text.section.empty());
    EXPECT_FALSE(text.what.empty());
    EXPECT_FALSE(text.cure.empty());
  }
  EXPECT_EQ(ids.size(), rule_count);
  EXPECT_EQ(text_of(Rule::sclk_above_rating).id, "sclk-above-rating");
  EXPECT_EQ(text_of(Rule::not_modelled).id, "not-modelled");
}

}  // namespace
}  // namespace wizloop
