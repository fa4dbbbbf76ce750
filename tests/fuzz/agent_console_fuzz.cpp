// The bytes that the agent firmware hears, between noise and requests that do everything: it must not crash, hang or
// write out of its buffers, and afterwards a good request gets its answer. The first byte says how many bytes come at a
// time and whether some are lost; a verb that would wait for ever is ended by Ctrl-C once the input is over.
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "boards/agent/agent.hpp"
#include "tests/fuzz/input.hpp"
#include "tests/support/fake_w5500.hpp"

namespace wizloop::fuzz {
namespace {

class Console final : public agent::Console {
 public:
  explicit Console(Input input) : how_{input.u8()}, input_{input} {}

  std::size_t read(std::uint8_t* data, std::size_t count) override {
    if (input_.empty() && typed_.empty()) {
      // Nobody types any more: Ctrl-C, so that a verb under way ends.
      if (count == 0) return 0;
      interrupt_ = !interrupt_;
      data[0] = 0x03;
      return interrupt_ ? 1 : 0;
    }
    const std::size_t most = std::min<std::size_t>(count, 1 + (how_ & 0x0F));
    const Bytes taken = typed_.empty() ? input_.take(most) : Bytes{typed_}.first(std::min(most, typed_.size()));
    std::copy(taken.begin(), taken.end(), data);
    const std::size_t length = taken.size();
    if (!typed_.empty()) typed_.erase(typed_.begin(), typed_.begin() + static_cast<std::ptrdiff_t>(length));
    ++reads_;
    return length;
  }
  void write(const std::uint8_t* data, std::size_t count) override {
    output.append(reinterpret_cast<const char*>(data), count);
  }
  bool take_overrun() override { return (how_ & 0x80) != 0 && reads_ % 16 == 15 && typed_.empty() && !input_.empty(); }
  void wait(std::uint32_t) override {}

  bool silent() const { return input_.empty() && typed_.empty(); }
  void type(const std::string& text) { typed_.assign(text.begin(), text.end()); }

  std::string output;

 private:
  std::uint8_t how_;
  Input input_;
  std::vector<std::uint8_t> typed_;
  std::size_t reads_ = 0;
  bool interrupt_ = false;
};

}  // namespace
}  // namespace wizloop::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace wizloop;
  // On the heap and of their exact sizes, so that the sanitizer sees each byte beyond.
  constexpr std::uint16_t line_bytes = 300;
  constexpr std::uint16_t data_bytes = 2304;
  const auto line = std::make_unique<char[]>(line_bytes);
  const auto buffer = std::make_unique<std::uint8_t[]>(data_bytes);
  const auto chip = std::make_unique<test::FakeW5500>();
  const agent::Identity identity{
      "fuzz", "0", {{2, 0, 0, 0, 0, 7}, {10, 0, 0, 2}, {255, 0, 0, 0}, {10, 0, 0, 1}}, nullptr};
  fuzz::Console console{{data, size}};
  agent::Agent agent{console, *chip, identity, {line.get(), line_bytes, buffer.get(), data_bytes}};
  agent.boot();
  while (!console.silent()) {
    agent.run_once(1);
    chip->forget_frames();
  }
  agent.run_once(1);
  console.type("\n#999999999 help verb=path\n");
  console.output.clear();
  for (int i = 0; i < 100 && console.output.find("#999999999 ok keys=p,intn\r\n") == std::string::npos; ++i)
    agent.run_once(1);
  if (console.output.find("#999999999 ok keys=p,intn\r\n") == std::string::npos) std::abort();
  return 0;
}
