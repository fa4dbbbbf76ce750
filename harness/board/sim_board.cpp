#include "harness/board/sim_board.hpp"

#include <algorithm>

namespace wizloop::board {
namespace {

w5500::Network first_network() {
  w5500::Network network{};
  std::copy(testbed::board_mac.begin(), testbed::board_mac.end(), network.mac);
  store32(network.ip, testbed::board_ip);
  store32(network.subnet, wire::ipv4(255, 255, 255, 0));
  store32(network.gateway, testbed::pc_ip);
  return network;
}

}  // namespace

Result<std::unique_ptr<SimBoard>> SimBoard::create(BoardSetup setup) {
  auto bed = testbed::Testbed::create(setup.testbed);
  if (!bed) return bed.error();
  return std::unique_ptr<SimBoard>{new SimBoard{std::move(bed).value(), std::move(setup)}};
}

SimBoard::SimBoard(std::unique_ptr<testbed::Testbed> bed, BoardSetup setup)
    : setup_{std::move(setup)},
      testbed_{std::move(bed)},
      port_{testbed_->queue(), testbed_->bus(), testbed_->chip(), testbed_->board(), setup_.reset_wired},
      console_{testbed_->queue(), testbed_->bus(), setup_.uart},
      line_memory_(setup_.line_bytes),
      data_memory_(setup_.data_bytes),
      identity_{testbed_->board().name.c_str(), setup_.firmware.c_str(), setup_.network.value_or(first_network()),
                setup_.more_stats} {
  if (testbed_->faulty_intn() != nullptr) port_.connect_intn(*testbed_->faulty_intn());
  console_.listen([this](Bytes bytes) { on_output(bytes); });
}

void SimBoard::boot() {
  agent_.emplace(console_, port_, identity_,
                 agent::Buffers{line_memory_.data(), setup_.line_bytes, data_memory_.data(), setup_.data_bytes});
  agent_->boot();
}

void SimBoard::restart() {
  testbed_->bus().abort_dma();
  testbed_->chip().let_select_go();
  testbed_->chip().note_host_restart();
  console_.reset();
}

void SimBoard::run_once(Duration at_most) {
  agent_->run_once(static_cast<std::uint32_t>(std::max<std::int64_t>(at_most / microseconds(1), 1)));
}

}  // namespace wizloop::board
