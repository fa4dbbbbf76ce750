// Datagrams there and back: udp-echo.
#include "drivers/w5500/bytes.hpp"
#include "round_trips.hpp"
#include "udp_end.hpp"
#include "verbs.hpp"

namespace agent {

using w5500::Datagram;
using w5500::Endpoint;
using w5500::Error;
using w5500::Result;
using w5500::smaller;
using w5500::UdpSocket;

namespace {

struct Echoes {
  uint64_t bytes = 0;
  uint64_t bad = 0;
  uint32_t count = 0;
  uint32_t lost = 0;
  RoundTrips rounds;
};

// Sends back what has come, if anything has.
Error send_back(Device& device, UdpSocket& socket, Echoes* echoes) {
  const Result<Datagram> got = socket.receive_from(device.buffers.data, device.buffers.data_bytes, udp_look_again_us);
  if (!got) return got.error() == Error::no_datagram ? Error::none : got.error();
  // What is longer than the buffer cannot go back whole, an empty one not at all.
  const uint16_t stored = got.value().stored;
  if (stored < got.value().size || stored == 0) {
    ++echoes->bad;
    return Error::none;
  }
  const Error error = socket.send_to(got.value().from, device.buffers.data, stored).error();
  echoes->bytes += stored;
  ++echoes->count;
  return error == Error::peer_timeout ? Error::none : error;  // whoever sent the one before is gone
}

// One datagram there and back; one that does not come back in time is lost.
Error make_round(Device& device, UdpSocket& socket, Watch& watch, const Endpoint& peer, uint16_t size, uint32_t wait_us,
                 Echoes* echoes) {
  uint8_t* const data = device.buffers.data;
  device.fill_with_pattern();
  w5500::store32(data, echoes->count);
  const uint32_t sent_us = device.port.now_us();
  const Error error = socket.send_to(peer, data, size).error();
  if (error != Error::none) return error;
  while (!watch.over()) {
    const uint32_t waited_us = device.port.now_us() - sent_us;
    if (waited_us >= wait_us) {
      ++echoes->lost;
      ++echoes->count;
      return Error::none;
    }
    const Result<Datagram> got = socket.receive_from(data, device.buffers.data_bytes, wait_us - waited_us);
    if (!got && got.error() != Error::no_datagram) return got.error();
    if (!got || got.value().stored < number_bytes || w5500::load32(data) != echoes->count) continue;
    echoes->rounds.add(device.port.now_us() - sent_us);
    echoes->bytes += got.value().size;
    echoes->bad += mismatches_of(data, got.value().stored);
    if (got.value().size != size) ++echoes->bad;
    ++echoes->count;
    return Error::none;
  }
  return Error::none;
}

}  // namespace

void udp_echo(Device& device, Request& request, Answer& answer) {
  const bool is_client = request.has(AGENT_TEXT("ip"));
  Endpoint peer = {};
  request.ip_if_given(AGENT_TEXT("ip"), peer.ip);
  peer.port = request.number16(AGENT_TEXT("port"), 1, 65535);
  const uint16_t local = is_client ? read_udp_local(device, request) : peer.port;
  const uint32_t count = request.number(AGENT_TEXT("count"), 0, 0xFFFFFFFFu, is_client ? 10 : 0);
  const uint16_t longest = smaller(device.buffers.data_bytes, UdpSocket::max_payload);
  const uint16_t size = request.number16(AGENT_TEXT("size"), number_bytes, longest, 64);
  const uint32_t wait_us = 1000 * request.number(AGENT_TEXT("wait_ms"), 1, 60000, 1000);
  const uint8_t kib = read_udp_kib(request, 1);
  Watch watch(device, answer, request, udp_timeout_ms);
  if (!request.values_good()) return answer.bad_value(request);

  Echoes echoes;
  watch.start(&echoes.bytes);
  UdpSocket socket(device.chip, 0);
  Error error = open_udp(device, socket, local, kib);
  const uint64_t start_us = device.clock.now_us();
  while (error == Error::none && (count == 0 || echoes.count < count) && !watch.over()) {
    error = is_client ? make_round(device, socket, watch, peer, size, wait_us, &echoes)
                      : send_back(device, socket, &echoes);
  }
  if (error == Error::none && !watch.over()) error = socket.flush().error();
  const uint64_t us = device.clock.now_us() - start_us;
  watch.stop();
  const Error closed = socket.close().error();
  watch.conclude(error != Error::none ? error : closed);
  answer.number(AGENT_TEXT("bytes"), echoes.bytes);
  answer.number(AGENT_TEXT("us"), us);
  answer.number(AGENT_TEXT("count"), echoes.count);
  answer.number(AGENT_TEXT("bad"), echoes.bad);
  if (is_client) {
    answer.number(AGENT_TEXT("lost"), echoes.lost);
    echoes.rounds.tell(answer);
  }
}

}  // namespace agent
