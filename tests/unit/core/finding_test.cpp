#include "sim/core/finding.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cctype>
#include <set>
#include <string>

namespace wizloop {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(FindingsTest, KeepTheFirstOfEachKindAndCountTheRest) {
  Findings findings;
  findings.add(Instant{} + 1us, Rule::illegal_command, "S0 Sn_CR = 0x20", {"00 01 0c 20", "SOCK_CLOSED"});
  findings.add(Instant{} + 2us, Rule::illegal_command, "S0 Sn_CR = 0x20", {"00 01 0d 20", "SOCK_INIT"});
  findings.add(Instant{} + 3us, Rule::illegal_command, "S0 Sn_CR = 0x20");
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all()[0].at, Instant{} + 1us);
  EXPECT_EQ(findings.all()[0].rule, Rule::illegal_command);
  EXPECT_EQ(findings.all()[0].seen, "S0 Sn_CR = 0x20");
  EXPECT_EQ(findings.all()[0].evidence.spi, "00 01 0c 20");
  EXPECT_EQ(findings.all()[0].evidence.state, "SOCK_CLOSED");
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

TEST(FindingsTest, KeepABoundedNumberOfKindsPerRuleAndCountTheRestWithTheLast) {
  Findings findings;
  for (int i = 0; i < 100; ++i) findings.add(Instant{}, Rule::reserved_register, std::to_string(i));
  findings.add(Instant{}, Rule::reserved_block, "BSB 4");
  ASSERT_EQ(findings.all().size(), Findings::kept_per_rule + 1);
  EXPECT_EQ(findings.all()[Findings::kept_per_rule - 1].count, 100 - Findings::kept_per_rule + 1);
  EXPECT_EQ(findings.all().back().seen, "BSB 4");
}

TEST(FindingsTest, StartEmpty) {
  EXPECT_THAT(Findings{}.all(), IsEmpty());
  EXPECT_THAT(Findings{}.failing(), IsEmpty());
}

TEST(FindingsTest, AnnouncedRulesDoNotFailARun) {
  Findings findings;
  findings.announce({Rule::sclk_above_rating, "known to work"});
  findings.add(Instant{}, Rule::sclk_above_rating, "SCLK");
  findings.add(Instant{}, Rule::illegal_command, "S0");
  findings.add(Instant{}, Rule::reserved_block, "BSB 4");
  findings.add(Instant{}, Rule::illegal_command, "S1");
  EXPECT_THAT(findings.failing(), ElementsAre(Rule::illegal_command, Rule::reserved_block));
  EXPECT_THAT(findings.failing(true),
              ElementsAre(Rule::sclk_above_rating, Rule::illegal_command, Rule::reserved_block));
  ASSERT_NE(findings.announced(Rule::sclk_above_rating), nullptr);
  EXPECT_EQ(findings.announced(Rule::sclk_above_rating)->reason, "known to work");
  EXPECT_EQ(findings.announced(Rule::illegal_command), nullptr);
}

TEST(FindingsTest, SuppressedRulesAreStillCounted) {
  Findings findings;
  findings.announce({Rule::illegal_command, "as the original does", Origin::command, /*suppressed=*/true});
  for (int i = 0; i < 3; ++i) findings.add(Instant{}, Rule::illegal_command, "S0");
  EXPECT_THAT(findings.failing(), IsEmpty());
  ASSERT_EQ(findings.all().size(), 1u);
  EXPECT_EQ(findings.all()[0].count, 3u);
  EXPECT_TRUE(findings.announced(Rule::illegal_command)->suppressed);
}

TEST(FindingsTest, TheLastAnnouncementOfARuleCounts) {
  Findings findings;
  findings.announce({Rule::illegal_command, "of the board", Origin::board});
  findings.announce({Rule::illegal_command, "of the user", Origin::command});
  EXPECT_EQ(findings.announced(Rule::illegal_command)->reason, "of the user");
  EXPECT_EQ(name_of(findings.announced(Rule::illegal_command)->origin), "command");
}

TEST(RuleTextTest, EachRuleHasAnIdOfItsOwnAndSaysWhatWhyAndHowToCureIt) {
  std::set<std::string_view> ids;
  for (std::size_t i = 0; i < rule_count; ++i) {
    const RuleText& text = text_of(static_cast<Rule>(i));
    EXPECT_EQ(text.rule, static_cast<Rule>(i)) << text.id;
    ids.insert(text.id);
    for (const char letter : text.id) EXPECT_TRUE(std::islower(letter) != 0 || letter == '-') << text.id;
    EXPECT_FALSE(text.section.empty()) << text.id;
    EXPECT_FALSE(text.what.empty()) << text.id;
    EXPECT_FALSE(text.cause.empty()) << text.id;
    EXPECT_FALSE(text.cure.empty()) << text.id;
    EXPECT_EQ(rule_of(text.id), text.rule);
  }
  EXPECT_EQ(ids.size(), rule_count);
  EXPECT_EQ(text_of(Rule::sclk_above_rating).id, "sclk-above-rating");
  EXPECT_EQ(text_of(Rule::not_modelled).id, "not-modelled");
}

TEST(RuleTextTest, AnUnknownIdNamesNoRule) { EXPECT_EQ(rule_of("sclk-above-ratin"), std::nullopt); }

TEST(RuleTextTest, SeveritiesHaveNames) {
  EXPECT_EQ(name_of(Severity::note), "note");
  EXPECT_EQ(name_of(Severity::warning), "warning");
  EXPECT_EQ(name_of(Severity::error), "error");
  EXPECT_EQ(text_of(Rule::sclk_above_rating).severity, Severity::warning);
  EXPECT_EQ(text_of(Rule::sclk_above_limit).severity, Severity::error);
}

}  // namespace
}  // namespace wizloop
