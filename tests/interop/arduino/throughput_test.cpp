// A sketch takes as long as the board that it stands for: the same transfer by a sketch on the Arduino shim and by the
// scenario with the same access pattern, which the published figures are compared with.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "harness/scenario/scenario.hpp"

namespace wizloop::scenario {
namespace {

constexpr double total_bits = 262144.0 * 8;
// The scenario's calls look at their deadline and pay for themselves, the sketch's do not and it pays for loop()
// instead: under 0.1 % each. Both wait for free space by polling, and where its end falls between two polls is chance:
// on the w55rp20 it is two thirds of a poll later in each of the sketch's writes, 0.64 % in all.
constexpr double tolerance_percent = 1;

double scenario_us(const std::string& board, const std::string& name) {
  RunRequest request;
  request.scenario = name;
  request.board_file = std::filesystem::path{WIZLOOP_BOARDS_DIR} / (board + ".toml");
  request.path = "byte";
  request.library = "ethernet2";
  request.parameters = {{"total_bytes", "262144"}, {"buffer_kib", "2"}};
  const auto result = run(request);
  if (!result || !result.value().failure.empty()) return 0;
  return total_bits / result.value().figures.at(0).value;  // Mbit/s
}

// What the sketch has printed on that board.
std::string sketch(const std::string& board) {
  const std::string command = std::string{"'"} + WIZLOOP_DRIVER_TEST + "' '" + WIZLOOP_SKETCH + "' --board " + board +
                              " --serve 'tcp-sink port=5001' --serve 'tcp-source port=19 bytes=262144'";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> output{popen(command.c_str(), "r"), pclose};
  std::string all;
  std::array<char, 4096> piece;
  while (output != nullptr && std::fgets(piece.data(), piece.size(), output.get()) != nullptr) all += piece.data();
  return all;
}

double number_after(const std::string& text, const std::string& words) {
  const std::size_t at = text.find(words);
  return at == std::string::npos ? 0 : std::strtod(text.c_str() + at + words.size(), nullptr);
}

class Throughput : public testing::TestWithParam<const char*> {};

TEST_P(Throughput, OfASketchIsThatOfTheBoard) {
  const std::string printed = sketch(GetParam());
  const double sent = number_after(printed, "sent in "), received = number_after(printed, "received in ");
  const double sends = scenario_us(GetParam(), "tcp_xmit"), receives = scenario_us(GetParam(), "tcp_recv");
  RecordProperty("sent_percent", std::to_string(100 * (sent / sends - 1)));
  RecordProperty("received_percent", std::to_string(100 * (received / receives - 1)));
  EXPECT_NEAR(sent, sends, sends * tolerance_percent / 100) << printed;
  EXPECT_NEAR(received, receives, receives * tolerance_percent / 100) << printed;
}

// The first two price the calls of the core; on the third an edge of SCSn stands for all of them.
INSTANTIATE_TEST_SUITE_P(Arduino, Throughput, testing::Values("stm32f405-arduino", "esp32-usr-es1", "w55rp20"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace wizloop::scenario
