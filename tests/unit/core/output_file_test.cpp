#include "sim/core/output_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace wizloop {
namespace {

class OutputFile : public testing::Test {
 protected:
  std::string text() const {
    std::ifstream stream{path};
    return {std::istreambuf_iterator{stream}, {}};
  }
  ~OutputFile() override { std::filesystem::remove(path); }

  std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("output_file_test." + std::to_string(getpid()));
};

TEST_F(OutputFile, ASecondWriterIsRefusedAndTheFirstOnesBytesStay) {
  std::FILE* const first = output::open_stream(path).value();
  std::fputs("the first", first);
  std::fflush(first);
  const auto second = output::open(path);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().message,
            path.string() + ": is being written by another process, or by this one under another option");
  EXPECT_EQ(second.error().kind, ErrorKind::user);
  std::fclose(first);
  EXPECT_EQ(text(), "the first");
}

TEST_F(OutputFile, OneThatWasClosedIsWrittenAnew) {
  std::ofstream{path} << "an old and longer text";
  std::FILE* const file = output::open_stream(path).value();
  EXPECT_EQ(text(), "");
  std::fputs("new", file);
  std::fclose(file);
  EXPECT_EQ(text(), "new");
}

TEST_F(OutputFile, APipeHasSeveralWriters) {
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  std::fstream reader{path};  // so that nobody waits for one
  const auto first = output::open(path);
  const auto second = output::open(path);
  ASSERT_TRUE(first && second);
  ::close(first.value());
  ::close(second.value());
}

}  // namespace
}  // namespace wizloop
