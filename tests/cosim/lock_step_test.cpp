// The two SPI fronts in lock-step: that a difference is found, said in words and shown as a waveform, and that random
// frames, as hosts send them and as they do not, show none.
#include "sim/rtl/lock_step.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <gtkwave/fstapi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

#include "tests/support/test_board.hpp"

namespace wizloop::rtl {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using Octets = std::vector<std::uint8_t>;

constexpr chip::PinTiming timing{.sclk = Frequency{33'300'000}, .mode = 0, .select = 100ns, .deselect = 100ns};

// A chip behind both fronts, and a host that spends time on its bytes.
struct Bench {
  explicit Bench(const chip::ChipConfig& config = {}, LockStepOptions options = {})
      : board{config}, fronts{board.queue, board.chip.behind_front(), std::move(options)} {
    board.chip.set_front(fronts);
    set_timing(timing);
  }

  void set_timing(const chip::PinTiming& to) {
    sclk = to.sclk;
    fronts.set_timing(to);
  }
  void select() {
    board.advance(100ns);
    fronts.select();
  }
  void deselect() {
    fronts.deselect();
    board.advance(100ns);
  }
  std::uint8_t exchange(std::uint8_t mosi) {
    board.advance(sclk.periods(8));
    return fronts.exchange(mosi);
  }
  Octets frame(const Octets& mosi) {
    Octets miso;
    select();
    for (const std::uint8_t byte : mosi) miso.push_back(exchange(byte));
    deselect();
    return miso;
  }

  test::TestBoard board;
  LockStep fronts;
  Frequency sclk{1};
};

Straps with_sticking_address() {
  Straps straps = Straps::of(chip::Quirks{});
  straps.address_sticks = true;
  return straps;
}

TEST(LockStepTest, SoundFrontsDoNotDiffer) {
  Bench bench;
  EXPECT_THAT(bench.frame({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));
  bench.frame({0x00, 0x19, 0x04, 0x12, 0x34});
  EXPECT_THAT(bench.frame({0x00, 0x19, 0x02, 0, 0}), ElementsAre(1, 2, 3, 0x12, 0x34));
  EXPECT_EQ(bench.fronts.difference(), "");
  EXPECT_EQ(bench.fronts.bytes_compared(), 14U);
  EXPECT_THAT(bench.fronts.broken_limits().names(), IsEmpty());
}

TEST(LockStepTest, AnAddressThatDoesNotWrapIsFoundAndSaidInWords) {
  Bench bench{{}, {.straps = with_sticking_address()}};
  bench.frame({0xFF, 0xFE, 0x10, 0, 0});
  EXPECT_EQ(
      bench.fronts.difference(),
      "at 0.000001301200 s, byte 5 of the frame ff fe 10 00 00: the next byte of S0 TX is at 0x0000 in C++ and at "
      "0xFFFF in RTL");
}

TEST(LockStepTest, AnAccessOfAnotherRegisterIsFoundAndSaidInWords) {
  Bench bench{{}, {.straps = with_sticking_address()}};
  bench.frame({0xFF, 0xFF, 0x00, 0, 0});
  EXPECT_THAT(
      bench.fronts.difference(),
      HasSubstr("byte 4 of the frame ff ff 00 00: C++ does a read of common 0xFFFF, then a fetch from 0x0000, and "
                "RTL a read of common 0xFFFF, then a fetch from 0xFFFF"));
}

TEST(LockStepTest, AnotherLevelOnMisoIsFoundAndSaidInWords) {
  Straps straps = Straps::of(chip::Quirks{});
  straps.header_miso_counts = false;
  Bench bench{{}, {.straps = straps}};
  bench.frame({0x00, 0x39, 0x00, 0x00});
  EXPECT_THAT(bench.fronts.difference(), HasSubstr("byte 1 of the frame 00: bit 0 of MISO is 1 in C++ and 0 in RTL"));
}

Straps with_upsets(std::uint8_t upsets) {
  Straps straps = Straps::of(chip::Quirks{});
  straps.upsets = upsets;
  return straps;
}

TEST(LockStepTest, MisoThatIsDrivenForEverIsFoundAndSaidInWords) {
  Bench bench{{}, {.straps = with_upsets(0b001)}};
  bench.frame({0x00, 0x39, 0x00, 0x00});
  EXPECT_THAT(bench.fronts.difference(), HasSubstr(": RTL drives MISO while SCSn is high"));
}

TEST(LockStepTest, StrobesOfTheOtherSideAreFoundAndSaidInWords) {
  Bench bench{{}, {.straps = with_upsets(0b010)}};
  bench.frame({0x00, 0x39, 0x00, 0x00});
  EXPECT_THAT(bench.fronts.difference(),
              HasSubstr("byte 4 of the frame 00 39 00 00: RTL has strobed 4 bytes, 1 headers, 0 register bytes and 1 "
                        "buffer bytes, due are 4, 1, 1 and 0"));
}

TEST(LockStepTest, ABufferByteThatIsWrittenElsewhereIsFoundAndSaidInWords) {
  Bench bench{{}, {.straps = with_upsets(0b100)}};
  bench.frame({0x00, 0x10, 0x14, 0x55});
  EXPECT_THAT(bench.fronts.difference(),
              HasSubstr("byte 4 of the frame 00 10 14 55: this byte is at 0x0010 in C++ and at 0x0011 in RTL"));
}

TEST(LockStepTest, TheHostGoesOnForFiftyMicrosecondsAndIsThenStopped) {
  Bench bench{{}, {.straps = with_sticking_address()}};
  bench.frame({0xFF, 0xFE, 0x10, 0, 0});
  bench.board.advance(LockStep::after - 3us);
  EXPECT_THAT(bench.frame({0x00, 0x39, 0x00, 0x00}), ElementsAre(1, 2, 3, 4));  // those of C++
  bench.board.advance(3us);
  EXPECT_THROW(bench.frame({0x00, 0x39, 0x00, 0x00}), chip::FrontsDiffer);
}

enum class Before { frames, a_pause };
class WaveformTest : public testing::TestWithParam<Before> {};
INSTANTIATE_TEST_SUITE_P(Either, WaveformTest, testing::Values(Before::frames, Before::a_pause));

TEST_P(WaveformTest, OfADifferenceIsAnFstOfFiftyMicrosecondsBeforeAndAfterIt) {
  const char* const folder = std::getenv("TEST_TMPDIR");
  const std::filesystem::path file =
      std::filesystem::path{folder != nullptr ? folder : testing::TempDir()} /
      (GetParam() == Before::frames ? "lock_step_test.frames.fst" : "lock_step_test.a_pause.fst");
  Bench bench{{}, {.waveform = file, .straps = with_sticking_address()}};
  const auto frames_for = [&bench](Duration span) {
    for (const Instant end = bench.board.queue.now() + span; bench.board.queue.now() < end;) {
      bench.frame({0x00, 0x39, 0x00, 0x00});
    }
  };
  if (GetParam() == Before::frames) {
    frames_for(200us);
  } else {
    bench.frame({0x00, 0x39, 0x00, 0x00});
    bench.board.advance(1s);
  }
  const Instant differs = bench.board.queue.now();
  bench.frame({0xFF, 0xFE, 0x10, 0, 0});
  EXPECT_THROW(frames_for(200us), chip::FrontsDiffer);
  ASSERT_FALSE(bench.fronts.close().has_value());

  void* const reader = fstReaderOpen(file.c_str());
  ASSERT_NE(reader, nullptr);
  const Instant from{picoseconds(static_cast<std::int64_t>(fstReaderGetStartTime(reader)))};
  const Instant to{picoseconds(static_cast<std::int64_t>(fstReaderGetEndTime(reader)))};
  fstReaderClose(reader);
  constexpr Duration a_frame = 2us;  // where it begins and ends
  EXPECT_LE(from, differs - LockStep::before + a_frame);
  EXPECT_GE(from, differs - LockStep::before - a_frame);
  EXPECT_LE(to, differs + LockStep::after + 2 * a_frame);
  EXPECT_GE(to, differs + LockStep::after - a_frame);
  std::filesystem::remove(file);
}

TEST(LockStepTest, AProcessThatIsEndedWhileItWritesAWaveformWritesItToItsEnd) {
  const std::filesystem::path file =
      std::filesystem::temp_directory_path() / ("lock_step_end_test." + std::to_string(getpid()) + ".fst");
  int begun[2];
  ASSERT_EQ(pipe(begun), 0);
  const pid_t child = fork();
  if (child == 0) {
    Bench bench{{}, {.waveform = file}};
    bench.frame({0x00, 0x39, 0x00, 0x00});
    for (char written = 0;; ++written) {
      if (written == 2 && write(begun[1], &written, 1) != 1) _exit(1);
      if (bench.fronts.rtl().write_waveform(file, Instant{})) _exit(1);
    }
  }
  char two = 0;
  EXPECT_EQ(::read(begun[0], &two, 1), 1);
  kill(child, SIGTERM);
  int ended = 0;
  ASSERT_EQ(waitpid(child, &ended, 0), child);
  EXPECT_TRUE(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGTERM) << ended;
  for (const int end : begun) close(end);
  EXPECT_FALSE(std::filesystem::exists(file.string() + ".hier"));
  std::ifstream written{file, std::ios::binary};
  EXPECT_EQ(written.get(), 0);  // FST_BL_HDR
  std::filesystem::remove(file);
}

TEST(LockStepTest, AWaveformThatCannotBeWrittenIsAnError) {
  Bench bench{{}, {.waveform = "/nowhere/at/all.fst", .straps = with_sticking_address()}};
  bench.frame({0xFF, 0xFE, 0x10, 0, 0});
  const auto error = bench.fronts.close();
  ASSERT_TRUE(error.has_value());
  EXPECT_THAT(error->message, HasSubstr("/nowhere/at/all.fst"));
}

// Random frames -------------------------------------------------------------------------------------------------------

// Each seed has chips of its own open questions, two modes and three clocks, and hosts that break their frames.
class RandomFramesTest : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr int seeds = 20;
#if defined(__SANITIZE_ADDRESS__)
  static constexpr int frames = 200;  // the sanitizers' share: the code, not the space
#else
  static constexpr int frames = 5000;
#endif

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(chance_.below(bound)); }

  // Mostly registers and pieces, sometimes whole buffers.
  std::size_t random_length() {
    const std::size_t kind = below(1000);
    if (kind < 550) return below(5);
    if (kind < 930) return below(65);
    if (kind < 998) return below(400);
    return below(4097);
  }
  std::uint16_t random_offset() {
    switch (below(4)) {
      case 0:
        return static_cast<std::uint16_t>(0xFFFF - below(8));
      case 1:
        return static_cast<std::uint16_t>(below(0x10000));
      default:
        return static_cast<std::uint16_t>(below(0x40));
    }
  }
  // Whole bytes, and now and then a clock too many or too few, or a pause.
  void send_byte(Bench& bench, bool breaks) {
    const auto mosi = static_cast<std::uint8_t>(below(256));
    if (below(100) == 0) bench.board.advance(microseconds(static_cast<std::int64_t>(below(20))));
    if (!breaks || below(20) != 0) {
      bench.exchange(mosi);
      return;
    }
    bench.board.advance(bench.sclk.periods(8));
    bench.fronts.begin_byte();
    const int odd = static_cast<int>(below(8));
    const bool missed = below(2) == 0;
    for (int bit = 7; bit >= 0; --bit) {
      if (bit == odd && missed) {
        bench.fronts.miss_bit(bit);
        continue;
      }
      bench.fronts.clock_bit(bit, (mosi >> bit & 1) != 0);
      if (bit == odd) bench.fronts.repeat_edge();
    }
    bench.fronts.end_byte();
  }
  // SCSn rises in the middle of a byte.
  void send_bits(Bench& bench) {
    bench.board.advance(bench.sclk.periods(8));
    bench.fronts.begin_byte();
    const int bits = 1 + static_cast<int>(below(7));
    for (int bit = 7; bit > 7 - bits; --bit) bench.fronts.clock_bit(bit, below(2) != 0);
    bench.fronts.end_byte();
  }
  void send_frame(Bench& bench) {
    const std::size_t kind = below(100);
    const bool is_cut = kind < 4, breaks = kind >= 4 && kind < 10, ends_early = kind >= 10 && kind < 15;
    const std::size_t length_mode = below(10) < 6 ? 0 : below(4);
    const std::uint16_t offset = random_offset();
    const Octets header = {static_cast<std::uint8_t>(offset >> 8), static_cast<std::uint8_t>(offset),
                           static_cast<std::uint8_t>(below(32) << 3 | below(2) << 2 | length_mode)};
    bench.select();
    const std::size_t header_bytes = is_cut ? below(3) : 3;
    for (std::size_t i = 0; i < header_bytes; ++i) bench.exchange(header[i]);
    if (!is_cut) {
      for (std::size_t left = random_length(); left > 0; --left) send_byte(bench, breaks);
    }
    if (ends_early) send_bits(bench);
    if (below(500) == 0) {  // RSTn in the middle of it; what follows sees an SCSn that is tied low
      bench.fronts.set_held_in_reset(true);
      for (std::size_t left = below(10); left > 0; --left) send_byte(bench, false);
      bench.fronts.set_held_in_reset(false);
      for (std::size_t left = below(100); left > 0; --left) send_byte(bench, false);
    }
    bench.deselect();
    bench.board.advance(nanoseconds(static_cast<std::int64_t>(below(3000))));
  }

  RandomStream chance_{Random{GetParam()}.stream("cosim.frames")};
};

TEST_P(RandomFramesTest, ShowNoDifference) {
  chip::ChipConfig config;
  constexpr std::pair<const char*, std::array<const char*, 3>> questions[] = {
      {"chip.quirk.header_miso", {"counts", "counts", "zeros"}},
      {"chip.quirk.write_data_miso", {"zeros", "ones", "echo"}},
      {"chip.quirk.fdm_under_select", {"next_frame", "ignored", "capped"}},
      {"chip.quirk.address_wrap", {"wraps", "wraps", "sticks"}},
      {"chip.quirk.byte_commit", {"eighth_edge", "eighth_edge", "next_byte"}}};
  for (const auto& [name, choices] : questions) {
    // The first seeds are chips of the default choices.
    const std::size_t choice = GetParam() <= 8 ? 0 : below(choices.size());
    ASSERT_TRUE(chip::set_chip_option(config, name, choices[choice]));
  }
  Bench bench{config};
  for (int i = 0; i < frames; ++i) {
    if (i % 100 == 0) {
      const Frequency clocks[] = {Frequency{8'000'000}, Frequency{33'300'000}, Frequency{42'000'000}};
      bench.set_timing({.sclk = clocks[below(3)], .mode = below(2) == 0 ? 0 : 3, .select = 100ns, .deselect = 100ns});
    }
    send_frame(bench);
    ASSERT_EQ(bench.fronts.difference(), "") << "frame " << i;
  }
  EXPECT_GT(bench.fronts.bytes_compared(), static_cast<std::uint64_t>(frames) * 10);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomFramesTest, testing::Range<std::uint64_t>(1, 21));

}  // namespace
}  // namespace wizloop::rtl
