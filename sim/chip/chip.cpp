#include "sim/chip/chip.hpp"

#include <utility>

namespace wizloop::chip {
namespace {

constexpr Duration pll_lock = 1ms;  // datasheet 5.5.1, TPL: no SPI before it

// One byte of a 16-bit register at `offset`, `first` being the offset of its high byte.
std::uint8_t byte_of(std::uint16_t value, std::uint16_t offset, std::uint16_t first) {
  return static_cast<std::uint8_t>(offset == first ? value >> 8 : value);
}
void put_byte(std::uint16_t& value, std::uint16_t offset, std::uint16_t first, std::uint8_t byte) {
  value = offset == first ? static_cast<std::uint16_t>((value & 0x00FF) | byte << 8)
                          : static_cast<std::uint16_t>((value & 0xFF00) | byte);
}

}  // namespace

Chip::Chip(EventQueue& queue, wire::FramePool& frames, Trace& trace, Findings& findings, const Random& random,
           const ChipConfig& config)
    : context_{queue,
               frames,
               trace,
               findings,
               config.latencies,
               config.quirks,
               {},
               BufferMemory{random.stream("chip.memory.tx")},
               BufferMemory{random.stream("chip.memory.rx")},
               random.stream("chip.isn")},
      phy_{queue, context_.latencies},
      transmitter_{queue, phy_},
      engine_{context_, judge_, transmitter_, *this},
      receiver_{context_, engine_, *this},
      intn_{queue, config.latencies.event_to_intn},
      front_{*this},
      pll_timer_{queue} {
  carve_memories();
}

// Pins and cable -----------------------------------------------------------------------------------------------------

void Chip::set_rstn(bool high) {
  if (std::exchange(rstn_, high) == high) return;  // only edges act
  if (!high) {
    pll_timer_.stop();
    front_.set_held_in_reset(true);
    reset_registers();
    phy_.hold_in_reset();
    reset_until_ = Instant::min();
    return;
  }
  phy_.hardware_reset();
  FaultPoint* late = context_.faults.reset_late;
  const Duration locked = late != nullptr && late->strikes() ? pll_lock + late->time("delay") : pll_lock;
  pll_timer_.start(locked, [this] { front_.set_held_in_reset(false); });
}

void Chip::brown_out(Duration down) {
  set_rstn(false);
  pll_timer_.start(down, [this] { set_rstn(true); });
}

void Chip::accept(wire::FramePtr frame, Instant at) {
  if (!phy_.link() || !frame->fcs_good || frame->size > wire::max_frame_bytes) return;
  ++frames_in_reception_;
  context_.queue.schedule_at(at + context_.latencies.frame_to_received,
                             [this, received = std::move(frame), at, room = receiver_.room_for_datagram()] {
                               --frames_in_reception_;
                               receiver_.on_frame(received->data(), at, room);
                             });
}

void Chip::on_interrupts_changed() {
  const std::uint8_t causes = static_cast<std::uint8_t>((context_.common[common::IR] & context_.common[common::IMR]) |
                                                        (sir() & context_.common[common::SIMR]));
  intn_.update(causes != 0, load16(&context_.common[common::INTLEVEL]));
}

std::uint8_t Chip::sir() const {
  std::uint8_t bits = 0;
  for (int n = 0; n < socket_count; ++n) {
    const Socket& socket = engine_.socket(n);
    if ((socket.interrupts & socket.bytes[socket::Sn_IMR]) != 0) bits = static_cast<std::uint8_t>(bits | 1 << n);
  }
  return bits;
}

void Chip::reset_registers() {
  context_.common.reset();
  engine_.reset();
  carve_memories();
  on_interrupts_changed();
}

void Chip::carve_memories() {
  BufferMemory::Sizes tx{};
  BufferMemory::Sizes rx{};
  for (int n = 0; n < socket_count; ++n) {
    tx[static_cast<std::size_t>(n)] = engine_.socket(n).bytes[socket::Sn_TXBUF_SIZE];
    rx[static_cast<std::size_t>(n)] = engine_.socket(n).bytes[socket::Sn_RXBUF_SIZE];
  }
  context_.tx_memory.carve(tx);
  context_.rx_memory.carve(rx);
}

// The SPI side -------------------------------------------------------------------------------------------------------

std::uint8_t Chip::peek(Block block, std::uint16_t offset) {
  if (block.is_tx_buffer() || block.is_rx_buffer()) return ring(block).read(offset);
  return register_value(block, offset);
}

Ring& Chip::ring(Block block) {
  return (block.is_tx_buffer() ? context_.tx_memory : context_.rx_memory).ring(block.socket());
}

std::uint8_t Chip::fetch_register(Block block, std::uint16_t offset) {
  FaultPoint* version_zero = context_.faults.version_zero;
  if (version_zero != nullptr && block.is_common() && offset == common::VERSIONR && version_zero->strikes()) return 0;
  return register_value(block, offset);
}

std::uint8_t Chip::register_value(Block block, std::uint16_t offset) {
  if (resetting()) return block.is_common() && offset == common::MR ? mr::RST : std::uint8_t{0};
  if (block.is_common()) return fetch_common(offset);
  if (block.is_socket_registers()) return fetch_socket(engine_.socket(block.socket()), offset);
  return 0x00;  // a reserved block: drivers that probe for other chips rely on a constant
}

void Chip::write_register(Block block, std::uint16_t offset, std::uint8_t value) {
  judge_.on_register_write(block, offset, value);
  if (resetting()) return;
  if (block.is_common()) {
    write_common(offset, value);
  } else if (block.is_socket_registers()) {
    write_socket(engine_.socket(block.socket()), offset, value);
  }
}

std::uint8_t Chip::fetch_common(std::uint16_t offset) const {
  switch (offset) {
    case common::SIR:
      return sir();
    case common::PHYCFGR:
      return phy_.phycfgr();
    default:
      return offset < common_block_bytes ? context_.common[offset] : std::uint8_t{0};
  }
}

void Chip::write_common(std::uint16_t offset, std::uint8_t value) {
  const RegisterSpec* spec = common_register_at(offset);
  if (spec == nullptr || spec->access == Access::read_only) return;
  switch (offset) {
    case common::MR:
      if ((value & mr::RST) != 0) {
        reset_registers();
        phy_.reset_register();
        FaultPoint* late = context_.faults.reset_late;
        if (late != nullptr && late->strikes()) reset_until_ = context_.queue.now() + late->time("delay");
        return;
      }
      if ((value & (mr::PPPoE | mr::WOL)) != 0 && context_.trace.wanted()) {
        context_.trace.emit(context_.queue.now(), "chip", "mode", {{"MR", std::int64_t{value}}});
      }
      context_.common[common::MR] = value & (mr::WOL | mr::PB | mr::PPPoE | mr::FARP);
      return;
    case common::IR:
      context_.common[common::IR] &= static_cast<std::uint8_t>(~value);
      return on_interrupts_changed();
    case common::PHYCFGR:
      phy_.write_phycfgr(value);
      return;
    case common::IMR:
    case common::SIMR:
      context_.common[offset] = value;
      return on_interrupts_changed();
    default:
      context_.common[offset] = value;
  }
}

std::uint8_t Chip::fetch_socket(const Socket& socket, std::uint16_t offset) {
  switch (offset) {
    case socket::Sn_CR:
      return context_.queue.now() < socket.command_accepted ? socket.command : std::uint8_t{0};
    case socket::Sn_IR:
      return socket.interrupts;
    case socket::Sn_SR:
      return socket.shown_status(context_.queue.now());
    case socket::Sn_TX_FSR:
    case socket::Sn_TX_FSR + 1:
      return byte_of(engine_.tx_free_size(socket), offset, socket::Sn_TX_FSR);
    case socket::Sn_TX_RD:
    case socket::Sn_TX_RD + 1:
      return byte_of(socket.tx_rd, offset, socket::Sn_TX_RD);
    case socket::Sn_TX_WR:
    case socket::Sn_TX_WR + 1:
      return byte_of(context_.quirks.choice<TxWrReadback>(Quirk::tx_wr_readback) == TxWrReadback::latched
                         ? socket.tx_wr
                         : socket.tx_wr_written,
                     offset, socket::Sn_TX_WR);
    case socket::Sn_RX_RSR:
    case socket::Sn_RX_RSR + 1:
      return byte_of(socket.received_size(), offset, socket::Sn_RX_RSR);
    case socket::Sn_RX_RD:
    case socket::Sn_RX_RD + 1:
      return byte_of(socket.rx_rd_written, offset, socket::Sn_RX_RD);
    case socket::Sn_RX_WR:
    case socket::Sn_RX_WR + 1:
      return byte_of(socket.rx_wr, offset, socket::Sn_RX_WR);
    default:
      return offset < socket_block_bytes ? socket.bytes[offset] : std::uint8_t{0};
  }
}

void Chip::write_socket(Socket& socket, std::uint16_t offset, std::uint8_t value) {
  const RegisterSpec* spec = socket_register_at(offset);
  if (spec == nullptr || spec->access == Access::read_only) return;
  switch (offset) {
    case socket::Sn_CR: {
      FaultPoint* slow = context_.faults.command_slow;
      if (slow != nullptr && slow->strikes()) return engine_.command_late(socket, value, slow->time("delay"));
      return engine_.command(socket, value);
    }
    case socket::Sn_IR:
      socket.interrupts &= static_cast<std::uint8_t>(~value);
      return on_interrupts_changed();
    case socket::Sn_IMR:
      socket.bytes[offset] = value;
      return on_interrupts_changed();
    case socket::Sn_TX_WR:
    case socket::Sn_TX_WR + 1:
      return put_byte(socket.tx_wr_written, offset, socket::Sn_TX_WR, value);
    case socket::Sn_RX_RD:
    case socket::Sn_RX_RD + 1:
      return put_byte(socket.rx_rd_written, offset, socket::Sn_RX_RD, value);
    case socket::Sn_RXBUF_SIZE:
    case socket::Sn_TXBUF_SIZE:
      socket.bytes[offset] = value;
      return carve_memories();
    default:
      socket.bytes[offset] = value;
  }
}

}  // namespace wizloop::chip
