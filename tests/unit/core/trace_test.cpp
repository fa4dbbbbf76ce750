#include "sim/core/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace wizloop {
namespace {

using testing::ElementsAre;

class TextSink final : public TraceSink {
 public:
  void on_event(const TraceEvent& event) override { lines.push_back(to_text(event)); }
  std::vector<std::string> lines;
};

TEST(TraceTest, PrintsTimePlaceVerbAndFields) {
  TextSink sink;
  Trace trace;
  trace.add(sink);
  trace.emit(Instant{} + picoseconds(200'013'450'000), "chip.s0.tcp", "retransmit",
             {{"seq", 1000}, {"wait_ns", 400'000'000}});
  EXPECT_THAT(sink.lines, ElementsAre("0.200013450000 chip.s0.tcp retransmit seq=1000 wait_ns=400000000"));
}

TEST(TraceTest, PrintsTextAndNegativeFieldsAndNoFields) {
  TextSink sink;
  Trace trace;
  trace.add(sink);
  trace.emit(Instant{}, "net.link", "drop", {{"cause", "loss"}, {"offset", -1}});
  trace.emit(Instant{} + picoseconds(1), "chip", "reset");
  EXPECT_THAT(sink.lines,
              ElementsAre("0.000000000000 net.link drop cause=loss offset=-1", "0.000000000001 chip reset"));
}

TEST(TraceTest, PrintsRegistersInHexadecimal) {
  TextSink sink;
  Trace trace;
  trace.add(sink);
  trace.emit(Instant{}, "chip.s0", "status", {{"from", RegisterValue{0x00}}, {"to", RegisterValue{0x1C}}});
  EXPECT_THAT(sink.lines, ElementsAre("0.000000000000 chip.s0 status from=0x00 to=0x1c"));
}

TEST(TraceTest, PrintsSecondsWithTwelveDecimals) {
  EXPECT_EQ(to_text(Instant{}), "0.000000000000");
  EXPECT_EQ(to_text(Instant{} + picoseconds(7)), "0.000000000007");
  EXPECT_EQ(to_text(Instant{} + 23335ms), "23.335000000000");
  EXPECT_EQ(to_text(Instant{} + 100h), "360000.000000000000");
}

TEST(TraceTest, IsWantedOnceSomebodyListens) {
  TextSink sink;
  Trace trace;
  EXPECT_FALSE(trace.wanted());
  trace.emit(Instant{}, "chip", "reset");
  trace.add(sink);
  EXPECT_TRUE(trace.wanted());
  EXPECT_THAT(sink.lines, ElementsAre());
}

TEST(TraceTest, EachSinkSeesEachEventInOrder) {
  TextSink first;
  TextSink second;
  Trace trace;
  trace.add(first);
  trace.add(second);
  trace.emit(Instant{}, "chip", "a");
  trace.emit(Instant{}, "chip", "b");
  EXPECT_THAT(first.lines, ElementsAre("0.000000000000 chip a", "0.000000000000 chip b"));
  EXPECT_EQ(second.lines, first.lines);
}

}  // namespace
}  // namespace wizloop
