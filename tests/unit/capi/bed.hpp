// A handle for tests, destroyed at their end, and the registers that they use.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "sim/capi/wizloop.h"

namespace wizloop::test {

inline constexpr std::uint8_t common = 0, s0 = 1, s0_tx = 2, s0_rx = 3;
inline constexpr std::uint64_t ms = 1'000'000, s = 1000 * ms;  // in ns

class Bed {
 public:
  explicit Bed(wizloop_config config = WIZLOOP_CONFIG_INIT) : bed_{wizloop_create(&config)} {
    EXPECT_NE(bed_, nullptr) << wizloop_error();
    wizloop_advance_ns(bed_, 1 * ms);  // PLL lock
  }
  Bed(const Bed&) = delete;
  Bed& operator=(const Bed&) = delete;
  ~Bed() { wizloop_destroy(bed_); }
  operator wizloop_t*() const { return bed_; }

  void write(std::uint8_t block, std::uint16_t offset, std::initializer_list<std::uint8_t> bytes) {
    EXPECT_EQ(wizloop_write(bed_, block, offset, std::data(bytes), bytes.size()), WIZLOOP_OK) << wizloop_error();
  }
  std::uint8_t read(std::uint8_t block, std::uint16_t offset) {
    std::uint8_t value = 0xEE;
    EXPECT_EQ(wizloop_read(bed_, block, offset, &value, 1), WIZLOOP_OK) << wizloop_error();
    return value;
  }
  std::uint8_t peek(std::uint8_t block, std::uint16_t offset) {
    std::uint8_t value = 0xEE;
    EXPECT_EQ(wizloop_peek(bed_, block, offset, &value, 1), WIZLOOP_OK) << wizloop_error();
    return value;
  }
  void configure() {
    write(common, 0x05, {255, 255, 255, 0});     // SUBR
    write(common, 0x09, {2, 0, 0, 0, 0, 0x20});  // SHAR
    write(common, 0x0F, {192, 168, 1, 20});      // SIPR
  }
  void command(std::uint8_t code) {
    write(s0, 0x01, {code});
    while (read(s0, 0x01) != 0) continue;
  }
  // UDP port 5000, to port 7 of the PC.
  void open_udp() {
    configure();
    write(s0, 0x00, {2});
    write(s0, 0x04, {0x13, 0x88});
    command(0x01);
    write(s0, 0x0C, {192, 168, 1, 10, 0, 7});
  }
  void send(std::initializer_list<std::uint8_t> bytes) {
    const std::uint16_t pointer = static_cast<std::uint16_t>(read(s0, 0x24) << 8 | read(s0, 0x25));
    write(s0_tx, pointer, bytes);
    const auto end = static_cast<std::uint16_t>(pointer + bytes.size());
    write(s0, 0x24, {static_cast<std::uint8_t>(end >> 8), static_cast<std::uint8_t>(end)});
    command(0x20);
  }
  std::vector<std::string> rules() {
    std::vector<std::string> all;
    for (int i = 0; i < wizloop_finding_count(bed_); ++i) {
      wizloop_finding finding;
      EXPECT_EQ(wizloop_finding_get(bed_, i, &finding), WIZLOOP_OK);
      all.emplace_back(finding.rule);
    }
    return all;
  }

 private:
  wizloop_t* bed_;
};

}  // namespace wizloop::test
