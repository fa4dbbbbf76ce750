#include "sim/wire/pcapng.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>
#include <map>
#include <string>
#include <vector>

namespace wizloop::wire {
namespace {

using testing::HasSubstr;

std::filesystem::path file_named(const std::string& name) {
  return std::filesystem::path{testing::TempDir()} / ("wizloop_pcapng_test_" + name);
}

std::vector<std::uint8_t> contents(const std::filesystem::path& path) {
  std::ifstream in{path, std::ios::binary};
  return {std::istreambuf_iterator<char>{in}, {}};
}

// A reader of its own, so that a mistake of the writer cannot hide. Everything is little-endian.
std::uint32_t little(Bytes at, std::size_t bytes) {
  std::uint32_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) value = value << 8 | at[i];
  return value;
}

struct Block {
  std::uint32_t type;
  std::vector<std::uint8_t> body;
};

std::vector<Block> blocks_of(Bytes file) {
  std::vector<Block> blocks;
  while (!file.empty()) {
    if (file.size() < 12) {
      ADD_FAILURE() << "half a block at the end";
      break;
    }
    const std::size_t length = little(file.subspan(4), 4);
    if (length < 12 || length % 4 != 0 || length > file.size()) {
      ADD_FAILURE() << "block of length " << length << " with " << file.size() << " bytes left";
      break;
    }
    EXPECT_EQ(little(file.subspan(length - 4), 4), length);
    blocks.push_back({little(file, 4), {file.begin() + 8, file.begin() + static_cast<std::ptrdiff_t>(length) - 4}});
    file = file.subspan(length);
  }
  return blocks;
}

std::map<std::uint32_t, std::string> options_of(Bytes options) {
  std::map<std::uint32_t, std::string> result;
  while (options.size() >= 4 && little(options, 2) != 0) {
    const std::size_t length = little(options.subspan(2), 2);
    result[little(options, 2)] =
        std::string(options.begin() + 4, options.begin() + 4 + static_cast<std::ptrdiff_t>(length));
    options = options.subspan(4 + (length + 3) / 4 * 4);
  }
  EXPECT_EQ(options.size(), 4u) << "the list of options does not end as it should";
  return result;
}

std::unique_ptr<PcapngWriter> open(const std::filesystem::path& path) {
  auto writer = PcapngWriter::open(path, "cable", "tcp_xmit seed=1");
  if (!writer) throw std::runtime_error(writer.error().message);
  return std::move(writer).value();
}

TEST(Pcapng, NamesTheRunTheInterfaceAndTheResolution) {
  const auto path = file_named("header");
  EXPECT_FALSE(open(path)->close());
  const std::vector<std::uint8_t> file = contents(path);
  const std::vector<Block> blocks = blocks_of(file);
  ASSERT_EQ(blocks.size(), 2u);

  EXPECT_EQ(blocks[0].type, 0x0A0D0D0Au);
  EXPECT_EQ(little(blocks[0].body, 4), 0x1A2B3C4Du);
  EXPECT_EQ(little(Bytes{blocks[0].body}.subspan(4), 2), 1u);
  EXPECT_EQ(little(Bytes{blocks[0].body}.subspan(6), 2), 0u);
  EXPECT_EQ(options_of(Bytes{blocks[0].body}.subspan(16)).at(1), "tcp_xmit seed=1");

  EXPECT_EQ(blocks[1].type, 1u);
  EXPECT_EQ(little(blocks[1].body, 2), 1u);  // Ethernet
  const auto options = options_of(Bytes{blocks[1].body}.subspan(8));
  EXPECT_EQ(options.at(2), "cable");
  EXPECT_EQ(options.at(9), std::string(1, '\x09'));
  std::filesystem::remove(path);
}

TEST(Pcapng, WritesFramesWithTheirInstantAndPaddedAsOnTheWire) {
  const auto path = file_named("frames");
  FramePool pool;
  const FramePtr shorter = pool.copy(std::vector<std::uint8_t>(42, 0xAB));
  std::fill(shorter->bytes.begin() + 42, shorter->bytes.end(), std::uint8_t{0xEE});  // must not leak into the file
  const FramePtr odd = pool.copy(std::vector<std::uint8_t>(61, 0xCD));
  const auto writer = open(path);
  writer->write(Instant{} + 1234567890ns + picoseconds(999), *shorter);
  writer->write(Instant{} + std::chrono::seconds{10}, *odd);
  EXPECT_FALSE(writer->close());

  const std::vector<std::uint8_t> file = contents(path);
  const std::vector<Block> blocks = blocks_of(file);
  ASSERT_EQ(blocks.size(), 4u);
  const auto stamp = [](const Block& block) {
    return std::uint64_t{little(Bytes{block.body}.subspan(4), 4)} << 32 | little(Bytes{block.body}.subspan(8), 4);
  };
  const Bytes first{blocks[2].body};
  EXPECT_EQ(blocks[2].type, 6u);
  EXPECT_EQ(stamp(blocks[2]), 1234567890u);
  EXPECT_EQ(little(first.subspan(12), 4), 60u);
  EXPECT_EQ(little(first.subspan(16), 4), 60u);
  ASSERT_EQ(first.size(), 20u + 60u);
  EXPECT_EQ(first[20 + 41], 0xAB);
  for (std::size_t i = 42; i < 60; ++i) EXPECT_EQ(first[20 + i], 0) << i;

  EXPECT_EQ(stamp(blocks[3]), 10'000'000'000u);
  EXPECT_EQ(little(Bytes{blocks[3].body}.subspan(12), 4), 61u);
  EXPECT_EQ(blocks[3].body.size(), 20u + 64u);
  std::filesystem::remove(path);
}

TEST(Pcapng, SaysWhyAFileCannotBeOpened) {
  const auto writer = PcapngWriter::open(file_named("no_such_folder") / "run.pcapng", "cable", "");
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("run.pcapng"));
  EXPECT_THAT(writer.error().message, HasSubstr("No such file or directory"));
  EXPECT_EQ(writer.error().kind, ErrorKind::user);
}

// A pipe, and a reader that reads when it is told to.
class PcapngPipe : public testing::Test {
 protected:
  PcapngPipe() {
    std::filesystem::remove(path);
    EXPECT_EQ(mkfifo(path.c_str(), 0600), 0);
    reader = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    writer = open(path);
    writer->never_wait();
  }
  ~PcapngPipe() override {
    ::close(reader);
    std::filesystem::remove(path);
  }
  bool read_some() {
    std::array<std::uint8_t, 65536> piece;
    const ssize_t count = ::read(reader, piece.data(), piece.size());
    if (count > 0) received.insert(received.end(), piece.begin(), piece.begin() + count);
    return count > 0;
  }

  const std::filesystem::path path = file_named("pipe");
  FramePool pool;
  const FramePtr frame = pool.copy(std::vector<std::uint8_t>(1514, 0x11));
  int reader = -1;
  std::unique_ptr<PcapngWriter> writer;
  std::vector<std::uint8_t> received;
};

TEST_F(PcapngPipe, ReaderThatStallsMissesFramesAndStopsNobody) {
  writer->write_through(true);
  for (int i = 0; i < 2000; ++i) writer->write(Instant{} + 1us * i, *frame);
  const std::uint64_t dropped = writer->dropped();
  EXPECT_GT(dropped, 1000U);
  EXPECT_LT(dropped, 1500U);  // 1 MiB was kept for it
  // It goes on, and gets all the rest, whole.
  for (int i = 0; i < 100; ++i) {
    while (read_some()) {
    }
    writer->write(Instant{} + 1ms * (i + 10), *frame);
  }
  EXPECT_EQ(writer->dropped(), dropped);
  while (read_some()) {
  }
  EXPECT_FALSE(writer->close());
  while (read_some()) {
  }
  EXPECT_EQ(blocks_of(received).size(), 2 + 2000 + 100 - dropped);
}

TEST_F(PcapngPipe, EndOfACaptureThatNobodyReadsIsAnError) {
  for (int i = 0; i < 100; ++i) writer->write(Instant{}, *frame);
  const auto error = writer->close();
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("the capture ends after"));
}

TEST(Pcapng, SaysSoWhenTheDiskIsFull) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  const auto writer = PcapngWriter::open("/dev/full", "cable", "");
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message, HasSubstr("No space left on device"));
  EXPECT_EQ(writer.error().kind, ErrorKind::machine);
}

// A limit on the size of files stands in for a disk that fills up in the middle of a write.
TEST(Pcapng, EndsWithAWholeBlockWhenTheDiskFillsUp) {
  const auto path = file_named("limited");
  const auto writer = open(path);
  FramePool pool;
  const FramePtr frame = pool.copy(std::vector<std::uint8_t>(1514, 0x11));

  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit limited{100'000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limited), 0);
  EXPECT_EQ(writer->error(), nullptr);
  for (int i = 0; i < 200; ++i) writer->write(Instant{} + i * 1ms, *frame);
  EXPECT_NE(writer->error(), nullptr);
  const std::optional<Error> error = writer->close();
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, old_handler);

  ASSERT_TRUE(error);
  EXPECT_THAT(error->message, HasSubstr("File too large"));
  EXPECT_EQ(error->kind, ErrorKind::machine);
  const std::vector<std::uint8_t> file = contents(path);
  EXPECT_GT(file.size(), 60'000u);
  EXPECT_LE(file.size(), 100'000u);
  EXPECT_GT(blocks_of(file).size(), 10u);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace wizloop::wire
