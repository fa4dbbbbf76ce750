#include "tcp_end.hpp"

namespace agent {

using w5500::Error;
using w5500::Result;

namespace {

constexpr uint32_t close_timeout_us = 5000000;
constexpr uint32_t hasty_close_timeout_us = 500000;
constexpr uint32_t look_again_us = 1000000;

// Another attempt may go better.
bool worth_another_try(Error error) {
  return error == Error::refused || error == Error::peer_timeout || error == Error::state_timeout;
}

}  // namespace

TcpEnd::TcpEnd(Device& device, Request& request) : device_(device), is_client_(request.has(AGENT_TEXT("ip"))) {
  request.ip_if_given(AGENT_TEXT("ip"), peer_.ip);
  peer_.port = request.number16(AGENT_TEXT("port"), 1, 65535);
  local_ = request.number16(AGENT_TEXT("local"), 1, 65535, 1);
  if (!request.has(AGENT_TEXT("local"))) local_ = 0;
  constexpr uint8_t sizes[] = {1, 2, 4, 8, 16};
  kib_ = sizes[request.choice(AGENT_TEXT("kib"), AGENT_TEXT("1 2 4 8 16"), 1)];
  tries_ = static_cast<uint8_t>(request.number16(AGENT_TEXT("tries"), 1, 255, 1));
}

Error TcpEnd::open(w5500::TcpSocket& socket, Watch& watch) {
  const Error error = device_.share_memory(1, kib_);
  if (error != Error::none) return error;
  return is_client_ ? connect(socket, watch) : accept(socket, watch);
}

Error TcpEnd::connect(w5500::TcpSocket& socket, Watch& watch) {
  for (;;) {
    const uint64_t start_us = device_.clock.now_us();
    Result<void> done = socket.open(local_ != 0 ? local_ : device_.next_local_port());
    if (done) done = socket.connect(peer_);
    connect_us_ = device_.clock.now_us() - start_us;
    was_open_ = static_cast<bool>(done);
    if (done || !worth_another_try(done.error()) || retries_ + 1 >= tries_ || watch.over()) return done.error();
    ++retries_;
  }
}

Error TcpEnd::accept(w5500::TcpSocket& socket, Watch& watch) {
  const uint64_t start_us = device_.clock.now_us();
  while (!watch.over()) {
    Result<void> done = socket.open(peer_.port);
    if (done) done = socket.listen();
    if (!done) return done.error();
    Result<bool> accepted = false;
    while (accepted && !accepted.value() && !watch.over()) accepted = socket.accept(look_again_us);
    if (accepted && !accepted.value()) break;
    if (accepted) {
      connect_us_ = device_.clock.now_us() - start_us;
      was_open_ = true;
      const Result<w5500::Endpoint> peer = socket.peer();
      if (peer) peer_ = peer.value();
      return peer.error();
    }
    // A peer that began and gave up half-way leaves the socket closed.
    if (accepted.error() != Error::peer_timeout && accepted.error() != Error::closed_by_peer) return accepted.error();
    ++retries_;
  }
  return Error::state_timeout;
}

void TcpEnd::close(w5500::TcpSocket& socket, const Watch& watch) {
  const uint64_t start_us = device_.clock.now_us();
  if (was_open_) {
    closed_ = socket.disconnect(watch.cut_short() ? hasty_close_timeout_us : close_timeout_us).error();
  } else {
    closed_ = socket.close().error();
  }
  close_us_ = device_.clock.now_us() - start_us;
}

void TcpEnd::tell(Answer& answer) const {
  answer.number(AGENT_TEXT("connect_us"), connect_us_);
  answer.number(AGENT_TEXT("close_us"), close_us_);
  answer.word(AGENT_TEXT("closed"), closed_ == Error::none ? AGENT_TEXT("ok") : code_of(closed_));
  answer.number(AGENT_TEXT("retries"), retries_);
  if (was_open_) answer.endpoint(AGENT_TEXT("peer"), peer_);
}

uint64_t kbit_per_second(uint64_t bytes, uint64_t us) { return us > 0 ? bytes * 8000 / us : 0; }

}  // namespace agent
