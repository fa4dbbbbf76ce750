#include "sim/core/wave.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

#include "sim/core/vcd_file.hpp"

namespace wizloop {
namespace {

using testing::HasSubstr;

constexpr WaveSignal signals[] = {{"chip", "SCSn"}, {"chip.bus", "read"}, {"chip.bus", "register", WaveSignal::text}};

Instant at(Duration time) { return Instant{time}; }

class WaveText : public testing::Test {
 protected:
  Wave open(WaveWindow window = {}, std::uint64_t most = Wave::most_changes) {
    return Wave{VcdFile::open(path_, signals, "a note").value(), signals, window, most};
  }
  std::string text() const {
    std::ifstream stream{path_};
    return {std::istreambuf_iterator{stream}, {}};
  }
  // Behind the declarations.
  std::string changes() const {
    constexpr std::string_view end = "$enddefinitions $end\n";
    const std::string all = text();
    return all.substr(all.find(end) + end.size());
  }
  ~WaveText() override { std::filesystem::remove(path_); }

 private:
  std::filesystem::path path_ = std::filesystem::temp_directory_path() / ("wave_test." + std::to_string(getpid()));
};

TEST_F(WaveText, IsAValueChangeDumpInPicoseconds) {
  Wave wave = open();
  wave.change(at(0ns), 0, {.high = true});
  wave.change(at(5ns), 0, {.high = false});
  wave.change(at(5ns), 1, {.high = true});
  wave.change(at(6ns), 2, {.text = "VERSIONR"});
  wave.change(at(7ns), 0, {.driven = false});
  EXPECT_FALSE(wave.close(at(8ns)));
  EXPECT_EQ(text(),
            "$version wizloop $end\n$comment a note $end\n$timescale 1 ps $end\n"
            "$scope module chip $end\n$var wire 1 ! SCSn $end\n"
            "$scope module bus $end\n$var wire 1 \" read $end\n$var string 1 # register $end\n"
            "$upscope $end\n$upscope $end\n$enddefinitions $end\n"
            "#0\n$dumpvars\n1!\n0\"\ns- #\n$end\n"
            "#5000\n0!\n1\"\n#6000\nsVERSIONR #\n#7000\nz!\n#8000\n");
}

TEST_F(WaveText, DropsWhatIsNoChange) {
  Wave wave = open();
  wave.change(at(1ns), 0, {.high = true});
  wave.change(at(2ns), 0, {.high = true});
  wave.change(at(3ns), 2, {});
  EXPECT_FALSE(wave.close(at(4ns)));
  EXPECT_THAT(changes(), HasSubstr("$end\n#1000\n1!\n#4000\n"));
}

TEST_F(WaveText, BeginsAWindowWithTheValuesOfThen) {
  Wave wave = open({at(2us), at(3us)});
  wave.change(at(1us), 1, {.high = true});
  wave.change(at(1us), 2, {.text = "MR"});
  wave.change(at(2500ns), 0, {.high = true});
  wave.change(at(4us), 0, {.high = false});
  EXPECT_FALSE(wave.close(at(5us)));
  EXPECT_EQ(changes(), "#2000000\n$dumpvars\n0!\n1\"\nsMR #\n$end\n#2500000\n1!\n#3000000\n");
}

TEST_F(WaveText, EndsAtItsLimitAndSaysSo) {
  Wave wave = open({}, 2);
  for (int i = 1; i <= 9; ++i) wave.change(at(1us * i), 0, {.high = i % 2 != 0});
  EXPECT_EQ(wave.cut_at(), at(3us));
  EXPECT_FALSE(wave.close(at(10us)));
  EXPECT_THAT(changes(), testing::EndsWith("#2000000\n0!\n#3000000\n$comment cut off here, at 0.000003000000 s, by the "
                                           "limit of 2 changes $end\n"));
}

TEST(Wave, AFullDiskIsTheMachinesFaultAndAPathThatCannotBeIsTheUsers) {
  auto full = VcdFile::open("/dev/full", signals, "");
  ASSERT_TRUE(full);
  const auto error = full.value()->close(Instant{}, {});
  ASSERT_TRUE(error);
  EXPECT_EQ(error->message, "/dev/full: the waveform could not be written whole: No space left on device");
  EXPECT_EQ(error->kind, ErrorKind::machine);
  const auto nowhere = VcdFile::open("/no/such/folder/x.vcd", signals, "");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().message, "/no/such/folder/x.vcd: cannot be written: No such file or directory");
  EXPECT_EQ(nowhere.error().kind, ErrorKind::user);
}

TEST(WaveWindow, IsTwoInstantsEitherOfWhichMayBeMissing) {
  const auto window = [](std::string_view text) { return WaveWindow::parse(text).value(); };
  EXPECT_EQ(window("2ms..3500us").from, at(2ms));
  EXPECT_EQ(window("2ms..3500us").to, at(3500us));
  EXPECT_EQ(window("..1s").from, Instant{});
  EXPECT_EQ(window("7ns..").to, Instant::max());
  for (const std::string_view wrong : {"", "1ms", "1ms...2ms", "2ms..1ms", "1ms..1ms", "1..2", "-1ms..2ms", "a..b"}) {
    const auto parsed = WaveWindow::parse(wrong);
    ASSERT_FALSE(parsed) << wrong;
    EXPECT_THAT(parsed.error().message, HasSubstr("expected FROM..TO"));
  }
}

}  // namespace
}  // namespace wizloop
