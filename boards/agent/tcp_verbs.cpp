// One TCP connection that is measured: tcp-send, tcp-recv, tcp-echo.
#include "drivers/w5500/bytes.hpp"
#include "round_trips.hpp"
#include "tcp_end.hpp"
#include "verbs.hpp"

namespace agent {

using w5500::Error;
using w5500::Progress;
using w5500::Result;
using w5500::smaller;
using w5500::TcpSocket;

namespace {

constexpr uint32_t default_timeout_ms = 60000;
constexpr uint32_t look_again_us = 1000000;
constexpr uint16_t default_chunk = 2048;

uint16_t piece_of(uint16_t longest, uint64_t left) { return left < longest ? static_cast<uint16_t>(left) : longest; }

// Reads what is there, waiting for the first byte until the watch is over: 0 then.
Result<uint16_t> read_some(TcpSocket& socket, uint8_t* data, uint16_t count, Watch& watch) {
  for (;;) {
    const Result<uint16_t> taken = socket.read(data, count);
    if (!taken || taken.value() > 0 || watch.over()) return taken;
    const Result<uint16_t> waiting = socket.wait_available(look_again_us);
    if (!waiting) return waiting;
  }
}

// Sends back what comes until the peer closes.
Error echo(Device& device, TcpSocket& socket, Watch& watch, uint64_t* bytes) {
  while (!watch.over()) {
    const Result<uint16_t> taken = read_some(socket, device.buffers.data, device.buffers.data_bytes, watch);
    if (!taken) return taken.error() == Error::closed_by_peer ? Error::none : taken.error();
    const Progress sent = socket.write(device.buffers.data, taken.value());
    *bytes += sent.count;
    if (!sent) return sent.error;
  }
  return Error::none;
}

struct Echoes {
  RoundTrips rounds;
  uint64_t bytes = 0;
  uint64_t bad = 0;
};

// One piece there and back; what comes back lands behind what was sent.
Error make_round(Device& device, TcpSocket& socket, Watch& watch, uint16_t size, Echoes* echoes) {
  const uint32_t start_us = device.port.now_us();
  const uint8_t* const piece = device.buffers.data + (echoes->bytes & 0xFF);
  const Progress sent = socket.write(piece, size);
  if (!sent) return sent.error;
  uint8_t part[64];
  for (uint16_t back = 0; back < size;) {
    const uint16_t wanted = smaller(static_cast<uint16_t>(sizeof part), static_cast<uint16_t>(size - back));
    const Result<uint16_t> taken = read_some(socket, part, wanted, watch);
    if (!taken) return taken.error();
    if (taken.value() == 0) return Error::none;  // the watch is over
    echoes->bad += count_mismatches(part, taken.value(), echoes->bytes);
    echoes->bytes += taken.value();
    back = static_cast<uint16_t>(back + taken.value());
  }
  echoes->rounds.add(device.port.now_us() - start_us);
  return Error::none;
}

}  // namespace

void tcp_echo(Device& device, Request& request, Answer& answer) {
  TcpEnd end(device, request);
  const uint32_t count = request.number(AGENT_TEXT("count"), 1, 0xFFFFFFFFu, 10);
  const uint16_t size = request.number16(AGENT_TEXT("size"), 1, smaller(device.longest_piece(), uint16_t{1460}), 64);
  Watch watch(device, answer, request, default_timeout_ms);
  if (!request.values_good()) return answer.bad_value(request);

  Echoes echoes;
  watch.start(&echoes.bytes);
  TcpSocket socket(device.chip, 0);
  Error error = end.open(socket, watch);
  const uint64_t start_us = device.clock.now_us();
  if (error == Error::none && !end.is_client()) error = echo(device, socket, watch, &echoes.bytes);
  if (error == Error::none && end.is_client()) {
    device.fill_with_pattern();
    while (error == Error::none && echoes.rounds.count() < count && !watch.over()) {
      error = make_round(device, socket, watch, size, &echoes);
    }
  }
  const uint64_t us = device.clock.now_us() - start_us;
  watch.stop();
  end.close(socket, watch);
  watch.conclude(error);
  answer.number(AGENT_TEXT("bytes"), echoes.bytes);
  answer.number(AGENT_TEXT("us"), us);
  if (end.is_client()) {
    answer.number(AGENT_TEXT("count"), echoes.rounds.count());
    answer.number(AGENT_TEXT("bad"), echoes.bad);
    echoes.rounds.tell(answer);
  }
  end.tell(answer);
}

void tcp_send(Device& device, Request& request, Answer& answer) {
  TcpEnd end(device, request);
  const uint64_t bytes = request.number64(AGENT_TEXT("bytes"), 1048576);
  const uint16_t longest = device.longest_piece();
  const uint16_t chunk = request.number16(AGENT_TEXT("chunk"), 1, longest, smaller(longest, default_chunk));
  Watch watch(device, answer, request, default_timeout_ms);
  if (!request.values_good()) return answer.bad_value(request);

  uint64_t sent = 0;
  watch.start(&sent);
  TcpSocket socket(device.chip, 0);
  Error error = end.open(socket, watch);
  const uint64_t start_us = device.clock.now_us();
  device.fill_with_pattern();
  while (error == Error::none && sent < bytes && !watch.over()) {
    const Progress progress = socket.write(device.buffers.data + (sent & 0xFF), piece_of(chunk, bytes - sent));
    sent += progress.count;
    error = progress.error;
  }
  if (error == Error::none && !watch.over()) error = socket.flush().error();
  const uint64_t us = device.clock.now_us() - start_us;
  watch.stop();
  end.close(socket, watch);
  // A peer that keeps its own direction open has all the same got everything; one that resets may have not.
  if (error == Error::none && end.closed() != Error::state_timeout) error = end.closed();
  watch.conclude(error);
  answer.number(AGENT_TEXT("bytes"), sent);
  answer.number(AGENT_TEXT("us"), us);
  answer.number(AGENT_TEXT("kbit_s"), kbit_per_second(sent, us));
  end.tell(answer);
}

void tcp_recv(Device& device, Request& request, Answer& answer) {
  TcpEnd end(device, request);
  const uint64_t bytes = request.number64(AGENT_TEXT("bytes"), 0);
  const uint16_t chunk = request.number16(AGENT_TEXT("chunk"), 1, device.buffers.data_bytes,
                                          smaller(device.buffers.data_bytes, default_chunk));
  Watch watch(device, answer, request, default_timeout_ms);
  if (!request.values_good()) return answer.bad_value(request);

  uint64_t received = 0;
  uint64_t bad = 0;
  uint64_t first_us = 0;
  watch.start(&received);
  TcpSocket socket(device.chip, 0);
  Error error = end.open(socket, watch);
  const uint64_t start_us = device.clock.now_us();
  while (error == Error::none && (bytes == 0 || received < bytes) && !watch.over()) {
    const uint16_t wanted = bytes == 0 ? chunk : piece_of(chunk, bytes - received);
    const Result<uint16_t> taken = read_some(socket, device.buffers.data, wanted, watch);
    error = taken.error();
    if (!taken || taken.value() == 0) continue;
    if (received == 0) first_us = device.clock.now_us() - start_us;
    bad += count_mismatches(device.buffers.data, taken.value(), received);
    received += taken.value();
  }
  if (error == Error::closed_by_peer && bytes == 0) error = Error::none;
  const uint64_t us = device.clock.now_us() - start_us;
  watch.stop();
  end.close(socket, watch);
  watch.conclude(error);
  answer.number(AGENT_TEXT("bytes"), received);
  answer.number(AGENT_TEXT("us"), us);
  answer.number(AGENT_TEXT("kbit_s"), kbit_per_second(received, us));
  answer.number(AGENT_TEXT("first_us"), first_us);
  answer.number(AGENT_TEXT("bad"), bad);
  end.tell(answer);
}

}  // namespace agent
