#include "harness/gateway/news.hpp"

#include <csignal>

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

// A pipe whose reader does not read unless it is told to.
class NewsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    reader_ = std::make_unique<Peer>(ends[0]);
    writer_ = std::make_unique<Peer>(ends[1]);
    ::fcntl(ends[1], F_SETFL, ::fcntl(ends[1], F_GETFL) & ~O_NONBLOCK);
    ASSERT_EQ(::fcntl(ends[1], F_SETPIPE_SZ, 8192), 8192);
  }

  std::unique_ptr<Peer> reader_;
  std::unique_ptr<Peer> writer_;
};

TEST_F(NewsTest, IsDroppedWhereNobodyReadsItAndTheGapIsTold) {
  News news{writer_->descriptor()};
  const std::string line(999, 'x');
  for (int i = 0; i < 20; ++i) news.say(line);
  const std::size_t passed = reader_->seen().size() / 1000;
  EXPECT_EQ(reader_->seen().size(), 1000 * passed) << "whole lines";
  EXPECT_GE(passed, 1);
  news.say("later");
  EXPECT_TRUE(reader_->sees("\nnote dropped lines=" + std::to_string(20 - passed) + "\nlater\n"));
}

TEST_F(NewsTest, IsCutToWhatAPipeTakesAtOnce) {
  News news{writer_->descriptor()};
  news.say(std::string(10'000, 'x'));
  EXPECT_EQ(reader_->seen().size(), News::longest_line);
  EXPECT_TRUE(reader_->seen().ends_with("x\n"));
}

TEST_F(NewsTest, IsNoMatterToAReaderThatIsGone) {
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  reader_->close();
  News news{writer_->descriptor()};
  news.say("nobody hears");
  ::signal(SIGPIPE, before);
}

}  // namespace
}  // namespace wizloop::gateway
