#include "tests/soak/board_on_switch.hpp"

#include <fmt/format.h>

#include <charconv>

#include "sim/core/assert.hpp"

namespace wizloop::soak {
namespace {

constexpr Duration button_time = 10ms;  // the chip needs 500 us of RSTn (datasheet 5.5.1)
constexpr Duration idle_round = 3000s;
constexpr int most_requests = 999'999'999;

}  // namespace

std::string_view text_of(std::string_view answer, std::string_view key) {
  while (!answer.empty()) {
    const std::string_view word = answer.substr(0, answer.find(' '));
    answer.remove_prefix(std::min(word.size() + 1, answer.size()));
    if (word.size() > key.size() && word.starts_with(key) && word[key.size()] == '=')
      return word.substr(key.size() + 1);
  }
  return {};
}

std::optional<std::uint64_t> number_of(std::string_view answer, std::string_view key) {
  const std::string_view digits = text_of(answer, key);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

BoardOnSwitch::BoardOnSwitch(EventQueue& queue, net::SwitchPort& port, board::BoardSetup setup)
    : queue_{queue}, button_{queue} {
  setup.testbed.queue = &queue;
  setup.testbed.switch_port = &port;
  auto made = board::SimBoard::create(std::move(setup));
  WIZ_ASSERT(made);
  board_ = std::move(made).value();
  board_->testbed().bus().end_run_at(Instant::max());
  board_->console().listen([this](Bytes output) { take(output); });
  board_->testbed().chip().set_power(false);
}

int BoardOnSwitch::send(std::string_view request) {
  requests_ = requests_ % most_requests + 1;
  type(fmt::format("#{} {}\n", requests_, request));
  return requests_;
}

void BoardOnSwitch::set_power(bool on) {
  if (powered_ == on) return;
  powered_ = on;
  if (on) {
    bed().chip().set_power(true);
    start_firmware();
    return;
  }
  button_.stop();
  firmware_.reset();
  board_->restart();
  bed().chip().set_rstn(true);
  bed().chip().set_power(false);
}

void BoardOnSwitch::press_reset() {
  if (!powered_) return;
  firmware_.reset();
  board_->restart();
  bed().chip().set_rstn(false);
  button_.start(button_time, [this] {
    bed().chip().set_rstn(true);
    start_firmware();
  });
}

void BoardOnSwitch::plug(bool in) {
  bed().link().set_up(in);
  bed().chip().plug(in);
}

void BoardOnSwitch::start_firmware() {
  board_->restart();
  line_.clear();
  firmware_ = std::make_unique<Fiber>(queue_, [this] {
    try {
      board_->boot();
      for (;;) board_->run_once(idle_round);
    } catch (const bus::FirmwareHangs&) {
      hangs_ = true;
    }
  });
}

void BoardOnSwitch::take(Bytes output) {
  for (const std::uint8_t byte : output) {
    if (byte == '\n') take_line();
    if (byte != '\n' && byte != '\r') line_.push_back(static_cast<char>(byte));
  }
}

void BoardOnSwitch::take_line() {
  int number = 0;
  const auto [end, error] = std::from_chars(line_.data() + 1, line_.data() + line_.size(), number);
  if (line_.starts_with('#') && error == std::errc{} && number != 0 && end < line_.data() + line_.size()) {
    answered_ = number;
    answer_.assign(line_, static_cast<std::size_t>(end + 1 - line_.data()));
  }
  line_.clear();
}

}  // namespace wizloop::soak
