#include "harness/gateway/backlog.hpp"

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

std::string take_all(Backlog& backlog) {
  std::string all;
  while (!backlog.empty()) {
    all += text_of(backlog.front());
    backlog.pop(backlog.front().size());
  }
  return all;
}

TEST(Backlog, GivesBackWhatWasPushedAcrossTheEndOfTheRing) {
  Backlog backlog{8};
  for (int round = 0; round < 20; ++round) {
    backlog.push(std::string_view{"abcde"});
    EXPECT_EQ(take_all(backlog), "abcde");
  }
  EXPECT_EQ(backlog.dropped(), 0);
}

TEST(Backlog, DropsAllThatComesBetweenTheFirstByteTooManyAndTheLastOneTaken) {
  Backlog backlog{100};
  backlog.push(std::string(90, 'a'));
  backlog.push(std::string(30, 'b'));
  backlog.pop(50);
  backlog.push(std::string_view{"there is room, but also a gap"});
  EXPECT_EQ(take_all(backlog),
            std::string(40, 'a') + std::string(10, 'b') + "\r\n! dropped bytes=49 reason=slow-reader\r\n");
  EXPECT_EQ(backlog.dropped(), 49);
  backlog.push(std::string_view{"after the gap"});
  EXPECT_EQ(take_all(backlog), "after the gap");
}

TEST(Backlog, ForgetsAGapWithWhatIsCleared) {
  Backlog backlog{4};
  backlog.push(std::string_view{"abcdef"});
  backlog.clear();
  EXPECT_TRUE(backlog.empty());
  EXPECT_EQ(backlog.dropped(), 2);
  backlog.push(std::string_view{"abcd"});
  EXPECT_EQ(take_all(backlog), "abcd");
}

}  // namespace
}  // namespace wizloop::gateway
