// A raw driver on a register file, and what comes out of it: which frames it makes.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "drivers/patterns/interrupt_line.hpp"
#include "drivers/patterns/raw_driver.hpp"
#include "tests/support/register_file_bus.hpp"

namespace wizloop::test {

inline constexpr std::uint8_t raw_mac[6] = {0x02, 0, 0, 0, 0, 0x01};

// The stack above the driver.
class FrameLog final : public patterns::RawDriver::Receiver {
 public:
  std::uint8_t* memory_for(std::uint16_t bytes) override {
    if (!has_memory) return nullptr;
    arriving_.assign(bytes, 0);
    return arriving_.data();
  }
  void accept() override { frames.push_back(arriving_); }
  void drop() override { ++dropped; }

  bool has_memory = true;
  std::vector<std::vector<std::uint8_t>> frames;
  std::size_t dropped = 0;

 private:
  std::vector<std::uint8_t> arriving_;
};

// A frame as the chip stores it: its length, which counts itself, and the frame.
inline std::vector<std::uint8_t> raw_record(std::size_t bytes, std::uint8_t fill = 0xEE) {
  std::vector<std::uint8_t> record(bytes + 2, fill);
  record[0] = static_cast<std::uint8_t>(record.size() >> 8);
  record[1] = static_cast<std::uint8_t>(record.size() & 0xFF);
  return record;
}

inline std::vector<std::uint8_t> raw_frame(std::size_t bytes, std::uint8_t fill = 0xEE) {
  return std::vector<std::uint8_t>(bytes, fill);
}

// INTn by the test's word.
class TestLine final : public patterns::InterruptLine {
 public:
  void fall() { is_low = fallen = true; }
  void rise() { is_low = false; }
  bool low() override {
    const bool now = is_low;
    if (--low_looks == 0) is_low = false;
    return now;
  }
  bool take_fall() override { return std::exchange(fallen, false); }

  bool is_low = false;
  bool fallen = false;
  int low_looks = 0;  // if positive: after so many looks it is high
};

// A driver with what it stands on.
template <typename Driver>
class RawRig {
 public:
  explicit RawRig(RegisterFile& file) : chip(file), driver(make(file, line)) {}

  // Three seconds later the driver knows that the link is up, and has nothing left to do.
  void settle(FrameLog& stack) {
    chip.port().delay_us(3'000'000);
    driver.run(stack);
    chip.forget();
  }
  // INTn falls once, and is high again after one look of the driver.
  void deliver(const std::vector<std::uint8_t>& record) {
    chip.deliver(0, record);
    chip.socket(0, 0x02) = 0x04;
    chip.script(0x00, 0x17, {0x01});
    line.fall();
    line.low_looks = 1;
  }

  RegisterFile& chip;
  TestLine line;
  Driver driver;

 private:
  static Driver make(RegisterFile& file, TestLine& line) {
    if constexpr (std::is_constructible_v<Driver, w5500::Bus&, w5500::Port&, patterns::InterruptLine&>) {
      return Driver(file.data(), file.port(), line);
    } else {
      return Driver(file.data(), file.port());
    }
  }
};

// The lines of Sn_RXBUF_SIZE and Sn_TXBUF_SIZE of sockets 1 to 7 at 0.
inline std::vector<std::string> other_sockets_emptied() {
  std::vector<std::string> lines;
  for (const char* block : {"05", "09", "0d", "11", "15", "19", "1d"}) {
    lines.push_back(std::string("w ") + block + ":001e 00");
    lines.push_back(std::string("w ") + block + ":001f 00");
  }
  return lines;
}

using Lines = std::vector<std::string>;
inline Lines operator+(Lines lines, const Lines& more) {
  lines.insert(lines.end(), more.begin(), more.end());
  return lines;
}

}  // namespace wizloop::test
