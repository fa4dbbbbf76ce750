#include "boards/agent/request.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/agent/agent_fixture.hpp"

namespace wizloop::test {
namespace {

using agent::RequestFault;
using agent::ValueFault;

// Keeps the line alive that a Request works on.
struct Parsed {
  explicit Parsed(const std::string& text)
      : line(text.begin(), text.end()),
        request{(line.push_back(0), line.data()), static_cast<std::uint16_t>(text.size())} {
    fault = request.parse();
  }
  std::vector<char> line;
  agent::Request request;
  RequestFault fault;
};

#define TEXT(literal) agent::Text(literal)

TEST(Request, HasSequenceVerbAndValues) {
  Parsed parsed{"#42 tcp-send port=5001 bytes=0x10"};
  ASSERT_EQ(parsed.fault, RequestFault::none);
  EXPECT_STREQ(parsed.request.sequence(), "42");
  EXPECT_TRUE(parsed.request.is(TEXT("tcp-send")));
  EXPECT_EQ(parsed.request.number(TEXT("port"), 1, 65535), 5001U);
  EXPECT_EQ(parsed.request.number(TEXT("bytes"), 0, 100), 16U);
  EXPECT_TRUE(parsed.request.values_good());
}

TEST(Request, MayHaveSeveralBlanks) {
  Parsed parsed{"#1   net   ip=1.2.3.4  "};
  ASSERT_EQ(parsed.fault, RequestFault::none);
  EXPECT_TRUE(parsed.request.has(TEXT("ip")));
}

TEST(Request, WhatIsNoneIsASyntaxError) {
  for (const char* text : {"hello", "# hello", "#x hello", "#1", "#1 ", "#1hello", "#1 net ip", "#1 net =5",
                           "#1234567890 hello", "1 hello", " #1 hello", "*", "#1 net *12 a=b"}) {
    EXPECT_EQ(Parsed{text}.fault, RequestFault::syntax) << text;
  }
}

TEST(Request, SequenceIsReadAsFarAsThereIsOne) {
  EXPECT_STREQ(Parsed{"#7 net ip"}.request.sequence(), "7");
  EXPECT_STREQ(Parsed{"#007 hello"}.request.sequence(), "007");
  EXPECT_STREQ(Parsed{"#7hello"}.request.sequence(), "0");
  EXPECT_STREQ(Parsed{"hello"}.request.sequence(), "0");
}

TEST(Request, ChecksumIsCheckedWhereThereIsOne) {
  EXPECT_EQ(Parsed{with_crc("#1 hello")}.fault, RequestFault::none);
  EXPECT_TRUE(Parsed{with_crc("#1 hello")}.request.checked());
  EXPECT_FALSE(Parsed{"#1 hello"}.request.checked());
  for (const char* text : {"#1 hello *0000", "#1 hello *", "#1 hello *123", "#1 hello *12345", "#1 hello *12G4"}) {
    EXPECT_EQ(Parsed{text}.fault, RequestFault::crc) << text;
  }
}

TEST(Request, EveryWrongBitOfACheckedLineShows) {
  const std::string good = with_crc("#12 tcp-send port=5001");
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (int bit = 0; bit < 7; ++bit) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << bit));
      // A star that is no star any more leaves a word without a value; 'a' for 'A' is the same digit.
      if (at > good.size() - 5 && std::isalpha(static_cast<unsigned char>(good[at])) != 0 && bit == 5) continue;
      EXPECT_NE(Parsed{bad}.fault, RequestFault::none) << bad;
    }
  }
}

TEST(Request, FirstFaultyValueIsRemembered) {
  Parsed parsed{"#1 x port=0 ip=1.2.3"};
  std::uint8_t ip[4];
  parsed.request.number16(TEXT("port"), 1, 65535);
  parsed.request.ip(TEXT("ip"), ip);
  EXPECT_EQ(parsed.request.value_fault(), ValueFault::bad);
  EXPECT_TRUE(agent::equals(parsed.request.faulty_key(), "port", 4));
}

TEST(Request, MissingValueIsAFaultUnlessThereIsADefault) {
  Parsed parsed{"#1 x"};
  EXPECT_EQ(parsed.request.number(TEXT("port"), 1, 65535, 80), 80U);
  EXPECT_TRUE(parsed.request.values_good());
  parsed.request.number(TEXT("port"), 1, 65535);
  EXPECT_EQ(parsed.request.value_fault(), ValueFault::missing);
}

TEST(Request, ChoiceIsTheIndexOfItsWord) {
  const auto choose = [](const char* text) {
    Parsed parsed{std::string{"#1 x p="} + text};
    const std::uint8_t index = parsed.request.choice(TEXT("p"), TEXT("byte burst dma"), 9);
    return parsed.request.values_good() ? index : 255;
  };
  EXPECT_EQ(choose("byte"), 0);
  EXPECT_EQ(choose("burst"), 1);
  EXPECT_EQ(choose("dma"), 2);
  for (const char* text : {"", "b", "by", "bytes", "dm", "dmaa", "urst"}) EXPECT_EQ(choose(text), 255) << text;
  EXPECT_EQ(Parsed{"#1 x"}.request.choice(TEXT("p"), TEXT("a b"), 9), 9);
}

TEST(Request, KeyIsNotFoundInsideAnother) {
  Parsed parsed{"#1 x report=1"};
  EXPECT_FALSE(parsed.request.has(TEXT("port")));
  EXPECT_FALSE(parsed.request.has(TEXT("report1")));
  EXPECT_TRUE(parsed.request.has(TEXT("report")));
}

}  // namespace
}  // namespace wizloop::test
