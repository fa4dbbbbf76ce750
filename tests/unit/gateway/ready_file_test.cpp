#include "harness/gateway/ready_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <iterator>
#include <optional>

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

namespace fs = std::filesystem;

std::string text_in(const fs::path& file) {
  std::ifstream stream{file};
  return {std::istreambuf_iterator<char>{stream}, {}};
}

TEST(ReadyFile, IsThereUntilItsOwnerGoesAndLeavesNothing) {
  const TestFolder folder;
  {
    const auto file = ReadyFile::write(folder / "ready", "here");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(text_in(folder / "ready"), "here");
    EXPECT_EQ(folder.files(), 1);
  }
  EXPECT_EQ(folder.files(), 0);
}

TEST(ReadyFile, OfOneThatServesIsRefusedAndThatOfOneThatIsGoneReplaced) {
  const TestFolder folder;
  std::ofstream{folder / "ready"} << "of one that was killed";
  const auto first = ReadyFile::write(folder / "ready", "first");
  ASSERT_TRUE(first) << first.error().message;
  const auto second = ReadyFile::write(folder / "ready", "second");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("belongs to a process that still serves"));
  EXPECT_EQ(second.error().kind, ErrorKind::machine);
  EXPECT_EQ(text_in(folder / "ready"), "first");
}

TEST(ReadyFile, ThatIsAnothersByThenIsNotRemoved) {
  const TestFolder folder;
  {
    const auto file = ReadyFile::write(folder / "ready", "here");
    fs::remove(folder / "ready");
    std::ofstream{folder / "ready"} << "of another one";
  }
  EXPECT_EQ(text_in(folder / "ready"), "of another one");
}

TEST(ReadyFile, BehindALinkIsWrittenWhereItLeads) {
  const TestFolder folder;
  fs::create_symlink(folder / "target", folder / "link");
  {
    const auto file = ReadyFile::write(folder / "link", "here");
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_TRUE(fs::is_symlink(folder / "link"));
    EXPECT_EQ(text_in(folder / "target"), "here");
  }
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_FALSE(fs::exists(folder / "target"));
}

TEST(ReadyFile, ThatIsAFifoIsWrittenToAndStays) {
  const TestFolder folder;
  const fs::path fifo = folder / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const auto unread = ReadyFile::write(fifo, "here");
  ASSERT_FALSE(unread);  // and nobody waits for a reader
  const int reader = ::open(fifo.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  ASSERT_GE(reader, 0);
  { ASSERT_TRUE(ReadyFile::write(fifo, "here")); }
  std::array<char, 8> data{};
  EXPECT_EQ(::read(reader, data.data(), data.size()), 4);
  ::close(reader);
  EXPECT_TRUE(fs::is_fifo(fifo));
}

TEST(ReadyFile, OnAFullDiskIsAnErrorAndTheDeviceStays) {
  const auto failed = ReadyFile::write("/dev/full", "here");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, testing::StartsWith("--json /dev/full: No space left on device"));
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(ReadyFile, InNoFolderSaysSo) {
  const TestFolder folder;
  const auto failed = ReadyFile::write(folder / "no" / "ready", "here");
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message, testing::HasSubstr("No such file or directory"));
}

}  // namespace
}  // namespace wizloop::gateway
