#include "sim/wire/dns.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/core/random.hpp"

namespace wizloop::wire {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;
using Message = std::vector<std::uint8_t>;

std::optional<std::string> text_at(const Message& message, std::size_t at) {
  const auto name = DnsName::parse(message, at);
  return name ? std::optional{name->text()} : std::nullopt;
}

TEST(DnsName, IsMadeFromTextAndLaidOutInLabels) {
  Message out;
  DnsName::of("www.example.com").value().emit(out);
  EXPECT_THAT(out, ElementsAre(3, 'w', 'w', 'w', 7, 'e', 'x', 'a', 'm', 'p', 'l', 'e', 3, 'c', 'o', 'm', 0));
  EXPECT_EQ(DnsName::of("www.example.com."), DnsName::of("www.example.com"));
  EXPECT_EQ(DnsName::of("")->text(), "");
  EXPECT_EQ(DnsName::of("."), DnsName{});
}

TEST(DnsName, WithAnEmptyOrOverlongLabelIsNone) {
  EXPECT_FALSE(DnsName::of("a..b"));
  EXPECT_FALSE(DnsName::of(".a"));
  EXPECT_FALSE(DnsName::of("a.."));
  EXPECT_FALSE(DnsName::of(std::string(64, 'a')));
  EXPECT_TRUE(DnsName::of(std::string(63, 'a')));
  const std::string label = std::string(63, 'a') + '.';
  EXPECT_TRUE(DnsName::of(label + label + label + std::string(61, 'a')));
  EXPECT_FALSE(DnsName::of(label + label + label + std::string(62, 'a')));
}

TEST(DnsName, ComparesWithoutCaseButNotAcrossLabels) {
  EXPECT_EQ(DnsName::of("WWW.eXample.com"), DnsName::of("www.ExamplE.COM"));
  EXPECT_NE(DnsName::of("www.example.com"), DnsName::of("example.com"));
  EXPECT_NE(DnsName::of("[.x"), DnsName::of("{.x"));  // neighbours of the letters
  EXPECT_NE(DnsName::of("ab.c"), DnsName::of("a.bc"));
}

TEST(DnsName, ShowsStrangeBytesAsNumbers) {
  EXPECT_EQ(text_at({5, 'a', '.', '\\', 0, 200, 1, 'b', 0}, 0), "a\\.\\\\\\000\\200.b");
}

TEST(DnsName, FollowsPointersBackwardsAndEndsBehindTheFirst) {
  const Message message = {3, 'c', 'o', 'm', 0, 1, 'b', 0xC0, 0, 1, 'a', 0xC0, 5, 99};
  EXPECT_EQ(text_at(message, 0), "com");
  EXPECT_EQ(text_at(message, 5), "b.com");
  std::size_t at = 9;
  EXPECT_EQ(DnsName::parse(message, at)->text(), "a.b.com");
  EXPECT_EQ(at, 13u);
}

TEST(DnsName, DoesNotFollowPointersForwardsOrInCircles) {
  EXPECT_FALSE(text_at({0xC0, 0}, 0)) << "to itself";
  EXPECT_FALSE(text_at({0xC0, 2, 0xC0, 0}, 0)) << "to each other";
  EXPECT_FALSE(text_at({0xC0, 2, 0xC0, 0}, 2)) << "to each other";
  EXPECT_FALSE(text_at({1, 'a', 0xC0, 0}, 0)) << "to the labels it ends";
  EXPECT_FALSE(text_at({1, 'a', 0xC0, 2}, 0));
  EXPECT_FALSE(text_at({0xC0, 2, 0}, 0)) << "forwards";
  EXPECT_FALSE(text_at({0xC0, 99}, 0)) << "past the end";
}

TEST(DnsName, CutShortOrOfAnUnknownKindIsNotRead) {
  const Message whole = {3, 'c', 'o', 'm', 1, 'a', 0};
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_FALSE(text_at({whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size)}, 0)) << size;
  }
  EXPECT_FALSE(text_at({0, 0xC0}, 1));
  EXPECT_FALSE(text_at({0x40, 0}, 0));
  EXPECT_FALSE(text_at({0x80, 0}, 0));
}

TEST(DnsName, CannotGrowOverItsLimitByPointers) {
  Message message;
  std::size_t previous = 0;
  std::size_t readable = 0;
  for (int i = 0; i < 6; ++i) {  // each prepends a label of 63 bytes to the one before
    const std::size_t start = message.size();
    message.push_back(63);
    message.insert(message.end(), 63, 'x');
    if (i == 0) {
      message.push_back(0);
    } else {
      message.push_back(static_cast<std::uint8_t>(0xC0 | previous >> 8));
      message.push_back(static_cast<std::uint8_t>(previous));
    }
    previous = start;
    if (text_at(message, start)) ++readable;
  }
  EXPECT_EQ(readable, 3u);  // 4 x 64 + 1 is over 255
}

TEST(Dns, IsLaidOutAsInRfc1035) {
  const Dns message{.header = {.id = 0x1234,
                               .response = true,
                               .opcode = 2,
                               .authoritative = true,
                               .truncated = true,
                               .recursion_desired = true,
                               .recursion_available = true,
                               .rcode = Dns::Rcode::name_error},
                    .question = Dns::Question{.name = *DnsName::of("a.b"), .type = 28, .klass = 3},
                    .answers = {{.name = *DnsName::of("A.b"), .ttl_s = 0x01020304, .data = {10, 0, 0, 1}},
                                {.name = *DnsName::of("c"), .type = 16, .data = {7}}}};
  EXPECT_THAT(message.emit(), ElementsAre(0x12, 0x34, 0x97, 0x83, 0, 1, 0, 2, 0, 0, 0, 0,       //
                                          1, 'a', 1, 'b', 0, 0, 28, 0, 3,                       //
                                          0xC0, 12, 0, 1, 0, 1, 1, 2, 3, 4, 0, 4, 10, 0, 0, 1,  //
                                          1, 'c', 0, 0, 16, 0, 1, 0, 0, 0, 0, 0, 1, 7));
}

TEST(Dns, IsReadBack) {
  const Dns message{.header = {.id = 7, .response = true, .recursion_desired = true, .rcode = Dns::Rcode::refused},
                    .question = Dns::Question{.name = *DnsName::of("www.example.com")},
                    .answers = {{.name = *DnsName::of("www.example.com"), .ttl_s = 60, .data = {10, 0, 0, 1}}}};
  const auto parsed = Dns::parse(message.emit());
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->header.id, 7);
  EXPECT_TRUE(parsed->header.response);
  EXPECT_TRUE(parsed->header.recursion_desired);
  EXPECT_FALSE(parsed->header.truncated);
  EXPECT_FALSE(parsed->header.authoritative);
  EXPECT_EQ(parsed->header.rcode, Dns::Rcode::refused);
  EXPECT_EQ(parsed->question->name.text(), "www.example.com");
  EXPECT_EQ(parsed->question->type, Dns::type_a);
  ASSERT_EQ(parsed->answers.size(), 1u);
  EXPECT_EQ(parsed->answers[0].name.text(), "www.example.com");
  EXPECT_EQ(parsed->answers[0].ttl_s, 60u);
  EXPECT_THAT(parsed->answers[0].data, ElementsAre(10, 0, 0, 1));
}

TEST(Dns, WhereverItIsCutShortItIsNotRead) {
  const Message whole = Dns{.question = Dns::Question{.name = *DnsName::of("www.example.com")},
                            .answers = {{.name = *DnsName::of("www.example.com"), .data = {10, 0, 0, 1}}}}
                            .emit();
  ASSERT_TRUE(Dns::parse(whole));
  for (std::size_t size = 0; size < whole.size(); ++size) EXPECT_FALSE(Dns::parse(Bytes{whole}.first(size))) << size;
}

TEST(Dns, HasExactlyOneQuestion) {
  Message message = Dns{.question = Dns::Question{.name = *DnsName::of("a")}}.emit();
  message[5] = 0;
  EXPECT_FALSE(Dns::parse(message));
  message[5] = 2;
  EXPECT_FALSE(Dns::parse(message));
}

TEST(Dns, TakesAnyBytesInABoundedTime) {
  RandomStream random = Random{6}.stream("dns");
  const std::uint8_t likely[] = {0, 1, 2, 4, 12, 13, 63, 64, 0xC0, 0xFF};
  std::uint64_t read = 0;
  for (int i = 0; i < 4000; ++i) {
    Message message(Dns::header_bytes + random.below(60));
    for (std::size_t at = Dns::header_bytes; at < message.size(); ++at)
      message[at] = likely[random.below(std::size(likely))];
    message[5] = 1;
    message[7] = static_cast<std::uint8_t>(random.below(3));
    message.erase(message.end() - static_cast<std::ptrdiff_t>(random.below(4)), message.end());
    message.shrink_to_fit();  // so that a sanitizer sees the first byte beyond
    const auto parsed = Dns::parse(message);
    if (!parsed) continue;
    ++read;
    EXPECT_EQ(Dns::parse(parsed->emit())->question->name, parsed->question->name);
  }
  EXPECT_GT(read, 100u);
  EXPECT_LT(read, 3500u);
}

TEST(Dns, OfTheLargestPossibleAnswerCountEndsWithItsBytes) {
  Message message = Dns{.question = Dns::Question{.name = *DnsName::of("a")}}.emit();
  store16(&message[6], 0xFFFF);
  message.resize(1472, 0);  // records of eleven zeros: root names without data
  EXPECT_FALSE(Dns::parse(message));
}

}  // namespace
}  // namespace wizloop::wire
