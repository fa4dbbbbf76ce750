#include "sim/rtl/fst_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "sim/rtl/fst_disk.hpp"

namespace wizloop::rtl {
namespace {

constexpr WaveSignal signals[] = {{"w5500", "SCSn"}, {"w5500.bus", "register", WaveSignal::text}};

using Changes = std::map<fstHandle, std::vector<std::string>>;

std::string at(std::uint64_t time, std::string_view value) { return std::to_string(time) + ":" + std::string{value}; }

// Of both signals, as a reader of the format sees them.
Changes read(const std::filesystem::path& file) {
  Changes changes;
  void* const reader = fstReaderOpen(file.c_str());
  EXPECT_NE(reader, nullptr);
  EXPECT_EQ(fstReaderGetTimescale(reader), -12);
  EXPECT_EQ(fstReaderGetVarCount(reader), 2U);
  fstReaderSetFacProcessMaskAll(reader);
  fstReaderIterBlocks2(
      reader,
      [](void* to, std::uint64_t time, fstHandle signal, const unsigned char* value) {
        (*static_cast<Changes*>(to))[signal].push_back(at(time, reinterpret_cast<const char*>(value)));
      },
      [](void* to, std::uint64_t time, fstHandle signal, const unsigned char* value, std::uint32_t bytes) {
        (*static_cast<Changes*>(to))[signal].push_back(at(time, {reinterpret_cast<const char*>(value), bytes}));
      },
      &changes, nullptr);
  fstReaderClose(reader);
  return changes;
}

TEST(FstFile, HoldsWiresAndTextsInPicoseconds) {
  const auto file = std::filesystem::temp_directory_path() / ("fst_file_test." + std::to_string(getpid()) + ".fst");
  auto opened = open_wave(file, signals, "a note");
  ASSERT_TRUE(opened) << opened.error().message;
  Wave wave{std::move(opened).value(), signals, {}};
  wave.change(Instant{5ns}, 0, {.high = true});
  wave.change(Instant{6ns}, 1, {.text = "VERSIONR"});
  wave.change(Instant{7ns}, 0, {.driven = false});
  EXPECT_FALSE(wave.close(Instant{9ns}));
  const Changes changes = read(file);
  EXPECT_THAT(changes.at(1), testing::ElementsAre("0:0", "5000:1", "7000:z"));
  EXPECT_THAT(changes.at(2), testing::ElementsAre("0:-", "6000:VERSIONR"));
  std::filesystem::remove(file);
}

TEST(FstFile, IsClosedByARunThatEndsByAnError) {
  const auto file = std::filesystem::temp_directory_path() / ("fst_error_test." + std::to_string(getpid()) + ".fst");
  {
    Wave wave{open_wave(file, signals, "").value(), signals, {}};
    wave.change(Instant{5ns}, 0, {.high = true});
  }
  EXPECT_THAT(read(file).at(1), testing::ElementsAre("0:0", "5000:1"));
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".hier"));
  std::filesystem::remove(file);
}

TEST(FstDisk, RemovesWhatCannotBeReadToItsEnd) {
  const auto file = std::filesystem::temp_directory_path() / ("fst_disk_test." + std::to_string(getpid()) + ".fst");
  std::ofstream{file} << "half a file";
  const auto error = fst_cut_short(file, 9000);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->message, file.string() + ": the waveform could not be written whole");
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(FstFile, ASecondWriterIsRefused) {
  const auto file = std::filesystem::temp_directory_path() / ("fst_file_held." + std::to_string(getpid()) + ".fst");
  {
    const auto first = open_wave(file, signals, "");
    ASSERT_TRUE(first);
    const auto second = open_wave(file, signals, "");
    ASSERT_FALSE(second);
    EXPECT_EQ(second.error().message,
              file.string() + ": is being written by another process, or by this one under another option");
  }
  EXPECT_TRUE(open_wave(file, signals, ""));
  std::filesystem::remove(file);
}

TEST(FstFile, APipeStaysOneAndIsRefused) {
  const auto pipe = std::filesystem::temp_directory_path() / ("fst_file_pipe." + std::to_string(getpid()) + ".fst");
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  const auto opened = open_wave(pipe, signals, "");
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().message,
            pipe.string() + ": cannot be written: an FST wants a file that it can seek in; .vcd does without");
  EXPECT_TRUE(std::filesystem::is_fifo(pipe));
  std::filesystem::remove(pipe);
}

TEST(FstFile, SaysWhereItCannotBeWrittenAndLeavesOtherSuffixesToTheVcd) {
  const auto nowhere = open_wave("/no/such/folder/x.fst", signals, "");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, "/no/such/folder/x.fst: cannot be written: No such file or directory");
  EXPECT_EQ(nowhere.error().kind, ErrorKind::user);
  EXPECT_TRUE(open_wave("/dev/null", signals, ""));
}

}  // namespace
}  // namespace wizloop::rtl
