// Datagrams in one direction: udp-send, udp-recv.
#include "drivers/w5500/bytes.hpp"
#include "iperf_udp.hpp"
#include "tcp_end.hpp"
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

enum class Format : uint8_t { numbered, iperf };

Format read_format(Request& request) {
  return request.choice(AGENT_TEXT("report"), AGENT_TEXT("none iperf"), 0) == 1 ? Format::iperf : Format::numbered;
}

// Waits until something is due, hearing the console meanwhile.
void wait_until(Device& device, Watch& watch, uint64_t due_us) {
  while (!watch.over()) {
    const uint64_t now_us = device.clock.now_us();
    if (now_us >= due_us) return;
    const uint64_t left_us = due_us - now_us;
    device.port.delay_us(left_us < 1000 ? static_cast<uint32_t>(left_us) : 1000);
  }
}

// What the datagrams of a run came to: numbers from `first` on, which the peer counts as they come.
struct Arrivals {
  uint64_t bytes = 0;
  uint32_t count = 0;
  uint32_t bad = 0;
  uint32_t late = 0;  // below one that came before: out of order, or twice
  uint32_t lost = 0;
  uint32_t expected = 0;
  uint64_t first_us = 0;
  uint64_t last_us = 0;

  void add(uint32_t number, uint16_t size, uint64_t now_us) {
    if (count == 0) first_us = now_us;
    last_us = now_us;
    ++count;
    bytes += size;
    if (number >= expected) {
      lost += number - expected;
      expected = number + 1;
    } else {
      ++late;
      if (lost > 0) --lost;
    }
  }
  uint64_t us() const { return last_us - first_us; }
};

}  // namespace

void udp_send(Device& device, Request& request, Answer& answer) {
  Endpoint peer = {};
  request.ip(AGENT_TEXT("ip"), peer.ip);
  peer.port = request.number16(AGENT_TEXT("port"), 1, 65535);
  const uint16_t local = read_udp_local(device, request);
  const Format format = read_format(request);
  const uint32_t count = request.number(AGENT_TEXT("count"), 1, 0x7FFFFFF0u, 1000);
  const uint16_t least = format == Format::iperf ? IperfUdp::header_bytes : number_bytes;
  const uint16_t longest = smaller(device.buffers.data_bytes, UdpSocket::max_payload);
  const uint16_t size = request.number16(AGENT_TEXT("size"), least, longest, smaller(longest, uint16_t{1470}));
  const uint32_t kbit_s = request.number(AGENT_TEXT("kbit_s"), 0, 1000000, 0);
  const uint8_t kib = read_udp_kib(request, 1);
  Watch watch(device, answer, request, udp_timeout_ms);
  if (!request.values_good()) return answer.bad_value(request);

  uint64_t bytes = 0;
  uint32_t sent = 0;
  watch.start(&bytes);
  UdpSocket socket(device.chip, 0);
  Error error = open_udp(device, socket, local, kib);
  device.fill_with_pattern();
  uint8_t* const data = device.buffers.data;
  const uint64_t start_us = device.clock.now_us();
  while (error == Error::none && sent < count && !watch.over()) {
    if (kbit_s > 0) wait_until(device, watch, start_us + uint64_t{sent} * size * 8000 / kbit_s);
    if (format == Format::iperf) {
      IperfUdp::write_header(data, static_cast<int32_t>(sent + 1), device.clock.now_us());
    } else {
      w5500::store32(data, sent);
    }
    error = socket.send_to(peer, data, size).error();
    if (error != Error::none) break;
    ++sent;
    bytes += size;
  }
  if (error == Error::none && !watch.over()) error = socket.flush().error();
  const uint64_t us = device.clock.now_us() - start_us;
  IperfUdp::Report report = {};
  bool reported = false;
  if (error == Error::none && format == Format::iperf) {
    reported = IperfUdp::finish(device, socket, watch, peer, sent, size, &report);
  }
  watch.stop();
  const Error closed = socket.close().error();
  watch.conclude(error != Error::none ? error : closed);
  answer.number(AGENT_TEXT("bytes"), bytes);
  answer.number(AGENT_TEXT("us"), us);
  answer.number(AGENT_TEXT("count"), sent);
  answer.number(AGENT_TEXT("kbit_s"), kbit_per_second(bytes, us));
  if (format == Format::iperf) answer.number(AGENT_TEXT("reported"), reported ? 1 : 0);
  if (reported) {
    answer.number(AGENT_TEXT("peer_bytes"), report.bytes);
    answer.number(AGENT_TEXT("peer_us"), report.us);
    answer.number(AGENT_TEXT("peer_lost"), report.lost);
    answer.number(AGENT_TEXT("peer_late"), report.late);
    answer.number(AGENT_TEXT("peer_jitter_us"), report.jitter_us);
  }
}

void udp_recv(Device& device, Request& request, Answer& answer) {
  const uint16_t port_number = request.number16(AGENT_TEXT("port"), 1, 65535);
  const Format format = read_format(request);
  const uint32_t count = request.number(AGENT_TEXT("count"), 0, 0xFFFFFFFFu, 0);
  const uint32_t idle_us = 1000 * request.number(AGENT_TEXT("idle_ms"), 1, 60000, 2000);
  const uint8_t kib = read_udp_kib(request, 4);
  Watch watch(device, answer, request, udp_timeout_ms);
  if (!request.values_good()) return answer.bad_value(request);

  Arrivals arrivals;
  Jitter jitter;
  Endpoint peer = {};
  bool finished = false;  // by the peer's word
  watch.start(&arrivals.bytes);
  UdpSocket socket(device.chip, 0);
  Error error = open_udp(device, socket, port_number, kib);
  if (format == Format::iperf) arrivals.expected = 1;
  uint8_t* const data = device.buffers.data;
  uint64_t heard_us = 0;
  while (error == Error::none && (count == 0 || arrivals.count < count) && !watch.over()) {
    const Result<Datagram> got = socket.receive_from(data, device.buffers.data_bytes, udp_look_again_us);
    const uint64_t now_us = device.clock.now_us();
    if (!got) {
      error = got.error() == Error::no_datagram ? Error::none : got.error();
      if ((arrivals.count > 0 || finished) && now_us - heard_us >= idle_us) break;
      continue;
    }
    heard_us = now_us;
    peer = got.value().from;
    const uint16_t stored = got.value().stored;
    if (format == Format::iperf && stored >= IperfUdp::header_bytes) {
      const int32_t id = static_cast<int32_t>(w5500::load32(data));
      if (id < 0) {
        // Answered again and again, as the answer may be lost.
        finished = true;
        const IperfUdp::Report report = {arrivals.bytes, arrivals.us(),         arrivals.lost,
                                         arrivals.late,  arrivals.expected - 1, jitter.us()};
        error = IperfUdp::send_report(socket, peer, data, report);
        continue;
      }
      jitter.add(IperfUdp::sent_us(data), now_us);
      arrivals.add(static_cast<uint32_t>(id), got.value().size, now_us);
      continue;
    }
    const bool numbered = stored >= number_bytes;
    arrivals.add(numbered ? w5500::load32(data) : arrivals.expected, got.value().size, now_us);
    arrivals.bad += mismatches_of(data, stored);
  }
  watch.stop();
  const Error closed = socket.close().error();
  watch.conclude(error != Error::none ? error : closed);
  answer.number(AGENT_TEXT("bytes"), arrivals.bytes);
  answer.number(AGENT_TEXT("us"), arrivals.us());
  answer.number(AGENT_TEXT("count"), arrivals.count);
  answer.number(AGENT_TEXT("kbit_s"), kbit_per_second(arrivals.bytes, arrivals.us()));
  answer.number(AGENT_TEXT("lost"), arrivals.lost);
  answer.number(AGENT_TEXT("late"), arrivals.late);
  answer.number(AGENT_TEXT("bad"), arrivals.bad);
  if (format == Format::iperf) {
    answer.number(AGENT_TEXT("jitter_us"), jitter.us());
    answer.number(AGENT_TEXT("finished"), finished ? 1 : 0);
  }
  if (arrivals.count > 0) answer.endpoint(AGENT_TEXT("peer"), peer);
}

}  // namespace agent
