// What a run writes is closed at its end, whatever becomes of one of the files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "sim/testbed/testbed.hpp"

namespace wizloop::testbed {
namespace {

TEST(Files, AreAllClosedAndTheFirstErrorIsTold) {
  const auto file = std::filesystem::temp_directory_path() / ("files_test." + std::to_string(getpid()));
  TestbedSetup setup{.board = bus::load_board(WIZLOOP_BOARDS_DIR "/w55rp20.toml").value()};
  setup.transcript_file = "/dev/full";
  setup.trace_file = file;
  auto bed = Testbed::create(std::move(setup));
  ASSERT_TRUE(bed) << bed.error().message;
  bed.value()->trace().emit(Instant{}, "test", "end");
  const auto error = bed.value()->finish_files();
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, testing::HasSubstr("/dev/full"));
  std::ifstream stream{file};
  const std::string text{std::istreambuf_iterator{stream}, {}};
  EXPECT_THAT(text, testing::EndsWith("test end\n"));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace wizloop::testbed
