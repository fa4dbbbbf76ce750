#include "server.hpp"

#include "drivers/w5500/bytes.hpp"

namespace agent {

using w5500::Endpoint;
using w5500::Error;
using w5500::Progress;
using w5500::Result;

namespace {

constexpr uint64_t look_for_peers_us = 3000;  // while there is other work
constexpr uint32_t shortest_pause_us = 100;   // doubled while nothing happens
constexpr uint32_t longest_pause_us = 1000;
constexpr uint32_t short_write_us = 100000;
constexpr uint32_t send_us = 3000000;
constexpr uint32_t connect_us = 5000000;
constexpr uint32_t close_us = 500000;
constexpr uint16_t longest_piece = 2048;

// The peer has no room, or not yet: nothing is lost.
bool is_waiting(Error error) {
  return error == Error::none || error == Error::space_timeout || error == Error::send_timeout;
}

}  // namespace

Server::Server(Device& device_, Watch& watch_, Service& service, uint16_t port_number, uint8_t sockets)
    : device(device_),
      watch(watch_),
      service_(service),
      port_(port_number),
      sockets_(sockets),
      connections_{{device_.chip, 0}, {device_.chip, 1}, {device_.chip, 2}, {device_.chip, 3}} {}

Error Server::run(uint64_t longest_us, uint32_t most_ended) {
  const uint64_t start_us = now_us();
  uint64_t looked_us = 0;
  uint32_t pause_us = shortest_pause_us;
  bool first = true;
  while (!watch.over()) {
    const uint64_t now = now_us();
    if (longest_us > 0 && now - start_us >= longest_us) break;
    if (most_ended > 0 && ended_ >= most_ended) break;

    bool moved = false;
    for (uint8_t i = 0; i < sockets_; ++i) {
      Connection& connection = connections_[i];
      if (connection.state != Connection::open) continue;
      const Turn turn = service_.serve(*this, connection);
      moved = moved || turn == Turn::moved;
      if (turn == Turn::finished && connection.state == Connection::open) close(connection);
    }
    if (first || !moved || now - looked_us >= look_for_peers_us) {
      const Error error = look_for_peers();
      if (error != Error::none) return error;
      looked_us = now;
      first = false;
    }
    if (moved) {
      pause_us = shortest_pause_us;
    } else {
      device.port.delay_us(pause_us);
      pause_us = w5500::smaller(2 * pause_us, longest_pause_us);
    }
  }
  return Error::none;
}

Error Server::look_for_peers() {
  for (uint8_t i = 0; i < sockets_; ++i) {
    Connection& connection = connections_[i];
    if (connection.state == Connection::closed) {
      connection.state = Connection::listening;  // also where it fails half-way, so that close_all() closes it
      Result<void> done = connection.socket.open(port_);
      if (done) done = connection.socket.listen();
      if (!done) return done.error();
    } else if (connection.state == Connection::listening) {
      look_for_peer(connection);
    } else if (connection.state == Connection::closing) {
      go_on_closing(connection);
    }
  }
  return Error::none;
}

void Server::look_for_peer(Connection& connection) {
  const Result<bool> accepted = connection.socket.accept(0);
  if (accepted && !accepted.value()) return;
  const Result<Endpoint> peer = connection.socket.peer();
  if (accepted && peer) {
    adopt(connection, peer.value());
  } else {
    // A peer that began and gave up half-way.
    drop(connection);
  }
}

void Server::adopt(Connection& connection, const Endpoint& peer) {
  connection.state = Connection::open;
  connection.peer = peer;
  connection.in = connection.out = 0;
  connection.bad = 0;
  connection.opened_us = connection.moved_us = now_us();
  connection.step = connection.role = 0;
  connection.filled = 0;
  connection.budget = 0;
  ++opened_;
  service_.on_open(*this, connection);
}

uint16_t Server::read(Connection& connection, uint8_t* data, uint16_t count, bool* finished) {
  const Result<uint16_t> taken = connection.socket.read(data, count);
  if (!taken) {
    *finished = true;
    return 0;
  }
  if (taken.value() > 0) took(connection, taken.value(), true);
  return taken.value();
}

bool Server::send_pattern(Connection& connection, uint64_t most, bool* finished) {
  const uint16_t room =
      layout_ == Layout::both ? static_cast<uint16_t>(device.buffers.data_bytes / 2) : device.buffers.data_bytes;
  const uint16_t longest = w5500::smaller(static_cast<uint16_t>(room - 256), longest_piece);
  const uint16_t piece = most < longest ? static_cast<uint16_t>(most) : longest;
  const uint8_t* const data = device.buffers.data + (connection.out & 0xFF);
  // One stream, with at most a control connection beside it, may keep the pipe full; others must not be kept waiting.
  const bool alone = layout_ == Layout::out && open_count() <= 2;
  const Progress sent =
      alone ? connection.socket.write(data, piece, short_write_us) : connection.socket.try_write(data, piece);
  if (sent.count > 0) took(connection, static_cast<uint16_t>(sent.count), false);
  if (!is_waiting(sent.error)) *finished = true;
  return sent.count > 0;
}

void Server::use_buffer(Layout layout) {
  if (layout_ == layout) return;
  layout_ = layout;
  if (layout != Layout::in) device.fill_with_pattern();
}

bool Server::send(Connection& connection, const uint8_t* data, uint16_t count) {
  const Progress sent = connection.socket.write(data, count, send_us);
  if (sent.count > 0) took(connection, static_cast<uint16_t>(sent.count), false);
  return static_cast<bool>(sent);
}

void Server::took(Connection& connection, uint16_t count, bool in) {
  const uint64_t now = now_us();
  if (bytes_ == 0) first_us_ = now;
  last_us_ = connection.moved_us = now;
  bytes_ += count;
  (in ? connection.in : connection.out) += count;
  (in ? in_ : out_) += count;
}

Connection* Server::connect(const Endpoint& peer) {
  Connection* const connection = free_socket();
  if (connection == nullptr) return nullptr;
  Result<void> done = connection->socket.open(device.next_local_port());
  if (done) done = connection->socket.connect(peer, connect_us);
  connection->state = Connection::closed;
  if (!done) return nullptr;
  adopt(*connection, peer);
  return connection;
}

Connection* Server::free_socket() {
  Connection* parting = nullptr;
  for (uint8_t i = sockets_; i > 0; --i) {
    Connection& connection = connections_[i - 1];
    if (connection.state == Connection::closing) parting = &connection;
    if (connection.state == Connection::closed || connection.state == Connection::listening) return &connection;
  }
  if (parting != nullptr) finish_closing(*parting);
  return parting;
}

void Server::drop(Connection& connection) {
  (void)connection.socket.close().error();  // it is opened anew, which tells if the chip is gone
  connection.state = Connection::closed;
}

// A peer may take its time to close: the others need not wait for it.
void Server::close(Connection& connection) {
  connection.state = Connection::closing;
  connection.closing_us = now_us();
  bad_ += connection.bad;
  go_on_closing(connection);
  service_.on_closed(*this, connection);
}

void Server::go_on_closing(Connection& connection) {
  const Result<bool> parted = connection.socket.try_disconnect();
  Error error = parted.error();
  if (error == Error::none && !parted.value()) {
    if (now_us() - connection.closing_us < close_us) return;
    (void)connection.socket.disconnect(0).error();  // with a FIN, if none has gone out yet
    error = Error::state_timeout;
  }
  connection.state = Connection::closed;
  ++ended_;
  tell(connection, error);
}

void Server::finish_closing(Connection& connection) {
  while (connection.state == Connection::closing) {
    device.port.delay_us(shortest_pause_us);
    go_on_closing(connection);
  }
}

void Server::tell(Connection& connection, Error closed) {
  Writer& out = device.out;
  out.text(AGENT_TEXT("! conn"));
  out.key(AGENT_TEXT("seq"));
  out.characters(watch.sequence());
  out.key(AGENT_TEXT("peer"));
  out.ip(connection.peer.ip);
  out.character(':');
  out.decimal(connection.peer.port);
  out.key(AGENT_TEXT("in"));
  out.decimal(connection.in);
  out.key(AGENT_TEXT("out"));
  out.decimal(connection.out);
  out.key(AGENT_TEXT("bad"));
  out.decimal(connection.bad);
  out.key(AGENT_TEXT("us"));
  out.decimal(connection.moved_us - connection.opened_us);
  out.key(AGENT_TEXT("closed"));
  out.text(closed == Error::none ? AGENT_TEXT("ok") : code_of(closed));
  out.end(watch.checked());
}

void Server::close_all() {
  for (uint8_t i = 0; i < sockets_; ++i) {
    Connection& connection = connections_[i];
    if (connection.state == Connection::listening) look_for_peer(connection);  // who has come since the last look
    if (connection.state == Connection::open) close(connection);
  }
  for (uint8_t i = 0; i < sockets_; ++i) {
    Connection& connection = connections_[i];
    finish_closing(connection);
    // Also what is closed, or would be: a cancel may have come between OPEN and LISTEN.
    drop(connection);
  }
}

uint8_t Server::open_count() const {
  uint8_t count = 0;
  for (uint8_t i = 0; i < sockets_; ++i)
    count = static_cast<uint8_t>(count + (connections_[i].state == Connection::open));
  return count;
}

}  // namespace agent
