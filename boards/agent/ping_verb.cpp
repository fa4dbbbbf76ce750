// ICMP echo requests to a host: ping-stats.
#include "drivers/w5500/bytes.hpp"
#include "drivers/w5500/ping.hpp"
#include "verbs.hpp"
#include "watch.hpp"

namespace agent {

using w5500::Error;
using w5500::Ping;
using w5500::PingStats;
using w5500::Result;

namespace {

constexpr uint8_t ping_socket = 0;
constexpr uint32_t poll_wait_us = 100000;

}  // namespace

void ping_stats(Device& device, Request& request, Answer& answer) {
  uint8_t target[4] = {};
  request.ip(AGENT_TEXT("ip"), target);
  w5500::PingOptions options;
  options.count = request.number(AGENT_TEXT("count"), 1, 0xFFFFFFFFu, 4);
  options.payload_bytes = request.number16(AGENT_TEXT("size"), 0, Ping::max_payload, 32);
  options.interval_us = 1000 * request.number(AGENT_TEXT("interval_ms"), 0, 60000, 1000);
  options.timeout_us = 1000 * request.number(AGENT_TEXT("wait_ms"), 1, 60000, 1000);
  Watch watch(device, answer, request, 60000);
  if (!request.values_good()) return answer.bad_value(request);

  const uint64_t nothing = 0;
  watch.start(&nothing);
  // Both rings hold the largest request.
  Error error = device.share_memory(1, 2);
  Ping ping(device.chip, ping_socket);
  if (error == Error::none) error = ping.start(target, options).error();
  bool done = false;
  while (error == Error::none && !done && !watch.over()) {
    const Result<bool> polled = ping.poll(poll_wait_us);
    error = polled.error();
    done = polled && polled.value();
  }
  const uint64_t us = watch.elapsed_us();
  watch.stop();
  if (!done) {
    const Error stopped = ping.stop().error();
    if (error == Error::none) error = stopped;
  }
  watch.conclude(error);
  const PingStats& stats = ping.stats();
  answer.number(AGENT_TEXT("sent"), stats.sent);
  answer.number(AGENT_TEXT("received"), stats.received);
  answer.number(AGENT_TEXT("lost"), stats.timeouts);
  answer.number(AGENT_TEXT("bad"), stats.damaged);
  answer.number(AGENT_TEXT("us"), us);
  if (stats.received == 0) return;
  answer.number(AGENT_TEXT("rtt_min_us"), stats.min_us);
  answer.number(AGENT_TEXT("rtt_avg_us"), stats.mean_us());
  answer.number(AGENT_TEXT("rtt_max_us"), stats.max_us);
}

}  // namespace agent
