#include "socket.hpp"

namespace w5500 {
namespace {

constexpr uint8_t max_header_bytes = endpoint_bytes + 2;  // source, payload size

}  // namespace

Error DatagramSocket::open_as(uint8_t mode, uint16_t local_port) {
  open_ = false;
  Error error = Socket::open_as(mode, local_port, opened());
  if (error == Error::none) error = adopt_pointers();
  if (error != Error::none) return error;
  addressed_ = false;
  in_flight_ = 0;
  appended_ = 0;
  unread_ = 0;
  open_ = true;
  return Error::none;
}

Error DatagramSocket::send_whole(const Endpoint& to, const uint8_t* data, uint16_t count, uint32_t timeout_us) {
  if (!open_) return Error::wrong_state;
  if (count == 0 || count > largest()) return Error::invalid_argument;
  const Deadline deadline(port(), timeout_us);
  appended_ = 0;
  // All that a finished SEND took is free again, so that no counter has to be read.
  const bool fits_beside = count <= tx_bytes() - in_flight_;
  Error error = fits_beside ? load(data, count) : Error::none;
  if (error == Error::none) error = finish(deadline);
  if (error == Error::none && !fits_beside) error = load(data, count);
  if (error == Error::none) error = address(to);
  if (error == Error::none) error = send(count, deadline);
  if (error == Error::none) in_flight_ = count;
  return error;
}

Result<void> DatagramSocket::flush(uint32_t timeout_us) {
  if (!open_) return Error::wrong_state;
  return finish(Deadline(port(), timeout_us));
}

Error DatagramSocket::start(const Endpoint& to, uint32_t timeout_us) {
  if (!open_) return Error::wrong_state;
  appended_ = 0;
  const Error error = finish(Deadline(port(), timeout_us));
  return error == Error::none ? address(to) : error;
}

Result<void> DatagramSocket::append(const uint8_t* data, uint16_t count) {
  if (!open_ || in_flight_ > 0) return Error::wrong_state;
  if (count > largest() - appended_) return Error::invalid_argument;
  const Error error = load(data, count, appended_);
  if (error == Error::none) appended_ = static_cast<uint16_t>(appended_ + count);
  return error;
}

Result<void> DatagramSocket::send_datagram() {
  if (!open_ || !addressed_ || appended_ == 0) return Error::wrong_state;
  const Error error = send(appended_, Deadline(port(), command_timeout_us));
  if (error == Error::none) in_flight_ = appended_;
  appended_ = 0;
  return error;
}

Result<Datagram> DatagramSocket::receive_from(uint8_t* data, uint16_t capacity) {
  return take(next_datagram(), data, capacity);
}

Result<Datagram> DatagramSocket::receive_from(uint8_t* data, uint16_t capacity, uint32_t timeout_us) {
  return take(next_datagram(timeout_us), data, capacity);
}

Result<Datagram> DatagramSocket::take(const Result<Datagram>& found, uint8_t* data, uint16_t capacity) {
  if (!found) return found;
  const Result<uint16_t> stored = read(data, capacity);
  if (!stored) return stored.error();
  const Result<void> skipped = skip_rest();
  if (!skipped) return skipped.error();
  return Datagram{found.value().from, found.value().size, stored.value()};
}

Result<Datagram> DatagramSocket::next_datagram(uint32_t timeout_us) {
  const Deadline deadline(port(), timeout_us);
  for (;;) {
    const Result<Datagram> datagram = next_datagram();
    if (datagram || datagram.error() != Error::no_datagram || deadline.passed()) return datagram;
    pause(deadline, true);
  }
}

Result<Datagram> DatagramSocket::next_datagram() {
  if (!open_) return Error::wrong_state;
  const Result<void> skipped = skip_rest();
  if (!skipped) return skipped.error();
  const Deadline deadline(port(), command_timeout_us);
  if (received() == 0) {
    Result<Sn_SR> state = settle(deadline);
    if (state && state.value() != opened()) state = settle(deadline);  // a byte misread once closes no socket
    if (!state) return state.error();
    if (state.value() != opened()) return Error::wrong_state;
    const Error error = refresh_received();
    if (error != Error::none) return error;
  }
  if (received() == 0) return Error::no_datagram;
  const uint8_t size_at = address_bytes();
  const uint8_t header_bytes = static_cast<uint8_t>(size_at + 2);
  Error error = expect(header_bytes, 0, deadline);
  if (error != Error::none) return error;

  uint8_t header[max_header_bytes];
  error = fetch(header, header_bytes);
  if (error != Error::none) return error;
  // Datagrams appear in the ring as a whole: one that is longer than what is there is none.
  const uint16_t size = load16(header + size_at);
  error = expect(size, header_bytes, deadline);
  if (error != Error::none) return error;
  unread_ = size;
  if (size == 0) {
    const Error released = release(deadline);
    if (released != Error::none) return released;
  }
  Endpoint from = load_endpoint(header);
  if (size_at != endpoint_bytes) from.port = 0;
  return Datagram{from, size, 0};
}

Result<uint16_t> DatagramSocket::read(uint8_t* data, uint16_t count) {
  if (!open_) return Error::wrong_state;
  const uint16_t taken = smaller(count, unread_);
  if (taken == 0) return taken;
  Error error = fetch(data, taken);
  if (error != Error::none) return error;
  unread_ = static_cast<uint16_t>(unread_ - taken);
  if (unread_ == 0) error = release(Deadline(port(), command_timeout_us));
  if (error != Error::none) return error;
  return taken;
}

Result<void> DatagramSocket::skip_rest() {
  if (!open_) return Error::wrong_state;
  if (unread_ == 0) return Error::none;
  skip(unread_);
  unread_ = 0;
  return release(Deadline(port(), command_timeout_us));
}

Result<void> DatagramSocket::close() {
  open_ = false;
  return close_now();
}

Error DatagramSocket::finish(const Deadline& deadline) {
  Result<Sn_SR> state = finish_send(deadline);
  if (state && state.value() != opened()) state = finish_send(deadline);  // at the second look too?
  if (!state) return state.error();
  if (state.value() != opened()) return Error::wrong_state;
  const bool sent = in_flight_ > 0;
  in_flight_ = 0;
  if (!sent || !timed_out()) return Error::none;
  forget_timeout();
  const Error error = forget_unsent();
  return error == Error::none ? Error::peer_timeout : error;
}

Error DatagramSocket::address(const Endpoint& to) {
  uint8_t destination[endpoint_bytes];
  store_endpoint(destination, to);
  bool same = addressed_;
  for (uint8_t i = 0; i < address_bytes(); ++i) same = same && destination[i] == destination_[i];
  if (same) return Error::none;
  if (!write_register(SocketRegister::Sn_DIPR, destination, address_bytes())) return Error::bus_failed;
  copy_bytes(destination_, destination, sizeof destination);
  addressed_ = true;
  return Error::none;
}

Error DatagramSocket::expect(uint16_t wanted, uint16_t unreleased, const Deadline& deadline) {
  if (wanted <= received()) return Error::none;
  const Result<Sn_SR> state = settle(deadline);
  if (!state) return state.error();
  const Error error = refresh_received(unreleased);
  if (error != Error::none) return error;
  return wanted <= received() ? Error::none : resynchronise();
}

Error DatagramSocket::resynchronise() {
  skip(received());
  const Error error = release(Deadline(port(), command_timeout_us));
  return error == Error::none ? Error::out_of_step : error;
}

}  // namespace w5500
