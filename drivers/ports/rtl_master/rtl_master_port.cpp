#include "drivers/ports/rtl_master/rtl_master_port.hpp"

#include <Vspi_master_dma.h>
#include <verilated.h>

#include <algorithm>
#include <array>

#include "sim/core/limits.hpp"

namespace wizloop {
namespace {

enum Register : std::uint8_t { CONTROL, DIVIDER, DATA, STATUS, SOURCE, TARGET, COUNT };
constexpr std::uint32_t byte_has_come = 0x01, has_room = 0x02, sclk_runs = 0x10;
constexpr std::uint32_t no_memory = 0x8000'0000;
constexpr int reset_clocks = 2;

// The most that one transfer's bytes take of the memory each way.
constexpr std::size_t half_of_memory = 0x8000;

int clocks_in(Duration duration, Frequency clock) {
  const std::int64_t period = clock.periods(1).count();
  return static_cast<int>((duration.count() + period - 1) / period);
}

}  // namespace

struct RtlMasterPort::Model {
  VerilatedContext context;
  Vspi_master_dma top{&context};
  std::array<std::uint8_t, 2 * half_of_memory> memory{};
};

RtlMasterPort::RtlMasterPort(EventQueue& queue, chip::Chip& chip, bus::SpiWires& wires, const RtlMasterClock& clock)
    : queue_{queue},
      chip_{chip},
      wires_{wires},
      period_{clock.clock, 1},
      clocks_of_select_high_{clocks_in(limits::select_high, clock.clock)},
      model_{std::make_unique<Model>()} {
  model_->top.rst_n = 1;
  model_->top.eval();
  model_->top.rst_n = 0;
  for (int i = 0; i < reset_clocks; ++i) tick();
  model_->top.rst_n = 1;
  write(DIVIDER, clock.divider);
}

RtlMasterPort::~RtlMasterPort() = default;

// The clocks are those of the RTL: an access takes one, a byte is fetched from its FIFO in the next; the CPU sees it
// two clocks after its eighth rising edge, half a period of SCLK before the byte is over, and takes two more to fetch
// it.
bus::BoardProfile RtlMasterPort::prices(const RtlMasterClock& clock) {
  const auto clocks = [&](int count) { return clock.clock.periods(std::max(count, 0)); };
  bus::BoardProfile board;
  board.cpu = clock.clock;
  board.sclk = clock.sclk();
  board.select = clocks(1);
  board.deselect = clocks(2 + clocks_in(limits::select_high, clock.clock));
  board.byte.gap = clocks(5 - clock.divider);
  board.burst = bus::BurstCost{.gap = {}, .setup = clocks(7 - clock.divider)};
  board.dma = bus::DmaCost{.gap = {}, .setup = clocks(3), .complete = clocks(7 - clock.divider)};
  return board;
}

void RtlMasterPort::tick() {
  Vspi_master_dma& top = model_->top;
  top.miso = wires_.miso();
  top.clk = 0;
  top.eval();
  const bool reads = top.mem_read != 0;
  const std::uint16_t address = top.mem_address;
  if (top.mem_write != 0) model_->memory[address] = top.mem_write_data;
  top.clk = 1;
  top.eval();
  if (reads) top.mem_read_data = model_->memory[address];
  wires_.drive(top.scsn != 0, top.sclk != 0, top.mosi != 0);
  queue_.advance_to(queue_.now() + period_.next());
  ++clocks_;
}

void RtlMasterPort::write(std::uint8_t address, std::uint32_t value) {
  Vspi_master_dma& top = model_->top;
  top.address = address;
  top.write_data = value;
  top.write = 1;
  tick();
  top.write = 0;
}

std::uint32_t RtlMasterPort::read(std::uint8_t address) {
  Vspi_master_dma& top = model_->top;
  top.address = address;
  top.read = 1;
  top.clk = 0;
  top.eval();
  const std::uint32_t value = top.read_data;
  tick();
  top.read = 0;
  return value;
}

void RtlMasterPort::select() { write(CONTROL, 1); }

void RtlMasterPort::deselect() {
  while ((read(STATUS) & sclk_runs) != 0) continue;
  write(CONTROL, 0);
  for (int i = 0; i < clocks_of_select_high_; ++i) tick();
}

uint8_t RtlMasterPort::exchange(uint8_t mosi) {
  write(DATA, mosi);
  while ((read(STATUS) & byte_has_come) == 0) continue;
  return static_cast<uint8_t>(read(DATA));
}

void RtlMasterPort::exchange(const uint8_t* mosi, uint8_t* miso, size_t count) {
  std::size_t sent = 0;
  for (std::size_t came = 0; came < count;) {
    const std::uint32_t status = read(STATUS);
    if (sent < count && (status & has_room) != 0) {
      write(DATA, mosi != nullptr ? mosi[sent] : 0);
      ++sent;
    } else if ((status & byte_has_come) != 0) {
      const auto in = static_cast<uint8_t>(read(DATA));
      if (miso != nullptr) miso[came] = in;
      ++came;
    }
  }
}

bool RtlMasterPort::start_dma(const uint8_t* mosi, uint8_t* miso, size_t count) {
  if (count > half_of_memory) return false;
  if (mosi != nullptr) std::copy_n(mosi, count, model_->memory.begin());
  dma_miso_ = miso;
  dma_bytes_ = count;
  write(SOURCE, mosi != nullptr ? 0 : no_memory);
  write(TARGET, miso != nullptr ? half_of_memory : no_memory);
  write(COUNT, static_cast<std::uint32_t>(count));
  return true;
}

bool RtlMasterPort::wait_dma(uint32_t timeout_us) {
  const Instant deadline = queue_.now() + microseconds(timeout_us);
  while (model_->top.irq == 0) {
    if (queue_.now() >= deadline) return false;
    tick();
  }
  write(STATUS, 0);
  if (dma_miso_ != nullptr) std::copy_n(model_->memory.begin() + half_of_memory, dma_bytes_, dma_miso_);
  return true;
}

void RtlMasterPort::abort_dma() {
  write(COUNT, 0);
  while ((read(STATUS) & sclk_runs) != 0) continue;
  while ((read(STATUS) & byte_has_come) != 0) read(DATA);
}

uint32_t RtlMasterPort::now_us() {
  tick();  // so that a loop that only looks at the clock ends too
  return static_cast<uint32_t>(queue_.now().time_since_epoch() / microseconds(1));
}

void RtlMasterPort::delay_us(uint32_t us) { queue_.advance_to(queue_.now() + microseconds(us)); }

bool RtlMasterPort::wait_for_interrupt(uint32_t timeout_us) {
  chip_.note_intn_awaited();
  const Instant deadline = queue_.now() + microseconds(timeout_us);
  while (chip_.intn() && queue_.now() < deadline) queue_.wait_for_events(deadline);
  return !chip_.intn();
}

}  // namespace wizloop
