#include "harness/gateway/serial_link.hpp"

#include <sys/wait.h>
#include <csignal>
#include <fstream>
#include <optional>

#include "gateway_test.hpp"

namespace wizloop::gateway {
namespace {

namespace fs = std::filesystem;

TEST(SerialLink, IsThereUntilItsOwnerGoesAndLeavesNothing) {
  const TestFolder folder;
  {
    const auto link = SerialLink::claim(folder / "board", "/dev/pts/7");
    ASSERT_TRUE(link);
    EXPECT_EQ(fs::read_symlink(folder / "board"), "/dev/pts/7");
  }
  EXPECT_EQ(folder.files(), 0);
}

TEST(SerialLink, OfALivingProcessIsRefusedWithWhoHoldsIt) {
  const TestFolder folder;
  const auto first = SerialLink::claim(folder / "board", "/dev/pts/7");
  const auto second = SerialLink::claim(folder / "board", "/dev/pts/8");
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("held by process " + std::to_string(::getpid())));
  EXPECT_EQ(fs::read_symlink(folder / "board"), "/dev/pts/7");
}

TEST(SerialLink, OfAKilledProcessIsTakenOver) {
  const TestFolder folder;
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto link = SerialLink::claim(folder / "board", "/dev/tty");
    if (::write(ready[1], "x", 1) == 1) ::pause();
    ::_exit(1);
  }
  ::close(ready[1]);
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]);
  const auto refused = SerialLink::claim(folder / "board", "/dev/pts/8");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, testing::HasSubstr("held by process " + std::to_string(child)));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  fs::remove(folder / "board");
  fs::create_symlink("/dev/pts/ptmx", folder / "board");  // a pty that is there, by whoever has its number now
  {
    const auto link = SerialLink::claim(folder / "board", "/dev/pts/8");
    ASSERT_TRUE(link) << link.error().message;
    EXPECT_EQ(fs::read_symlink(folder / "board"), "/dev/pts/8");
  }
  EXPECT_EQ(folder.files(), 0);
}

TEST(SerialLink, LeavesAloneWhatNoBoardWasServedAt) {
  const TestFolder folder;
  std::ofstream{folder / "file"} << "precious";
  fs::create_symlink(folder / "file", folder / "elsewhere");
  fs::create_symlink("/dev/pts/ptmx", folder / "terminal");
  fs::create_directory(folder / "folder");
  for (const auto* name : {"file", "elsewhere", "terminal", "folder"}) {
    const auto link = SerialLink::claim(folder / name, "/dev/pts/7");
    ASSERT_FALSE(link) << name;
    EXPECT_THAT(link.error().message, testing::HasSubstr((folder / name).string()));
    EXPECT_TRUE(fs::exists(fs::symlink_status(folder / name))) << name;
  }
  EXPECT_EQ(folder.files(), 4);
}

TEST(SerialLink, TakesTheNameOfAPtyThatIsGone) {
  const TestFolder folder;
  fs::create_symlink("/dev/pts/999999", folder / "board");
  EXPECT_TRUE(SerialLink::claim(folder / "board", "/dev/pts/7"));
}

TEST(SerialLink, SaysWhereItCannotBeMade) {
  const TestFolder folder;
  const auto link = SerialLink::claim(folder / "none" / "board", "/dev/pts/7");
  ASSERT_FALSE(link);
  EXPECT_THAT(link.error().message, testing::HasSubstr("No such file"));
}

TEST(SerialLink, OfSomebodyElseIsNotRemovedAtTheEnd) {
  const TestFolder folder;
  {
    const auto link = SerialLink::claim(folder / "board", "/dev/pts/7");
    fs::remove(folder / "board");
    fs::create_symlink("/dev/pts/8", folder / "board");
  }
  EXPECT_EQ(fs::read_symlink(folder / "board"), "/dev/pts/8");
}

}  // namespace
}  // namespace wizloop::gateway
