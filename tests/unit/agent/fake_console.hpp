// A console of two strings: what the agent reads, and what it has written.
#pragma once

#include <algorithm>
#include <functional>
#include <string>

#include "boards/agent/console.hpp"

namespace wizloop::test {

class FakeConsole final : public agent::Console {
 public:
  std::string input;
  std::string output;
  bool overrun = false;
  // Called when the agent looks for input and there is none.
  std::function<void()> on_idle;

  std::size_t read(std::uint8_t* data, std::size_t count) override {
    if (input.empty() && on_idle) on_idle();
    const std::size_t taken = std::min(count, input.size());
    std::copy_n(input.begin(), taken, data);
    input.erase(0, taken);
    return taken;
  }
  void write(const std::uint8_t* data, std::size_t count) override {
    output.append(reinterpret_cast<const char*>(data), count);
  }
  bool take_overrun() override { return std::exchange(overrun, false); }
  void wait(std::uint32_t) override {}
};

}  // namespace wizloop::test
