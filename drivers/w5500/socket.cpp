#include "socket.hpp"

#include "bytes.hpp"

namespace w5500 {
namespace {

// A wait polls without a pause at first, then pauses for a sixteenth of what it has waited so far: a long wait costs
// few frames, a short one is seen at once.
constexpr uint32_t eager_polling_us = 1000;
constexpr uint32_t longest_pause_us = 1000;

constexpr uint8_t counter_readings = 16;

uint16_t ring_bytes(uint8_t kib) { return static_cast<uint16_t>(kib * 1024u); }

uint16_t advanced(uint16_t pointer, uint16_t count) { return static_cast<uint16_t>(pointer + count); }

}  // namespace

Error Socket::open_as(uint8_t mode, uint16_t local_port, Sn_SR opened) {
  if (number_ >= socket_count) return Error::invalid_argument;
  Error error = close_now();
  if (error != Error::none) return error;
  events_ = 0;

  uint8_t port_number[2];
  store16(port_number, local_port);
  uint8_t kib[2];  // Sn_RXBUF_SIZE, Sn_TXBUF_SIZE
  if (!write_register(SocketRegister::Sn_MR, &mode, 1) ||
      !write_register(SocketRegister::Sn_PORT, port_number, sizeof port_number) ||
      !read_register(SocketRegister::Sn_RXBUF_SIZE, kib, sizeof kib)) {
    return Error::bus_failed;
  }
  if (kib[0] > buffer_kib_total || kib[1] > buffer_kib_total) return Error::implausible_counter;
  rx_bytes_ = ring_bytes(kib[0]);
  tx_bytes_ = ring_bytes(kib[1]);

  const Deadline deadline(port(), command_timeout_us);
  error = command(Sn_CR::OPEN, deadline);
  if (error != Error::none) return error;
  return wait_for_state(opened, deadline);
}

Error Socket::close_now() {
  if (number_ >= socket_count) return Error::invalid_argument;
  const Deadline deadline(port(), command_timeout_us);
  Error error = command(Sn_CR::CLOSE, deadline);
  if (error == Error::none) error = wait_for_state(Sn_SR::SOCK_CLOSED, deadline);
  if (error != Error::none) return error;
  sending_ = false;
  received_ = 0;
  const uint8_t everything = Sn_IR::all;
  return write_register(SocketRegister::Sn_IR, &everything, 1) ? Error::none : Error::bus_failed;
}

Error Socket::adopt_pointers() {
  uint8_t raw[6];  // Sn_TX_WR, Sn_RX_RSR, Sn_RX_RD
  if (!read_register(SocketRegister::Sn_TX_WR, raw, sizeof raw)) return Error::bus_failed;
  tx_wr_ = load16(raw);
  rx_rd_ = load16(raw + 4);
  return Error::none;
}

Result<Sn_SR> Socket::poll() {
  if (number_ >= socket_count) return Error::invalid_argument;
  uint8_t raw[3];  // Sn_CR, Sn_IR, Sn_SR
  if (!read_register(SocketRegister::Sn_CR, raw, sizeof raw)) return Error::bus_failed;
  if (static_cast<Sn_CR>(raw[0]) == Sn_CR::NONE) command_pending_ = false;

  // RECV is left alone where nobody sleeps on INTn: Sn_RX_RSR says more.
  const Sn_IR events{static_cast<uint8_t>(raw[1] & Sn_IR::all)};
  const bool to_clear =
      chip_.uses_interrupt_pin(number_) ? events.raw != 0 : events.has(static_cast<uint8_t>(Sn_IR::all & ~Sn_IR::RECV));
  if (to_clear) {
    if (!write_register(SocketRegister::Sn_IR, &events.raw, 1)) return Error::bus_failed;
    events_ = static_cast<uint8_t>(events_ | events.raw);
    if (events.has(Sn_IR::SENDOK | Sn_IR::TIMEOUT)) sending_ = false;
  }
  return static_cast<Sn_SR>(raw[2]);
}

Result<Sn_SR> Socket::settle(const Deadline& deadline) {
  Result<Sn_SR> state = poll();
  if (!state || !command_pending_) return state;
  const Deadline acceptance(port(), smaller(deadline.left_us(), command_timeout_us));
  while (!acceptance.passed()) {
    pause(acceptance, false);
    state = poll();
    if (!state || !command_pending_) return state;
  }
  return Error::command_timeout;
}

Result<Sn_SR> Socket::finish_send(const Deadline& deadline) {
  const Deadline patience(port(), sendok_timeout_us);
  bool everything_left = false;
  for (;;) {
    const Result<Sn_SR> state = settle(deadline);
    if (!state || !sending_ || state.value() == Sn_SR::SOCK_CLOSED) return state;
    if (everything_left || deadline.passed()) return Error::send_timeout;
    if (patience.passed()) {
      const Result<uint16_t> space = read_counter(SocketRegister::Sn_TX_FSR, tx_bytes_);
      if (!space) return space.error();
      everything_left = space.value() == tx_bytes_;
      if (everything_left) continue;  // SENDOK may have come since that poll
    }
    pause(deadline, true);
  }
}

Error Socket::wait_for_state(Sn_SR wanted, const Deadline& deadline) {
  for (;;) {
    const Result<Sn_SR> state = settle(deadline);
    if (!state) return state.error();
    if (state.value() == wanted) return Error::none;
    if (deadline.passed()) return Error::state_timeout;
    pause(deadline, true);
  }
}

Error Socket::command(Sn_CR command, const Deadline& deadline) {
  if (command_pending_) {
    const Result<Sn_SR> state = settle(deadline);
    if (!state) return state.error();
  }
  const uint8_t raw = static_cast<uint8_t>(command);
  if (!write_register(SocketRegister::Sn_CR, &raw, 1)) return Error::bus_failed;
  command_pending_ = true;
  return Error::none;
}

void Socket::pause(const Deadline& deadline, bool interrupt_expected) {
  const uint32_t longest = smaller(deadline.left_us(), longest_pause_us);
  if (interrupt_expected && chip_.uses_interrupt_pin(number_)) {
    // Not longer, because some states change without an interrupt (LAST_ACK to CLOSED).
    port().wait_for_interrupt(longest);
    return;
  }
  const uint32_t elapsed = deadline.elapsed_us();
  if (elapsed >= eager_polling_us) port().delay_us(smaller(elapsed / 16, longest));
}

Result<uint16_t> Socket::read_counter(SocketRegister counter, uint16_t limit) {
  uint16_t last = 0;
  for (uint8_t reading = 0; reading < counter_readings; ++reading) {
    uint8_t raw[2];
    if (!read_register(counter, raw, sizeof raw)) return Error::bus_failed;
    const uint16_t now = load16(raw);
    if (now == 0) return now;
    if (reading > 0 && now == last) {
      if (now > limit) return Error::implausible_counter;
      return now;
    }
    last = now;
  }
  return Error::unstable_counter;
}

Error Socket::load(const uint8_t* data, uint16_t count, uint16_t behind) {
  return chip_.bus().write(tx_buffer_block(number_), advanced(tx_wr_, behind), data, count) ? Error::none
                                                                                            : Error::bus_failed;
}

Error Socket::send(uint16_t count, const Deadline& deadline) {
  const uint16_t end = advanced(tx_wr_, count);
  uint8_t raw[2];
  store16(raw, end);
  if (!write_register(SocketRegister::Sn_TX_WR, raw, sizeof raw)) return Error::bus_failed;
  const Error error = command(Sn_CR::SEND, deadline);
  if (error != Error::none) return error;
  tx_wr_ = end;
  sending_ = true;
  return Error::none;
}

Error Socket::refresh_received(uint16_t unreleased) {
  const Result<uint16_t> waiting = read_counter(SocketRegister::Sn_RX_RSR, rx_bytes_);
  if (!waiting) return waiting.error();
  received_ = waiting.value() > unreleased ? static_cast<uint16_t>(waiting.value() - unreleased) : uint16_t{0};
  return Error::none;
}

Error Socket::fetch(uint8_t* data, uint16_t count) {
  if (!chip_.bus().read(rx_buffer_block(number_), rx_rd_, data, count)) return Error::bus_failed;
  skip(count);
  return Error::none;
}

void Socket::skip(uint16_t count) {
  rx_rd_ = advanced(rx_rd_, count);
  received_ = static_cast<uint16_t>(received_ - count);
}

Error Socket::release(const Deadline& deadline) {
  if (command_pending_) {
    const Result<Sn_SR> state = settle(deadline);
    if (!state) return state.error();
  }
  uint8_t raw[2];
  store16(raw, rx_rd_);
  if (!write_register(SocketRegister::Sn_RX_RD, raw, sizeof raw)) return Error::bus_failed;
  return command(Sn_CR::RECV, deadline);
}

Error Socket::forget_unsent() {
  uint8_t raw[2];
  if (!read_register(SocketRegister::Sn_TX_RD, raw, sizeof raw)) return Error::bus_failed;
  tx_wr_ = load16(raw);
  return Error::none;
}

}  // namespace w5500
