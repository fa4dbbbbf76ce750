#include "sim/chip/chip.hpp"

#include <utility>

namespace wizloop::chip {
namespace {

constexpr Duration shortest_reset_pulse = 500us;  // datasheet 5.5.1, TRC

// Writes one byte of a 16-bit register at `offset`, `first` being the offset of its high byte.
void put_byte(std::uint16_t& value, std::uint16_t offset, std::uint16_t first, std::uint8_t byte) {
  value = offset == first ? static_cast<std::uint16_t>((value & 0x00FF) | byte << 8)
                          : static_cast<std::uint16_t>((value & 0xFF00) | byte);
}

}  // namespace

Chip::Chip(EventQueue& queue, wire::FramePool& frames, Trace& trace, Findings& findings, const Random& random,
           const ChipConfig& config)
    : context_{queue,
               EventScope{queue},
               frames,
               trace,
               findings,
               LatenciesInUse{config.latencies},
               config.quirks,
               {},
               BufferMemory{random.stream("chip.memory.tx")},
               BufferMemory{random.stream("chip.memory.rx")},
               random.stream("chip.isn"),
               random.stream("chip.group_reports")},
      phy_{queue, context_.latencies, context_.quirks, *this},
      transmitter_{queue, phy_},
      engine_{context_, judge_, transmitter_, *this},
      receiver_{context_, engine_, *this},
      intn_{queue, context_.latencies},
      front_{*this, context_.quirks},
      pll_timer_{queue},
      version_valid_from_{queue.now() + config.latencies.versionr_valid} {
  intn_.connect(*this);
  judge_.watch(front_.frame_log());
  carve_memories();
}

// Pins and cable -----------------------------------------------------------------------------------------------------

void Chip::set_rstn(bool high) {
  if (std::exchange(rstn_, high) == high) return;  // only edges act
  for (PinWitness* witness : witnesses_) witness->on_reset_pin(high);
  judge_.on_reset_pin(high);
  drive_reset(high);
}

void Chip::drive_reset(bool high) {
  if (!high) {
    front_in_use_->set_held_in_reset(true);
    fell_at_ = context_.queue.now();
    reset_until_ = Instant::min();
    if (context_.quirks.peek<ShortResetPulse>(Quirk::short_reset_pulse) == ShortResetPulse::resets) {
      hold_in_reset();
    } else {
      pll_timer_.start(shortest_reset_pulse, [this] { hold_in_reset(); });
    }
    return;
  }
  const bool was_short = context_.queue.now() < fell_at_ + shortest_reset_pulse;
  if (was_short) context_.quirks.touch(Quirk::short_reset_pulse);
  const bool noticed = held_;
  pll_timer_.stop();
  held_ = false;
  if (!noticed) return front_in_use_->set_held_in_reset(false);
  phy_.hardware_reset();
  version_valid_from_ = context_.queue.now() + context_.latencies.peek(&Latencies::versionr_valid);
  FaultPoint* late = context_.faults.reset_late;
  const Duration delay = late != nullptr && late->strikes() ? late->time("delay") : Duration{};
  pll_timer_.start(context_.latencies.use(&Latencies::pll_lock) + delay, [this] {
    pll_timer_.stop();
    front_in_use_->set_held_in_reset(false);
  });
  if (context_.quirks.peek<SpiBeforePll>(Quirk::spi_before_pll) == SpiBeforePll::alive)
    front_in_use_->set_held_in_reset(false);
}

void Chip::on_intn(bool high) {
  for (PinWitness* witness : witnesses_) witness->on_intn(high);
  if (intn_listener_ != nullptr) intn_listener_->on_intn(high);
}

void Chip::let_select_go() {
  for (PinWitness* witness : witnesses_) witness->on_select_let_go();
  front_in_use_->let_select_go();
}

void Chip::plug(bool in) {
  for (PinWitness* witness : witnesses_) witness->on_cable(in);
  phy_.set_cable(in);
}

void Chip::set_power(bool on) {
  for (PinWitness* witness : witnesses_) witness->on_supply(on);
  if (on) return drive_reset(true);
  drive_reset(false);
  hold_in_reset();
}

void Chip::brown_out(Duration down) {
  set_power(false);
  pll_timer_.start(down, [this] { set_power(true); });
}

void Chip::hold_in_reset() {
  pll_timer_.stop();
  held_ = true;
  reset_registers();
  phy_.hold_in_reset();
}

void Chip::software_reset() {
  reset_registers();
  if (context_.quirks.choice<MrRstMemory>(Quirk::mr_rst_memory) == MrRstMemory::cleared) {
    context_.tx_memory.clear();
    context_.rx_memory.clear();
  }
  if (context_.quirks.choice<MrRstPhy>(Quirk::mr_rst_phy) == MrRstPhy::link_kept) {
    phy_.reset_register();
  } else {
    phy_.hardware_reset();
  }
  FaultPoint* late = context_.faults.reset_late;
  const Duration delay = late != nullptr && late->strikes() ? late->time("delay") : Duration{};
  reset_until_ = context_.queue.now() + context_.latencies.use(&Latencies::software_reset) + delay;
  version_valid_from_ = context_.queue.now() + context_.latencies.peek(&Latencies::versionr_valid);
}

void Chip::announce(const wire::Frame& frame, Instant at) {
  if (phy_.is_half_duplex() && phy_.link()) [[unlikely]] {
    const Instant ends = at + wire::time_on_wire(frame.size, phy_.bit_rate());
    look_for_overlap(at, ends);
    if (!phy_.modes().own.full_duplex) transmitter_.defer(ends);
  }
  receiver_.on_frame_begins(frame.data(), at);
}

// Where an end is half duplex, two frames at once collide.
void Chip::look_for_overlap(Instant first_bit, Instant last_bit) {
  if (transmitter_.sent_between(first_bit, last_bit)) judge_.on_collision(phy_.modes());
}

void Chip::accept(wire::FramePtr frame, Instant at) {
  if (phy_.is_half_duplex() && phy_.link()) [[unlikely]] {
    look_for_overlap(at - wire::time_on_wire(frame->size, phy_.bit_rate()), at);
  }
  const bool has_legal_size = frame->size >= wire::min_frame_bytes && frame->size <= wire::max_frame_bytes;
  if (!phy_.link() || !frame->fcs_good || !has_legal_size) return;
  ++frames_in_reception_;
  context_.events.schedule_at(at + context_.latencies.use(&Latencies::frame_to_received),
                              [this, received = std::move(frame), at, room = receiver_.room_for_datagram()] {
                                --frames_in_reception_;
                                receiver_.on_frame(received->data(), at, room);
                              });
}

void Chip::on_link_up(std::function<void(const wire::LinkModes&)> listener) {
  link_up_listener_ = std::move(listener);
  if (phy_.link()) link_up_listener_(phy_.modes());
}

void Chip::on_link_changed() {
  const wire::LinkModes modes = phy_.modes();
  if (context_.trace.wanted()) {
    context_.trace.emit(context_.queue.now(), "chip.phy", phy_.link() ? "link_up" : "link_down",
                        {{"mbit_s", modes.own.fast ? 100 : 10},
                         {"duplex", modes.own.full_duplex ? "full" : "half"},
                         {"partner_duplex", modes.partner.full_duplex ? "full" : "half"}});
  }
  if (!phy_.link()) return;
  if (modes.mismatched() && phy_.is_forced()) judge_.on_duplex_mismatch(modes, phy_.phycfgr());
  if (link_up_listener_) link_up_listener_(modes);
}

void Chip::on_interrupts_changed() {
  const auto causes = static_cast<std::uint16_t>((context_.common[common::IR] & context_.common[common::IMR]) << 8 |
                                                 (sir() & context_.common[common::SIMR]));
  const bool one_of_several_cleared = causes != 0 && (pending_causes_ & ~causes) != 0;
  pending_causes_ = causes;
  const std::uint16_t intlevel = load16(&context_.common[common::INTLEVEL]);
  judge_.on_interrupts(sir(), causes != 0);
  intn_.update(causes != 0, intlevel);
  if (one_of_several_cleared &&
      context_.quirks.choice<IntnBetweenSources>(Quirk::intn_between_sources) == IntnBetweenSources::pulses) {
    intn_.pulse(intlevel);
  }
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
  judge_.on_reset();
  carve_memories();
  intn_.reset();
  on_interrupts_changed();
}

void Chip::carve_memories() {
  BufferMemory::Sizes tx{};
  BufferMemory::Sizes rx{};
  for (int n = 0; n < socket_count; ++n) {
    tx[static_cast<std::size_t>(n)] = engine_.socket(n).bytes[socket::Sn_TXBUF_SIZE];
    rx[static_cast<std::size_t>(n)] = engine_.socket(n).bytes[socket::Sn_RXBUF_SIZE];
  }
  context_.tx_memory.carve(tx, context_.quirks);
  context_.rx_memory.carve(rx, context_.quirks);
}

// The SPI side -------------------------------------------------------------------------------------------------------

std::uint8_t Chip::peek(Block block, std::uint16_t offset) {
  if (block.is_tx_buffer() || block.is_rx_buffer()) return ring_of(block).read(offset);
  return register_value(block, offset);
}

Ring& Chip::ring(Block block) {
  Ring& ring = ring_of(block);
  if (ring.size() == 0) [[unlikely]]
    context_.quirks.touch(Quirk::zero_buffer);
  return ring;
}

Ring& Chip::ring_of(Block block) {
  return (block.is_tx_buffer() ? context_.tx_memory : context_.rx_memory).ring(block.socket());
}

std::uint8_t Chip::fetch_register(Block block, std::uint16_t offset) {
  FaultPoint* version_zero = context_.faults.version_zero;
  if (version_zero != nullptr && block.is_common() && offset == common::VERSIONR && version_zero->strikes()) return 0;
  return register_value(block, offset);
}

inline std::uint8_t Chip::register_value(Block block, std::uint16_t offset) {
  if (resetting()) return block.is_common() && offset == common::MR ? mr::RST : std::uint8_t{0};
  if (block.is_common()) return fetch_common(offset);
  if (block.is_socket_registers()) return fetch_socket(engine_.socket(block.socket()), offset);
  return reserved_value();
}

// Of a reserved block or address: drivers that probe for other chips rely on a constant.
std::uint8_t Chip::reserved_value() const {
  return context_.quirks.peek<ReservedRead>(Quirk::reserved_read) == ReservedRead::zeros ? std::uint8_t{0}
                                                                                         : std::uint8_t{0xFF};
}

inline void Chip::touch_questions_behind(Block block, std::uint16_t offset) {
  if (block.is_common()) {
    if (offset == common::VERSIONR) context_.latencies.touch(&Latencies::versionr_valid);
    if (offset == common::PHYCFGR && !phy_.link()) context_.quirks.touch(Quirk::phycfgr_without_link);
    return;
  }
  const Socket& socket = engine_.socket(block.socket());
  switch (offset) {
    case socket::Sn_SR:
      if (socket.resolving()) context_.quirks.touch(Quirk::status_while_resolving);
      return;
    case socket::Sn_TX_FSR:
    case socket::Sn_TX_FSR + 1:
      if (socket.tx_wr != socket.tx_wr_written) context_.quirks.touch(Quirk::tx_fsr_falls);
      break;
    case socket::Sn_TX_WR:
    case socket::Sn_TX_WR + 1:
      if (socket.tx_wr != socket.tx_wr_written) context_.quirks.touch(Quirk::tx_wr_readback);
      break;
    case socket::Sn_TX_RD + 1:
    case socket::Sn_RX_RSR + 1:
    case socket::Sn_RX_RD + 1:
    case socket::Sn_RX_WR + 1:
      break;
    default:
      return;
  }
  if (offset % 2 == 1 && halves_differ_) context_.quirks.touch(Quirk::wide_read);
}

// In two parts, so that polls do not pay for what the rest has to do.
std::uint8_t Chip::read_register(Block block, std::uint16_t offset, std::uint8_t value, std::uint16_t next) {
  if (!judge_.on_poll(block, offset, value)) return read_otherwise(block, offset, value, next);
  touch_questions_behind(block, offset);
  return fetch_register(block, next);
}

[[gnu::noinline]] std::uint8_t Chip::read_otherwise(Block block, std::uint16_t offset, std::uint8_t value,
                                                    std::uint16_t next) {
  if (holds_register(block, offset)) [[likely]] {
    touch_questions_behind(block, offset);
    judge_.on_register_read(block, offset, value);
  } else {
    context_.quirks.touch(Quirk::reserved_read);
    judge_.on_reserved_read(block, offset);
  }
  return fetch_register(block, next);
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
    case common::VERSIONR:
      return context_.queue.now() < version_valid_from_ ? std::uint8_t{0} : context_.common[offset];
    default:
      return holds_common_register(offset) ? context_.common[offset] : reserved_value();
  }
}

void Chip::write_common(std::uint16_t offset, std::uint8_t value) {
  const RegisterSpec* spec = common_register_at(offset);
  if (spec == nullptr || spec->access == Access::read_only) return;
  switch (offset) {
    case common::MR:
      if ((value & mr::RST) != 0) {
        software_reset();
        return;
      }
      context_.common[common::MR] = value & (mr::WOL | mr::PB | mr::PPPoE | mr::FARP);
      return;
    case common::IR:
      context_.common[common::IR] &= static_cast<std::uint8_t>(~value | unseen(context_.latest_causes));
      return on_interrupts_changed();
    case common::PHYCFGR:
      return phy_.write_phycfgr(value);
    case common::IMR:
    case common::SIMR:
      context_.common[offset] = value;
      return on_interrupts_changed();
    default:
      context_.common[offset] = value;
  }
}

std::uint8_t Chip::shown_status(const Socket& socket) const {
  if (socket.resolving()) {
    const auto shown = context_.quirks.peek<StatusWhileResolving>(Quirk::status_while_resolving);
    if (shown == StatusWhileResolving::synsent) return sn_sr::SYNSENT;
    if (shown == StatusWhileResolving::arp) return sn_sr::ARP;
  }
  return socket.shown_status(context_.queue.now());
}

std::uint8_t Chip::fetch_socket(const Socket& socket, std::uint16_t offset) {
  switch (offset) {
    case socket::Sn_CR:
      return context_.queue.now() < socket.command_accepted ? socket.command : std::uint8_t{0};
    case socket::Sn_IR:
      return socket.interrupts;
    case socket::Sn_SR:
      return shown_status(socket);
    case socket::Sn_TX_FSR:
    case socket::Sn_TX_RD:
    case socket::Sn_TX_WR:
    case socket::Sn_RX_RSR:
    case socket::Sn_RX_RD:
    case socket::Sn_RX_WR:
      return fetch_wide(socket, offset, offset);
    case socket::Sn_TX_FSR + 1:
    case socket::Sn_TX_RD + 1:
    case socket::Sn_TX_WR + 1:
    case socket::Sn_RX_RSR + 1:
    case socket::Sn_RX_RD + 1:
    case socket::Sn_RX_WR + 1:
      return fetch_wide(socket, offset, static_cast<std::uint16_t>(offset - 1));
    default:
      return holds_socket_register(offset) ? socket.bytes[offset] : reserved_value();
  }
}

// One byte of the 16-bit register whose high byte is at `first`. Nothing latches the low one, so it may change between.
std::uint8_t Chip::fetch_wide(const Socket& socket, std::uint16_t offset, std::uint16_t first) {
  std::uint16_t value = wide_value(socket, first);
  if (offset == first) {
    judge_.on_wide_fetch(value);
    high_byte_of_ = value;
    halves_differ_ = false;
    return static_cast<std::uint8_t>(value >> 8);
  }
  const std::uint16_t then = std::exchange(high_byte_of_, std::nullopt).value_or(value);
  halves_differ_ = ((then ^ value) & 0xFF) != 0;
  if (halves_differ_ && context_.quirks.peek<WideRead>(Quirk::wide_read) == WideRead::latched) value = then;
  judge_.on_wide_fetch(value);
  return static_cast<std::uint8_t>(value);
}

std::uint16_t Chip::wide_value(const Socket& socket, std::uint16_t first) {
  switch (first) {
    case socket::Sn_TX_FSR:
      return engine_.tx_free_size(socket);
    case socket::Sn_TX_RD:
      return socket.tx_rd;
    case socket::Sn_TX_WR:
      return context_.quirks.peek<TxWrReadback>(Quirk::tx_wr_readback) == TxWrReadback::latched ? socket.tx_wr
                                                                                                : socket.tx_wr_written;
    case socket::Sn_RX_RSR:
      return socket.received_size();
    case socket::Sn_RX_RD:
      return socket.rx_rd_written;
    default:
      return socket.rx_wr;
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
      socket.interrupts &= static_cast<std::uint8_t>(~value | unseen(socket.latest_causes));
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
    case socket::Sn_MSSR:
    case socket::Sn_MSSR + 1:
      socket.bytes[offset] = value;
      return put_byte(socket.own_mss, offset, socket::Sn_MSSR, value);
    case socket::Sn_KPALVTR:
      socket.bytes[offset] = value;
      return engine_.on_keepalive_period(socket);
    case socket::Sn_RXBUF_SIZE:
    case socket::Sn_TXBUF_SIZE:
      socket.bytes[offset] = value;
      return carve_memories();
    default:
      socket.bytes[offset] = value;
  }
}

}  // namespace wizloop::chip
