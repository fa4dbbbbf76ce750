#include "socket.hpp"

namespace w5500 {
namespace {

constexpr uint16_t segment_bytes = 1460;  // the largest TCP segment on Ethernet

// Data can be sent, and what came before a FIN can be read.
bool is_up(Sn_SR state) { return state == Sn_SR::SOCK_ESTABLISHED || state == Sn_SR::SOCK_CLOSE_WAIT; }

bool is_every(const uint8_t (&ip)[4], uint8_t value) {
  return ip[0] == value && ip[1] == value && ip[2] == value && ip[3] == value;
}

}  // namespace

Result<void> TcpSocket::open(uint16_t local_port) {
  if (local_port == 0) return Error::invalid_argument;
  connected_ = false;
  const uint8_t mode = static_cast<uint8_t>(Sn_MR::TCP | (options_.immediate_ack ? Sn_MR::ND : 0));
  const Error error = open_as(mode, local_port, Sn_SR::SOCK_INIT);
  if (error != Error::none) return error;
  if (tx_bytes() == 0 || rx_bytes() == 0) return drop(Error::invalid_argument);
  return Error::none;
}

Result<void> TcpSocket::connect(const Endpoint& peer, uint32_t timeout_us) {
  if (peer.port == 0 || is_every(peer.ip, 0x00) || is_every(peer.ip, 0xFF)) return Error::invalid_argument;
  const Deadline deadline(port(), timeout_us);
  Result<Sn_SR> state = settle(deadline);
  if (!state) return state.error();
  if (state.value() != Sn_SR::SOCK_INIT) return Error::wrong_state;

  uint8_t destination[endpoint_bytes];
  store_endpoint(destination, peer);
  if (!write_register(SocketRegister::Sn_DIPR, destination, sizeof destination)) return drop(Error::bus_failed);
  const Error error = command(Sn_CR::CONNECT, deadline);
  if (error != Error::none) return drop(error);
  for (;;) {
    state = settle(deadline);
    if (!state) return drop(state.error());
    if (is_up(state.value())) return adopt_connection();
    if (state.value() == Sn_SR::SOCK_CLOSED) return closed_error(Error::refused);
    if (deadline.passed()) return drop(Error::state_timeout);
    pause(deadline, true);
  }
}

Result<void> TcpSocket::listen() {
  const Deadline deadline(port(), command_timeout_us);
  Result<Sn_SR> state = settle(deadline);
  if (!state) return state.error();
  if (state.value() != Sn_SR::SOCK_INIT) return Error::wrong_state;
  const Error error = command(Sn_CR::LISTEN, deadline);
  if (error != Error::none) return error;
  // Any state but INIT will do: a peer may have come, and even gone, between two polls.
  while (state.value() == Sn_SR::SOCK_INIT) {
    if (deadline.passed()) return Error::state_timeout;
    state = settle(deadline);
    if (!state) return state.error();
  }
  return Error::none;
}

Result<bool> TcpSocket::accept(uint32_t timeout_us) {
  if (connected_) return true;
  const Deadline deadline(port(), timeout_us);
  for (;;) {
    const Result<Sn_SR> polled = settle(deadline);
    if (!polled) return polled.error();
    const Sn_SR state = polled.value();
    if (is_up(state)) {
      const Error error = adopt_connection();
      if (error != Error::none) return error;
      return true;
    }
    if (state == Sn_SR::SOCK_CLOSED) return closed_error(Error::closed_by_peer);
    if (state != Sn_SR::SOCK_LISTEN && state != Sn_SR::SOCK_SYNRECV) return Error::wrong_state;
    if (deadline.passed()) return false;
    pause(deadline, true);
  }
}

Result<Endpoint> TcpSocket::peer() {
  if (!connected_) return Error::wrong_state;
  uint8_t raw[endpoint_bytes];
  if (!read_register(SocketRegister::Sn_DIPR, raw, sizeof raw)) return Error::bus_failed;
  return load_endpoint(raw);
}

Progress TcpSocket::write(const uint8_t* data, size_t count, uint32_t timeout_us) {
  size_t done = 0;
  Error error = connected_ ? Error::none : Error::wrong_state;
  while (error == Error::none && done < count) {
    const Deadline deadline(port(), timeout_us);
    const size_t rest = count - done;
    const uint16_t piece = rest < piece_ ? static_cast<uint16_t>(rest) : piece_;
    bool ready = false;
    error = wait_for_space(piece, deadline, &ready);
    if (error == Error::none) error = load(data + done, piece);
    if (error == Error::none && !ready) error = wait_until_ready(deadline);
    if (error == Error::none) error = send_piece(piece, deadline);
    if (error == Error::none) done += piece;
  }
  return Progress{done, error};
}

Progress TcpSocket::try_write(const uint8_t* data, uint16_t count) {
  if (!connected_) return Progress{0, Error::wrong_state};
  const Result<Sn_SR> state = poll();
  if (!state) return Progress{0, state.error()};
  Error error = connection_error(state.value());
  if (error != Error::none || busy()) return Progress{0, error};
  if (free_ < count) error = refresh_free();
  const uint16_t piece = smaller(count, free_);
  if (error != Error::none || piece == 0) return Progress{0, error};

  const Deadline deadline(port(), command_timeout_us);
  error = load(data, piece);
  if (error == Error::none) error = send_piece(piece, deadline);
  return Progress{error == Error::none ? piece : size_t{0}, error};
}

Result<void> TcpSocket::flush(uint32_t timeout_us) {
  if (!connected_) return Error::wrong_state;
  return wait_until_ready(Deadline(port(), timeout_us));
}

Result<uint16_t> TcpSocket::available() {
  const Error error = refresh(rx_bytes());
  if (error != Error::none) return error;
  return received();
}

Result<uint16_t> TcpSocket::wait_available(uint32_t timeout_us) {
  const Deadline deadline(port(), timeout_us);
  for (;;) {
    const Result<uint16_t> waiting = available();
    if (!waiting || waiting.value() > 0 || deadline.passed()) return waiting;
    pause(deadline, true);
  }
}

Result<uint16_t> TcpSocket::read(uint8_t* data, uint16_t count) {
  Error error = refresh(count);
  const uint16_t taken = smaller(count, received());
  if (error == Error::none && taken > 0) error = fetch(data, taken);
  if (error == Error::none && taken > 0) error = release(Deadline(port(), command_timeout_us));
  if (error != Error::none) return error;
  return taken;
}

Result<uint16_t> TcpSocket::discard(uint16_t count) {
  Error error = refresh(count);
  const uint16_t taken = smaller(count, received());
  if (error == Error::none && taken > 0) {
    skip(taken);
    error = release(Deadline(port(), command_timeout_us));
  }
  if (error != Error::none) return error;
  return taken;
}

Result<void> TcpSocket::disconnect(uint32_t timeout_us) {
  const Deadline deadline(port(), timeout_us);
  const Result<Sn_SR> polled = finish_send(deadline);
  if (!polled) {
    // The peer takes no more. A FIN behind what it has not taken, for all it is worth, and it is not left with half a
    // connection.
    if (polled.error() == Error::send_timeout) command(Sn_CR::DISCON, Deadline(port(), command_timeout_us));
    return drop(polled.error());
  }
  const Sn_SR state = polled.value();
  if (state == Sn_SR::SOCK_CLOSED) return drop(connected_ ? closed_error(Error::closed_by_peer) : Error::none);
  if (!is_up(state)) return drop(Error::wrong_state);

  Error error = command(Sn_CR::DISCON, deadline);
  if (error == Error::none) error = wait_for_state(Sn_SR::SOCK_CLOSED, deadline);
  if (error == Error::none) error = closed_error(Error::none);
  return drop(error);
}

Result<bool> TcpSocket::try_disconnect() {
  const Deadline deadline(port(), command_timeout_us);
  const Result<Sn_SR> polled = settle(deadline);
  if (!polled) return drop(polled.error());
  Error error = Error::none;
  if (polled.value() == Sn_SR::SOCK_CLOSED || polled.value() == Sn_SR::SOCK_TIME_WAIT) {
    error = drop(closed_error(connected_ ? Error::closed_by_peer : Error::none));
    if (error == Error::none) return true;
    return error;
  }
  if (!connected_ || busy()) return false;
  if (!is_up(polled.value())) return drop(Error::wrong_state);
  error = command(Sn_CR::DISCON, deadline);
  if (error != Error::none) return drop(error);
  connected_ = false;
  return false;
}

Result<void> TcpSocket::close() {
  connected_ = false;
  return close_now();
}

Error TcpSocket::adopt_connection() {
  const Error error = adopt_pointers();
  if (error != Error::none) return error;
  // Half a ring, so that one piece can be loaded while the other is on the wire, in whole segments where it holds some.
  piece_ = static_cast<uint16_t>(tx_bytes() / 2);
  if (piece_ > segment_bytes) piece_ = static_cast<uint16_t>(piece_ - piece_ % segment_bytes);
  free_ = 0;
  connected_ = true;
  return Error::none;
}

Error TcpSocket::connection_error(Sn_SR state) {
  if (is_up(state)) return Error::none;
  return state == Sn_SR::SOCK_CLOSED ? closed_error(Error::closed_by_peer) : Error::wrong_state;
}

Error TcpSocket::closed_error(Error otherwise) {
  // A poll reads Sn_IR before Sn_SR: a timeout between the two has shown in the state alone so far.
  if (!timed_out()) {
    const Result<Sn_SR> state = poll();
    if (!state) return state.error();
  }
  return timed_out() ? Error::peer_timeout : otherwise;
}

Error TcpSocket::wait_for_space(uint16_t wanted, const Deadline& deadline, bool* ready) {
  while (free_ < wanted) {
    const Result<Sn_SR> state = settle(deadline);
    if (!state) return state.error();
    Error error = connection_error(state.value());
    if (error == Error::none) error = refresh_free();
    if (error != Error::none) return error;
    *ready = !busy();
    if (free_ >= wanted) break;
    if (deadline.passed()) return Error::space_timeout;
    pause(deadline, false);
  }
  return Error::none;
}

Error TcpSocket::wait_until_ready(const Deadline& deadline) {
  const Result<Sn_SR> state = finish_send(deadline);
  if (!state) return state.error();
  return connection_error(state.value());
}

Error TcpSocket::refresh_free() {
  const Result<uint16_t> space = read_counter(SocketRegister::Sn_TX_FSR, tx_bytes());
  if (!space) return space.error();
  free_ = space.value();
  return Error::none;
}

Error TcpSocket::send_piece(uint16_t count, const Deadline& deadline) {
  const Error error = send(count, deadline);
  if (error == Error::none) free_ = static_cast<uint16_t>(free_ - count);
  return error;
}

Error TcpSocket::refresh(uint16_t wanted) {
  if (!connected_) return Error::wrong_state;
  if (received() >= wanted && wanted > 0) return Error::none;
  const Result<Sn_SR> state = settle(Deadline(port(), command_timeout_us));
  if (!state) return state.error();
  Error error = connection_error(state.value());
  if (error == Error::none) error = refresh_received();
  // The state was read first: what came before the FIN shows in the counter.
  if (error == Error::none && received() == 0 && state.value() == Sn_SR::SOCK_CLOSE_WAIT) {
    error = Error::closed_by_peer;
  }
  return error;
}

Error TcpSocket::drop(Error reason) {
  connected_ = false;
  const Error error = close_now();
  return reason == Error::none ? error : reason;
}

}  // namespace w5500
