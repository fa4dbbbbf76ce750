#include "boards/agent/line_reader.hpp"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/unit/agent/fake_console.hpp"

namespace wizloop::test {
namespace {

using agent::Input;
using agent::LineFault;

class LineReaderTest : public testing::Test {
 protected:
  // "text" for a line, and what stands for everything else.
  std::vector<std::string> take(std::string_view input) {
    console.input.append(input);
    std::vector<std::string> taken;
    for (;;) {
      switch (reader.take()) {
        case Input::nothing:
          return taken;
        case Input::interrupt:
          taken.emplace_back("(interrupt)");
          break;
        case Input::overrun:
          taken.emplace_back("(overrun)");
          break;
        case Input::line: {
          const char* const faults[] = {"", " too long", " bad byte", " overrun"};
          taken.push_back(std::string{reader.line(), reader.length()} + faults[static_cast<int>(reader.fault())]);
        }
      }
    }
  }

  using Lines = std::vector<std::string>;
  FakeConsole console;
  std::array<char, 11> buffer{};
  agent::LineReader reader{console, buffer.data(), 11};
};

TEST_F(LineReaderTest, CrLfAndBothEndALine) {
  EXPECT_EQ(take("a\nb\rc\r\nd\n\re\n"), (Lines{"a", "b", "c", "d", "e"}));
}

TEST_F(LineReaderTest, EmptyLinesAreNone) { EXPECT_EQ(take("\n\n\r\r\n"), Lines{}); }

TEST_F(LineReaderTest, LineMayComeInPieces) {
  EXPECT_EQ(take("ab"), Lines{});
  EXPECT_EQ(take("cd"), Lines{});
  EXPECT_EQ(take("e\nf"), Lines{"abcde"});
  EXPECT_EQ(take("\n"), Lines{"f"});
}

TEST_F(LineReaderTest, LongestLineFitsAndOneMoreDoesNot) {
  EXPECT_EQ(take("0123456789\n0123456789A\nnext\n"), (Lines{"0123456789", "0123456789 too long", "next"}));
}

TEST_F(LineReaderTest, HugeLineNeverOverflows) {
  EXPECT_EQ(take(std::string(100000, 'x') + "\n"), Lines{"xxxxxxxxxx too long"});
}

TEST_F(LineReaderTest, EachByteButPrintableAsciiIsAFault) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == '\r' || byte == '\n' || byte == 3) continue;
    const std::string text{'a', static_cast<char>(byte)};
    const bool good = byte >= 0x20 && byte <= 0x7E;
    EXPECT_EQ(take(text + "\n"), Lines{text + (good ? "" : " bad byte")}) << byte;
  }
}

TEST_F(LineReaderTest, CtrlCDropsTheLineBegun) {
  EXPECT_EQ(take("garb\x03good\n\x03"), (Lines{"(interrupt)", "good", "(interrupt)"}));
}

TEST_F(LineReaderTest, OverrunDropsWhatCameAndSpoilsTheLineThatGoesOn) {
  EXPECT_EQ(take("half"), Lines{});
  console.overrun = true;
  EXPECT_EQ(take("line\nmore"), Lines{"(overrun)"});
  EXPECT_EQ(take(" rest\nnext\n"), (Lines{" rest overrun", "next"}));
}

TEST_F(LineReaderTest, AfterAnOverrunAnEmptyLineMakesAFreshStart) {
  console.overrun = true;
  EXPECT_EQ(take("lost"), Lines{"(overrun)"});
  EXPECT_EQ(take("\nnext\n"), Lines{"next"});
}

TEST_F(LineReaderTest, OverrunIsToldWithoutAnyInputToo) {
  console.overrun = true;
  EXPECT_EQ(take(""), Lines{"(overrun)"});
}

}  // namespace
}  // namespace wizloop::test
