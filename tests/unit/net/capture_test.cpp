// A capture of real traffic, judged by tshark.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>
#include <string>

#include "sim/net/services/pinger.hpp"
#include "sim/net/services/tcp_echo.hpp"
#include "sim/net/services/tcp_sink.hpp"
#include "sim/net/services/tcp_source.hpp"
#include "sim/net/services/udp_sink.hpp"
#include "sim/net/services/udp_source.hpp"
#include "tests/unit/net/test_net.hpp"

namespace wizloop::net {
namespace {

std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return output;
  char chunk[4096];
  while (const std::size_t count = std::fread(chunk, 1, sizeof chunk, pipe)) output.append(chunk, count);
  pclose(pipe);
  return output;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in{text};
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

TEST(Capture, HoldsTheFramesOfTheLinkWithNothingThatTsharkObjectsTo) {
  if (output_of("command -v tshark").empty()) {
    ASSERT_EQ(std::getenv("CI"), nullptr) << "tshark is not installed: in CI it must be";
    GTEST_SKIP() << "tshark is not installed";
  }
  const auto path = std::filesystem::path{testing::TempDir()} / "wizloop_capture_test.pcapng";
  auto writer = wire::PcapngWriter::open(path, "cable", "capture_test");
  ASSERT_TRUE(writer);
  CaptureObserver capture{*writer.value()};
  TwoHosts net{{.ack_policy = AckPolicy::every_second,
                .segment_rule = SegmentRule::full_mss,
                .delayed_ack = 40ms,
                .turnaround = 30us}};
  net.link.observe(capture);
  TcpSink sink{*net.board, 5001};
  TcpSource source{*net.pc, {.bytes = 100'000}};
  source.connect(board_ip, 5001);
  net.run(100ms);
  UdpSink udp_sink{*net.board, 5002};
  UdpSource udp_source{
      *net.pc, {.to = {board_ip, 5002}, .payload_bytes = 3, .interval = 1ms, .count = 5, .start = net.queue.now()}};
  Pinger pinger{*net.board, {.target = pc_ip, .count = 3, .interval = 1ms}};
  net.run(1s);
  ASSERT_TRUE(source.finished());
  ASSERT_TRUE(pinger.finished());
  ASSERT_FALSE(writer.value()->close());

  // A status of 1 is a good checksum; the fields that show a fault are absent, so the line shows nothing for them.
  const std::string fields =
      output_of("tshark -r " + path.string() + " -o tcp.check_checksum:TRUE -o ip.check_checksum:TRUE" +
                " -o udp.check_checksum:TRUE -T fields -E separator=, -e frame.time_epoch -e frame.len" +
                " -e ip.checksum.status -e tcp.checksum.status -e udp.checksum.status -e icmp.checksum.status" +
                " -e tcp.analysis.flags -e _ws.malformed");
  std::vector<std::string> frames;
  std::set<std::string> verdicts;
  for (const std::string& line : lines_of(fields)) {
    if (line.empty() || std::isdigit(static_cast<unsigned char>(line[0])) == 0) continue;
    frames.push_back(line);
    verdicts.insert(line.substr(line.find(',', line.find(',') + 1) + 1));
  }
  ASSERT_EQ(frames.size(), net.link.counters(End::board).transmitted + net.link.counters(End::host).transmitted);
  EXPECT_THAT(frames[0], testing::StartsWith("0.000000000,60,"));
  EXPECT_THAT(verdicts, testing::UnorderedElementsAre(",,,,,",      // ARP
                                                      "1,1,,,,",    // TCP
                                                      "1,,1,,,",    // UDP
                                                      "1,,,1,,"));  // ICMP
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace wizloop::net
