#include "drivers/ports/sim/sim_port.hpp"

namespace wizloop {
namespace {

// Reading a free-running counter and scaling it: an estimate, the same for every board.
constexpr std::int64_t clock_read_cycles = 20;

}  // namespace

bool SimPort::start_dma(const uint8_t* mosi, uint8_t* miso, size_t count) {
  if (!bus_.has_dma()) return false;
  bus_.start_dma(mosi, miso, count);
  return true;
}

uint32_t SimPort::now_us() {
  bus_.spend(profile_.cpu.periods(clock_read_cycles), Account::cpu);
  return static_cast<uint32_t>(queue_.now().time_since_epoch() / microseconds(1));
}

bool SimPort::set_reset_pin(bool high) {
  if (!reset_wired_) return false;
  chip_.set_rstn(high);
  return true;
}

bool SimPort::wait_for_interrupt(uint32_t timeout_us) {
  chip_.note_intn_awaited();
  if (!intn_low()) {
    const bool spike = intn_ != nullptr && intn_->spikes();
    const bool woken =
        spike || bus_.sleep_until(queue_.now() + microseconds(timeout_us), [this] { return intn_low(); });
    if (!woken) return false;
    bus_.spend(profile_.interrupt_latency, Account::cpu);
  }
  return true;
}

}  // namespace wizloop
