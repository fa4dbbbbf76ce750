#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>

#include "sim/rtl/fronts.hpp"
#include "tests/conformance/bridge_target.hpp"
#include "tests/conformance/model_target.hpp"
#include "tests/support/agent_on_loopback.hpp"

namespace wizloop::conformance {
namespace {

constexpr std::string_view bridge_prefix = "bridge:";
constexpr std::string_view rtl_prefix = "rtl:", both_prefix = "both:";
constexpr std::string_view simulated = "sim", simulated_without_reset = "sim-no-rstn";

std::string chosen = "model";

template <typename T>
T value_or_exit(Result<T> result) {
  if (result) return std::move(result).value();
  fmt::print(stderr, "{}\n", result.error().message);
  std::exit(5);
}

bus::BoardProfile board_or_exit(std::string_view name) {
  const std::filesystem::path boards{WIZLOOP_BOARDS_DIR};
  return value_or_exit(bus::load_board(boards / fmt::format("{}.toml", name)));
}

board::BoardSetup simulated_board(bool reset_wired) {
  return {.testbed = {.board = board_or_exit("stm32f405-arduino")}, .reset_wired = reset_wired};
}

// The model behind another SPI front, at whose pins the edges of that board fall.
std::unique_ptr<Target> model_behind(std::string_view front, std::string_view board_name) {
  static const bus::BoardProfile board = board_or_exit(board_name);
  // Selecting takes no time, as all of SPI, until a test asks for the timing of a bus.
  const chip::PinTiming timing{.sclk = board.sclk, .mode = board.spi_mode};
  return std::make_unique<ModelTarget>(chosen, value_or_exit(rtl::front_maker(front)), timing);
}

// The line and the bridge serve all tests of a run.
spi_bridge::SpiBridge& bridge_to(std::string address) {
  static std::unique_ptr<test::AgentOnLoopback> agent;
  if (address == simulated || address == simulated_without_reset) {
    if (agent == nullptr) agent = std::make_unique<test::AgentOnLoopback>(simulated_board(address == simulated));
    address = agent->address();
  }
  static const std::unique_ptr<spi_bridge::AgentChannel> channel =
      value_or_exit(spi_bridge::AgentChannel::open(address));
  static const std::unique_ptr<spi_bridge::SpiBridge> bridge = value_or_exit(spi_bridge::SpiBridge::attach(*channel));
  return *bridge;
}

}  // namespace

void choose_target(std::string_view name) { chosen = name; }

std::unique_ptr<Target> make_target() {
  if (chosen == "model" || chosen == "model-spi") return std::make_unique<ModelTarget>(chosen == "model");
  if (chosen.starts_with(rtl_prefix)) return model_behind("rtl", std::string_view{chosen}.substr(rtl_prefix.size()));
  if (chosen.starts_with(both_prefix)) return model_behind("both", std::string_view{chosen}.substr(both_prefix.size()));
  if (chosen.starts_with(bridge_prefix)) {
    return std::make_unique<BridgeTarget>(bridge_to(chosen.substr(bridge_prefix.size())));
  }
  fmt::print(
      stderr,
      "no conformance target '{}'; there are: model, model-spi, rtl:BOARD, both:BOARD, bridge:sim, bridge:sim-no-rstn, "
      "bridge:serial:PORT[@BAUD], bridge:tcp:HOST:PORT\n",
      chosen);
  std::exit(2);
}

std::string_view name_of(Feature feature) {
  constexpr std::string_view names[] = {
      "a scripted peer",  "exact time",     "single SCLK periods",  "a reset pin", "an interrupt pin",
      "a power switch",   "a cable switch", "a current meter",      "SPI timing",  "PMODE pins",
      "a judge of rules", "a link partner", "clocks without select"};
  return names[static_cast<std::size_t>(feature)];
}

}  // namespace wizloop::conformance
